//! The values.

use std::ops::{BitOr, BitOrAssign};
use std::sync::Arc;

use crate::{Entries, Number, Type};

/// A value with its marks. Cloning is cheap: children are shared.
///
/// `==` here is identity of everything, marks included; the language's `==` is [`crate::equal()`].
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The value itself.
    pub kind: Kind,
    /// What must be remembered about it. Marks of an element stay on the element, except in sets, whose elements'
    /// marks move to the set.
    pub marks: Marks,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Null, which has a type too.
    Null(Type),
    /// Not known yet.
    Unknown(Arc<Unknown>),
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// An NFC-normalised string.
    String(Arc<str>),
    /// Elements of one type, in order.
    List(Arc<List>),
    /// Distinct elements of one type, in the order sets are listed in.
    Set(Arc<Set>),
    /// Elements of one type by key.
    Map(Arc<Map>),
    /// Elements of any types, in order.
    Tuple(Arc<[Value]>),
    /// Elements of any types by name.
    Object(Arc<Entries>),
}

/// Something not known yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// The type it will have; [`Type::Any`] if even that is open.
    pub ty: Type,
    /// The reference it waits for, such as `core_value.a.output`.
    pub awaits: Option<Arc<str>>,
    /// Whether it is known that it will not be null.
    pub not_null: bool,
}

/// A list with the type of its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The type of every element.
    pub element: Type,
    /// The elements.
    pub items: Vec<Value>,
}

/// A set with the type of its elements. Build it with [`Value::set`], which sorts and removes doubles.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The type of every element.
    pub element: Type,
    /// The elements, unmarked, distinct, in listing order.
    pub items: Vec<Value>,
}

/// A map with the type of its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The type of every element.
    pub element: Type,
    /// The elements.
    pub items: Entries,
}

/// A small set of marks, which spread to whatever is computed from a marked value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Marks(u8);

impl Marks {
    /// No mark.
    pub const NONE: Marks = Marks(0);
    /// Must not be shown.
    pub const SENSITIVE: Marks = Marks(1);
    /// Must not be stored.
    pub const EPHEMERAL: Marks = Marks(2);

    /// Whether all of `other`'s marks are here.
    #[must_use]
    pub fn contains(self, other: Marks) -> bool {
        self.0 & other.0 == other.0
    }

    /// These marks without `other`'s.
    #[must_use]
    pub fn without(self, other: Marks) -> Marks {
        Marks(self.0 & !other.0)
    }

    /// Whether there is no mark.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Marks {
    type Output = Marks;
    fn bitor(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }
}

impl BitOrAssign for Marks {
    fn bitor_assign(&mut self, other: Marks) {
        self.0 |= other.0;
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::Null(a), Kind::Null(b)) => a == b,
            (Kind::Unknown(a), Kind::Unknown(b)) => is_shared_or_equal(a, b),
            (Kind::Bool(a), Kind::Bool(b)) => a == b,
            (Kind::Number(a), Kind::Number(b)) => a == b,
            (Kind::String(a), Kind::String(b)) => is_shared_or_equal(a, b),
            (Kind::List(a), Kind::List(b)) => is_shared_or_equal(a, b),
            (Kind::Set(a), Kind::Set(b)) => is_shared_or_equal(a, b),
            (Kind::Map(a), Kind::Map(b)) => is_shared_or_equal(a, b),
            (Kind::Tuple(a), Kind::Tuple(b)) => is_shared_or_equal(a, b),
            (Kind::Object(a), Kind::Object(b)) => is_shared_or_equal(a, b),
            _ => false,
        }
    }
}

