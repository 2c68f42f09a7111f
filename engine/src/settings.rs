//! What the `settings` block says. It is read before anything else, because it says where the state is.
//!
//! So its expressions see only what is known without state and reality: variables, local values and secrets. They are
//! evaluated when they are asked for, whatever is wrong with the rest of the configuration.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use fleet_lang::references::Reference;
use fleet_lang::{Evaluator, Marks, Resolved, Scope, Type, Value};
use fleet_syntax::tree::{Expr, Ident, Step};
use fleet_syntax::{Diagnostic, Diagnostics, nearest};

use crate::config::body::{Ephemeral, check, decode};
use crate::config::model::{Backend, Config, Module};
use crate::expand::{Origin, Surroundings};
use crate::reference::{self, Allowed};
use crate::schema::{Catalog, Sort};
use crate::scope::Scopes;

/// The settings of a configuration, evaluated.
#[derive(Debug, Default)]
pub struct Known {
    /// The kind of the backend and its arguments, if there is one and this version knows it.
    pub backend: Option<(Arc<str>, Value)>,
    /// The key of the digests that secrets are compared by.
    pub digest_key: Option<Value>,
    /// What is wrong with the settings themselves.
    pub problems: Diagnostics,
    /// What is wrong with what they refer to. Whoever looks at the whole configuration finds it there, too.
    pub behind: Diagnostics,
}

/// Evaluates the settings of the root module. What is not known is unknown, and no error.
#[must_use]
pub fn settings(config: &Config, surroundings: &Surroundings<'_>) -> Known {
    let Some(settings) = &config.root().settings else { return Known::default() };
    let early = Early {
        root: config.root(),
        scopes: Scopes::of(config, &mut Diagnostics::new()),
        surroundings,
        open: RefCell::default(),
        behind: RefCell::default(),
    };
    let mut known = Known::default();
    if let Some(backend) = &settings.backend {
        let value = early.backend(backend, surroundings.catalog, &mut known.problems);
        known.backend = value.map(|value| (backend.kind.name.clone(), value));
    }
    known.digest_key = settings.digest_key.as_ref().map(|key| early.evaluate(key, &mut known.problems));
    known.behind = early.behind.into_inner();
    known
}

/// The names that can be used before anything is expanded.
struct Early<'a, 'c> {
    root: &'c Module,
    scopes: Scopes<'c>,
    surroundings: &'a Surroundings<'a>,
    /// The local values that are being evaluated: one that comes up again depends on itself.
    open: RefCell<Vec<Arc<str>>>,
    behind: RefCell<Diagnostics>,
}

impl Early<'_, '_> {
    fn backend(&self, backend: &Backend, catalog: &dyn Catalog, problems: &mut Diagnostics) -> Option<Value> {
        let Some(entry) = catalog.find(Sort::Backend, &backend.kind.name) else {
            let name = &backend.kind.name;
            let known = catalog.names(Sort::Backend);
            let detail = "This version cannot keep state there.";
            let error = Diagnostic::error(backend.kind.span, format!("unknown backend `{name}`"), detail);
            problems.push(match nearest(name, known.iter().copied()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("known are `{}`", known.join("`, `"))),
            });
            return None;
        };
        problems.extend(check(&backend.body, &entry.schema, backend.header));
        let mut evaluator = Evaluator::new(self, self.surroundings.outside);
        let value = decode(&backend.body, &entry.schema, backend.header, Ephemeral::Allowed, &mut evaluator);
        problems.extend(evaluator.into_diagnostics());
        Some(value)
    }

    fn evaluate(&self, expr: &Expr, problems: &mut Diagnostics) -> Value {
        let mut evaluator = Evaluator::new(self, self.surroundings.outside);
        let value = evaluator.evaluate(expr);
        problems.extend(evaluator.into_diagnostics());
        value
    }

    /// The value of something that the settings refer to.
    fn behind(&self, expr: &Expr) -> Value {
        let mut problems = Diagnostics::new();
        let value = self.evaluate(expr, &mut problems);
        self.behind.borrow_mut().extend(problems);
        value
    }

    fn variable(&self, name: &str) -> Value {
        let sensitive = self.root.variables.get(name).is_some_and(|variable| variable.sensitive);
        let marks = if sensitive { Marks::SENSITIVE } else { Marks::NONE };
        let given = self.surroundings.inputs.get(name).filter(|value| value.is_known());
        given.cloned().unwrap_or_else(|| Value::awaiting(Type::Any, format!("var.{name}"))).mark(marks)
    }

    fn local(&self, name: &Arc<str>) -> Value {
        let Some(local) = self.root.locals.get(name) else { return Value::unknown(Type::Any) };
        if self.open.borrow().contains(name) {
            return Value::awaiting(Type::Any, format!("local.{name}"));
        }
        self.open.borrow_mut().push(name.clone());
        let value = self.behind(&local.value);
        self.open.borrow_mut().pop();
        value
    }

    fn secret(&self, name: &str) -> Value {
        let Some(secret) = self.root.secrets.get(name) else { return Value::unknown(Type::String) };
        let from = self.behind(&secret.from);
        // Providers are not there yet. What is wrong with a source is told by whoever looks at all of it.
        let source = from.as_str().filter(|_| secret.provider.is_none()).and_then(|from| from.parse().ok());
        let known = source.and_then(|source| self.surroundings.secrets.get(name, Origin::Source(&source)));
        known
            .unwrap_or_else(|| Value::awaiting(Type::String, format!("secret.{name}")))
            .mark(Marks::SENSITIVE)
    }

    fn path(&self, name: &str) -> Option<Value> {
        match name {
            "module" | "root" => Some(".".into()),
            "cwd" => {
                let here = self.surroundings.outside.absolute(Path::new(".")).ok()?;
                Some(here.to_string_lossy().as_ref().into())
            }
            _ => None,
        }
    }
}

