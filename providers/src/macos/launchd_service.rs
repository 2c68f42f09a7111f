//! `macos_launchd_service`: a program that launchd keeps running.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, detected_by, in_trouble};
use fleet_engine::host::{Act, Bytes, Content, HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Disruption, Edge, Error, Resource, Touch};

use super::job::Job;
use super::service_state::{SIGNS, Seen, trouble};
use crate::cure;
use crate::host::common::{is_another, named, regular};

const PROCEDURE: &str = include_str!("launchd_service.sh");

/// A program that launchd starts, and keeps running.
///
/// It is a daemon of the whole Mac (`domain = "system"`) or an agent of whoever is logged in at the screen (`domain =
/// "gui/501"`, with `user`), which needs an Aqua session. Its property list is made from the arguments here and lies where
/// macOS looks for it, so that it is loaded at every start.
///
/// What is compared is what launchd and the kernel have, not the file alone: whether the service is loaded, from this
/// very property list, whether its process stays, whether that runs the program that lies on the disk, how it ended last,
/// and whether `health_url` answers. What is wrong is told as `trouble`.
///
/// A change of the property list takes the service out and loads it anew, once launchd has let go of it. Everything else
/// restarts it where it is (`launchctl kickstart -k`), because macOS counts how often a daemon is registered and stops to
/// keep it alive after too many times. It is made so only when a new process has run for `soak` seconds.
///
/// A service without `keep_alive` is one that does its work and ends: then it is made so when it ended well. One with
/// `start_interval` alone is made so when it is loaded.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "macos_signed_binary" "agent" {
///     path          = "/usr/local/bin/agent"
///     source        = "build/agent"
///     source_sha256 = "0f934209de7f57876dc77d34ad0b4e622c5d67dd5793f0b17984822aec258923"
///   }
///
///   resource "macos_launchd_service" "agent" {
///     label             = "dev.example.agent"
///     program_arguments = [macos_signed_binary.agent.path, "--name=${host.name}"]
///     environment       = { HOME = "/Users/m1" }
///     stdout_path       = "/var/log/agent.log"
///     stderr_path       = "/var/log/agent.log"
///     restart_on        = [macos_signed_binary.agent.cdhash]
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Service {
    /// The name by which launchd knows it, such as `dev.example.agent`.
    #[fleet(replace)]
    pub(super) label: String,
    /// The domain: `system` for a daemon, or `gui/UID` for an agent of the user with that number.
    #[fleet(replace, default = "system")]
    pub(super) domain: String,
    /// Who runs it: root, if a daemon does not say otherwise. An agent needs it: it is whose session it is.
    #[fleet(replace)]
    pub(super) user: Option<String>,
    /// The program, by its whole path, and its arguments.
    #[fleet(required)]
    pub(super) program_arguments: Option<Vec<String>>,
    /// Variables of its environment.
    pub(super) environment: Option<BTreeMap<String, String>>,
    /// In which directory it runs.
    pub(super) working_directory: Option<String>,
    /// The file to which its output is added. The directory must be there.
    pub(super) stdout_path: Option<String>,
    /// The file to which its complaints are added. The directory must be there.
    pub(super) stderr_path: Option<String>,
    /// Whether it is started when it is loaded.
    #[fleet(default = true)]
    pub(super) run_at_load: bool,
    /// Whether it is started again whenever it ended.
    #[fleet(default = true)]
    pub(super) keep_alive: bool,
    /// After how many seconds it is started again and again.
    pub(super) start_interval: Option<i64>,
    /// For how many seconds it rests between two starts.
    #[fleet(default = 10)]
    pub(super) throttle_interval: i64,
    /// A URL that answers well, asked from the Mac itself, while the service is sound.
    pub(super) health_url: Option<String>,
    /// For how many seconds a process must have run to count.
    #[fleet(default = 5)]
    pub(super) soak: i64,
    /// How many seconds a start may take, and an end.
    #[fleet(default = 60)]
    pub(super) timeout: i64,
    /// Values that restart it whenever one of them changes, such as the hash of its program.
    pub(super) restart_on: Option<Vec<String>>,
    /// What is wrong with it. It is found out and mended, and cannot be wished for.
    pub(super) trouble: Option<String>,
}

