//! Variables, outputs, provider settings and secrets.

use fleet_lang::constraint::Constraint;
use fleet_lang::{Marks, Type, Value};
use fleet_syntax::{Diagnostic, Span, nearest};

use super::{ONCE, Origin, View, Walk};
use crate::config::body::Ephemeral;
use crate::config::model::{Output, Provider, ProviderRef, Secret, Variable};
use crate::provider::Session;
use crate::schema::Sort;
use crate::scope::{ScopeId, Scopes, looks_around};
use crate::secret::{Malformed, Source};

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
        self.expansion.sources.insert(secret.name.name.clone(), from.clone());
        let known = match (from.as_str(), &secret.provider) {
            (Some(request), Some(provider)) => self.issued(secret, provider, request),
            (Some(text), None) => match text.parse::<Source>() {
                Ok(source) => self.surroundings.secrets.get(&secret.name.name, Origin::Source(&source)),
                Err(malformed) => {
                    let is_sensitive = from.marks.contains(Marks::SENSITIVE);
                    self.diagnostics.push(malformed_source(malformed, secret.from.span, is_sensitive));
                    None
                }
            },
            (None, _) => {
                if from.is_known() {
                    let detail = "A secret comes from a place written as text, such as `\"env:TOKEN\"`.";
                    let error = Diagnostic::error(secret.from.span, "invalid source of a secret", detail);
                    self.diagnostics.push(error);
                }
                None
            }
        };
        let value =
            known.unwrap_or_else(|| Value::awaiting(Type::String, format!("secret.{}", secret.name.name)));
        value.mark(Marks::SENSITIVE)
    }

    /// A secret that a provider issues when it is needed.
    fn issued(&mut self, secret: &'c Secret, provider: &'c ProviderRef, request: &str) -> Option<Value> {
        let (name, catalog) = (&provider.name.name, self.surroundings.catalog);
        let Some(entry) = catalog.find(Sort::Provider, name) else {
            self.unknown_kind(Sort::Provider, "provider", name, provider.name.span);
            return None;
        };
        let understood = match entry.issues {
            None => Err(format!("The provider `{name}` issues no secrets.")),
            Some(understand) => understand(request),
        };
        let whose = match understood {
            Ok(whose) => whose,
            Err(why) => {
                let error = Diagnostic::error(secret.from.span, "this cannot be issued", why);
                self.diagnostics
                    .push(error.help("without `provider`, `from` is a place such as `\"env:NAME\"`"));
                return None;
            }
        };
        let alias = provider.alias.as_ref().map(|alias| alias.name.clone());
        let session = Session { alias, ..Session::of(name.clone()) };
        let settings = self.expansion.settings(catalog, &session)?;
        let from = Origin::Issued { session: &session, settings: &settings, request, whose: &whose };
        self.surroundings.secrets.get(&secret.name.name, from)
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

/// What is wrong with a source; what a sensitive one says is not told.
fn malformed_source(malformed: Malformed, span: Span, is_sensitive: bool) -> Diagnostic {
    let Malformed { summary, detail, help } = malformed;
    let detail =
        if is_sensitive { "It is made of something sensitive, and not shown.".into() } else { detail };
    Diagnostic::error(span, summary, detail).help(help)
}
