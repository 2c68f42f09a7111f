//! A plan as people read it. Pure, and without knowledge of terminals.

use std::fmt::Write;

use fleet_lang::print::print;
use fleet_lang::{Kind, Marks, Value};

use crate::address::Address;
use crate::plan::{Action, Plan, Step, Why};

/// Stands for a value that nobody knows yet.
const AFTER_APPLY: &str = "(known after apply)";

/// Longer strings are cut.
const LONGEST: usize = 120;

/// The plan, one paragraph for each thing that changes, and a line that sums up.
#[must_use]
pub fn render(plan: &Plan) -> String {
    if !plan.changes_anything() {
        return "No changes.\n".into();
    }
    let mut text = String::new();
    for (address, step) in plan.steps.iter().filter(|(_, step)| step.action.changes_the_world()) {
        write_step(&mut text, address, step);
        text.push('\n');
    }
    let counts = [
        (Action::Create, "create"),
        (Action::Update, "update"),
        (Action::Replace { create_first: false }, "replace"),
        (Action::Destroy, "destroy"),
    ];
    let count = |action| plan.steps.values().filter(|step| step.action == action).count();
    let parts = counts.iter().map(|(action, word)| (count(*action), word)).filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts.map(|(n, word)| format!("{n} to {word}")).collect();
    let _ = writeln!(text, "Plan: {}.", parts.join(", "));
    text
}

/// The sign of an action, three characters wide.
#[must_use]
pub fn sign(action: Action) -> &'static str {
    match action {
        Action::Create => "  +",
        Action::Update => "  ~",
        Action::Replace { .. } => "-/+",
        Action::Destroy => "  -",
        Action::Keep | Action::Record | Action::Read | Action::Forget => "   ",
    }
}

/// A value on one line if it can be, with secrets hidden and long strings cut.
#[must_use]
pub fn brief(value: &Value) -> String {
    match &value.kind {
        _ if value.marks_deep().contains(Marks::SENSITIVE) => "(sensitive value)".into(),
        Kind::Unknown(unknown) => match &unknown.awaits {
            Some(reference) => format!("(known after apply: {reference})"),
            None => AFTER_APPLY.into(),
        },
        Kind::Null(_) => "null".into(),
        Kind::String(text) => quoted(text),
        _ => print(value),
    }
}

fn write_step(text: &mut String, address: &Address, step: &Step) {
    let why = match (&step.why, step.action) {
        (Why::Vanished, Action::Create) => "  # was there, and is gone",
        (Why::Found, Action::Update) => "  # is there already, not made by fleet",
        (Why::NotDeclared, _) => "  # not declared any more",
        _ => "",
    };
    let _ = writeln!(text, "{} {address}{why}", sign(step.action));
    match step.action {
        Action::Create => {
            let entries = step.record.value.entries().into_iter().flatten();
            let shown: Vec<_> = entries.filter(|(_, value)| !value.is_null()).collect();
            let width = shown.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            for (name, value) in shown {
                let own = format!("{address}.{name}");
                let waits_for_itself =
                    matches!(&value.kind, Kind::Unknown(unknown) if unknown.awaits.as_deref() == Some(&*own));
                let value = if waits_for_itself { AFTER_APPLY.into() } else { brief(value) };
                write_value(text, &format!("{name:width$} = "), &value);
            }
        }
        Action::Update | Action::Replace { .. } => {
            let width = step.changes.iter().map(|change| change.name.len()).max().unwrap_or(0);
            for change in &step.changes {
                let forces = if change.forces_replace { "  # forces replacement" } else { "" };
                let values = format!("{} → {}{forces}", brief(&change.before), brief(&change.after));
                write_value(text, &format!("{:width$} = ", change.name), &values);
            }
        }
        Action::Keep | Action::Record | Action::Read | Action::Destroy | Action::Forget => {}
    }
}

fn write_value(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "      {name}{}", value.replace('\n', "\n      "));
}

fn quoted(text: &str) -> String {
    let n_chars = text.chars().count();
    if n_chars <= LONGEST {
        return serde_json::Value::from(text).to_string();
    }
    let start: String = text.chars().take(LONGEST).collect();
    format!("{}… ({n_chars} characters)", serde_json::Value::from(start))
}
