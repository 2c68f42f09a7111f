//! `macos_signed_binary`: a program on a Mac that the kernel lets run.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::host::probe::Output;
use fleet_engine::host::step::{self, Keep, LocalFile};
use fleet_engine::host::{Act, Bytes, Content, HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::place;
use crate::cure;
use crate::host::common::{asked, check_path, is_another, normal_digest, path_of, regular};
use crate::mode;

const INSTALL: &str = include_str!("signed_binary.sh");
/// How trouble starts.
pub(super) const UNSOUND: &str = "the kernel will not run it";

/// A program on a Mac, sent from the machine that runs fleet and signed there.
///
/// The kernel of a Mac with Apple silicon runs nothing without a code signature, and remembers the signature by the inode of
/// the file: a program that is overwritten in place is killed at its next start (`OS_REASON_CODESIGNING`). So the program
/// is always a new file: sent beside its place, signed ad hoc, verified and renamed. The directory is made if it is not
/// there.
///
/// Signing changes the digest of the file. What it was made from and what came of it is noted beside it, in
/// `.NAME.fleet-signed`; so a file that anybody else wrote is seen to be another one.
///
/// What runs goes on with the old program. Where a service runs it, give that a reason to be restarted: the example of
/// `macos_launchd_service` shows how.
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
///   resource "macos_signed_binary" "agent" {
///     path          = "/usr/local/bin/agent"
///     source        = "build/agent"
///     source_sha256 = "0f934209de7f57876dc77d34ad0b4e622c5d67dd5793f0b17984822aec258923"
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct SignedBinary {
    /// Where it lies: a whole path, without `.` and `..`.
    #[fleet(replace)]
    path: String,
    /// The file on the machine that runs fleet.
    #[fleet(required)]
    source: Option<String>,
    /// The SHA-256 of `source`: as it was published, or `filesha256` of its path. A file that was not put there by fleet
    /// has none, whatever stands in it.
    #[fleet(required)]
    pub(super) source_sha256: Option<String>,
    /// The permission bits, in octal.
    #[fleet(default = "0755")]
    mode: String,
    /// The name of the owner.
    #[fleet(default = "root")]
    owner: String,
    /// The name of the group.
    #[fleet(default = "wheel")]
    group: String,
    /// What is wrong with its signature. It is found out and mended, and cannot be wished for.
    pub(super) trouble: Option<String>,
    /// The hash of its code signature, which every other program has another of.
    #[fleet(computed, follows = "source_sha256", follows = "trouble")]
    pub(super) cdhash: Option<String>,
}

impl Resource for SignedBinary {
    const NAME: &'static str = "macos_signed_binary";
    const ID: Option<&'static str> = Some("the path");
    const DETECTS: &'static [&'static Known] = &[&table::UNSOUND_SIGNATURE];

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        self.mode = mode::normal(&self.mode)?;
        self.source_sha256 = self.source_sha256.as_deref().map(normal_digest).transpose()?;
        super::no_wish_for_trouble(self.trouble.as_ref())
    }

    fn findings(&self) -> Vec<Finding> {
        self.trouble.iter().map(|trouble| table::UNSOUND_SIGNATURE.seen_by(trouble)).collect()
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("host_directory")]
    }
}

impl HostKind for SignedBinary {
    fn probe(at: &At<SignedBinary>) -> Result<Probe, Error> {
        let path = path_of(at, |binary| &binary.path);
        let operand = || Operand::new(path);
        Ok(Probe::new()
            .content(path, Content::Digest)
            .content(note(path), Content::Whole)
            .tool(Tool::CodesignVerify, [operand()?])
            .tool(Tool::CodesignDisplay, [operand()?])
            .as_root())
    }

    fn parse(at: &At<SignedBinary>, reply: &Reply) -> Result<Option<SignedBinary>, Error> {
        let path = path_of(at, |binary| &binary.path);
        let Some(found) = reply.path(0)?.filter(|_| !is_another(at, |a, b| a.path == b.path)) else {
            return Ok(None);
        };
        let digest = regular(path, found)?.digest.clone();
        let noted = match reply.path(1)? {
            Some(found) => regular(&note(path), found)?.content.clone().unwrap_or_default(),
            None => Vec::new(),
        };
        let ours = digest.as_deref().and_then(|digest| made_from(&noted, digest));
        let verified = reply.output(2)?;
        Ok(Some(SignedBinary {
            path: path.to_owned(),
            source: asked(at).and_then(|asked| asked.source.clone()),
            // The same bytes in a file of somebody else are another thing: its inode may be one that the kernel kills.
            source_sha256: ours,
            mode: mode::format(found.mode),
            owner: found.owner.clone(),
            group: found.group.clone(),
            trouble: (verified.status != 0).then(|| unsound(verified, path)),
            cdhash: cdhash(reply.output(3)?),
        }))
    }

