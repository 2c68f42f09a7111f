//! `cargo xtask bench macs`: the three fleets of `examples/fleets/mac-ci` on Macs of the lab, with everything on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use fleet_lab::clock::Pace;
use fleet_lab::mac::{Macs, archive};
use fleet_lab::{Lab, Options};

use super::measure::{Cost, within};
use super::report::publish;
use crate::Outcome;
use crate::run::{cargo, root};

/// The times of the protocol of pools: the lab's vendor does not lag behind.
const TIMES: &str =
    r#"{ settle = "1s", delay = "1s", check_lifetime = "600ms", hold = "2s", poll = "100ms" }"#;

/// A fleet of simulated Macs with the whole stack of CI on them
///
/// The Macs are those of the lab, on this very machine, in real time: what takes a Mac five seconds takes five seconds here.
/// A third of them are nodes, a third runners, a third builders. What the lab itself needs is not counted as CPU, but
/// takes time: nothing else should run meanwhile.
#[derive(clap::Args)]
pub(crate) struct MacsArgs {
    /// How many Macs there are
    #[arg(long, default_value_t = 30)]
    macs: usize,
    /// How many seconds a step may take
    #[arg(long, default_value_t = 1800)]
    limit: u64,
    /// Measure target/release/fleet as it is
    #[arg(long)]
    no_build: bool,
    /// Print the result alone, and leave docs/benchmarks.md as it is
    #[arg(long)]
    print: bool,
}

pub(crate) fn macs(args: &MacsArgs) -> Outcome {
    if !args.no_build {
        cargo(&["build", "--release", "--locked", "--package", "fleet-cli"], &[])?;
    }
    let site = Site::prepare(args.macs)?;
    let limit = Duration::from_secs(args.limit);
    let first = site.fleet(&["plan"], limit)?;
    let apply = site.fleet(&["apply", "--auto-approve"], limit)?;
    let again = site.fleet(&["plan"], limit)?;
    let said = fs::read_to_string(site.log("plan")).map_err(|e| unmade(&e))?;
    if !said.starts_with("No changes.") {
        return Err(format!("the plan after apply is not empty, see {}", site.log("plan").display()));
    }
    let section = section(args.macs, site.n_things()?, &[first, apply, again]);
    if args.print {
        println!("{section}");
        return Ok(());
    }
    publish("macs", &section)
}

/// What is published.
fn section(macs: usize, things: usize, costs: &[Cost; 3]) -> String {
    let works = [
        "first plan: every Mac is looked at, none is held",
        "apply: claimed and made",
        "plan without changes",
    ];
    let rows: String = works
        .iter()
        .zip(costs)
        .map(|(work, cost)| {
            let (wall, cpu) = (cost.wall.as_secs_f64(), cost.cpu.as_secs_f64());
            format!("| {work} | {wall:.2} | {cpu:.2} | {:.0} |\n", cpu * 1000.0 / macs as f64)
        })
        .collect();
    format!(
        "## macs\n\nCommand: `cargo xtask bench macs`. `examples/fleets/mac-ci` on {macs} Macs of the lab, which run on the same machine in \
         real time, behind SSH, with the APIs of their vendor, Kubernetes, Tailscale and GitHub; {things} things are managed. Wall time holds what the simulated \
         Macs need of this machine and how long they really wait (processes that must stay for seconds, a start anew of every Mac); \
         CPU is that of fleet with its `ssh` alone.\n\n\
         | work | wall s | CPU s | CPU per Mac, ms |\n|---|---|---|---|\n{rows}"
    )
}

/// A lab with Macs, and a directory with the example.
struct Site {
    lab: Lab,
    directory: PathBuf,
    sizes: String,
}

impl Site {
    fn prepare(macs: usize) -> Result<Site, String> {
        let directory = root().join("target/bench/macs");
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unmade(&error)),
            _ => fs::create_dir_all(&directory).map_err(|e| unmade(&e))?,
        }
        let tools = tempfile::Builder::new().prefix("fb").tempdir().map_err(|e| unmade(&e))?.keep();
        let factory = Macs::new(&root().join("target/release/fleet"), &tools).map_err(|e| e.to_string())?;
        let options =
            Options { macs, pace: Pace::Times(1.0), factory: Arc::new(factory), ..Options::default() };
        let lab = Lab::start(options).map_err(|e| e.to_string())?;
        for server in lab.servers() {
            let machine = lab.directory().join("machines").join(&server.id).join("root");
            archive::put(&machine, &archive::xcode("26.3")).map_err(|e| unmade(&e))?;
        }
        for namespace in ["ci", "tailscale-operator"] {
            lab.kubernetes().add_namespace(namespace);
        }
        supply(&directory).map_err(|e| unmade(&e))?;
        let (nodes, runners) = (macs / 3, macs / 3);
        let builders = macs - nodes - runners;
        let sizes = format!("sizes={{ macos = {nodes}, runners = {runners}, builders = {builders} }}");
        Ok(Site { lab, directory, sizes })
    }

    fn log(&self, command: &str) -> PathBuf {
        self.directory.join(format!("{command}.log"))
    }

    fn command(&self, words: &[&str]) -> Command {
        let description = self.lab.description();
        let mut command = Command::new(root().join("target/release/fleet"));
        command.args(words).current_dir(self.directory.join("fleets/mac-ci"));
        command.env("HOME", &self.directory).envs(&description.environment);
        command.env("FLEET_VAR_key", &description.identity);
        command.env("FLEET_VAR_ssh_config", &description.ssh_config).env("FLEET_VAR_times", TIMES);
        command
    }

    fn fleet(&self, words: &[&str], limit: Duration) -> Result<Cost, String> {
        let mut command = self.command(words);
        command.args(["--var-file", "staging.vars.hcl", "--var", &self.sizes]);
        let log = self.log(words[0]);
        let cost =
            within(limit, &mut command, Some(&log)).map_err(|why| format!("{why}, see {}", log.display()))?;
        let cost =
            cost.ok_or_else(|| format!("`fleet {}` did not end within {} s", words[0], limit.as_secs()))?;
        println!("{}: {:.2} s, {:.2} s of CPU", words[0], cost.wall.as_secs_f64(), cost.cpu.as_secs_f64());
        Ok(cost)
    }

    /// How many things are managed.
    fn n_things(&self) -> Result<usize, String> {
        let listed = self.command(&["state", "list"]).output().map_err(|e| unmade(&e))?;
        Ok(String::from_utf8_lossy(&listed.stdout).lines().count())
    }
}

/// The example, its modules, and what a user puts beside it.
fn supply(directory: &Path) -> std::io::Result<()> {
    for part in ["modules", "fleets/mac-ci"] {
        copy(&root().join("examples").join(part), &directory.join(part))?;
    }
    let place = directory.join("fleets/mac-ci");
    archive::supply(&place.join("artifacts"))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

fn unmade(error: &std::io::Error) -> String {
    format!("the Macs cannot be made: {error}")
}
