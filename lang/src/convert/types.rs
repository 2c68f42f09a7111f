//! Whether values of one type can become values of another.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::unify::Unifier;
use super::{ConvertError, PathStep, unify};
use crate::{ObjectType, Type};

/// Whether some values of type `from` can be converted to `to`. Text may turn out not to be a number, and a map not to
/// have the elements that an object needs.
#[must_use]
pub fn can_convert(from: &Type, to: &Type) -> bool {
    possible(from, to, &Unifier::default())
}

/// Whether values of type `from` can be converted to `to` by the conversions that the unifier may use.
pub(super) fn possible(from: &Type, to: &Type, unifier: &Unifier) -> bool {
    let safely = unifier.safely;
    let possible = |from: &Type, to: &Type| possible(from, to, unifier);
    let all = |types: &[Type], to: &Type| match to {
        Type::Any => types.is_empty() || unifier.unify(types).is_some(),
        _ => types.iter().all(|ty| possible(ty, to)),
    };
    // Beside a null without a type, the elements of a list must not leave their own type open.
    let settled = |types: &[Type], to: &Type| {
        *to != Type::Any || unifier.unify(types) != Some(Type::Any) || types.iter().all(|ty| *ty == Type::Any)
    };
    match (from, to) {
        (_, Type::Any)
        | (Type::Bool, Type::Bool | Type::String)
        | (Type::Number, Type::Number | Type::String)
        | (Type::String, Type::String) => true,
        (Type::Any, _) | (Type::String, Type::Number | Type::Bool) => !safely,
        (Type::List(from), Type::Set(to)) => !safely && possible(from, to),
        (Type::List(from) | Type::Set(from), Type::List(to))
        | (Type::Set(from), Type::Set(to))
        | (Type::Map(from), Type::Map(to)) => possible(from, to),
        (Type::Tuple(from), Type::List(to) | Type::Set(to)) => all(from, to) && settled(from, to),
        (Type::Tuple(from), Type::Tuple(to)) => {
            from.len() == to.len() && from.iter().zip(to.iter()).all(|(from, to)| possible(from, to))
        }
        (Type::Object(from), Type::Map(to)) => {
            let types: Vec<_> = from.attributes.values().cloned().collect();
            all(&types, to)
        }
        (Type::Object(from), Type::Object(to)) => to.attributes.iter().all(|(name, to_ty)| {
            let optional = to.optional.contains(name);
            from.attributes.get(name).map_or(optional, |from_ty| possible(from_ty, to_ty))
        }),
        (Type::Map(from), Type::Object(to)) => !safely && to.attributes.values().all(|to| possible(from, to)),
        _ => false,
    }
}

/// The type that a null or unknown of type `from` has after conversion; `None` if it is `from` itself.
pub(super) fn of_unset(from: &Type, to: &Type) -> Result<Option<Type>, ConvertError> {
    if !can_convert(from, to) {
        return Err(mismatch(from, to));
    }
    let ty = fill(from, &to.without_optional());
    Ok((ty != *from).then_some(ty))
}

/// `to` with every `any` in it replaced by what `from` has there.
fn fill(from: &Type, to: &Type) -> Type {
    let common = |types: Vec<Type>, to: &Type| fill(&unify(&types).unwrap_or(Type::Any), to);
    match (from, to) {
        (Type::Any, _) => to.clone(),
        (_, Type::Any) => from.clone(),
        (_, to) if !to.has_any() => to.clone(),
        (Type::List(from) | Type::Set(from), Type::List(to)) => Type::list(fill(from, to)),
        (Type::List(from) | Type::Set(from), Type::Set(to)) => Type::set(fill(from, to)),
        (Type::Tuple(from), Type::List(to)) => Type::list(common(from.to_vec(), to)),
        (Type::Tuple(from), Type::Set(to)) => Type::set(common(from.to_vec(), to)),
        (Type::Map(from), Type::Map(to)) => Type::map(fill(from, to)),
        (Type::Object(from), Type::Map(to)) => {
            Type::map(common(from.attributes.values().cloned().collect(), to))
        }
        (Type::Tuple(from), Type::Tuple(to)) => {
            Type::tuple(from.iter().zip(to.iter()).map(|(from, to)| fill(from, to)).collect::<Vec<_>>())
        }
        (Type::Object(_) | Type::Map(_), Type::Object(to)) => {
            let source = |name: &Arc<str>| match from {
                Type::Object(object) => object.attributes.get(name).cloned().unwrap_or(Type::Any),
                Type::Map(element) => Type::clone(element),
                _ => Type::Any,
            };
            let filled = to.attributes.iter().map(|(name, ty)| (name.clone(), fill(&source(name), ty)));
            Type::object(filled.collect::<BTreeMap<_, _>>())
        }
        _ => to.clone(),
    }
}

/// Whether the elements of a map can become the attributes of an object at all, whichever of them the map has.
pub(super) fn check_map_to_object(element: &Type, wanted: &ObjectType) -> Result<(), ConvertError> {
    match wanted.attributes.iter().find(|(_, ty)| !can_convert(element, ty)) {
        Some((name, ty)) => Err(mismatch(element, ty).within(PathStep::Attribute(name.clone()))),
        None => Ok(()),
    }
}

/// Says what is required instead of `from`, at the innermost place where the types part.
pub(super) fn mismatch(from: &Type, to: &Type) -> ConvertError {
    let inner = match (from, to) {
        (Type::Object(from), Type::Object(to)) => {
            to.attributes.iter().find_map(|(name, to_ty)| match from.attributes.get(name) {
                None if to.optional.contains(name) => None,
                None => Some(ConvertError::new(format!("the attribute `{name}` is required"))),
                Some(from) if can_convert(from, to_ty) => None,
                Some(from) => Some(mismatch(from, to_ty).within(PathStep::Attribute(name.clone()))),
            })
        }
        (Type::Tuple(from), Type::Tuple(to)) if from.len() == to.len() => {
            let mut pairs = from.iter().zip(to.iter()).enumerate();
            pairs
                .find(|(_, (from, to))| !can_convert(from, to))
                .map(|(index, (from, to))| mismatch(from, to).within(PathStep::Index(index)))
        }
        (Type::Tuple(from), Type::List(to) | Type::Set(to)) => {
            let mut elements = from.iter().enumerate();
            elements
                .find(|(_, from)| !can_convert(from, to))
                .map(|(index, from)| mismatch(from, to).within(PathStep::Index(index)))
        }
        _ => None,
    };
    inner.unwrap_or_else(|| ConvertError::new(format!("{} is required, not {}", noun(to), noun(from))))
}

/// A type in the words of a sentence, such as `a list of string`. What objects and tuples consist of is left out: the
/// path leads to the part that does not fit.
fn noun(ty: &Type) -> String {
    match ty {
        Type::Any => "a value".to_owned(),
        Type::Object(_) => "an object".to_owned(),
        _ => format!("a {}", short(ty)),
    }
}

fn short(ty: &Type) -> String {
    let of = |name: &str, element: &Type| match element {
        Type::Any => name.to_owned(),
        _ => format!("{name} of {}", short(element)),
    };
    match ty {
        Type::List(element) => of("list", element),
        Type::Set(element) => of("set", element),
        Type::Map(element) => of("map", element),
        Type::Tuple(_) => "tuple".to_owned(),
        Type::Object(_) => "object".to_owned(),
        Type::Any | Type::Bool | Type::Number | Type::String => ty.to_string(),
    }
}
