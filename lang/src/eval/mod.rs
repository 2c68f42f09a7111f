//! Tree + scope → value. Every problem of an expression is reported, not only the first.
//!
//! 1. this file: the evaluator, literals, tuples and objects; [`scope`]: where names come from
//! 2. [`operators`]: `a + b`, `!a`; [`conditional`]: `a ? b : c`
//! 3. [`path`]: `.attr`, `[index]` and the splats
//! 4. [`for_expr`]: both forms of `for`; [`template`]: interpolation and directives
//! 5. [`call`]: what happens around the body of a function
//! 6. [`limits`]: what keeps an expression from taking all memory or stack
//!
//! Recursion is as deep as the tree, which the parser bounds; chains of operators are walked in a loop.

mod call;
mod conditional;
mod for_expr;
mod limits;
mod operators;
mod path;
mod scope;
mod template;

use std::sync::Arc;

use fleet_syntax::tree::{Expr, ExprKind, Ident, ObjectItem, Step};
use fleet_syntax::{Diagnostic, Diagnostics, Span};

use crate::convert::convert;
use crate::references::references;
use crate::{Kind, Marks, Number, Outside, Type, Unknown, Value};

use self::limits::Allowance;

pub use limits::{MAX_DEPTH, MAX_ELEMENTS, MAX_SPLATS, MAX_TEXT};
pub use scope::{Names, Resolved, Scope};

/// Evaluates expressions in one scope and collects what is wrong with them.
pub struct Evaluator<'a> {
    /// Where names come from.
    pub scope: &'a dyn Scope,
    /// Where files, time and chance come from.
    pub outside: &'a dyn Outside,
    /// The names that enclosing `for`s bind, innermost last.
    bound: Vec<(Arc<str>, Value)>,
    /// What was wrong with values so far.
    problems: Diagnostics,
    /// What the scope could not resolve so far.
    unresolved: Diagnostics,
    /// What may still be made.
    allowance: Allowance,
    /// Whether the expressions stand in a template that another expression renders.
    rendering: bool,
}

/// The value of an expression, or everything that is wrong with it.
pub fn evaluate(expr: &Expr, scope: &dyn Scope, outside: &dyn Outside) -> Result<Value, Diagnostics> {
    let mut evaluator = Evaluator::new(scope, outside);
    let value = evaluator.evaluate(expr);
    let diagnostics = evaluator.into_diagnostics();
    if diagnostics.is_empty() { Ok(value) } else { Err(diagnostics) }
}

