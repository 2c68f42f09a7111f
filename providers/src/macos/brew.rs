//! `macos_brew`: packages of Homebrew.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::step::{Keep, LocalFile};
use fleet_engine::host::{Act, Bytes, Content, HostKind, Probe, Reply, Step};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use crate::cure;
use crate::host::common::{local, named, normal_digest, shared};

const PROCEDURE: &str = include_str!("brew.sh");
const PREFIX: &str = "/opt/homebrew";
const NOTE: &str = "/opt/homebrew/.fleet-brew";
const SENT: &str = "/opt/.homebrew.fleet-sent";
/// An installation may take so long.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Packages, taps and pins of Homebrew, and Homebrew itself where it is not there.
///
/// What is observed is what lies in Homebrew's own directories: kegs with their versions, taps, pins. A package that is there
/// is left at its version; `versions` says which it is. A pin keeps `brew upgrade` from another one, which for Packer would
/// take away what somebody allowed it by a click.
///
/// What fleet installed, tapped or pinned is taken away when it is no longer wanted, and nothing else is: that is noted in
/// `/opt/homebrew/.fleet-brew`.
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
///   resource "macos_brew" "build" {
///     user          = "m1"
///     source        = "homebrew.tar.gz"
///     source_sha256 = "a0b1ab0bd1b5a5ad6ba01a5ea1cd3f9d6b1b2d5a8f3bc6db60fc0bb8ab7fc6c9"
///     taps          = ["hashicorp/tap"]
///     packages      = ["hashicorp/tap/packer", "crane", "oras"]
///     pins          = ["packer"]
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Brew {
    /// Whose Homebrew it is. It refuses root.
    #[fleet(replace)]
    user: String,
    /// An archive of Homebrew on the machine that runs fleet, for Macs without it. Nothing is fetched from anywhere else.
    source: Option<String>,
    /// The SHA-256 of `source`: as it was published, or `filesha256` of its path.
    source_sha256: Option<String>,
    /// The names of packages, with their taps before them where those are not Homebrew's own.
    #[fleet(default = Vec::<String>::new())]
    packages: Vec<String>,
    /// The taps, such as `hashicorp/tap`.
    #[fleet(default = Vec::<String>::new())]
    taps: Vec<String>,
    /// The packages that stay at their versions.
    #[fleet(default = Vec::<String>::new())]
    pins: Vec<String>,
    /// The versions of the packages, by their names.
    #[fleet(computed, follows = "packages")]
    versions: Option<BTreeMap<String, String>>,
}

/// The name of a package without its tap.
fn bare(package: &str) -> &str {
    package.rsplit('/').next().unwrap_or(package)
}

/// The newest of some kegs: 1.10 comes after 1.9.
fn latest(kegs: &[Vec<u8>]) -> Option<String> {
    let names = kegs.iter().map(|keg| String::from_utf8_lossy(keg).into_owned());
    names.max_by_key(|name| parts(name))
}

/// A version as what its order goes by: its numbers, and the words between them.
fn parts(version: &str) -> Vec<(u64, String)> {
    let words = version.split(['.', '_', '-', '+']);
    words
        .map(|word| {
            let at = word.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(word.len());
            let (number, rest) = word.split_at(at);
            (number.parse().unwrap_or_default(), rest.to_owned())
        })
        .collect()
}

fn tap_directory(tap: &str) -> String {
    let (owner, name) = tap.split_once('/').unwrap_or((tap, ""));
    format!("{PREFIX}/Library/Taps/{owner}/homebrew-{name}")
}

impl Resource for Brew {
    const NAME: &'static str = "macos_brew";

