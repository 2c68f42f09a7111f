//! The lab's end of a command: takes calls on a Unix socket and carries each out on a thread of its own.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::Pid;
use tokio::net::UnixListener;

use super::Tools;
use super::command::{Call, Done, carry_out};
use super::stand_in::{EXEC, EXIT};
use super::under_way;
use crate::clock::{Clock, Time};

/// More than any system lets a program have as words.
const LONGEST: usize = 8 << 20;

/// The streams of a call are nobody else's: a program that happened to be started meanwhile would keep them open, and
/// whoever reads what the command says would wait for the end of that. Not every system can see to it at once.
#[cfg(not(target_vendor = "apple"))]
const NOT_HANDED_ON: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(target_vendor = "apple")]
const NOT_HANDED_ON: RecvFlags = RecvFlags::empty();

/// Takes calls, for as long as there is a Mac.
pub(super) async fn serve(listener: UnixListener, tools: Weak<Tools>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream.into_std(),
            Err(error) => {
                tracing::warn!(%error, "a command of a Mac does not reach the lab");
                // There are too many at once.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let Some(tools) = tools.upgrade() else { return };
        tokio::spawn(async move {
            let taken = tokio::task::spawn_blocking(move || -> io::Result<(Taken, UnixStream)> {
                let mut stream = stream?;
                stream.set_nonblocking(false)?;
                Ok((take(&mut stream, &tools)?, stream))
            });
            let taken = taken.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            let answered = match taken {
                Ok((Taken::Answered, _)) => Ok(()),
                Ok((Taken::Stays, stream)) => gone(stream).await,
                Ok((Taken::Until(clock, until), mut stream)) => {
                    // No thread waits with it: it may be for ever.
                    clock.until(until).await;
                    stream.write_all(&[EXIT, 0])
                }
                Err(error) => Err(error),
            };
            if let Err(error) = answered {
                // Whoever called was ended meanwhile.
                tracing::debug!(%error, "a command of a Mac got no answer");
            }
        });
    }
}

/// What became of a call.
enum Taken {
    /// It is answered.
    Answered,
    /// The answer has to wait until then.
    Until(Clock, Time),
    /// There is none as long as the caller is there.
    Stays,
}

/// Waits until a caller is gone.
async fn gone(stream: UnixStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let stream = tokio::net::UnixStream::from_std(stream)?;
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => break,
        }
    }
    Ok(())
}

fn take(stream: &mut UnixStream, tools: &Arc<Tools>) -> io::Result<Taken> {
    let (length, streams) = head(stream)?;
    let mut request = vec![0; length];
    stream.read_exact(&mut request)?;
    let mut fields = request.split(|byte| *byte == 0).map(|field| OsString::from_vec(field.to_vec()));
    let mut next = || fields.next().unwrap_or_default();
    let (id, user, service, leader, directory, name) = (next(), next(), next(), next(), next(), next());
    let mut words: Vec<OsString> = fields.collect();
    // What follows the last NUL is no word.
    words.pop();
    let (id, name) = (id.to_string_lossy(), name.to_string_lossy().into_owned());
    let mac = tools.find(&id).ok_or_else(|| io::Error::other(format!("there is no Mac {id}")))?;
    let [stdin, stdout, stderr] = streams;
    let [user, service] = [user, service].map(|text| text.to_string_lossy().into_owned());
    let leader = leader.to_str().and_then(|leader| Pid::from_raw(leader.parse().ok()?));
    let directory = PathBuf::from(directory);
    let _begun = mac.under_way.begin(&service, &name);
    if !under_way::is_there(stream) || mac.under_way.is_ended(&service, leader) {
        return Err(io::Error::other("whoever called was ended before it was carried out"));
    }
    let call = Call { mac: mac.clone(), name, words, user, service, directory, stdin, stdout, stderr };
    let mut answer = Vec::new();
    match carry_out(call) {
        Done::Exit(status) => answer.extend([EXIT, status]),
        Done::Wait { until } => return Ok(Taken::Until(mac.clock().clone(), until)),
        Done::Stay => return Ok(Taken::Stays),
        Done::Exec { environment, words } => {
            answer.push(EXEC);
            for (name, value) in environment {
                answer.extend(format!("{name}={value}\0").into_bytes());
            }
            answer.push(0);
            for word in words {
                answer.extend_from_slice(word.as_bytes());
                answer.push(0);
            }
        }
    }
    stream.write_all(&answer)?;
    Ok(Taken::Answered)
}

/// How long the request is, and the caller's streams.
fn head(stream: &mut UnixStream) -> io::Result<(usize, [File; 3])> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut along = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut length)];
    let received = recvmsg(&*stream, parts, &mut along, NOT_HANDED_ON)?.bytes;
    let mut streams: Vec<OwnedFd> = Vec::new();
    for message in along.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            streams.extend(files);
        }
    }
    for stream in &streams {
        fcntl_setfd(stream, FdFlags::CLOEXEC)?;
    }
    stream.read_exact(&mut length[received..])?;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
    let streams: Vec<File> = streams.into_iter().map(File::from).collect();
    let streams = streams.try_into().map_err(|_| io::Error::other("a call without its streams"))?;
    if length > LONGEST { Err(io::ErrorKind::InvalidInput.into()) } else { Ok((length, streams)) }
}
