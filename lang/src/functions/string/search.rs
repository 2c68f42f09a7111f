//! Regular expressions in texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::Captures;

use super::check_length;
use super::pattern::Pattern;
use super::replacement::Replacement;
use crate::functions::{CallError, args};
use crate::{Entries, Type, Value};

pub(super) fn regex(args: &[Value]) -> Result<Value, CallError> {
    let pattern = pattern(args::string(args, 0), 0)?;
    match pattern.regex.captures(args::string(args, 1)) {
        Some(captures) => Ok(value(&pattern, &captures)),
        None => Err(CallError::arg(1, "does not match the pattern")),
    }
}

pub(super) fn regexall(args: &[Value]) -> Result<Value, CallError> {
    let pattern = pattern(args::string(args, 0), 0)?;
    let matches =
        pattern.regex.captures_iter(args::string(args, 1)).map(|captures| value(&pattern, &captures));
    Ok(Value::list(ty(&pattern), matches.collect()))
}

/// The type of one match, as far as the pattern is known.
pub(super) fn match_type(args: &[Value]) -> Result<Type, CallError> {
    match args[0].as_str() {
        Some(text) => Ok(ty(&pattern(text, 0)?)),
        None => Ok(Type::Any),
    }
}

/// The type of all matches, as far as the pattern is known.
pub(super) fn matches_type(args: &[Value]) -> Result<Type, CallError> {
    Ok(Type::list(match_type(args)?))
}

pub(super) fn replace(args: &[Value]) -> Result<Value, CallError> {
    let (text, part, replacement) = (args::string(args, 0), args::string(args, 1), args::string(args, 2));
    let Some(inner) = part.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) else {
        check_length(text.matches(part).count().saturating_mul(replacement.len()))?;
        return Ok(text.replace(part, replacement).as_str().into());
    };
    let pattern = pattern(inner, 1)?;
    let replacement = Replacement::new(replacement, &pattern);
    let mut out = String::new();
    let mut copied = 0;
    for captures in pattern.regex.captures_iter(text) {
        let whole = captures.get_match();
        out.push_str(&text[copied..whole.start()]);
        copied = whole.end();
        replacement.write(&captures, &mut out);
        check_length(out.len())?;
    }
    out.push_str(&text[copied..]);
    Ok(out.as_str().into())
}

/// The pattern in the argument at `index`. Its groups must all have names, or none.
fn pattern(text: &str, index: usize) -> Result<Pattern, CallError> {
    let pattern = Pattern::new(text)
        .map_err(|problem| CallError::arg(index, format!("is not a regular expression: {problem}")))?;
    let named = pattern.names.iter().filter(|name| name.is_some()).count();
    // A replacement may refer to groups by name and by number alike.
    if index == 0 && named > 0 && named < pattern.names.len() {
        return Err(CallError::arg(index, "must have either groups with names or groups without, not both"));
    }
    Ok(pattern)
}

fn ty(pattern: &Pattern) -> Type {
    let named = |name: &Option<String>| Some((Arc::from(name.as_deref()?), Type::String));
    match pattern.names.iter().map(named).collect::<Option<BTreeMap<_, _>>>() {
        _ if pattern.names.is_empty() => Type::String,
        Some(attributes) => Type::object(attributes),
        None => Type::tuple(vec![Type::String; pattern.names.len()]),
    }
}

fn value(pattern: &Pattern, captures: &Captures<'_>) -> Value {
    let group = |index: usize| match captures.get(index) {
        Some(found) => Value::from(found.as_str()),
        None => Value::null_of(Type::String),
    };
    let named =
        |(index, name): (usize, &Option<String>)| Some((Arc::from(name.as_deref()?), group(index + 1)));
    match pattern.names.iter().enumerate().map(named).collect::<Option<Entries>>() {
        _ if pattern.names.is_empty() => group(0),
        Some(attributes) => Value::object(attributes),
        None => Value::tuple((1..=pattern.names.len()).map(group).collect::<Vec<_>>()),
    }
}
