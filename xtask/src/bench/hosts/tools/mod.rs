//! The tools that are measured: what each is given, how it is called, and what it says of its own work.

mod ansible;
mod fleet;
mod floor;
mod pyinfra;
mod venv;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::farm::Farm;
use crate::Outcome;
use crate::run::root;

pub(super) use fleet::{Fleet, local as local_fleet, says_no_changes};

/// What is done in a repetition, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Everything is to be done.
    First,
    /// Nothing is to be done.
    NoOp,
}

pub(super) const PHASES: [Phase; 2] = [Phase::First, Phase::NoOp];

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Name {
    /// fleet: `apply`, then `plan`
    Fleet,
    /// One `ssh` and one script written by hand for each host, all at once
    Floor,
    /// fleet with connections that an earlier run has kept
    FleetKept,
    /// The floor with connections that are up
    FloorUp,
    /// pyinfra
    Pyinfra,
    /// Ansible with the strategy of mitogen
    Mitogen,
    /// Ansible with pipelining
    Ansible,
}

/// A tool that is ready to work on the hosts of a farm.
pub(super) trait Tool {
    /// Whether connections are to be there before the clock starts.
    fn keeps_connections(&self) -> bool {
        false
    }

    /// Forgets what it knows of the hosts, which are made anew.
    fn forget(&self) -> Outcome {
        Ok(())
    }

    /// What is done before the clock starts.
    fn before(&self, _phase: Phase) -> Outcome {
        Ok(())
    }

    /// What is measured.
    fn command(&self, phase: Phase) -> Command;

    /// Ends the connections that it left.
    fn close(&self) {}

    /// How much it says that it has changed; none if it does not say.
    fn changed(&self, phase: Phase, said: &str) -> Option<usize>;
}

impl Name {
    /// What it is called in the table.
    pub(super) fn title(self) -> &'static str {
        match self {
            Name::Fleet => "fleet",
            Name::Floor => "floor: one ssh, one script",
            Name::FleetKept => "fleet, connections kept",
            Name::FloorUp => "floor, connections up",
            Name::Pyinfra => "pyinfra",
            Name::Mitogen => "Ansible + mitogen",
            Name::Ansible => "Ansible",
        }
    }

    /// Sees to it that it is there; says which version it is.
    pub(super) fn install(self, python: Option<&str>) -> Result<String, String> {
        match self {
            Name::Fleet | Name::FleetKept | Name::Floor | Name::FloorUp => Ok(String::new()),
            Name::Pyinfra => pyinfra::install(python),
            Name::Mitogen | Name::Ansible => ansible::install(python),
        }
    }

    /// Gives it the work on these hosts.
    pub(super) fn prepare(self, farm: &Farm) -> Result<Box<dyn Tool>, String> {
        let directory = directory(self.title())?;
        let failed = |e: io::Error| format!("cannot write {}: {e}", directory.display());
        Ok(match self {
            Name::Fleet => Box::new(fleet::Fleet::prepare(farm, &directory, false).map_err(failed)?),
            Name::FleetKept => Box::new(fleet::Fleet::prepare(farm, &directory, true).map_err(failed)?),
            Name::Floor => Box::new(floor::Floor::prepare(farm, &directory, false)?),
            Name::FloorUp => Box::new(floor::Floor::prepare(farm, &directory, true)?),
            Name::Pyinfra => Box::new(pyinfra::Pyinfra::prepare(farm, &directory).map_err(failed)?),
            Name::Mitogen => Box::new(ansible::Ansible::prepare(farm, &directory, true)?),
            Name::Ansible => Box::new(ansible::Ansible::prepare(farm, &directory, false)?),
        })
    }
}

/// A directory of its own, made anew.
pub(super) fn directory(title: &str) -> Result<PathBuf, String> {
    let path = place(title);
    let made = match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(&path),
    };
    made.map_err(|e| format!("cannot make {}: {e}", path.display()))?;
    Ok(path)
}

fn place(title: &str) -> PathBuf {
    let name: String = title.chars().filter(char::is_ascii_alphanumeric).collect();
    root().join("target/bench/hosts").join(name)
}

/// What a tool said is kept here.
pub(super) fn log(name: Name, phase: Phase) -> PathBuf {
    place(name.title()).join(format!("{phase:?}.log"))
}

/// Ends all connections of `ssh` whose sockets lie in a directory.
fn end_masters(directory: &Path) {
    for socket in fs::read_dir(directory).into_iter().flatten().flatten() {
        let mut exit = Command::new("ssh");
        exit.args(["-F", "none", "-O", "exit", "-S"]).arg(socket.path()).arg("any");
        let _ = exit.output();
    }
}