    fn steps(self, change: Change<SignedBinary>) -> Result<Vec<Step>, Error> {
        let owner = format!("{}:{}", self.owner, self.group);
        if let Change::Update { from } = &change
            && from.source_sha256 == self.source_sha256
            && from.trouble.is_none()
        {
            let keep =
                Keep { mode: mode::parse(&self.mode), owner: Some(self.owner), group: Some(self.group) };
            return Ok(vec![Step::new(Act::Keep { path: self.path, keep }).as_root()]);
        }
        let needed = || Misfit::new("source", "a file on this machine and its digest are needed");
        let digest = self.source_sha256.ok_or_else(needed)?;
        let content = LocalFile { path: self.source.ok_or_else(needed)?, digest: digest.clone() };
        let (directory, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let mut steps = Vec::new();
        if cure::is_there("make-directory") {
            steps.push(place::make(directory));
        }
        steps.push(Step::new(Act::Write {
            path: format!("{directory}/.{name}.fleet-unsigned"),
            content: step::Content::Local(content),
            keep: Keep { mode: Some(0o600), ..Keep::default() },
            validate: None,
        }));
        steps.push(Step::new(Act::Procedure {
            script: cure::procedure(INSTALL),
            arguments: vec![self.path.clone(), self.mode, owner, digest],
            input: Bytes::default(),
        }));
        Ok(steps.into_iter().map(Step::as_root).collect())
    }

    fn remove(observed: SignedBinary) -> Result<Vec<Step>, Error> {
        let directory = observed.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let paths = [observed.path.clone(), note(&observed.path)];
        let gone = paths.map(|path| Step::new(Act::Remove { path }).as_root());
        Ok(gone.into_iter().chain([place::leave(directory)]).collect())
    }
}

impl SignedBinary {
    /// A program that is a part of another kind: root's, and for everybody to run.
    pub(super) fn part(path: &str, source: Option<String>, source_sha256: Option<String>) -> SignedBinary {
        SignedBinary {
            path: path.to_owned(),
            source,
            source_sha256,
            mode: "0755".to_owned(),
            owner: "root".to_owned(),
            group: "wheel".to_owned(),
            trouble: None,
            cdhash: None,
        }
    }

    /// Whether it belongs to whom another does, with the same permissions.
    pub(super) fn is_kept_like(&self, other: &SignedBinary) -> bool {
        (&self.mode, &self.owner, &self.group) == (&other.mode, &other.owner, &other.group)
    }
}

/// Where it is noted what a program was made from.
fn note(path: &str) -> String {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{directory}/.{name}.fleet-signed")
}

/// The digest of what a file was made from, if the note is about this very file.
fn made_from(noted: &[u8], digest: &str) -> Option<String> {
    let text = String::from_utf8_lossy(noted);
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    (value("installed")? == digest).then(|| value("source").map(str::to_owned)).flatten()
}

/// The hash that `codesign` shows.
pub(super) fn cdhash(shown: &Output) -> Option<String> {
    let text = [&shown.stdout[..], &shown.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().find_map(|line| line.strip_prefix("CDHash=")).map(str::to_owned)
}

/// What `codesign` says is wrong, without the path.
fn unsound(verified: &Output, path: &str) -> String {
    let text = String::from_utf8_lossy(&verified.stderr).into_owned();
    let first = text.lines().next().unwrap_or("it cannot be verified");
    let said = first.split_once(&format!("{path}: ")).map_or(first, |(_, said)| said);
    format!("{UNSOUND}: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_for_the_file_that_it_is_about() {
        let noted = b"source aa\ninstalled bb\n";
        assert_eq!(made_from(noted, "bb").as_deref(), Some("aa"));
        assert_eq!(made_from(noted, "cc"), None);
        assert_eq!(made_from(b"", "bb"), None);
        assert_eq!(made_from(b"source aa\n", "bb"), None);
        assert_eq!(note("/usr/local/bin/agent"), "/usr/local/bin/.agent.fleet-signed");
    }

    #[test]
    fn what_codesign_says() {
        let output = |stderr: &str| Output { status: 1, stdout: Vec::new(), stderr: stderr.into() };
        let shown = output("Executable=/a\nHash choices=sha256\nCDHash=0123\nSignature=adhoc\n");
        assert_eq!(cdhash(&shown).as_deref(), Some("0123"));
        assert_eq!(cdhash(&output("/a: code object is not signed at all\n")), None);
        let unsigned = output("/a: code object is not signed at all\nIn architecture: arm64\n");
        assert_eq!(unsound(&unsigned, "/a"), "the kernel will not run it: code object is not signed at all");
    }
}
