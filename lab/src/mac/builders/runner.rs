//! The agent of GitHub Actions in its directory: configured, installed as a service, started.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

use crate::mac::disk::home_of;
use crate::mac::{Mac, Tools};
use crate::runners::{Agents, Refused, Runner, Wish};

/// What .NET writes before all text.
const MARK: &str = "\u{feff}";
/// The longest name of a service.
const LONGEST: usize = 150;
/// What `config.sh` finds over SSH and keeps for jobs.
const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// Why the agent does not do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mac) struct Complaint(pub(in crate::mac) String);

/// A directory with an agent in it.
#[derive(Debug)]
pub(in crate::mac) struct Agent<'a> {
    mac: &'a Mac,
    directory: PathBuf,
}

impl<'a> Agent<'a> {
    pub(in crate::mac) fn at(mac: &'a Mac, directory: &Path) -> Agent<'a> {
        Agent { mac, directory: directory.to_owned() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The directory, as the Mac names it.
    fn named(&self) -> String {
        let directory = self.directory.canonicalize().unwrap_or_else(|_| self.directory.clone());
        let inside = directory.strip_prefix(self.mac.root()).unwrap_or(&directory).to_owned();
        format!("/{}", inside.display())
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> Result<(), Complaint> {
        let written = fs::write(self.file(name), text)
            .and_then(|()| fs::set_permissions(self.file(name), fs::Permissions::from_mode(mode)));
        written.map_err(|error| Complaint(format!("Access to the path '{name}' is denied: {error}")))
    }

    fn json(&self, name: &str) -> Option<Json> {
        let text = fs::read_to_string(self.file(name)).ok()?;
        serde_json::from_str(text.trim_start_matches(MARK)).ok()
    }

    /// What jobs find in their environment, as `env.sh` keeps it.
    pub(in crate::mac) fn keep_environment(&self) -> Result<(), Complaint> {
        self.write(".path", &format!("{PATH}\n"), 0o644)?;
        self.write(".env", "LANG=en_US.UTF-8\n", 0o644)
    }

    /// `config.sh`.
    pub(in crate::mac) fn configure(
        &self,
        given: &BTreeMap<String, String>,
        flags: &[String],
        token_is_visible: bool,
    ) -> Result<Runner, Complaint> {
        if self.file(".runner").exists() {
            let text = "Cannot configure the runner because it is already configured. To reconfigure the runner, run 'config.cmd \
                        remove' or './config.sh remove' first.";
            return Err(Complaint(text.into()));
        }
        let needed = |name: &str| {
            let missing = || {
                Complaint(format!(
                    "Invalid configuration provided for {name}. Terminating unattended configuration."
                ))
            };
            given.get(name).filter(|value| !value.is_empty()).cloned().ok_or_else(missing)
        };
        let (url, token) = (needed("url")?, needed("token")?);
        let name = given.get("name").cloned().unwrap_or_else(|| "Mac-mini".into());
        let labels = given.get("labels").map(String::as_str).unwrap_or_default();
        let labels = labels.split(',').filter(|label| !label.is_empty()).map(str::to_owned).collect();
        let wish = Wish {
            url: url.clone(),
            token,
            name: name.clone(),
            labels,
            replace: flags.iter().any(|flag| flag == "replace"),
            place: (self.mac.id().to_owned(), self.named()),
            token_is_visible,
        };
        let runner = self.mac.tools.runners.register(wish, self.mac.clock().time());
        let runner = runner.map_err(|refused| Complaint(words(refused, &name)))?;
        let work = given.get("work").cloned().unwrap_or_else(|| "_work".into());
        let settings = json!({
            "AgentId": runner.id, "AgentName": name, "PoolId": 1, "PoolName": "Default",
            "ServerUrl": "https://pipelines.actions.githubusercontent.com/lab", "GitHubUrl": url, "WorkFolder": work,
        });
        let credentials = json!({
            "Scheme": "OAuth",
            "Data": { "clientId": runner.client, "authorizationUrl": "https://vstoken.actions.githubusercontent.com/lab" },
        });
        self.write(".runner", &format!("{MARK}{settings:#}"), 0o644)?;
        self.write(".credentials", &format!("{MARK}{credentials:#}"), 0o600)?;
        self.write(".credentials_rsaparams", &format!("{MARK}{{}}"), 0o600)?;
        self.write("svc.sh", "#!/bin/sh\nexec lab-svc \"$@\"\n", 0o755)?;
        Ok(runner)
    }

    /// `config.sh remove`.
    pub(in crate::mac) fn remove(&self, token: Option<&str>, is_local: bool) -> Result<(), Complaint> {
        if self.file(".service").exists() {
            return Err(Complaint("Uninstall service first".into()));
        }
        if let (false, Some(settings)) = (is_local, self.json(".runner")) {
            let url = settings["GitHubUrl"].as_str().unwrap_or_default();
            let client = self.client().unwrap_or_default();
            let now = self.mac.clock().time();
            let removed = self.mac.tools.runners.remove(url, token.unwrap_or_default(), &client, now);
            removed.map_err(|refused| Complaint(words(refused, "")))?;
        }
        for name in [".runner", ".credentials", ".credentials_rsaparams"] {
            match fs::remove_file(self.file(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Complaint(error.to_string()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `run.sh` with what GitHub gave for one job: it becomes the files that `config.sh` would have written, in the place of any
    /// that are there, and GitHub sees the agent.
    pub(in crate::mac) fn come(&self, configuration: &str, is_visible: bool) -> Result<(), Complaint> {
        let malformed = || Complaint("An error occurred: Invalid JIT config.".into());
        let decoded = |text: &str| String::from_utf8(BASE64_STANDARD.decode(text.trim()).ok()?).ok();
        let files = decoded(configuration).and_then(|text| serde_json::from_str(&text).ok());
        let files: BTreeMap<String, String> = files.ok_or_else(malformed)?;
        for (name, content) in &files {
            self.write(name, &decoded(content).ok_or_else(malformed)?, 0o600)?;
        }
        let place = (self.mac.id().to_owned(), self.named());
        let is_known = self.mac.tools.runners.come(&self.client().unwrap_or_default(), place, is_visible);
        let gone = "Failed to create a session. The runner registration has been deleted from the server, please re-configure.";
        if is_known { Ok(()) } else { Err(Complaint(gone.into())) }
    }

    fn client(&self) -> Option<String> {
        Some(self.json(".credentials")?["Data"]["clientId"].as_str()?.to_owned())
    }

    /// The name of the service that `svc.sh` makes for this configuration.
    pub(in crate::mac) fn label(&self) -> Option<String> {
        let settings = self.json(".runner")?;
        let url = settings["GitHubUrl"].as_str()?;
        let scope: Vec<&str> = url.split("://").nth(1)?.split('/').skip(1).collect();
        Some(service_name(&scope.join("-"), settings["AgentName"].as_str()?))
    }

    /// `svc.sh install`: the property list and all that it needs. Where it lies, as the Mac names it.
    pub(in crate::mac) fn install(&self, user: &str) -> Result<String, Complaint> {
        let failed = |what: &str| Complaint(format!("Failed: {what}"));
        let label = self.label().ok_or_else(|| failed("Must configure the runner before it is a service"))?;
        let home = home_of(Path::new("/"), user);
        let list = home.join("Library/LaunchAgents").join(format!("{label}.plist"));
        let place = self.mac.root().join(list.strip_prefix("/").unwrap_or(&list));
        if place.exists() {
            return Err(failed(&format!("error: exists {}", list.display())));
        }
        let logs = home.join("Library/Logs").join(&label);
        let make =
            |path: &Path| fs::create_dir_all(self.mac.root().join(path.strip_prefix("/").unwrap_or(path)));
        let copied = make(&home.join("Library/LaunchAgents"))
            .and_then(|()| make(&logs))
            .and_then(|()| fs::copy(self.file("bin/runsvc.sh"), self.file("runsvc.sh")))
            .and_then(|_| fs::write(&place, property_list(&label, &self.named(), user, &logs)));
        copied.map_err(|error| failed(&error.to_string()))?;
        self.write(".service", &format!("{}\n", list.display()), 0o644)?;
        Ok(list.display().to_string())
    }

    /// Where the property list lies that `svc.sh` made, as the Mac names it.
    pub(in crate::mac) fn service(&self) -> Option<String> {
        Some(fs::read_to_string(self.file(".service")).ok()?.trim().to_owned())
    }

    pub(in crate::mac) fn forget_service(&self) -> io::Result<()> {
        fs::remove_file(self.file(".service"))
    }

    /// Where a job finds a program: in the directories that were kept for it.
    pub(in crate::mac) fn find_for_job(&self, program: &str) -> Option<PathBuf> {
        let path = fs::read_to_string(self.file(".path")).unwrap_or_default();
        let mut places = path
            .trim()
            .split(':')
            .map(|place| self.mac.root().join(place.trim_start_matches('/')).join(program));
        places.find(|place| place.exists())
    }
}

/// What the agent says when GitHub does not take it.
fn words(refused: Refused, name: &str) -> String {
    match refused {
        Refused::Token => "Http response code: NotFound from 'POST https://api.github.com/actions/runner-registration'\n\
             {\"message\":\"Not Found\",\"documentation_url\":\"https://docs.github.com/rest\",\"status\":\"404\"}\n\
             Response status code does not indicate success: 404 (Not Found)."
            .to_owned(),
        Refused::Name => format!("A runner exists with the same name {name}."),
    }
}

/// `actions.runner.SCOPE.NAME`, as far as that is not too long.
fn service_name(scope: &str, name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let scope: String = scope.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
    let whole = format!("actions.runner.{scope}.{name}").replace(' ', "_");
    if whole.len() <= LONGEST {
        return whole;
    }
    let start: String = whole.chars().take(LONGEST - 5).collect();
    format!("{start}-{:04}", fastrand::u32(0..10_000))
}

fn property_list(label: &str, directory: &str, user: &str, logs: &Path) -> String {
    let logs = logs.display();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n\
         <key>Label</key><string>{label}</string>\n\
         <key>ProgramArguments</key><array><string>{directory}/runsvc.sh</string></array>\n\
         <key>UserName</key><string>{user}</string>\n\
         <key>WorkingDirectory</key><string>{directory}</string>\n\
         <key>RunAtLoad</key><true/>\n\
         <key>StandardOutPath</key><string>{logs}/stdout.log</string>\n\
         <key>StandardErrorPath</key><string>{logs}/stderr.log</string>\n\
         <key>EnvironmentVariables</key><dict><key>ACTIONS_RUNNER_SVC</key><string>1</string></dict>\n\
         <key>ProcessType</key><string>Interactive</string>\n<key>SessionCreate</key><true/>\n</dict>\n</plist>\n"
    )
}

impl Agents for Tools {
    fn is_listening(&self, mac: &str, directory: &str, client: &str) -> bool {
        let Some(mac) = self.find(mac) else { return false };
        let agent = Agent::at(&mac, &mac.root().join(directory.trim_start_matches('/')));
        let program = format!("{directory}/runsvc.sh");
        let live = mac.live();
        let is_for_one_job = agent.json(".runner").is_some_and(|settings| settings["Ephemeral"] == true);
        // One for a job is a child of whatever launchd was told to start around it.
        let around = directory.rsplit_once('/').map(|(around, _)| format!("{around}/")).unwrap_or_default();
        let runs = live.iter().flat_map(|live| live.launchd.processes()).any(|(target, process)| {
            (target.starts_with("gui/") && process.program == program)
                || (is_for_one_job && process.program.starts_with(&around))
        });
        runs && agent.client().as_deref() == Some(client)
    }

    fn end(&self, mac: &str, directory: &str) {
        let Some(mac) = self.find(mac) else { return };
        let agent = Agent::at(&mac, &mac.root().join(directory.trim_start_matches('/')));
        for name in [".credentials", ".runner"] {
            // Whoever runs the agent may have taken it away with the rest.
            let _ = fs::remove_file(agent.file(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_service() {
        assert_eq!(service_name("example", "mini 1"), "actions.runner.example.mini_1");
        assert_eq!(service_name("a b-c", "m"), "actions.runner.a-b-c.m");
        let long = service_name("example", &"m".repeat(200));
        assert_eq!(long.len(), LONGEST);
    }
}
