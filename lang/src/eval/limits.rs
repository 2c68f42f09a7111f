//! What keeps an expression from taking all memory or stack. Nested loops multiply, and because children are shared, a
//! few lines of `[x, x]` make values with more elements than there are atoms: cheap to hold, fatal to whoever walks them.

use std::collections::BTreeMap;

use fleet_syntax::{Diagnostic, Span};

use super::{Evaluator, failed};
use crate::Value;

/// How many elements one evaluator makes at most: of tuples and objects, and turns of `for` and splats, those that
/// `if` drops included. Also how many elements a value has at most, counted as often as they are shared.
pub const MAX_ELEMENTS: usize = 4_000_000;

/// How deep a value is nested at most.
pub const MAX_DEPTH: usize = 512;

/// How many splats one path has at most: each maps the rest of the path over its elements, one inside the other.
pub const MAX_SPLATS: usize = 32;

/// How many bytes a template renders at most.
pub const MAX_TEXT: usize = 64 << 20;

/// How many elements one evaluator counts at most to see that no value has too many.
const MAX_COUNTED: usize = 16 * MAX_ELEMENTS;

/// What an evaluator may still do.
pub(super) struct Allowance {
    make: usize,
    count: usize,
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance { make: MAX_ELEMENTS, count: MAX_COUNTED }
    }
}

/// Why a value is refused.
enum Excess {
    Elements,
    Depth,
}

impl Evaluator<'_> {
    /// Takes note of elements about to be made; false, and reported, if they are too many.
    pub(super) fn make(&mut self, count: usize, span: Span) -> bool {
        if let Some(left) = self.allowance.make.checked_sub(count) {
            self.allowance.make = left;
            return true;
        }
        self.report(too_many(span));
        false
    }

    /// The value, unless it is too large.
    pub(super) fn measured(&mut self, value: Value, span: Span) -> Value {
        let mut left = self.allowance.count.min(MAX_ELEMENTS);
        let before = left;
        let outcome = measure(&value, MAX_DEPTH, &mut left);
        self.allowance.count -= before - left;
        match outcome {
            Ok(()) => return value,
            Err(Excess::Elements) => self.report(too_many(span)),
            Err(Excess::Depth) => {
                let detail = format!("A value is nested at most {MAX_DEPTH} deep.");
                self.report(Diagnostic::error(span, "value nested too deep", detail))
            }
        };
        failed()
    }
}

/// Counts the elements down, at any depth.
fn measure(value: &Value, depth: usize, left: &mut usize) -> Result<(), Excess> {
    let count = value.items().map_or(0, <[Value]>::len) + value.entries().map_or(0, BTreeMap::len);
    if count == 0 {
        return Ok(());
    }
    *left = left.checked_sub(count).ok_or(Excess::Elements)?;
    let depth = depth.checked_sub(1).ok_or(Excess::Depth)?;
    value.items().into_iter().flatten().try_for_each(|item| measure(item, depth, left))?;
    value.entries().into_iter().flatten().try_for_each(|(_, item)| measure(item, depth, left))
}

fn too_many(span: Span) -> Diagnostic {
    let detail = format!(
        "One expression makes at most {MAX_ELEMENTS} elements, counting every turn of every loop in it."
    );
    Diagnostic::error(span, "too many elements", detail)
        .help("Loop over less, or split the work between several values.")
}
