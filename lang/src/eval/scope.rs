//! Where the names of an expression come from.

use fleet_syntax::tree::{Ident, Step};
use fleet_syntax::{Diagnostic, nearest};

use crate::{Entries, Value};

/// Where names that an expression does not bind itself come from.
pub trait Scope {
    /// Resolves a root name with as many of the steps after it as this scope knows (`var` takes one, `core_value` one,
    /// `host` none); the evaluator takes the rest of the steps on the value.
    ///
    /// An error here is about the configuration, not about a value: it would be found without evaluating anything. So
    /// `try`, `can` and the branch of a conditional that is not taken do not hide it.
    fn resolve(&self, root: &Ident, steps: &[Step]) -> Result<Resolved, Diagnostic>;
}

/// What a root name stands for.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The value found.
    pub value: Value,
    /// How many steps it took.
    pub steps: usize,
}

/// A scope of names with values and nothing else: the variables of a template, or none at all.
#[derive(Clone, Debug, Default)]
pub struct Names(pub Entries);

impl Scope for Names {
    fn resolve(&self, root: &Ident, _steps: &[Step]) -> Result<Resolved, Diagnostic> {
        match self.0.get(&root.name) {
            Some(value) => Ok(Resolved { value: value.clone(), steps: 0 }),
            None => Err(self.unknown_name(root)),
        }
    }
}

impl Names {
    fn unknown_name(&self, root: &Ident) -> Diagnostic {
        let detail = format!("Nothing here is called `{}`.", root.name);
        let diagnostic = Diagnostic::error(root.span, "unknown name", detail);
        let names = || self.0.keys().map(|name| &**name);
        match nearest(&root.name, names()) {
            Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
            None if self.0.is_empty() => diagnostic.help("put text in quotes"),
            None => {
                diagnostic.help(format!("known are `{}`", names().take(10).collect::<Vec<_>>().join("`, `")))
            }
        }
    }
}
