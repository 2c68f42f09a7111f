//! What a program does once it is started.
//!
//! A program of the lab is a text file that says so itself. It is signed like any other program, because the kernel runs no
//! other; what follows the last of these lines does not matter.
//!
//! ```text
//! #!lab-program
//! version=1.2.3            what it prints when it is started
//! exit_after=3             it ends by itself after so many seconds; for ever, if this is not said
//! exit_code=1              with this status
//! stops_after=2            so long does it take to end when it is asked to; one second, if this is not said
//! listens=8081             it listens there, on 127.0.0.1
//! health=200 ok            and answers this to everybody who asks
//! needs=/var/log/vms       without this directory it ends at once with status 1; may be said several times
//! is=tailscaled            it is a part of the Mac, which another module knows; see [`PARTS`]
//! ```
//!
//! A script for a shell is run by this machine's own, confined as the shells of whoever logs in are. A simulated command
//! is carried out. What lies in none of these ways on the Mac cannot be started.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::{Child, Command};

use super::job::Job;
use super::run::{self, Running};
use super::service::{EX_CONFIG, Exit, Process};
use super::signature;
use crate::mac::command::{self, Call, Done};
use crate::mac::login::loginwindow;
use crate::mac::stand_in::{CONFINE, SERVICE};
use crate::mac::{Mac, confine, tailscale};

/// How a program of the lab begins.
const PROGRAM: &str = "#!lab-program";
/// Where programs of the system lie that are simulated commands here.
const SYSTEM: [&str; 5] = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/libexec/"];

/// A program of the system that is no file here: other parts of the Mac say what it does.
pub(in crate::mac) struct BuiltIn {
    /// Where it lies on a Mac.
    pub(in crate::mac) path: &'static str,
    /// What happens when it is started.
    pub(in crate::mac) started: fn(&Arc<Mac>),
    /// What happens when it ends.
    pub(in crate::mac) ended: fn(&Arc<Mac>),
}

/// What launchd starts that is no file here.
pub(in crate::mac) const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        path: "/System/Library/CoreServices/loginwindow.app/Contents/MacOS/loginwindow",
        started: loginwindow::started,
        ended: loginwindow::ended,
    },
    BuiltIn { path: "/usr/libexec/sshd-keygen-wrapper", started: |_| {}, ended: |_| {} },
];

/// A program of the lab that is a part of the Mac: another module says what it does.
pub(in crate::mac) struct Part {
    /// What the program says that it is.
    pub(in crate::mac) name: &'static str,
    /// What happens when it is started; how it ends at once, if it cannot go on.
    pub(in crate::mac) started: fn(&Arc<Mac>, &Job) -> Result<(), Ended>,
    /// What happens when it ended that was started with these arguments.
    pub(in crate::mac) ended: fn(&Arc<Mac>, &[String]),
}

/// How a part ends at once.
pub(in crate::mac) struct Ended {
    pub(in crate::mac) code: i32,
    /// What it complains about.
    pub(in crate::mac) text: String,
}

/// The parts.
const PARTS: &[Part] = &[tailscale::PART];

/// A process of a service ended: what it led ends, too, with what that was at, and a part of the Mac is gone.
pub(super) fn ended(mac: &Arc<Mac>, target: &str, process: &Process) {
    if let Some(leader) = process.leader {
        mac.under_way.end(leader);
        confine::signal(leader, Signal::KILL);
    }
    mac.under_way.wait(target.rsplit('/').next().unwrap_or(target));
    let part = PARTS.iter().find(|part| process.is.as_deref() == Some(part.name));
    if let Some(part) = part {
        (part.ended)(mac, &process.arguments);
    }
    if let Some(known) = BUILT_IN.iter().find(|known| known.path == process.program) {
        (known.ended)(mac);
    }
}

/// The hash of the signature of a program, as the kernel has it once it runs.
pub(super) fn cdhash(mac: &Mac, program: &str) -> Option<String> {
    let path = at(mac, program);
    signature::admit(mac, &path, &fs::read(&path).ok()?)
}

