//! `github_runner`: an agent of GitHub Actions on a Mac.

use std::time::Duration;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::host::step::{Keep, LocalFile};
use fleet_engine::host::{Act, Bytes, Content, HostKind, Operand, Output, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Disruption, Edge, Error, Resource, Touch};

use super::registration::{Note, Registration, is_as_new};
use crate::cure;
use crate::host::common::{is_another, named, normal_digest, regular};

const PROCEDURE: &str = include_str!("runner.sh");
const REMOVE: &str = include_str!("runner_remove.sh");
/// What jobs find programs by, unless somebody says otherwise.
const PATH: &str = "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin";
/// How base64 of a JSON object begins, which a configuration for one job is.
const CONFIGURATION: &str = "eyI";
/// How it is told that the registration is of no use.
const UNREGISTERED: &str = "it is not registered";

/// A runner of GitHub Actions on a Mac: installed, registered, and run in the session at the screen.
///
/// The agent comes out of the archive of a release. It is registered by its `config.sh` with a token that GitHub gives for an
/// hour; the token goes there by a pipe and the environment, and never stands among the words of a process. The registration of
/// before is kept until the new one is there, so that a token that is refused costs no runner. Then its LaunchAgent is loaded
/// into `gui/UID`, which takes somebody who is logged in at the screen: see `macos_auto_login`.
///
/// It is registered anew when its URL, name, labels or directory for work change, or when its registration is missing or was
/// made by somebody else. Otherwise the token is not used, and a token that is too old does no harm. Labels are those that it
/// was registered with by fleet; what somebody changes at GitHub is not seen from the host.
///
/// An agent renews itself; `version` is the oldest that will do. One that runs a job is not interrupted: the apply waits for
/// `timeout` seconds and fails.
///
/// It stays for any number of jobs, so it is not started with a `jit-config:`: with that, GitHub forgets a runner after one job, and
/// the agent ends. The module `github-jit-runner` of the examples does that.
///
/// Removing it takes everything off the Mac, once no job runs any more. GitHub lists the runner as offline until somebody deletes
/// it there, or for 14 days; a `github_registration` beside it deregisters it first.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// variable "token" {
///   type      = string
///   sensitive = true
///   default   = "of GitHub"
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "github_runner" "this" {
///     user          = "m1"
///     url           = "https://github.com/example"
///     name          = host.name
///     labels        = ["bare-metal", "vm-image-builder"]
///     version       = "2.336.0"
///     source        = "actions-runner-osx-arm64.tar.gz"
///     source_sha256 = "3a1f6f3f0a8d2ff1dd2c9ed6a9c1be6a9dd0f0b5e4d1f4ed8b9c3a1f6f3f0a8d"
///     token         = var.token
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Runner {
    /// Where it is installed.
    #[fleet(replace, default = "/opt/actions-runner")]
    directory: String,
    /// Who runs it: whoever is logged in at the screen.
    #[fleet(replace)]
    user: String,
    /// Where it is registered: an organisation, a repository or an enterprise.
    url: String,
    /// Its name there.
    name: String,
    /// Its labels, beside those that every runner has. Every repository that may use the runner finds it by them.
    #[fleet(default = Vec::<String>::new())]
    labels: Vec<String>,
    /// The directory for work, in that of the agent.
    #[fleet(default = "_work")]
    work: String,
    /// The directories in which jobs find programs.
    #[fleet(default = PATH)]
    path: String,
    /// The version that is in the archive, as its agent says it (in `bin/Runner.Listener.deps.json`). An agent that renewed itself
    /// since is taken for it.
    version: String,
    /// The archive of the release on the machine that runs fleet.
    source: String,
    /// The SHA-256 of `source`: as it was published, or `filesha256` of its path.
    #[fleet(required)]
    source_sha256: Option<String>,
    /// A registration token, such as a secret `registration-token:` of the provider. It is sent only to register, and not compared.
    #[fleet(required, secret, write_only)]
    token: Option<String>,
    /// For how many seconds its agent must have run to count.
    #[fleet(default = 5)]
    soak: i64,
    /// How many seconds a start may take, and a job that is waited for.
    #[fleet(default = 60)]
    timeout: i64,
    /// What is wrong with it. It is found out and mended, and cannot be wished for.
    trouble: Option<String>,
    /// The name of its service, as `svc.sh` made it.
    #[fleet(computed, follows = "url", follows = "name", follows = "trouble")]
    service: Option<String>,
    /// Its number at GitHub.
    #[fleet(computed, follows = "url", follows = "name", follows = "trouble")]
    runner_id: Option<i64>,
}

impl Resource for Runner {
    const NAME: &'static str = "github_runner";
    const DETECTS: &'static [&'static Known] = &[&table::RUNNER_UNREGISTERED, &table::RUNNER_OFFLINE];

    fn normalize(&mut self) -> Result<(), Misfit> {
        let refuse = |attribute: &str, message: &str| Err(Misfit::new(attribute, message));
        crate::host::common::check_path(&self.directory)
            .map_err(|misfit| Misfit { attribute: "directory".into(), ..misfit })?;
        let is_word =
            |word: &str| !word.is_empty() && !word.starts_with('-') && !word.contains(char::is_control);
        if !is_word(&self.user) || self.user == "root" || self.user.contains(['/', ' ']) {
            return refuse("user", "the name of a user is needed; the agent refuses root");
        }
        self.url = self.url.trim_end_matches('/').to_owned();
        if !self.url.starts_with("https://") || self.url.matches('/').count() < 3 {
            return refuse("url", "a URL is needed, such as \"https://github.com/example\"");
        }
        for (attribute, value) in [("name", &self.name), ("work", &self.work), ("path", &self.path)] {
            if !is_word(value) {
                return refuse(attribute, "a text without control characters is needed");
            }
        }
        if self.labels.iter().any(|label| !is_word(label) || label.contains(',') || label.len() > 256) {
            return refuse("labels", "labels of at most 256 letters without a comma are needed");
        }
        self.labels.sort();
        self.labels.dedup();
        self.source_sha256 = self.source_sha256.as_deref().map(normal_digest).transpose()?;
        if self.token.as_deref().is_some_and(|token| token.trim().is_empty() || token.trim().contains('\n')) {
            return refuse("token", "a token of one line is needed");
        }
        if self.token.as_deref().is_some_and(|token| token.trim().starts_with(CONFIGURATION)) {
            return refuse(
                "token",
                "this is what an agent for one job is started with (`jit-config:`); one that stays takes a `registration-token:`",
            );
        }
        for (attribute, value, least) in [("soak", self.soak, 0), ("timeout", self.timeout, 1)] {
            if !(least..=86_400).contains(&value) {
                return refuse(attribute, &format!("{least} to 86400 seconds are possible"));
            }
        }
        match self.trouble {
            Some(_) => refuse("trouble", "what is wrong is found out and mended; leave it out"),
            None => Ok(()),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let known = |trouble: &str| match trouble.starts_with(UNREGISTERED) {
            true => &table::RUNNER_UNREGISTERED,
            false => &table::RUNNER_OFFLINE,
        };
        self.trouble.iter().map(|trouble| known(trouble).seen_by(trouble)).collect()
    }

    fn disrupts(_: Touch<'_>) -> Disruption {
        Disruption::Thing
    }

    fn edges() -> &'static [Edge] {
        &[
            Edge::After("host_directory"),
            Edge::After("host_file"),
            Edge::After("host_line"),
            Edge::After("macos_sudoers"),
            Edge::After("macos_launchd_service"),
        ]
    }
}

