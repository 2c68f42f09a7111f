//! How a command ends, well or badly.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::{Env, diagnostics};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Exit {
    /// All is well: 0.
    Done,
    /// Something is wrong and was said: 1.
    Failed,
    /// All is well and there are changes, where the user asked to be told apart: 2.
    Changes,
    /// All is well and files are not in canonical form, where the user asked to be told: 3, as `terraform fmt` does.
    Unformatted,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// Standard output took no more. `?` on a write makes this one: other I/O errors say what they were about.
    Output(io::Error),
    /// Something to tell the user.
    Message {
        /// What went wrong, in lower case, without a full stop.
        summary: String,
        /// What to do next.
        help: Option<String>,
    },
}

impl Exit {
    /// The number the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Changes => 2,
            Exit::Unformatted => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl Failure {
    /// A failure with what went wrong.
    pub fn new(summary: impl Into<String>) -> Failure {
        Failure::Message { summary: summary.into(), help: None }
    }

    /// A failure of `doing`, with the whole chain of causes on one line.
    pub fn of(doing: impl Display, error: &dyn std::error::Error) -> Failure {
        let mut summary = format!("{doing}: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            summary.push_str(": ");
            summary.push_str(&error.to_string());
            cause = error.source();
        }
        Failure::new(summary)
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Failure {
        match self {
            Failure::Message { summary, .. } => Failure::Message { summary, help: Some(help.into()) },
            output @ Failure::Output(_) => output,
        }
    }

    /// Tells the user. A reader that went away (`fleet graph | head`) wanted no more and needs no telling.
    pub(crate) fn report(self, env: &mut Env) -> Exit {
        let (summary, help) = match self {
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::Failed,
            Failure::Output(error) => (format!("cannot write the output: {error}"), None),
            Failure::Message { summary, help } => (summary, help),
        };
        let (red, cyan, plain) =
            if env.color_on_stderr() { ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
        let clean = |text: &str| diagnostics::clean(text).collect::<String>();
        // Output so far belongs before the complaint. If neither can be written, nobody is left to be told.
        let _ = env.stdout.flush();
        let _ = writeln!(env.stderr, "{red}error:{plain} {}", clean(&summary));
        if let Some(help) = help {
            let _ = writeln!(env.stderr, "{cyan}help:{plain} {}", clean(&help));
        }
        Exit::Failed
    }
}
