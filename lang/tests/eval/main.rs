//! Evaluation, seen from outside.

mod cases;
mod errors;
mod laws;
mod limits;
mod marks;
mod references;
mod unknowns;

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::outside::Memory;
use fleet_lang::{Names, Type, Value};
use fleet_syntax::parse::parse_expression;
use fleet_syntax::tree::Expr;
use fleet_syntax::{Diagnostics, FileId};

fn parse(text: &str) -> Expr {
    let (expr, diagnostics) = parse_expression(FileId(0), text);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    expr
}

fn evaluate_in(names: &Names, text: &str) -> Result<Value, Diagnostics> {
    fleet_lang::evaluate(&parse(text), names, &Memory::default())
}

fn names<const N: usize>(names: [(&str, Value); N]) -> Names {
    Names(names.into_iter().map(|(name, value)| (Arc::from(name), value)).collect())
}

fn object(attributes: &[(&str, Type)]) -> Type {
    let attributes = attributes.iter().map(|(name, ty)| (Arc::from(*name), ty.clone()));
    Type::object(attributes.collect::<BTreeMap<_, _>>())
}
