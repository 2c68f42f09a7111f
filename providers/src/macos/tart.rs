//! `macos_tart`: the program that runs VMs.

use std::time::Duration;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::host::probe::{Found, What};
use fleet_engine::host::step::LocalFile;
use fleet_engine::host::{Act, Bytes, Content, HostKind, Output, Probe, Read, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Disruption, Edge, Error, Resource, Touch};

use super::{no_wish_for_trouble, place, text_of};
use crate::cure;
use crate::host::common::{in_the_way, named, normal_digest};

const PROCEDURE: &str = concat!(include_str!("tart_vms.sh"), include_str!("tart.sh"));
const REMOVE: &str = concat!(include_str!("tart_vms.sh"), include_str!("tart_remove.sh"));
/// Where the bundle lies, and its wrapper.
const PLACES: [&str; 2] = ["/usr/local/lib", "/usr/local/bin"];
const BUNDLE: &str = "/usr/local/lib/tart.app";
const SENT: &str = "/usr/local/lib/.tart.app.fleet-sent";
const WRAPPER: &str = "/usr/local/bin/tart";
const WRAPPED: &[u8] = b"#!/bin/sh\nexec /usr/local/lib/tart.app/Contents/MacOS/tart \"$@\"\n";
/// How it is told that nothing starts.
const UNABLE: &str = "Tart cannot be started";

/// Tart, the program that runs VMs.
///
/// Its bundle comes out of the archive of a release and lies at `/usr/local/lib/tart.app`. It is called by a wrapper at
/// `/usr/local/bin/tart`, and not by a link: what lets it run VMs is the signature of the bundle. It is made so only when
/// `tart --version` answers with `version`.
///
/// A bundle is never replaced or removed under VMs that run: the apply waits for `wait` seconds, and fails if they still do.
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
///   resource "macos_tart" "this" {
///     version       = "2.32.1"
///     source        = "tart.tar.gz"
///     source_sha256 = "15eb11601ba0d4d78f787715b9c4787ba06f9e5539b5834f797a2b76ca5630f9"
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Tart {
    /// The version that `tart --version` says.
    version: String,
    /// The archive of the release, `tart.tar.gz`, on the machine that runs fleet.
    source: String,
    /// The SHA-256 of `source`: as it was published, or `filesha256` of its path. It is observed as null if the bundle does
    /// not hold what came out of the archive.
    #[fleet(required)]
    source_sha256: Option<String>,
    /// For how many seconds VMs that run are waited for when the bundle has to be replaced or removed.
    #[fleet(default = 0)]
    wait: i64,
    /// What is wrong with it: its wrapper, or that it cannot be started. It is found out and mended, and cannot be wished
    /// for.
    trouble: Option<String>,
    /// The digest of everything in the bundle.
    #[fleet(computed, follows = "source_sha256")]
    tree: Option<String>,
}

impl Resource for Tart {
    const NAME: &'static str = "macos_tart";
    const DETECTS: &'static [&'static Known] = &[&table::TART_CANNOT_START, &table::TART_WRAPPER];

    fn normalize(&mut self) -> Result<(), Misfit> {
        self.source_sha256 = self.source_sha256.as_deref().map(normal_digest).transpose()?;
        if !(0..=86_400).contains(&self.wait) {
            return Err(Misfit::new("wait", "0 to 86400 seconds are possible"));
        }
        no_wish_for_trouble(self.trouble.as_ref())
    }

    fn findings(&self) -> Vec<Finding> {
        let known = |trouble: &str| match trouble.starts_with(UNABLE) {
            true => &table::TART_CANNOT_START,
            false => &table::TART_WRAPPER,
        };
        self.trouble.iter().map(|trouble| known(trouble).seen_by(trouble)).collect()
    }

    fn disrupts(_: Touch<'_>) -> Disruption {
        Disruption::Thing
    }

    fn edges() -> &'static [Edge] {
        // What is started by a service may start VMs.
        &[
            Edge::After("macos_sudoers"),
            Edge::After("host_directory"),
            Edge::After("macos_pf_anchor"),
            Edge::Before("macos_launchd_service"),
            Edge::Before("github_runner"),
        ]
    }
}

impl HostKind for Tart {
    fn probe(_: &At<Tart>) -> Result<Probe, Error> {
        let probe = Probe::new().path(BUNDLE).and(Read::Tree(BUNDLE.into()));
        Ok(probe.content(WRAPPER, Content::Whole).tool(Tool::TartVersion, []).as_root())
    }

