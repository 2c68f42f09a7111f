//! What went wrong on a host, in words.

use std::time::Duration;

use fleet_engine::host::{Act, Ledger};
use fleet_engine::resource::Error;

use crate::script::Section;
use crate::script::work::{STALE, TAKEN, TORN, UNCHECKED, Whose};

/// The most of a complaint that is repeated.
const LONGEST: usize = 600;

/// Nobody knows how far something came.
pub(crate) fn cut(why: &str) -> Error {
    let why = if why.is_empty() { String::new() } else { format!(": {}", short(why)) };
    Error::transient(format!("the connection broke in the middle; what came of it is not known{why}"))
}

/// The steps before it in the same frame were in the way.
pub(crate) fn not_reached() -> Error {
    Error::transient("it was not done, because something before it on the same host did not end in time")
}

/// A step did not end in time.
pub(crate) fn late(patience: Duration) -> Error {
    let message = format!("it did not end within {} seconds, and was ended", patience.as_secs());
    Error::permanent(message)
        .help("see on the host what it waits for; where it needs longer, say so by a timeout")
}

/// The host is not ours.
pub(crate) fn not_held(whose: Whose, slot: &str, ledger: &str, body: &[u8]) -> Error {
    let owner = Ledger::parse(body);
    match (whose, owner) {
        (Whose::Nobodys, _) => Error::permanent(format!(
            "the host has no ledger at `{ledger}`, so it is not `{slot}`'s to change"
        ))
        .help("apply again: the host is claimed first"),
        (Whose::Newer, owner) => {
            let by = owner.map(|owner| format!(" (number {})", owner.fence)).unwrap_or_default();
            Error::permanent(format!("somebody with a newer lock works on this host{by}; nothing was done"))
                .help("another run took the lock over: let it end, then plan again")
        }
        (Whose::Unwritable, _) => Error::permanent(format!("the ledger at `{ledger}` cannot be written"))
            .help("see who owns it: whoever claimed the host must be the one who works on it"),
        (Whose::Others, Some(owner)) => {
            let Ledger { lineage, slot, since, by, .. } = owner;
            Error::permanent(format!(
                "the host belongs to `{slot}` of another state ({lineage}), claimed by {by} at {since}"
            ))
            .help(format!(
                "release it there; if that state is lost for good, remove `{ledger}` on the host by hand"
            ))
        }
        (Whose::Others, None) => {
            Error::permanent(format!("the ledger of the host at `{ledger}` cannot be read"))
                .help("a newer version of this program may have written it; if nobody did, remove it by hand")
        }
    }
}

/// The inventory could not be written.
pub(crate) fn not_listed(ledger: &str, section: &Section) -> Error {
    explained(&format!("the inventory at `{ledger}.d` cannot be written"), section)
}

/// A step was not done.
pub(crate) fn of_step(act: &Act, slot: &str, section: &Section) -> Error {
    match (act, &*section.word) {
        (Act::Claim(claim) | Act::Release(claim) | Act::Mark(claim) | Act::TakeOver { claim, .. }, TAKEN) => {
            not_held(Whose::Others, slot, &claim.ledger, &section.body)
        }
        (Act::Claim(claim) | Act::Release(claim) | Act::Mark(claim) | Act::TakeOver { claim, .. }, STALE) => {
            not_held(Whose::Newer, slot, &claim.ledger, &section.body)
        }
        (Act::Write { path, .. }, UNCHECKED) => {
            let said = said(section);
            Error::permanent(format!("`{path}` was not written, because its check failed{said}"))
                .help("the file that was there is as it was")
        }
        (Act::Write { path, .. } | Act::Unpack { path, .. } | Act::Edit { path, .. }, TORN) => {
            Error::transient(format!("what was uploaded for `{path}` did not arrive whole"))
        }
        (Act::Write { .. } | Act::Edit { .. } | Act::Link { .. } | Act::Unpack { .. }, _) => {
            let error = explained(&what(act), section);
            let complaint = String::from_utf8_lossy(&section.complaint).to_lowercase();
            let is_homeless = complaint.contains("no such file") || complaint.contains("nonexistent");
            match error.help.is_none() && is_homeless {
                true => {
                    error.help("the directory that it lies in is not there: a `host_directory` makes one")
                }
                false => error,
            }
        }
        _ => explained(&what(act), section),
    }
}

/// What was tried.
fn what(act: &Act) -> String {
    match act {
        Act::Write { path, .. } => format!("`{path}` cannot be written"),
        Act::Edit { path, .. } => format!("`{path}` cannot be edited"),
        Act::Directory { path, .. } => format!("the directory `{path}` cannot be made"),
        Act::Keep { path, .. } => format!("mode or owner of `{path}` cannot be changed"),
        Act::Link { path, .. } => format!("the link `{path}` cannot be made"),
        Act::Unpack { path, .. } => format!("the archive cannot be unpacked to `{path}`"),
        Act::Remove { path } | Act::RemoveTree { path } => format!("`{path}` cannot be removed"),
        Act::Run { program, .. } => format!("`{program}` failed"),
        Act::Procedure { .. } => "it could not be made so".to_owned(),
        Act::UserScript { .. } => "the script failed".to_owned(),
        Act::Reboot { .. } => "the host cannot be started anew".to_owned(),
        Act::Claim(claim) | Act::TakeOver { claim, .. } => {
            format!("the host cannot be claimed: its ledger `{}` cannot be made", claim.ledger)
        }
        Act::Mark(claim) => format!("the ledger `{}` of the host cannot be changed", claim.ledger),
        Act::Release(claim) => format!("the host cannot be given back: its ledger `{}` stays", claim.ledger),
    }
}

/// What was tried, why it failed, and what to do about causes that everybody meets.
fn explained(what: &str, section: &Section) -> Error {
    let error = Error::permanent(format!("{what}{}", said(section)));
    // Shells differ in the case of what they say.
    let complaint = String::from_utf8_lossy(&section.complaint).to_lowercase();
    let has = |text: &str| complaint.contains(text);
    if has("no space left on device") || has("disk quota exceeded") {
        error.help("the disk of the host is full: make room there, then apply again")
    } else if has("read-only file system") {
        error.help("that part of the host's disk cannot be written by anybody: choose another place")
    } else if has("permission denied") || has("not permitted") {
        error.help("connect as somebody who may do this, or let root do it")
    } else {
        error
    }
}

/// What was complained about, or else said, or else the status.
fn said(section: &Section) -> String {
    let complaint = String::from_utf8_lossy(&section.complaint);
    let body = String::from_utf8_lossy(&section.body);
    let text = [complaint.trim(), body.trim()].into_iter().find(|text| !text.is_empty());
    match text {
        Some(text) => format!(": {}", short(text)),
        None => format!(" (status {})", section.word),
    }
}

/// The last part of a text: that is where programs say what is wrong.
pub(crate) fn short(text: &str) -> &str {
    let text = text.trim();
    let mut start = text.len().saturating_sub(LONGEST);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].trim()
}
