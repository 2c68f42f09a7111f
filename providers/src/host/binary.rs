//! `host_binary`: a program on a host.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::step::{self, LocalFile};
use fleet_engine::host::{Act, Content, HostKind, Probe, Reply, Step};
use fleet_engine::resource::{At, Change, Error, Resource};

use super::common::{asked, check_path, is_another, keep, keep_step, normal_digest, path_of, regular};
use crate::mode;

/// A program on a host, sent from the machine that runs fleet.
///
/// It is read once for all hosts, and sent only to those where the digest differs. It takes the place of the old one in
/// one step: what runs goes on with the old one.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "host_binary" "agent" {
///     path          = "/usr/local/bin/agent"
///     source        = "build/agent"
///     source_sha256 = "0f934209de7f57876dc77d34ad0b4e622c5d67dd5793f0b17984822aec258923"
///     sudo          = true
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Binary {
    /// Where it lies: a whole path, without `.` and `..`.
    #[fleet(replace)]
    path: String,
    /// The file on the machine that runs fleet.
    #[fleet(required)]
    source: Option<String>,
    /// The SHA-256 of `source`: as it was published, or `filesha256` of its path.
    #[fleet(required)]
    source_sha256: Option<String>,
    /// The permission bits, in octal.
    #[fleet(default = "0755")]
    mode: String,
    /// The name of the owner; it stays as it is if this is not given.
    #[fleet(optional_computed)]
    owner: Option<String>,
    /// The name of the group; it stays as it is if this is not given.
    #[fleet(optional_computed)]
    group: Option<String>,
    /// Whether root looks at it and writes it.
    #[fleet(default = false)]
    sudo: bool,
}

impl Resource for Binary {
    const NAME: &'static str = "host_binary";
    const ID: Option<&'static str> = Some("the path");

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        self.mode = mode::normal(&self.mode)?;
        self.source_sha256 = self.source_sha256.as_deref().map(normal_digest).transpose()?;
        Ok(())
    }
}

impl HostKind for Binary {
    fn probe(at: &At<Binary>) -> Result<Probe, Error> {
        let probe = Probe::new().content(path_of(at, |binary| &binary.path), Content::Digest);
        Ok(if asked(at).is_some_and(|binary| binary.sudo) { probe.as_root() } else { probe })
    }

    fn parse(at: &At<Binary>, reply: &Reply) -> Result<Option<Binary>, Error> {
        let path = path_of(at, |binary| &binary.path);
        let Some(found) = reply.path(0)?.filter(|_| !is_another(at, |a, b| a.path == b.path)) else {
            return Ok(None);
        };
        Ok(Some(Binary {
            path: path.to_owned(),
            source: asked(at).and_then(|asked| asked.source.clone()),
            source_sha256: regular(path, found)?.digest.clone(),
            mode: mode::format(found.mode),
            owner: Some(found.owner.clone()),
            group: Some(found.group.clone()),
            sudo: asked(at).is_some_and(|asked| asked.sudo),
        }))
    }

    fn steps(self, change: Change<Binary>) -> Result<Vec<Step>, Error> {
        let keep = keep(&self.mode, &self.owner, &self.group);
        let step = match change {
            Change::Update { from } if from.source_sha256 == self.source_sha256 => keep_step(self.path, keep),
            Change::Update { .. } | Change::Create => {
                let needed = || Misfit::new("source", "a file on this machine and its digest are needed");
                let path = self.source.ok_or_else(needed)?;
                let content = LocalFile { path, digest: self.source_sha256.ok_or_else(needed)? };
                let content = step::Content::Local(content);
                Step::new(Act::Write { path: self.path, content, keep, validate: None })
            }
        };
        Ok(vec![step.by_root(self.sudo)])
    }

    fn remove(observed: Binary) -> Result<Vec<Step>, Error> {
        Ok(vec![Step::new(Act::Remove { path: observed.path }).by_root(observed.sudo)])
    }
}

#[cfg(test)]
pub(super) fn sample(path: &str, source: &str, digest: &str) -> Binary {
    Binary {
        path: path.into(),
        source: Some(source.into()),
        source_sha256: Some(digest.into()),
        mode: "0755".into(),
        owner: None,
        group: None,
        sudo: false,
    }
}
