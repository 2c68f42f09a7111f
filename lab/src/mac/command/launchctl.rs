//! `launchctl`: what launchd is told and asked.

use std::ffi::OsStr;

use super::directory::ended;
use super::process::number;
use super::{Call, Failure, Outcome};
use crate::mac::launchd::domain::{self, INPUT_OUTPUT, NO_DOMAIN, NO_PROCESS, NOT_PERMITTED, Refused};
use crate::mac::launchd::job::Job;
use crate::mac::launchd::run;
use crate::mac::launchd::service::Exit;

pub(super) fn launchctl(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["print", target] => print(call, target),
        ["print-disabled", domain] => print_disabled(call, domain),
        ["list"] => list(call),
        ["list", label] => list_one(call, label),
        ["bootstrap", domain, path] => bootstrap(call, domain, path),
        ["bootout", target] => bootout(call, target),
        ["bootout", domain, path] => {
            let label = Job::read(&call.path(OsStr::new(path))).map(|job| job.label);
            match label.or_else(|| loaded_from(call, domain, path)) {
                Some(label) => bootout(call, &format!("{domain}/{label}")),
                None => Err(failed("Boot-out", INPUT_OUTPUT)),
            }
        }
        ["enable", target] => override_it(call, target, false),
        ["disable", target] => override_it(call, target, true),
        ["kickstart", ref options @ .., target] => kickstart(call, options, target),
        ["kill", signal, target] => kill(call, signal, target),
        ["load", ref options @ .., path] => legacy(call, options, path, true),
        ["unload", ref options @ .., path] => legacy(call, options, path, false),
        [] => Err(Failure { text: "Usage: launchctl <subcommand> ...".into(), status: 1 }),
        [command, ..] => Err(Failure {
            text: format!(
                "Unrecognized subcommand: {command}\nUsage: launchctl <subcommand> ... | help [subcommand]"
            ),
            status: 64,
        }),
    }
}

/// Whether somebody may change a domain.
fn may(call: &Call, target: &str) -> bool {
    let is_in = |domain: String| target == domain || target.starts_with(&format!("{domain}/"));
    call.is_root() || is_in(format!("gui/{}", call.uid())) || is_in(format!("user/{}", call.uid()))
}

fn failed(what: &str, Refused(number, why): Refused) -> Failure {
    Failure { text: format!("{what} failed: {number}: {why}"), status: number }
}

/// As the Mac names a path.
fn named(call: &Call, path: &str) -> String {
    let place = call.path(OsStr::new(path));
    place.strip_prefix(call.mac.root()).map_or(path.to_owned(), |rest| format!("/{}", rest.display()))
}

fn print(call: &mut Call, target: &str) -> Outcome {
    let text = {
        let live = call.mac.live();
        let services = live.as_ref().map(|live| &live.launchd.services);
        services.and_then(|services| services.get(target)).map(|service| service.shown(target))
    };
    if let Some(text) = text {
        return call.say(text);
    }
    if domain::exists(&call.mac, target) {
        let text = domain_shown(call, target);
        return call.say(text);
    }
    Err(unknown(call, target))
}

fn domain_shown(call: &Call, domain: &str) -> String {
    let live = call.mac.live();
    let services = live.iter().flat_map(|live| &live.launchd.services);
    let lines: String = services
        .filter_map(|(target, service)| {
            let label = target.strip_prefix(domain)?.strip_prefix('/')?;
            let pid = service.process.as_ref().map_or(0, |process| process.pid);
            let status = service.last_exit.map_or("-".to_owned(), |exit| exit.status().to_string());
            Some(format!("\t\t{pid:>8} {status:>6} \t{label}\n"))
        })
        .collect();
    let (sort, session) = match domain.split_once('/') {
        None => ("system", "System"),
        Some(("gui", _)) => ("login", "Aqua"),
        Some(_) => ("user", "Background"),
    };
    format!(
        "{domain} = {{\n\ttype = {sort}\n\thandle = 0\n\tactive count = 1\n\tsession = {session}\n\n\tservices = {{\n{lines}\t}}\n}}\n"
    )
}

/// How people call a domain that is asked for something.
fn spoken(domain: &str) -> String {
    match domain.split_once('/') {
        Some((sort, uid)) => format!("user {sort}: {uid}"),
        None => domain.to_owned(),
    }
}

/// Nothing is known by this target.
fn unknown(call: &Call, target: &str) -> Failure {
    let text = match target.rsplit_once('/') {
        Some((domain, label)) if domain::exists(&call.mac, domain) => {
            format!("Bad request.\nCould not find service \"{label}\" in domain for {}", spoken(domain))
        }
        Some((domain, _)) if domain.contains('/') => {
            format!("Bad request.\nCould not find domain for {}", spoken(domain))
        }
        _ => format!("Bad request.\nCould not find domain for {}", spoken(target)),
    };
    Failure { text, status: 113 }
}

fn print_disabled(call: &mut Call, domain: &str) -> Outcome {
    let lines: String = domain::overrides(&call.mac, domain)
        .into_iter()
        .map(|(label, is_disabled)| {
            format!("\t\t\"{label}\" => {}\n", if is_disabled { "disabled" } else { "enabled" })
        })
        .collect();
    call.say(format!("\tdisabled services = {{\n{lines}\t}}\n"))
}

/// The domain that a caller without a word for it means.
fn own_domain(call: &Call) -> String {
    if call.is_root() { "system".to_owned() } else { format!("gui/{}", call.uid()) }
}

