//! Values as JSON, for state and plans: nothing is lost, types included.
//!
//! A value stands beside its type, `{"type": "number", "value": 1}`. Where a type is open (`any`), the pair stands
//! again. Whole numbers of 64 bits are JSON numbers, all others are texts, because JSON readers round.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fleet_lang::print::is_printable;
use fleet_lang::{Kind, Number, Type, Value};
use serde_json::{Map, Value as Json, json};

/// Why a value cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritable {
    /// Something in it is not known.
    Unknown,
    /// Something in it is sensitive or ephemeral.
    Marked,
}

/// The text is not what [`to_json`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Writes a value with its type.
pub fn to_json(value: &Value) -> Result<Json, Unwritable> {
    encode(value, &Type::Any)
}

/// Reads what [`to_json`] wrote.
pub fn from_json(json: &Json) -> Result<Value, Unreadable> {
    decode(json, &Type::Any)
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

fn encode(value: &Value, ty: &Type) -> Result<Json, Unwritable> {
    if !value.marks.is_empty() {
        return Err(Unwritable::Marked);
    }
    if *ty == Type::Any {
        let ty = value.ty();
        // What has no type of its own is a bare null or an unknown.
        let inner = match (&ty, &value.kind) {
            (Type::Any, Kind::Null(_)) => Json::Null,
            (Type::Any, _) => return Err(Unwritable::Unknown),
            _ => encode(value, &ty)?,
        };
        return Ok(json!({ "type": encode_type(&ty), "value": inner }));
    }
    let all = |items: &[Value], element: &Type| {
        items.iter().map(|item| encode(item, element)).collect::<Result<Vec<_>, _>>().map(Json::Array)
    };
    Ok(match &value.kind {
        Kind::Unknown(_) => return Err(Unwritable::Unknown),
        Kind::Null(_) => Json::Null,
        Kind::Bool(bool) => Json::Bool(*bool),
        Kind::Number(number) => match number.to_i64() {
            Some(whole) => json!(whole),
            None => Json::String(number.to_exact_text()),
        },
        Kind::String(text) => Json::String(text.to_string()),
        Kind::List(list) => all(&list.items, &list.element)?,
        Kind::Set(set) => all(&set.items, &set.element)?,
        Kind::Map(map) => {
            let items =
                map.items.iter().map(|(key, item)| Ok((key.to_string(), encode(item, &map.element)?)));
            Json::Object(items.collect::<Result<_, _>>()?)
        }
        Kind::Tuple(items) => {
            let items = items.iter().map(|item| encode(item, &item.ty()));
            Json::Array(items.collect::<Result<_, _>>()?)
        }
        Kind::Object(attributes) => {
            let items =
                attributes.iter().map(|(name, item)| Ok((name.to_string(), encode(item, &item.ty())?)));
            Json::Object(items.collect::<Result<_, _>>()?)
        }
    })
}

fn decode(json: &Json, ty: &Type) -> Result<Value, Unreadable> {
    if *ty == Type::Any {
        let ty = decode_type(json.get("type").ok_or(Unreadable)?)?;
        let inner = json.get("value").ok_or(Unreadable)?;
        return if ty == Type::Any { Ok(Value::null()) } else { decode(inner, &ty) };
    }
    let all = |element: &Type| {
        let items = json.as_array().ok_or(Unreadable)?;
        items.iter().map(|item| decode(item, element)).collect::<Result<Vec<_>, _>>()
    };
    if json.is_null() {
        return Ok(Value::null_of(ty.clone()));
    }
    Ok(match ty {
        Type::Any => return Err(Unreadable),
        Type::Bool => json.as_bool().ok_or(Unreadable)?.into(),
        Type::Number => decode_number(json)?.into(),
        Type::String => Kind::String(json.as_str().ok_or(Unreadable)?.into()).into(),
        Type::List(element) => Value::list((**element).clone(), all(element)?),
        Type::Set(element) => Value::set((**element).clone(), all(element)?),
        Type::Map(element) => {
            let items = json.as_object().ok_or(Unreadable)?.iter();
            let items = items.map(|(key, item)| Ok((Arc::from(key.as_str()), decode(item, element)?)));
            Value::map((**element).clone(), items.collect::<Result<_, _>>()?)
        }
        Type::Tuple(types) => {
            let items = json.as_array().filter(|items| items.len() == types.len()).ok_or(Unreadable)?;
            let items = items.iter().zip(types.iter()).map(|(item, ty)| decode(item, ty));
            Value::tuple(items.collect::<Result<Vec<_>, _>>()?)
        }
        Type::Object(object) => {
            let items = json.as_object().ok_or(Unreadable)?;
            let attribute = |(name, ty): (&Arc<str>, &Type)| {
                Ok((name.clone(), decode(items.get(&**name).ok_or(Unreadable)?, ty)?))
            };
            Value::object(object.attributes.iter().map(attribute).collect::<Result<_, _>>()?)
        }
    })
}

fn decode_number(json: &Json) -> Result<Number, Unreadable> {
    match json {
        Json::String(text) => Number::from_exact_text(text).ok_or(Unreadable),
        // As if it stood in a text: at full precision.
        _ => json.as_i64().and_then(|whole| Number::parse(&whole.to_string())).ok_or(Unreadable),
    }
}

fn encode_type(ty: &Type) -> Json {
    match ty {
        Type::Any => json!("any"),
        Type::Bool => json!("bool"),
        Type::Number => json!("number"),
        Type::String => json!("string"),
        Type::List(element) => json!(["list", encode_type(element)]),
        Type::Set(element) => json!(["set", encode_type(element)]),
        Type::Map(element) => json!(["map", encode_type(element)]),
        Type::Tuple(types) => json!(["tuple", types.iter().map(encode_type).collect::<Vec<_>>()]),
        Type::Object(object) => {
            let attributes: Map<_, _> =
                object.attributes.iter().map(|(name, ty)| (name.to_string(), encode_type(ty))).collect();
            json!(["object", attributes])
        }
    }
}

fn decode_type(json: &Json) -> Result<Type, Unreadable> {
    if let Some(word) = json.as_str() {
        return match word {
            "any" => Ok(Type::Any),
            "bool" => Ok(Type::Bool),
            "number" => Ok(Type::Number),
            "string" => Ok(Type::String),
            _ => Err(Unreadable),
        };
    }
    let Some([word, inner]) = json.as_array().map(Vec::as_slice) else { return Err(Unreadable) };
    match word.as_str() {
        Some("list") => Ok(Type::list(decode_type(inner)?)),
        Some("set") => Ok(Type::set(decode_type(inner)?)),
        Some("map") => Ok(Type::map(decode_type(inner)?)),
        Some("tuple") => {
            let types = inner.as_array().ok_or(Unreadable)?.iter().map(decode_type);
            Ok(Type::tuple(types.collect::<Result<Vec<_>, _>>()?))
        }
        Some("object") => {
            let attributes = inner.as_object().ok_or(Unreadable)?.iter();
            let attributes = attributes.map(|(name, ty)| Ok((Arc::from(name.as_str()), decode_type(ty)?)));
            Ok(Type::object(attributes.collect::<Result<BTreeMap<_, _>, Unreadable>>()?))
        }
        _ => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use fleet_lang::Marks;

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
        ];
        for value in values {
            let text = to_json(&value).unwrap().to_string();
            let back = from_json(&serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!((back.ty(), &back), (value.ty(), &value), "{text}");
        }
    }

    #[test]
    fn what_must_not_be_stored_is_refused() {
        let check = |value: Value, expected| {
            let deep = Value::tuple(vec![Value::object([("a".into(), value)].into())]);
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
        ] {
            assert_eq!(from_json(&serde_json::from_str(text).unwrap()), Err(Unreadable), "{text}");
        }
    }
}
