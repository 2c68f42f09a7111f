//! A plan → its document.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::Value;
use fleet_syntax::diagnostic::Severity;
use fleet_syntax::{Diagnostics, Sources, Span};

use super::facts::{Keyed, facts};
use super::pool::Pool;
use super::secret::{Secret, hidden, is_secret};
use super::{
    Action, Attributes, Because, Change, Deferred, Document, Drift, FORMAT, Finding, Goal, Header, LeftOut,
    Output, Place, Reason, Shown, Step, Summary, Warning,
};
use crate::diff;
use crate::plan::{self, Plan, Why};
use crate::schema::Catalog;

/// What a document says beside the plan.
pub struct Context<'a> {
    /// Where the plan comes from.
    pub header: Header,
    /// What was found while planning; the warnings stand in the document.
    pub diagnostics: &'a Diagnostics,
    /// The kinds, which say what is secret.
    pub catalog: &'a dyn Catalog,
    /// The texts that places lie in.
    pub sources: &'a Sources,
    /// The keyed digest for what is sensitive; without one there are no digests of it.
    pub keyed: Option<Keyed<'a>>,
    /// Whether it says what the plan relied on. People are not shown that: it is for what is saved and what programs read.
    pub with_facts: bool,
}

impl Document {
    /// What may be published of a plan.
    #[must_use]
    pub fn of(plan: &Plan, context: &Context<'_>) -> Document {
        let current = plan.steps.iter().map(|(address, step)| (address, None, step));
        let older = plan.deposed.iter().flat_map(|(address, steps)| {
            steps.iter().map(move |(number, step)| (address, Some(*number), step))
        });
        let mut steps = Vec::new();
        for (address, deposed, step) in current.chain(older) {
            if let Some(action) = action(step) {
                let secret = Secret::of(context.catalog, address, step);
                let name = address.to_string();
                let said = document_of(&name, deposed, action, step, &secret, context.sources);
                let pooling = plan.pools.get(address).map(Pool::of);
                // What gives way to another machine goes back with that step, or is an older object by now.
                let pool =
                    pooling.map(|pool| Pool { claim: pool.claim.filter(|_| deposed.is_none()), ..pool });
                steps.push(Step { pool, ..said });
            }
        }
        let all = plan.steps.len() + plan.deposed.values().map(BTreeMap::len).sum::<usize>();
        let keep = all - steps.len();
        let left_out = plan.left_out.iter().map(|(address, why)| LeftOut {
            address: address.to_string(),
            because: match why {
                plan::LeftOut::NotTargeted => Because::NotTargeted,
                plan::LeftOut::Excluded => Because::Excluded,
                plan::LeftOut::Apart(how) => Because::Apart { how: how.to_string() },
                plan::LeftOut::DependsOn(on) => Because::DependsOn { on: on.to_string() },
                plan::LeftOut::NeededBy(by) => Because::NeededBy { by: by.to_string() },
                plan::LeftOut::Blocked(why) => Because::Blocked { why: why.to_string() },
            },
        });
        let mut document = Document {
            format: FORMAT,
            goal: match plan.goal {
                plan::Goal::Converge => Goal::Converge,
                plan::Goal::Destroy => Goal::Destroy,
                plan::Goal::RefreshOnly => Goal::RefreshOnly,
            },
            header: context.header.clone(),
            summary: Summary::default(),
            steps,
            deferred: plan.deferred.iter().map(deferred).collect(),
            left_out: left_out.collect(),
            outputs: plan.outputs.iter().map(|(name, change)| output(name, change)).collect(),
            warnings: warnings(context.diagnostics, context.sources),
            extra_rounds: plan.extra_rounds,
            notes: plan.notes.clone(),
            standing: plan.standing.clone(),
            findings: plan.findings.iter().map(Finding::of).collect(),
            facts: match context.with_facts {
                true => facts(plan, context.catalog, context.keyed),
                false => Vec::new(),
            },
        };
        document.summary = document.count(keep);
        document
    }
}

/// What is said of a step; nothing if nothing is done.
fn action(step: &plan::Step) -> Option<Action> {
    Some(match step.action {
        plan::Action::Keep if step.moved_from.is_none() && !matches!(step.why, Why::Imported(_)) => {
            return None;
        }
        plan::Action::Keep | plan::Action::Record => Action::Record,
        plan::Action::Read => Action::Read,
        plan::Action::Create => Action::Create,
        plan::Action::Update => Action::Update,
        plan::Action::Replace { .. } => Action::Replace,
        plan::Action::Destroy => Action::Destroy,
        plan::Action::Forget => Action::Forget,
    })
}

