//! What keeps an expression from taking all memory or stack. Nested loops multiply, and because children are shared, a
//! few lines of `[x, x]` make values with more elements than there are atoms: cheap to hold, fatal to whoever walks them.

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

    /// The value, unless it is too large. If there are more findings than before it, a part of it failed and whatever
    /// else is wrong with it goes without saying.
    pub(super) fn measured(&mut self, value: Value, findings: usize, span: Span) -> Value {
        let mut left = self.allowance.count.min(MAX_ELEMENTS);
        let before = left;
        let outcome = measure(&value, MAX_DEPTH, &mut left);
        self.allowance.count -= before - left;
        match outcome {
            Ok(()) => value,
            Err(_) if self.findings() > findings => failed(),
            Err(Excess::Elements) => self.report(too_many(span)),
            Err(Excess::Depth) => {
                let detail = format!("A value is nested at most {MAX_DEPTH} deep.");
                self.report(Diagnostic::error(span, "value nested too deep", detail))
            }
        }
    }
}

/// Counts the elements down, at any depth.
fn measure(value: &Value, depth: usize, left: &mut usize) -> Result<(), Excess> {
    let count = value.items().map_or(0, <[Value]>::len) + value.entries().map_or(0, |entries| entries.len());
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
        .help("loop over less, or split the work between several values")
}

#[cfg(test)]
mod tests {
    use fleet_syntax::FileId;
    use fleet_syntax::parse::parse_expression;

    use super::*;
    use crate::outside::Memory;
    use crate::{Names, Type};

    /// What is wrong with an expression if little is allowed; `x` is a list of ten numbers.
    fn problems(text: &str) -> Vec<String> {
        let ten = Value::list(Type::Number, (0..10).map(Value::from).collect());
        let (scope, outside) = (Names([("x".into(), ten)].into()), Memory::default());
        let mut evaluator = Evaluator::new(&scope, &outside);
        evaluator.allowance = Allowance { make: 200, count: 1000 };
        let (expr, problems) = parse_expression(FileId(0), text);
        assert!(problems.is_empty(), "{text}: {problems:?}");
        evaluator.evaluate(&expr);
        evaluator.into_diagnostics().into_iter().map(|problem| problem.summary).collect()
    }

    #[test]
    fn loops_that_multiply_are_stopped() {
        let check = |text, expected: &[&str]| assert_eq!(problems(text), expected, "{text}");
        check("[for a in x : [for b in x : 1]]", &[]);
        check("[for a in x : [for b in x : [for c in x : 1]]]", &["too many elements"]);
        check("[for a in x : [for b in x : [for c in x : 1 if false]]]", &["too many elements"]);
        check("[for a in x : [for b in x : x[*]]]", &["too many elements"]);
        check("[for a in x : [for b in x : [1, 2]]]", &["too many elements"]);
        check(
            "\"%{ for a in x }%{ for b in x }%{ for c in x }%{ endfor }%{ endfor }%{ endfor }\"",
            &["too many elements"],
        );
        check("max([for a in x : max([for b in x : max(x...)]...)]...)", &["too many elements"]);
    }

    #[test]
    fn values_that_share_are_counted_as_often_as_they_are_seen() {
        let doubled = |times| {
            let open: String = (0..times).map(|i| format!("[for a{} in [[a{i}, a{i}]] : ", i + 1)).collect();
            format!("[for a0 in [1] : {open}a{times}{}]", "]".repeat(times))
        };
        assert_eq!(problems(&doubled(4)), [""; 0]);
        assert_eq!(problems(&doubled(40)), ["too many elements"]);
    }

    #[test]
    fn values_nested_too_deep_are_refused() {
        let nested = |depth| (0..depth).fold(Value::from(1), |value, _| Value::tuple([value]));
        let check = |depth, fits| {
            assert_eq!(
                measure(&nested(depth), MAX_DEPTH, &mut MAX_ELEMENTS.clone()).is_ok(),
                fits,
                "{depth}"
            );
        };
        check(MAX_DEPTH, true);
        check(MAX_DEPTH + 1, false);
    }
}