impl HostKind for Runner {
    fn probe(at: &At<Runner>) -> Result<Probe, Error> {
        let asked = named(at)?;
        let mut probe = Probe::new();
        for name in [".runner", ".fleet-runner", ".path"] {
            probe = probe.content(asked.file(name), Content::Whole);
        }
        for name in [".credentials", "config.sh"] {
            probe = probe.path(asked.file(name));
        }
        let operands = [Operand::new(asked.directory.clone())?, Operand::new(asked.user.clone())?];
        Ok(probe.tool(Tool::RunnerService, operands).as_root())
    }

    fn parse(at: &At<Runner>, reply: &Reply) -> Result<Option<Runner>, Error> {
        let asked = named(at)?;
        let content = |index: usize, name: &str| -> Result<Option<Vec<u8>>, Error> {
            let found = reply.path(index)?;
            let file = found.map(|found| regular(&asked.file(name), found)).transpose()?;
            Ok(file.and_then(|file| file.content.clone()))
        };
        let settings = content(0, ".runner")?;
        let is_installed = reply.path(4)?.is_some();
        let is_nowhere = settings.is_none() && !is_installed;
        if is_nowhere || is_another(at, |a, b| a.directory == b.directory) {
            return Ok(None);
        }
        let registration = settings.as_deref().and_then(Registration::read);
        let note = content(1, ".fleet-runner")?.map(|content| Note::read(&content)).unwrap_or_default();
        let path = content(2, ".path")?.map(|content| String::from_utf8_lossy(&content).trim().to_owned());
        let service = reply.output(5)?;
        let trouble =
            unregistered(registration.as_ref(), &note, reply.path(3)?.is_some()).or_else(|| idle(service));
        let is_ours = trouble.as_deref().is_none_or(|trouble| !trouble.starts_with(UNREGISTERED));
        let known = registration.clone().filter(|_| is_ours);
        // What it says itself: it may have renewed itself, and others may have put another one there.
        let version = line_of(service, "version ").filter(|_| is_installed).unwrap_or_default();
        let new_enough = is_as_new(&version, &asked.version);
        Ok(Some(Runner {
            url: known.as_ref().map_or_else(|| asked.url.clone(), |known| known.url.clone()),
            name: known.as_ref().map_or_else(|| asked.name.clone(), |known| known.name.clone()),
            work: known.as_ref().map_or_else(|| asked.work.clone(), |known| known.work.clone()),
            labels: if is_ours { note.labels } else { asked.labels.clone() },
            path: path.unwrap_or_default(),
            version: if new_enough { asked.version.clone() } else { version },
            source_sha256: if is_ours { note.source } else { asked.source_sha256.clone() },
            token: None,
            trouble,
            service: label_of(service),
            runner_id: registration.and_then(|registration| registration.id),
            ..asked.clone()
        }))
    }

