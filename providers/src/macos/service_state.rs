//! What launchd, the kernel and the service itself say, and what is wrong with it.
//!
//! Nothing here names a number that changes by itself, such as that of a process: what is found twice in a row must read
//! the same.

use std::collections::BTreeMap;

use fleet_engine::finding::{Sign, table};
use fleet_engine::host::probe::Output;

use super::job::Job;
use super::launchd_service::Service;
use crate::cure;

/// How trouble starts that only a new loading mends.
pub(super) const OTHERWISE: &str = "launchd has another property list loaded";

/// How trouble starts of a daemon that is a part of another kind, and whose property list is not what that kind writes.
pub(super) const NOT_OURS: &str = "its property list is not the one it should be";

/// How each trouble starts, and which bad state it is.
pub(super) const SIGNS: [Sign; 16] = [
    ("it is loaded, but its property list is gone", &table::BROKEN_PROPERTY_LIST),
    ("its property list is broken", &table::BROKEN_PROPERTY_LIST),
    ("launchd refuses its property list", &table::BROKEN_PROPERTY_LIST),
    ("somebody edited its property list", &table::EDITED_PROPERTY_LIST),
    (OTHERWISE, &table::EDITED_PROPERTY_LIST),
    (NOT_OURS, &table::EDITED_PROPERTY_LIST),
    ("it is disabled", &table::SERVICE_DISABLED),
    ("launchd does not know it", &table::SERVICE_NOT_LOADED),
    ("launchd has no domain", &table::NO_AQUA_SESSION),
    ("the kernel kills it", &table::CODESIGN_KILLED),
    ("launchd cannot start it", &table::SERVICE_CANNOT_START),
    ("it is in a crash loop", &table::CRASH_LOOP),
    ("it does not run, and `KeepAlive` did not bring it back", &table::BACKGROUND_TASK_CAP),
    ("it failed when it ran last", &table::SERVICE_FAILED),
    ("what runs is not", &table::STALE_PROCESS),
    ("it runs, but its health URL does not answer well", &table::UNHEALTHY_SERVICE),
];

/// All that was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The property list, or why it is none; nothing if there is no file.
    pub(super) list: Option<Result<Job, String>>,
    /// Who owns the file, and its mode.
    pub(super) kept: Option<(String, u32)>,
    /// `launchctl print` of the service.
    pub(super) printed: Output,
    /// What runs.
    pub(super) process: Output,
    /// `launchctl print-disabled` of the domain.
    pub(super) disabled: Output,
    /// The hash of the program on the disk.
    pub(super) program: Option<String>,
    /// Whether launchd has the domain.
    pub(super) has_domain: bool,
    /// What is needed and not there.
    pub(super) missing: Vec<String>,
    /// What came of asking the URL.
    pub(super) health: Option<Output>,
}

/// What launchd says of a service that it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Printed {
    /// Lines of the form `name = value`; the first of a name counts.
    values: BTreeMap<String, String>,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