/// What is started.
pub(super) enum Life {
    Program(LabProgram),
    BuiltIn(&'static BuiltIn),
    Command(String),
    Script(PathBuf),
    Nothing,
}

/// A program that may be started.
pub(super) struct Prepared {
    pub(super) life: Life,
    pub(super) cdhash: Option<String>,
    pub(super) is: Option<String>,
    pub(super) listens: Option<(u16, String)>,
    pub(super) stops_after: u64,
}

/// What a program of the lab says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LabProgram {
    version: String,
    exit_after: Option<u64>,
    exit_code: i32,
    stops_after: Option<u64>,
    listens: Option<(u16, String)>,
    needs: Vec<String>,
    is: Option<String>,
}

impl Prepared {
    pub(super) fn nothing() -> Prepared {
        Prepared { life: Life::Nothing, cdhash: None, is: None, listens: None, stops_after: 0 }
    }

    fn of(life: Life) -> Prepared {
        Prepared { life, ..Prepared::nothing() }
    }
}

impl LabProgram {
    fn read(file: &[u8]) -> Option<LabProgram> {
        let text = String::from_utf8_lossy(file).into_owned();
        let mut lines = text.lines();
        if lines.next()? != PROGRAM {
            return None;
        }
        let pairs: Vec<(&str, &str)> = lines.map_while(|line| line.split_once('=')).collect();
        let last = |key: &str| pairs.iter().rev().find(|(known, _)| *known == key).map(|(_, value)| *value);
        let number = |key: &str| last(key).and_then(|value| value.parse().ok());
        let port = last("listens").and_then(|port| port.parse().ok());
        let health = last("health").unwrap_or("200 ok").to_owned();
        Some(LabProgram {
            version: last("version").unwrap_or("0").to_owned(),
            exit_after: number("exit_after"),
            exit_code: last("exit_code").and_then(|code| code.parse().ok()).unwrap_or_default(),
            stops_after: number("stops_after"),
            listens: port.map(|port| (port, health)),
            is: last("is").map(str::to_owned),
            needs: pairs
                .iter()
                .filter(|(key, _)| *key == "needs")
                .map(|(_, path)| (*path).to_owned())
                .collect(),
        })
    }
}

/// The version of a program of the lab; nothing if it is none.
pub(in crate::mac) fn version_of(file: &[u8]) -> Option<String> {
    LabProgram::read(file).map(|program| program.version)
}

/// Finds out what a job starts; how it ends at once, if it cannot be.
pub(super) fn prepare(mac: &Arc<Mac>, job: &Job, user: &str) -> Result<Prepared, Exit> {
    let is_known = mac.users().iter().any(|(name, _)| name == user);
    let misses = |path: &Option<String>| path.as_deref().is_some_and(|path| !at(mac, path).is_dir());
    let outputs = [&job.stdout, &job.stderr].into_iter().flatten();
    let mut around = outputs.map(|path| at(mac, path).parent().is_some_and(Path::is_dir));
    if !is_known || misses(&job.directory) || !around.all(|is_there| is_there) {
        return Err(Exit::Code(EX_CONFIG));
    }
    let path = at(mac, &job.program);
    if !path.is_file() {
        return without_file(&job.program).map(Prepared::of).ok_or(Exit::Code(EX_CONFIG));
    }
    let file = fs::read(&path).map_err(|_| Exit::Code(EX_CONFIG))?;
    let mode = fs::metadata(&path).map(|found| std::os::unix::fs::PermissionsExt::mode(&found.permissions()));
    if mode.unwrap_or_default() & 0o111 == 0 {
        return Err(Exit::Code(EX_CONFIG));
    }
    match LabProgram::read(&file) {
        None if file.starts_with(b"#!") => Ok(Prepared::of(Life::Script(path))),
        program => {
            let cdhash = signature::admit(mac, &path, &file).ok_or(Exit::CodeSigning)?;
            // What is signed and no program cannot be started either.
            let program = program.ok_or(Exit::Code(EX_CONFIG))?;
            let (listens, stops_after) = (program.listens.clone(), program.stops_after.unwrap_or(1));
            let is = program.is.clone();
            Ok(Prepared { life: Life::Program(program), cdhash: Some(cdhash), is, listens, stops_after })
        }
    }
}

