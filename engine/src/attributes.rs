//! Typed edges: the Rust structs of kinds, and their way to and from [`Value`].
//!
//! Kinds' authors derive [`Attributes`] with `#[derive(fleet_derive::Schema)]` and use the types that are [`Field`]s.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fleet_lang::value::Map;
use fleet_lang::{Kind, Type, Value};

use crate::schema::Schema;

/// A struct that holds what a kind's schema says.
///
/// Made from wholly known values only, so that no field needs a way to say "not known yet".
pub trait Attributes: Clone + Send + Sync + Sized + 'static {
    /// The schema: names, types, manual.
    fn schema() -> Schema;

    /// The object, every attribute of the schema in it.
    fn to_value(&self) -> Value;

    /// Reads an object that was made for this schema and is wholly known.
    fn from_value(value: &Value) -> Result<Self, Misfit>;
}

/// A type that an attribute can have.
pub trait Field: Sized {
    /// Its type in the language.
    fn ty() -> Type;

    /// The value.
    fn to_value(&self) -> Value;

    /// Reads a wholly known value of the type.
    fn from_value(value: &Value) -> Result<Self, Misfit>;
}

/// Why a value does not fit an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The attribute; empty if the object as a whole does not fit.
    pub attribute: String,
    /// What is wrong, as a sentence without capital or full stop.
    pub message: String,
}

impl Misfit {
    /// A value that cannot be.
    pub fn new(attribute: impl Into<String>, message: impl Into<String>) -> Misfit {
        Misfit { attribute: attribute.into(), message: message.into() }
    }

    fn of_type(expected: &str, found: &Value) -> Misfit {
        let found = if found.is_null() { "null" } else { "another type" };
        Misfit::new("", format!("a {expected} is needed, not {found}"))
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.attribute.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.attribute, self.message)
        }
    }
}

impl std::error::Error for Misfit {}

/// Reads one attribute of an object; one that is missing reads as null. What the derive expands to.
pub fn read<T: Field>(object: &Value, name: &str) -> Result<T, Misfit> {
    let field = object.entries().and_then(|entries| entries.get(name));
    let read = match field {
        Some(value) => T::from_value(value),
        None => T::from_value(&Value::null_of(T::ty())),
    };
    read.map_err(|misfit| {
        let inner =
            if misfit.attribute.is_empty() { String::new() } else { format!(".{}", misfit.attribute) };
        Misfit { attribute: format!("{name}{inner}"), ..misfit }
    })
}

/// A struct of its own is an object.
impl<T: Attributes> Field for T {
    fn ty() -> Type {
        <T as Attributes>::schema().ty()
    }

    fn to_value(&self) -> Value {
        Attributes::to_value(self)
    }

    fn from_value(value: &Value) -> Result<T, Misfit> {
        Attributes::from_value(value)
    }
}

impl Field for String {
    fn ty() -> Type {
        Type::String
    }

    /// Keeps the text as it is: what was observed must not be made equal to the wish by normalisation.
    fn to_value(&self) -> Value {
        Kind::String(self.as_str().into()).into()
    }

    fn from_value(value: &Value) -> Result<String, Misfit> {
        value.as_str().map(str::to_owned).ok_or_else(|| Misfit::of_type("string", value))
    }
}

impl Field for bool {
    fn ty() -> Type {
        Type::Bool
    }

    fn to_value(&self) -> Value {
        (*self).into()
    }

    fn from_value(value: &Value) -> Result<bool, Misfit> {
        match value.kind {
            Kind::Bool(bool) => Ok(bool),
            _ => Err(Misfit::of_type("bool", value)),
        }
    }
}

impl Field for i64 {
    fn ty() -> Type {
        Type::Number
    }

    fn to_value(&self) -> Value {
        (*self).into()
    }

    fn from_value(value: &Value) -> Result<i64, Misfit> {
        match &value.kind {
            Kind::Number(number) => {
                number.to_i64().ok_or_else(|| Misfit::new("", "a whole number is needed"))
            }
            _ => Err(Misfit::of_type("number", value)),
        }
    }
}

/// Any value at all, null included.
impl Field for Value {
    fn ty() -> Type {
        Type::Any
    }

    fn to_value(&self) -> Value {
        self.clone()
    }

    fn from_value(value: &Value) -> Result<Value, Misfit> {
        Ok(value.clone())
    }
}

impl<T: Field> Field for Option<T> {
    fn ty() -> Type {
        T::ty()
    }

    fn to_value(&self) -> Value {
        self.as_ref().map_or_else(|| Value::null_of(T::ty()), T::to_value)
    }

    fn from_value(value: &Value) -> Result<Option<T>, Misfit> {
        if value.is_null() { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

impl<T: Field> Field for Vec<T> {
    fn ty() -> Type {
        Type::list(T::ty())
    }

    fn to_value(&self) -> Value {
        Value::list(T::ty(), self.iter().map(T::to_value).collect())
    }

    fn from_value(value: &Value) -> Result<Vec<T>, Misfit> {
        let items = value.items().ok_or_else(|| Misfit::of_type("list", value))?;
        items.iter().map(T::from_value).collect()
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn ty() -> Type {
        Type::map(T::ty())
    }

    fn to_value(&self) -> Value {
        let items = self.iter().map(|(key, item)| (Arc::from(key.as_str()), item.to_value()));
        Kind::Map(Arc::new(Map { element: T::ty(), items: items.collect() })).into()
    }

    fn from_value(value: &Value) -> Result<BTreeMap<String, T>, Misfit> {
        let entries = value.entries().ok_or_else(|| Misfit::of_type("map", value))?;
        entries.iter().map(|(key, item)| Ok((key.to_string(), T::from_value(item)?))).collect()
    }
}