impl Resource for Service {
    const NAME: &'static str = "macos_launchd_service";
    const DETECTS: &'static [&'static Known] = &detected_by(&SIGNS);

    fn normalize(&mut self) -> Result<(), Misfit> {
        let refuse = |attribute: &str, message: &str| Err(Misfit::new(attribute, message));
        let is_name = |name: &str| {
            !name.is_empty()
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
        };
        if !is_name(&self.label) || self.label.starts_with(['-', '.']) {
            return refuse(
                "label",
                "letters, digits, `.`, `_` and `-` are needed, such as \"dev.example.agent\"",
            );
        }
        let uid = self.domain.strip_prefix("gui/");
        if self.domain != "system"
            && uid.is_none_or(|uid| uid.is_empty() || !uid.bytes().all(|b| b.is_ascii_digit()))
        {
            return refuse(
                "domain",
                "\"system\" or \"gui/\" and the number of a user is needed, such as \"gui/501\"",
            );
        }
        match &self.user {
            Some(user) if !is_name(user) => return refuse("user", "the name of a user is needed"),
            None if uid.is_some() => return refuse("user", "an agent needs it: whose session it runs in"),
            _ => {}
        }
        match self.program_arguments.as_deref() {
            Some([program, ..]) if program.starts_with('/') => {}
            Some(_) => return refuse("program_arguments", "a program is needed first, by its whole path"),
            None => {}
        }
        for (name, value) in [
            ("working_directory", &self.working_directory),
            ("stdout_path", &self.stdout_path),
            ("stderr_path", &self.stderr_path),
        ] {
            if value.as_ref().is_some_and(|path| !path.starts_with('/') || path.ends_with('/')) {
                return refuse(name, "a whole path is needed, one that starts with `/`");
            }
        }
        for (name, value, least) in [
            ("start_interval", self.start_interval.unwrap_or(1), 1),
            ("throttle_interval", self.throttle_interval, 1),
            ("soak", self.soak, 0),
            ("timeout", self.timeout, 1),
        ] {
            if !(least..=86_400).contains(&value) {
                return refuse(name, &format!("{least} to 86400 seconds are possible"));
            }
        }
        if self.environment.as_ref().is_some_and(BTreeMap::is_empty) {
            self.environment = None;
        }
        super::no_wish_for_trouble(self.trouble.as_ref())
    }

    fn findings(&self) -> Vec<Finding> {
        in_trouble(&SIGNS, self.trouble.as_deref())
    }

    fn disrupts(_: Touch<'_>) -> Disruption {
        Disruption::Thing
    }

    fn edges() -> &'static [Edge] {
        // What a service runs, reads and writes to.
        &[
            Edge::After("macos_signed_binary"),
            Edge::After("host_archive"),
            Edge::After("host_binary"),
            Edge::After("host_directory"),
            Edge::After("host_file"),
        ]
    }
}

impl HostKind for Service {
    fn probe(at: &At<Service>) -> Result<Probe, Error> {
        let service = named(at)?;
        let target = || Operand::new(service.target());
        let program = service.program();
        let mut probe = Probe::new()
            .content(service.list(), Content::Whole)
            .tool(Tool::Launchctl, [target()?])
            .tool(Tool::ServiceProcess, [target()?])
            .tool(Tool::LaunchctlDisabled, [Operand::new(service.domain.clone())?])
            .tool(Tool::CodesignDisplay, [Operand::new(if program.is_empty() { "/" } else { program })?]);
        for path in service.needed() {
            probe = probe.path(path);
        }
        if let Some(url) = &service.health_url {
            probe = probe.tool(Tool::Health, [Operand::new(url.clone())?]);
        }
        if service.domain != "system" {
            probe = probe.tool(Tool::Launchctl, [Operand::new(service.domain.clone())?]);
        }
        Ok(probe.as_root())
    }

