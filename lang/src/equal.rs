//! The language's `==`.

use std::collections::HashSet;

use crate::set::exact_text;
use crate::{Kind, Type, Unknown, Value};

/// Whether two values are equal, as a bool that is unknown where unknown parts decide and that carries the marks of
/// both sides. Nothing is converted: values of different types differ, except that all nulls are equal.
#[must_use]
pub fn equal(a: &Value, b: &Value) -> Value {
    let ((a, a_marks), (b, b_marks)) = (a.clone().unmark_deep(), b.clone().unmark_deep());
    let result = match compare(&a, &b) {
        Some(equal) => Value::from(equal),
        None => {
            let awaits = a.awaits().or_else(|| b.awaits()).cloned();
            Unknown { ty: Type::Bool, awaits, not_null: true }.into()
        }
    };
    result.mark(a_marks | b_marks)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::values;
    use crate::{Marks, Number};

    fn list<const N: usize>(element: Type, items: [Value; N]) -> Value {
        Value::list(element, Vec::from(items))
    }

    fn tuple<const N: usize>(items: [Value; N]) -> Value {
        Value::tuple(items)
    }

    fn object<const N: usize>(attributes: [(&str, Value); N]) -> Value {
        Value::object(attributes.map(|(name, value)| (name.into(), value)).into())
    }

    fn check(a: &Value, b: &Value, expected: Option<bool>) {
        for result in [equal(a, b), equal(b, a)] {
            match expected {
                Some(expected) => assert_eq!(result, expected.into(), "{a:?} == {b:?}"),
                None => assert_eq!((result.is_known(), result.ty()), (false, Type::Bool), "{a:?} == {b:?}"),
            }
        }
    }

    #[test]
    fn types_count() {
        let (one, text) = (Value::from(1), Value::from("1"));
        check(&one, &text, Some(false));
        check(&tuple([one.clone()]), &list(Type::Number, [one.clone()]), Some(false));
        check(&list(Type::Number, [one.clone()]), &list(Type::String, [text]), Some(false));
        check(&list(Type::Any, []), &list(Type::String, []), Some(false));
        check(&object([("a", one.clone())]), &object([("a", one.clone())]), Some(true));
        check(&object([("a", one.clone())]), &object([("a", one), ("b", Value::null())]), Some(false));
        check(&Value::from(0), &Number::parse("-0").unwrap().into(), Some(true));
    }

    #[test]
    fn all_nulls_are_equal_but_not_what_contains_them() {
        let (text, number) = (Value::null_of(Type::String), Value::null_of(Type::Number));
        check(&text, &number, Some(true));
        check(&Value::null(), &Value::from(1), Some(false));
        check(&tuple([Value::null()]), &tuple([Value::null()]), Some(true));
        check(&tuple([text.clone()]), &tuple([number]), Some(false));
        check(&object([("a", Value::null())]), &object([("a", text)]), Some(false));
    }

    #[test]
    fn unknown_parts_leave_it_open() {
        let (any, text) = (Value::unknown(Type::Any), Value::unknown(Type::String));
        check(&any, &Value::from(1), None);
        check(&any, &Value::null(), None);
        check(&text, &text, None);
        check(&text, &Value::from("x"), None);
        check(&text, &Value::from(1), Some(false));
        check(&object([("a", any.clone())]), &object([("b", Value::from("x"))]), Some(false));
        check(&tuple([any.clone()]), &tuple([Value::from("x"), Value::from(2)]), Some(false));
        check(&tuple([any.clone(), Value::from(1)]), &tuple([Value::from(1), Value::from(2)]), None);
        check(&tuple([any]), &tuple([Value::from(1)]), None);
        let set = |item: &Value| Value::set(Type::String, vec![item.clone()]);
        check(&set(&text), &set(&Value::from("x")), None);
        let certain = Unknown { ty: Type::String, awaits: None, not_null: true }.into();
        check(&certain, &Value::null(), Some(false));
    }

    #[test]
    fn sets_are_equal_whatever_order_their_elements_came_in() {
        let set = |items: [i64; 2]| Value::set(Type::Number, items.map(Value::from).to_vec());
        check(&set([1, 2]), &set([2, 1]), Some(true));
        check(&set([1, 2]), &set([1, 3]), Some(false));
        // These two have the same text to be ordered by, so each stays where it was.
        let numbers =
            ["100000000001", "100000000002"].map(|text| tuple([Number::parse(text).unwrap().into()]));
        let [a, b] = numbers;
        let ty = a.ty();
        check(&Value::set(ty.clone(), vec![a.clone(), b.clone()]), &Value::set(ty, vec![b, a]), Some(true));
    }

    #[test]
    fn marks_spread() {
        let secret = tuple([Value::from(1).mark(Marks::SENSITIVE)]);
        assert_eq!(equal(&secret, &tuple([Value::from(1)])), Value::from(true).mark(Marks::SENSITIVE));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_reflexive_and_symmetric(a in values(), b in values()) {
            let (same, known) = (equal(&a, &a), a.is_wholly_known());
            prop_assert_eq!(same.is_known(), known);
            prop_assert!(!known || same.kind == Kind::Bool(true));
            prop_assert_eq!(equal(&a, &b), equal(&b, &a));
        }
    }
}
