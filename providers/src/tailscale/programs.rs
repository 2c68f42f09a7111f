//! The programs `tailscale` and `tailscaled`, and the archive that they came out of.

use fleet_engine::attributes::Misfit;
use fleet_engine::host::step::{self, Keep, LocalFile};
use fleet_engine::host::{Act, Bytes, Content, Probe, Reply, Step};
use fleet_engine::resource::Error;

use crate::host::common::regular;
use crate::macos::place;

/// Where the programs lie.
pub(super) const PLACE: &str = "/usr/local/bin";
/// What they were made from.
const NOTE: &str = "/usr/local/bin/.tailscale.fleet-installed";
const NAMES: [&str; 2] = ["tailscale", "tailscaled"];
const INSTALL: &str = include_str!("device_install.sh");

/// How many answers it takes to look at them.
pub(super) const READS: usize = 1 + NAMES.len();

/// What was found of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Programs {
    /// Whether any of them is there.
    pub(super) are_there: bool,
    /// The digest of the archive, if both are what came out of it, and root's for everybody to run.
    pub(super) source_sha256: Option<String>,
}

/// Asks what it takes to look at them, after what is asked already.
pub(super) fn ask(probe: Probe) -> Probe {
    let probe = probe.content(NOTE, Content::Whole);
    NAMES.iter().fold(probe, |probe, name| probe.content(format!("{PLACE}/{name}"), Content::Digest))
}

impl Programs {
    /// Reads the answers from `first` on.
    pub(super) fn read(reply: &Reply, first: usize) -> Result<Programs, Error> {
        let noted = match reply.path(first)? {
            Some(found) => regular(NOTE, found)?.content.clone().unwrap_or_default(),
            None => Vec::new(),
        };
        let mut programs = Programs { are_there: false, source_sha256: None };
        let mut digests = Vec::new();
        for (name, index) in NAMES.iter().zip(first + 1..) {
            let Some(found) = reply.path(index)? else { continue };
            programs.are_there = true;
            let digest = regular(&format!("{PLACE}/{name}"), found)?.digest.clone();
            if (found.owner.as_str(), found.mode) == ("root", 0o755) {
                digests.extend(digest.map(|digest| (*name, digest)));
            }
        }
        programs.source_sha256 = made_from(&noted, &digests);
        Ok(programs)
    }
}

/// The digest of the archive that all programs came out of, if the note is about these very files.
fn made_from(noted: &[u8], digests: &[(&str, String)]) -> Option<String> {
    let text = String::from_utf8_lossy(noted);
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    let is_noted = |(name, digest): &(&str, String)| value(name) == Some(digest);
    let are_all = digests.len() == NAMES.len() && digests.iter().all(is_noted);
    value("archive").filter(|_| are_all).map(str::to_owned)
}

/// What puts them in their places.
pub(super) fn install(source: Option<&String>, digest: Option<&String>) -> Result<Vec<Step>, Error> {
    let (Some(source), Some(digest)) = (source, digest) else {
        return Err(Misfit::new("source", "an archive on this machine and its digest are needed").into());
    };
    let archive = LocalFile { path: source.clone(), digest: digest.clone() };
    let sent = Act::Write {
        path: format!("{PLACE}/.tailscale.fleet-archive"),
        content: step::Content::Local(archive),
        keep: Keep { mode: Some(0o600), ..Keep::default() },
        validate: None,
    };
    let install =
        Act::Procedure { script: INSTALL, arguments: vec![digest.clone()], input: Bytes::default() };
    let acts = [sent, install].map(|act| Step::new(act).as_root());
    Ok([place::make(PLACE)].into_iter().chain(acts).collect())
}

/// What removes them, and all that lies beside them.
pub(super) fn remove() -> impl Iterator<Item = Step> {
    let programs =
        NAMES.iter().map(|name| Step::new(Act::Remove { path: format!("{PLACE}/{name}") }).as_root());
    programs.chain([place::leave(PLACE)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_that_the_note_is_about() {
        let noted = b"archive aa\ntailscale bb\ntailscaled cc\n";
        let both = |client: &str, daemon: &str| {
            [("tailscale", client.to_owned()), ("tailscaled", daemon.to_owned())]
        };
        assert_eq!(made_from(noted, &both("bb", "cc")).as_deref(), Some("aa"));
        assert_eq!(made_from(noted, &both("bb", "dd")), None);
        assert_eq!(made_from(noted, &both("bb", "cc")[..1]), None);
        assert_eq!(made_from(b"archive aa\n", &both("bb", "cc")), None);
    }
}
