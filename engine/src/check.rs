//! Stage 5, check: what a plan must not do, and what this version cannot do yet. It says so instead of passing over it.

use fleet_syntax::{Diagnostic, Diagnostics, Span};

use crate::config::model::{Config, IgnoreChanges, Resource};
use crate::expand::Expansion;
use crate::plan::{Action, Plan};
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
        for resource in module.resources.values() {
            if let Some(argument) = unsupported_argument(resource) {
                refuse(resource.header, &format!("`{argument}`"));
            }
        }
        module.fleets.values().for_each(|fleet| refuse(fleet.header, "a fleet"));
        module.moved.iter().for_each(|moved| refuse(moved.header, "a `moved` block"));
        module.removed.iter().for_each(|removed| refuse(removed.header, "a `removed` block"));
        module.imports.iter().for_each(|import| refuse(import.header, "an `import` block"));
    }
    diagnostics
}

/// What must not be removed, and would be.
#[must_use]
pub fn protected(plan: &Plan, expansion: &Expansion<'_>) -> Diagnostics {
    let goes = |step: &crate::plan::Step| matches!(step.action, Action::Replace { .. } | Action::Destroy);
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

fn unsupported_argument(resource: &Resource) -> Option<&'static str> {
    let lifecycle = &resource.lifecycle;
    if lifecycle.create_before_destroy == Some(true) {
        Some("create_before_destroy")
    } else if !matches!(lifecycle.ignore_changes, IgnoreChanges::None) {
        Some("ignore_changes")
    } else if !lifecycle.replace_triggered_by.is_empty() {
        Some("replace_triggered_by")
    } else {
        None
    }
}
