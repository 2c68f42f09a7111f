//! pyinfra.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Phase, Tool, venv};
use crate::bench::hosts::farm::Farm;
use crate::bench::hosts::workload::{BLOCKS, FILES, LINES, MODES, SERVICES};

/// The name of its environment.
const PLACE: &str = "pyinfra";

pub(super) struct Pyinfra {
    directory: PathBuf,
    hosts: usize,
}

pub(super) fn install(python: Option<&str>) -> Result<String, String> {
    venv::make(PLACE, "pyinfra", &["pyinfra"], python)?;
    Ok(format!("pyinfra {}", venv::version(PLACE, "pyinfra").unwrap_or_default()))
}

impl Pyinfra {
    pub(super) fn prepare(farm: &Farm, directory: &Path) -> io::Result<Pyinfra> {
        fs::write(directory.join("inventory.py"), inventory(farm))?;
        fs::write(directory.join("deploy.py"), deploy())?;
        Ok(Pyinfra { directory: directory.to_owned(), hosts: farm.hosts.len() })
    }
}

impl Tool for Pyinfra {
    fn command(&self, _phase: Phase) -> Command {
        let mut command = Command::new(venv::place(PLACE).join("bin/pyinfra"));
        command.args(["-y", "--parallel", &self.hosts.to_string(), "inventory.py", "deploy.py"]);
        command.current_dir(&self.directory);
        command
    }

    /// The last line of its table: hosts, then how many operations changed something; a dash is none.
    fn changed(&self, _phase: Phase, said: &str) -> Option<usize> {
        let total = said.lines().rev().find_map(|line| line.split_once("Grand total"))?.1;
        let words = total.split(|c: char| c.is_whitespace() || c == '|').filter(|word| !word.is_empty());
        let count = words.filter(|word| *word == "-" || word.chars().all(|c| c.is_ascii_digit())).nth(1)?;
        if count == "-" { Some(0) } else { count.parse().ok() }
    }
}

fn inventory(farm: &Farm) -> String {
    let mut text = "minis = [\n".to_owned();
    for host in &farm.hosts {
        let _ = writeln!(
            text,
            "    ({name:?}, dict(ssh_hostname=\"127.0.0.1\", ssh_port={port}, ssh_user={user:?}, ssh_key={key:?}, \
             ssh_known_hosts_file={known:?}, ssh_strict_host_key_checking=\"yes\", ssh_allow_agent=False, \
             ssh_look_for_keys=False, ssh_config_file=\"/dev/null\", prefix={prefix:?})),",
            name = host.name,
            port = host.port,
            user = farm.user,
            key = farm.key(),
            known = farm.known(),
            prefix = host.prefix,
        );
    }
    text + "]\n"
}

/// The work as people write it.
fn deploy() -> String {
    let modes = MODES.map(|mode| mode.trim_start_matches('0'));
    format!(
        r##"from io import StringIO

from pyinfra import host
from pyinfra.facts.server import Command
from pyinfra.operations import files, server

modes = {modes:?}
prefix = host.data.prefix

for i in range({FILES}):
    lines = [f"{{host.name}}.key{{i:02d}}.{{k:02d}} = value-{{host.name}}-{{i}}-{{k}}\n" for k in range({LINES})]
    files.put(
        name=f"file {{i}}",
        src=StringIO("".join(lines)),
        dest=f"{{prefix}}/etc/f{{i:02d}}.conf",
        mode=modes[i % len(modes)],
    )

for i in range({BLOCKS}):
    files.block(
        name=f"block {{i}}",
        path=f"{{prefix}}/etc/app.conf",
        content=f"[section-b{{i}}]\nowner = {{host.name}}\nsetting = {{i * 7}}\nenabled = yes",
        marker="# {{mark}} managed b%d" % i,
    )

for i in range({SERVICES}):
    state = f"{{prefix}}/run/svc{{i}}.state"
    probe = f"if grep -qx loaded {{state}} 2>/dev/null; then echo yes; else echo no; fi"
    if host.get_fact(Command, probe) != "yes":
        server.shell(name=f"service {{i}}", commands=[f"echo loaded >{{state}}"])
"##
    )
}
