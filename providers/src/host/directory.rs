//! `host_directory`: a directory on a host.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::probe::What;
use fleet_engine::host::{Act, HostKind, Probe, Reply, Step};
use fleet_engine::resource::{At, Change, Error, Resource};

use super::common::{asked, check_path, in_the_way, is_another, keep, keep_step, path_of};
use crate::mode;

/// A directory on a host, made with those that it lies in.
///
/// What lies in it is nobody's business here. Removed is only a directory that is empty, unless `force` says otherwise.
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
///   resource "host_directory" "bin" {
///     path = "/usr/local/bin"
///     sudo = true
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Directory {
    /// Where it lies: a whole path, without `.` and `..`.
    #[fleet(replace)]
    path: String,
    /// The permission bits, in octal.
    #[fleet(default = "0755")]
    mode: String,
    /// The name of the owner; it stays as it is if this is not given.
    #[fleet(optional_computed)]
    owner: Option<String>,
    /// The name of the group; it stays as it is if this is not given.
    #[fleet(optional_computed)]
    group: Option<String>,
    /// Whether everything in it is removed with it.
    #[fleet(default = false)]
    force: bool,
    /// Whether root looks at it and makes it.
    #[fleet(default = false)]
    sudo: bool,
}

impl Resource for Directory {
    const NAME: &'static str = "host_directory";
    const ID: Option<&'static str> = Some("the path");

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        self.mode = mode::normal(&self.mode)?;
        Ok(())
    }
}

impl HostKind for Directory {
    fn probe(at: &At<Directory>) -> Result<Probe, Error> {
        let probe = Probe::new().path(path_of(at, |directory| &directory.path));
        Ok(if asked(at).is_some_and(|directory| directory.sudo) { probe.as_root() } else { probe })
    }

    fn parse(at: &At<Directory>, reply: &Reply) -> Result<Option<Directory>, Error> {
        let path = path_of(at, |directory| &directory.path);
        let Some(found) = reply.path(0)?.filter(|_| !is_another(at, |a, b| a.path == b.path)) else {
            return Ok(None);
        };
        if found.what != What::Directory {
            return Err(in_the_way(path, &found.what, "a directory"));
        }
        Ok(Some(Directory {
            path: path.to_owned(),
            mode: mode::format(found.mode),
            owner: Some(found.owner.clone()),
            group: Some(found.group.clone()),
            force: asked(at).is_some_and(|asked| asked.force),
            sudo: asked(at).is_some_and(|asked| asked.sudo),
        }))
    }

    fn steps(self, change: Change<Directory>) -> Result<Vec<Step>, Error> {
        let keep = keep(&self.mode, &self.owner, &self.group);
        let step = match change {
            Change::Create => Step::new(Act::Directory { path: self.path, keep }),
            Change::Update { .. } => keep_step(self.path, keep),
        };
        Ok(vec![step.by_root(self.sudo)])
    }

    fn remove(observed: Directory) -> Result<Vec<Step>, Error> {
        let path = observed.path;
        let act = if observed.force { Act::RemoveTree { path } } else { Act::Remove { path } };
        Ok(vec![Step::new(act).by_root(observed.sudo)])
    }
}

#[cfg(test)]
pub(super) fn sample(path: &str, force: bool) -> Directory {
    Directory { path: path.into(), mode: "0755".into(), owner: None, group: None, force, sudo: false }
}
