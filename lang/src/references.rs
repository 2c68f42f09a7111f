//! The names that an expression takes from its scope: what it depends on, known without evaluating it.

use fleet_syntax::Span;
use fleet_syntax::tree::{Expr, ExprKind, Ident, Step, TemplatePart};

/// A use of a name from the scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference<'e> {
    /// The name it starts with.
    pub root: &'e Ident,
    /// All the steps taken from it.
    pub steps: &'e [Step],
    /// Name and steps.
    pub span: Span,
}

/// All references of an expression in the order of the text, those inside indexes, templates and arguments included.
/// Names bound by a `for` around them are none.
#[must_use]
pub fn references(expr: &Expr) -> Vec<Reference<'_>> {
    let mut finder = Finder::default();
    finder.expr(expr);
    finder.found
}

/// The names of all functions that an expression calls, in the order of the text.
#[must_use]
pub fn calls(expr: &Expr) -> Vec<&Ident> {
    let mut finder = Finder::default();
    finder.expr(expr);
    finder.calls
}

#[derive(Default)]
struct Finder<'e> {
    found: Vec<Reference<'e>>,
    calls: Vec<&'e Ident>,
    /// The names that enclosing `for`s bind.
    bound: Vec<&'e str>,
}

impl<'e> Finder<'e> {
    fn expr(&mut self, expr: &'e Expr) {
        match &expr.kind {
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Number(_)
            | ExprKind::String(_)
            | ExprKind::Invalid => {}
            ExprKind::Template(parts) => self.parts(parts),
            ExprKind::Variable(root) => self.reference(root, &[], expr.span),
            ExprKind::Path(path) => {
                match &path.base.kind {
                    ExprKind::Variable(root) => self.reference(root, &path.steps, expr.span),
                    _ => self.expr(&path.base),
                }
                for step in &path.steps {
                    if let Step::Index(key, _) = step {
                        self.expr(key);
                    }
                }
            }
            ExprKind::Call(call) => {
                self.calls.push(&call.name);
                self.all(&call.args);
            }
            ExprKind::Tuple(items) => self.all(items),
            ExprKind::Object(items) => {
                for item in items {
                    if !matches!(item.key.kind, ExprKind::Variable(_)) {
                        self.expr(&item.key);
                    }
                    self.expr(&item.value);
                }
            }
            ExprKind::For(each) => {
                self.expr(&each.collection);
                self.binding(each.key_name.as_ref(), &each.value_name, |finder| {
                    finder.all(&each.key);
                    finder.expr(&each.value);
                    finder.all(&each.condition);
                });
            }
            ExprKind::Unary(_, operand) => self.expr(operand),
            ExprKind::Binary(_) => self.chain(expr),
            ExprKind::Conditional(conditional) => {
                self.all([&conditional.condition, &conditional.then, &conditional.otherwise]);
            }
            ExprKind::Parens(inner) => self.expr(inner),
        }
    }

    fn all(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    /// Walks the left spine of operators in a loop, since it may be long.
    fn chain(&mut self, expr: &'e Expr) {
        let mut rights = Vec::new();
        let mut leftmost = expr;
        while let ExprKind::Binary(binary) = &leftmost.kind {
            rights.push(&binary.right);
            leftmost = &binary.left;
        }
        self.expr(leftmost);
        self.all(rights.into_iter().rev());
    }

    fn parts(&mut self, parts: &'e [TemplatePart]) {
        for part in parts {
            match part {
                TemplatePart::Literal(_) => {}
                TemplatePart::Interpolation(expr) => self.expr(expr),
                TemplatePart::If(directive) => {
                    self.expr(&directive.condition);
                    self.parts(&directive.then);
                    self.parts(&directive.otherwise);
                }
                TemplatePart::For(directive) => {
                    self.expr(&directive.collection);
                    self.binding(directive.key_name.as_ref(), &directive.value_name, |finder| {
                        finder.parts(&directive.body);
                    });
                }
            }
        }
    }

    fn binding(&mut self, key: Option<&'e Ident>, value: &'e Ident, inside: impl FnOnce(&mut Self)) {
        let depth = self.bound.len();
        self.bound.extend(key.into_iter().chain([value]).map(|name| &*name.name));
        inside(self);
        self.bound.truncate(depth);
    }

    fn reference(&mut self, root: &'e Ident, steps: &'e [Step], span: Span) {
        if !self.bound.contains(&&*root.name) {
            self.found.push(Reference { root, steps, span });
        }
    }
}
