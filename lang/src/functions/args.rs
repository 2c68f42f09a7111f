//! Reads what reaches a function body. The evaluator has converted every argument to its parameter's type and has kept
//! nulls and unknowns back, so for a parameter of a fixed type that takes neither, these accessors cannot fail.

use super::CallError;
use crate::{Kind, Number, Value};

/// The text of a `string` argument.
#[must_use]
pub fn string(args: &[Value], index: usize) -> &str {
    args[index].as_str().expect("the parameter is a string, neither null nor unknown")
}

/// The number of a `number` argument.
#[must_use]
pub fn number(args: &[Value], index: usize) -> &Number {
    match &args[index].kind {
        Kind::Number(number) => number,
        _ => panic!("the parameter is a number, neither null nor unknown"),
    }
}

/// The truth of a `bool` argument.
#[must_use]
pub fn boolean(args: &[Value], index: usize) -> bool {
    match args[index].kind {
        Kind::Bool(truth) => truth,
        _ => panic!("the parameter is a bool, neither null nor unknown"),
    }
}

/// The elements of a list, set or tuple argument.
#[must_use]
pub fn items(args: &[Value], index: usize) -> &[Value] {
    args[index].items().expect("the parameter is a list or set, neither null nor unknown")
}

/// A `number` argument that must be whole and of ordinary size.
pub fn whole(args: &[Value], index: usize) -> Result<i64, CallError> {
    let number = number(args, index);
    number.to_i64().ok_or_else(|| CallError::arg(index, format!("must be a whole number, but is {number}")))
}

/// A `number` argument that must be whole, of ordinary size and not negative.
pub fn count(args: &[Value], index: usize) -> Result<usize, CallError> {
    let whole = whole(args, index)?;
    usize::try_from(whole).map_err(|_| CallError::arg(index, format!("must not be negative, but is {whole}")))
}

/// The texts of a `list(string)` or `set(string)` argument whose elements are known; a null element is an error.
pub fn strings<'a>(args: &'a [Value], index: usize) -> Result<Vec<&'a str>, CallError> {
    let text = |(position, item): (usize, &'a Value)| match &item.kind {
        Kind::String(text) => Ok(&**text),
        _ => Err(CallError::arg(index, format!("element {position} is null, but must be a string"))),
    };
    items(args, index).iter().enumerate().map(text).collect()
}
