//! What operators stand between: literals, names, calls and everything in brackets.

use super::literal::normal;
use super::parser::Parser;
use super::recovery::{Bracket, Separator};
use crate::token::{Token, TokenKind as K};
use crate::tree::{Call, Expr, ExprKind, For, Ident, ObjectItem};

impl<'a> Parser<'a> {
    /// What follows `=`. On the next line it is misplaced, but if it opens a bracket there it is meant.
    pub(super) fn value(&mut self) -> Expr {
        if self.kind() == K::Newline {
            self.value_on_next_line();
        }
        self.expression()
    }

    fn value_on_next_line(&mut self) {
        let diagnostic = self.expected("a value").help("start the value on the line of its `=`");
        match self.kind_on_next_line() {
            K::OpenBrace | K::OpenBracket | K::OpenParen | K::OpenHeredoc => {
                self.report(diagnostic);
                self.eat_newlines();
            }
            _ => self.fail(diagnostic),
        }
    }

    pub(super) fn term(&mut self) -> Expr {
        match self.kind() {
            K::Number => {
                let token = self.bump();
                self.number(token)
            }
            K::Ident => self.word(),
            K::OpenQuote => self.quoted(),
            K::OpenHeredoc => self.heredoc(),
            K::OpenParen => self.parens(),
            K::OpenBracket => self.tuple(),
            K::OpenBrace => self.object(),
            K::Newline => {
                // After an operator, the rest of the expression is likely on the next line.
                self.gave_up = true;
                self.fail_expected_help("a value", "inside parentheses an expression may span lines");
                self.invalid(self.here())
            }
            _ => {
                self.fail_expected("a value");
                self.invalid(self.here())
            }
        }
    }

    fn word(&mut self) -> Expr {
        let token = self.bump();
        if matches!(self.kind(), K::OpenParen | K::DoubleColon) {
            return self.call(token);
        }
        let kind = match token.text(self.text) {
            "null" => ExprKind::Null,
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            _ => ExprKind::Variable(self.ident(token)),
        };
        Expr { kind, span: self.span_of(token) }
    }

    fn call(&mut self, first: Token) -> Expr {
        let mut name = self.ident(first);
        if self.kind() == K::DoubleColon {
            let mut joined = name.name.to_string();
            while self.eat(K::DoubleColon) {
                if self.kind() != K::Ident {
                    self.fail_expected("the name of a function");
                    return self.invalid(name.span);
                }
                let part = self.bump();
                joined.push_str("::");
                joined.push_str(part.text(self.text));
            }
            name = Ident { name: normal(&joined), span: self.since(first.start) };
        }
        if self.kind() != K::OpenParen {
            self.fail_expected(&format!("`(` after the function `{}`", name.name));
            return self.invalid(name.span);
        }
        let bracket = self.open(K::CloseParen, false);
        let (mut args, mut expand_last) = (Vec::new(), false);
        while !self.lost && !self.at_close(bracket) {
            if self.cannot_follow(bracket) {
                self.fail_unclosed(bracket, "an argument or `)`");
                break;
            }
            args.push(self.expression());
            if self.lost {
                break;
            }
            if self.eat(K::Ellipsis) {
                expand_last = true;
                if self.kind() == K::Comma {
                    self.fail_expected_help("`)` after `...`", "put the list to expand last");
                }
                break;
            }
            if self.kind() == K::Equal {
                let help = "arguments of functions have no names; to compare two values, write `==`";
                self.fail_expected_help("`,` or `)`", help);
            }
            if !self.eat(K::Comma) {
                break;
            }
        }
        args.shrink_to_fit();
        let close = self.close(bracket, "`,` or `)`");
        let span = name.span.to(close);
        Expr { kind: ExprKind::Call(Box::new(Call { name, args, expand_last, close })), span }
    }

    fn parens(&mut self) -> Expr {
        let bracket = self.open(K::CloseParen, false);
        if self.cannot_follow(bracket) {
            self.fail_unclosed(bracket, "a value");
        }
        let inner = self.expression();
        let close = self.close(bracket, "`)`");
        let span = self.span_of(bracket.open).to(close);
        Expr { kind: ExprKind::Parens(Box::new(inner)), span }
    }

    fn tuple(&mut self) -> Expr {
        let bracket = self.open(K::CloseBracket, false);
        if self.is_word("for") {
            return self.for_expr(bracket, false);
        }
        let mut items = Vec::new();
        while !self.at_close(bracket) {
            if self.cannot_follow(bracket) {
                self.fail_unclosed(bracket, "an item or `]`");
            } else {
                items.push(self.expression());
                if !self.lost && !self.at_close(bracket) && self.kind() != K::Comma {
                    self.fail_unclosed(bracket, "`,` or `]`");
                }
            }
            if self.lost && !self.resume(bracket, Separator::Comma) {
                break;
            }
            self.eat(K::Comma);
        }
        items.shrink_to_fit();
        let close = self.close(bracket, "`,` or `]`");
        Expr { kind: ExprKind::Tuple(items), span: self.span_of(bracket.open).to(close) }
    }

