//! Values that are needed before anything is evaluated, so that no name and no function can stand in them.

use std::sync::Arc;

use fleet_lang::convert::convert;
use fleet_lang::eval::Names;
use fleet_lang::outside::Memory;
use fleet_lang::references::{calls, references};
use fleet_lang::{Kind, Type, Value};
use fleet_syntax::tree::Expr;
use fleet_syntax::{Diagnostic, Diagnostics};

/// The value of a constant expression, or everything that is wrong with it.
pub(super) fn constant(expr: &Expr) -> Result<Value, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    for reference in references(expr) {
        let name = &reference.root.name;
        let error = Diagnostic::error(reference.span, "reference in a constant", "No name can be used here.");
        let help = if reference.steps.is_empty() {
            format!("to mean the text, put it in quotes: `\"{name}\"`")
        } else {
            "write the value itself".to_owned()
        };
        diagnostics.push(error.help(help));
    }
    for name in calls(expr) {
        let error =
            Diagnostic::error(name.span, "function call in a constant", "No function can be called here.");
        diagnostics.push(error.help("write the value itself"));
    }
    if diagnostics.is_empty() {
        fleet_lang::evaluate(expr, &Names::default(), &Memory::new())
    } else {
        Err(diagnostics)
    }
}

/// The truth of a constant expression; none if something is wrong with it, or was already when it was parsed.
pub(super) fn truth(expr: &Expr, diagnostics: &mut Diagnostics) -> Option<bool> {
    match typed(expr, &Type::Bool, diagnostics)?.kind {
        Kind::Bool(truth) => Some(truth),
        _ => None,
    }
}

/// The text of a constant expression; none if something is wrong with it, or was already when it was parsed.
pub(super) fn text(expr: &Expr, diagnostics: &mut Diagnostics) -> Option<Arc<str>> {
    match typed(expr, &Type::String, diagnostics)?.kind {
        Kind::String(text) => Some(text),
        _ => None,
    }
}

fn typed(expr: &Expr, ty: &Type, diagnostics: &mut Diagnostics) -> Option<Value> {
    let value = match constant(expr) {
        Ok(value) => value,
        Err(errors) => {
            diagnostics.extend(errors);
            return None;
        }
    };
    let problem = match convert(&value, ty) {
        Ok(value) if value.is_null() => "null cannot stand here".to_owned(),
        Ok(value) => return Some(value),
        Err(error) => error.to_string(),
    };
    let detail = format!("A {ty} is needed here: {problem}.");
    let help = if *ty == Type::Bool { "write `true` or `false`" } else { "write a text in quotes" };
    diagnostics.push(Diagnostic::error(expr.span, "unsuitable value", detail).help(help));
    None
}
