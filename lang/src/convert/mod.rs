//! Conversion and unification.
//!
//! 1. this file: value + wanted type → value
//! 2. [`types`]: whether values of one type can become values of another
//! 3. [`unify`](mod@unify): one type for values of several
//!
//! A value that already has the wanted type is shared, not copied.

#[cfg(test)]
mod tests;
mod types;
mod unify;

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::{Kind, Number, ObjectType, Type, Unknown, Value};

pub use types::can_convert;
pub use unify::{unify, unify_safely};

/// Why a value cannot become one of the wanted type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertError {
    /// The way from the whole value to the part that is to blame.
    pub path: Vec<PathStep>,
    /// What is wrong with it, as a sentence without capital or full stop.
    pub message: String,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// An attribute of an object.
    Attribute(Arc<str>),
    /// An element of a list, set or tuple, counted from 0.
    Index(usize),
    /// An element of a map.
    Key(Arc<str>),
}

impl Display for PathStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PathStep::Attribute(name) => write!(f, "attribute `{name}`"),
            PathStep::Index(index) => write!(f, "element {index}"),
            PathStep::Key(key) => write!(f, "element {key:?}"),
        }
    }
}

impl Display for ConvertError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for step in &self.path {
            write!(f, "{step}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConvertError {}

impl ConvertError {
    fn new(message: impl Into<String>) -> ConvertError {
        ConvertError { path: Vec::new(), message: message.into() }
    }

    /// The same error, seen from one step further out.
    fn within(mut self, step: PathStep) -> ConvertError {
        self.path.insert(0, step);
        self
    }
}

/// Converts a value to a type. `any` in the type stands for whatever fits; in the element type of a collection that is
/// one type for all elements. Null and unknown values take the type on, marks stay where they are.
///
/// # Errors
/// If the value has no counterpart of that type.
pub fn convert(value: &Value, to: &Type) -> Result<Value, ConvertError> {
    Ok(changed(value, to)?.unwrap_or_else(|| value.clone()))
}

/// A text as a bool; only these four stand for one.
#[must_use]
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// The converted value, or `None` if the value is of that type already.
fn changed(value: &Value, to: &Type) -> Result<Option<Value>, ConvertError> {
    let converted = match (&value.kind, to) {
        (_, Type::Any)
        | (Kind::Bool(_), Type::Bool)
        | (Kind::Number(_), Type::Number)
        | (Kind::String(_), Type::String) => None,
        (Kind::Null(from), _) => types::of_unset(from, to)?.map(Value::null_of),
        (Kind::Unknown(unknown), _) => {
            types::of_unset(&unknown.ty, to)?.map(|ty| Unknown { ty, ..(**unknown).clone() }.into())
        }
        (Kind::Bool(value), Type::String) => Some(Value::from(if *value { "true" } else { "false" })),
        (Kind::Number(value), Type::String) => Some(Value::from(value.to_string().as_str())),
        (Kind::String(text), Type::Number) => Some(Value::from(
            Number::parse(text)
                .ok_or_else(|| ConvertError::new("a number is required, and this text is not one"))?,
        )),
        (Kind::String(text), Type::Bool) => Some(Value::from(parse_bool(text).ok_or_else(|| {
            ConvertError::new("a bool is required, which as text is \"true\" or \"false\"")
        })?)),
        (Kind::List(list), Type::List(element)) if list.element == **element => None,
        (Kind::Set(set), Type::Set(element)) if set.element == **element => None,
        (Kind::Map(map), Type::Map(element)) if map.element == **element => None,
        (Kind::List(_) | Kind::Set(_) | Kind::Tuple(_), Type::List(element)) => to_list(value, element)?,
        (Kind::List(_) | Kind::Set(_) | Kind::Tuple(_), Type::Set(element)) => to_set(value, element)?,
        (Kind::Tuple(items), Type::Tuple(wanted)) => to_tuple(items, wanted)?,
        (Kind::Map(_) | Kind::Object(_), Type::Map(element)) => to_map(value, element)?,
        (Kind::Map(_) | Kind::Object(_), Type::Object(wanted)) => to_object(value, wanted)?,
        _ => return Err(types::mismatch(&value.ty(), to)),
    };
    Ok(converted.map(|converted| converted.mark(value.marks)))
}

fn to_list(value: &Value, element: &Type) -> Result<Option<Value>, ConvertError> {
    if matches!(value.kind, Kind::Set(_)) && !value.is_wholly_known() {
        // Unknown elements may turn out to be equal to others, so not even the length is known.
        let ty = types::of_unset(&value.ty(), &Type::list(element.clone()))?;
        return Ok(Some(Value::unknown(ty.unwrap_or_else(|| Type::list(element.clone())))));
    }
    let elements = Elements::of_sequence(value, element)?;
    if matches!(&value.kind, Kind::List(list) if elements.unchanged && list.element == elements.ty) {
        return Ok(None);
    }
    Ok(Some(Value::list(elements.ty, elements.values)))
}

fn to_set(value: &Value, element: &Type) -> Result<Option<Value>, ConvertError> {
    let elements = Elements::of_sequence(value, element)?;
    if matches!(&value.kind, Kind::Set(set) if elements.unchanged && set.element == elements.ty) {
        return Ok(None);
    }
    Ok(Some(Value::set(elements.ty, elements.values)))
}

fn to_map(value: &Value, element: &Type) -> Result<Option<Value>, ConvertError> {
    let entries = value.entries().expect("only called for maps and objects");
    let step = |key: &Arc<str>| match value.kind {
        Kind::Object(_) => PathStep::Attribute(key.clone()),
        _ => PathStep::Key(key.clone()),
    };
    let parts = entries.iter().map(|(key, part)| (step(key), part)).collect();
    let elements = Elements::convert(value, parts, element)?;
    if matches!(&value.kind, Kind::Map(map) if elements.unchanged && map.element == elements.ty) {
        return Ok(None);
    }
    Ok(Some(Value::map(elements.ty, entries.keys().cloned().zip(elements.values).collect())))
}

fn to_tuple(items: &[Value], wanted: &[Type]) -> Result<Option<Value>, ConvertError> {
    if items.len() != wanted.len() {
        let plural = if wanted.len() == 1 { "" } else { "s" };
        return Err(ConvertError::new(format!(
            "a tuple of {} element{plural} is required, not of {}",
            wanted.len(),
            items.len()
        )));
    }
    let parts = items.iter().zip(wanted.iter()).enumerate();
    let converted = parts
        .map(|(index, (item, ty))| changed(item, ty).map_err(|e| e.within(PathStep::Index(index))))
        .collect::<Result<Vec<_>, _>>()?;
    if converted.iter().all(Option::is_none) {
        return Ok(None);
    }
    let items = items.iter().zip(converted).map(|(item, new)| new.unwrap_or_else(|| item.clone()));
    Ok(Some(Value::tuple(items.collect::<Vec<_>>())))
}

fn to_object(value: &Value, wanted: &ObjectType) -> Result<Option<Value>, ConvertError> {
    let entries = value.entries().expect("only called for maps and objects");
    if let Kind::Map(map) = &value.kind {
        types::check_map_to_object(&map.element, wanted)?;
    }
    let mut same = matches!(value.kind, Kind::Object(_)) && entries.len() == wanted.attributes.len();
    let mut attributes = Vec::with_capacity(wanted.attributes.len());
    for (name, ty) in &wanted.attributes {
        let attribute = match entries.get(name) {
            Some(part) => match changed(part, ty).map_err(|e| e.within(PathStep::Attribute(name.clone())))? {
                None => part.clone(),
                Some(new) => {
                    same = false;
                    new
                }
            },
            None if wanted.optional.contains(name) => {
                same = false;
                Value::null_of(ty.without_optional())
            }
            None => return Err(ConvertError::new(format!("the attribute `{name}` is required"))),
        };
        attributes.push((name.clone(), attribute));
    }
    Ok((!same).then(|| Value::object(attributes.into_iter().collect())))
}

/// The converted elements of a collection, with the one type they all have.
struct Elements {
    ty: Type,
    values: Vec<Value>,
    unchanged: bool,
}

impl Elements {
    fn of_sequence(value: &Value, element: &Type) -> Result<Elements, ConvertError> {
        let items = value.items().expect("only called for lists, sets and tuples");
        let parts = items.iter().enumerate().map(|(index, item)| (PathStep::Index(index), item));
        Elements::convert(value, parts.collect(), element)
    }

    /// Converts the parts of `whole` to one type, which `wanted` describes.
    fn convert(
        whole: &Value,
        parts: Vec<(PathStep, &Value)>,
        wanted: &Type,
    ) -> Result<Elements, ConvertError> {
        let from = match &whole.kind {
            Kind::List(list) => Some(&list.element),
            Kind::Set(set) => Some(&set.element),
            Kind::Map(map) => Some(&map.element),
            _ => None,
        };
        if parts.is_empty() || from.is_some_and(Type::has_any) {
            // There may be no element to complain about, yet the types may have nothing to do with each other.
            let from = from.unwrap_or(&Type::Any);
            let ty = types::of_unset(from, wanted)?.unwrap_or_else(|| from.clone());
            if parts.is_empty() {
                return Ok(Elements { ty, values: Vec::new(), unchanged: true });
            }
        }
        let ty = match (wanted, from) {
            (Type::Any, Some(from)) => from.clone(),
            (Type::Any, None) => {
                let types: Vec<_> = parts.iter().map(|(_, part)| part.ty()).collect();
                match unify(&types).ok_or_else(no_common_type)? {
                    // Nulls without a type leave it open, but in a map they take on that of the others.
                    Type::Any if matches!(whole.kind, Kind::Object(_)) => only_type(&types)?,
                    ty => ty,
                }
            }
            _ => wanted.clone(),
        };
        let mut unchanged = true;
        let mut values = Vec::with_capacity(parts.len());
        for (step, part) in parts {
            let new = changed(part, &ty).map_err(|error| error.within(step))?;
            unchanged &= new.is_none();
            values.push(new.unwrap_or_else(|| part.clone()));
        }
        if !ty.has_any() {
            return Ok(Elements { ty: ty.without_optional(), values, unchanged });
        }
        unchanged &= agree(&mut values)?;
        let ty = values.iter().map(Value::ty).find(|ty| *ty != Type::Any).unwrap_or(Type::Any);
        Ok(Elements { ty, values, unchanged })
    }
}

/// Gives values that have each filled in `any` by themselves one type; says whether they had it already.
fn agree(values: &mut [Value]) -> Result<bool, ConvertError> {
    let same = |values: &[Value]| values.windows(2).all(|pair| pair[0].ty() == pair[1].ty());
    if same(values) {
        return Ok(true);
    }
    let types: Vec<_> = values.iter().map(Value::ty).collect();
    let ty = unify(&types).ok_or_else(no_common_type)?;
    for (index, value) in values.iter_mut().enumerate() {
        if let Some(new) = changed(value, &ty).map_err(|error| error.within(PathStep::Index(index)))? {
            *value = new;
        }
    }
    // Nulls without a type can leave the common type open.
    if same(values) { Ok(false) } else { Err(no_common_type()) }
}

/// The one type that some values have, nulls without a type aside.
fn only_type(types: &[Type]) -> Result<Type, ConvertError> {
    let mut known = types.iter().filter(|ty| **ty != Type::Any);
    let first = known.next().unwrap_or(&Type::Any);
    if known.all(|ty| ty == first) { Ok(first.clone()) } else { Err(no_common_type()) }
}

fn no_common_type() -> ConvertError {
    ConvertError::new("all elements must have the same type, and these have none in common")
}