impl Scope for Early<'_, '_> {
    fn resolve(&self, root: &Ident, steps: &[Step]) -> Result<Resolved, Diagnostic> {
        let Some(Step::Attr(name)) = steps.first() else { return Err(too_early(root)) };
        if !matches!(&*root.name, "var" | "local" | "secret" | "path") {
            return Err(too_early(root));
        }
        let reference = Reference { root, steps, span: root.span };
        let (scopes, catalog) = (&self.scopes, self.surroundings.catalog);
        reference::resolve(scopes, catalog, Scopes::ROOT, Allowed::default(), &reference)?;
        let value = match &*root.name {
            "var" => self.variable(&name.name),
            "local" => self.local(&name.name),
            "secret" => self.secret(&name.name),
            _ => self.path(&name.name).unwrap_or_else(|| Value::unknown(Type::String)),
        };
        Ok(Resolved { value, steps: 1 })
    }
}

fn too_early(root: &Ident) -> Diagnostic {
    let detail = "Where the state is has to be known before anything else is looked at.";
    let error = Diagnostic::error(root.span, format!("`{}` is not known here yet", root.name), detail);
    error.help("use variables, local values and secrets, such as `secret.database`")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::path::Path;

    use fleet_lang::outside::Memory;
    use fleet_syntax::Sources;

    use super::*;
    use crate::config::load;
    use crate::expand::{Depth, Placeholders};
    use crate::registry::Registry;
    use crate::schema::{Attribute, Entry, Place, Presence, Schema};

    fn known(text: &str) -> Known {
        let outside = Memory::new().file("main.fleet.hcl", text);
        let (config, _) = load(&outside, Path::new("."), &mut Sources::default());
        let url = Attribute::new(Type::String, Presence::Required);
        let schema = Schema { attributes: [("url".into(), url)].into(), ..Schema::default() };
        let catalog = Registry::new().with_entry(Sort::Backend, "place", Entry::new(schema, Place::Api, ""));
        let inputs = HashMap::from([("env".into(), Value::from("prod"))]);
        let secrets = &Placeholders;
        let surroundings =
            Surroundings { catalog: &catalog, outside: &outside, inputs, secrets, depth: Depth::Instances };
        settings(&config, &surroundings)
    }

    /// The arguments of the backend, without marks, and what is wrong.
    fn check(url: &str, expected: &str, problems: &[&str]) {
        let text = format!(
            "settings {{\n backend \"place\" {{\n url = {url}\n }}\n digest_key = secret.s\n}}\n\
             variable \"env\" {{}}\nvariable \"none\" {{}}\n\
             locals {{\n a = \"a-${{var.env}}\"\n round = local.round\n broken = upper()\n}}\n\
             secret \"s\" {{\n from = \"env:${{local.a}}\"\n}}\n\
             resource \"no_such_kind\" \"x\" {{\n nonsense = secret.nobody\n}}\n"
        );
        let known = known(&text);
        let found: Vec<_> = known.problems.iter().map(|problem| problem.summary.as_str()).collect();
        assert_eq!(found, problems, "{url}");
        let (kind, value) = known.backend.unwrap();
        let url = value.entries().unwrap()["url"].clone().unmark_deep().0;
        assert_eq!((&*kind, fleet_lang::print(&url).as_str()), ("place", expected));
        let key = known.digest_key.unwrap();
        assert!(key.marks.contains(Marks::SENSITIVE));
        assert_eq!(key.as_str(), Some("secret.s from env:a-prod"));
    }

    #[test]
    fn settings_see_variables_locals_and_secrets() {
        check("\"x/${var.env}/${local.a}\"", "\"x/prod/a-prod\"", &[]);
        check("secret.s", "\"secret.s from env:a-prod\"", &[]);
        check("\"${path.root}/x\"", "\"./x\"", &[]);
        check("var.none", "(known after apply)", &[]);
        check("local.round", "(known after apply)", &[]);
    }

    #[test]
    fn settings_see_nothing_else() {
        check("no_such_kind.x.y", "(known after apply)", &["`no_such_kind` is not known here yet"]);
        check("module.m.x", "(known after apply)", &["`module` is not known here yet"]);
        check("secret.nobody", "(known after apply)", &["undeclared secret `nobody`"]);
        check("[]", "(known after apply)", &["unsuitable value for `url`"]);
    }

    #[test]
    fn what_is_wrong_elsewhere_is_told_apart() {
        let text = "settings {\n backend \"place\" {\n url = local.broken\n }\n}\n\
                    locals {\n broken = upper()\n}\n";
        let known = known(text);
        assert_eq!((known.problems.len(), known.behind.len()), (0, 1), "{:?}", known.problems);
    }

    #[test]
    fn an_unknown_backend_is_named_with_the_nearest_one() {
        let known = known("settings {\n backend \"plaice\" {}\n}\n");
        assert!(known.backend.is_none());
        assert_eq!(known.problems[0].help.as_deref(), Some("did you mean `place`?"));
    }
}
