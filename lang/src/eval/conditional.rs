//! `condition ? then : otherwise`. Both branches are evaluated, because the type of the result is the type that both
//! can be converted to; problems of the branch not taken do not count, but its marks do.

use fleet_syntax::tree::{Conditional, Expr, ExprKind, UnaryOp};
use fleet_syntax::{Diagnostic, Diagnostics, Span};

use super::operators::result_type;
use super::{Evaluator, failed, unknown_from, unknown_result};
use crate::convert::{convert, unify};
use crate::{Kind, Marks, Type, Value};

/// What a condition comes to.
pub(super) enum Truth {
    /// Known, with the marks that whatever depends on it gets.
    Known(bool, Marks),
    /// Not known yet, or failed: the unknown.
    Unknown(Value),
}

impl Evaluator<'_> {
    pub(super) fn conditional(&mut self, conditional: &Conditional) -> Value {
        let condition = self.condition(&conditional.condition);
        let (then, then_problems) = self.branch(&conditional.then);
        let (otherwise, otherwise_problems) = self.branch(&conditional.otherwise);
        let Some(ty) = common_type(&then, &otherwise) else {
            return self.report(mismatch(conditional, &then.ty(), &otherwise.ty()));
        };
        // Whether the other branch was looked at does not count: its marks are on the result too.
        let marks = then.marks | otherwise.marks;
        let (taken, problems, marks, span) = match condition {
            Truth::Known(true, more) => (then, then_problems, marks | more, conditional.then.span),
            Truth::Known(false, more) => {
                (otherwise, otherwise_problems, marks | more, conditional.otherwise.span)
            }
            Truth::Unknown(condition) => {
                let marks = marks | condition.marks;
                if let (Kind::Number(a), Kind::Number(b)) = (&then.kind, &otherwise.kind)
                    && a == b
                {
                    return then.mark(marks);
                }
                let unknown = if is_never_null(&then) && is_never_null(&otherwise) {
                    unknown_result(ty, [&condition])
                } else {
                    unknown_from(ty, [&condition])
                };
                return unknown.mark(marks);
            }
        };
        if !problems.is_empty() {
            self.problems.extend(problems);
            return failed();
        }
        match convert(&taken, &ty) {
            Ok(value) => value.mark(marks),
            Err(error) => {
                let detail =
                    format!("This value cannot be converted to the type that both results share: {error}.");
                self.report(Diagnostic::error(span, "unsuitable conditional result", detail))
            }
        }
    }

    /// Evaluates what must be true or false.
    pub(super) fn condition(&mut self, expr: &Expr) -> Truth {
        let value = self.value(expr);
        self.truth(&value, expr.span)
    }

    /// Reads a condition; anything but a bool or something that converts to one is reported.
    pub(super) fn truth(&mut self, value: &Value, span: Span) -> Truth {
        match &value.kind {
            Kind::Bool(truth) => return Truth::Known(*truth, value.marks),
            Kind::Null(_) => {
                let detail = "The condition is null, but must be true or false.";
                return Truth::Unknown(self.report(Diagnostic::error(span, "null condition", detail)));
            }
            _ => {}
        }
        match convert(value, &Type::Bool) {
            Ok(Value { kind: Kind::Bool(truth), marks }) => Truth::Known(truth, marks),
            Ok(unknown) => Truth::Unknown(unknown),
            Err(error) => {
                let detail = format!("The condition must be true or false: {error}.");
                Truth::Unknown(self.report(Diagnostic::error(span, "unsuitable condition", detail)))
            }
        }
    }

    /// Evaluates a branch and keeps its problems apart.
    fn branch(&mut self, expr: &Expr) -> (Value, Diagnostics) {
        let before = self.problems.len();
        let value = self.value(expr);
        let problems = self.problems.split_off(before);
        match &value.kind {
            Kind::Unknown(unknown) if unknown.ty == Type::Any && !problems.is_empty() => {
                (Value::unknown(type_of_form(expr)), problems)
            }
            _ => (value, problems),
        }
    }
}

/// The type that an expression would have had, as far as its form alone tells: the type of a conditional must not
/// depend on whether the branch not taken fails.
fn type_of_form(expr: &Expr) -> Type {
    match &expr.kind {
        ExprKind::Unary(UnaryOp::Not, _) => Type::Bool,
        ExprKind::Unary(UnaryOp::Negate, _) => Type::Number,
        ExprKind::Binary(binary) => result_type(binary.op),
        ExprKind::Parens(inner) => type_of_form(inner),
        _ => Type::Any,
    }
}

fn is_never_null(value: &Value) -> bool {
    match &value.kind {
        Kind::Null(_) => false,
        Kind::Unknown(unknown) => unknown.not_null,
        _ => true,
    }
}

/// The type of a conditional: a bare `null` takes the other's.
fn common_type(then: &Value, otherwise: &Value) -> Option<Type> {
    match (&then.kind, &otherwise.kind) {
        (Kind::Null(Type::Any), _) => Some(otherwise.ty()),
        (_, Kind::Null(Type::Any)) => Some(then.ty()),
        // Most conditionals choose between two values of one simple type.
        (Kind::String(_), Kind::String(_)) => Some(Type::String),
        (Kind::Number(_), Kind::Number(_)) => Some(Type::Number),
        (Kind::Bool(_), Kind::Bool(_)) => Some(Type::Bool),
        _ => unify(&[then.ty(), otherwise.ty()]),
    }
}

fn mismatch(conditional: &Conditional, then: &Type, otherwise: &Type) -> Diagnostic {
    let span = conditional.then.span.to(conditional.otherwise.span);
    let detail = format!(
        "Both results of a conditional must have one type, or types that convert to one: {}.",
        difference("", then, otherwise)
    );
    Diagnostic::error(span, "inconsistent conditional results", detail)
        .help("convert one of the results, for instance with `tostring` or `tolist`")
}

/// Says where two types that have nothing in common differ first.
fn difference(place: &str, then: &Type, otherwise: &Type) -> String {
    match (then, otherwise) {
        (Type::Object(a), Type::Object(b)) if a.attributes.keys().eq(b.attributes.keys()) => {
            let mut pairs = a.attributes.iter().zip(b.attributes.values());
            if let Some(((name, a), b)) =
                pairs.find(|((_, a), b)| unify(&[(*a).clone(), (*b).clone()]).is_none())
            {
                return difference(&format!("{place}.{name}"), a, b);
            }
        }
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b.iter()).enumerate();
            if let Some((index, (a, b))) =
                pairs.find(|(_, (a, b))| unify(&[(*a).clone(), (*b).clone()]).is_none())
            {
                return difference(&format!("{place}[{index}]"), a, b);
            }
        }
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            return difference(&format!("{place}[*]"), a, b);
        }
        _ => {}
    }
    let at = if place.is_empty() { String::new() } else { format!("`{place}` of ") };
    format!("{at}the true result is {then}, {at}the false result is {otherwise}")
}
