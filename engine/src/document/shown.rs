//! Values as they may be shown.
//!
//! As JSON, nulls, texts, truth values, lists and whole numbers of 64 bits are what they are. Everything else is an
//! object with one member, whose name says what it is, so that no value of a user looks like a mark of ours:
//!
//! | JSON | meaning |
//! |---|---|
//! | `{"map": {…}}` | a map or an object |
//! | `{"set": […]}` | a set |
//! | `{"number": "1.5"}` | any other number |
//! | `{"sensitive": true}` | must not be shown |
//! | `{"ephemeral": true}` | must not be stored |
//! | `{"unknown": "core_value.a.output"}` | known after apply; waits for this, or for nothing in particular if null |

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fleet_lang::{Kind, Marks, Value};
use litemap::LiteMap;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

/// Values by name, in the order of the names, in one piece of memory: most have few members, and there are very many of
/// them.
pub type Members = LiteMap<Arc<str>, Shown>;

/// A value with marks in place of what must not be shown and of what is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shown {
    /// Null of whatever type.
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, in digits.
    Number(Arc<str>),
    /// A text.
    Text(Arc<str>),
    /// A list or a tuple.
    List(Vec<Shown>),
    /// A set, in the order sets are listed in.
    Set(Vec<Shown>),
    /// A map or an object.
    Map(Members),
    /// Something that must not be shown.
    Sensitive,
    /// Something that must not be stored.
    Ephemeral,
    /// Not known yet.
    Unknown {
        /// The reference it waits for; none if it is a result of the very thing it belongs to.
        awaits: Option<Arc<str>>,
    },
}

impl Shown {
    /// What may be shown of a value.
    #[must_use]
    pub fn of(value: &Value) -> Shown {
        let all = |items: &[Value]| items.iter().map(Shown::of).collect();
        let entries = |items: &fleet_lang::Entries| {
            let members = items.iter().map(|(name, value)| (name.clone(), Shown::of(value)));
            // They are in order already.
            Shown::Map(Members::from_sorted_store_unchecked(members.collect()))
        };
        match &value.kind {
            Kind::Unknown(unknown) => Shown::Unknown { awaits: unknown.awaits.clone() },
            _ if value.marks.contains(Marks::SENSITIVE) => Shown::Sensitive,
            _ if value.marks.contains(Marks::EPHEMERAL) => Shown::Ephemeral,
            Kind::Null(_) => Shown::Null,
            Kind::Bool(value) => Shown::Bool(*value),
            Kind::Number(number) => Shown::Number(number.to_string().into()),
            Kind::String(text) => Shown::Text(text.clone()),
            Kind::List(list) => Shown::List(all(&list.items)),
            Kind::Set(set) => Shown::Set(all(&set.items)),
            Kind::Tuple(items) => Shown::List(all(items)),
            Kind::Map(map) => entries(&map.items),
            Kind::Object(attributes) => entries(attributes),
        }
    }

    /// Whether something in it, at any depth, passes a test.
    pub fn any(&self, test: &dyn Fn(&Shown) -> bool) -> bool {
        test(self)
            || match self {
                Shown::List(items) | Shown::Set(items) => items.iter().any(|item| item.any(test)),
                Shown::Map(entries) => entries.values().any(|entry| entry.any(test)),
                _ => false,
            }
    }

    /// Whether something in it is hidden.
    #[must_use]
    pub fn hides(&self) -> bool {
        self.any(&|part| matches!(part, Shown::Sensitive | Shown::Ephemeral))
    }

    /// Whether something in it is not known yet.
    #[must_use]
    pub fn awaits_something(&self) -> bool {
        self.any(&|part| matches!(part, Shown::Unknown { .. }))
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn mark<S: Serializer>(serializer: S, word: &str, value: &impl Serialize) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(word, value)?;
            map.end()
        }
        match self {
            Shown::Null => serializer.serialize_unit(),
            Shown::Bool(value) => serializer.serialize_bool(*value),
            Shown::Number(digits) => match digits.parse::<i64>() {
                Ok(whole) if whole.to_string() == **digits => serializer.serialize_i64(whole),
                _ => mark(serializer, "number", &digits.as_ref()),
            },
            Shown::Text(text) => serializer.serialize_str(text),
            Shown::List(items) => serializer.collect_seq(items),
            Shown::Set(items) => mark(serializer, "set", items),
            Shown::Map(entries) => mark(serializer, "map", &Entries(entries)),
            Shown::Sensitive => mark(serializer, "sensitive", &true),
            Shown::Ephemeral => mark(serializer, "ephemeral", &true),
            Shown::Unknown { awaits } => mark(serializer, "unknown", &awaits.as_deref()),
        }
    }
}