fn list(call: &mut Call) -> Outcome {
    let mut lines = "PID\tStatus\tLabel\n".to_owned();
    let domain = own_domain(call);
    if let Some(live) = &*call.mac.live() {
        for (target, service) in &live.launchd.services {
            let Some(label) = target.strip_prefix(&format!("{domain}/")) else { continue };
            let pid = service.process.as_ref().map_or("-".into(), |process| process.pid.to_string());
            let status = service.last_exit.map_or(0, Exit::status);
            lines.push_str(&format!("{pid}\t{status}\t{label}\n"));
        }
    }
    call.say(lines)
}

fn list_one(call: &mut Call, label: &str) -> Outcome {
    let domain = own_domain(call);
    let found = {
        let live = call.mac.live();
        let services = live.as_ref().map(|live| &live.launchd.services);
        services.and_then(|services| services.get(&format!("{domain}/{label}"))).cloned()
    };
    let Some(service) = found else {
        let text = format!("Could not find service \"{label}\" in domain for {}", spoken(&domain));
        return Err(Failure { text, status: 113 });
    };
    let pid =
        service.process.as_ref().map_or(String::new(), |process| format!("\t\"PID\" = {};\n", process.pid));
    let status = service.last_exit.map_or(0, Exit::status);
    let program = &service.job.program;
    call.say(format!(
        "{{\n\t\"Label\" = \"{label}\";\n\t\"LastExitStatus\" = {status};\n{pid}\t\"Program\" = \"{program}\";\n}};\n"
    ))
}

fn bootstrap(call: &mut Call, domain: &str, path: &str) -> Outcome {
    if !may(call, domain) {
        return Err(failed("Bootstrap", NO_DOMAIN));
    }
    let path = named(call, path);
    let loaded = domain::load(&call.mac, domain, &path);
    loaded.map_err(|refused| failed("Bootstrap", refused))?;
    ended(0)
}

fn bootout(call: &mut Call, target: &str) -> Outcome {
    if !may(call, target) {
        return Err(failed("Boot-out", NOT_PERMITTED));
    }
    domain::unload(&call.mac, target).map_err(|refused| failed("Boot-out", refused))?;
    ended(0)
}

/// The label of what was loaded from a file, whatever stands in that now.
fn loaded_from(call: &Call, domain: &str, path: &str) -> Option<String> {
    let path = named(call, path);
    let live = call.mac.live();
    let mut services = live.as_ref()?.launchd.services.iter();
    services.find_map(|(target, service)| {
        let label = target.strip_prefix(domain)?.strip_prefix('/')?;
        (service.path == path).then(|| label.to_owned())
    })
}

fn override_it(call: &mut Call, target: &str, is_disabled: bool) -> Outcome {
    if !may(call, target) {
        let what = if is_disabled { "disable" } else { "enable" };
        return Err(Failure {
            text: format!("Could not {what} service: 1: Operation not permitted"),
            status: 1,
        });
    }
    let set = domain::set_disabled(&call.mac, target, is_disabled);
    set.map_err(|error| call.failure(&error.to_string()))?;
    ended(0)
}

fn kickstart(call: &mut Call, options: &[&str], target: &str) -> Outcome {
    let usage =
        || Failure { text: "Usage: launchctl kickstart [-k] [-p] <service-target>".into(), status: 64 };
    let letters: String = options.iter().map(|option| option.trim_start_matches('-')).collect();
    if options.iter().any(|option| !option.starts_with('-'))
        || letters.chars().any(|letter| !"kp".contains(letter))
    {
        return Err(usage());
    }
    if !may(call, target) {
        return Err(failed("Kickstart", NOT_PERMITTED));
    }
    let kicked = match run::kickstart(&call.mac, target, letters.contains('k')) {
        Err(NO_PROCESS) => return Err(unknown(call, target)),
        kicked => kicked.map_err(|refused| failed("Kickstart", refused))?,
    };
    match kicked.pid {
        Some(pid) if letters.contains('p') => call.say(format!("service spawned with pid: {pid}\n")),
        _ => ended(0),
    }
}

fn kill(call: &mut Call, signal: &str, target: &str) -> Outcome {
    let signal = number(signal).ok_or_else(|| call.failure(&format!("unknown signal: {signal}")))?;
    if !may(call, target) {
        return Err(failed("Kill", NOT_PERMITTED));
    }
    let pid = {
        let live = call.mac.live();
        let service = live.as_ref().and_then(|live| live.launchd.services.get(target));
        service.map(|service| service.process.as_ref().map(|process| process.pid))
    };
    match pid {
        None => Err(unknown(call, target)),
        Some(None) => Err(failed("Kill", NO_PROCESS)),
        Some(Some(pid)) => {
            domain::signal(&call.mac, pid, signal);
            ended(0)
        }
    }
}

/// `load` and `unload`: they know no domain. Who comes over SSH has no session with a screen, and without one there is
/// nowhere to put an agent.
fn legacy(call: &mut Call, options: &[&str], path: &str, loads: bool) -> Outcome {
    let what = if loads { "Load" } else { "Unload" };
    let refused = |Refused(number, why): Refused| Failure {
        text: format!(
            "{what} failed: {number}: {why}\nTry running `launchctl {}` as root for richer errors.",
            if loads { "bootstrap" } else { "bootout" }
        ),
        status: number,
    };
    let place = named(call, path);
    let is_daemon = place.contains("/LaunchDaemons/");
    if !call.is_root() || !is_daemon {
        return Err(refused(INPUT_OUTPUT));
    }
    let Some(job) = Job::read(&call.path(OsStr::new(path))) else {
        return Err(Failure { text: format!("{place}: Invalid property list"), status: 1 });
    };
    let target = format!("system/{}", job.label);
    if options.contains(&"-w") {
        override_it(call, &target, !loads)?;
    }
    let done =
        if loads { domain::load(&call.mac, "system", &place) } else { domain::unload(&call.mac, &target) };
    done.map_err(|why| refused(if loads { why } else { INPUT_OUTPUT }))?;
    ended(0)
}
