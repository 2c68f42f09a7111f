//! JSON → values.

use std::fmt;
use std::sync::Arc;

use fleet_lang::{Entries, Kind, Number, ObjectType, Type, Value};
use foldhash::HashMap;
use memchr::memmem;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::Unreadable;

/// Reads values. Those of one type share it, and with it the names of their attributes.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The types read so far, by their text.
    types: HashMap<Box<str>, Type>,
}

impl Decoder {
    /// Reads what [`to_text`](super::to_text) wrote.
    pub fn value(&mut self, text: &str) -> Result<Value, Unreadable> {
        match self.of_known_type(text) {
            Some(value) => Ok(value),
            None => self.read(text, &Type::Any).map_err(|_| Unreadable),
        }
    }

    /// Reads a value whose type was read before, word for word: where a type ends is told faster by looking for what
    /// follows it than by reading it. None if it has to be read.
    fn of_known_type(&mut self, text: &str) -> Option<Value> {
        const NEXT: &str = ",\"value\":";
        let rest = text.strip_prefix("{\"type\":")?;
        let end = memmem::find(rest.as_bytes(), NEXT.as_bytes())?;
        let ty = self.types.get(&rest[..end])?.clone();
        self.read(rest[end + NEXT.len()..].strip_suffix('}')?, &ty).ok()
    }

    fn read(&mut self, text: &str, ty: &Type) -> Result<Value, serde_json::Error> {
        let mut json = serde_json::Deserializer::from_str(text);
        // Values have a limit of their own.
        json.disable_recursion_limit();
        let value = Expected { ty, decoder: self }.deserialize(&mut json)?;
        json.end().map(|()| value)
    }

    fn ty(&mut self, text: &str) -> Result<Type, Unreadable> {
        if let Some(known) = self.types.get(text) {
            return Ok(known.clone());
        }
        let mut json = serde_json::Deserializer::from_str(text);
        json.disable_recursion_limit();
        let tree = serde::Deserialize::deserialize(&mut json).map_err(|_| Unreadable)?;
        let ty = read_type(&tree)?;
        self.types.insert(text.into(), ty.clone());
        Ok(ty)
    }
}

/// A value of this type is expected.
struct Expected<'a> {
    ty: &'a Type,
    decoder: &'a mut Decoder,
}

