//! The types of values.

use std::collections::{BTreeMap, BTreeSet};
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
    Tuple(Arc<[Type]>),
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
}