impl<'a> Evaluator<'a> {
    /// An evaluator without findings yet.
    #[must_use]
    pub fn new(scope: &'a dyn Scope, outside: &'a dyn Outside) -> Evaluator<'a> {
        Evaluator {
            scope,
            outside,
            bound: Vec::new(),
            problems: Vec::new(),
            unresolved: Vec::new(),
            allowance: Allowance::default(),
            rendering: false,
        }
    }

    /// An evaluator for the expressions of a template that another expression renders, with nothing but the
    /// template's own names in scope. Templates that render templates could go on for ever, so these may not.
    pub(crate) fn rendering(names: &'a Names, outside: &'a dyn Outside) -> Evaluator<'a> {
        Evaluator { rendering: true, ..Evaluator::new(names, outside) }
    }

    /// Whether the expressions stand in a template that another expression renders.
    pub(crate) fn is_rendering(&self) -> bool {
        self.rendering
    }

    /// The value of an expression. What is wrong with it is collected; a failed part is an unknown of type any, so
    /// that it causes no further complaints.
    pub fn evaluate(&mut self, expr: &Expr) -> Value {
        let findings = self.findings();
        let value = self.value(expr);
        if is_measured(expr) { value } else { self.measured(value, findings, expr.span) }
    }

    /// The value of a part of an expression.
    fn value(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Null => Value::null(),
            ExprKind::Bool(truth) => (*truth).into(),
            ExprKind::Number(text) => self.number(text, expr.span),
            ExprKind::String(text) => Kind::String(text.clone()).into(),
            ExprKind::Template(parts) => self.template(parts, expr.span),
            ExprKind::Variable(name) => self.named(name, &[]),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Call(call) => self.call(call, expr.span),
            ExprKind::Tuple(items) => self.tuple(items, expr.span),
            ExprKind::Object(items) => self.object(items, expr.span),
            ExprKind::For(each) => self.for_expr(each, expr.span),
            ExprKind::Unary(op, operand) => self.unary(*op, operand),
            ExprKind::Binary(binary) => self.binary(binary),
            ExprKind::Conditional(conditional) => self.conditional(conditional),
            ExprKind::Parens(inner) => self.value(inner),
            ExprKind::Invalid => failed(),
        }
    }

    /// Adds a finding and gives the value that stands for the failed part.
    pub fn report(&mut self, diagnostic: Diagnostic) -> Value {
        self.problems.push(diagnostic);
        failed()
    }

    /// Runs something and takes back the problems that it reported. Names that the scope could not resolve stay
    /// reported: they are wrong whether their value is used or not.
    pub fn attempt<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> Result<T, Diagnostics> {
        let before = self.problems.len();
        let result = run(self);
        if self.problems.len() > before { Err(self.problems.split_off(before)) } else { Ok(result) }
    }

    /// Reports the names of an expression that the scope does not know, without evaluating it.
    pub(crate) fn check_names(&mut self, expr: &Expr) {
        for reference in references(expr) {
            if self.bound(&reference.root.name).is_none()
                && let Err(diagnostic) = self.scope.resolve(reference.root, reference.steps)
            {
                self.unresolved.push(diagnostic);
            }
        }
    }

    /// Everything that was wrong, in the order of the text.
    #[must_use]
    pub fn into_diagnostics(self) -> Diagnostics {
        let mut diagnostics = self.unresolved;
        diagnostics.extend(self.problems);
        diagnostics.sort_by_key(|diagnostic| diagnostic.span);
        diagnostics
    }

    /// The value that an enclosing `for` binds to a name.
    #[must_use]
    pub fn bound(&self, name: &str) -> Option<&Value> {
        self.bound.iter().rev().find(|(bound, _)| &**bound == name).map(|(_, value)| value)
    }

    /// Runs something with a name bound to a value, as the body of a `for` sees its names.
    pub fn binding<T>(&mut self, name: Arc<str>, value: Value, run: impl FnOnce(&mut Self) -> T) -> T {
        let depth = self.bound.len();
        self.bound.push((name, value));
        let result = run(self);
        self.bound.truncate(depth);
        result
    }

    /// Counts findings, to see whether a part had any.
    fn findings(&self) -> usize {
        self.problems.len() + self.unresolved.len()
    }

    fn number(&mut self, text: &str, span: Span) -> Value {
        match Number::parse(text) {
            Some(number) => number.into(),
            None => {
                let detail = format!("`{text}` is not a number that can be represented.");
                self.report(Diagnostic::error(span, "invalid number", detail))
            }
        }
    }

    fn tuple(&mut self, items: &[Expr], span: Span) -> Value {
        if !self.make(items.len(), span) {
            return failed();
        }
        let findings = self.findings();
        let tuple = Value::tuple(items.iter().map(|item| self.value(item)).collect::<Arc<[Value]>>());
        self.measured(tuple, findings, span)
    }

    fn object(&mut self, items: &[ObjectItem], span: Span) -> Value {
        if !self.make(items.len(), span) {
            return failed();
        }
        let findings = self.findings();
        let mut attributes = Vec::with_capacity(items.len());
        let mut marks = Marks::NONE;
        let mut unknown = None;
        for item in items {
            let key = match &item.key.kind {
                ExprKind::Variable(name) => Ok(name.name.clone()),
                _ => self.object_key(&item.key, &mut marks),
            };
            let value = self.value(&item.value);
            match key {
                Ok(key) => attributes.push((key, value)),
                Err(key) => {
                    unknown.get_or_insert(key);
                }
            }
        }
        match unknown {
            None => {
                let object = Value::object(attributes.into_iter().collect());
                self.measured(object.mark(marks), findings, span)
            }
            Some(key) => unknown_from(Type::Any, [&key]).mark(marks),
        }
    }

    /// The text of an object key that is not a bare name; otherwise the unknown key.
    fn object_key(&mut self, expr: &Expr, marks: &mut Marks) -> Result<Arc<str>, Value> {
        if let ExprKind::Path(path) = &expr.kind
            && matches!(path.base.kind, ExprKind::Variable(_))
        {
            let detail = "A path as a key could be meant as a name or as a reference.";
            let diagnostic = Diagnostic::error(expr.span, "ambiguous key", detail).help(
                "put the key in parentheses to use the value it refers to, or in quotes to use it as a name",
            );
            return Err(self.report(diagnostic));
        }
        let key = self.value(expr);
        self.key_text(key, expr.span, marks)
    }

    /// The text of a key, its marks taken over; an unknown if it is unknown or, which is reported, cannot be a key.
    fn key_text(&mut self, key: Value, span: Span, marks: &mut Marks) -> Result<Arc<str>, Value> {
        let (key, key_marks) = key.unmark();
        *marks |= key_marks;
        match key.kind {
            Kind::String(text) => Ok(text),
            Kind::Null(_) => Err(self.report(Diagnostic::error(
                span,
                "null as a key",
                "The key is null, but must be a string.",
            ))),
            _ => match convert(&key, &Type::String) {
                Ok(Value { kind: Kind::String(text), .. }) => Ok(text),
                Ok(unknown) => Err(unknown),
                Err(error) => {
                    let detail = format!("The key cannot be used as a string: {error}.");
                    Err(self.report(Diagnostic::error(span, "unsuitable key", detail)))
                }
            },
        }
    }

    /// The value of a name with the steps after it.
    fn named(&mut self, root: &Ident, steps: &[Step]) -> Value {
        if let Some(value) = self.bound(&root.name) {
            return self.walk(value.clone(), steps);
        }
        match self.scope.resolve(root, steps) {
            Ok(resolved) => {
                let taken = resolved.steps.min(steps.len());
                self.walk(resolved.value, &steps[taken..])
            }
            Err(diagnostic) => {
                self.unresolved.push(diagnostic);
                failed()
            }
        }
    }
}

/// Whether the value of an expression is known not to be too large: tuples, objects and loops are measured as they are
/// made, what comes out of a scope was measured then, and operators make scalars.
fn is_measured(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Template(_) | ExprKind::Call(_) | ExprKind::Conditional(_) | ExprKind::Parens(_) => false,
        ExprKind::Path(path) => matches!(path.base.kind, ExprKind::Variable(_)),
        _ => true,
    }
}

/// What a failed part evaluates to.
fn failed() -> Value {
    Value::unknown(Type::Any)
}

/// An unknown of a type that waits for the first reference that one of the operands waits for.
pub(crate) fn unknown_from<'v>(ty: Type, operands: impl IntoIterator<Item = &'v Value>) -> Value {
    let awaits = operands.into_iter().find_map(Value::awaits).cloned();
    Unknown { ty, awaits, not_null: false }.into()
}

/// An unknown that will not be null.
pub(crate) fn unknown_result<'v>(ty: Type, operands: impl IntoIterator<Item = &'v Value>) -> Value {
    let awaits = operands.into_iter().find_map(Value::awaits).cloned();
    Unknown { ty, awaits, not_null: true }.into()
}