    fn steps(self, change: Change<Runner>) -> Result<Vec<Step>, Error> {
        let (installs, registers) = match &change {
            Change::Create => (true, true),
            Change::Update { from } => (self.needs_install(from), self.needs_registration(from)),
        };
        if let Change::Update { from } = &change
            && !installs
            && !registers
            && from.trouble.is_none()
            && from.path == self.path
        {
            // A new token, or another patience: nothing there is different for it.
            return Ok(Vec::new());
        }
        let digest = self.source_sha256.clone();
        let digest = digest.ok_or_else(|| Misfit::new("source_sha256", "a digest is needed"))?;
        let mut steps = Vec::new();
        if installs {
            let (around, name) = self.directory.rsplit_once('/').unwrap_or(("", &self.directory));
            let archive = LocalFile { path: self.source.clone(), digest: digest.clone() };
            let place = if around.is_empty() { "/" } else { around };
            steps.push(Step::new(Act::Directory { path: place.to_owned(), keep: Keep::default() }));
            steps.push(Step::new(Act::Unpack {
                path: format!("{around}/.{name}.fleet-sent"),
                archive,
                strip: 0,
            }));
        }
        let said = |is_so: bool| if is_so { "yes" } else { "no" }.to_owned();
        // Nobody but who registers needs it.
        let token = self.token.filter(|_| registers).unwrap_or_default().trim().to_owned();
        let arguments = vec![
            self.directory,
            self.user,
            self.url,
            self.name,
            self.labels.join(","),
            self.work,
            self.path,
            digest,
            said(installs),
            said(registers),
            self.soak.to_string(),
            self.timeout.to_string(),
        ];
        let input = Bytes(token.into_bytes());
        let procedure = Act::Procedure { script: cure::procedure(PROCEDURE), arguments, input };
        let all = Duration::from_secs(120 + 5 * u64::try_from(self.timeout + self.soak).unwrap_or(60));
        steps.push(Step { timeout: Some(all), ..Step::new(procedure) });
        Ok(steps.into_iter().map(Step::as_root).collect())
    }

