//! Values as JSON, for state and plans: nothing is lost, types included.
//!
//! A value stands beside its type, `{"type": "number", "value": 1}`. Where a type is open (`any`), the pair stands
//! again. Whole numbers of 64 bits are JSON numbers, all others are texts, because JSON readers round.
//!
//! `write` makes the text of a value and `read` the value of a text, without a tree of JSON in between: a state holds
//! very many of them.

mod read;
mod write;

use std::borrow::Cow;
use std::fmt;

use fleet_lang::Value;
use fleet_lang::print::is_printable;
use serde_json::Value as Json;

pub use read::Decoder;
pub use write::{to_json, to_text};

/// Why a value cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritable {
    /// Something in it is not known.
    Unknown,
    /// Something in it is sensitive or ephemeral.
    Marked,
}

/// The text is not what [`to_text`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Reads what [`to_json`] made.
pub fn from_json(json: &Json) -> Result<Value, Unreadable> {
    Decoder::default().value(&json.to_string())
}

/// JSON that may end on a terminal: JSON lets most control characters stand in strings as they are, and here they are
/// escaped. Line breaks between the parts of the JSON stay.
#[must_use]
pub fn safe_to_print(json: &str) -> Cow<'_, str> {
    let raw = |c: char| !is_printable(c) && c != '\n';
    if !json.contains(raw) {
        return json.into();
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if raw(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text.into()
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unwritable::Unknown => "a value that is not known yet cannot be stored",
            Unwritable::Marked => "a sensitive or ephemeral value cannot be stored",
        })
    }
}

impl std::error::Error for Unwritable {}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stored value cannot be read")
    }
}

impl std::error::Error for Unreadable {}

#[cfg(test)]
mod tests {
    use fleet_lang::{Marks, Number, Type};

    use super::*;

    fn number(text: &str) -> Value {
        Number::parse(text).unwrap().into()
    }

    #[test]
    fn nothing_is_lost() {
        let third: Value = Number::from(1).div(&Number::from(3)).unwrap().into();
        let double: Value = Number::from_f64(0.1).unwrap().into();
        let values = [
            Value::null(),
            Value::null_of(Type::String),
            true.into(),
            7.into(),
            "é\u{0}\"".into(),
            number("1e200"),
            number("-0.1"),
            third,
            double,
            number("Inf"),
            Value::list(Type::Number, vec![1.into(), Value::null_of(Type::Number)]),
            Value::list(Type::String, vec![]),
            Value::set(Type::String, vec!["b".into(), "a".into()]),
            Value::map(Type::Any, [("k".into(), Value::null())].into()),
            Value::tuple(vec![1.into(), Value::null(), Value::tuple(vec!["x".into()])]),
            Value::object([("a".into(), Value::null_of(Type::Bool)), ("b".into(), 2.into())].into()),
            // As if it were the end of a type.
            Value::object([("type".into(), "string".into()), ("value".into(), ",\"value\":".into())].into()),
        ];
        for value in values {
            let text = to_text(&value).unwrap();
            assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), to_json(&value).unwrap());
            // Twice, because the second time its type is known.
            let mut decoder = Decoder::default();
            for _ in 0..2 {
                let back = decoder.value(&text).unwrap();
                assert_eq!((back.ty(), &back), (value.ty(), &value), "{text}");
            }
            assert_eq!(from_json(&to_json(&value).unwrap()), Ok(value), "{text}");
        }
    }

    #[test]
    fn a_value_as_deep_as_can_be_reads_back() {
        let work = || {
            let name = |value| Value::object([("a".into(), value)].into());
            let deep = (0..fleet_lang::eval::MAX_DEPTH).fold(Value::null(), |value, _| name(value));
            assert_eq!(Decoder::default().value(&to_text(&deep).unwrap()), Ok(deep.clone()));
        };
        // As much room as a command has.
        std::thread::Builder::new().stack_size(256 << 20).spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn members_may_stand_in_any_order() {
        let text = r#" { "value" : { "b" : [ 1 ], "a" : null } , "type" : [ "object" , { "b" : ["list","number"] , "a" : "bool" } ] } "#;
        let items = Value::list(Type::Number, vec![number("1")]);
        let expected = Value::object([("a".into(), Value::null_of(Type::Bool)), ("b".into(), items)].into());
        assert_eq!(Decoder::default().value(text), Ok(expected));
    }

    #[test]
    fn what_must_not_be_stored_is_refused() {
        let check = |value: Value, expected| {
            let deep = Value::tuple(vec![Value::object([("a".into(), value)].into())]);
            assert_eq!(to_text(&deep), Err(expected));
            assert_eq!(to_json(&deep), Err(expected));
        };
        check(Value::unknown(Type::Any), Unwritable::Unknown);
        check(Value::unknown(Type::Bool), Unwritable::Unknown);
        check(Value::from("x").mark(Marks::SENSITIVE), Unwritable::Marked);
        check(Value::from("x").mark(Marks::EPHEMERAL), Unwritable::Marked);
    }

    #[test]
    fn strange_texts_are_refused() {
        for text in [
            "1",
            "{}",
            r#"{"type":"odd","value":1}"#,
            r#"{"type":["list"],"value":[]}"#,
            r#"{"type":"number","value":"x"}"#,
            r#"{"type":["tuple",["bool"]],"value":[]}"#,
            r#"{"type":["tuple",["bool"]],"value":[true,true]}"#,
            r#"{"type":["object",{"a":"bool"}],"value":{}}"#,
            r#"{"type":["object",{"a":"bool"}],"value":{"b":true}}"#,
            r#"{"type":["list","bool"],"value":{}}"#,
            r#"{"type":["map","bool"],"value":[]}"#,
            r#"{"type":"string","value":1}"#,
            r#"{"type":"bool","value":"true"}"#,
            r#"{"type":"number","value":1.5}"#,
            r#"{"type":"number"}"#,
            r#"{"value":1}"#,
            r#"{"type":"number","value":1}x"#,
        ] {
            assert_eq!(Decoder::default().value(text), Err(Unreadable), "{text}");
        }
    }
}
