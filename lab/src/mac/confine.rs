//! Keeps the shells of a Mac inside its root directory, where the system can do that for whoever is no administrator: on
//! Linux in a user and mount namespace in which all else is read-only, on macOS in a sandbox.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal};
use serde::Serialize;

use super::stand_in::CONFINE;

/// What a shell is started with.
pub(super) const PIPES: &str = "pipes";
pub(super) const TERMINAL: &str = "terminal";
/// The status of a shell that could not be confined.
pub(super) const FAILED: u8 = 71;

/// Whether shells are confined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Confinement {
    /// A write outside of the Mac's root directory fails.
    Active,
    /// The system does not allow it. Nothing but the prefix of paths keeps shells where they belong.
    Inactive {
        /// What it said.
        why: String,
    },
}

impl Confinement {
    /// Finds out whether a write inside works and one outside fails.
    pub(super) fn try_out(directory: &Path) -> io::Result<Confinement> {
        let (inside, outside) = (directory.join("inside"), directory.join("outside"));
        std::fs::create_dir(&inside)?;
        std::fs::create_dir(&outside)?;
        let script = r#": >"$0/file" || exit 2; if (: >"$1/file") 2>/dev/null; then exit 3; fi"#;
        let mut command = Command::new(directory.join(CONFINE));
        command.arg(PIPES).arg(&inside).args(["/bin/sh", "-c", script]).arg(&inside).arg(&outside);
        let ended = command.stdin(Stdio::null()).output()?;
        let inactive = |why: String| Ok(Confinement::Inactive { why });
        match ended.status.code() {
            Some(0) => Ok(Confinement::Active),
            Some(3) => inactive("a write outside is possible all the same".into()),
            _ => inactive(String::from_utf8_lossy(&ended.stderr).trim().to_owned()),
        }
    }

    pub(super) fn is_active(&self) -> bool {
        *self == Confinement::Active
    }
}

/// Starts a session with what it is started with, confined to a directory if one is named, and becomes what follows;
/// returns why not.
pub(super) fn run(words: &[OsString]) -> io::Error {
    let [with, root, program, arguments @ ..] = words else { return io::ErrorKind::InvalidInput.into() };
    let started = lead(with == TERMINAL).and_then(|()| {
        if root.is_empty() { Ok(Command::new(program)) } else { system::command(Path::new(root), program) }
    });
    match started {
        Ok(mut command) => command.args(arguments).exec(),
        Err(error) => error,
    }
}

/// Sends a signal to what was started and all that it leads. Whoever has ended meanwhile is fine.
pub(super) fn signal(leader: Pid, signal: Signal) {
    // It leads nobody before it has begun its session.
    let _ = rustix::process::kill_process(leader, signal);
    let _ = rustix::process::kill_process_group(leader, signal);
}

/// Leads a session of its own, whose terminal is what is read.
fn lead(has_terminal: bool) -> io::Result<()> {
    rustix::process::setsid()?;
    if has_terminal {
        rustix::process::ioctl_tiocsctty(io::stdin())?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::OsStr;
    use std::fs;
    use std::io;
    use std::os::unix::ffi::OsStringExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use rustix::io::Errno;
    use rustix::mount::{MountFlags, MountPropagationFlags, mount_bind, mount_change, mount_remount};
    use rustix::thread::{UnshareFlags, set_no_new_privs};

    pub(super) fn command(root: &Path, program: &OsStr) -> io::Result<Command> {
        enter()?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        mount_bind(root, root)?;
        for (place, flags) in mounts()? {
            if place == root {
                continue;
            }
            let flags = flags | MountFlags::BIND | MountFlags::RDONLY;
            match mount_remount(&place, flags, "") {
                // What cannot be reached cannot be written to.
                Ok(()) | Err(Errno::ACCESS | Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => {
                    let why = format!("{} cannot be made read-only: {error}", place.display());
                    return Err(io::Error::new(io::Error::from(error).kind(), why));
                }
            }
        }
        set_no_new_privs(true)?;
        // A working directory that was entered before leads past the new mounts.
        let here = std::env::current_dir().unwrap_or_else(|_| root.to_owned());
        std::env::set_current_dir(here)?;
        Ok(Command::new(program))
    }

    /// A namespace of its own, in which whoever runs this is the same user.
    fn enter() -> io::Result<()> {
        let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        #[expect(deprecated, reason = "it is unsafe for tables of open files alone, which stay shared here")]
        rustix::thread::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    }

    /// Where something is mounted, and how: what is set outside must stay set.
    fn mounts() -> io::Result<Vec<(PathBuf, MountFlags)>> {
        let table = fs::read("/proc/self/mountinfo")?;
        let lines = table.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.filter_map(parse).collect())
    }

    pub(super) fn parse(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
        let mut fields = line.split(|byte| *byte == b' ');
        let place = unescape(fields.nth(4)?);
        let flags = fields.next()?.split(|byte| *byte == b',').map(|option| match option {
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        });
        Some((place, flags.fold(MountFlags::empty(), |all, flag| all | flag)))
    }

    /// Spaces and the like are written as `\040`.
    fn unescape(field: &[u8]) -> PathBuf {
        let (mut path, mut rest) = (Vec::new(), field);
        while let Some((first, more)) = rest.split_first() {
            let digits = more.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
            match (first, byte) {
                (b'\\', Some(byte)) => {
                    path.push(byte);
                    rest = &more[3..];
                }
                _ => {
                    path.push(*first);
                    rest = more;
                }
            }
        }
        PathBuf::from(std::ffi::OsString::from_vec(path))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn mounts_are_read() {
            let line = b"44 43 0:25 / /mnt/a\\040b\\134c ro,nosuid,nodev,relatime - tmpfs x ro,size=4k";
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RELATIME;
            assert_eq!(parse(line), Some((PathBuf::from("/mnt/a b\\c"), flags)));
            assert_eq!(parse(b"44 43 0:25"), None);
        }
    }
}

#[cfg(target_os = "macos")]
mod system {
    use std::ffi::OsStr;
    use std::io;
    use std::path::Path;
    use std::process::Command;

    pub(super) fn command(root: &Path, program: &OsStr) -> io::Result<Command> {
        let root = root.canonicalize()?;
        let quoted = root.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        let profile = format!(
            "(version 1)(allow default)(deny file-write*)\
             (allow file-write* (subpath \"{quoted}\") (subpath \"/dev\"))"
        );
        let mut command = Command::new("/usr/bin/sandbox-exec");
        command.arg("-p").arg(profile).arg(program);
        Ok(command)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod system {
    use std::ffi::OsStr;
    use std::io;
    use std::path::Path;
    use std::process::Command;

    pub(super) fn command(_: &Path, _: &OsStr) -> io::Result<Command> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no way to do it"))
    }
}
