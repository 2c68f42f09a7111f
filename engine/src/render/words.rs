//! What is said of a plan in words: why each step is taken, and what there is to do in one line.

use super::line::{Sign, clean, count};
use super::value::{label, quoted};
use crate::address::{Address, Item};
use crate::document::pool::Pool;
use crate::document::{Action, Because, Document, Goal, LeftOut, Reason, Step, Summary};

/// The sign of a step.
pub(super) fn sign(step: &Step) -> Sign {
    match step.action {
        Action::Create => Sign::Add,
        Action::Update => Sign::Change,
        Action::Replace if step.create_first => Sign::AddRemove,
        Action::Replace => Sign::RemoveAdd,
        Action::Destroy if is_host(&step.address) => Sign::Return,
        Action::Destroy => Sign::Remove,
        Action::Read => Sign::Read,
        Action::Forget => Sign::Forget,
        Action::Record if step.is_imported() => Sign::Import,
        Action::Record if step.moved_from.is_some() => Sign::Move,
        Action::Record => Sign::None,
    }
}

/// Whether it is the machine of a slot, which goes back to where it came from.
fn is_host(address: &str) -> bool {
    Address::parse(address).is_some_and(|address| address.item == Item::Host)
}

/// Why a step is taken; none if it goes without saying.
pub(super) fn reason(step: &Step) -> Option<String> {
    let mut reasons = Vec::new();
    match (&step.reason, step.action) {
        (Reason::Vanished, Action::Forget) => reasons.push("is gone already".to_owned()),
        (Reason::Vanished, _) => reasons.push("was there, and is gone".to_owned()),
        (Reason::CutOff, _) => reasons.push("a run was cut off at it, what that left is cleared".to_owned()),
        (Reason::Found, _) => reasons.push("is there already, not made by fleet".to_owned()),
        (Reason::Imported { id }, _) => reasons.push(format!("imported, id {}", quoted(id))),
        (Reason::NotDeclared, _) => reasons.push("not declared any more".to_owned()),
        (Reason::Asked, Action::Replace) => reasons.push("as asked with --replace".to_owned()),
        (Reason::SameAs { address }, _) => reasons.push(format!("is {} now", clean(address))),
        (Reason::Triggered { by }, _) => reasons.push(format!("because {} changes", clean(by))),
        (Reason::Released, _) => reasons.push("not managed any more, stays as it is".to_owned()),
        (Reason::Deposed, _) => reasons.push("left over from a replacement".to_owned()),
        (Reason::Asked | Reason::Declared, _) => {}
    }
    if let Some(from) = &step.moved_from {
        reasons.push(format!("moved from {}", clean(from)));
    }
    match step.action {
        Action::Update if step.reason == Reason::Declared => reasons.push(who_changed(step).to_owned()),
        Action::Replace => {
            let forcing = step.changes.iter().filter(|change| change.forces_replacement);
            let forcing: Vec<String> = forcing.map(|change| label(&change.attribute)).collect();
            if !forcing.is_empty() {
                reasons.push(format!("{} cannot be changed in place", listed(&forcing)));
            }
            if step.create_first {
                reasons.push("the new one is made first".to_owned());
            }
        }
        Action::Read => reasons.push("read during apply".to_owned()),
        _ => {}
    }
    reasons.extend(step.pool.iter().flat_map(Pool::words).map(|words| clean(&words)));
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

/// Why something was left out.
pub(super) fn because(left_out: &LeftOut) -> String {
    match &left_out.because {
        Because::NotTargeted => "not targeted".to_owned(),
        Because::Excluded => "excluded".to_owned(),
        Because::Apart { how } => clean(how),
        Because::DependsOn { on } => format!("depends on {}, which is left out", clean(on)),
        Because::NeededBy { by } => format!("{} stays, and needs it", clean(by)),
        Because::Blocked { why } => format!("cannot be seen: {}", clean(why)),
    }
}

/// What is special about the whole plan.
pub(super) fn preamble(document: &Document) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    match document.goal {
        Goal::Converge => {}
        Goal::Destroy if document.summary.is_empty() => {}
        Goal::Destroy => lines.push("Everything that was made is to be removed.".into()),
        Goal::RefreshOnly => {
            lines.push("Only the records are brought up to date; reality stays as it is.".into());
        }
    }
    if document.header.options.without_looking {
        lines.push("Reality was not looked at (--refresh=false): this plan trusts the records.".into());
    }
    // How it was looked at matters where something follows from it.
    if !document.summary.is_empty() {
        lines.extend(document.notes.iter().map(|note| clean(note)));
    }
    lines.extend(document.standing.iter().map(|line| clean(line)));
    lines
}

/// What there is to do, in one line.
pub(super) fn summary(summary: &Summary) -> String {
    let Summary { create, update, replace, destroy, import, moved, forget, read, outputs, .. } = *summary;
    let mut parts = Vec::new();
    for (n, word) in [
        (create, "create"),
        (update, "update"),
        (replace, "replace"),
        (destroy, "destroy"),
        (import, "import"),
        (moved, "move"),
        (forget, "forget"),
        (read, "read"),
        (summary.deferred, "decide later"),
    ] {
        if n > 0 {
            parts.push(format!("{n} to {word}"));
        }
    }
    if outputs > 0 {
        parts.push(format!("{} to change", count(outputs, "output", "outputs")));
    }
    let records = match summary.record {
        0 => String::new(),
        n => format!(" {} will be brought up to date.", count(n, "record", "records")),
    };
    let left_out = match summary.left_out {
        0 => String::new(),
        n => match summary.blocked {
            0 => format!(" {n} left out."),
            blocked => format!(" {n} left out, {blocked} of them because they cannot be seen."),
        },
    };
    let what = match (parts.is_empty(), summary.blocked) {
        (true, 0) => "No changes.".to_owned(),
        (true, _) => "No changes in what can be seen.".to_owned(),
        (false, _) => format!("Plan: {}.", parts.join(", ")),
    };
    format!("{what}{records}{left_out}")
}

/// Words as one enumeration: `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn who_changed(step: &Step) -> &'static str {
    let outside = |attribute: &str| step.drift.iter().any(|drift| drift.attribute == attribute);
    let n_outside = step.changes.iter().filter(|change| outside(&change.attribute)).count();
    match n_outside {
        0 => "declared otherwise",
        n if n == step.changes.len() => "changed outside of fleet",
        _ => "declared otherwise, and changed outside of fleet",
    }
}