/// Whether both are equal. Most of those that are compared are the very same, and need no look inside.
fn is_shared_or_equal<T: PartialEq + ?Sized>(a: &Arc<T>, b: &Arc<T>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

impl From<Kind> for Value {
    fn from(kind: Kind) -> Value {
        Value { kind, marks: Marks::NONE }
    }
}

impl From<Unknown> for Value {
    fn from(unknown: Unknown) -> Value {
        Kind::Unknown(Arc::new(unknown)).into()
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Kind::Bool(value).into()
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Value {
        Kind::Number(value).into()
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Kind::Number(Number::from(value)).into()
    }
}

impl From<&str> for Value {
    /// Normalises to NFC.
    fn from(value: &str) -> Value {
        use unicode_normalization::{UnicodeNormalization, is_nfc};
        let text: Arc<str> =
            if is_nfc(value) { value.into() } else { value.nfc().collect::<String>().into() };
        Kind::String(text).into()
    }
}

impl Value {
    /// `null` of a type not yet known.
    #[must_use]
    pub fn null() -> Value {
        Value::null_of(Type::Any)
    }

    /// Null of a type.
    #[must_use]
    pub fn null_of(ty: Type) -> Value {
        Kind::Null(ty).into()
    }

    /// Unknown of a type, waiting for nothing in particular.
    #[must_use]
    pub fn unknown(ty: Type) -> Value {
        Unknown { ty, awaits: None, not_null: false }.into()
    }

    /// Unknown of a type, waiting for a reference.
    #[must_use]
    pub fn awaiting(ty: Type, reference: impl Into<Arc<str>>) -> Value {
        Unknown { ty, awaits: Some(reference.into()), not_null: false }.into()
    }

    /// A list; every item must have the element type already.
    #[must_use]
    pub fn list(element: Type, items: Vec<Value>) -> Value {
        Kind::List(Arc::new(List { element, items })).into()
    }

    /// A map; every item must have the element type already.
    #[must_use]
    pub fn map(element: Type, items: Entries) -> Value {
        Kind::Map(Arc::new(Map { element, items })).into()
    }

    /// A tuple.
    #[must_use]
    pub fn tuple(items: impl Into<Arc<[Value]>>) -> Value {
        Kind::Tuple(items.into()).into()
    }

    /// An object.
    #[must_use]
    pub fn object(attributes: Entries) -> Value {
        Kind::Object(Arc::new(attributes)).into()
    }

    /// The value with marks added.
    #[must_use]
    pub fn mark(mut self, marks: Marks) -> Value {
        self.marks |= marks;
        self
    }

    /// The value without its own marks, which are handed back; those of its elements stay.
    #[must_use]
    pub fn unmark(mut self) -> (Value, Marks) {
        let marks = std::mem::take(&mut self.marks);
        (self, marks)
    }

    /// The value without any marks in it, and all the marks taken off. Without marks it is the same value, shared.
    #[must_use]
    pub fn unmark_deep(self) -> (Value, Marks) {
        let marks = self.marks_deep();
        if marks.is_empty() { (self, marks) } else { (self.without_marks(), marks) }
    }

    fn without_marks(&self) -> Value {
        let bare_entries = |entries: &Entries| -> Entries {
            entries.iter().map(|(name, value)| (name.clone(), value.without_marks())).collect()
        };
        let kind = match &self.kind {
            Kind::List(list) => Kind::List(Arc::new(List {
                element: list.element.clone(),
                items: list.items.iter().map(Value::without_marks).collect(),
            })),
            Kind::Map(map) => {
                Kind::Map(Arc::new(Map { element: map.element.clone(), items: bare_entries(&map.items) }))
            }
            Kind::Tuple(items) => Kind::Tuple(items.iter().map(Value::without_marks).collect()),
            Kind::Object(attributes) => Kind::Object(Arc::new(bare_entries(attributes))),
            other => other.clone(),
        };
        kind.into()
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null(_))
    }

    /// Whether the value itself is known; its elements may still be unknown.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self.kind, Kind::Unknown(_))
    }

    /// Its type.
    #[must_use]
    pub fn ty(&self) -> Type {
        match &self.kind {
            Kind::Null(ty) => ty.clone(),
            Kind::Unknown(unknown) => unknown.ty.clone(),
            Kind::Bool(_) => Type::Bool,
            Kind::Number(_) => Type::Number,
            Kind::String(_) => Type::String,
            Kind::List(list) => Type::list(list.element.clone()),
            Kind::Set(set) => Type::set(set.element.clone()),
            Kind::Map(map) => Type::map(map.element.clone()),
            Kind::Tuple(items) => Type::tuple(items.iter().map(Value::ty).collect::<Vec<_>>()),
            Kind::Object(attributes) => {
                Type::object(attributes.iter().map(|(name, value)| (name.clone(), value.ty())).collect())
            }
        }
    }

    /// The elements of a list, set or tuple.
    #[must_use]
    pub fn items(&self) -> Option<&[Value]> {
        match &self.kind {
            Kind::List(list) => Some(&list.items),
            Kind::Set(set) => Some(&set.items),
            Kind::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The elements of a map or object.
    #[must_use]
    pub fn entries(&self) -> Option<&Entries> {
        match &self.kind {
            Kind::Map(map) => Some(&map.items),
            Kind::Object(attributes) => Some(attributes),
            _ => None,
        }
    }

    /// The text of a known string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// The first thing found in a child.
    fn find_child<'v, T>(&'v self, find: impl FnMut(&'v Value) -> Option<T>) -> Option<T> {
        match (self.items(), self.entries()) {
            (Some(items), _) => items.iter().find_map(find),
            (_, Some(entries)) => entries.values().find_map(find),
            (None, None) => None,
        }
    }

    /// Whether it and everything in it is known.
    #[must_use]
    pub fn is_wholly_known(&self) -> bool {
        self.is_known() && self.find_child(|child| (!child.is_wholly_known()).then_some(())).is_none()
    }

    /// The first reference that it, or something in it, waits for.
    #[must_use]
    pub fn awaits(&self) -> Option<&Arc<str>> {
        match &self.kind {
            Kind::Unknown(unknown) => unknown.awaits.as_ref(),
            _ => self.find_child(Value::awaits),
        }
    }

    /// Its marks and those of everything in it.
    #[must_use]
    pub fn marks_deep(&self) -> Marks {
        let mut marks = self.marks;
        self.find_child(|child| {
            marks |= child.marks_deep();
            None::<()>
        });
        marks
    }
}
