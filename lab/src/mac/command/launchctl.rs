//! `launchctl`: registers services and shows them. What services do once they run is not simulated here.

use std::ffi::OsStr;

use plist::Value;

use super::directory::ended;
use super::{Call, Failure, Outcome};
use crate::mac::live::Service;

pub(super) fn launchctl(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["print", target] => print(call, target),
        ["list"] => {
            let mut lines = "PID\tStatus\tLabel\n".to_owned();
            let domain = if call.is_root() { "system/".to_owned() } else { format!("gui/{}/", call.uid()) };
            if let Some(live) = &*call.mac.live() {
                for (target, service) in &live.services {
                    let pid = service.pid.map_or("-".into(), |pid| pid.to_string());
                    if let Some(label) = target.strip_prefix(&domain) {
                        lines.push_str(&format!("{pid}\t0\t{label}\n"));
                    }
                }
            }
            call.say(lines)
        }
        ["bootstrap", domain, path] => bootstrap(call, domain, path),
        ["bootout", target] => bootout(call, target),
        ["bootout", domain, path] => {
            let target = label(call, path).map(|(label, _)| format!("{domain}/{label}"));
            bootout(call, &target.unwrap_or_else(|| format!("{domain}/")))
        }
        ["kickstart", target] => kickstart(call, target, false),
        ["kickstart", "-k", target] => kickstart(call, target, true),
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
    call.is_root()
        || target.starts_with(&format!("gui/{}", call.uid()))
        || target.starts_with(&format!("user/{}", call.uid()))
}

fn failed(what: &str, number: u8, why: &str) -> Failure {
    Failure { text: format!("{what} failed: {number}: {why}"), status: number }
}

fn print(call: &mut Call, target: &str) -> Outcome {
    let text = {
        let live = call.mac.live();
        let Some(live) = &*live else { return Err(call.failure("this Mac is off")) };
        match live.services.get(target) {
            Some(service) => {
                let state = if service.pid.is_some() { "running" } else { "not running" };
                let pid = service.pid.map_or(String::new(), |pid| format!("\tpid = {pid}\n"));
                format!(
                    "{target} = {{\n\tactive count = 1\n\tpath = {}\n\ttype = LaunchDaemon\n\tstate = {state}\n\n\
                     \truns = {}\n{pid}\tlast exit code = (never exited)\n}}\n",
                    service.path, service.runs
                )
            }
            None if target == "system" => {
                let lines: String = live
                    .services
                    .iter()
                    .filter_map(|(target, service)| {
                        let label = target.strip_prefix("system/")?;
                        Some(format!("\t\t{:>8}      -\t{label}\n", service.pid.unwrap_or_default()))
                    })
                    .collect();
                format!(
                    "system = {{\n\ttype = system\n\thandle = 0\n\tactive count = 1\n\n\tservices = {{\n{lines}\t}}\n}}\n"
                )
            }
            None => return Err(unknown(target)),
        }
    };
    call.say(text)
}

/// Nothing is known by this target.
fn unknown(target: &str) -> Failure {
    let text = match target.rsplit_once('/') {
        Some(("system", label)) => {
            format!("Bad request.\nCould not find service \"{label}\" in domain for system")
        }
        Some((domain, label)) if domain.contains('/') => {
            let uid = domain.rsplit('/').next().unwrap_or_default();
            format!("Bad request.\nCould not find service \"{label}\" in domain for user gui: {uid}")
        }
        _ => format!("Bad request.\nCould not find domain for {target}"),
    };
    Failure { text, status: 113 }
}

/// The label in a property list, and whether it starts by itself.
fn label(call: &Call, path: &str) -> Option<(String, bool)> {
    let list = Value::from_file(call.path(OsStr::new(path))).ok()?.into_dictionary()?;
    let label = list.get("Label")?.as_string()?.to_owned();
    let is_on = |key: &str| list.get(key).is_some_and(|value| value.as_boolean() != Some(false));
    Some((label, is_on("RunAtLoad") || is_on("KeepAlive")))
}

fn bootstrap(call: &mut Call, domain: &str, path: &str) -> Outcome {
    let refused = || failed("Bootstrap", 5, "Input/output error");
    if domain != "system" || !may(call, domain) {
        // There is no session with a screen.
        return Err(failed("Bootstrap", 125, "Domain does not support specified action"));
    }
    let (label, starts) = label(call, path).ok_or_else(refused)?;
    let target = format!("{domain}/{label}");
    let root = call.mac.root().to_string_lossy().into_owned();
    let path = path.strip_prefix(&root).unwrap_or(path).to_owned();
    let mut live = call.mac.live();
    let Some(live) = &mut *live else { return Err(refused()) };
    if live.services.contains_key(&target) {
        return Err(refused());
    }
    let pid = starts.then(|| live.new_pid());
    live.services.insert(target, Service { path, pid, runs: u32::from(starts) });
    ended(0)
}

fn bootout(call: &mut Call, target: &str) -> Outcome {
    if !may(call, target) {
        return Err(failed("Boot-out", 1, "Operation not permitted"));
    }
    let mut live = call.mac.live();
    match live.as_mut().and_then(|live| live.services.remove(target)) {
        Some(_) => ended(0),
        None => Err(failed("Boot-out", 3, "No such process")),
    }
}

fn kickstart(call: &mut Call, target: &str, kills: bool) -> Outcome {
    if !may(call, target) {
        return Err(failed("Kickstart", 1, "Operation not permitted"));
    }
    let mut live = call.mac.live();
    let Some(live) = &mut *live else { return Err(unknown(target)) };
    let pid = live.new_pid();
    let Some(service) = live.services.get_mut(target) else { return Err(unknown(target)) };
    if kills || service.pid.is_none() {
        service.pid = Some(pid);
        service.runs += 1;
    }
    ended(0)
}
