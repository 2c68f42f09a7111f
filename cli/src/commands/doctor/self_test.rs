//! `fleet doctor --self-test`: every question of every kind, tried on one host.

use fleet_engine::encode::safe_to_print;
use fleet_engine::host::reach::{CONFIRM_WITHIN, Over, Ssh};
use fleet_engine::host::{Reach, ledger};
use fleet_engine::registry::trial::{Outcome, Ran, Trial};
use fleet_engine::resource::Error;
use serde::Serialize;

use super::DoctorArgs;
use crate::converge::{Purpose, Site};
use crate::{Env, Exit, Failure, diagnostics, memory};

/// What came of it, for programs.
#[derive(Serialize)]
struct Report {
    host: String,
    kinds: Vec<Kind>,
}

#[derive(Serialize)]
struct Kind {
    kind: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    commands: Vec<Command>,
}

#[derive(Serialize)]
struct Command {
    command: String,
    status: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    complaint: Option<String>,
}

pub(super) fn self_test(env: &mut Env, args: &DoctorArgs, host: &str) -> Result<Exit, Failure> {
    let tried = match host.split_once('@') {
        Some((user, address)) => {
            let runtime = memory::runtime()?;
            let channels = args.hosts.channels(&env.cwd);
            let providers = env.providers().with_hosts(channels.clone());
            let reach = somewhere(env, args, user, address)?;
            let tried = runtime.block_on(providers.try_questions(&reach));
            runtime.block_on(channels.close());
            tried
        }
        None => {
            let Some(site) = Site::open(env, &args.variables, Purpose::Plan, args.hosts)? else {
                return Ok(Exit::Failed);
            };
            let state = site.runtime.block_on(fleet_store::read(&site.place.backend));
            let state = state.map_err(|e| memory::failure(&e))?;
            let line = match site.way_to(&state, host)? {
                Ok(line) => line,
                Err(problems) => {
                    site.tell(env, &problems)?;
                    return Ok(Exit::Failed);
                }
            };
            let reach = Reach::of(&line).map_err(|error| unreached(&error))?;
            let tried = site.runtime.block_on(site.providers.try_questions(&reach));
            site.close();
            tried
        }
    };
    let trials = tried.map_err(|error| unreached(&error))?;
    match args.json {
        true => {
            let report = Report { host: host.to_owned(), kinds: trials.iter().map(kind).collect() };
            let json = serde_json::to_string_pretty(&report).expect("plain data is JSON");
            writeln!(env.stdout, "{}", safe_to_print(&json))?;
        }
        false => print(env, host, &trials)?,
    }
    Ok(if trials.iter().all(Trial::is_well) { Exit::Done } else { Exit::Failed })
}

/// A host that no configuration names.
fn somewhere(env: &Env, args: &DoctorArgs, user: &str, address: &str) -> Result<Reach, Failure> {
    // An address of IPv6 has colons of its own, and a port only behind brackets.
    let (address, port) = match address.rsplit_once(':') {
        Some((before, port)) if !before.contains(':') || before.ends_with(']') => {
            let port = port.parse().map_err(|_| Failure::new(format!("`{port}` is no port")))?;
            (before, Some(port))
        }
        _ => (address, None),
    };
    let address = address.trim_start_matches('[').trim_end_matches(']');
    if user.is_empty() || address.is_empty() {
        return Err(Failure::new("a user and an address are needed").help("write `user@address`"));
    }
    let config = args.ssh_config.as_ref().map(|path| env.path(path).display().to_string());
    Ok(Reach {
        slot: format!("{user}@{address}"),
        over: Over::Ssh(Ssh {
            addresses: vec![address.to_owned()],
            port,
            user: Some(user.to_owned()),
            identity: None,
            host_key: None,
            config,
            jump: None,
        }),
        root: String::new(),
        ledger: ledger::PATH.to_owned(),
        lineage: None,
        sudo_password: None,
        confirm_within: CONFIRM_WITHIN,
    })
}

fn unreached(error: &Error) -> Failure {
    let failure = Failure::of("the host cannot be asked", error);
    match &error.help {
        Some(help) => failure.help(help),
        None => failure,
    }
}

/// The word for what came of a kind, and why.
fn outcome(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Found => ("found", None),
        Outcome::Absent => ("absent", None),
        Outcome::NotUnderstood(why) => ("not-understood", Some(why)),
        Outcome::NeedsRoot(why) => ("needs-root", Some(why)),
        Outcome::Skipped => ("skipped", Some("a script of yours would be run")),
    }
}

fn kind(trial: &Trial) -> Kind {
    let (word, why) = outcome(&trial.outcome);
    let command = |ran: &Ran| Command {
        command: ran.command.clone(),
        status: ran.status,
        complaint: ran.complaint.clone(),
    };
    Kind {
        kind: trial.kind.clone(),
        outcome: word,
        why: why.map(str::to_owned),
        commands: trial.commands.iter().map(command).collect(),
    }
}

/// One kind a line, its commands below it; the last line sums up.
fn print(env: &mut Env, host: &str, trials: &[Trial]) -> Result<(), Failure> {
    let clean = |text: &str| diagnostics::clean(text).collect::<String>();
    let width = trials.iter().map(|trial| trial.kind.len()).max().unwrap_or_default();
    for trial in trials {
        let (word, why) = outcome(&trial.outcome);
        let sign = if trial.is_well() { "ok" } else { "!!" };
        let why = why.map(|why| format!(": {}", clean(why))).unwrap_or_default();
        writeln!(env.stdout, "{sign}  {:width$}  {word}{why}", trial.kind)?;
        for Ran { command, status, complaint } in &trial.commands {
            let said = match (status, complaint) {
                (0, _) => String::new(),
                (status, None) => format!("  # {status}"),
                (status, Some(complaint)) => format!("  # {status}: {}", clean(complaint)),
            };
            writeln!(env.stdout, "      {}{said}", clean(command))?;
        }
    }
    let count = |test: fn(&Outcome) -> bool| trials.iter().filter(|trial| test(&trial.outcome)).count();
    let understood = count(|it| matches!(it, Outcome::Found | Outcome::Absent));
    let mut parts = vec![format!("{understood} are understood")];
    for (n, words) in [
        (count(|it| matches!(it, Outcome::NotUnderstood(_))), "are not"),
        (count(|it| matches!(it, Outcome::NeedsRoot(_))), "need root, who takes a password there"),
        (count(|it| matches!(it, Outcome::Skipped)), "skipped"),
    ] {
        if n > 0 {
            parts.push(format!("{n} {words}"));
        }
    }
    let missing: Vec<&str> = trials
        .iter()
        .flat_map(|trial| &trial.commands)
        .filter(|ran| ran.is_missing())
        .filter_map(|ran| ran.command.split(' ').next())
        .collect();
    if !missing.is_empty() {
        let mut missing: Vec<String> = missing.into_iter().map(clean).collect();
        missing.sort();
        missing.dedup();
        parts.push(format!("programs that are not there: {}", missing.join(", ")));
    }
    Ok(writeln!(env.stdout, "\n{}: {} kinds on hosts: {}.", clean(host), trials.len(), parts.join(", "))?)
}
