//! `shutdown` and `reboot`.

use super::{Call, Done, Failure, Outcome};

pub(super) fn shutdown(call: &mut Call) -> Outcome {
    let usage = "usage: shutdown [-] [-h [-u] [-n] | -r [-n] | -s | -k] time [warning-message ...]";
    if !call.is_root() {
        return Err(call.failure("NOT super-user"));
    }
    let words = call.texts();
    let (how, time) = match &words[..] {
        [how, time, ..] if matches!(how.as_str(), "-r" | "-h") => (how.as_str(), time.as_str()),
        [time, ..] if !time.starts_with('-') => ("", time.as_str()),
        _ => return Err(Failure { text: usage.into(), status: 1 }),
    };
    if !matches!(time, "now" | "+0") {
        return Err(call.failure("the lab's Macs know no other time than now"));
    }
    if how.is_empty() {
        return Err(call.failure("the lab's Macs have no single-user mode"));
    }
    call.print("Shutdown NOW!\n")?;
    call.mac.shut_down(how == "-r");
    Ok(Done::Exit(0))
}

pub(super) fn reboot(call: &mut Call) -> Outcome {
    if !call.is_root() {
        return Err(call.failure("Operation not permitted"));
    }
    call.mac.shut_down(true);
    Ok(Done::Exit(0))
}
