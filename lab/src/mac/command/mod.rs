//! The simulated commands of macOS: what they print, refuse and change, as the real ones do.
//!
//! To add one in Rust, write a function `fn(&mut Call) -> Outcome` and put it into [`COMMANDS`] under its name. It finds
//! the words, the streams, who calls and the Mac in [`Call`]: files under [`Call::path`], what a reboot forgets in
//! [`Mac::live`], what survives it but is no file in [`Mac::disk`]. To add one as a shell script, put it beside this file
//! and into [`SCRIPTS`]; it finds the Mac's files under `$FLEET_ROOT`, and `lab-live KEY [VALUE]` reads and writes a note
//! that a reboot forgets.
//!
//! A command refuses what the real one refuses, with its words and status: scripts rely on both.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Mac;
use super::disk::{ADMIN, GROUPS, STAFF};
use crate::clock::Time;

mod base64;
mod builders;
mod codesign;
mod curl;
mod defaults;
mod directory;
mod diskutil;
mod exporter;
mod killall;
mod launchctl;
mod network;
mod options;
mod owner;
mod pfctl;
mod pmset;
mod power;
mod process;
mod refined;
mod settings;
mod shasum;
mod stat;
mod sudo;
mod system;
mod tailscale;
mod vlan;

pub(super) use refined::names as refined;

/// A command that was called.
pub(super) struct Call {
    /// On which Mac.
    pub(super) mac: Arc<Mac>,
    /// As what.
    pub(super) name: String,
    /// With which words after its name.
    pub(super) words: Vec<OsString>,
    /// By whom.
    pub(super) user: String,
    /// For which service, by its label; for none, if it is empty.
    pub(super) service: String,
    /// In which directory, as this machine names it.
    pub(super) directory: PathBuf,
    /// What it reads.
    pub(super) stdin: File,
    /// What it prints.
    pub(super) stdout: File,
    /// What it complains to.
    pub(super) stderr: File,
}

/// What comes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// It ends with this status.
    Exit(u8),
    /// It becomes another program.
    Exec {
        /// What changes in its environment.
        environment: Vec<(&'static str, String)>,
        /// The program, and its words.
        words: Vec<OsString>,
    },
    /// It goes on until somebody ends it.
    Stay,
    /// It ends well at some time.
    Wait {
        /// When.
        until: Time,
    },
}

/// Why a command fails: what it complains about, if anything, and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    /// Lines on the error output.
    text: String,
    /// The status.
    status: u8,
}

/// How a command ends.
type Outcome = Result<Done, Failure>;

/// The function of a command.
type Run = fn(&mut Call) -> Outcome;

/// The commands in Rust.
const COMMANDS: &[(&str, Run)] = &[
    ("base64", base64::base64),
    ("brew", builders::brew),
    ("chgrp", owner::chgrp),
    ("chown", owner::chown),
    ("codesign", codesign::codesign),
    ("curl", curl::curl),
    ("defaults", defaults::defaults),
    ("diskutil", diskutil::diskutil),
    ("dscacheutil", settings::dscacheutil),
    ("dscl", directory::dscl),
    ("groups", directory::groups),
    ("hostname", system::hostname),
    ("id", directory::id),
    ("ifconfig", network::ifconfig),
    ("kill", process::kill),
    ("killall", killall::killall),
    ("lab-disturb", power::disturb),
    ("lab-job", builders::job),
    ("lab-live", system::live),
    ("lab-owner", refined::owner),
    ("lab-packet", pfctl::packet),
    ("lab-runner", builders::runner),
    ("lab-share-internet", pfctl::share_internet),
    ("lab-svc", builders::service),
    ("lab-tailnet", tailscale::lab_tailnet),
    ("launchctl", launchctl::launchctl),
    ("lsof", exporter::lsof),
    ("mdutil", settings::mdutil),
    ("nc", network::nc),
    ("netstat", network::netstat),
    ("networksetup", vlan::networksetup),
    ("node_exporter", exporter::node_exporter),
    ("pfctl", pfctl::pfctl),
    ("pgrep", process::pgrep),
    ("pmset", pmset::pmset),
    ("ps", process::ps),
    ("reboot", power::reboot),
    ("route", network::route),
    ("scutil", system::scutil),
    ("shasum", shasum::shasum),
    ("shutdown", power::shutdown),
    ("sleep", process::sleep),
    ("socketfilterfw", settings::socketfilterfw),
    ("softwareupdate", settings::softwareupdate),
    ("stat", stat::stat),
    ("sudo", sudo::sudo),
    ("sw_vers", system::sw_vers),
    ("sysctl", system::sysctl),
    ("systemsetup", settings::systemsetup),
    ("tailscale", tailscale::tailscale),
    ("tart", builders::tart),
    ("uname", system::uname),
    ("visudo", sudo::visudo),
    ("whoami", directory::whoami),
    ("xcode-select", builders::xcode_select),
    ("xcodebuild", builders::xcodebuild),
    ("xcrun", builders::xcrun),
];