impl Printed {
    fn read(text: &str) -> Printed {
        let mut printed = Printed::default();
        let mut block = None;
        for line in text.lines().skip(1) {
            let inner = line.trim_start();
            if inner == "}" {
                block = None;
            } else if let Some(name) = inner.strip_suffix(" = {") {
                block = Some(name.to_owned());
            } else {
                match (block.as_deref(), inner.split_once(" = "), inner.split_once(" => ")) {
                    (Some("arguments"), ..) => printed.arguments.push(inner.to_owned()),
                    (Some("environment"), _, Some((name, value))) => {
                        printed.environment.insert(name.to_owned(), value.to_owned());
                    }
                    (None, Some((name, value)), _) => {
                        printed.values.entry(name.to_owned()).or_insert_with(|| value.to_owned());
                    }
                    _ => {}
                }
            }
        }
        // launchd adds these itself.
        printed.environment.retain(|name, _| !matches!(name.as_str(), "XPC_SERVICE_NAME" | "OSLogRateLimit"));
        printed
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// In what it differs from a property list.
    fn differs(&self, job: &Job) -> Option<&'static str> {
        let properties = self.value("properties").unwrap_or_default();
        let has = |property: &str| properties.split(" | ").any(|known| known == property);
        // An argument of several lines is shown as several.
        let lines = |words: &[String]| {
            words
                .iter()
                .flat_map(|word| word.split('\n'))
                .map(str::trim_start)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        // An agent is run by whose session it is, whatever a property list says; a daemon of nobody in particular is root's.
        let is_agent = self.value("domain") != Some("system");
        let runs_as = self.value("username").unwrap_or("root");
        let checks = [
            (is_agent || runs_as == job.user.as_deref().unwrap_or("root"), "username"),
            (lines(&self.arguments) == lines(&job.arguments), "arguments"),
            (self.environment.keys().eq(job.environment.keys()), "environment"),
            (self.value("working directory") == job.directory.as_deref(), "working directory"),
            (self.value("stdout path") == job.stdout.as_deref(), "stdout path"),
            (self.value("stderr path") == job.stderr.as_deref(), "stderr path"),
            (has("keepalive") == job.keep_alive, "keepalive"),
            (has("runatload") == job.run_at_load, "runatload"),
            (
                self.value("minimum runtime").is_none_or(|it| it == job.throttle.to_string()),
                "minimum runtime",
            ),
            (
                self.value("run interval") == job.start_interval.map(|it| format!("{it} seconds")).as_deref(),
                "run interval",
            ),
        ];
        let same = |name: &String, value: &String| {
            job.environment.get(name).is_some_and(|it| it.lines().next().unwrap_or_default() == value)
        };
        let differs = checks.into_iter().find(|(is_same, _)| !is_same).map(|(_, name)| name);
        differs.or_else(|| {
            (!self.environment.iter().all(|(name, value)| same(name, value))).then_some("environment")
        })
    }
}

/// Whether launchd lists a service as one that it does not load. Older versions say `true`.
pub(super) fn is_disabled(listed: &str, label: &str) -> bool {
    let lines = listed.lines().filter_map(|line| line.trim().strip_prefix(&format!("\"{label}\" => ")));
    lines.into_iter().any(|state| matches!(state.trim(), "disabled" | "true"))
}

/// Whether launchd has loaded just this job, and loads it at the next start, too.
pub(super) fn comes_back(job: &Job, printed: &Output, disabled: &Output) -> bool {
    let is_loaded = printed.status == 0 && Printed::read(&text(&printed.stdout)).differs(job).is_none();
    is_loaded && !is_disabled(&text(&disabled.stdout), &job.label)
}

/// What is wrong with a service; nothing if it is as it should be.
pub(super) fn trouble(asked: &Service, seen: &Seen) -> Option<String> {
    of_list(asked, seen).or_else(|| of_loading(asked, seen)).or_else(|| of_running(asked, seen))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What is wrong with the file.
fn of_list(asked: &Service, seen: &Seen) -> Option<String> {
    match &seen.list {
        None => return Some("it is loaded, but its property list is gone".to_owned()),
        Some(Err(why)) => {
            return Some(format!("its property list is broken, and launchd cannot load it: {why}"));
        }
        Some(Ok(job)) => {
            let renamed = (job.label != asked.label).then(|| "Label".to_owned());
            let others: Vec<String> = renamed.into_iter().chain(job.others.clone()).collect();
            if !others.is_empty() {
                return Some(format!("somebody edited its property list: {}", others.join(", ")));
            }
        }
    }
    let (owner, mode) = seen.kept.as_ref()?;
    let is_ours = asked.domain != "system" || owner == "root";
    (!is_ours || mode & 0o022 != 0).then(|| {
        format!(
            "launchd refuses its property list: it is {owner}'s with mode {mode:04o}, and others may write it"
        )
    })
}

/// What is wrong with what is loaded.
fn of_loading(asked: &Service, seen: &Seen) -> Option<String> {
    if is_disabled(&text(&seen.disabled.stdout), &asked.label) {
        return Some("it is disabled, and launchd will not load it".to_owned());
    }
    if seen.printed.status != 0 {
        return Some(match seen.has_domain {
            true => "launchd does not know it: it is not loaded".to_owned(),
            false => format!("launchd has no domain {}: there is no Aqua session", asked.domain),
        });
    }
    let job = seen.list.as_ref()?.as_ref().ok()?;
    if *job != Job::of(asked) || !cure::is_there("compare-loaded") {
        // The attributes say in what the file differs, and it is loaded when it is written.
        return None;
    }
    let differs = Printed::read(&text(&seen.printed.stdout)).differs(job)?;
    Some(format!("{OTHERWISE} than the one on the disk: {differs}"))
}

/// What is wrong with what runs.
fn of_running(asked: &Service, seen: &Seen) -> Option<String> {
    let printed = Printed::read(&text(&seen.printed.stdout));
    let process = text(&seen.process.stdout);
    let told = |key: &str| process.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    let runs = printed.value("pid").is_some();
    let crashes = printed.value("successive crashes").and_then(|it| it.parse().ok()).unwrap_or(0);
    let age = told("age").and_then(seconds).unwrap_or(i64::MAX);
    // How it ended last says nothing of what runs by now.
    let has_failed = !runs || (crashes > 0 && age < asked.soak);
    let is_loop = has_failed && (runs || printed.value("state") == Some("spawn scheduled"));
    if has_failed {
        let code = printed.value("last exit code");
        if let Some(reason) =
            printed.value("last exit reason").filter(|it| it.contains("OS_REASON_CODESIGNING"))
        {
            return Some(format!(
                "the kernel kills it for its code signature ({reason}): {} was overwritten in place, or is not signed",
                asked.program()
            ));
        }
        if code.is_some_and(|code| code.starts_with("78")) {
            let missing = match seen.missing.is_empty() {
                true => "something that it needs is missing".to_owned(),
                false => format!("{} is missing", seen.missing.join(", ")),
            };
            return Some(format!("launchd cannot start it (EX_CONFIG): {missing}"));
        }
        let last = ["last exit code", "last terminating signal", "last exit reason"]
            .iter()
            .find_map(|name| Some(format!("{name} = {}", printed.value(name)?)))
            .unwrap_or_else(|| "it never ended".to_owned());
        let ended_badly = code.is_some_and(|code| code != "0" && code != "(never exited)");
        if asked.keep_alive && is_loop && crashes > 0 {
            return Some(format!("it is in a crash loop: what is started ends again ({last})"));
        }
        if asked.keep_alive && !is_loop {
            return Some(format!(
                "it does not run, and `KeepAlive` did not bring it back ({last}): macOS stops to do so for daemons that were \
                 registered too often"
            ));
        }
        if !asked.keep_alive && asked.run_at_load && ended_badly {
            return Some(format!("it failed when it ran last ({last})"));
        }
    }
    if let (Some(running), Some(program)) = (told("cdhash"), &seen.program)
        && running != program
    {
        return Some(format!("what runs is not {} as it is now: that was replaced since", asked.program()));
    }
    let health = seen.health.as_ref().filter(|health| health.status != 0)?;
    let said = text(&health.stderr);
    Some(format!(
        "it runs, but its health URL does not answer well: {}",
        said.lines().next().unwrap_or_default()
    ))
}

/// `[[days-]hours:]minutes:seconds` in seconds.
fn seconds(elapsed: &str) -> Option<i64> {
    let (days, rest) = elapsed.split_once('-').unwrap_or(("0", elapsed));
    let mut seconds = 0;
    for part in rest.split(':') {
        seconds = seconds * 60 + part.parse::<i64>().ok()?;
    }
    Some(days.parse::<i64>().ok()? * 86_400 + seconds)
}

#[cfg(test)]
mod tests {
    use fleet_engine::resource::Resource;

    use super::super::launchd_service::sample;
    use super::*;

    fn printed(changes: &[(&str, &str)]) -> Output {
        let mut text = include_str!("launchctl_print.txt").to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        Output { status: 0, stdout: text.into(), stderr: Vec::new() }
    }

    fn sound() -> Seen {
        Seen {
            list: Some(Ok(Job::of(&sample()))),
            kept: Some(("root".into(), 0o644)),
            printed: printed(&[]),
            process: Output { stdout: b"age 02:10\ncdhash aa\n".to_vec(), ..Output::default() },
            program: Some("aa".into()),
            has_domain: true,
            ..Seen::default()
        }
    }

    #[track_caller]
    fn check(seen: &Seen, expected: &str) {
        let found = trouble(&sample(), seen).unwrap_or_default();
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
        let service = Service { trouble: Some(found).filter(|it| !it.is_empty()), ..sample() };
        assert_eq!(service.findings().len(), usize::from(!expected.is_empty()), "{expected} has a name");
    }

    const DOWN: (&str, &str) = ("\tpid = 50021\n", "");
    const NEVER: &str = "last exit code = (never exited)";

    #[test]
    fn what_launchd_prints_is_understood() {
        let text = text(&printed(&[]).stdout);
        let printed = Printed::read(&text);
        assert_eq!(printed.value("state"), Some("running"));
        assert_eq!(printed.arguments, ["/usr/local/bin/agent", "--name=a & b"]);
        assert_eq!(printed.environment.len(), 1);
        assert_eq!(printed.differs(&Job::of(&sample())), None);
    }

    #[test]
    fn a_service_that_is_sound_has_no_trouble() {
        check(&sound(), "");
        // What ended long ago says nothing of what runs.
        let history = [(NEVER, "successive crashes = 4\n\tlast exit reason = OS_REASON_CODESIGNING")];
        check(&Seen { printed: printed(&history), ..sound() }, "");
        // Who runs it is told in other words where nobody is named, and an agent is run by whose session it is.
        for told in ["domain = system\n\tusername = root", "domain = gui/501 [100005]\n\tusername = m1"] {
            check(&Seen { printed: printed(&[("domain = system", told)]), ..sound() }, "");
        }
    }

    #[test]
    fn known_troubles_are_told_apart() {
        let broken = Some(Err("expected `;`".to_owned()));
        check(
            &Seen { list: broken, ..sound() },
            "its property list is broken, and launchd cannot load it: expected",
        );
        check(&Seen { list: None, ..sound() }, "its property list is gone");
        let edited = Job { others: vec!["Nice".into()], ..Job::of(&sample()) };
        check(&Seen { list: Some(Ok(edited)), ..sound() }, "somebody edited its property list: Nice");
        check(&Seen { kept: Some(("m1".into(), 0o644)), ..sound() }, "launchd refuses its property list");
        check(&Seen { kept: Some(("root".into(), 0o666)), ..sound() }, "launchd refuses its property list");
        let unknown = Output { status: 113, ..Output::default() };
        check(&Seen { printed: unknown.clone(), ..sound() }, "it is not loaded");
        check(&Seen { printed: unknown, has_domain: false, ..sound() }, "there is no Aqua session");
        let disabled = b"\tdisabled services = {\n\t\t\"dev.example.agent\" => disabled\n\t}\n".to_vec();
        check(
            &Seen { disabled: Output { stdout: disabled, ..Output::default() }, ..sound() },
            "it is disabled",
        );
        let other = printed(&[("--name=a & b", "--name=c")]);
        check(
            &Seen { printed: other, ..sound() },
            "launchd has another property list loaded than the one on the disk: arguments",
        );
        let somebody_else = printed(&[("domain = system\n", "domain = system\n\tusername = nobody\n")]);
        check(
            &Seen { printed: somebody_else, ..sound() },
            "launchd has another property list loaded than the one on the disk: username",
        );
    }

    #[test]
    fn what_does_not_run_is_told_by_how_it_ended() {
        let nothing = || Seen { process: Output::default(), ..sound() };
        let scheduled = ("state = running", "state = spawn scheduled");
        let killed = (NEVER, "successive crashes = 3\n\tlast exit reason = OS_REASON_CODESIGNING");
        check(&Seen { printed: printed(&[DOWN, scheduled, killed]), ..nothing() }, "OS_REASON_CODESIGNING");
        let config = (NEVER, "last exit code = 78: EX_CONFIG");
        let missing = vec!["/usr/local/bin/agent".to_owned()];
        check(
            &Seen { printed: printed(&[DOWN, scheduled, config]), missing, ..nothing() },
            "launchd cannot start it (EX_CONFIG): /usr/local/bin/agent is missing",
        );
        let crashed = (NEVER, "successive crashes = 3\n\tlast exit code = 1");
        check(&Seen { printed: printed(&[DOWN, scheduled, crashed]), ..nothing() }, "it is in a crash loop");
        // A process that is there for a moment is the same.
        let young = Output { stdout: b"age 00:02\ncdhash aa\n".to_vec(), ..Output::default() };
        check(&Seen { printed: printed(&[crashed]), process: young, ..sound() }, "it is in a crash loop");
        let stopped = ("state = running", "state = not running");
        check(
            &Seen { printed: printed(&[DOWN, stopped, crashed]), ..nothing() },
            "`KeepAlive` did not bring it back",
        );
    }

    #[test]
    fn what_runs_must_be_what_is_on_the_disk_and_answer() {
        check(&Seen { program: Some("bb".into()), ..sound() }, "that was replaced since");
        let refused = Output { status: 7, stdout: Vec::new(), stderr: b"curl: (7) Failed\n".to_vec() };
        check(&Seen { health: Some(refused), ..sound() }, "does not answer well: curl: (7) Failed");
    }

    #[test]
    fn ages() {
        for (text, expected) in
            [("00:05", Some(5)), ("01:00:00", Some(3600)), ("02-00:00:01", Some(172_801)), ("x", None)]
        {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