    fn remove(observed: Runner) -> Result<Vec<Step>, Error> {
        let arguments = vec![observed.directory.clone(), observed.user, observed.timeout.to_string()];
        let stop = Act::Procedure { script: REMOVE, arguments, input: Bytes::default() };
        let acts = [stop, Act::RemoveTree { path: observed.directory }];
        Ok(acts.map(|act| Step::new(act).as_root()).into())
    }
}

impl Runner {
    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    fn needs_install(&self, from: &Runner) -> bool {
        self.version != from.version || self.source_sha256 != from.source_sha256
    }

    fn needs_registration(&self, from: &Runner) -> bool {
        let is_lost = from.trouble.as_deref().is_some_and(|trouble| trouble.starts_with(UNREGISTERED));
        is_lost
            || (&self.url, &self.name, &self.labels, &self.work)
                != (&from.url, &from.name, &from.labels, &from.work)
    }
}

/// What is wrong with the registration.
fn unregistered(registration: Option<&Registration>, note: &Note, has_credentials: bool) -> Option<String> {
    let why = match registration {
        None => "its `.runner` is missing or cannot be read".to_owned(),
        Some(_) if !has_credentials => "its `.credentials` are missing".to_owned(),
        Some(known) if known.id.is_none() || note.agent != known.id => {
            format!("its `.runner` was left by somebody else, for `{}`", known.name)
        }
        Some(_) => return None,
    };
    Some(format!("{UNREGISTERED}: {why}"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What stands after a word at the beginning of a line.
fn line_of(output: &Output, start: &str) -> Option<String> {
    text(output).lines().find_map(|line| line.strip_prefix(start)).map(str::to_owned)
}

/// The name of the service.
fn label_of(output: &Output) -> Option<String> {
    line_of(output, "label ")
}

/// Why its agent does not run.
fn idle(output: &Output) -> Option<String> {
    let Some(label) = label_of(output) else {
        return Some("it is not installed as a service: its `.service` is missing".to_owned());
    };
    let told = text(output);
    if output.status != 0 {
        return Some(format!("its LaunchAgent {label} is not loaded in the session at the screen"));
    }
    let value = |key: &str| {
        let mut lines = told.lines().map(str::trim);
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ").map(str::to_owned))
    };
    match value("state").as_deref() {
        Some("running") => None,
        state => {
            let state = state.unwrap_or("unknown").to_owned();
            let last =
                value("last exit code").map(|code| format!(", last exit code = {code}")).unwrap_or_default();
            Some(format!("its agent does not run: launchd says: state = {state}{last}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Runner {
        Runner {
            directory: "/opt/actions-runner".into(),
            user: "m1".into(),
            url: "https://github.com/example".into(),
            name: "mini".into(),
            labels: vec!["a".into(), "b".into()],
            work: "_work".into(),
            path: PATH.into(),
            version: "2.336.0".into(),
            source: "runner.tar.gz".into(),
            source_sha256: Some("d".repeat(64)),
            token: Some("hunter2".into()),
            soak: 5,
            timeout: 60,
            trouble: None,
            service: None,
            runner_id: None,
        }
    }

    /// What is installed, what is registered, and what the procedure reads.
    fn done(change: fn(&mut Runner)) -> Option<(String, String, usize)> {
        let mut from = sample();
        change(&mut from);
        let steps = sample().steps(Change::Update { from }).unwrap();
        let Step { act: Act::Procedure { arguments, input, .. }, .. } = steps.last()? else {
            panic!("{steps:?}")
        };
        assert!(!arguments.iter().any(|argument| argument.contains("hunter2")));
        Some((arguments[8].clone(), arguments[9].clone(), input.0.len()))
    }

    #[test]
    fn it_is_registered_only_if_that_is_needed() {
        let did =
            |installs: &str, registers: &str, read: usize| Some((installs.into(), registers.into(), read));
        assert_eq!(done(|_| {}), None);
        assert_eq!(done(|it| it.soak = 1), None);
        assert_eq!(done(|it| it.path = "/bin".into()), did("no", "no", 0));
        assert_eq!(
            done(|it| it.trouble = Some("its LaunchAgent x is not loaded".into())),
            did("no", "no", 0)
        );
        assert_eq!(done(|it| it.version = "2.335.0".into()), did("yes", "no", 0));
        assert_eq!(done(|it| it.labels = Vec::new()), did("no", "yes", 7));
        assert_eq!(done(|it| it.trouble = Some(format!("{UNREGISTERED}: x"))), did("no", "yes", 7));
        assert_eq!(sample().steps(Change::Create).unwrap().len(), 3);
    }

    #[test]
    fn a_registration_of_somebody_else_is_none() {
        let registration = Registration { id: Some(7), name: "old".into(), ..Registration::default() };
        let ours = Note { agent: Some(7), ..Note::default() };
        assert_eq!(unregistered(Some(&registration), &ours, true), None);
        assert!(unregistered(Some(&registration), &ours, false).unwrap().contains(".credentials"));
        assert!(unregistered(Some(&registration), &Note::default(), true).unwrap().contains("for `old`"));
        assert!(unregistered(None, &ours, true).unwrap().contains("`.runner` is missing"));
    }

    #[test]
    fn whether_an_agent_runs_is_what_launchd_says() {
        let said = |status: i32, text: &str| Output { status, stdout: text.into(), stderr: Vec::new() };
        assert_eq!(idle(&said(0, "label a.b\ngui/501/a.b = {\n\tstate = running\n}\n")), None);
        assert!(idle(&said(113, "label a.b\n")).unwrap().contains("a.b is not loaded"));
        assert!(idle(&said(3, "")).unwrap().contains("`.service` is missing"));
        let ended = idle(&said(0, "label a.b\n\tstate = not running\n\tlast exit code = 1\n")).unwrap();
        assert!(ended.ends_with("state = not running, last exit code = 1"), "{ended}");
    }

    #[test]
    fn values_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut Runner), attribute: &str| {
            let mut wish = sample();
            change(&mut wish);
            assert_eq!(wish.normalize().unwrap_err().attribute, attribute);
        };
        sample().normalize().unwrap();
        refused(|it| it.user = "root".into(), "user");
        refused(|it| it.url = "github.com/example".into(), "url");
        refused(|it| it.url = "https://github.com".into(), "url");
        refused(|it| it.labels = vec!["a,b".into()], "labels");
        refused(|it| it.token = Some("a\nb".into()), "token");
        refused(|it| it.directory = "runner".into(), "directory");
    }

    #[test]
    fn every_procedure_passes_shellcheck() {
        use std::io::Write as _;
        for script in [PROCEDURE, REMOVE, Tool::RunnerService.script().unwrap()] {
            let mut child = std::process::Command::new("shellcheck")
                .args(["-s", "sh", "-"])
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
    }
}
