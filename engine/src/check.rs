//! Stage 5, check: what a plan must not do, and what this version cannot do yet. It says so instead of passing over it.

use fleet_syntax::{Diagnostic, Diagnostics, Severity, Span};

use crate::config::model::Config;
use crate::expand::Expansion;
use crate::plan::{Action, Plan, Step, Why};
use crate::scope::NodeItem;

/// The parts of a configuration that planning would have to pass over.
#[must_use]
pub fn unsupported(config: &Config) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let mut refuse = |span: Span, what: &str| {
        let detail = format!("This version of fleet can validate {what}, but cannot plan with it.");
        diagnostics.push(Diagnostic::error(span, "cannot be planned yet", detail));
    };
    for module in &config.modules {
        module.fleets.values().for_each(|fleet| refuse(fleet.header, "a fleet"));
    }
    diagnostics
}

/// What must not be removed, and would be.
#[must_use]
pub fn protected(plan: &Plan, expansion: &Expansion<'_>) -> Diagnostics {
    let goes = |step: &Step| matches!(step.action, Action::Replace { .. } | Action::Destroy);
    let guarded = expansion.instances.iter().filter_map(|instance| {
        let NodeItem::Resource(resource) = expansion.scopes.node(instance.node).item else { return None };
        let said = resource.lifecycle.prevent_destroy?;
        plan.steps.get(&instance.address).filter(|step| goes(step))?;
        let detail = "It would be removed, and its lifecycle says that it must not.";
        let diagnostic = Diagnostic::error(said, "protected from being destroyed", detail);
        Some(diagnostic.at(instance.address.to_string()).help("take `prevent_destroy` away if it is to go"))
    });
    guarded.collect()
}

/// What no plan must look like, whatever it was made from. A finding is a mistake of fleet, and stops it.
#[must_use]
pub fn lint(plan: &Plan) -> Diagnostics {
    let older =
        plan.deposed.iter().flat_map(|(address, steps)| steps.values().map(move |step| (address, step)));
    let findings = plan.steps.iter().chain(older).filter_map(|(address, step)| {
        let wrong = finding(step)?;
        Some(Diagnostic {
            severity: Severity::Error,
            summary: "the plan contradicts itself".into(),
            detail: format!("{wrong} Nothing was done; this is a mistake of fleet, please report it."),
            span: step.declared_at,
            related: Vec::new(),
            address: Some(address.to_string()),
            help: None,
        })
    });
    findings.collect()
}

fn finding(step: &Step) -> Option<&'static str> {
    let is_there = step.before.is_some();
    let forced = step.changes.iter().any(|change| change.forces_replace);
    match step.action {
        Action::Create if is_there => Some("Something would be made that is there."),
        Action::Update | Action::Replace { .. } | Action::Destroy if !is_there => {
            Some("Something would be changed or removed that is not there.")
        }
        Action::Update if step.changes.is_empty() => Some("Something would be changed without a difference."),
        Action::Update if forced => Some("Something would be changed in place that has to be made anew."),
        Action::Replace { .. } if !forced && !matches!(step.why, Why::Asked | Why::Triggered(_)) => {
            Some("Something would be made anew without a reason.")
        }
        Action::Keep if !step.changes.is_empty() => Some("Something would be left as it is that differs."),
        Action::Create | Action::Update | Action::Replace { .. } if step.declared_at.is_none() => {
            Some("Something would be made that nobody declares.")
        }
        _ => None,
    }
}
