//! Conditions: validations, pre- and postconditions, checks, health.

use std::sync::Arc;

use fleet_lang::Type;
use fleet_lang::convert::convert;
use fleet_syntax::{Diagnostic, Severity};

use super::{Imported, ONCE, View, Walk};
use crate::address::{Address, Target, key_of};
use crate::config::condition::{Outcome, test};
use crate::config::model::{Check, Condition, Fleet, Import};
use crate::scope::{NodeId, ScopeId};

impl<'c> Walk<'_, 'c> {
    /// Evaluates a condition and reports it if it does not hold. `false` if it surely does not.
    pub(super) fn must_hold(
        &mut self,
        condition: &Condition,
        view: View<'_>,
        severity: Severity,
        summary: &str,
    ) -> bool {
        let Outcome::Fails(message) = self.with_evaluator(view, |evaluator| test(condition, evaluator))
        else {
            return true;
        };
        let diagnostic = Diagnostic::error(condition.condition.span, summary, &*message);
        let address = view.address.map(ToString::to_string);
        self.diagnostics.push(Diagnostic { severity, address, ..diagnostic });
        false
    }

    /// The assertions of a check only warn.
    pub(super) fn check(&mut self, id: NodeId, scope: ScopeId, place: u32, check: &'c Check) {
        let mut view = View::of(scope, place, &ONCE);
        if check.data.is_some() {
            view.check_data = Some(NodeId(id.0 - 1));
        }
        let summary = format!("check `{}` does not hold", check.name.name);
        for assertion in &check.assertions {
            self.must_hold(assertion, view, Severity::Warning, &summary);
        }
    }

    /// Whether a host is healthy is asked after it was changed; here only the question is checked.
    pub(super) fn health(&mut self, scope: ScopeId, place: u32, fleet: &'c Fleet) {
        let Some(health) = &fleet.health else { return };
        let view = View::of(scope, place, &ONCE);
        let value = self.eval(&health.condition, view);
        if let Err(error) = convert(&value, &Type::Bool) {
            let detail = format!("The condition must be true or false: {error}.");
            self.diagnostics.push(Diagnostic::error(health.condition.span, "unsuitable condition", detail));
        }
        if let Some(timeout) = &health.timeout {
            self.duration(timeout, view);
        }
        if let Some(message) = &health.error_message {
            self.eval(message, view);
        }
    }

    /// The parts of an `import` block that can be evaluated now.
    pub(super) fn import(&mut self, scope: ScopeId, place: u32, import: &'c Import) {
        let view = View::of(scope, place, &ONCE);
        let repeat = import.for_each.as_ref();
        let each = match repeat {
            Some(expr) => self.repeated_each(expr, view),
            None => vec![ONCE.clone()],
        };
        for repetition in &each {
            let view = View::of(scope, place, repetition);
            let id = self.eval(&import.id, view);
            if id.is_null() {
                let detail = "The id is null; it must be what the provider knows the object by.";
                self.diagnostics.push(Diagnostic::error(import.id.span, "missing id to import", detail));
            }
            let to = Target::read(&import.to, &mut |key| key_of(&self.eval(key, view)));
            let id = convert(&id, &Type::String).ok().and_then(|id| id.as_str().map(Arc::from));
            if let (Some(Target { scope: inner, item: Some(item), key }), Some(id)) = (to, id) {
                let scope = self.place(scope, place).path.within(&inner);
                self.expansion.imports.push(Imported {
                    to: Address { scope, item, key },
                    id,
                    span: Some(import.header),
                });
            }
        }
    }
}