/// The commands in shell.
pub(super) const SCRIPTS: &[(&str, &str)] = &[("arch", include_str!("arch.sh"))];

/// The names of all commands in Rust.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, _)| *name).chain(refined::names())
}

/// Puts a command in shell into its place.
pub(super) fn write_script(path: &Path, script: &str) -> io::Result<()> {
    fs::write(path, script)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Carries out a call.
pub(super) fn carry_out(mut call: Call) -> Done {
    call.mac.called();
    let known = COMMANDS.iter().find(|(name, _)| *name == call.name);
    let run = known.map_or(refined::refined as Run, |(_, run)| *run);
    match run(&mut call) {
        Ok(done) => done,
        Err(Failure { text, status }) => {
            let line = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            // Nobody may be left to read it; the status stays.
            let _ = call.stderr.write_all(format!("{text}{line}").as_bytes());
            Done::Exit(status)
        }
    }
}

impl Call {
    /// The words as text. What is none is shown as well as it can be.
    fn texts(&self) -> Vec<String> {
        self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// Where on this machine a path of the Mac lies. One that starts with the Mac's root directory is taken as it is.
    fn path(&self, word: &OsStr) -> PathBuf {
        let (path, root) = (Path::new(word), self.mac.root());
        if !path.is_absolute() {
            self.directory.join(path)
        } else if path.starts_with(root) || path.starts_with("/dev") {
            path.to_owned()
        } else {
            root.join(path.strip_prefix("/").unwrap_or(path))
        }
    }

    /// The same for something that is written: links do not lead it out of the Mac.
    fn path_to_write(&self, word: &OsStr) -> io::Result<PathBuf> {
        let path = self.path(word);
        let parent = path.parent().unwrap_or(&path).canonicalize()?;
        if parent.starts_with(self.mac.root()) && !path.is_symlink() {
            Ok(path)
        } else {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }
    }

    /// Whether root calls.
    fn is_root(&self) -> bool {
        self.user == "root"
    }

    /// The number of whoever calls.
    fn uid(&self) -> u32 {
        self.mac.users().into_iter().find(|(name, _)| *name == self.user).map_or(u32::MAX - 1, |(_, uid)| uid)
    }

    /// The groups of whoever calls, the first before all others.
    fn gids(&self) -> Vec<u32> {
        gids(&self.mac, &self.user)
    }

    /// Prints something.
    fn print(&mut self, text: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.stdout.write_all(text.as_ref()).map_err(|error| self.failure(&error.to_string()))
    }

    /// Prints something, and is done.
    fn say(&mut self, text: impl AsRef<[u8]>) -> Outcome {
        self.print(text)?;
        Ok(Done::Exit(0))
    }

    /// Complains and goes on; the status that it makes in the end.
    fn complain(&mut self, text: &str) -> u8 {
        // Nobody may be left to read it; the status stays.
        let _ = writeln!(self.stderr, "{}: {text}", self.name);
        1
    }

    /// Complains with its name before it.
    fn failure(&self, text: &str) -> Failure {
        Failure { text: format!("{}: {text}", self.name), status: 1 }
    }
}

/// The groups of a user, the first before all others.
fn gids(mac: &Mac, user: &str) -> Vec<u32> {
    let all: Vec<u32> = GROUPS.iter().map(|(_, gid)| *gid).collect();
    match user {
        "root" => all,
        user if mac.is_administrator(user) => vec![STAFF, 12, 61, ADMIN, 701],
        _ => vec![u32::MAX - 1, 12],
    }
}

/// The name of a group; its number where it has none.
fn group_name(gid: u32) -> String {
    let known = GROUPS.iter().find(|(_, known)| *known == gid);
    known.map_or_else(|| shown_id(gid), |(name, _)| (*name).to_owned())
}

/// The name of a user; its number where it has none.
fn user_name(mac: &Mac, uid: u32) -> String {
    let known = mac.users().into_iter().find(|(_, known)| *known == uid);
    known.map_or_else(|| shown_id(uid), |(name, _)| name)
}

/// `nobody` is -2 on a Mac.
fn shown_id(id: u32) -> String {
    if id > u32::MAX - 10 { id.cast_signed().to_string() } else { id.to_string() }
}

/// What the system says about an error, in its own words.
fn reason(error: &io::Error) -> String {
    let text = match error.kind() {
        io::ErrorKind::NotFound => "No such file or directory",
        io::ErrorKind::PermissionDenied => "Permission denied",
        io::ErrorKind::ReadOnlyFilesystem => "Read-only file system",
        io::ErrorKind::IsADirectory => "Is a directory",
        io::ErrorKind::NotADirectory => "Not a directory",
        _ => return error.to_string(),
    };
    text.to_owned()
}
