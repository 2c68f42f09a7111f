//! Homebrew: a directory with kegs, taps and pins. What lies in it is all there is to know.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::mac::Mac;
use crate::mac::launchd::signature::sign;

/// Where Homebrew lies on a Mac with Apple silicon.
const PREFIX: &str = "opt/homebrew";
/// What is tapped from the start.
const CORE: &str = "homebrew/core";

/// What can be installed: the tap, the name and the version.
const FORMULAE: &[(&str, &str, &str)] = &[
    ("hashicorp/tap", "packer", "1.14.2"),
    ("hashicorp/tap", "vault", "1.20.4"),
    (CORE, "crane", "0.20.6"),
    (CORE, "jq", "1.8.1"),
    (CORE, "oras", "1.3.0"),
    (CORE, "wget", "1.25.0"),
];

/// The Homebrew of a Mac.
#[derive(Debug)]
pub(in crate::mac) struct Homebrew {
    prefix: PathBuf,
}

/// A package that may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mac) struct Formula {
    pub(in crate::mac) tap: &'static str,
    pub(in crate::mac) name: &'static str,
    pub(in crate::mac) version: &'static str,
}

impl Homebrew {
    /// Finds it, if somebody has installed it.
    pub(in crate::mac) fn find(mac: &Mac) -> Option<Homebrew> {
        let prefix = mac.root().join(PREFIX);
        prefix.join("bin/brew").is_file().then_some(Homebrew { prefix })
    }

    pub(in crate::mac) fn prefix(&self) -> &Path {
        &self.prefix
    }

    fn keg(&self, name: &str) -> PathBuf {
        self.prefix.join("Cellar").join(name)
    }

    fn pin_of(&self, name: &str) -> PathBuf {
        self.prefix.join("var/homebrew/pinned").join(name)
    }

    fn tap_of(&self, tap: &str) -> PathBuf {
        let (owner, name) = tap.split_once('/').unwrap_or((tap, ""));
        self.prefix.join("Library/Taps").join(owner).join(format!("homebrew-{name}"))
    }

    /// What a name stands for: alone, if its tap is there, or with the tap before it.
    pub(in crate::mac) fn formula(&self, name: &str) -> Option<Formula> {
        let (tap, name) = name.rsplit_once('/').map_or((None, name), |(tap, name)| (Some(tap), name));
        let found = FORMULAE.iter().find(|(known, formula, _)| {
            *formula == name
                && tap.map_or_else(|| *known == CORE || self.tap_of(known).is_dir(), |tap| tap == *known)
        });
        found.map(|(tap, name, version)| Formula { tap, name, version })
    }

    pub(in crate::mac) fn versions(&self, name: &str) -> Vec<String> {
        names_in(&self.keg(name))
    }

    pub(in crate::mac) fn installed(&self) -> Vec<String> {
        names_in(&self.prefix.join("Cellar"))
    }

    /// The packages that came from a tap.
    pub(in crate::mac) fn installed_from(&self, tap: &str) -> Vec<String> {
        let from_it =
            |name: &String| FORMULAE.iter().any(|(known, formula, _)| *known == tap && formula == name);
        self.installed().into_iter().filter(from_it).collect()
    }

    pub(in crate::mac) fn pinned(&self) -> Vec<String> {
        names_in(&self.prefix.join("var/homebrew/pinned"))
    }

    pub(in crate::mac) fn taps(&self) -> Vec<String> {
        let taps = self.prefix.join("Library/Taps");
        let owners = names_in(&taps).into_iter();
        let of = |owner: String| {
            let names = names_in(&taps.join(&owner)).into_iter();
            let names = names.filter_map(|name| Some(name.strip_prefix("homebrew-")?.to_owned()));
            names.map(|name| format!("{owner}/{name}")).collect::<Vec<_>>()
        };
        owners.flat_map(of).collect()
    }

    pub(in crate::mac) fn tap(&self, tap: &str) -> io::Result<()> {
        fs::create_dir_all(self.tap_of(tap))
    }

    pub(in crate::mac) fn untap(&self, tap: &str) -> io::Result<()> {
        let place = self.tap_of(tap);
        fs::remove_dir_all(&place)?;
        remove_if_empty(place.parent())
    }

    /// Puts a package into the Cellar, and a link to its program where programs lie.
    pub(in crate::mac) fn install(&self, formula: Formula) -> io::Result<()> {
        let Formula { tap, name, version } = formula;
        if tap != CORE {
            self.tap(tap)?;
        }
        let directory = self.keg(name).join(version).join("bin");
        fs::create_dir_all(&directory)?;
        let program = directory.join(name);
        fs::write(&program, sign(format!("#!lab-program\nversion={version}\n").as_bytes(), name))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        let link = self.prefix.join("bin").join(name);
        match fs::remove_file(&link) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => symlink(format!("../Cellar/{name}/{version}/bin/{name}"), link),
        }
    }

    pub(in crate::mac) fn uninstall(&self, name: &str) -> io::Result<()> {
        self.unpin(name)?;
        fs::remove_dir_all(self.keg(name))?;
        fs::remove_file(self.prefix.join("bin").join(name))
    }

    pub(in crate::mac) fn pin(&self, name: &str) -> io::Result<()> {
        let pin = self.pin_of(name);
        if pin.symlink_metadata().is_ok() {
            return Ok(());
        }
        let version = self.versions(name).pop().unwrap_or_default();
        fs::create_dir_all(self.prefix.join("var/homebrew/pinned"))?;
        symlink(format!("../../../Cellar/{name}/{version}"), pin)
    }

    pub(in crate::mac) fn unpin(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.pin_of(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn remove_if_empty(directory: Option<&Path>) -> io::Result<()> {
    match directory {
        Some(directory) if names_in(directory).is_empty() => fs::remove_dir(directory),
        _ => Ok(()),
    }
}