    fn parse(at: &At<Service>, reply: &Reply) -> Result<Option<Service>, Error> {
        let asked = named(at)?;
        let list = reply.path(0)?;
        let printed = reply.output(1)?;
        let is_nowhere = list.is_none() && printed.status != 0;
        if is_nowhere || is_another(at, |a, b| a.target() == b.target()) {
            return Ok(None);
        }
        let content = list.map(|found| regular(&asked.list(), found)).transpose()?;
        let content = content.map(|file| file.content.clone().unwrap_or_default());
        let mut missing = Vec::new();
        let mut next = 5..;
        let mut index = || next.next().unwrap_or_default();
        for path in asked.needed() {
            if reply.path(index())?.is_none() {
                missing.push(path);
            }
        }
        let health = match asked.health_url {
            Some(_) => Some(reply.output(index())?.clone()),
            None => None,
        };
        let has_domain = asked.domain == "system" || reply.output(index())?.status == 0;
        let job = content.as_deref().map(Job::read);
        let seen = Seen {
            list: job.clone(),
            kept: list.map(|found| (found.owner.clone(), found.mode)),
            printed: printed.clone(),
            process: reply.output(2)?.clone(),
            disabled: reply.output(3)?.clone(),
            program: super::signed_binary::cdhash(reply.output(4)?),
            has_domain,
            missing,
            health,
        };
        let found = match job.and_then(Result::ok) {
            Some(job) => job.into_service(asked),
            None => asked.clone(),
        };
        Ok(Some(Service { trouble: trouble(asked, &seen), ..found }))
    }

    fn steps(self, change: Change<Service>) -> Result<Vec<Step>, Error> {
        let act = match &change {
            Change::Update { from } if from.is_loaded_otherwise() => "reload",
            Change::Update { from } if from.trouble.is_none() && self.runs_like(from) => "check",
            Change::Update { .. } | Change::Create => "restart",
        };
        let life = match (self.keep_alive, self.run_at_load) {
            (true, _) => "stays",
            (false, true) => "ends",
            (false, false) => "waits",
        };
        let owner = match &self.user {
            Some(user) if self.domain != "system" => format!("{user}:staff"),
            _ => "root:wheel".to_owned(),
        };
        let seconds = |seconds: i64| seconds.to_string();
        let arguments = vec![
            act.to_owned(),
            self.domain.clone(),
            self.label.clone(),
            self.list(),
            owner,
            life.to_owned(),
            seconds(self.soak),
            seconds(self.timeout),
            self.health_url.clone().unwrap_or_default(),
            self.program().to_owned(),
        ];
        let input = Bytes(Job::of(&self).write()?);
        let script = cure::procedure(PROCEDURE);
        // It may take its time to end, to come, to come again and to answer.
        let all = Duration::from_secs(60 + 5 * u64::try_from(self.timeout + self.soak).unwrap_or(60));
        let step = Step::new(Act::Procedure { script, arguments, input }).as_root();
        Ok(vec![Step { timeout: Some(all), ..step }])
    }

    fn remove(observed: Service) -> Result<Vec<Step>, Error> {
        let arguments = vec![observed.target(), observed.timeout.to_string()];
        let script = include_str!("launchd_service_remove.sh");
        let unload = Act::Procedure { script, arguments, input: Bytes::default() };
        let acts = [unload, Act::Remove { path: observed.list() }];
        Ok(acts.map(|act| Step::new(act).as_root()).into())
    }
}

impl Service {
    /// The name of the service, domain included.
    pub(super) fn target(&self) -> String {
        format!("{}/{}", self.domain, self.label)
    }

    /// Where its property list lies.
    pub(super) fn list(&self) -> String {
        match &self.user {
            Some(user) if self.domain != "system" => {
                format!("/Users/{user}/Library/LaunchAgents/{}.plist", self.label)
            }
            _ => format!("/Library/LaunchDaemons/{}.plist", self.label),
        }
    }

    /// Its program.
    pub(super) fn program(&self) -> &str {
        self.program_arguments.as_deref().and_then(<[String]>::first).map_or("", String::as_str)
    }

