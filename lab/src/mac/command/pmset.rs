//! `pmset`: when a Mac sleeps, and what it does after a power failure. Its settings are preferences of the system.

use std::fmt::Write;

use plist::Value;

use super::directory::ended;
use super::{Call, Failure, Outcome};
use crate::mac::login::preferences;

const KEPT: &str = "Library/Preferences/com.apple.PowerManagement.plist";

/// The settings of a Mac mini, and what they are at first.
const SETTINGS: &[(&str, i64)] = &[
    ("Sleep On Power Button", 1),
    ("autorestart", 0),
    ("powernap", 1),
    ("networkoversleep", 0),
    ("disksleep", 10),
    ("sleep", 1),
    ("ttyskeepawake", 1),
    ("displaysleep", 10),
    ("tcpkeepalive", 1),
    ("womp", 1),
];

pub(super) fn pmset(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let usage = || Failure {
        text: "Usage: pmset <options>\nSee pmset(1) for details: 'man pmset'".into(),
        status: 64,
    };
    match &words[..] {
        ["-g", "custom"] => {
            let mut text = "AC Power:\n".to_owned();
            for (name, _) in SETTINGS {
                writeln!(text, " {name:<20} {}", get(call, name)).map_err(|_| usage())?;
            }
            call.say(text)
        }
        ["-g"] | ["-g", "live"] => {
            let mut text = "System-wide power settings:\nCurrently in use:\n".to_owned();
            for (name, _) in SETTINGS {
                writeln!(text, " {name:<20} {}", get(call, name)).map_err(|_| usage())?;
            }
            call.say(text)
        }
        ["-a" | "-c", pairs @ ..] if !pairs.is_empty() && pairs.len().is_multiple_of(2) => {
            if !call.is_root() {
                return Err(Failure { text: "'pmset' must be run as root...".into(), status: 77 });
            }
            let mut wanted = Vec::new();
            for pair in pairs.chunks(2) {
                let known = SETTINGS.iter().any(|(name, _)| *name == pair[0]);
                let value = pair[1].parse::<i64>().ok().filter(|value| *value >= 0);
                wanted.push((pair[0], value.filter(|_| known).ok_or_else(usage)?));
            }
            for (name, value) in wanted {
                set(call, name, value).map_err(|error| call.failure(&error.to_string()))?;
            }
            ended(0)
        }
        _ => Err(usage()),
    }
}

/// What a setting is.
pub(super) fn get(call: &Call, name: &str) -> i64 {
    let kept = preferences::read(call.mac.root(), KEPT);
    let first = SETTINGS.iter().find(|(known, _)| *known == name).map_or(0, |(_, first)| *first);
    kept.get(name).and_then(Value::as_signed_integer).unwrap_or(first)
}

/// Makes it another.
pub(super) fn set(call: &Call, name: &str, value: i64) -> std::io::Result<()> {
    let mut kept = preferences::read(call.mac.root(), KEPT);
    // What is as it was at first is not written down.
    if SETTINGS.contains(&(name, value)) {
        kept.remove(name);
    } else {
        kept.insert(name.to_owned(), value.into());
    }
    let file = call.mac.root().join(KEPT);
    if kept.is_empty() {
        return match std::fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    preferences::write(&file, kept, 0o644, call.mac.clock().time())
}
