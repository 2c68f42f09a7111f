//! Values as the JSON that programs expect: without types, and with all digits of their numbers.

use std::fmt::Write;

use fleet_engine::encode::safe_to_print;
use fleet_lang::{Kind, Value};
use serde_json::Value as Json;

/// A value as JSON over several lines, with a newline. What is not known is null: no stored value is.
#[must_use]
pub(crate) fn pretty(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text.push('\n');
    safe_to_print(&text).into_owned()
}

/// The value that some JSON stands for.
pub(crate) fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::null(),
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => number.as_i64().map_or_else(Value::null, Value::from),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::tuple(items.iter().map(value_of).collect::<Vec<_>>()),
        Json::Object(entries) => object(entries.iter().map(|(name, json)| (name.as_str(), value_of(json)))),
    }
}

/// An object of these.
pub(crate) fn object<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::object(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn write(value: &Value, indent: usize, text: &mut String) {
    match &value.kind {
        Kind::Null(_) | Kind::Unknown(_) => text.push_str("null"),
        Kind::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Kind::Number(number) => text.push_str(&number.to_string()),
        Kind::String(string) => quote(string, text),
        Kind::List(_) | Kind::Set(_) | Kind::Tuple(_) => {
            let items = value.items().into_iter().flatten();
            spread(['[', ']'], items, indent, text, |item, text| write(item, indent + 2, text));
        }
        Kind::Map(_) | Kind::Object(_) => {
            let entries = value.entries().into_iter().flatten();
            spread(['{', '}'], entries, indent, text, |(name, entry), text| {
                quote(name, text);
                text.push_str(": ");
                write(entry, indent + 2, text);
            });
        }
    }
}

/// One part a line.
fn spread<T>(
    [open, close]: [char; 2],
    parts: impl Iterator<Item = T>,
    indent: usize,
    text: &mut String,
    write: impl Fn(T, &mut String),
) {
    text.push(open);
    let mut separator = "";
    for part in parts {
        text.push_str(separator);
        let _ = write!(text, "\n{:1$}", "", indent + 2);
        write(part, text);
        separator = ",";
    }
    if !separator.is_empty() {
        let _ = write!(text, "\n{:indent$}", "");
    }
    text.push(close);
}

fn quote(string: &str, text: &mut String) {
    text.push_str(&serde_json::to_string(string).expect("a text can be written as JSON"));
}

#[cfg(test)]
mod tests {
    use fleet_lang::{Number, Type};

    use super::*;

    #[test]
    fn values_are_the_json_that_they_look_like() {
        let check = |value: Value, expected: &str| assert_eq!(pretty(&value), format!("{expected}\n"));
        check(Value::null(), "null");
        check(true.into(), "true");
        check(Number::parse("123456789012345678901.5").unwrap().into(), "123456789012345678901.5");
        check("a\"\n\u{9b}".into(), r#""a\"\n\u009b""#);
        check(Value::tuple([]), "[]");
        check(object([]), "{}");
        let nested =
            object([("a", Value::set(Type::String, vec!["x".into()])), ("b", object([("c", 1.into())]))]);
        check(nested, "{\n  \"a\": [\n    \"x\"\n  ],\n  \"b\": {\n    \"c\": 1\n  }\n}");
    }

    #[test]
    fn json_is_the_value_that_it_stands_for() {
        let json = serde_json::json!({"a": [null, true, "x", 7]});
        assert_eq!(serde_json::from_str::<Json>(&pretty(&value_of(&json))).unwrap(), json);
    }
}
