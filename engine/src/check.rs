//! Stage 5, check: what a plan must not do, and what this version cannot do yet. It says so instead of passing over it.

use fleet_syntax::{Diagnostic, Diagnostics, Severity};

use crate::address::{Address, Item, ScopeStep};
use crate::expand::Expansion;
use crate::plan::{Action, Plan, Step, Why};
use crate::provider::Readers;
use crate::resource::{Disruption, Touch};
use crate::schema::{Catalog, Sort};
use crate::scope::NodeItem;

/// What would interrupt the hosts of a fleet all at once, although it says how changes are to go through it.
#[must_use]
pub fn all_at_once(plan: &Plan, expansion: &Expansion<'_>, readers: &dyn Readers) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for scope in &expansion.scopes.scopes {
        let Some((fleet, rollout)) = scope.fleet.and_then(|fleet| Some((fleet, fleet.rollout.as_ref()?)))
        else {
            continue;
        };
        let is_of = |address: &Address| {
            let slot = address.scope.slot();
            slot.is_some_and(|slot| matches!(slot.steps().last(), Some(ScopeStep::Fleet(name, _)) if *name == fleet.name.name))
        };
        let stays = |address: &Address| {
            let slot = address.scope.slot().unwrap_or_else(|| address.scope.clone());
            let host = plan.steps.get(&Address { scope: slot, item: Item::Host, key: None });
            host.is_some_and(|host| matches!(host.action, Action::Keep | Action::Record | Action::Update))
        };
        let interrupts = |(address, step): (&Address, &Step)| {
            is_of(address) && stays(address) && disruption(step, readers) > Disruption::Nothing
        };
        let first = plan.steps.iter().filter(|step| interrupts(*step)).map(|(address, _)| address);
        let (mut first, n_more) = (first.clone(), first.count().saturating_sub(1));
        if let Some(address) = first.next() {
            let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
            let detail = "The fleet says how changes go through it, and this version of fleet would interrupt all its \
                          hosts at once.";
            let error = Diagnostic::error(rollout.header, "changes cannot be rolled out yet", detail);
            let help = "choose hosts with `--host`, or take the interruption with `--ignore-rollout`";
            diagnostics.push(error.at(format!("{address}{more}")).help(help));
        }
    }
    diagnostics
}

/// Whether a step gives up the machine of a slot.
pub(crate) fn gives_up_a_host(address: &Address, step: &Step) -> bool {
    address.item == Item::Host && matches!(step.action, Action::Destroy | Action::Replace { .. })
}

/// Whether a removal waits itself for the work that runs on its host.
pub(crate) fn waits_for_work(step: &Step, catalog: &dyn Catalog) -> bool {
    catalog.find(Sort::Resource, &step.record.kind).is_some_and(|entry| entry.waits_for_work)
}

pub(crate) fn disruption(step: &Step, readers: &dyn Readers) -> Disruption {
    let names: Vec<&str> = step.changes.iter().map(|change| &*change.name).collect();
    let of = |touch| readers.disrupts(&step.record.kind, touch);
    match step.action {
        Action::Create => of(Touch::Create),
        Action::Update => of(Touch::Update(&names)),
        Action::Replace { .. } => of(Touch::Create).max(of(Touch::Destroy)),
        Action::Destroy => of(Touch::Destroy),
        Action::Keep | Action::Record | Action::Read | Action::Forget => Disruption::Nothing,
    }
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
