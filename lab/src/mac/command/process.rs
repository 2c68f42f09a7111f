//! Processes that launchd started, and what a Mac does for others: `ps`, `pgrep`, `kill`; and `sleep`, by the lab's clock.

use std::time::Duration;

use super::directory::ended;
use super::options::Options;
use super::{Call, Done, Failure, Outcome};
use crate::mac::builders::work;
use crate::mac::launchd::{Process, domain};

/// The processes, as they are now.
fn processes(call: &Call) -> Vec<Process> {
    let work = work::processes(&call.mac);
    let live = call.mac.live();
    let services = live.iter().flat_map(|live| live.launchd.processes()).map(|(_, process)| process);
    let vms = live.iter().flat_map(|live| live.vms.values()).map(|vm| &vm.process);
    let mut found: Vec<Process> = services.chain(vms).cloned().chain(work).collect();
    found.sort_by_key(|process| process.pid);
    found
}

pub(super) fn ps(call: &mut Call) -> Outcome {
    let usage = "usage: ps [-AaCcEefhjlMmrSTvwXx] [-O fmt | -o fmt] [-G gid[,gid...]]\n          [-g grp[,grp...]] [-u [uid,uid...]]\n          \
                 [-p pid[,pid...]] [-t tty[,tty...]] [-U user[,user...]]\n       ps [-L]";
    // Letters may come without their sign.
    let mut words = call.words.clone();
    if let Some(first) = words.first_mut()
        && first.to_str().is_some_and(|word| word.starts_with(|letter: char| letter.is_ascii_alphabetic()))
    {
        *first = format!("-{}", first.to_string_lossy()).into();
    }
    let options = Options::read(&words, "AaCcEefhjlMmrSTvwXxo:O:p:u:U:t:")
        .map_err(|wrong| Failure { text: format!("ps: {}\n{usage}", wrong.text()), status: 1 })?;
    let mut columns: Vec<(String, Option<String>)> = Vec::new();
    for (_, argument) in options.found.iter().filter(|(letter, _)| *letter == 'o') {
        let text = argument.as_ref().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
        for column in text.split([',', ' ']) {
            columns.push(match column.split_once('=') {
                Some((name, title)) => (name.to_owned(), Some(title.to_owned())),
                None => (column.to_owned(), None),
            });
        }
    }
    if columns.is_empty() {
        columns = ["user", "pid", "args"].map(|name| (name.to_owned(), None)).into();
    }
    let known = ["user", "pid", "args", "command", "comm", "ucomm", "state", "stat", "etime"];
    if let Some((name, _)) = columns.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        return Err(call.failure(&format!("{name}: keyword not found")));
    }
    let wanted: Option<Vec<u32>> = options
        .argument('p')
        .map(|pids| pids.to_string_lossy().split([',', ' ']).filter_map(|pid| pid.parse().ok()).collect());
    let title =
        |(name, title): &(String, Option<String>)| title.clone().unwrap_or_else(|| name.to_uppercase());
    let titles: Vec<String> = columns.iter().map(title).collect();
    let mut lines = String::new();
    if titles.iter().any(|title| !title.is_empty()) {
        lines += &format!("{}\n", titles.join(" "));
    }
    let mut is_there = wanted.is_none();
    for process in processes(call) {
        if wanted.as_ref().is_some_and(|wanted| !wanted.contains(&process.pid)) {
            continue;
        }
        is_there = true;
        let value = |(name, _): &(String, Option<String>)| match name.as_str() {
            "pid" => format!("{:5}", process.pid),
            "user" => process.user.clone(),
            "comm" | "ucomm" => process.program.clone(),
            "state" | "stat" => "Ss".to_owned(),
            "etime" => elapsed(call.mac.clock().time().since(process.started)),
            _ => process.arguments.join(" "),
        };
        lines += &format!("{}\n", columns.iter().map(value).collect::<Vec<_>>().join(" "));
    }
    call.print(lines)?;
    ended(u8::from(!is_there))
}

