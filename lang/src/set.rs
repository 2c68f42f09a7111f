//! Sets: their order, and one of each element.
//!
//! Bools, numbers and strings are listed by value. Other elements are listed by a text made from them, in which numbers
//! have ten digits: not an order that anyone would choose, but the one that Terraform shows.

use std::collections::HashSet;
use std::sync::Arc;

use crate::print::quote;
use crate::value::Set;
use crate::{Kind, Marks, Number, Type, Value};

impl Value {
    /// A set; every item must have the element type already. Doubles are removed, and marks of the items move to the
    /// set. Unknown items may turn out to be equal to others, so they are all kept.
    #[must_use]
    pub fn set(element: Type, items: Vec<Value>) -> Value {
        let mut marks = Marks::NONE;
        let unmark = |item: Value| {
            let (item, its_marks) = item.unmark_deep();
            marks |= its_marks;
            item
        };
        let mut items: Vec<Value> = items.into_iter().map(unmark).collect();
        if element.is_primitive() {
            items.sort_by(|a, b| rank(a).cmp(&rank(b)));
            items.dedup_by(|a, b| a.is_known() && rank(a) == rank(b));
        } else {
            let mut seen = HashSet::new();
            items.retain(|item| !item.is_wholly_known() || seen.insert(exact_text(item)));
            items.sort_by_cached_key(listing_text);
        }
        Value::from(Kind::Set(Arc::new(Set { element, items }))).mark(marks)
    }
}

/// A text that only equal values have, zeros of different signs aside. The value must be wholly known.
pub(crate) fn exact_text(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &Number::exact_text, &mut text);
    text
}

/// The place of a primitive in a set. What is unknown comes after all values, and null after that.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank<'a> {
    Bool(bool),
    /// The sign of zero counts here, though not for `==`.
    Number(&'a Number, bool),
    String(&'a str),
    Unknown,
    Null,
}

fn rank(value: &Value) -> Rank<'_> {
    match &value.kind {
        Kind::Bool(value) => Rank::Bool(*value),
        Kind::Number(number) => Rank::Number(number, !number.is_negative()),
        Kind::String(text) => Rank::String(text),
        Kind::Null(_) => Rank::Null,
        _ => Rank::Unknown,
    }
}

/// The key by which compound elements are ordered: those that are null or unknown as a whole last.
fn listing_text(value: &Value) -> (bool, bool, String) {
    let mut text = String::new();
    write_value(value, &Number::ten_digits, &mut text);
    (!value.is_known(), value.is_null(), text)
}

