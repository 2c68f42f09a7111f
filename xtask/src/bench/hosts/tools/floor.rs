//! The floor: what the stock client and a script for this very work take, and no tool can undercut by much.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Phase, Tool, end_masters};
use crate::Outcome;
use crate::bench::hosts::farm::Farm;
use crate::bench::hosts::workload::script;

pub(super) struct Floor {
    /// Starts one `ssh` for each host and waits for all.
    runner: PathBuf,
    /// The calls that connect and do nothing else, if connections are to be up beforehand.
    connects: Vec<Vec<String>>,
    sockets: PathBuf,
    hosts: usize,
}

impl Floor {
    pub(super) fn prepare(farm: &Farm, directory: &Path, is_up: bool) -> Result<Floor, String> {
        let sockets = farm.sockets(if is_up { "u" } else { "f" })?;
        let (mut runner, mut connects) = (String::new(), Vec::new());
        let failed = |e| format!("cannot write {}: {e}", directory.display());
        for host in &farm.hosts {
            let path = directory.join(format!("{}.sh", host.name));
            fs::write(&path, script(&host.name, &host.prefix)).map_err(failed)?;
            let mut words = vec!["ssh".to_owned()];
            words.extend(farm.ssh_options());
            let control = format!("ControlPath={}", sockets.join(host.port.to_string()).display());
            let options = [control, "ControlMaster=auto".to_owned(), "ControlPersist=60".to_owned()];
            words.extend(options.into_iter().flat_map(|option| ["-o".to_owned(), option]));
            words.extend(["-p".to_owned(), host.port.to_string()]);
            let target = format!("{}@127.0.0.1", farm.user);
            let _ = writeln!(runner, "{} {target} sh -s <'{}' &", words.join(" "), path.display());
            if is_up {
                words.extend(["-N".to_owned(), "-f".to_owned(), target]);
                connects.push(words);
            }
        }
        runner.push_str("wait\n");
        let path = directory.join("run.sh");
        fs::write(&path, runner).map_err(failed)?;
        Ok(Floor { runner: path, connects, sockets, hosts: farm.hosts.len() })
    }
}

impl Tool for Floor {
    fn keeps_connections(&self) -> bool {
        !self.connects.is_empty()
    }

    fn before(&self, _phase: Phase) -> Outcome {
        let start = |words: &Vec<String>| {
            let mut ssh = Command::new(&words[0]);
            ssh.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        };
        let started: Result<Vec<_>, _> = self.connects.iter().map(start).collect();
        for mut child in started.map_err(|e| format!("ssh cannot be started: {e}"))? {
            let status = child.wait().map_err(|e| format!("cannot wait for ssh: {e}"))?;
            if !status.success() {
                return Err(format!("ssh ended with {status}"));
            }
        }
        Ok(())
    }

    fn command(&self, _phase: Phase) -> Command {
        let mut command = Command::new("sh");
        command.arg(&self.runner);
        command
    }

    fn close(&self) {
        end_masters(&self.sockets);
    }

    fn changed(&self, _phase: Phase, said: &str) -> Option<usize> {
        let counts: Vec<usize> =
            said.lines().filter_map(|line| line.strip_prefix("changed=")?.parse().ok()).collect();
        (counts.len() == self.hosts).then(|| counts.iter().sum())
    }
}