/// A program of the system.
fn without_file(program: &str) -> Option<Life> {
    if let Some(known) = BUILT_IN.iter().find(|known| known.path == program) {
        return Some(Life::BuiltIn(known));
    }
    let name = SYSTEM.iter().find_map(|directory| program.strip_prefix(directory))?;
    if matches!(name, "sh" | "bash" | "zsh") {
        return Some(Life::Script(Path::new("/bin/sh").to_owned()));
    }
    command::names().any(|known| known == name).then(|| Life::Command(name.to_owned()))
}

fn at(mac: &Mac, path: &str) -> PathBuf {
    mac.root().join(path.trim_start_matches('/'))
}

/// Lets a program that was started do what it does.
pub(super) fn live(mac: &Arc<Mac>, life: Life, job: &Job, user: &str, running: Running<'_>) {
    let Running { target, loading, pid } = running;
    match life {
        Life::Nothing => {}
        Life::BuiltIn(known) => (known.started)(mac),
        Life::Program(program) => {
            let name = Path::new(&job.program).file_name().unwrap_or_default().to_string_lossy().into_owned();
            write(mac, &job.stdout, &format!("{name} {}: started\n", program.version));
            let missing = program.needs.iter().find(|path| !at(mac, path).is_dir());
            if let Some(missing) = missing {
                write(mac, &job.stderr, &format!("{name}: {missing}: No such file or directory\n"));
                run::ended(mac, target, loading, pid, Exit::Code(1));
                return;
            }
            let part = PARTS.iter().find(|part| program.is.as_deref() == Some(part.name));
            if let Some(Err(Ended { code, text })) = part.map(|part| (part.started)(mac, job)) {
                write(mac, &job.stderr, &text);
                run::ended(mac, target, loading, pid, Exit::Code(code));
                return;
            }
            if let Some(after) = program.exit_after {
                let time = mac.clock().time().after(Duration::from_secs(after));
                running.ends_at(mac, time, Exit::Code(program.exit_code));
            }
        }
        Life::Command(name) => {
            let status = carry_out(mac, name, job, user);
            run::ended(mac, target, loading, pid, Exit::Code(status));
        }
        Life::Script(script) => match start(mac, &script, job, user, running) {
            // It was ended before it was begun.
            Ok(None) => {}
            Err(error) => {
                write(mac, &job.stderr, &format!("{}: {error}\n", job.program));
                run::ended(mac, target, loading, pid, Exit::Code(EX_CONFIG));
            }
            Ok(Some((mut child, leader))) => {
                let known = mac.runs(leader);
                let (mac, target) = (Arc::downgrade(mac), target.to_owned());
                tokio::spawn(async move {
                    let status = child.wait().await;
                    drop(known);
                    let exit = match status.map(|status| (status.code(), status.signal())) {
                        Ok((Some(code), _)) => Exit::Code(code),
                        Ok((None, Some(signal))) => Exit::Signal(signal),
                        _ => Exit::Code(EX_CONFIG),
                    };
                    if let Some(mac) = mac.upgrade() {
                        run::ended(&mac, &target, loading, pid, exit);
                    }
                });
            }
        },
    }
}

/// Adds to a file that a job writes to.
fn write(mac: &Mac, path: &Option<String>, text: &str) {
    let Some(path) = path else { return };
    let written = output(mac, path).and_then(|mut file| file.write_all(text.as_bytes()));
    if let Err(error) = written {
        tracing::debug!(%error, path, "a service cannot write");
    }
}

fn output(mac: &Mac, path: &str) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(at(mac, path))
}

