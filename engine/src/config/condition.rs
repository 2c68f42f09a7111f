//! Conditions: of variables, resources, outputs and checks.

use std::sync::Arc;

use fleet_lang::convert::convert;
use fleet_lang::{Evaluator, Kind, Marks, Type};
use fleet_syntax::Diagnostic;

use super::model::Condition;

/// What became of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It does not hold; this is what its author has to say about it.
    Fails(Arc<str>),
    /// That cannot be told yet, or, which the evaluator then knows, at all.
    Open,
}

/// Evaluates a condition, and what to say about it if it does not hold.
pub fn test(condition: &Condition, evaluator: &mut Evaluator<'_>) -> Outcome {
    let (value, _) = evaluator.evaluate(&condition.condition).unmark();
    let span = condition.condition.span;
    match convert(&value, &Type::Bool).map(|value| value.kind) {
        Ok(Kind::Bool(true)) => Outcome::Holds,
        Ok(Kind::Bool(false)) => Outcome::Fails(message(condition, evaluator)),
        Ok(Kind::Null(_)) => {
            let detail = "The condition is null, but must be true or false.";
            evaluator.report(Diagnostic::error(span, "condition is null", detail));
            Outcome::Open
        }
        Ok(_) => Outcome::Open,
        Err(error) => {
            let detail = format!("The condition must be true or false: {error}.");
            evaluator.report(Diagnostic::error(span, "unsuitable condition", detail));
            Outcome::Open
        }
    }
}

fn message(condition: &Condition, evaluator: &mut Evaluator<'_>) -> Arc<str> {
    let value = evaluator.evaluate(&condition.error_message);
    let span = condition.error_message.span;
    if !value.marks_deep().is_empty() {
        let what = if value.marks_deep().contains(Marks::SENSITIVE) { "sensitive" } else { "ephemeral" };
        return format!("The message contains {what} values and is not shown.").into();
    }
    match convert(&value, &Type::String).map(|value| value.kind) {
        Ok(Kind::String(text)) => return text,
        Ok(Kind::Null(_)) => {
            evaluator.report(Diagnostic::error(span, "error message is null", "A text is needed here."));
        }
        Ok(_) => return "The message depends on values that are not known yet.".into(),
        Err(error) => {
            let detail = format!("The error message must be a string: {error}.");
            evaluator.report(Diagnostic::error(span, "unsuitable error message", detail));
        }
    }
    "The condition does not hold.".into()
}

#[cfg(test)]
mod tests {

    use fleet_lang::eval::Names;
    use fleet_lang::outside::Memory;
    use fleet_lang::{Entries, Evaluator, Marks, Type, Value};
    use fleet_syntax::{FileId, parse_expression};

    use super::{Outcome, test};
    use crate::config::model::Condition;

    /// What becomes of a condition, and the summaries of what is wrong with it.
    fn outcome(condition: &str, error_message: &str) -> (Outcome, Vec<String>) {
        let parse = |text| parse_expression(FileId(0), text).0;
        let condition = parse(condition);
        let header = condition.span;
        let condition = Condition { condition, error_message: parse(error_message), header };
        let scope = Names(Entries::from([
            ("unknown".into(), Value::unknown(Type::Bool)),
            ("hidden".into(), Value::from(false).mark(Marks::SENSITIVE)),
            ("fleeting".into(), Value::from("x").mark(Marks::EPHEMERAL)),
        ]));
        let outside = Memory::new();
        let mut evaluator = Evaluator::new(&scope, &outside);
        let outcome = test(&condition, &mut evaluator);
        (outcome, evaluator.into_diagnostics().into_iter().map(|d| d.summary).collect())
    }

    #[test]
    fn outcomes() {
        let fails = |message: &str| Outcome::Fails(message.into());
        for (condition, message, expected) in [
            ("1 == 1", "\"no\"", Outcome::Holds),
            ("\"true\"", "\"no\"", Outcome::Holds),
            ("1 == 2", "\"no\"", fails("no")),
            ("hidden", "\"no\"", fails("no")),
            ("false", "5", fails("5")),
            ("unknown", "\"no\"", Outcome::Open),
            ("false", "\"${unknown}\"", fails("The message depends on values that are not known yet.")),
            ("false", "\"${hidden}\"", fails("The message contains sensitive values and is not shown.")),
            ("false", "\"${fleeting}\"", fails("The message contains ephemeral values and is not shown.")),
        ] {
            assert_eq!(outcome(condition, message), (expected, vec![]), "{condition}, or {message}");
        }
    }

    #[test]
    fn what_is_no_condition() {
        for (condition, message, expected) in [
            ("null", "\"no\"", "condition is null"),
            ("[]", "\"no\"", "unsuitable condition"),
            ("1", "\"no\"", "unsuitable condition"),
            ("false", "null", "error message is null"),
            ("false", "[]", "unsuitable error message"),
        ] {
            assert_eq!(outcome(condition, message).1, [expected], "{condition}, or {message}");
        }
    }
}
