//! Macs that are rented from the lab's vendor, and a directory with a configuration for them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use fleet_engine::host::reach::Secret;
use fleet_lab::clock::Pace;
use fleet_lab::mac::Macs;
use fleet_lab::scaleway::{Server, ServerStatus};
use fleet_lab::{Lab, Options, ServerEdit};
use fleet_transport::http::{self, Outcome, Verb};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::minis::Said;
use crate::support::{Ran, Site};

/// How many times as fast as here time goes by for the vendor and on its Macs: what may take some seconds there has time
/// enough here, too.
const SPEED: Pace = Pace::Times(20.0);
/// The same while one is installed anew, which takes one to three seconds then.
const INSTALLING: Pace = Pace::Times(300.0);
/// The times of the protocol of pools, in proportion.
pub(crate) const TIMES: [(&str, &str); 5] =
    [("settle", "1s"), ("delay", "1s"), ("check_lifetime", "600ms"), ("hold", "2s"), ("poll", "100ms")];

/// A vendor with Macs that are all free at first, and a directory with a configuration for them.
pub(crate) struct Rented {
    pub(crate) lab: Lab,
    pub(crate) site: Site,
    _tools: TempDir,
}

impl Rented {
    pub(crate) fn of(macs: usize) -> Rented {
        let tools = tempfile::Builder::new().prefix("tools-").tempdir().unwrap();
        let factory = Macs::new(Path::new(env!("CARGO_BIN_EXE_fleet")), tools.path()).unwrap();
        let options = Options { macs, pace: SPEED, factory: Arc::new(factory), ..Options::default() };
        let lab = Lab::start(options).unwrap();
        Rented { lab, site: Site::empty(), _tools: tools }
    }

    /// Runs `fleet` in this process.
    pub(crate) fn fleet(&self, words: &[&str]) -> Ran {
        self.site.fleet_in(&self.environment(), words)
    }

    /// What `fleet` finds in its environment.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let description = self.lab.description();
        let mut environment = description.environment.clone();
        let times: Vec<String> = TIMES.map(|(name, value)| format!("{name} = {value:?}")).into();
        let more = [
            ("key", description.identity.display().to_string()),
            ("ssh_config", description.ssh_config.display().to_string()),
            ("times", format!("{{ {} }}", times.join(", "))),
        ];
        environment.extend(more.map(|(name, value)| (format!("FLEET_VAR_{name}"), value)));
        environment
    }

    /// Puts these blocks into a fleet of one Mac, whose name is `mini-0`. `data.scaleway_credentials.this` is there, and
    /// `secret.password` is the password of the first Mac.
    pub(crate) fn configure(&self, blocks: &str) {
        let description = self.lab.description();
        let (key, config) = (description.identity.display(), description.ssh_config.display());
        let times: String = TIMES.iter().map(|(name, value)| format!("  {name} = {value:?}\n")).collect();
        let ours = self.lab.server("mini-0").unwrap_or_else(|| self.lab.servers()[0].clone());
        self.site.write("password", &ours.password);
        self.site.write(
            "main.fleet.hcl",
            &format!(
                "provider \"scaleway\" {{}}

secret \"key\" {{
  from = \"file:{key}\"
}}

secret \"password\" {{
  from = \"file:password\"
}}

pool \"scaleway\" \"minis\" {{
  prefix    = \"pool-\"
  type      = \"M2-L\"
  os_family = \"Tahoe\"
{times}
  return {{
    method   = \"reinstall\"
    deadline = \"45m\"
  }}
}}

fleet \"desk\" {{
  pool     = pool.minis
  size     = 1
  hostname = \"mini-${{host.key}}\"
  connection \"ssh\" {{
    user     = \"m1\"
    identity = secret.key
    config   = \"{config}\"
  }}

  data \"scaleway_credentials\" \"this\" {{
    server = host.provider_id
  }}

{blocks}
}}
"
            ),
        );
    }

    /// A server, by its name.
    #[track_caller]
    pub(crate) fn server(&self, name: &str) -> Server {
        self.lab.server(name).unwrap_or_else(|| panic!("there is no {name}"))
    }

    /// The root directory of a server.
    pub(crate) fn root(&self, server: &Server) -> PathBuf {
        self.lab.directory().join("machines").join(&server.id).join("root")
    }

    /// Everything about a server, by its name.
    pub(crate) fn inspect(&self, name: &str) -> Json {
        self.lab.inspect(name).unwrap()
    }

    /// Runs a command on a server, as its user.
    pub(crate) fn by_hand(&self, name: &str, command: &str) -> Said {
        let description = self.lab.description();
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(&description.ssh_config).arg("-i").arg(&description.identity);
        ssh.args(["-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "IdentityAgent=none"]);
        ssh.args(["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes"]);
        Said::of(ssh.arg(format!("m1@{}", self.server(name).ip)).arg(command).output().unwrap())
    }

    /// The same as root, whatever the Mac asks of others for that.
    pub(crate) fn as_root(&self, name: &str, command: &str) -> Said {
        let rule = self.root(&self.server(name)).join("etc/sudoers.d/by-hand");
        fs::write(&rule, "m1 ALL=(ALL) NOPASSWD: ALL\n").unwrap();
        fs::set_permissions(&rule, fs::Permissions::from_mode(0o440)).unwrap();
        let said = self.by_hand(name, &format!("sudo -n /bin/sh -c '{}'", command.replace('\'', r"'\''")));
        fs::remove_file(rule).unwrap();
        said
    }

    /// Starts a server anew, and waits until it is there again.
    pub(crate) fn restart(&self, name: &str) {
        let boot = || self.inspect(name)["machine"]["inside"]["live"]["boot_id"].clone();
        let before = boot();
        self.as_root(name, "shutdown -r now");
        while boot().is_null() || boot() == before {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The vendor keeps the passwords of a server to itself.
    pub(crate) fn seal(&self, name: &str) {
        let edit = ServerEdit { secrets_sealed: Some(true), ..ServerEdit::default() };
        assert!(self.lab.edit_server(name, edit));
    }

    /// Somebody installs a server anew at the vendor's console, and waits until it is there again.
    pub(crate) fn reinstall(&self, name: &str) {
        let before = self.server(name);
        let options = http::Options {
            name: "the vendor",
            url: self.lab.api_url(),
            header: "x-auth-token",
            credential: &Secret(self.lab.add_token("console", None).secret),
            headers: &[],
            request_id: "x-request-id",
            timeout: Duration::from_secs(10),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let path = ["apple-silicon", "v1alpha1", "zones", &before.zone, "servers", &before.id, "reinstall"];
        let sent = runtime.block_on(async {
            let (_, writer) = http::connect(&options).unwrap();
            writer.send("reinstalling", Verb::Post, &path, Some(&json!({}))).await
        });
        assert!(matches!(&sent, Outcome::Answered(answer) if answer.status == 200), "{sent:?}");
        let is_done = || {
            let now = self.server(name);
            now.installs > before.installs && now.status == ServerStatus::Ready
        };
        self.lab.clock().set_pace(INSTALLING);
        while !is_done() {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.lab.clock().set_pace(SPEED);
    }
}
