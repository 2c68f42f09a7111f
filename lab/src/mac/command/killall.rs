//! `killall`: signals by name to the few processes of macOS that the lab knows.

use super::directory::ended;
use super::{Call, Failure, Outcome};
use crate::mac::launchd::run;
use crate::mac::login::loginwindow;

pub(super) fn killall(call: &mut Call) -> Outcome {
    let words = call.texts();
    let (signals, names): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    if names.is_empty() {
        let usage = "usage: killall [-delmsqvz] [-help] [-u user] [-t tty] [-c cmd] [-SIGNAL] [cmd]...";
        return Err(Failure { text: usage.into(), status: 1 });
    }
    // Those of others are none of ours.
    let none = if call.is_root() {
        "No matching processes were found"
    } else {
        "No matching processes belonging to you were found"
    };
    let mut found = false;
    for name in names.into_iter().filter(|_| call.is_root()) {
        found |= match name {
            "loginwindow" => match signals.first().copied().unwrap_or("-TERM") {
                "-HUP" | "-1" | "-SIGHUP" => loginwindow::hang_up(&call.mac),
                // Another signal ends it, too, and it is started anew.
                _ if loginwindow::pid(&call.mac).is_some() => {
                    run::kickstart(&call.mac, loginwindow::TARGET, true).is_ok()
                }
                _ => false,
            },
            // They read their settings anew, and go on.
            "mDNSResponder" | "cfprefsd" | "configd" => true,
            _ => false,
        };
    }
    if found { ended(0) } else { Err(Failure { text: none.into(), status: 1 }) }
}
