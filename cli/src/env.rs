//! What a command may know of its surroundings. Nothing else in this crate asks the process.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use fleet_engine::registry::Registry;

use crate::Failure;
use crate::output::Output;
use crate::outside::{Machine, Stage};

/// The surroundings of a command.
pub struct Env {
    /// The directory it works in.
    pub cwd: PathBuf,
    /// The environment variables, those that are valid UTF-8.
    pub vars: BTreeMap<String, String>,
    /// Where it reads.
    pub stdin: Box<dyn BufRead + Send>,
    /// Where results go.
    pub stdout: Box<dyn Write + Send>,
    /// Where complaints and progress go.
    pub stderr: Output,
    /// Which of the three a person sits at.
    pub terminal: Terminal,
    /// Makes the providers that commands know: relative paths in their arguments start at the given directory, and what
    /// their settings leave out may stand in the given environment variables.
    pub providers: fn(PathBuf, &BTreeMap<String, String>) -> Registry,
}

/// Which streams a person sits at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
    /// Standard error.
    pub stderr: bool,
}

impl Env {
    /// The surroundings of this process.
    #[must_use]
    pub fn of_process() -> Env {
        let terminal = Terminal {
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        };
        // A person wants to see lines as they come; a pipe wants few large writes.
        let stdout: Box<dyn Write + Send> =
            if terminal.stdout { Box::new(io::stdout()) } else { Box::new(BufWriter::new(io::stdout())) };
        Env {
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            vars: std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
                .collect(),
            stdin: Box::new(io::BufReader::new(io::stdin())),
            stdout,
            stderr: Output::new(io::stderr()),
            terminal,
            providers: fleet_providers::builtin,
        }
    }

    /// The providers, working from the working directory.
    #[must_use]
    pub fn providers(&self) -> Registry {
        (self.providers)(self.cwd.clone(), &self.vars)
    }

    /// The machine as expressions see it from the working directory.
    #[must_use]
    pub fn outside(&self) -> Machine {
        Machine { cwd: self.cwd.clone(), home: self.var("HOME").map(PathBuf::from), stage: Stage::Evaluating }
    }

    /// An environment variable; one set to nothing counts as not set.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether to write colours to standard output.
    #[must_use]
    pub fn color_on_stdout(&self) -> bool {
        self.terminal.stdout && self.wants_color()
    }

    /// Whether to write colours to standard error.
    #[must_use]
    pub fn color_on_stderr(&self) -> bool {
        self.terminal.stderr && self.wants_color()
    }

    fn wants_color(&self) -> bool {
        self.var("NO_COLOR").is_none() && self.var("TERM") != Some("dumb")
    }

    /// Asks a question to which only `yes` means yes.
    pub(crate) fn ask(&mut self, question: &str) -> Result<bool, Failure> {
        write!(self.stdout, "\n{question} Only `yes` is accepted: ")?;
        self.stdout.flush()?;
        let mut answer = String::new();
        let read = self.stdin.read_line(&mut answer);
        read.map_err(|error| Failure::of("standard input cannot be read", &error))?;
        writeln!(self.stdout)?;
        Ok(answer.trim() == "yes")
    }

    /// Where a file that the user named is.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Works in another directory from now on.
    pub(crate) fn enter(&mut self, directory: &Path) -> Result<(), Failure> {
        let target = self.cwd.join(directory);
        if !target.is_dir() {
            return Err(Failure::new(format!("`{}` is not a directory", directory.display())));
        }
        self.cwd = target;
        Ok(())
    }
}

/// The rows and columns of the terminal behind standard error.
pub(crate) fn screen() -> (u16, u16) {
    console::Term::stderr().size()
}
