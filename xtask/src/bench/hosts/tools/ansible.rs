//! Ansible, as it comes with pipelining, and with the strategy of mitogen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::{Map, Value as Json, json};

use super::{Phase, Tool, end_masters, venv};
use crate::bench::hosts::farm::Farm;
use crate::bench::hosts::workload::{BLOCKS, FILES, LINES, MODES, SERVICES};

/// The name of its environment.
const PLACE: &str = "ansible";

pub(super) struct Ansible {
    directory: PathBuf,
    /// What it is called by, and what it calls itself.
    programs: PathBuf,
    sockets: PathBuf,
}

/// Sees to it that both are there.
pub(super) fn install(python: Option<&str>) -> Result<String, String> {
    venv::make(PLACE, "ansible-playbook", &["ansible-core", "mitogen"], python)?;
    let version = |package: &str| venv::version(PLACE, package).unwrap_or_default();
    Ok(format!("ansible-core {}, mitogen {}", version("ansible-core"), version("mitogen")))
}

impl Ansible {
    pub(super) fn prepare(farm: &Farm, directory: &Path, mitogen: bool) -> Result<Ansible, String> {
        let sockets = farm.sockets(if mitogen { "m" } else { "a" })?;
        let strategy = if mitogen { strategy()? } else { String::new() };
        let settings = format!(
            "[defaults]\ninventory = {directory}/inventory.json\nforks = {forks}\nhost_key_checking = True\n\
             retry_files_enabled = False\nlocal_tmp = {directory}/tmp\nhome = {directory}/home\n{strategy}\n\
             [ssh_connection]\npipelining = True\ncontrol_path_dir = {sockets}\n",
            directory = directory.display(),
            forks = farm.hosts.len(),
            sockets = sockets.display(),
        );
        let files = [
            ("inventory.json", inventory(farm).to_string()),
            ("play.yml", play().to_string()),
            ("ansible.cfg", settings),
        ];
        for (name, text) in files {
            fs::write(directory.join(name), text).map_err(|e| format!("cannot write {name}: {e}"))?;
        }
        let programs = venv::place(PLACE).join("bin");
        Ok(Ansible { directory: directory.to_owned(), programs, sockets })
    }
}

impl Tool for Ansible {
    fn command(&self, _phase: Phase) -> Command {
        let mut command = Command::new(self.programs.join("ansible-playbook"));
        let path = std::env::var("PATH").unwrap_or_default();
        command.arg("play.yml").current_dir(&self.directory);
        command.env("PATH", format!("{}:{path}", self.programs.display()));
        command.env("ANSIBLE_CONFIG", self.directory.join("ansible.cfg")).env("ANSIBLE_NOCOLOR", "1");
        command
    }

    fn close(&self) {
        end_masters(&self.sockets);
    }

    fn changed(&self, _phase: Phase, said: &str) -> Option<usize> {
        let counts = Regex::new(r"changed=(\d+)").ok()?;
        let counts: Vec<usize> =
            counts.captures_iter(said).filter_map(|found| found[1].parse().ok()).collect();
        (!counts.is_empty()).then(|| counts.iter().sum())
    }
}

/// The settings that turn mitogen on.
fn strategy() -> Result<String, String> {
    let libraries = venv::place(PLACE).join("lib");
    let plugins =
        |library: fs::DirEntry| library.path().join("site-packages/ansible_mitogen/plugins/strategy");
    let mut found = fs::read_dir(libraries).into_iter().flatten().flatten().map(plugins);
    let found = found.find(|path| path.is_dir()).ok_or("mitogen is not installed")?;
    Ok(format!("strategy_plugins = {}\nstrategy = mitogen_linear\n", found.display()))
}

fn inventory(farm: &Farm) -> Json {
    let host = |it: &crate::bench::hosts::farm::Host| {
        let prefix = it.prefix.display().to_string();
        let temporary = format!("{prefix}/.ansible");
        let vars = json!({
            "ansible_host": "127.0.0.1", "ansible_port": it.port, "prefix": prefix,
            "ansible_remote_tmp": temporary,
        });
        (it.name.clone(), vars)
    };
    let hosts: Map<String, Json> = farm.hosts.iter().map(host).collect();
    let known = farm.known().display().to_string();
    let arguments = format!("-F none -o IdentitiesOnly=yes -o UserKnownHostsFile={known}");
    let interpreter = "/usr/bin/python3";
    let interpreter = if Path::new(interpreter).exists() { interpreter } else { "auto_silent" };
    json!({ "all": { "hosts": hosts, "vars": {
        "ansible_user": farm.user,
        "ansible_ssh_private_key_file": farm.key().display().to_string(),
        "ansible_python_interpreter": interpreter,
        "ansible_ssh_common_args": arguments,
    } } })
}

/// The work as people write it: loops over modules. JSON is YAML.
fn play() -> Json {
    let line = |line: usize| {
        let (host, item) = ("{{ inventory_hostname }}", "{{ item }}");
        format!("{host}.key{{{{ '%02d' % item }}}}.{line:02} = value-{host}-{item}-{line}\n")
    };
    let content: String = (0..LINES).map(line).collect();
    let numbers = |count: usize| (0..count).collect::<Vec<_>>();
    let services: Vec<String> = (0..SERVICES).map(|service| format!("svc{service}")).collect();
    json!([{ "hosts": "all", "gather_facts": false, "tasks": [
        {
            "name": "files",
            "loop": numbers(FILES),
            "ansible.builtin.copy": {
                "content": content,
                "dest": "{{ prefix }}/etc/f{{ '%02d' % item }}.conf",
                "mode": format!("{{{{ {MODES:?}[item % {}] }}}}", MODES.len()),
            },
        },
        {
            "name": "blocks",
            "loop": numbers(BLOCKS),
            "ansible.builtin.blockinfile": {
                "path": "{{ prefix }}/etc/app.conf",
                "marker": "# {mark} managed b{{ item }}",
                "block": "[section-b{{ item }}]\nowner = {{ inventory_hostname }}\nsetting = {{ item * 7 }}\nenabled = yes",
            },
        },
        {
            "name": "probes",
            "loop": services,
            "register": "probed",
            "changed_when": false,
            "failed_when": "probed.rc > 2",
            "ansible.builtin.command": {
                "argv": ["grep", "-qx", "loaded", "{{ prefix }}/run/{{ item }}.state"],
            },
        },
        {
            "name": "fixes",
            "loop": "{{ probed.results }}",
            "loop_control": { "label": "{{ item.item }}" },
            "when": "item.rc != 0",
            "ansible.builtin.shell": { "cmd": "echo loaded >{{ prefix }}/run/{{ item.item }}.state" },
        },
    ] }])
}
