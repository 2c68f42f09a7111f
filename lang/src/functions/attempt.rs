//! `try` and `can`, which turn errors into values.
//!
//! They catch what goes wrong with values, and functions that do not exist; names that the scope does not know stay
//! errors. An expression that fails fails for good, but one whose value is not wholly known may still fail once it is,
//! so nothing is known about its result.

use fleet_syntax::tree::Call;
use fleet_syntax::{Diagnostic, Span};

use super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use crate::eval::{unknown_from, unknown_result};
use crate::{Evaluator, Type, Value};

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "can",
        group: Group::TypeConversion,
        doc: "Says whether an expression can be evaluated without an error. Meant for conditions; to replace a value \
              that is missing, use `try`.",
        examples: &[("can(tonumber(\"12\"))", "true"), ("can({ a = 1 }.b)", "false")],
        params: &[EXPRESSION],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Special(can),
    },
    Function {
        name: "try",
        group: Group::TypeConversion,
        doc: "Takes the value of the first expression that can be evaluated without an error.",
        examples: &[("try({ a = 1 }.b, \"none\")", "\"none\""), ("try(tonumber(\"12\"), 0)", "12")],
        params: &[],
        variadic: Some(EXPRESSION),
        returns: Returns::Always(ParamType::Any),
        body: Body::Special(try_),
    },
];

const EXPRESSION: Param = Param::new("expression", ParamType::Any).null().unknown().untyped().marked();

fn can(evaluator: &mut Evaluator<'_>, function: &Function, call: &Call, span: Span) -> Value {
    let ([expr], false) = (&call.args[..], call.expand_last) else {
        // Values that are already there cannot fail any more; how many there should be is reported as always.
        return evaluator.call_with(function, call, span, |_, _| Ok(true.into()));
    };
    match evaluator.attempt(|evaluator| evaluator.evaluate(expr)) {
        Ok(value) if value.is_wholly_known() => true.into(),
        Ok(value) => unknown_result(Type::Bool, [&value]),
        Err(_) => false.into(),
    }
}

fn try_(evaluator: &mut Evaluator<'_>, function: &Function, call: &Call, span: Span) -> Value {
    if call.expand_last {
        // Values that are already there cannot fail any more.
        return evaluator.call_with(function, call, span, |_, args| {
            args.first().cloned().ok_or_else(|| CallError::new("at least one argument is needed"))
        });
    }
    let mut failures = Vec::new();
    for (index, expr) in call.args.iter().enumerate() {
        let value = match evaluator.attempt(|evaluator| evaluator.evaluate(expr)) {
            Ok(value) if value.is_wholly_known() => value,
            // Another expression may take its place, and that may have any type.
            Ok(value) => unknown_from(Type::Any, [&value]).mark(value.marks_deep()),
            Err(reasons) => {
                failures.extend(reasons);
                continue;
            }
        };
        call.args[index + 1..].iter().for_each(|rest| evaluator.check_names(rest));
        return value;
    }
    evaluator.report(nothing_worked(&failures, span))
}

fn nothing_worked(failures: &[Diagnostic], span: Span) -> Diagnostic {
    if failures.is_empty() {
        return Diagnostic::error(span, "not enough arguments", "`try` takes at least 1 argument.");
    }
    let reasons: Vec<String> =
        failures.iter().map(|failure| format!("- {}: {}", failure.summary, failure.detail)).collect();
    let detail = format!("Every expression given to `try` fails:\n{}", reasons.join("\n"));
    Diagnostic::error(span, "no expression succeeds", detail)
        .help("add a last expression that cannot fail, such as null")
}
