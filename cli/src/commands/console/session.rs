//! Expression in, printed value out.

use fleet_lang::{Evaluator, Outside, Scope, print};
use fleet_syntax::parse::parse_expression;
use fleet_syntax::tree::{Call, Expr, ExprKind};
use fleet_syntax::{Diagnostic, Diagnostics, Sources};

use super::type_text::type_text;

/// What stays the same between one expression and the next.
pub(super) struct Session<'a> {
    scope: &'a dyn Scope,
    outside: &'a dyn Outside,
    sources: Sources,
}

impl<'a> Session<'a> {
    /// A session in a scope; `sources` are the texts that the scope was read from.
    pub(super) fn new(scope: &'a dyn Scope, outside: &'a dyn Outside, sources: Sources) -> Session<'a> {
        Session { scope, outside, sources }
    }

    /// All texts so far, to show where something is wrong.
    pub(super) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The value of an expression as it is printed.
    pub(super) fn answer(&mut self, text: &str) -> Result<String, Diagnostics> {
        let file = self.sources.add("<console>", text);
        let (expr, problems) = parse_expression(file, text);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut evaluator = Evaluator::new(self.scope, self.outside);
        let answer = match as_type_call(&expr) {
            Some(call) => answer_type(&mut evaluator, call),
            None => print(&evaluator.evaluate(&expr)),
        };
        let problems = evaluator.into_diagnostics();
        if problems.is_empty() { Ok(answer) } else { Err(problems) }
    }
}

/// `type(x)` is a function of the console alone: a type is no value, so it cannot be part of an expression.
fn as_type_call(expr: &Expr) -> Option<&Call> {
    match &expr.kind {
        ExprKind::Parens(inner) => as_type_call(inner),
        ExprKind::Call(call) if matches!(&*call.name.name, "type" | "core::type") => Some(call),
        _ => None,
    }
}

fn answer_type(evaluator: &mut Evaluator<'_>, call: &Call) -> String {
    match &call.args[..] {
        [arg] if !call.expand_last => return type_text(&evaluator.evaluate(arg).ty()),
        [] => {
            let detail = "`type` takes 1 argument, but `value` is missing.";
            evaluator.report(Diagnostic::error(call.close, "not enough arguments", detail));
        }
        [first, .., last] => {
            let detail = format!("`type` takes 1 argument, but gets {}.", call.args.len());
            evaluator.report(Diagnostic::error(first.span.to(last.span), "too many arguments", detail));
        }
        [arg] => {
            let detail = "`type` takes one value, so there is nothing to spread.";
            evaluator.report(Diagnostic::error(arg.span, "cannot spread the argument", detail));
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use fleet_lang::Names;
    use fleet_lang::outside::Memory;

    use super::*;

    fn answer(text: &str) -> Result<String, Vec<String>> {
        let (scope, outside) = (Names::default(), Memory::default());
        let mut session = Session::new(&scope, &outside, Sources::default());
        session.answer(text).map_err(|problems| problems.into_iter().map(|problem| problem.summary).collect())
    }

    #[test]
    fn values_are_printed_as_terraform_prints_them() {
        let check = |text, expected: &str| assert_eq!(answer(text).as_deref(), Ok(expected), "{text}");
        check("1 + 2", "3");
        check("\"a${1}\"", "\"a1\"");
        check("[1, null]", "[\n  1,\n  null,\n]");
        check("{ a = true }", "{\n  \"a\" = true\n}");
    }

    #[test]
    fn the_console_knows_types() {
        let check = |text, expected: &str| assert_eq!(answer(text).as_deref(), Ok(expected), "{text}");
        check("type(1)", "number");
        check("(type(1))", "number");
        check("core::type(\"a\")", "string");
        check("type([1])", "tuple([\n    number,\n])");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let check = |text, expected: &str| assert_eq!(answer(text), Err(vec![expected.to_owned()]), "{text}");
        check("nope", "unknown name");
        check("1 + []", "unsuitable operand");
        check("type()", "not enough arguments");
        check("type(1, 2)", "too many arguments");
        check("type([1]...)", "cannot spread the argument");
        check("[type(1)]", "unknown function");
    }
}
