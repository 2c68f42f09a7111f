//! `fleet` as a process of its own, to be killed: this very test program, run again as `fleet` with the test provider.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

use fleet_cli::Env;

use super::support::{Site, providers_in};

/// Tells the test program to be `fleet`, with these arguments as JSON.
const ARGUMENTS: &str = "FLEET_TEST_ARGUMENTS";

/// What the test program prints before it becomes `fleet`.
const PREAMBLE: &str = "\nrunning 1 test\n";

impl Site {
    /// Starts `fleet` as a process of its own. Its outputs are piped; see [`finish`].
    pub(crate) fn spawn<const N: usize>(&self, args: [&str; N]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The same, and nobody listens to it.
    pub(crate) fn spawn_unheard<const N: usize>(&self, args: [&str; N]) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The same, and it finds programs such as `ssh`.
    pub(crate) fn spawn_with_path<const N: usize>(&self, args: [&str; N]) -> Child {
        self.command_with_path(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// A process that finds programs, and that is not started yet.
    pub(crate) fn command_with_path<'a>(&self, args: impl AsRef<[&'a str]>) -> Command {
        let mut command = self.command(args);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    fn command<'a>(&self, args: impl AsRef<[&'a str]>) -> Command {
        let arguments = serde_json::to_string(args.as_ref()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "--nocapture", "--quiet", "child::becomes_fleet"])
            .env_clear()
            .env("HOME", self.path())
            .env(ARGUMENTS, arguments)
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }
}

/// Waits for the process. Its standard output is what `fleet` wrote.
pub(crate) fn finish(child: Child) -> Output {
    let mut output = child.wait_with_output().unwrap();
    if let Some(own) = output.stdout.strip_prefix(PREAMBLE.as_bytes()) {
        output.stdout = own.to_vec();
    }
    output
}

/// Not a test: what the test program does when it is started by [`Site::spawn`].
#[test]
#[expect(clippy::exit, reason = "what the test program would print after it is not of fleet")]
fn becomes_fleet() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let arguments: Vec<String> = serde_json::from_str(&arguments).unwrap();
    let arguments = std::iter::once("fleet".to_owned()).chain(arguments).map(Into::into);
    let exit = fleet_cli::run(arguments, Env { providers: providers_in, ..Env::of_process() });
    std::io::stdout().flush().unwrap();
    std::process::exit(exit.code().into());
}

#[test]
fn a_process_of_its_own_is_fleet() {
    let site = Site::empty();
    let world = fleet_test_provider::World::start();
    site.write("world.fleet.hcl", &world.configuration());
    site.write("main.fleet.hcl", "resource \"core_file\" \"a\" {\n  path = \"a\"\n  content = \"x\"\n}\n");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();

    let output = finish(site.spawn(["apply", "--auto-approve"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
    assert_eq!(site.read("a"), "x");
    let output = finish(site.spawn(["plan"]));
    assert_eq!(text(output.stdout), "No changes.\n");
    let output = finish(site.spawn(["apply", "--no-such-option"]));
    assert_eq!(output.status.code(), Some(1));
}
