//! Whoever listens to a run: a person at a terminal, a log of plain lines, a program.
//!
//! 1. `words`: what people are told; `view`: what runs at the moment
//! 2. `live`: on a terminal; `plain`: elsewhere
//! 3. `stream`: for programs
//!
//! [`Progress`] is those of them that the command line and the surroundings ask for.

mod live;
mod plain;
mod stream;
#[cfg(test)]
mod testing;
mod ticker;
mod view;
mod words;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use fleet_engine::clock::Clock;
use fleet_engine::document::Summary;
use fleet_engine::event::{Event, Listener};
use fleet_syntax::{Diagnostic, Sources};
use serde::Serialize;

use self::live::Live;
use self::plain::Plain;
pub use self::stream::Stream;
pub use self::words::summary;
use crate::{Env, Failure, diagnostics, log};

/// How a run is to be told.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ProgressArgs {
    /// Print what happens as JSON, one event a line, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Write the same events to FILE, beside what people see
    #[arg(long, value_name = "FILE")]
    pub json_into: Option<PathBuf>,
}

/// Everybody who listens to a run.
pub struct Progress {
    people: People,
    stdout: Option<Stream>,
    file: Option<(PathBuf, Stream)>,
}

/// What people see.
enum People {
    Nothing,
    Lines(Plain),
    View(Live),
}

/// The first line of a stream.
#[derive(Serialize)]
struct Version<'a> {
    r#type: &'static str,
    format_version: &'static str,
    fleet: &'static str,
    command: &'a str,
}

/// What is wrong, as a line of a stream.
#[derive(Serialize)]
struct Told<T> {
    r#type: &'static str,
    #[serde(flatten)]
    what: T,
}

/// Why a command could not do its work, as a line of a stream.
#[derive(Serialize)]
struct Stopped<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

/// What a wave is about to do, as a line of a stream.
#[derive(Serialize)]
struct Planned<'a> {
    wave: usize,
    summary: &'a Summary,
}

impl Progress {
    /// Starts to listen. With `--json`, standard output is the stream's from now on, and what a command prints for people
    /// goes nowhere.
    pub fn start(
        env: &mut Env,
        args: &ProgressArgs,
        command: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Progress, Failure> {
        let file = args.json_into.as_ref().map(|path| {
            let file = File::create(env.path(path));
            let file =
                file.map_err(|error| Failure::of(format!("cannot write {}", path.display()), &error))?;
            Ok::<_, Failure>((path.clone(), Stream::new(Box::new(file), SystemTime::now)))
        });
        let file = file.transpose()?;
        let stdout = args.json.then(|| {
            let stdout = std::mem::replace(&mut env.stdout, Box::new(io::sink()));
            Stream::new(stdout, SystemTime::now)
        });
        let (out, color) = (env.stderr.clone(), env.color_on_stderr());
        let people = if args.json {
            People::Nothing
        } else if env.terminal.stderr && env.var("TERM") != Some("dumb") {
            People::View(Live::new(out, color, clock))
        } else {
            People::Lines(Plain::new(out, color, clock))
        };
        let progress = Progress { people, stdout, file };
        let fleet = env!("CARGO_PKG_VERSION");
        let version = Version { r#type: "version", format_version: stream::FORMAT_VERSION, fleet, command };
        progress.say(&version);
        Ok(progress)
    }

    /// Tells programs something that is no event of the engine. It must have a `type`.
    pub fn say(&self, event: &impl Serialize) {
        for stream in self.streams() {
            stream.write(event);
        }
    }

    /// Tells programs what is wrong with the configuration, or with what it stands for.
    pub(crate) fn say_diagnostics(&self, diagnostics: &[Diagnostic], sources: &Sources) {
        for what in diagnostics::items(diagnostics, sources) {
            self.say(&Told { r#type: "diagnostic", what });
        }
    }

    /// Tells programs what a wave is about to do.
    pub(crate) fn say_planned(&self, wave: usize, summary: &Summary) {
        self.say(&Told { r#type: "planned", what: Planned { wave, summary } });
    }

    /// Tells programs why a command could not do its work.
    pub(crate) fn say_failure(&self, failure: &Failure) {
        if let Failure::Message { summary, help } = failure {
            let what = Stopped { message: summary, help: help.as_deref() };
            self.say(&Told { r#type: "error", what });
        }
    }

    /// Clears the terminal for what the command prints or asks, until something begins.
    pub fn pause(&self) {
        if let People::View(live) = &self.people {
            live.pause();
        }
    }

    /// Stops listening: the view is gone from the terminal. Fails if a program was not told everything.
    pub fn finish(self) -> Result<(), Failure> {
        drop(self.people);
        if let Some((path, stream)) = self.file {
            let finished = stream.finish();
            finished
                .map_err(|error| Failure::of(format!("cannot write all of {}", path.display()), &error))?;
        }
        Ok(self.stdout.map_or(Ok(()), Stream::finish)?)
    }

    fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.stdout.iter().chain(self.file.iter().map(|(_, stream)| stream))
    }
}

impl Listener for Progress {
    fn hear(&self, event: &Event<'_>) {
        log::hear(event);
        match &self.people {
            People::Nothing => {}
            People::Lines(plain) => plain.hear(event),
            People::View(live) => live.hear(event),
        }
        for stream in self.streams() {
            stream.hear(event);
        }
    }
}
