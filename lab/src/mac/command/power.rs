//! `shutdown` and `reboot`; and what happens to a Mac that nobody there has done on purpose.

use super::{Call, Done, Failure, Outcome};
use crate::machine::{Disturbance, Machine as _};

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

/// `lab-disturb backlog|hang-up|dhcp-name NAME|lose-lease VLAN`: lets something happen to this Mac.
pub(super) fn disturb(call: &mut Call) -> Outcome {
    let words = call.texts();
    let disturbance = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["backlog"] => Disturbance::FillBacklog,
        ["hang-up"] => Disturbance::HangUp,
        ["lose-lease", vlan] => return super::vlan::lose_lease(call, vlan),
        ["dhcp-name", name] => Disturbance::DhcpName(name.to_owned()),
        _ => {
            return Err(call.failure("`backlog`, `hang-up`, `dhcp-name NAME` or `lose-lease VLAN` is needed"));
        }
    };
    call.mac.disturb(disturbance).map_err(|failed| call.failure(&failed.to_string()))?;
    Ok(Done::Exit(0))
}
