//! `fleet demo`: everything fleet does for a pool of Macs, on simulated ones, in one go.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fleet_lab::Lab;

use super::lab;
use crate::{Env, Exit, Failure};

/// See fleet at work on six simulated Macs, without an account anywhere
///
/// Starts a lab, claims three Macs, spoils one by hand, heals it, claims two more, is killed in the middle of that and
/// recovers, gives all of them back, and closes the books. Every command is printed before it is run, so that it can be
/// tried by hand: `fleet lab up` leaves such a world running.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Do not pause for somebody to read
    #[arg(long)]
    fast: bool,
    /// Leave the directory with the configuration and its state, to look at afterwards
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// The configuration that is shown: the example, as it stands.
const CONFIGURATION: &str = include_str!("../../../examples/fleets/scaleway-runners/main.fleet.hcl");

/// How many Macs there are.
const MACS: usize = 6;

/// How many times as fast time goes by for the vendor: a Mac is installed in seconds.
const SPEED: f64 = 120.0;

/// How long a part may take before something is wrong.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) fn demo(env: &mut Env, args: &DemoArgs) -> Result<Exit, Failure> {
    let unmade = |error: std::io::Error| Failure::of("the demo cannot be prepared", &error);
    let temporary = tempfile::Builder::new().prefix("fleet-demo-").tempdir().map_err(unmade)?;
    let site = match &args.keep {
        Some(directory) => env.path(directory),
        None => temporary.path().join("site"),
    };
    std::fs::create_dir_all(&site).map_err(unmade)?;
    std::fs::write(site.join("main.fleet.hcl"), CONFIGURATION).map_err(unmade)?;
    let options = lab::options(&temporary.path().join("lab"), MACS, 1, SPEED)?;
    let lab = Lab::start(options).map_err(|error| Failure::of("the lab did not start", &error))?;
    Demo { env, args, site, lab }.run()
}

/// A demo that is going on.
struct Demo<'e> {
    env: &'e mut Env,
    args: &'e DemoArgs,
    /// Where the configuration is.
    site: PathBuf,
    lab: Lab,
}

impl Demo<'_> {
    fn run(&mut self) -> Result<Exit, Failure> {
        self.tell("Six Macs stand in a pool, rented and free. Everything here is simulated, but the sockets are real.")?;
        self.tell("This is what we want: three runners out of that pool.")?;
        self.fleet(&["plan"])?;
        self.tell("Now make it so. Each Mac is claimed by a file on the Mac itself, so that nobody else can have it.")?;
        self.fleet(&["apply", "--auto-approve"])?;
        self.fleet(&["pool", "list"])?;
        self.tell("Somebody logs in and breaks something by hand.")?;
        self.fleet(&["ssh", "staging-runner-1", "echo oops > \"$FLEET_ROOT\"/Users/m1/runner/about.json"])?;
        self.tell(
            "fleet compares with what is really there, so the next plan shows it; and apply heals it.",
        )?;
        self.fleet(&["plan"])?;
        self.fleet(&["apply", "--auto-approve"])?;
        self.tell("Two more runners; and this time fleet is killed in the middle of it.")?;
        self.killed(&["apply", "--auto-approve", "--var", "size=5"])?;
        self.tell("The next run looks what came of it, and goes on from there. Nothing is claimed twice.")?;
        self.fleet(&["apply", "--auto-approve", "--var", "size=5"])?;
        self.fleet(&["plan", "--var", "size=5"])?;
        self.tell("Enough. All of them are installed anew by their vendor, and go back to the pool.")?;
        self.fleet(&["destroy", "--auto-approve"])?;
        self.fleet(&["pool", "audit"])?;
        self.close()
    }

    /// What the vendor's own books say at the end.
    fn close(&mut self) -> Result<Exit, Failure> {
        let free = self.lab.servers().iter().filter(|server| server.name.starts_with("pool-")).count();
        self.tell(&format!("{free} of {MACS} Macs are free again, says their vendor."))?;
        if free == MACS {
            let line = "Try it by hand: `eval \"$(fleet lab up)\"`, then `fleet plan` in examples/fleets/scaleway-runners.";
            self.tell(line)?;
            return Ok(Exit::Done);
        }
        Err(Failure::new(format!("{} Macs are not back in the pool", MACS - free)))
    }

    /// Says something, and lets it be read.
    fn tell(&mut self, text: &str) -> Result<(), Failure> {
        let (bold, plain) = if self.env.color_on_stdout() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        writeln!(self.env.stdout, "\n{bold}# {text}{plain}")?;
        self.env.stdout.flush()?;
        if !self.args.fast {
            std::thread::sleep(Duration::from_millis(40) * u32::try_from(text.len()).unwrap_or(50));
        }
        Ok(())
    }

    /// Runs a command of fleet to its end.
    fn fleet(&mut self, args: &[&str]) -> Result<(), Failure> {
        self.show(args)?;
        let mut command = self.command(args)?;
        let mut child = command.spawn().map_err(|error| Failure::of("fleet cannot be run", &error))?;
        self.forward(&mut child)?;
        let status = child.wait().map_err(|error| Failure::of("fleet was lost", &error))?;
        match status.success() {
            true => Ok(()),
            false => Err(Failure::new(format!("`fleet {}` failed: {status}", args.join(" ")))),
        }
    }

    /// Runs a command of fleet until it has begun to claim, and kills it there.
    fn killed(&mut self, args: &[&str]) -> Result<(), Failure> {
        self.show(args)?;
        let named = |lab: &Lab| lab.servers().iter().filter(|s| s.name.starts_with("staging-")).count();
        let before = named(&self.lab);
        let mut child = self.command(args)?;
        child.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().map_err(|error| Failure::of("fleet cannot be run", &error))?;
        let started = Instant::now();
        while started.elapsed() < PATIENCE && named(&self.lab) == before {
            if child.try_wait().map_err(|error| Failure::of("fleet was lost", &error))?.is_some() {
                return Err(Failure::new("fleet ended before it could be killed"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().map_err(|error| Failure::of("fleet cannot be killed", &error))?;
        child.wait().map_err(|error| Failure::of("fleet was lost", &error))?;
        writeln!(self.env.stdout, "Killed.")?;
        Ok(())
    }

    fn show(&mut self, args: &[&str]) -> Result<(), Failure> {
        let quoted = |word: &&str| match word.contains([' ', '"', '$', '>']) {
            true => format!("'{word}'"),
            false => (*word).to_owned(),
        };
        let words: Vec<String> = args.iter().map(quoted).collect();
        writeln!(self.env.stdout, "\n$ fleet {}", words.join(" "))?;
        Ok(self.env.stdout.flush()?)
    }

    fn command(&self, args: &[&str]) -> Result<Command, Failure> {
        let program =
            std::env::current_exe().map_err(|error| Failure::of("this program is nowhere", &error))?;
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.site).envs(lab::variables(self.lab.description()));
        command.stdin(Stdio::null());
        if !self.env.terminal.stdout {
            command.stdout(Stdio::piped());
        }
        Ok(command)
    }

    /// Passes on what a command prints, as it comes.
    fn forward(&mut self, child: &mut Child) -> Result<(), Failure> {
        let Some(output) = child.stdout.take() else { return Ok(()) };
        let mut lines = BufReader::new(output);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            self.env.stdout.write_all(&line)?;
            self.env.stdout.flush()?;
            line.clear();
        }
        Ok(())
    }
}
