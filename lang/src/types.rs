//! The types of values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// The type of a value. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// Not known yet, or `any`: the type of a bare `null`.
    Any,
    /// `bool`
    Bool,
    /// `number`
    Number,
    /// `string`
    String,
    /// `list(element)`
    List(Arc<Type>),
    /// `set(element)`
    Set(Arc<Type>),
    /// `map(element)`
    Map(Arc<Type>),
    /// `tuple([…])`
    Tuple(Arc<Vec<Type>>),
    /// `object({…})`
    Object(Arc<ObjectType>),
}

/// The attributes of an object type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ObjectType {
    /// Every attribute with its type.
    pub attributes: BTreeMap<Arc<str>, Type>,
    /// Those that conversion may leave out (they become null); empty for the type of a value.
    pub optional: BTreeSet<Arc<str>>,
}

impl Type {
    /// `list(element)`
    #[must_use]
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    /// `set(element)`
    #[must_use]
    pub fn set(element: Type) -> Type {
        Type::Set(Arc::new(element))
    }

    /// `map(element)`
    #[must_use]
    pub fn map(element: Type) -> Type {
        Type::Map(Arc::new(element))
    }

    /// `tuple([…])`
    #[must_use]
    pub fn tuple(elements: impl Into<Vec<Type>>) -> Type {
        Type::Tuple(Arc::new(elements.into()))
    }

    /// An object type without optional attributes.
    #[must_use]
    pub fn object(attributes: BTreeMap<Arc<str>, Type>) -> Type {
        Type::Object(Arc::new(ObjectType { attributes, optional: BTreeSet::new() }))
    }

    /// Whether it is bool, number or string.
    #[must_use]
    pub fn is_primitive(&self) -> bool {
        matches!(self, Type::Bool | Type::Number | Type::String)
    }

    /// Whether `any` stands somewhere in it.
    #[must_use]
    pub fn has_any(&self) -> bool {
        match self {
            Type::Any => true,
            Type::Bool | Type::Number | Type::String => false,
            Type::List(element) | Type::Set(element) | Type::Map(element) => element.has_any(),
            Type::Tuple(elements) => elements.iter().any(Type::has_any),
            Type::Object(object) => object.attributes.values().any(Type::has_any),
        }
    }

    /// The type that values have after conversion to this one: nothing is optional any more.
    #[must_use]
    pub fn without_optional(&self) -> Type {
        if !self.has_optional() {
            return self.clone();
        }
        match self {
            Type::Any | Type::Bool | Type::Number | Type::String => self.clone(),
            Type::List(element) => Type::list(element.without_optional()),
            Type::Set(element) => Type::set(element.without_optional()),
            Type::Map(element) => Type::map(element.without_optional()),
            Type::Tuple(elements) => {
                Type::tuple(elements.iter().map(Type::without_optional).collect::<Vec<_>>())
            }
            Type::Object(object) => {
                let plain = |(name, ty): (&Arc<str>, &Type)| (name.clone(), ty.without_optional());
                Type::object(object.attributes.iter().map(plain).collect())
            }
        }
    }

    fn has_optional(&self) -> bool {
        match self {
            Type::Any | Type::Bool | Type::Number | Type::String => false,
            Type::List(element) | Type::Set(element) | Type::Map(element) => element.has_optional(),
            Type::Tuple(elements) => elements.iter().any(Type::has_optional),
            Type::Object(object) => {
                !object.optional.is_empty() || object.attributes.values().any(Type::has_optional)
            }
        }
    }
}

/// As users write it: `list(string)`, `object({a=number})`.
impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => f.write_str("any"),
            Type::Bool => f.write_str("bool"),
            Type::Number => f.write_str("number"),
            Type::String => f.write_str("string"),
            Type::List(element) => write!(f, "list({element})"),
            Type::Set(element) => write!(f, "set({element})"),
            Type::Map(element) => write!(f, "map({element})"),
            Type::Tuple(elements) => {
                f.write_str("tuple([")?;
                for (index, element) in elements.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{element}")?;
                }
                f.write_str("])")
            }
            Type::Object(object) => {
                f.write_str("object({")?;
                for (index, (name, ty)) in object.attributes.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    if object.optional.contains(name) {
                        write!(f, "{comma}{name}=optional({ty})")?;
                    } else {
                        write!(f, "{comma}{name}={ty}")?;
                    }
                }
                f.write_str("})")
            }
        }
    }
}