    fn parse(at: &At<Tart>, reply: &Reply) -> Result<Option<Tart>, Error> {
        let asked = named(at)?;
        let Some(found) = reply.path(0)? else { return Ok(None) };
        if found.what != What::Directory {
            return Err(in_the_way(BUNDLE, &found.what, "a directory"));
        }
        let tree = reply.tree(1)?.map(str::to_owned);
        // Right after it was unpacked nothing else can be there; later it is what it was then, or it is not it.
        let is_it = match at {
            At::Recorded(Tart { tree: None, .. }) => true,
            At::Recorded(recorded) => recorded.tree == tree,
            At::Declared(_) | At::Begun { .. } | At::Id(_) => false,
        };
        let told = reply.output(3)?;
        let version = text_of(told);
        let trouble = wrapper_trouble(reply.path(2)?).or_else(|| version.is_none().then(|| unable(told)));
        Ok(Some(Tart {
            version: version.unwrap_or_else(|| asked.version.clone()),
            source_sha256: asked.source_sha256.clone().filter(|_| is_it),
            trouble,
            tree,
            ..asked.clone()
        }))
    }

    fn steps(self, change: Change<Tart>) -> Result<Vec<Step>, Error> {
        let is_sound = |from: &Tart| {
            let starts = !from.trouble.as_deref().is_some_and(|trouble| trouble.starts_with(UNABLE));
            starts && from.version == self.version && from.source_sha256 == self.source_sha256
        };
        let act = match &change {
            Change::Update { from } if is_sound(from) && from.trouble.is_none() => return Ok(Vec::new()),
            Change::Update { from } if is_sound(from) => "wrap",
            Change::Update { .. } | Change::Create => "replace",
        };
        let mut steps = Vec::new();
        if act == "replace" {
            let digest =
                self.source_sha256.ok_or_else(|| Misfit::new("source_sha256", "a digest is needed"))?;
            let archive = LocalFile { path: self.source, digest };
            steps.extend(PLACES.map(place::make));
            steps.push(Step::new(Act::Unpack { path: SENT.into(), archive, strip: 1 }));
        }
        let arguments = vec![act.to_owned(), self.version, self.wait.to_string()];
        let procedure =
            Act::Procedure { script: cure::procedure(PROCEDURE), arguments, input: Bytes::default() };
        steps.push(Step { timeout: Some(patience(self.wait)), ..Step::new(procedure) });
        Ok(steps.into_iter().map(Step::as_root).collect())
    }

    fn remove(observed: Tart) -> Result<Vec<Step>, Error> {
        let arguments = vec![observed.wait.to_string()];
        let waits = Act::Procedure { script: REMOVE, arguments, input: Bytes::default() };
        let waits = Step { timeout: Some(patience(observed.wait)), ..Step::new(waits).as_root() };
        Ok([waits].into_iter().chain(gone()).collect())
    }

    /// No VM runs with a bundle that is not there.
    fn clear(_: Tart) -> Result<Vec<Step>, Error> {
        Ok(gone().collect())
    }
}

/// What takes it off the disk.
fn gone() -> impl Iterator<Item = Step> {
    let acts = [Act::Remove { path: WRAPPER.into() }, Act::RemoveTree { path: BUNDLE.into() }];
    acts.map(|act| Step::new(act).as_root()).into_iter().chain(PLACES.map(place::leave))
}

/// How long what waits for VMs may take.
fn patience(wait: i64) -> Duration {
    Duration::from_secs(60 + u64::try_from(wait).unwrap_or_default())
}

/// What is wrong with the wrapper.
fn wrapper_trouble(found: Option<&Found>) -> Option<String> {
    let Some(found) = found else {
        return Some(format!("its wrapper is not there: nobody finds `tart` without {WRAPPER}"));
    };
    match &found.what {
        What::Link(_) => Some(format!(
            "{WRAPPER} is a link: what is started through one has no signature of a bundle, and runs no VM"
        )),
        What::File(file) if file.content.as_deref() == Some(WRAPPED) && found.mode & 0o111 == 0o111 => None,
        _ => Some(format!("{WRAPPER} is not the wrapper that starts the program in the bundle")),
    }
}

fn unable(told: &Output) -> String {
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    format!("{UNABLE}: {}", said.trim().lines().next().unwrap_or("it does not say why"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tart {
        Tart {
            version: "2.32.1".into(),
            source: "tart.tar.gz".into(),
            source_sha256: Some("d".repeat(64)),
            wait: 0,
            trouble: None,
            tree: None,
        }
    }

    #[test]
    fn a_bundle_that_is_sound_is_not_replaced() {
        let acts = |from: Tart| sample().steps(Change::Update { from }).unwrap().len();
        assert_eq!(acts(sample()), 0);
        assert_eq!(acts(Tart { trouble: Some("its wrapper is not there".into()), ..sample() }), 1);
        assert_eq!(acts(Tart { trouble: Some(format!("{UNABLE}: Killed: 9")), ..sample() }), 4);
        assert_eq!(acts(Tart { version: "2.31.0".into(), ..sample() }), 4);
        assert_eq!(acts(Tart { source_sha256: None, ..sample() }), 4);
        assert_eq!(sample().steps(Change::Create).unwrap().len(), 4);
    }
}
