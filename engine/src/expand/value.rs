//! Variables, outputs, provider settings and secrets.

use fleet_lang::constraint::Constraint;
use fleet_lang::{Marks, Type, Value};
use fleet_syntax::{Diagnostic, Span, nearest};

use super::{ONCE, View, Walk};
use crate::config::body::Ephemeral;
use crate::config::model::{Output, Provider, Secret, Variable};
use crate::schema::Sort;
use crate::scope::{ScopeId, Scopes, looks_around};

impl<'c> Walk<'_, 'c> {
    pub(super) fn variable(&mut self, scope: ScopeId, place: u32, variable: &'c Variable) -> Value {
        let constraint = variable.constraint.clone().unwrap_or_else(|| Constraint::from(Type::Any));
        let value = if scope == Scopes::ROOT {
            let given = self.surroundings.inputs.get(&variable.name.name).cloned();
            given.unwrap_or_else(|| Value::unknown(constraint.ty.clone()))
        } else {
            self.input(scope, place, variable, &constraint)
        };
        let mut marks = Marks::NONE;
        if variable.sensitive {
            marks |= Marks::SENSITIVE;
        }
        if variable.ephemeral {
            marks |= Marks::EPHEMERAL;
        }
        let value = value.mark(marks);
        if variable.validations.is_empty() || looks_around(variable) {
            return value;
        }
        // Validations look the variable up by its name, so it has to be there already.
        let node = self.expansion.scopes.variable(scope, &variable.name.name).expect("a variable has a node");
        self.put(node, place, value.clone());
        let holds = self.validations(scope, place, variable);
        // What follows from a value that is refused is of no interest.
        if holds { value } else { Value::unknown(constraint.ty).mark(marks) }
    }

    /// The value that a module call gives to a variable.
    fn input(
        &mut self,
        scope: ScopeId,
        place: u32,
        variable: &'c Variable,
        constraint: &Constraint,
    ) -> Value {
        let outer = self.expansion.scopes.scope(scope);
        let input = outer.call.and_then(|call| call.inputs.get(&variable.name.name));
        let (value, span): (Value, Span) = match (input, outer.parent) {
            (Some(input), Some(parent)) => {
                let here = self.place(scope, place).clone();
                let view = View::of(parent, here.parent, &here.repetition);
                (self.eval(&input.value, view), input.value.span)
            }
            _ => (default_of(variable), variable.name.span),
        };
        let value = if value.is_null() && !variable.nullable { default_of(variable) } else { value };
        match constraint.apply(&value) {
            Ok(value) => value,
            Err(error) => {
                let summary = format!("unsuitable value for `var.{}`", variable.name.name);
                let detail = format!("The module needs {}: {error}.", constraint.ty);
                self.diagnostics.push(Diagnostic::error(span, summary, detail));
                Value::unknown(constraint.ty.clone())
            }
        }
    }

    /// Checks what must hold for a variable. `false` if something surely does not.
    pub(super) fn validations(&mut self, scope: ScopeId, place: u32, variable: &'c Variable) -> bool {
        let summary = format!("invalid value for `var.{}`", variable.name.name);
        let mut holds = true;
        for validation in &variable.validations {
            let view = View::of(scope, place, &ONCE);
            holds &= self.must_hold(validation, view, fleet_syntax::Severity::Error, &summary);
        }
        holds
    }

    pub(super) fn output(&mut self, scope: ScopeId, place: u32, output: &'c Output) -> Value {
        let view = View::of(scope, place, &ONCE);
        for condition in &output.preconditions {
            let summary = format!("precondition of output `{}` does not hold", output.name.name);
            self.must_hold(condition, view, fleet_syntax::Severity::Error, &summary);
        }
        let value = self.eval(&output.value, view);
        let marks = value.marks_deep();
        let name = &output.name.name;
        if output.ephemeral && scope == Scopes::ROOT {
            let detail = "Outputs of the root module are stored, and an ephemeral value must not be.";
            let diagnostic = Diagnostic::error(
                output.header,
                format!("ephemeral output `{name}` of the root module"),
                detail,
            );
            self.diagnostics
                .push(diagnostic.help("remove the output, or `ephemeral = true` if its value may be stored"));
        } else if marks.contains(Marks::EPHEMERAL) && !output.ephemeral {
            let detail = "The value is ephemeral: it must not be stored.";
            let diagnostic =
                Diagnostic::error(output.value.span, format!("ephemeral value in output `{name}`"), detail);
            self.diagnostics.push(match scope {
                Scopes::ROOT => diagnostic.help("outputs of the root module are stored; leave this one out"),
                _ => diagnostic.help("add `ephemeral = true` to the output"),
            });
        }
        if let Some(secret) =
            value.awaits().filter(|awaits| scope == Scopes::ROOT && awaits.starts_with("secret."))
        {
            let detail = format!("Outputs of the root module are stored, and `{secret}` must never be.");
            let diagnostic =
                Diagnostic::error(output.value.span, format!("secret in output `{name}`"), detail);
            self.diagnostics
                .push(diagnostic.help("leave it out; whoever needs the secret can ask its source"));
        } else if scope == Scopes::ROOT && marks.contains(Marks::SENSITIVE) && !output.sensitive {
            let detail =
                "The value depends on something sensitive, and outputs of the root module are shown.";
            let summary = format!("sensitive value in output `{name}`");
            let diagnostic = Diagnostic::error(output.value.span, summary, detail);
            self.diagnostics.push(diagnostic.help("add `sensitive = true` to the output"));
        }
        let mut marks = Marks::NONE;
        if output.sensitive {
            marks |= Marks::SENSITIVE;
        }
        if output.ephemeral {
            marks |= Marks::EPHEMERAL;
        }
        value.mark(marks)
    }

    /// A secret stays a symbol until a step needs it.
    pub(super) fn secret(&mut self, scope: ScopeId, place: u32, secret: &'c Secret) -> Value {
        let from = self.eval(&secret.from, View::of(scope, place, &ONCE));
        if let Some(text) = from.as_str() {
            if let Err(diagnostic) = secret_source(text, secret.from.span) {
                self.diagnostics.push(diagnostic);
            }
        } else if from.is_known() {
            let detail = "A secret comes from a place written as text, such as `\"env:TOKEN\"`.";
            self.diagnostics.push(Diagnostic::error(secret.from.span, "invalid source of a secret", detail));
        }
        let known = from.as_str().and_then(|from| self.surroundings.secrets.get(&secret.name.name, from));
        let value =
            known.unwrap_or_else(|| Value::awaiting(Type::String, format!("secret.{}", secret.name.name)));
        value.mark(Marks::SENSITIVE)
    }

    pub(super) fn provider(&mut self, scope: ScopeId, place: u32, provider: &'c Provider) -> Value {
        let view = View::of(scope, place, &ONCE);
        let catalog = self.surroundings.catalog;
        match catalog.find(Sort::Provider, &provider.name.name) {
            Some(entry) => self.body(&provider.body, entry, provider.header, Ephemeral::Allowed, view),
            None => {
                self.unknown_kind(Sort::Provider, "provider", &provider.name.name, provider.name.span);
                self.eval_all(&provider.body, view);
                Value::unknown(Type::Any)
            }
        }
    }

    /// Reports a kind that the catalogue does not have.
    pub(super) fn unknown_kind(&mut self, sort: Sort, what: &str, name: &str, span: Span) {
        let names = self.surroundings.catalog.names(sort);
        let detail = format!("No {what} of this name is part of this version.");
        let diagnostic = Diagnostic::error(span, format!("unknown {what} `{name}`"), detail);
        self.diagnostics.push(match nearest(name, names.iter().copied()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic,
        });
    }
}

fn default_of(variable: &Variable) -> Value {
    variable.default.clone().unwrap_or_else(|| Value::unknown(Type::Any))
}

/// The places that secrets can come from.
const SECRET_SOURCES: &[&str] = &["env:", "file:", "exec:", "op://", "vault:", "k8s:"];

fn secret_source(text: &str, span: Span) -> Result<(), Diagnostic> {
    let known = SECRET_SOURCES.join("`, `");
    match SECRET_SOURCES.iter().find_map(|source| text.strip_prefix(source)) {
        Some("") => {
            let detail = format!("`{text}` does not say which one.");
            Err(Diagnostic::error(span, "incomplete source of a secret", detail))
        }
        Some(_) => Ok(()),
        None => {
            let detail = format!("A source starts with one of `{known}`.");
            let diagnostic = Diagnostic::error(span, "unknown source of a secret", detail);
            Err(diagnostic
                .help("for an environment variable write `\"env:NAME\"`, for a file `\"file:PATH\"`"))
        }
    }
}
