//! Terraform's expression language over values that may be unknown, sensitive or ephemeral.
//!
//! 1. [`types`]: the types, and type constraints as users write them ([`constraint`])
//! 2. [`value`]: the values; [`number`]: 512-bit numbers; [`set`]: the order of sets; [`equal`](mod@equal): the
//!    language's `==`; [`print`](mod@print): values as people read them
//! 3. [`convert`](mod@convert): conversion and unification
//! 4. [`eval`]: tree + scope → value, every problem of an expression at once
//! 5. [`functions`]: the function table, which also yields the reference page
//! 6. [`references`](mod@references): what an expression depends on, known without evaluating it
//!
//! Nothing here touches the outside by itself: files, time and chance come through [`outside::Outside`].

#[cfg(test)]
mod arbitrary;
pub mod constraint;
pub mod convert;
mod entries;
pub mod equal;
pub mod eval;
pub mod functions;
pub mod number;
pub mod outside;
pub mod print;
pub mod references;
mod same;
pub mod set;
pub mod types;
pub mod value;

pub use constraint::{Constraint, parse_constraint};
pub use convert::{ConvertError, PathStep, convert, unify};
pub use entries::Entries;
pub use equal::equal;
pub use eval::{Evaluator, Names, Resolved, Scope, evaluate};
pub use number::Number;
pub use outside::Outside;
pub use print::print;
pub use references::{Reference, references};
pub use types::{ObjectType, Type};
pub use value::{Kind, Marks, Unknown, Value};