impl<'de> Deserialize<'de> for Shown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shown, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

/// Members as an object, whose names need not be owned.
struct Entries<'a>(&'a Members);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (&**name, value)))
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Shown;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a plan")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Shown, E> {
        Ok(Shown::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Shown, E> {
        Ok(Shown::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Shown, E> {
        Ok(Shown::Number(value.to_string().into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Shown, E> {
        Ok(Shown::Number(value.to_string().into()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Shown, E> {
        Ok(Shown::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shown, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Shown::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shown, A::Error> {
        let Some(word) = map.next_key::<String>()? else {
            return Err(de::Error::custom("an object in a value says what it is"));
        };
        let shown = match &*word {
            "map" => {
                let entries: BTreeMap<String, Shown> = map.next_value()?;
                Shown::Map(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())
            }
            "set" => Shown::Set(map.next_value()?),
            "number" => Shown::Number(map.next_value::<String>()?.into()),
            "sensitive" => map.next_value::<bool>().map(|_| Shown::Sensitive)?,
            "ephemeral" => map.next_value::<bool>().map(|_| Shown::Ephemeral)?,
            "unknown" => Shown::Unknown { awaits: map.next_value::<Option<String>>()?.map(Arc::from) },
            other => return Err(de::Error::unknown_variant(other, WORDS)),
        };
        match map.next_key::<String>()? {
            None => Ok(shown),
            Some(_) => Err(de::Error::custom("an object in a value has one member")),
        }
    }
}

const WORDS: &[&str] = &["map", "set", "number", "sensitive", "ephemeral", "unknown"];

#[cfg(test)]
mod tests {
    use fleet_lang::{Number, Type};

    use super::*;

    #[test]
    fn every_value_has_one_form() {
        let check = |value: Value, expected: &str| {
            let shown = Shown::of(&value);
            assert_eq!(serde_json::to_string(&shown).unwrap(), expected);
            assert_eq!(serde_json::from_str::<Shown>(expected).unwrap(), shown);
        };
        let object = |name: &str, value: Value| Value::object([(name.into(), value)].into());
        check(Value::null(), "null");
        check(true.into(), "true");
        check((-7).into(), "-7");
        check(Number::parse("1.5").unwrap().into(), r#"{"number":"1.5"}"#);
        check(Number::parse("18446744073709551616").unwrap().into(), r#"{"number":"18446744073709551616"}"#);
        check("x".into(), r#""x""#);
        check(Value::tuple([1.into(), "a".into()]), r#"[1,"a"]"#);
        check(Value::set(Type::String, vec!["b".into(), "a".into()]), r#"{"set":["a","b"]}"#);
        check(object("sensitive", true.into()), r#"{"map":{"sensitive":true}}"#);
        check(Value::from("x").mark(Marks::SENSITIVE), r#"{"sensitive":true}"#);
        check(Value::from("x").mark(Marks::EPHEMERAL), r#"{"ephemeral":true}"#);
        check(object("a", Value::from("x").mark(Marks::SENSITIVE)), r#"{"map":{"a":{"sensitive":true}}}"#);
        check(Value::unknown(Type::String).mark(Marks::SENSITIVE), r#"{"unknown":null}"#);
        check(Value::awaiting(Type::String, "a.b.c"), r#"{"unknown":"a.b.c"}"#);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for text in ["{}", r#"{"odd":1}"#, r#"{"set":[],"map":{}}"#, r#"{"number":1}"#, "1.5"] {
            assert!(serde_json::from_str::<Shown>(text).is_err(), "{text}");
        }
    }
}
