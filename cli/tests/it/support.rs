//! A directory of its own for each test, and what commands printed in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fleet_cli::{Env, Exit, Output, Terminal};
use fleet_engine::registry::Registry;

/// A directory with a fleet in it, gone when the test ends.
pub(crate) struct Site {
    directory: tempfile::TempDir,
}

/// All providers, and the test provider.
pub(crate) fn providers(directory: PathBuf) -> Registry {
    providers_in(directory, &BTreeMap::new())
}

/// The same, with what their settings leave out in an environment.
pub(crate) fn providers_in(directory: PathBuf, environment: &BTreeMap<String, String>) -> Registry {
    fleet_providers::builtin(directory, environment).with(fleet_test_provider::Test)
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Site {
    /// An empty directory.
    pub(crate) fn empty() -> Site {
        Site { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Runs `fleet` with these arguments, in an environment that holds nothing but HOME.
    pub(crate) fn fleet<const N: usize>(&self, args: [&str; N]) -> Ran {
        self.fleet_with_input(args, "")
    }

    /// The same with any number of arguments.
    pub(crate) fn fleet_words(&self, args: &[&str]) -> Ran {
        self.run(args, "")
    }

    /// The same with something on standard input.
    pub(crate) fn fleet_with_input<const N: usize>(&self, args: [&str; N], input: &str) -> Ran {
        self.run(&args, input)
    }

    /// Both.
    pub(crate) fn fleet_words_with_input(&self, args: &[&str], input: &str) -> Ran {
        self.run(args, input)
    }

    /// The same, answering from elsewhere while it runs.
    pub(crate) fn fleet_asking<const N: usize>(&self, args: [&str; N], answers: io::PipeReader) -> Ran {
        self.run_with(&args, Box::new(io::BufReader::new(answers)))
    }

    /// The same in an environment that holds more than HOME.
    pub(crate) fn fleet_in(&self, environment: &BTreeMap<String, String>, args: &[&str]) -> Ran {
        self.run_in(environment, args, Box::new(io::Cursor::new(String::new())))
    }

    fn run(&self, args: &[&str], input: &str) -> Ran {
        self.run_with(args, Box::new(io::Cursor::new(input.to_owned())))
    }

    fn run_with(&self, args: &[&str], stdin: Box<dyn io::BufRead + Send>) -> Ran {
        self.run_in(&BTreeMap::new(), args, stdin)
    }

    fn run_in(
        &self,
        environment: &BTreeMap<String, String>,
        args: &[&str],
        stdin: Box<dyn io::BufRead + Send>,
    ) -> Ran {
        let (stdout, stderr) = (Shared::default(), Shared::default());
        let mut vars = environment.clone();
        vars.insert("HOME".to_owned(), self.path().display().to_string());
        let env = Env {
            cwd: self.path().to_path_buf(),
            vars,
            stdin,
            stdout: Box::new(stdout.clone()),
            stderr: Output::new(stderr.clone()),
            terminal: Terminal::default(),
            providers: providers_in,
        };
        let args = std::iter::once("fleet").chain(args.iter().copied()).map(OsString::from);
        let exit = fleet_cli::run(args, env);
        Ran { exit, stdout: stdout.text(), stderr: stderr.text() }
    }
}

impl Ran {
    /// The output of a command that must have worked.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.exit, Exit::Done, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// The complaint of a command that must have failed.
    #[track_caller]
    pub(crate) fn failed(self) -> String {
        assert_eq!(self.exit, Exit::Failed, "{}{}", self.stdout, self.stderr);
        self.stderr
    }

    /// The same as one line: where it is wrapped depends on how long the names in it are.
    #[track_caller]
    pub(crate) fn complaint(self) -> String {
        in_one_line(&self.failed())
    }

    /// All that a command said that must have worked, as one line.
    #[track_caller]
    pub(crate) fn told(self) -> String {
        let told = in_one_line(&format!("{}{}", self.stdout, self.stderr));
        self.ok();
        told
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// A writer whose text can be read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