fn document_of(
    address: &str,
    deposed: Option<u32>,
    action: Action,
    step: &plan::Step,
    secret: &Secret<'_>,
    sources: &Sources,
) -> Step {
    let before = step.before.as_ref().filter(|_| action != Action::Record);
    let after = match action {
        Action::Destroy | Action::Forget => None,
        Action::Record | Action::Read => Some(secret.hide(&step.record.value)),
        Action::Create | Action::Update | Action::Replace => Some(secret.hide_marked(&step.record.value)),
    };
    let is_shown = |change: &&diff::Change| !secret.is_internal(&change.name);
    let change = |change: &diff::Change| Change {
        attribute: change.name.to_string(),
        forces_replacement: change.forces_replace,
    };
    let drift = |change: &diff::Change| Drift {
        attribute: change.name.to_string(),
        before: secret.hide_attribute(&change.name, &change.before),
        after: secret.hide_attribute(&change.name, &change.after),
    };
    Step {
        address: address.to_owned(),
        deposed,
        kind: step.record.kind.to_string(),
        action,
        create_first: step.action == plan::Action::Replace { create_first: true },
        reason: reason(&step.why),
        moved_from: step.moved_from.as_ref().map(ToString::to_string),
        declared_at: step.declared_at.map(|span| place(span, sources)),
        before: before.map(|before| secret.hide(before)),
        after: after.map(|after| without_own_name(after, address)),
        changes: step.changes.iter().filter(is_shown).map(change).collect(),
        drift: step.drift.iter().filter(is_shown).map(drift).collect(),
        pool: None,
    }
}

/// A result that waits for the very step it belongs to waits for nothing that a reader has to be told.
fn without_own_name(mut after: Attributes, address: &str) -> Attributes {
    for (name, value) in after.iter_mut() {
        let own = |awaits: &str| {
            awaits.strip_prefix(address).and_then(|rest| rest.strip_prefix('.')) == Some(&**name)
        };
        if matches!(value, Shown::Unknown { awaits: Some(awaits) } if own(awaits)) {
            *value = Shown::Unknown { awaits: None };
        }
    }
    after
}

fn reason(why: &Why) -> Reason {
    match why {
        Why::Declared => Reason::Declared,
        Why::Vanished => Reason::Vanished,
        Why::CutOff => Reason::CutOff,
        Why::Found => Reason::Found,
        Why::Imported(id) => Reason::Imported { id: id.to_string() },
        Why::NotDeclared => Reason::NotDeclared,
        Why::Asked => Reason::Asked,
        Why::SameAs(address) => Reason::SameAs { address: address.to_string() },
        Why::Triggered(by) => Reason::Triggered { by: by.to_string() },
        Why::Released => Reason::Released,
        Why::Deposed => Reason::Deposed,
    }
}

fn deferred(deferred: &plan::Deferred) -> Deferred {
    Deferred { address: deferred.address.to_string(), awaits: deferred.awaits.as_deref().map(str::to_owned) }
}

fn output(name: &Arc<str>, change: &plan::OutputChange) -> Output {
    let is = |value: &Option<Value>| value.as_ref().is_some_and(|value| is_secret(value.marks_deep()));
    // What was secret is not kept, so an output with no value on either side was a secret that goes.
    let secret =
        is(&change.before) || is(&change.after) || (change.before.is_none() && change.after.is_none());
    let shown = |value: &Value| if secret { hidden(Shown::of(value)) } else { Shown::of(value) };
    let goes = if change.after.is_none() && secret { Some(Shown::Sensitive) } else { None };
    Output {
        name: name.to_string(),
        before: change.before.as_ref().map(shown).or(goes),
        after: change.after.as_ref().map(shown),
    }
}

fn warnings(diagnostics: &Diagnostics, sources: &Sources) -> Vec<Warning> {
    let warnings = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Warning);
    let warning = |warning: &fleet_syntax::Diagnostic| Warning {
        summary: warning.summary.clone(),
        detail: warning.detail.clone(),
        address: warning.address.clone(),
        at: warning.span.map(|span| place(span, sources)),
        help: warning.help.clone(),
    };
    warnings.map(warning).collect()
}

fn place(span: Span, sources: &Sources) -> Place {
    let source = sources.get(span.file);
    Place { file: source.name.clone(), line: source.position(span.start).line }
}