    fn object(&mut self) -> Expr {
        let bracket = self.open(K::CloseBrace, true);
        self.eat_newlines();
        if self.is_word("for") {
            self.ignore_newlines();
            return self.for_expr(bracket, true);
        }
        let mut items = Vec::new();
        loop {
            self.eat_newlines();
            if self.at_close(bracket) {
                break;
            }
            if self.cannot_follow(bracket) {
                self.fail_unclosed(bracket, "an item or `}`");
            } else {
                items.extend(self.object_item(bracket));
            }
            if self.lost && !self.resume(bracket, Separator::CommaOrNewline) {
                break;
            }
            self.eat(K::Comma);
        }
        items.shrink_to_fit();
        let close = self.close(bracket, "`}`");
        Expr { kind: ExprKind::Object(items), span: self.span_of(bracket.open).to(close) }
    }

    fn object_item(&mut self, bracket: Bracket) -> Option<ObjectItem> {
        let mut key = self.expression();
        if self.lost {
            return None;
        }
        // In this place the words of constants are names like any other.
        if let ExprKind::Null | ExprKind::Bool(_) = key.kind {
            let text = self.text;
            let name = self.name(&text[key.span.start as usize..key.span.end as usize]);
            key.kind = ExprKind::Variable(Ident { name, span: key.span });
        }
        if self.kind() == K::Newline && self.kind_on_next_line() == K::Equal {
            self.report(self.expected("`=` after the key"));
            self.eat_newlines();
        }
        if !matches!(self.kind(), K::Equal | K::Colon) {
            self.fail_expected("`=` after the key");
            return None;
        }
        self.bump();
        let value = self.value();
        if !self.lost && !self.at_close(bracket) && !matches!(self.kind(), K::Comma | K::Newline) {
            match self.kind() {
                K::CloseBrace | K::CloseBracket | K::CloseParen | K::CloseTemplate | K::Eof => {
                    self.fail_unclosed(bracket, "`,`, a newline or `}`");
                }
                _ => self.fail_expected("`,`, a newline or `}`"),
            }
        }
        Some(ObjectItem { key, value })
    }

    fn for_expr(&mut self, bracket: Bracket, object: bool) -> Expr {
        self.bump();
        let expr = self.for_parts(object);
        let close = self.close(bracket, if object { "`}`" } else { "`]`" });
        let span = self.span_of(bracket.open).to(close);
        match expr {
            Some(expr) => Expr { kind: ExprKind::For(expr), span },
            None => self.invalid(span),
        }
    }

    fn for_parts(&mut self, object: bool) -> Option<Box<For>> {
        let (key_name, value_name, collection) = self.for_intro()?;
        if self.kind() != K::Colon {
            self.fail_expected("`:` after the collection of `for`");
            return None;
        }
        self.bump();
        let mut key = None;
        let mut value = self.expression();
        if self.lost {
            return None;
        }
        if object {
            if self.kind() != K::Arrow {
                let help = "`{for …}` makes an object: write `key => value`; for a tuple use `[for …]`";
                self.fail_expected_help("`=>` after the key", help);
                return None;
            }
            self.bump();
            key = Some(std::mem::replace(&mut value, self.expression()));
        } else if self.kind() == K::Arrow {
            self.fail_expected_help("`]`", "`[for …]` makes a tuple of values alone; for keys use `{for …}`");
            return None;
        }
        if self.lost {
            return None;
        }
        let ellipsis = self.current();
        let group = self.eat(K::Ellipsis);
        if group && !object {
            let detail = "Only `{for …}` can group values by key.";
            self.complain(self.span_of(ellipsis), "`...` in `[for …]`", detail, "remove it");
        }
        let condition = if self.eat_word("if") { Some(self.expression()) } else { None };
        Some(Box::new(For { key_name, value_name, collection, key, value, group, condition }))
    }

    /// `name in collection` or `key, value in collection`, of expressions and directives.
    pub(super) fn for_intro(&mut self) -> Option<(Option<Ident>, Ident, Expr)> {
        let mut key_name = None;
        let mut value_name = self.for_name()?;
        if self.eat(K::Comma) {
            key_name = Some(std::mem::replace(&mut value_name, self.for_name()?));
        }
        if !self.eat_word("in") {
            let help = "write `for value in collection` or `for key, value in collection`";
            self.fail_expected_help("`in` after the names of `for`", help);
            return None;
        }
        let collection = self.expression();
        if self.lost { None } else { Some((key_name, value_name, collection)) }
    }

    fn for_name(&mut self) -> Option<Ident> {
        if self.kind() != K::Ident {
            match self.kind() {
                K::Equal => {
                    self.fail_expected_help("a name after `for`", "to use `for` as a key, put it in quotes");
                }
                _ => self.fail_expected("a name after `for`"),
            }
            return None;
        }
        let token = self.bump();
        Some(self.ident(token))
    }
}
