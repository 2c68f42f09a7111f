//! Operators. Operands are converted, except those of `==`; both sides are always evaluated.

use fleet_syntax::tree::{Binary, BinaryOp, Expr, ExprKind, UnaryOp};
use fleet_syntax::{Diagnostic, Span};

use super::{Evaluator, failed, unknown_result};
use crate::convert::convert;
use crate::equal::equal;
use crate::{Kind, Number, Type, Value};

impl Evaluator<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &Expr) -> Value {
        let (symbol, ty) = match op {
            UnaryOp::Not => ("!", Type::Bool),
            UnaryOp::Negate => ("-", Type::Number),
        };
        let value = self.value(operand);
        let Some(value) = self.operand(value, &ty, operand.span, format_args!("The operand of `{symbol}`"))
        else {
            return failed();
        };
        let result = match &value.kind {
            Kind::Bool(truth) => (!truth).into(),
            Kind::Number(number) => number.neg().into(),
            _ => unknown_result(ty, [&value]),
        };
        result.mark(value.marks)
    }

    /// Evaluates the left spine of a chain in a loop: `a + b + c …` may be long.
    pub(super) fn binary(&mut self, binary: &Binary) -> Value {
        let mut innermost = binary;
        let mut later = Vec::new();
        while let ExprKind::Binary(left) = &innermost.left.kind {
            later.push(innermost);
            innermost = left;
        }
        let first = self.value(&innermost.left);
        std::iter::once(innermost).chain(later.into_iter().rev()).fold(first, |left, binary| {
            let right = self.value(&binary.right);
            self.combine(binary, left, right)
        })
    }

    fn combine(&mut self, binary: &Binary, left: Value, right: Value) -> Value {
        match binary.op {
            BinaryOp::Equal => return equal(&left, &right),
            BinaryOp::NotEqual => return not(equal(&left, &right)),
            _ => {}
        }
        let takes = operand_type(binary.op);
        let symbol = symbol(binary.op);
        let left = self.operand(left, &takes, binary.left.span, format_args!("The left side of `{symbol}`"));
        let right =
            self.operand(right, &takes, binary.right.span, format_args!("The right side of `{symbol}`"));
        let (Some(left), Some(right)) = (left, right) else {
            return failed();
        };
        let result = match (&left.kind, &right.kind) {
            (Kind::Number(a), Kind::Number(b)) => self.calculate(binary, a, b),
            (Kind::Bool(a), Kind::Bool(b)) => {
                if binary.op == BinaryOp::And { *a && *b } else { *a || *b }.into()
            }
            _ => unknown_result(result_type(binary.op), [&left, &right]),
        };
        result.mark(left.marks | right.marks)
    }

    fn calculate(&mut self, binary: &Binary, a: &Number, b: &Number) -> Value {
        let number = match binary.op {
            BinaryOp::Less => return (a < b).into(),
            BinaryOp::LessEqual => return (a <= b).into(),
            BinaryOp::Greater => return (a > b).into(),
            BinaryOp::GreaterEqual => return (a >= b).into(),
            BinaryOp::Add => a.add(b),
            BinaryOp::Subtract => a.sub(b),
            BinaryOp::Multiply => a.mul(b),
            BinaryOp::Divide => a.div(b),
            _ => a.rem(b),
        };
        match number {
            Some(number) => number.into(),
            None => {
                let span = binary.left.span.to(binary.right.span);
                let detail = format!("`{}` has no result for these numbers.", symbol(binary.op));
                self.report(Diagnostic::error(span, "undefined calculation", detail))
            }
        }
    }

    /// Converts an operand; nothing, and reported, if it is null or cannot be converted.
    fn operand(
        &mut self,
        value: Value,
        ty: &Type,
        span: Span,
        what: std::fmt::Arguments<'_>,
    ) -> Option<Value> {
        match (&value.kind, ty) {
            (Kind::Number(_), Type::Number) | (Kind::Bool(_), Type::Bool) => return Some(value),
            (Kind::Null(_), _) => {
                let detail = format!("{what} is null, but must be a {ty}.");
                self.report(Diagnostic::error(span, "null operand", detail));
                return None;
            }
            _ => {}
        }
        match convert(&value, ty) {
            Ok(value) => Some(value),
            Err(error) => {
                let detail = format!("{what} is unsuitable: {error}.");
                self.report(Diagnostic::error(span, "unsuitable operand", detail));
                None
            }
        }
    }
}

/// The opposite of a truth that may be unknown or marked.
fn not(value: Value) -> Value {
    match value.kind {
        Kind::Bool(truth) => Value::from(!truth).mark(value.marks),
        _ => value,
    }
}

/// The type of an operator's result.
pub(super) fn result_type(op: BinaryOp) -> Type {
    match op {
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => {
            Type::Number
        }
        _ => Type::Bool,
    }
}

/// The type that an operator, other than `==` and `!=`, wants on both sides.
fn operand_type(op: BinaryOp) -> Type {
    match op {
        BinaryOp::Or | BinaryOp::And => Type::Bool,
        _ => Type::Number,
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "||",
        BinaryOp::And => "&&",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
    }
}