    /// What launchd cannot start it without.
    fn needed(&self) -> Vec<String> {
        let around = |path: &String| path.rsplit_once('/').map(|(directory, _)| directory.to_owned());
        let logs = [&self.stdout_path, &self.stderr_path].into_iter().flatten().filter_map(around);
        let mut needed: Vec<String> = logs.chain(self.working_directory.clone()).collect();
        // Programs of the system are always there, and some of them are no files.
        let system = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/libexec/", "/System/"];
        if !self.program().is_empty() && !system.iter().any(|place| self.program().starts_with(place)) {
            needed.push(self.program().to_owned());
        }
        needed.sort();
        needed.dedup();
        needed.retain(|path| !path.is_empty());
        needed
    }

    /// Whether launchd has loaded something else than what the file says.
    fn is_loaded_otherwise(&self) -> bool {
        self.trouble.as_deref().is_some_and(|trouble| trouble.starts_with(super::service_state::OTHERWISE))
    }

    /// Whether what runs needs no restart to be like this.
    fn runs_like(&self, other: &Service) -> bool {
        Job::of(self) == Job::of(other) && self.restart_on == other.restart_on
    }
}

#[cfg(test)]
pub(super) fn sample() -> Service {
    Service {
        label: "dev.example.agent".into(),
        domain: "system".into(),
        user: None,
        program_arguments: Some(vec!["/usr/local/bin/agent".into(), "--name=a & b".into()]),
        environment: Some([("HOME".to_owned(), "/Users/m1".to_owned())].into()),
        working_directory: None,
        stdout_path: Some("/var/log/agent.log".into()),
        stderr_path: None,
        run_at_load: true,
        keep_alive: true,
        start_interval: None,
        throttle_interval: 10,
        health_url: None,
        soak: 5,
        timeout: 60,
        restart_on: None,
        trouble: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the procedure is told to do.
    fn act(wish: &Service, from: Service) -> String {
        let steps = wish.clone().steps(Change::Update { from }).unwrap();
        let [Step { act: Act::Procedure { arguments, .. }, .. }] = &steps[..] else { panic!("{steps:?}") };
        arguments[0].clone()
    }

    #[test]
    fn only_what_needs_a_restart_is_restarted() {
        let wish = sample();
        let other = |change: fn(&mut Service)| {
            let mut from = sample();
            change(&mut from);
            from
        };
        assert_eq!(act(&wish, other(|it| it.health_url = Some("http://127.0.0.1/".into()))), "check");
        assert_eq!(act(&wish, other(|it| it.soak = 1)), "check");
        assert_eq!(act(&wish, other(|it| it.restart_on = Some(vec!["a".into()]))), "restart");
        assert_eq!(act(&wish, other(|it| it.keep_alive = false)), "restart");
        assert_eq!(act(&wish, other(|it| it.trouble = Some("it does not run".into()))), "restart");
        let otherwise =
            format!("{} than the one on the disk: arguments", super::super::service_state::OTHERWISE);
        assert_eq!(act(&wish, Service { trouble: Some(otherwise), ..sample() }), "reload");
    }

    #[test]
    fn values_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut Service), attribute: &str| {
            let mut wish = sample();
            change(&mut wish);
            assert_eq!(wish.normalize().unwrap_err().attribute, attribute);
        };
        refused(|it| it.label = "a/b".into(), "label");
        refused(|it| it.label = "-w".into(), "label");
        refused(|it| it.domain = "gui/m1".into(), "domain");
        refused(|it| it.domain = "gui/501".into(), "user");
        refused(|it| it.program_arguments = Some(vec!["agent".into()]), "program_arguments");
        refused(|it| it.program_arguments = Some(Vec::new()), "program_arguments");
        refused(|it| it.stdout_path = Some("log".into()), "stdout_path");
        refused(|it| it.throttle_interval = 0, "throttle_interval");
        refused(|it| it.trouble = Some("x".into()), "trouble");
        let mut agent = Service { domain: "gui/501".into(), user: Some("m1".into()), ..sample() };
        agent.normalize().unwrap();
        assert_eq!(agent.list(), "/Users/m1/Library/LaunchAgents/dev.example.agent.plist");
        assert_eq!(agent.target(), "gui/501/dev.example.agent");
    }
}
