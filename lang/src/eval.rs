//! Tree + scope → value. Every problem of an expression is reported, not only the first.

use fleet_syntax::tree::{Ident, Step};
use fleet_syntax::{Diagnostic, Diagnostics};

use crate::{Outside, Value};

/// Where names that an expression does not bind itself come from.
pub trait Scope {
    /// Resolves a root name with as many of the steps after it as this scope knows (`var` takes one, `core_value` one,
    /// `host` none); the evaluator takes the rest of the steps on the value.
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

/// Evaluates expressions in one scope and collects what is wrong with them.
pub struct Evaluator<'a> {
    /// Where names come from.
    pub scope: &'a dyn Scope,
    /// Where files, time and chance come from.
    pub outside: &'a dyn Outside,
    /// What was wrong so far. A failed part evaluates to an unknown of type any.
    pub diagnostics: Diagnostics,
}