    fn normalize(&mut self) -> Result<(), Misfit> {
        let is_word = |word: &str| {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "._@+-".contains(letter);
            !word.is_empty() && !word.starts_with(['-', '.']) && word.chars().all(plain)
        };
        if !is_word(&self.user) || self.user == "root" {
            return Err(Misfit::new("user", "the name of a user is needed; Homebrew refuses root"));
        }
        let parts = |name: &str| (name.split('/').all(is_word), name.split('/').count());
        if !self.packages.iter().all(|name| matches!(parts(name), (true, 1 | 3))) {
            return Err(Misfit::new(
                "packages",
                "names are needed, such as \"jq\" or \"hashicorp/tap/packer\"",
            ));
        }
        if !self.taps.iter().all(|name| matches!(parts(name), (true, 2))) {
            return Err(Misfit::new("taps", "names are needed, such as \"hashicorp/tap\""));
        }
        if let Some(pin) = self.pins.iter().find(|pin| !self.packages.iter().any(|name| bare(name) == **pin))
        {
            return Err(Misfit::new("pins", format!("`{pin}` is not among the packages")));
        }
        self.source_sha256 = self.source_sha256.as_deref().map(normal_digest).transpose()?;
        local(self.source.as_ref(), self.source_sha256.as_ref()).map(drop)
    }

    fn edges() -> &'static [Edge] {
        &[
            Edge::After("macos_sudoers"),
            Edge::After("macos_xcode"),
            Edge::Before("macos_launchd_service"),
            Edge::Before("github_runner"),
        ]
    }
}

impl HostKind for Brew {
    fn probe(at: &At<Brew>) -> Result<Probe, Error> {
        let asked = named(at)?;
        let mut probe = Probe::new().path(format!("{PREFIX}/bin/brew")).content(NOTE, Content::Whole);
        for package in &asked.packages {
            probe = probe.names(format!("{PREFIX}/Cellar/{}", bare(package)));
        }
        for tap in &asked.taps {
            probe = probe.path(tap_directory(tap));
        }
        for pin in &asked.pins {
            probe = probe.path(format!("{PREFIX}/var/homebrew/pinned/{pin}"));
        }
        Ok(probe.as_root())
    }

    fn parse(at: &At<Brew>, reply: &Reply) -> Result<Option<Brew>, Error> {
        let asked = named(at)?;
        if reply.path(0)?.is_none() {
            return Ok(None);
        }
        let mut next = 2..;
        let mut index = || next.next().unwrap_or_default();
        let (mut packages, mut versions) = (Vec::new(), BTreeMap::new());
        for package in &asked.packages {
            let Some(latest) = reply.names(index())?.and_then(latest) else { continue };
            packages.push(package.clone());
            versions.insert(bare(package).to_owned(), latest);
        }
        let mut there = |names: &[String]| -> Result<Vec<String>, Error> {
            let mut found = Vec::new();
            for name in names {
                if reply.path(index())?.is_some() {
                    found.push(name.clone());
                }
            }
            Ok(found)
        };
        let (taps, mut pins) = (there(&asked.taps)?, there(&asked.pins)?);
        if !cure::is_there("see-pins") {
            pins.clone_from(&asked.pins);
        }
        let wants_something = !asked.packages.is_empty() || !asked.taps.is_empty();
        if wants_something && packages.is_empty() && taps.is_empty() {
            return Ok(None);
        }
        Ok(Some(Brew { packages, taps, pins, versions: Some(versions), ..asked.clone() }))
    }

    fn steps(self, change: Change<Brew>) -> Result<Vec<Step>, Error> {
        let archive = local(self.source.as_ref(), self.source_sha256.as_ref())?;
        let before = match change {
            Change::Update { from } => Some(from),
            Change::Create => None,
        };
        // Only a Mac without Homebrew has nothing to show. One with it keeps its own.
        let mut steps = Vec::new();
        if let (None, Some(archive)) = (&before, archive) {
            steps.extend(bring(archive));
        }
        let gone = |old: &[String], new: &[String]| {
            let gone = old.iter().filter(|name| !new.contains(name)).cloned();
            gone.collect::<Vec<_>>().join(" ")
        };
        let nothing = || (Vec::new(), Vec::new(), Vec::new());
        let (packages, taps, pins) =
            before.map_or_else(nothing, |from| (from.packages, from.taps, from.pins));
        let old = [gone(&packages, &self.packages), gone(&taps, &self.taps), gone(&pins, &self.pins)];
        let new = [self.packages.join(" "), self.taps.join(" "), self.pins.join(" ")];
        steps.push(procedure(self.user, new, old));
        Ok(steps)
    }