impl<'de> DeserializeSeed<'de> for Expected<'_> {
    type Value = Value;
    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Expected<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of type {}", self.ty)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        match self.ty {
            Type::Any => Err(E::custom("a pair is missing")),
            ty => Ok(Value::null_of(ty.clone())),
        }
    }

    fn visit_bool<E: Error>(self, bool: bool) -> Result<Value, E> {
        match self.ty {
            Type::Bool => Ok(bool.into()),
            _ => Err(E::custom("no truth value belongs here")),
        }
    }

    fn visit_i64<E: Error>(self, whole: i64) -> Result<Value, E> {
        match self.ty {
            // As if it stood in a text: at full precision.
            Type::Number => Ok(Number::from_whole(whole).into()),
            _ => Err(E::custom("no number belongs here")),
        }
    }

    fn visit_u64<E: Error>(self, whole: u64) -> Result<Value, E> {
        self.visit_i64(i64::try_from(whole).map_err(|_| E::custom("too large a number"))?)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        match self.ty {
            Type::String => Ok(Kind::String(text.into()).into()),
            Type::Number => {
                Number::from_exact_text(text).map(Value::from).ok_or_else(|| E::custom("not a number"))
            }
            _ => Err(E::custom("no text belongs here")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let Expected { ty, decoder } = self;
        let mut values = Vec::with_capacity(items.size_hint().unwrap_or_default());
        match ty {
            Type::List(element) | Type::Set(element) => {
                while let Some(value) = items.next_element_seed(Expected { ty: element, decoder })? {
                    values.push(value);
                }
                let element = (**element).clone();
                let is_list = matches!(ty, Type::List(_));
                Ok(if is_list { Value::list(element, values) } else { Value::set(element, values) })
            }
            Type::Tuple(types) => {
                let shorter = || A::Error::custom("a tuple is too short");
                for ty in types.iter() {
                    values.push(items.next_element_seed(Expected { ty, decoder })?.ok_or_else(shorter)?);
                }
                Ok(Value::tuple(values))
            }
            _ => Err(A::Error::custom("no array belongs here")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Value, A::Error> {
        match self.ty {
            Type::Any => self.decoder.pair(entries),
            Type::Map(element) => self.decoder.map(element, entries),
            Type::Object(object) => self.decoder.object(object, entries),
            _ => Err(A::Error::custom("no object belongs here")),
        }
    }
}

impl Decoder {
    /// A value beside its type.
    fn pair<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut ty = None;
        let mut value = None;
        let mut early: Option<&RawValue> = None;
        while let Some(name) = entries.next_key::<&str>()? {
            match (name, &ty) {
                ("type", _) => {
                    let text = entries.next_value::<&RawValue>()?.get();
                    ty = Some(self.ty(text).map_err(A::Error::custom)?);
                }
                // A bare null, whose type is open for good.
                ("value", Some(Type::Any)) => {
                    value = entries.next_value::<()>().map(|()| Some(Value::null()))?;
                }
                ("value", Some(ty)) => {
                    value = Some(entries.next_value_seed(Expected { ty, decoder: &mut *self })?);
                }
                ("value", None) => early = Some(entries.next_value()?),
                _ => return Err(A::Error::custom("neither a type nor a value")),
            }
        }
        match (ty, value, early) {
            (Some(_), Some(value), _) => Ok(value),
            (Some(Type::Any), None, Some(_)) => Ok(Value::null()),
            (Some(ty), None, Some(text)) => self.read(text.get(), &ty).map_err(A::Error::custom),
            _ => Err(A::Error::custom("half of a pair is missing")),
        }
    }

    fn map<'de, A: MapAccess<'de>>(&mut self, element: &Type, mut entries: A) -> Result<Value, A::Error> {
        let mut items = Vec::with_capacity(entries.size_hint().unwrap_or_default());
        while let Some(key) = entries.next_key_seed(Name(|key: &str| Arc::from(key)))? {
            items.push((key, entries.next_value_seed(Expected { ty: element, decoder: self })?));
        }
        Ok(Value::map(element.clone(), items.into_iter().collect()))
    }

    fn object<'de, A: MapAccess<'de>>(&mut self, ty: &ObjectType, mut entries: A) -> Result<Value, A::Error> {
        let mut attributes = Vec::with_capacity(ty.attributes.len());
        // They are written in the order of their names, so that the next one is nearly always the one that is read.
        let mut expected = ty.attributes.iter();
        let mut find = |name: &str| {
            let next = expected.next().filter(|(expected, _)| ***expected == *name);
            next.or_else(|| ty.attributes.get_key_value(name))
        };
        while let Some(known) = entries.next_key_seed(Name(&mut find))? {
            let Some((name, ty)) = known else {
                return Err(A::Error::custom("an attribute of another type"));
            };
            attributes.push((name.clone(), entries.next_value_seed(Expected { ty, decoder: self })?));
        }
        let attributes: Entries = attributes.into_iter().collect();
        if attributes.len() != ty.attributes.len() {
            return Err(A::Error::custom("an attribute is missing"));
        }
        Ok(Value::object(attributes))
    }
}

/// The name of an entry, looked at before anything is made of it.
struct Name<F>(F);

impl<'de, T, F: FnOnce(&str) -> T> DeserializeSeed<'de> for Name<F> {
    type Value = T;
    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<T, D::Error> {
        json.deserialize_str(self)
    }
}

impl<T, F: FnOnce(&str) -> T> Visitor<'_> for Name<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        Ok((self.0)(name))
    }
}

fn read_type(json: &Json) -> Result<Type, Unreadable> {
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
        Some("list") => Ok(Type::list(read_type(inner)?)),
        Some("set") => Ok(Type::set(read_type(inner)?)),
        Some("map") => Ok(Type::map(read_type(inner)?)),
        Some("tuple") => {
            let types = inner.as_array().ok_or(Unreadable)?.iter().map(read_type);
            Ok(Type::tuple(types.collect::<Result<Vec<_>, _>>()?))
        }
        Some("object") => {
            let attributes = inner.as_object().ok_or(Unreadable)?.iter();
            let attributes = attributes.map(|(name, ty)| Ok((Arc::from(name.as_str()), read_type(ty)?)));
            Ok(Type::object(attributes.collect::<Result<_, Unreadable>>()?))
        }
        _ => Err(Unreadable),
    }
}
