//! Tart: a program in a bundle, whose signature lets it run VMs.
//!
//! Only what is started from inside its bundle is let run VMs: through a link it is the same program without what the
//! signature of the bundle allows.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::mac::Mac;
use crate::mac::disk::home_of;
use crate::mac::launchd::{Process, program, signature};

/// Where a program by this name is looked for.
const PLACES: [&str; 2] = ["usr/local/bin", "opt/homebrew/bin"];
/// So many VMs may run at once, by the licence of macOS.
const MOST: usize = 2;

/// Tart, as somebody finds it who calls it by name.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::mac) struct Tart {
    pub(in crate::mac) version: String,
    /// The program as the Mac names it.
    program: String,
    /// Whether it may run VMs.
    is_entitled: bool,
}

/// Why it cannot be called: its complaint and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mac) struct Unable(pub(in crate::mac) String, pub(in crate::mac) u8);

/// A VM that runs.
#[derive(Clone, Debug, Serialize)]
pub(in crate::mac) struct Vm {
    pub(in crate::mac) process: Process,
}

impl Tart {
    /// Finds it, as a shell and the kernel do.
    pub(in crate::mac) fn find(mac: &Mac) -> Result<Tart, Unable> {
        let places = PLACES.map(|place| mac.root().join(place).join("tart"));
        let called = places.into_iter().find(|place| place.symlink_metadata().is_ok());
        let called = called.ok_or_else(|| Unable("command not found: tart".into(), 127))?;
        let (program, is_link) = match fs::read_link(&called) {
            Ok(target) => (target, true),
            Err(_) => {
                let text = fs::read_to_string(&called).unwrap_or_default();
                (started_by(&text).ok_or_else(|| Unable("tart: cannot execute".into(), 126))?, false)
            }
        };
        let shown = program.display().to_string();
        let place = mac.root().join(program.strip_prefix("/").unwrap_or(&program));
        let file =
            fs::read(&place).map_err(|_| Unable(format!("{shown}: No such file or directory"), 127))?;
        // The kernel ends what is not signed.
        signature::admit(mac, &place, &file).ok_or_else(|| Unable("Killed: 9".into(), 137))?;
        let version = program::version_of(&file);
        let version = version.ok_or_else(|| Unable(format!("{shown}: cannot execute binary file"), 126))?;
        let is_entitled = !is_link && shown.contains(".app/Contents/MacOS/");
        Ok(Tart { version, program: shown, is_entitled })
    }

    /// Starts a VM of a user, which goes on whatever becomes of whoever started it.
    pub(in crate::mac) fn run(&self, mac: &Arc<Mac>, user: &str, name: &str) -> Result<(), Unable> {
        if !vms_of(mac, user).iter().any(|known| known == name) {
            return Err(Unable(format!("the specified VM \"{name}\" does not exist"), 2));
        }
        if !self.is_entitled {
            let text = "Error Domain=VZErrorDomain Code=2 Description=\"Invalid virtual machine configuration. The process doesn’t \
                        have the “com.apple.security.virtualization” entitlement.\"";
            return Err(Unable(text.into(), 1));
        }
        let (uid, now) = (mac.users().into_iter().find(|(known, _)| known == user), mac.clock().time());
        let mut live = mac.live();
        let Some(live) = &mut *live else { return Err(Unable("Killed: 9".into(), 137)) };
        if live.aqua.is_none() || live.aqua != uid.map(|(_, uid)| uid) {
            return Err(Unable(
                "Virtualization is not available because no graphic console is available".into(),
                1,
            ));
        }
        if live.vms.contains_key(name) {
            return Err(Unable(format!("VM \"{name}\" is already running!"), 2));
        }
        if live.vms.len() >= MOST {
            let text = "The number of VMs exceeds the system limit (other running VMs: ";
            let others: Vec<&str> = live.vms.keys().map(String::as_str).collect();
            return Err(Unable(format!("{text}{})", others.join(", ")), 1));
        }
        let arguments = vec![self.program.clone(), "run".to_owned(), name.to_owned()];
        let process = Process::new(live.launchd.new_pid(), user, &self.program, arguments, now);
        live.vms.insert(name.to_owned(), Vm { process });
        Ok(())
    }
}

/// What a script hands over to.
fn started_by(script: &str) -> Option<PathBuf> {
    let line = script.lines().find_map(|line| line.trim().strip_prefix("exec "))?;
    let word = line.split_whitespace().next()?.trim_matches(['"', '\'']);
    word.starts_with('/').then(|| Path::new(word).to_owned())
}

/// The VMs of a user, whether they run or not.
pub(in crate::mac) fn vms_of(mac: &Mac, user: &str) -> Vec<String> {
    let directory = home_of(mac.root(), user).join(".tart/vms");
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_says_what_it_starts() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(started_by(text), expected.map(PathBuf::from), "{text}");
        };
        check(
            "#!/bin/sh\nexec /a/tart.app/Contents/MacOS/tart \"$@\"\n",
            Some("/a/tart.app/Contents/MacOS/tart"),
        );
        check("#!/bin/sh\nexec \"/a/b\" \"$@\"\n", Some("/a/b"));
        check("#!/bin/sh\n", None);
        check("exec tart\n", None);
    }
}
