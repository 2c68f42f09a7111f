//! fleet: `apply` makes everything, `plan` finds that nothing is to be done.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Phase, Tool, end_masters};
use crate::Outcome;
use crate::bench::hosts::farm::Farm;
use crate::bench::hosts::workload::{locals, resources};
use crate::run::root;

pub(in crate::bench::hosts) struct Fleet {
    directory: PathBuf,
    /// Where it makes its sockets, those that it keeps included.
    sockets: PathBuf,
    keeps: bool,
}

impl Fleet {
    pub(super) fn prepare(farm: &Farm, directory: &Path, keeps: bool) -> io::Result<Fleet> {
        let inside = resources(&disk(farm.disks()));
        Fleet::converging(farm, directory, keeps, &locals(), &inside)
    }

    /// The same hosts with something else on them.
    pub(in crate::bench::hosts) fn converging(
        farm: &Farm,
        directory: &Path,
        keeps: bool,
        before: &str,
        inside: &str,
    ) -> io::Result<Fleet> {
        let mut text =
            format!("secret \"key\" {{\n  from = \"file:{}\"\n}}\n\n{before}", farm.key().display());
        let host = |(name, port): (&str, u16)| {
            format!(
                "  host \"{name}\" {{\n    address  = \"127.0.0.1\"\n    port     = {port}\n    host_key = \"{}\"\n  }}\n",
                farm.host_key
            )
        };
        let hosts: String = farm.hosts.iter().map(|it| host((&it.name, it.port))).collect();
        let names: Vec<&str> = farm.hosts.iter().map(|it| &*it.name).collect();
        let connection = format!(
            "  connection \"ssh\" {{\n    user     = \"{}\"\n    identity = secret.key\n    config   = \"none\"\n    \
             root     = \"{}\"\n  }}\n",
            farm.user,
            disk(farm.disks())
        );
        text += &fleet(&hosts, &names, &connection, inside);
        fs::write(directory.join("main.fleet.hcl"), text)?;
        let sockets = farm.sockets(if keeps { "k" } else { "n" }).map_err(io::Error::other)?;
        Ok(Fleet { directory: directory.to_owned(), sockets, keeps })
    }
}

/// Where the files of a host lie.
fn disk(disks: &Path) -> String {
    format!("{}/${{host.key}}", disks.display())
}

/// The same on this machine: so many directories, each for one host.
pub(in crate::bench::hosts) fn local(directory: &Path, disks: &Path, names: &[String]) -> io::Result<()> {
    let hosts: String = names.iter().fold(String::new(), |mut text, name| {
        let _ = writeln!(text, "  host \"{name}\" {{}}");
        text
    });
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let disk = disk(disks);
    let connection = format!("  connection \"local\" {{\n    root = \"{disk}\"\n  }}\n");
    let text = locals() + &fleet(&hosts, &names, &connection, &resources(&disk));
    fs::write(directory.join("main.fleet.hcl"), text)
}

/// Whether a plan found that nothing is to be done.
pub(in crate::bench::hosts) fn says_no_changes(said: &str) -> bool {
    said.contains("No changes.")
}

fn fleet(hosts: &str, names: &[&str], connection: &str, inside: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    format!(
        "pool \"static\" \"farm\" {{\n{hosts}}}\n\nfleet \"minis\" {{\n  pool     = pool.farm\n  hosts    = [{}]\n  \
         hostname = host.key\n\n{connection}\n{inside}}}\n",
        names.join(", ")
    )
}

impl Tool for Fleet {
    fn keeps_connections(&self) -> bool {
        self.keeps
    }

    fn forget(&self) -> Outcome {
        match fs::remove_dir_all(self.directory.join(".fleet")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("the state cannot be removed: {error}"))
            }
            _ => Ok(()),
        }
    }

    fn before(&self, _phase: Phase) -> Outcome {
        if !self.keeps {
            return Ok(());
        }
        let output = self.command(Phase::NoOp).output().map_err(|e| format!("cannot start fleet: {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("fleet ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
    }

    fn command(&self, phase: Phase) -> Command {
        let mut command = Command::new(root().join("target/release/fleet"));
        command.current_dir(&self.directory).env("TMPDIR", &self.sockets);
        match phase {
            Phase::First => command.args(["apply", "--auto-approve"]),
            Phase::NoOp => command.arg("plan"),
        };
        if self.keeps {
            command.args(["--keep-connections", "10m"]);
        }
        command
    }

    fn close(&self) {
        for directory in fs::read_dir(&self.sockets).into_iter().flatten().flatten() {
            end_masters(&directory.path());
        }
    }

    /// A plan says what would change; an apply what it did.
    fn changed(&self, phase: Phase, said: &str) -> Option<usize> {
        match phase {
            Phase::NoOp => says_no_changes(said).then_some(0),
            Phase::First => Some(usize::from(!says_no_changes(said))),
        }
    }
}
