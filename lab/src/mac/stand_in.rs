//! The program that a Mac's shell starts for a command: it lets the lab carry it out.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::{command, confine};

/// The lab's socket, in the environment of a Mac's shells.
pub(super) const SOCKET: &str = "FLEET_LAB_SOCKET";
/// Which Mac it is.
pub(super) const MAC: &str = "FLEET_LAB_MAC";
/// Who runs a command.
pub(super) const USER: &str = "FLEET_LAB_USER";
/// For which service, as launchd says it.
pub(super) const SERVICE: &str = "XPC_SERVICE_NAME";
/// The name by which the program confines itself and runs what follows.
pub(super) const CONFINE: &str = "fleet-lab-confine";

/// What the lab answers.
pub(super) const EXIT: u8 = 0;
pub(super) const EXEC: u8 = 1;

/// Does what this program was started for, if it was started as a command of a Mac in the lab. It must be called before
/// anything else is done in the process.
#[must_use]
pub fn stand_in() -> Option<ExitCode> {
    let mut words = env::args_os();
    let name = words.next()?;
    let name = Path::new(&name).file_name()?.to_str()?.to_owned();
    let words: Vec<OsString> = words.collect();
    if name == CONFINE {
        let error = confine::run(&words);
        complain(&format!("the shell cannot be confined: {error}"));
        return Some(ExitCode::from(confine::FAILED));
    }
    let (socket, mac) = (env::var_os(SOCKET)?, env::var_os(MAC)?);
    command::names().find(|known| *known == name)?;
    let done = call(&socket, &mac, &name, &words);
    Some(done.unwrap_or_else(|error| {
        complain(&format!("{name}: the lab does not answer: {error}"));
        ExitCode::from(255)
    }))
}

fn complain(text: &str) {
    // There is nobody else to tell.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Hands over to the lab.
fn call(socket: &OsStr, mac: &OsStr, name: &str, words: &[OsString]) -> io::Result<ExitCode> {
    let mut stream = UnixStream::connect(socket)?;
    let directory = env::current_dir().unwrap_or_default();
    let [user, service] = [USER, SERVICE].map(|name| env::var_os(name).unwrap_or_default());
    let mut request = Vec::new();
    let leader = rustix::process::getpgrp().to_string();
    let fields = [mac, &user, &service, OsStr::new(&leader), directory.as_os_str(), OsStr::new(name)];
    for field in fields.into_iter().chain(words.iter().map(OsString::as_os_str)) {
        request.extend_from_slice(field.as_bytes());
        request.push(0);
    }
    let length = u32::try_from(request.len()).map_err(io::Error::other)?.to_be_bytes();
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let streams = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut along = SendAncillaryBuffer::new(&mut space);
    along.push(SendAncillaryMessage::ScmRights(&streams));
    let sent = sendmsg(&stream, &[IoSlice::new(&length)], &mut along, SendFlags::empty())?;
    stream.write_all(&length[sent..])?;
    stream.write_all(&request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    match answer.split_first() {
        Some((&EXIT, [status])) => Ok(ExitCode::from(*status)),
        Some((&EXEC, rest)) => Err(exec(rest)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Becomes another program: changes of the environment, an empty field, and the words, each ended by NUL.
fn exec(rest: &[u8]) -> io::Error {
    let mut fields = rest.split(|byte| *byte == 0);
    let changes: Vec<&[u8]> = fields.by_ref().take_while(|field| !field.is_empty()).collect();
    let mut words = fields.map(|word| OsString::from_vec(word.to_vec()));
    let Some(program) = words.next() else { return io::ErrorKind::InvalidData.into() };
    let mut command = Command::new(program);
    let mut words: Vec<OsString> = words.collect();
    // What follows the last NUL is no word.
    words.pop();
    command.args(words);
    for change in changes {
        let at = change.iter().position(|byte| *byte == b'=').unwrap_or(change.len());
        let (name, value) = (OsStr::from_bytes(&change[..at]), change.get(at + 1..).unwrap_or_default());
        command.env(name, OsStr::from_bytes(value));
    }
    command.exec()
}
