//! The language's `==`.

use std::collections::HashSet;

use crate::set::exact_text;
use crate::{Kind, Type, Value};

/// Whether two values are equal, as a bool that is unknown where unknown parts decide and that carries the marks of
/// both sides. Nothing is converted: values of different types differ, except that all nulls are equal.
#[must_use]
pub fn equal(a: &Value, b: &Value) -> Value {
    let ((a, a_marks), (b, b_marks)) = (a.clone().unmark_deep(), b.clone().unmark_deep());
    let result = match compare(&a, &b) {
        Some(equal) => Value::from(equal),
        None => unknown_bool(&a, &b),
    };
    result.mark(a_marks | b_marks)
}

/// Unknown, waiting for whichever side is known to wait for something.
fn unknown_bool(a: &Value, b: &Value) -> Value {
    let mut unknown = crate::Unknown { ty: Type::Bool, awaits: None, not_null: true };
    for side in [a, b] {
        if let Kind::Unknown(side) = &side.kind
            && unknown.awaits.is_none()
        {
            unknown.awaits.clone_from(&side.awaits);
        }
    }
    Kind::Unknown(unknown).into()
}

/// `None` if it cannot be known yet.
fn compare(a: &Value, b: &Value) -> Option<bool> {
    match (&a.kind, &b.kind) {
        (Kind::Null(_), Kind::Null(_)) => return Some(true),
        (Kind::Unknown(unknown), Kind::Null(_)) | (Kind::Null(_), Kind::Unknown(unknown)) => {
            return unknown.not_null.then_some(false);
        }
        (Kind::Null(_), _) | (_, Kind::Null(_)) => return Some(false),
        (Kind::Unknown(_), Kind::Unknown(_)) => return None,
        (Kind::Unknown(_), _) | (_, Kind::Unknown(_)) => {
            return if could_be_same(&a.ty(), &b.ty()) { None } else { Some(false) };
        }
        (Kind::Bool(a), Kind::Bool(b)) => return Some(a == b),
        (Kind::Number(a), Kind::Number(b)) => return Some(a == b),
        (Kind::String(a), Kind::String(b)) => return Some(a == b),
        _ => {}
    }
    let (a_type, b_type) = (a.ty(), b.ty());
    if a_type != b_type {
        // What is unknown in the one may still get the type that the other has.
        let open = !(a.is_wholly_known() && b.is_wholly_known());
        return if open && could_be_same(&a_type, &b_type) { None } else { Some(false) };
    }
    match (&a.kind, &b.kind) {
        (Kind::Set(a_set), Kind::Set(b_set)) => {
            if !a.is_wholly_known() || !b.is_wholly_known() {
                return None;
            }
            let texts = |items: &[Value]| items.iter().map(exact_text).collect::<HashSet<_>>();
            Some(a_set.items.len() == b_set.items.len() && texts(&a_set.items) == texts(&b_set.items))
        }
        _ => match (a.items(), b.items(), a.entries(), b.entries()) {
            (Some(a), Some(b), ..) => {
                if a.len() == b.len() {
                    all_equal(a.iter().zip(b))
                } else {
                    Some(false)
                }
            }
            (_, _, Some(a), Some(b)) => {
                if a.keys().eq(b.keys()) {
                    all_equal(a.values().zip(b.values()))
                } else {
                    Some(false)
                }
            }
            _ => Some(false),
        },
    }
}

/// One different pair decides, even beside pairs that are not known.
fn all_equal<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Option<bool> {
    let mut result = Some(true);
    for (a, b) in pairs {
        match compare(a, b) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => result = None,
        }
    }
    result
}

/// Whether two types are the same or may become so once every `any` in them is known.
fn could_be_same(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Any, _) | (_, Type::Any) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            could_be_same(a, b)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| could_be_same(a, b))
        }
        (Type::Object(a), Type::Object(b)) => {
            a.attributes.keys().eq(b.attributes.keys())
                && a.attributes.values().zip(b.attributes.values()).all(|(a, b)| could_be_same(a, b))
        }
        _ => a == b,
    }
}
