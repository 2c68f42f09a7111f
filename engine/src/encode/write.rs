//! Values → JSON.

use fleet_lang::{Kind, Type, Value};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value as Json;

use super::Unwritable;

/// Writes a value with its type.
pub fn to_text(value: &Value) -> Result<String, Unwritable> {
    check(value)?;
    Ok(serde_json::to_string(&Pair(value)).expect("JSON can be written to memory"))
}

/// The same as a tree.
pub fn to_json(value: &Value) -> Result<Json, Unwritable> {
    check(value)?;
    Ok(serde_json::to_value(Pair(value)).expect("keys are texts"))
}

/// Whether all of it may be stored.
fn check(value: &Value) -> Result<(), Unwritable> {
    if !value.marks.is_empty() {
        return Err(Unwritable::Marked);
    }
    if !value.is_known() {
        return Err(Unwritable::Unknown);
    }
    let children = value.items().into_iter().flatten();
    children.chain(value.entries().into_iter().flat_map(|entries| entries.values())).try_for_each(check)
}

/// A value beside its type.
struct Pair<'a>(&'a Value);

/// A value whose type stands elsewhere.
struct Bare<'a>(&'a Value);

/// An element whose type is open or not, as the type of the whole says.
struct Element<'a> {
    value: &'a Value,
    open: bool,
}

/// The type of a value, without making it.
struct TypeOf<'a>(&'a Value);

/// A type.
struct Written<'a>(&'a Type);

impl Serialize for Pair<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_map(Some(2))?;
        pair.serialize_entry("type", &TypeOf(self.0))?;
        pair.serialize_entry("value", &Bare(self.0))?;
        pair.end()
    }
}

impl Serialize for Element<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.open {
            Pair(self.value).serialize(serializer)
        } else {
            Bare(self.value).serialize(serializer)
        }
    }
}

impl Serialize for Bare<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let alike = |element: &Type| {
            let open = *element == Type::Any;
            move |value| Element { value, open }
        };
        match &self.0.kind {
            // An unknown was refused before.
            Kind::Null(_) | Kind::Unknown(_) => serializer.serialize_unit(),
            Kind::Bool(bool) => serializer.serialize_bool(*bool),
            Kind::Number(number) => match number.to_i64() {
                Some(whole) => serializer.serialize_i64(whole),
                None => serializer.serialize_str(&number.to_exact_text()),
            },
            Kind::String(text) => serializer.serialize_str(text),
            Kind::List(list) => serializer.collect_seq(list.items.iter().map(alike(&list.element))),
            Kind::Set(set) => serializer.collect_seq(set.items.iter().map(alike(&set.element))),
            Kind::Map(map) => {
                let element = alike(&map.element);
                serializer.collect_map(map.items.iter().map(|(key, item)| (&**key, element(item))))
            }
            Kind::Tuple(items) => serializer.collect_seq(items.iter().map(by_itself)),
            Kind::Object(attributes) => {
                serializer.collect_map(attributes.iter().map(|(name, item)| (&**name, by_itself(item))))
            }
        }
    }
}

/// An element with a type of its own.
fn by_itself(value: &Value) -> Element<'_> {
    Element { value, open: matches!(value.kind, Kind::Null(Type::Any)) }
}

impl Serialize for TypeOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.kind {
            Kind::Tuple(items) => {
                let types: Vec<TypeOf<'_>> = items.iter().map(TypeOf).collect();
                nested(serializer, "tuple", &types)
            }
            Kind::Object(attributes) => nested(serializer, "object", &TypesOf(attributes)),
            Kind::List(list) => nested(serializer, "list", &Written(&list.element)),
            Kind::Set(set) => nested(serializer, "set", &Written(&set.element)),
            Kind::Map(map) => nested(serializer, "map", &Written(&map.element)),
            Kind::Null(ty) => Written(ty).serialize(serializer),
            _ => Written(&self.0.ty()).serialize(serializer),
        }
    }
}

/// The types of the attributes of an object.
struct TypesOf<'a>(&'a fleet_lang::Entries);

impl Serialize for TypesOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, item)| (&**name, TypeOf(item))))
    }
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Type::Any => serializer.serialize_str("any"),
            Type::Bool => serializer.serialize_str("bool"),
            Type::Number => serializer.serialize_str("number"),
            Type::String => serializer.serialize_str("string"),
            Type::List(element) => nested(serializer, "list", &Written(element)),
            Type::Set(element) => nested(serializer, "set", &Written(element)),
            Type::Map(element) => nested(serializer, "map", &Written(element)),
            Type::Tuple(types) => nested(serializer, "tuple", &types.iter().map(Written).collect::<Vec<_>>()),
            Type::Object(object) => {
                let types = object.attributes.iter().map(|(name, ty)| (&**name, Written(ty)));
                nested(serializer, "object", &types.collect::<std::collections::BTreeMap<_, _>>())
            }
        }
    }
}

fn nested<S: Serializer>(serializer: S, word: &str, inner: &impl Serialize) -> Result<S::Ok, S::Error> {
    let mut pair = serializer.serialize_seq(Some(2))?;
    pair.serialize_element(word)?;
    pair.serialize_element(inner)?;
    pair.end()
}
