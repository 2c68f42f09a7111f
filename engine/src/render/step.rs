//! One thing that changes: its name with the reason, and below it the attributes that matter.

use std::collections::BTreeSet;

use super::change::{Body, Lead, Row, Same, widest};
use super::line::{Line, Sign, Style, clean};
use super::repeat::Seen;
use super::value::{brief, label};
use super::words;
use crate::document::{Action, Attributes, Document, Drift, Goal, Output, Reason, Shown, Step};

/// The line that names a thing and says why something is done to it.
pub(super) fn heading(step: &Step) -> Line {
    named(words::sign(step), &name(step), words::reason(step))
}

/// The attributes that matter, of what the step does.
pub(super) fn body(step: &Step, seen: &mut Seen) -> Vec<Line> {
    let mut body = Body { lines: Vec::new(), at: String::new(), seen };
    match step.action {
        Action::Create => body.all(&step.address, Sign::Add, step.after.as_ref()),
        Action::Read => body.all(&step.address, Sign::None, step.after.as_ref()),
        Action::Destroy => body.briefly(Sign::Remove, step.before.as_ref()),
        Action::Update | Action::Replace => body.changes(step),
        Action::Forget | Action::Record => {}
    }
    body.lines
}

/// The line that names a thing that was changed behind our back.
pub(super) fn drift_heading(step: &Step) -> Line {
    match is_gone(step) {
        true => named(Sign::Remove, &name(step), Some("is gone".to_owned())),
        false => named(Sign::Change, &name(step), None),
    }
}

/// What was changed behind our back, as far as it matters.
pub(super) fn drift_body(step: &Step, goal: Goal, seen: &mut Seen) -> Vec<Line> {
    let mut body = Body { lines: Vec::new(), at: String::new(), seen };
    let drift = step.drift.iter().filter(|drift| matters(step, &drift.attribute, goal));
    let rows = drift.map(|drift| Row {
        label: label(&drift.attribute),
        before: present(Some(&drift.before)),
        after: present(Some(&drift.after)),
        note: None,
    });
    body.attributes(&step.address, &rows.collect::<Vec<_>>());
    body.lines
}

/// The things that were changed behind our back, if that leads to a step or is what the plan is about.
pub(super) fn drifted(document: &Document) -> impl Iterator<Item = &Step> {
    let goal = document.goal;
    document.steps.iter().filter(move |step| {
        let leads = matches!(step.action, Action::Create | Action::Update | Action::Replace);
        match goal {
            Goal::RefreshOnly => is_gone(step) || !step.drift.is_empty(),
            Goal::Destroy => false,
            Goal::Converge => {
                let matters = |drift: &Drift| matters(step, &drift.attribute, goal);
                leads && (is_gone(step) || step.drift.iter().any(matters))
            }
        }
    })
}

/// How the outputs change.
pub(super) fn outputs(outputs: &[Output], seen: &mut Seen) -> Vec<Line> {
    let mut body = Body { lines: Vec::new(), at: "the outputs".to_owned(), seen };
    let rows: Vec<Row<'_>> = outputs
        .iter()
        .map(|output| Row {
            label: label(&output.name),
            before: output.before.as_ref(),
            after: output.after.as_ref(),
            note: None,
        })
        .collect();
    body.rows(1, &rows);
    body.lines
}

/// A line with a name and a remark.
pub(super) fn named(sign: Sign, name: &str, remark: Option<String>) -> Line {
    let line = Line { sign, level: 0, parts: vec![(Style::Strong, name.to_owned())] };
    match remark {
        Some(remark) => line.with(Style::Quiet, format!("  # {remark}")),
        None => line,
    }
}

fn name(step: &Step) -> String {
    let address = clean(&step.address);
    match step.deposed {
        Some(number) => format!("{address} (older object {number})"),
        None => address,
    }
}

fn is_gone(step: &Step) -> bool {
    step.reason == Reason::Vanished
}

fn matters(step: &Step, attribute: &str, goal: Goal) -> bool {
    goal == Goal::RefreshOnly || step.changes.iter().any(|change| change.attribute == attribute)
}

/// Null means that there is nothing.
fn present(value: Option<&Shown>) -> Option<&Shown> {
    value.filter(|value| **value != Shown::Null)
}

impl Body<'_> {
    /// Every attribute of an object.
    fn all(&mut self, address: &str, sign: Sign, object: Option<&Attributes>) {
        let entries = present_entries(object);
        let width = widest(entries.iter().map(|(label, _)| &**label));
        let address = clean(address);
        for (label, value) in entries {
            self.at = [&*address, ".", &*label].concat();
            self.whole(sign, 1, &Lead::new(&label, width), value, None);
        }
    }

    /// Every attribute of an object, each on one line.
    fn briefly(&mut self, sign: Sign, object: Option<&Attributes>) {
        let entries = present_entries(object);
        let width = widest(entries.iter().map(|(label, _)| &**label));
        for (label, value) in entries {
            self.line(sign, 1, &Lead::new(&label, width), &brief(value), None);
        }
    }

    /// How attributes of something change.
    fn attributes(&mut self, address: &str, rows: &[Row<'_>]) {
        let width = widest(rows.iter().map(|row| &*row.label));
        let address = clean(address);
        for row in rows {
            self.at = [&*address, ".", &*row.label].concat();
            self.row(1, row, width);
        }
    }

    /// The attributes that change, with the results that are others because of it or that nobody knows any more.
    fn changes(&mut self, step: &Step) {
        let (before, after) = (step.before.as_ref(), step.after.as_ref());
        let names: BTreeSet<&String> = before.into_iter().chain(after).flat_map(Attributes::keys).collect();
        let mut same = Same::default();
        let mut rows = Vec::new();
        for name in names {
            let before = present(before.and_then(|entries| entries.get(name)));
            let after = present(after.and_then(|entries| entries.get(name)));
            let change = step.changes.iter().find(|change| change.attribute == *name);
            // What cannot be read back has nothing before it, and is no change unless it is said to be one.
            let can_be_told = |after: &Shown| after.awaits_something() || !after.hides();
            let follows = before != after && after.is_none_or(can_be_told);
            if change.is_some() || follows {
                let forces = change.is_some_and(|change| change.forces_replacement);
                let note = forces.then_some("forces replacement");
                rows.push(Row { label: label(name), before, after, note });
            } else if before.or(after).is_some() {
                same.open += 1;
            }
        }
        self.attributes(&step.address, &rows);
        self.hidden(1, same, ("attribute", "attributes"));
    }
}

/// The attributes that have a value, with their names as shown.
fn present_entries(object: Option<&Attributes>) -> Vec<(String, &Shown)> {
    let entries = object.into_iter().flatten();
    entries.filter(|(_, value)| **value != Shown::Null).map(|(name, value)| (label(name), value)).collect()
}
