//! Functions over lists, maps and their like.
//!
//! What they have in common: a function that rearranges elements leaves the marks of each element on it and puts the
//! marks of the whole on the result; lists and maps give lists and maps, tuples and objects give tuples and objects.

pub(super) mod map;
pub(super) mod search;
pub(super) mod sequence;
pub(super) mod shape;

use super::CallError;
use crate::eval::MAX_ELEMENTS;
use crate::{Marks, Type, Value};

/// The marks of some values as wholes.
fn marks_of(values: &[Value]) -> Marks {
    values.iter().fold(Marks::NONE, |marks, value| marks | value.marks)
}

/// The one type of the elements of a list, set or map type.
fn element_type(ty: &Type) -> Option<&Type> {
    match ty {
        Type::List(element) | Type::Set(element) | Type::Map(element) => Some(element),
        _ => None,
    }
}

/// Refuses results that would fill the memory: small collections can be multiplied into very large ones.
fn check_size(count: Option<usize>) -> Result<usize, CallError> {
    count
        .filter(|count| *count <= MAX_ELEMENTS)
        .ok_or_else(|| CallError::new(format!("the result would have more than {MAX_ELEMENTS} elements")))
}