/// How long something runs: `[[days-]hours:]minutes:seconds`.
fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60 % 60, seconds / 3600 % 24, seconds / 86400);
    let short = format!("{minutes:02}:{:02}", seconds % 60);
    match (days, hours) {
        (0, 0) => short,
        (0, hours) => format!("{hours:02}:{short}"),
        (days, hours) => format!("{days:02}-{hours:02}:{short}"),
    }
}

pub(super) fn pgrep(call: &mut Call) -> Outcome {
    let usage = "usage: pgrep [-Lafilnoqvx] [-F pidfile] [-G gid] [-P ppid] [-U uid] [-d delim] [-g pgrp]\n             [-t tty] [-u euid] pattern ...";
    let wrong = |text: &str| Failure { text: format!("{text}{usage}"), status: 2 };
    let options = Options::read(&call.words, "Lafilnoqvx")
        .map_err(|option| wrong(&format!("pgrep: {}\n", option.text())))?;
    let [pattern] = &options.operands[..] else { return Err(wrong("")) };
    let pattern = pattern.to_string_lossy().into_owned();
    let mut lines = String::new();
    for process in processes(call) {
        let name = process.program.rsplit('/').next().unwrap_or_default().to_owned();
        let all = if options.has('f') { process.arguments.join(" ") } else { name.clone() };
        let is_meant = if options.has('x') { all == pattern } else { all.contains(&pattern) };
        if is_meant {
            let told = if options.has('l') { format!(" {all}") } else { String::new() };
            lines += &format!("{}{told}\n", process.pid);
        }
    }
    let status = u8::from(lines.is_empty());
    call.print(if options.has('q') { String::new() } else { lines })?;
    ended(status)
}

pub(super) fn kill(call: &mut Call) -> Outcome {
    let words = call.texts();
    let usage = || Failure { text: "usage: kill [-s signal_name] pid ...".into(), status: 1 };
    let (signal, pids) = match &words[..] {
        [option, signal, pids @ ..] if option == "-s" => (number(signal).ok_or_else(usage)?, pids),
        [option, pids @ ..] if option.starts_with('-') => (number(&option[1..]).ok_or_else(usage)?, pids),
        pids => (15, pids),
    };
    if pids.is_empty() {
        return Err(usage());
    }
    let mut status = 0;
    for pid in pids {
        let known =
            pid.parse().ok().and_then(|pid: u32| processes(call).into_iter().find(|known| known.pid == pid));
        match known {
            None => status = call.complain(&format!("{pid}: No such process")),
            Some(process) if !call.is_root() && process.user != call.user => {
                status = call.complain(&format!("{pid}: Operation not permitted"));
            }
            Some(process) => {
                domain::signal(&call.mac, process.pid, signal);
            }
        }
    }
    ended(status)
}

/// The number of a signal.
pub(super) fn number(signal: &str) -> Option<i32> {
    let known = [("HUP", 1), ("INT", 2), ("QUIT", 3), ("KILL", 9), ("TERM", 15)];
    let name = signal.strip_prefix("SIG").unwrap_or(signal);
    known.iter().find(|(known, _)| *known == name).map(|(_, number)| *number).or_else(|| signal.parse().ok())
}

/// Waits until the lab's clock has gone on so far.
pub(super) fn sleep(call: &mut Call) -> Outcome {
    let words = call.texts();
    let usage = || {
        Failure { text: "usage: sleep number[unit] [...]\nUnit can be 's' (seconds, the default), m (minutes), h (hours), or d (days).".into(), status: 1 }
    };
    let mut seconds = 0.0;
    for word in &words {
        let (digits, unit) = match word.find(|letter: char| letter.is_ascii_alphabetic()) {
            Some(at) => word.split_at(at),
            None => (word.as_str(), "s"),
        };
        let factor = match unit {
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return Err(usage()),
        };
        seconds += digits.parse::<f64>().map_err(|_| usage())? * factor;
    }
    if words.is_empty() {
        return Err(usage());
    }
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| usage())?;
    Ok(Done::Wait { until: call.mac.clock().time().after(time) })
}
