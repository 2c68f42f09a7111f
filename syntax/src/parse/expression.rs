//! Operators, conditionals and paths.

use std::sync::Arc;

use super::parser::Parser;
use crate::token::{Token, TokenKind, TokenKind as K};
use crate::tree::{Binary, BinaryOp, Conditional, Expr, ExprKind, Path, Step, UnaryOp};
use crate::{Diagnostic, Span};

impl<'a> Parser<'a> {
    /// A text that is one expression and nothing else.
    pub(super) fn whole_expression(&mut self) -> Expr {
        self.ignore_newlines();
        let expr = self.expression();
        if self.kind() != K::Eof {
            self.fail_expected("the end of the expression");
        }
        expr
    }

    /// Any expression, one level below what is around it.
    pub(super) fn expression(&mut self) -> Expr {
        if !self.enter() {
            return self.invalid(self.here());
        }
        let before = self.measure();
        let mut expr = self.binary(0);
        if self.kind() == K::Question && !self.lost {
            expr = self.conditional(expr);
        }
        self.measured(before);
        self.leave();
        expr
    }

    fn conditional(&mut self, condition: Expr) -> Expr {
        let question = self.bump();
        self.wrap();
        let then = self.expression();
        if self.lost {
            return condition;
        }
        if self.kind() != K::Colon {
            self.fail_conditional(question);
            return condition;
        }
        self.bump();
        let otherwise = self.expression();
        let span = condition.span.to(otherwise.span);
        Expr { kind: ExprKind::Conditional(Box::new(Conditional { condition, then, otherwise })), span }
    }

    fn fail_conditional(&mut self, question: Token) {
        let diagnostic = self.expected("`:`").related(self.span_of(question), "of this conditional");
        self.fail(diagnostic);
    }

    /// Operands joined by operators that bind at least as tightly as told.
    fn binary(&mut self, least: u8) -> Expr {
        let before = self.measure();
        let mut left = self.unary();
        while let Some((op, binding)) = binary_operator(self.kind()).filter(|(_, binding)| *binding >= least)
        {
            if self.lost {
                break;
            }
            let token = self.bump();
            self.wrap();
            if self.lost || !self.enter() {
                break;
            }
            let right = self.binary(binding + 1);
            self.leave();
            let span = left.span.to(right.span);
            let op_span = self.span_of(token);
            left = Expr { kind: ExprKind::Binary(Box::new(Binary { left, op, op_span, right })), span };
        }
        self.measured(before);
        left
    }

    fn unary(&mut self) -> Expr {
        let op = match self.kind() {
            K::Bang => UnaryOp::Not,
            K::Minus => UnaryOp::Negate,
            _ => return self.path(),
        };
        let token = self.bump();
        if !self.enter() {
            return self.invalid(self.span_of(token));
        }
        let operand = self.unary();
        self.leave();
        let span = self.span_of(token).to(operand.span);
        Expr { kind: ExprKind::Unary(op, Box::new(operand)), span }
    }

    /// A term and the steps taken from it.
    fn path(&mut self) -> Expr {
        let before = self.measure();
        let base = self.term();
        let mut steps = Vec::new();
        // Whether `.name` still belongs to a `.*`.
        let mut splat = false;
        if matches!(self.kind(), K::Dot | K::OpenBracket) {
            self.wrap();
        }
        while !self.lost {
            match self.kind() {
                K::Dot => self.dot_step(&mut steps, &mut splat),
                K::OpenBracket => {
                    splat = false;
                    self.bracket_step(&mut steps);
                }
                _ => break,
            }
        }
        self.measured(before);
        if steps.is_empty() {
            return base;
        }
        steps.shrink_to_fit();
        let span = self.since(base.span.start);
        Expr { kind: ExprKind::Path(Box::new(Path { base, steps })), span }
    }

    fn dot_step(&mut self, steps: &mut Vec<Step>, splat: &mut bool) {
        let dot = self.bump();
        match self.kind() {
            K::Ident => {
                let token = self.bump();
                steps.push(Step::Attr(self.ident(token)));
            }
            K::Number => {
                let token = self.bump();
                self.legacy_index(dot, token, steps);
            }
            K::Star => {
                let star = self.bump();
                let span = self.span_of(dot).to(self.span_of(star));
                if *splat {
                    let detail = "Only `.name` and `.0` may follow the first `.*`.";
                    self.complain(span, "`.*` inside of `.*`", detail, "use `[*]` for both");
                }
                *splat = true;
                steps.push(Step::AttrSplat(span));
            }
            _ => self.fail_expected("a name after `.`"),
        }
    }

    /// `.0`, the old way to write `[0]`. Two of them look like a fraction.
    fn legacy_index(&mut self, dot: Token, token: Token, steps: &mut Vec<Step>) {
        let text = token.text(self.text);
        let span = self.span_of(dot).to(self.span_of(token));
        if text.contains('.') {
            let detail = "After a dot stands a name or one number.";
            let diagnostic = Diagnostic::error(span, format!("unsuitable index `.{text}`"), detail);
            let indexes: String = text.split('.').map(|index| format!("[{index}]")).collect();
            self.report(diagnostic.help(format!("write `{indexes}`")));
        }
        let key = Expr { kind: ExprKind::Number(self.name(text)), span: self.span_of(token) };
        steps.push(Step::Index(key, span));
    }

    fn bracket_step(&mut self, steps: &mut Vec<Step>) {
        let bracket = self.open(K::CloseBracket, false);
        let open = self.span_of(bracket.open);
        if self.current().kind == K::Star {
            self.bump();
            let close = self.close(bracket, "`]` after `[*`");
            steps.push(Step::FullSplat(open.to(close)));
        } else {
            if self.at_close(bracket) {
                let detail = "An element is chosen by its key or position.";
                let help = "write `[0]` for the first element, `[*]` for all of them";
                self.complain(open.to(self.here()), "index without a key", detail, help);
            }
            let key = if self.at_close(bracket) { self.invalid(self.here()) } else { self.expression() };
            let close = self.close(bracket, "`]`");
            steps.push(Step::Index(key, open.to(close)));
        }
    }

    /// The text of a number as it is kept in the tree.
    pub(super) fn number(&mut self, token: Token) -> Expr {
        let text = token.text(self.text);
        let span: Span = self.span_of(token);
        if text.bytes().filter(|byte| *byte == b'.').count() > 1 {
            let detail = "A number has one decimal point at most.";
            self.report(
                Diagnostic::error(span, "malformed number", detail)
                    .help("put versions and addresses in quotes"),
            );
            return self.invalid(span);
        }
        let text: Arc<str> = self.name(text);
        Expr { kind: ExprKind::Number(text), span }
    }
}

/// The operator and how tightly it binds.
fn binary_operator(kind: TokenKind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        K::Or => (BinaryOp::Or, 0),
        K::And => (BinaryOp::And, 1),
        K::EqualEqual => (BinaryOp::Equal, 2),
        K::NotEqual => (BinaryOp::NotEqual, 2),
        K::Less => (BinaryOp::Less, 3),
        K::LessEqual => (BinaryOp::LessEqual, 3),
        K::Greater => (BinaryOp::Greater, 3),
        K::GreaterEqual => (BinaryOp::GreaterEqual, 3),
        K::Plus => (BinaryOp::Add, 4),
        K::Minus => (BinaryOp::Subtract, 4),
        K::Star => (BinaryOp::Multiply, 5),
        K::Slash => (BinaryOp::Divide, 5),
        K::Percent => (BinaryOp::Remainder, 5),
        _ => return None,
    })
}
