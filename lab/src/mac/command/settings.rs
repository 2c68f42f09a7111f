//! Settings of the system that have a tool of their own: `softwareupdate`, `systemsetup`, `mdutil`, `socketfilterfw` and
//! `dscacheutil`.

use plist::Value;

use super::directory::ended;
use super::{Call, Done, Failure, Outcome, pmset};
use crate::mac::login::preferences;
use crate::mac::login::sshd::half_open;

/// Where whether updates are looked for is kept.
const UPDATES: &str = "Library/Preferences/com.apple.SoftwareUpdate.plist";
/// Where whether Spotlight indexes is kept.
const SPOTLIGHT: &str = "private/var/db/Spotlight.plist";
/// Where whether the application firewall is on is kept.
const FIREWALL: &str = "Library/Preferences/com.apple.alf.plist";

/// A switch in a property list.
fn is_on(call: &Call, list: &str, key: &str, at_first: bool) -> bool {
    let kept = preferences::read(call.mac.root(), list);
    match kept.get(key) {
        Some(Value::Boolean(on)) => *on,
        Some(value) => value.as_signed_integer().map_or(at_first, |number| number != 0),
        None => at_first,
    }
}

fn turn(call: &Call, list: &str, key: &str, on: bool) -> Result<(), Failure> {
    let mut kept = preferences::read(call.mac.root(), list);
    kept.insert(key.to_owned(), on.into());
    let file = call.mac.root().join(list);
    let written = preferences::write(&file, kept, 0o644, call.mac.clock().time());
    written.map_err(|error| call.failure(&error.to_string()))
}

/// Turns a switch that has a list of its own: what is as at first is not written down.
fn switch_kept(call: &Call, list: &str, key: &str, on: bool, at_first: bool) -> Result<(), Failure> {
    if on != at_first {
        return turn(call, list, key, on);
    }
    match std::fs::remove_file(call.mac.root().join(list)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(call.failure(&error.to_string())),
        _ => Ok(()),
    }
}

/// Only root may do it.
fn root_only(call: &Call, text: &str, status: u8) -> Result<(), Failure> {
    if call.is_root() { Ok(()) } else { Err(Failure { text: text.to_owned(), status }) }
}

fn on_or_off(word: &str) -> Option<bool> {
    match word.to_lowercase().as_str() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

pub(super) fn softwareupdate(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let usage = || Failure { text: "usage: softwareupdate <cmd> [<args> ...]".into(), status: 1 };
    let key = "AutomaticCheckEnabled";
    match words[..] {
        ["--schedule"] => {}
        ["--schedule", word] => {
            let on = on_or_off(word).ok_or_else(usage)?;
            root_only(call, "softwareupdate: --schedule: must be run as root", 1)?;
            turn(call, UPDATES, key, on)?;
        }
        _ => return Err(usage()),
    }
    let on = if is_on(call, UPDATES, key, true) { "on" } else { "off" };
    call.say(format!("Automatic checking for updates is turned {on}\n"))
}

pub(super) fn systemsetup(call: &mut Call) -> Outcome {
    root_only(call, "You need administrator access to run this tool... exiting!", 1)?;
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "-f").collect();
    let shown = |on: bool| if on { "On" } else { "Off" };
    match words[..] {
        ["-getrestartpowerfailure"] => {
            let on = shown(pmset::get(call, "autorestart") != 0);
            call.say(format!("Restart After Power Failure: {on}\n"))
        }
        ["-setrestartpowerfailure", word] if on_or_off(word).is_some() => {
            let on = on_or_off(word) == Some(true);
            pmset::set(call, "autorestart", on.into()).map_err(|error| call.failure(&error.to_string()))?;
            call.say(format!("setrestartpowerfailure: {}\n", shown(on)))
        }
        ["-getremotelogin"] => {
            let on = call.mac.live().as_ref().is_some_and(|live| half_open(live).is_some());
            call.say(format!("Remote Login: {}\n", shown(on)))
        }
        // Nobody who came in over the network has that right.
        ["-setremotelogin", _] => {
            let text =
                "setremotelogin: Turning Remote Login on or off requires Full Disk Access privileges.\n";
            call.say(text)
        }
        _ => Err(Failure {
            text: "Usage: systemsetup [-getremotelogin] [-setremotelogin] …".into(),
            status: 1,
        }),
    }
}

pub(super) fn mdutil(call: &mut Call) -> Outcome {
    let words = call.texts();
    let mut words: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "-a").collect();
    words.retain(|word| *word != "/");
    let key = "Indexing";
    match words[..] {
        ["-s"] => {}
        ["-i", word] if on_or_off(word).is_some() => {
            root_only(call, "mdutil: You must be root to change the indexing state of a volume.", 1)?;
            switch_kept(call, SPOTLIGHT, key, on_or_off(word) == Some(true), true)?;
        }
        _ => return Err(Failure { text: "Usage: mdutil -pEsa -i (on|off) -d volume ...".into(), status: 1 }),
    }
    let state = if is_on(call, SPOTLIGHT, key, true) { "enabled" } else { "disabled" };
    call.say(format!("/:\n\tIndexing {state}. \n/System/Volumes/Data:\n\tIndexing {state}. \n"))
}

pub(super) fn socketfilterfw(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--getglobalstate"] => {}
        ["--setglobalstate", word] if on_or_off(word).is_some() => {
            root_only(call, "Must be root to change settings.", 1)?;
            let on = on_or_off(word) == Some(true);
            switch_kept(call, FIREWALL, "globalstate", on, false)?;
        }
        _ => {
            return Err(Failure {
                text: "usage: socketfilterfw [-h] [--getglobalstate] …".into(),
                status: 255,
            });
        }
    }
    let (word, number) =
        if is_on(call, FIREWALL, "globalstate", false) { ("enabled", 1) } else { ("disabled", 0) };
    call.say(format!("Firewall is {word}. (State = {number})\n"))
}

/// What is known of names is forgotten, and `/etc/resolver` read anew.
pub(super) fn dscacheutil(call: &mut Call) -> Outcome {
    match &call.texts()[..] {
        [word] if word == "-flushcache" => {
            let resolvers = preferences::resolvers(call.mac.root());
            if let Some(live) = &mut *call.mac.live() {
                live.login.resolvers = resolvers;
            }
            Ok(Done::Exit(0))
        }
        _ => ended(64),
    }
}