    fn remove(observed: Brew) -> Result<Vec<Step>, Error> {
        let old = [observed.packages.join(" "), observed.taps.join(" "), observed.pins.join(" ")];
        let sent = Step::new(Act::RemoveTree { path: SENT.into() }).as_root();
        Ok(vec![procedure(observed.user, Default::default(), old), sent])
    }

    /// What was there before fleet stays, and is not left of it.
    fn left(observed: Brew, reply: &Reply) -> Result<Option<Brew>, Error> {
        let note = String::from_utf8_lossy(shared(NOTE, reply.path(1)?)?).into_owned();
        let is_noted = |sort: &str, name: &str| note.lines().any(|line| line == format!("{sort} {name}"));
        let ours = observed.packages.iter().any(|package| is_noted("package", bare(package)))
            || observed.taps.iter().any(|tap| is_noted("tap", tap));
        if ours { Self::parse(&At::Recorded(observed), reply) } else { Ok(None) }
    }
}

/// Brings Homebrew itself, unless it is there.
fn bring(archive: LocalFile) -> Vec<Step> {
    let place = Act::Procedure {
        script: include_str!("brew_bring.sh"),
        arguments: vec![PREFIX.to_owned(), SENT.to_owned()],
        input: Bytes::default(),
    };
    let acts = [
        Act::Directory { path: "/opt".into(), keep: Keep::default() },
        Act::Unpack { path: SENT.into(), archive, strip: 1 },
        place,
    ];
    acts.map(|act| Step::new(act).as_root()).into()
}

fn procedure(user: String, new: [String; 3], old: [String; 3]) -> Step {
    let arguments = [user].into_iter().chain(new).chain(old).collect();
    let script = cure::procedure(PROCEDURE);
    let step = Step::new(Act::Procedure { script, arguments, input: Bytes::default() }).as_root();
    Step { timeout: Some(PATIENCE), ..step }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Brew {
        Brew {
            user: "m1".into(),
            source: None,
            source_sha256: None,
            packages: vec!["hashicorp/tap/packer".into(), "jq".into()],
            taps: vec!["hashicorp/tap".into()],
            pins: vec!["packer".into()],
            versions: None,
        }
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut Brew), attribute: &str| {
            let mut wish = sample();
            change(&mut wish);
            assert_eq!(wish.normalize().unwrap_err().attribute, attribute);
        };
        sample().normalize().unwrap();
        refused(|it| it.user = "root".into(), "user");
        refused(|it| it.packages.push("--cask".into()), "packages");
        refused(|it| it.packages.push("a/b".into()), "packages");
        refused(|it| it.packages.push("a b".into()), "packages");
        refused(|it| it.taps.push("hashicorp".into()), "taps");
        refused(|it| it.pins.push("oras".into()), "pins");
        refused(|it| it.source = Some("a".into()), "source_sha256");
    }

    #[test]
    fn the_newest_keg_counts() {
        let latest = |kegs: &[&str]| {
            super::latest(&kegs.iter().map(|keg| keg.as_bytes().to_vec()).collect::<Vec<_>>())
        };
        for (kegs, newest) in [
            (&["1.10.0", "1.9.0"][..], "1.10.0"),
            (&["1.14.2", "1.14.2_1"], "1.14.2_1"),
            (&["3.9", "3.10a", "3.10"], "3.10a"),
            (&["2"], "2"),
        ] {
            assert_eq!(latest(kegs).as_deref(), Some(newest));
        }
        assert_eq!(latest(&[]), None);
    }

    #[test]
    fn only_what_is_no_longer_wanted_is_taken_away() {
        let wish = Brew { packages: vec!["jq".into()], taps: Vec::new(), pins: Vec::new(), ..sample() };
        let steps = wish.steps(Change::Update { from: sample() }).unwrap();
        let [Step { act: Act::Procedure { arguments, .. }, .. }] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!(arguments[1..], ["jq", "", "", "hashicorp/tap/packer", "hashicorp/tap", "packer"]);
    }
}