/// The files that a job writes to; what it does not say is lost.
fn outputs(mac: &Mac, job: &Job) -> io::Result<(File, File)> {
    let open = |path: &Option<String>| match path {
        Some(path) => output(mac, path),
        None => OpenOptions::new().write(true).open("/dev/null"),
    };
    Ok((open(&job.stdout)?, open(&job.stderr)?))
}

fn carry_out(mac: &Arc<Mac>, name: String, job: &Job, user: &str) -> i32 {
    let _begun = mac.under_way.begin(&job.label, &name);
    let call = outputs(mac, job).and_then(|(stdout, stderr)| {
        Ok(Call {
            mac: mac.clone(),
            name,
            words: job.arguments.iter().skip(1).map(Into::into).collect(),
            user: user.to_owned(),
            service: job.label.clone(),
            directory: mac.root().to_owned(),
            stdin: File::open("/dev/null")?,
            stdout,
            stderr,
        })
    });
    match call.map(command::carry_out) {
        Ok(Done::Exit(status)) => status.into(),
        // What becomes another program does so in a script.
        Ok(Done::Exec { .. } | Done::Wait { .. } | Done::Stay) | Err(_) => EX_CONFIG,
    }
}

/// Runs a script, as the shells of whoever logs in run.
/// Starts a script, which leads processes of this machine; not if its service was ended meanwhile.
fn start(
    mac: &Arc<Mac>,
    script: &Path,
    job: &Job,
    user: &str,
    running: Running<'_>,
) -> io::Result<Option<(Child, Pid)>> {
    let (stdout, stderr) = outputs(mac, job)?;
    let mut starting = Command::new(mac.tools.directory.join(CONFINE));
    starting.arg(confine::PIPES);
    starting.arg(if mac.tools.confinement.is_active() { mac.root().as_os_str() } else { "".as_ref() });
    starting.arg("/bin/sh");
    if script != Path::new("/bin/sh") {
        starting.arg(script);
    }
    // A script that is named among the words lies on the Mac, too.
    let words = job.arguments.iter().skip(1).map(|word| {
        let place = at(mac, word);
        if word.starts_with('/') && place.is_file() { place.into_os_string() } else { word.into() }
    });
    starting.args(words);
    let mut environment: BTreeMap<String, String> = mac.environment(user).into_iter().collect();
    let tools = environment.get("PATH").cloned().unwrap_or_default();
    environment.insert(SERVICE.to_owned(), job.label.clone());
    for (name, value) in &job.environment {
        let value = match name.as_str() {
            "PATH" => {
                let places = value.split(':').map(|place| at(mac, place).display().to_string());
                places.fold(tools.clone(), |path, place| format!("{path}:{place}"))
            }
            "HOME" => at(mac, value).display().to_string(),
            _ => value.clone(),
        };
        environment.insert(name.clone(), value);
    }
    starting.env_clear().envs(environment);
    starting
        .current_dir(job.directory.as_deref().map_or(mac.root().to_owned(), |directory| at(mac, directory)));
    starting.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    let led = run::lead(mac, running, || {
        let child = starting.spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let leader = leader.ok_or_else(|| io::Error::other("a process without a number"))?;
        mac.under_way.begins(leader);
        Ok((child, leader))
    });
    led.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_what_it_does() {
        let text = "#!lab-program\nversion=2\nexit_after=3\nexit_code=1\nneeds=/a\nneeds=/b\nlistens=80\n\nversion=9\n";
        let program = LabProgram::read(text.as_bytes()).unwrap();
        assert_eq!((&*program.version, program.exit_after, program.exit_code), ("2", Some(3), 1));
        assert_eq!(program.needs, ["/a", "/b"]);
        assert_eq!(program.listens, Some((80, "200 ok".to_owned())));
        let signed = signature::sign(text.as_bytes(), "x");
        assert_eq!(LabProgram::read(&signed), Some(program));
        assert_eq!(LabProgram::read(b"#!/bin/sh\n"), None);
    }
}