fn write_value(value: &Value, number: &dyn Fn(&Number) -> String, text: &mut String) {
    match &value.kind {
        Kind::Unknown(_) => text.push('?'),
        Kind::Null(_) => text.push('~'),
        Kind::Bool(value) => text.push(if *value { 'T' } else { 'F' }),
        Kind::Number(value) => text.push_str(&number(value)),
        Kind::String(value) => quote(value, text),
        Kind::List(_) | Kind::Set(_) | Kind::Tuple(_) => {
            let (open, close) = if matches!(value.kind, Kind::Tuple(_)) { ('<', '>') } else { ('[', ']') };
            text.push(open);
            for item in value.items().unwrap_or_default() {
                write_value(item, number, text);
                text.push(';');
            }
            text.push(close);
        }
        Kind::Map(map) => {
            text.push('{');
            for (key, item) in &map.items {
                quote(key, text);
                text.push(':');
                write_value(item, number, text);
                text.push(';');
            }
            text.push('}');
        }
        Kind::Object(attributes) => {
            text.push('<');
            for item in attributes.values() {
                write_value(item, number, text);
                text.push(';');
            }
            text.push('>');
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::print;

    fn numbers(texts: &[&str]) -> Vec<Value> {
        texts.iter().map(|text| Number::parse(text).unwrap().into()).collect()
    }

    fn object(name: &str, value: Value) -> Value {
        Value::object([(name.into(), value)].into())
    }

    fn listed(set: &Value) -> String {
        let items: Vec<_> = set.items().unwrap().iter().map(print::print).collect();
        items.join(" ").replace("\n", "").replace("  ", "")
    }

    #[test]
    fn primitives_are_listed_by_value() {
        let set = Value::set(Type::Number, numbers(&["10", "-1", "2", "1e1", "0.5", "-0", "0"]));
        assert_eq!(listed(&set), "-1 -0 0 0.5 2 10");
        let strings = ["b", "a", "é", "B", "a", ""].into_iter().map(Value::from).collect();
        assert_eq!(listed(&Value::set(Type::String, strings)), r#""" "B" "a" "b" "é""#);
        let bools = vec![Value::from(true), Value::null_of(Type::Bool), Value::from(false)];
        assert_eq!(listed(&Value::set(Type::Bool, bools)), "false true tobool(null)");
    }

    #[test]
    fn compound_elements_are_listed_by_their_text() {
        let objects = numbers(&["2", "1", "10"]).into_iter().map(|n| object("a", n)).collect();
        let ty = Type::object(BTreeMap::from([("a".into(), Type::Number)]));
        assert_eq!(listed(&Value::set(ty.clone(), objects)), r#"{"a" = 10} {"a" = 1} {"a" = 2}"#);
        // These differ only after the tenth digit, so they stay in the order given; the double goes.
        let texts = ["100000000003", "100000000001", "100000000003", "100000000002"];
        let objects = numbers(&texts).into_iter().map(|n| object("a", n)).collect();
        let set = Value::set(ty, objects);
        assert_eq!(listed(&set), r#"{"a" = 100000000003} {"a" = 100000000001} {"a" = 100000000002}"#);
    }

    #[test]
    fn numbers_in_compound_elements_have_ten_digits() {
        let given = [
            "1e20",
            "123456789012",
            "1.5",
            "0.00001",
            "-1",
            "12345678901",
            "1e10",
            "100",
            "1e9",
            "0.1",
            "0.0001",
            "123456789.5",
            "-0.5",
            "12345678905",
            "12345678915",
            "99999999999",
            "9999999999",
        ];
        let expected = [
            "-0.5",
            "-1",
            "0.0001",
            "0.1",
            "12345678915",
            "12345678901",
            "12345678905",
            "123456789012",
            "1.5",
            "1e9",
            "100",
            "123456789.5",
            "1e10",
            "99999999999",
            "1e20",
            "0.00001",
            "9999999999",
        ];
        let tuples =
            |texts: &[&str]| numbers(texts).into_iter().map(|n| Value::tuple([n])).collect::<Vec<_>>();
        let set = Value::set(Type::tuple([Type::Number]), tuples(&given));
        assert_eq!(set.items().unwrap(), tuples(&expected));
    }

    #[test]
    fn strings_in_compound_elements_are_quoted() {
        let tuples =
            |texts: &[&str]| texts.iter().map(|text| Value::tuple([Value::from(*text)])).collect::<Vec<_>>();
        let set =
            Value::set(Type::tuple([Type::String]), tuples(&["b", "a", "\n", "é", "\u{200b}", "\\", "\""]));
        assert_eq!(set.items().unwrap(), tuples(&["\"", "\\", "\n", "\u{200b}", "a", "b", "é"]));
    }

    #[test]
    fn marks_move_to_the_set() {
        let items = vec![Value::from(2), Value::from(1).mark(Marks::SENSITIVE)];
        let set = Value::set(Type::Number, items);
        assert_eq!(set.marks, Marks::SENSITIVE);
        assert_eq!(set.items().unwrap(), [Value::from(1), Value::from(2)]);
    }

    #[test]
    fn unknown_elements_are_kept() {
        let items =
            vec![Value::unknown(Type::Number), Value::from(1), Value::unknown(Type::Number), Value::from(1)];
        assert_eq!(Value::set(Type::Number, items).items().unwrap().len(), 3);
    }
}
