//! One shell that stays: takes frames, and answers them as they stream.

use std::time::Duration;

use fleet_engine::resource::Error;
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use crate::chance;
use crate::road::{Channel, Road};
use crate::script::{self, Frame, LOADER, Root, Section, sections};

/// How long complaints may lag behind answers.
const LAG: Duration = Duration::from_secs(5);

/// A shell on a host.
pub(crate) struct Shell {
    channel: Channel,
    mark: String,
    root: Root,
    /// Whether nobody knows yet who it runs as.
    asks_who: bool,
    /// Whether it knows the functions of questions, and those of steps.
    knows: (bool, bool),
    /// Its number on the host, once it said so.
    pub(crate) number: Option<String>,
    /// What stands before every path, once it said so.
    pub(crate) prefix: String,
}

/// What came back.
pub(crate) struct Exchange {
    /// Who the shell runs as, as `id` says it if nobody knew, if this was its first frame.
    pub(crate) hello: Option<String>,
    /// The answers, as far as they arrived.
    pub(crate) sections: Vec<Section>,
    /// How it ended. After all but the first end the shell is of no use.
    pub(crate) end: End,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All of it arrived.
    Whole,
    /// The shell or the connection ended first; what was complained about last.
    Cut(String),
    /// Nothing more came for so long.
    Late(Duration),
}

impl Shell {
    /// A shell as whoever is logged in, which says who that is if nobody knows.
    pub(crate) async fn open(road: &Road, root: Root, asks_who: bool) -> Result<Shell, Error> {
        let channel = road.open(&["/bin/sh", "-c", LOADER]).await?;
        Ok(Shell { asks_who, ..Shell::over(channel, root) })
    }

    /// A shell at the other end of a channel, in which the loader runs or will run.
    pub(crate) fn over(channel: Channel, root: Root) -> Shell {
        let (mark, prefix) = (chance::name(), String::new());
        Shell { channel, mark, root, asks_who: false, knows: (false, false), number: None, prefix }
    }

    /// A frame with all that the shell does not know yet.
    fn frame(&self, works: bool) -> Frame {
        let mut frame = Frame::new();
        if !self.knows.0 {
            frame.push(&script::start(&self.mark, &self.root));
            // A process less, where a user was said to log in.
            frame.push(if self.asks_who { "hello\n" } else { "x $$ \"$R\"\n" });
        }
        if works && !self.knows.1 {
            frame.push(script::start_work());
        }
        frame.push("H=\n");
        frame
    }

    /// Whether the other end is still there, as far as anybody noticed.
    pub(crate) async fn is_up(&mut self) -> bool {
        let mut byte = [0];
        let read = self.channel.stdout.read(&mut byte);
        !matches!(timeout_at(Instant::now(), read).await, Ok(Ok(0) | Err(_)))
    }

    /// Whether it was never sent anything.
    pub(crate) fn is_new(&self) -> bool {
        !self.knows.0
    }

    /// Sends a request, which may be one of work, and takes its answers. Whenever `patience` passes without any progress,
    /// it gives up.
    pub(crate) async fn exchange(&mut self, body: &Frame, works: bool, patience: Duration) -> Exchange {
        let mut frame = self.frame(works);
        frame.append(body);
        frame.push("x end\n");
        tracing::debug!(script = frame.script(), "script");
        let is_first = !self.knows.0;
        let bytes = frame.into_bytes();
        let began = Instant::now();
        let (out, err, end) = self.talk(&bytes, patience).await;
        tracing::debug!(
            sent = bytes.len(),
            received = out.len(),
            milliseconds = began.elapsed().as_secs_f64() * 1000.0,
            ?end,
            "round trip"
        );
        self.knows = (true, self.knows.1 || works);
        let mut sections = sections(&self.mark, &out, &err);
        if end == End::Whole {
            sections.pop();
        }
        let mut hello = None;
        if is_first && !sections.is_empty() {
            let section = sections.remove(0);
            let (number, prefix) = section.word.split_once(' ').unwrap_or((&section.word, ""));
            (self.number, self.prefix) = (Some(number.to_owned()), prefix.to_owned());
            hello = Some(String::from_utf8_lossy(&section.body).into_owned());
        }
        Exchange { hello, sections, end }
    }

    /// Writes and reads at once, so that neither side waits for the other.
    async fn talk(&mut self, bytes: &[u8], patience: Duration) -> (Vec<u8>, Vec<u8>, End) {
        let Channel { stdin, stdout, stderr, .. } = &mut self.channel;
        let mark = format!("\n{}", self.mark);
        let last = format!("{mark} end\n");
        let (mut out, mut err) = (Vec::with_capacity(4096), Vec::new());
        let (mut written, mut is_writing, mut is_complaining) = (0, true, true);
        let mut deadline = Instant::now() + patience;
        // Where the search for the last mark goes on.
        let mut searched: usize = 0;
        let end = loop {
            tokio::select! {
                wrote = stdin.write(&bytes[written..]), if is_writing && written < bytes.len() => match wrote {
                    Ok(count) if count > 0 => {
                        written += count;
                        if written == bytes.len() {
                            is_writing = stdin.flush().await.is_ok();
                        }
                    }
                    // What was said before is still to be read.
                    _ => is_writing = false,
                },
                read = stdout.read_buf(&mut out) => match read {
                    Ok(count) if count > 0 => {
                        if memmem::find(&out[searched..], last.as_bytes()).is_some() {
                            break End::Whole;
                        }
                        searched = out.len().saturating_sub(last.len());
                    }
                    _ => break End::Cut(String::new()),
                },
                read = stderr.read_buf(&mut err), if is_complaining => {
                    is_complaining = matches!(read, Ok(count) if count > 0);
                }
                () = tokio::time::sleep_until(deadline) => break End::Late(patience),
            }
            deadline = Instant::now() + patience;
        };
        // Both outputs have the same marks.
        let count = |bytes: &[u8]| memmem::find_iter(bytes, mark.as_bytes()).count();
        let marks = count(&out);
        let lag = Instant::now() + LAG;
        while is_complaining && end != End::Late(patience) && (end != End::Whole || count(&err) < marks) {
            let read = timeout_at(lag, stderr.read_buf(&mut err)).await;
            is_complaining = matches!(read, Ok(Ok(count)) if count > 0);
        }
        let end = match end {
            End::Cut(_) => {
                let rest =
                    memmem::rfind(&err, mark.as_bytes()).map_or(&err[..], |at| &err[at + mark.len()..]);
                End::Cut(String::from_utf8_lossy(rest).trim().to_owned())
            }
            other => other,
        };
        (out, err, end)
    }
}
