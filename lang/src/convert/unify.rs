//! One type for values of several.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::types::possible;
use crate::Type;

/// The type that values of all these types can be converted to, as for the two results of a conditional and the
/// elements of a list; `None` if they have none in common. Types that are not known yet make it [`Type::Any`] where
/// they could still change the outcome.
#[must_use]
pub fn unify(types: &[Type]) -> Option<Type> {
    Unifier::default().unify(types)
}

/// As [`unify`], with nothing but conversions that always succeed.
#[must_use]
pub fn unify_safely(types: &[Type]) -> Option<Type> {
    Unifier::safe().unify(types)
}

/// Unifies types, and remembers what came of it: unification and the question whether a type can be converted ask each
/// other, which without a memory takes time exponential in the depth of the types.
#[derive(Default)]
pub(super) struct Unifier {
    /// Only by conversions that always succeed.
    pub(super) safely: bool,
    known: RefCell<HashMap<Vec<Type>, Option<Type>>>,
}

/// How often each structure occurs among some types.
#[derive(Default)]
struct Count {
    lists: usize,
    sets: usize,
    maps: usize,
    tuples: usize,
    objects: usize,
    any: usize,
}

impl Unifier {
    pub(super) fn safe() -> Unifier {
        Unifier { safely: true, ..Unifier::default() }
    }

    pub(super) fn unify(&self, types: &[Type]) -> Option<Type> {
        let types = distinct(types);
        if let [] | [_] = types.as_slice() {
            return types.first().map(|only| Type::clone(only));
        }
        let key: Vec<_> = types.iter().copied().cloned().collect();
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let unified = self.unify_distinct(&types);
        self.known.borrow_mut().insert(key, unified.clone());
        unified
    }

    fn unify_distinct(&self, types: &[&Type]) -> Option<Type> {
        let count = Count::of(types);
        let all = |structures: usize| structures > 0 && structures + count.any == types.len();
        let accepts_all = |wanted: &Type| types.iter().all(|ty| *ty == wanted || possible(ty, wanted, self));
        // If the types share a structure, a new type may be built that is none of them. An `any` that is left inside it
        // may be too much to ask for, since the elements of a collection have one type.
        let built = if all(count.lists) {
            self.collections(types, count.any > 0, Type::list)
        } else if all(count.sets) {
            self.collections(types, count.any > 0, Type::set)
        } else if all(count.maps) {
            self.collections(types, count.any > 0, Type::map)
        } else if all(count.objects) {
            if count.any > 0 { Some(Type::Any) } else { self.objects(types) }
        } else if all(count.tuples) {
            if count.any > 0 { Some(Type::Any) } else { self.tuples(types) }
        } else if count.objects > 0 && count.tuples > 0 {
            None
        } else {
            return self
                .mixed(types, &count)
                .filter(accepts_all)
                .or_else(|| by_preference(types).into_iter().find(|wanted| accepts_all(wanted)).cloned());
        };
        built.filter(|built| !built.has_any() || accepts_all(built))
    }

    /// A collection for maps beside objects, or lists beside tuples.
    fn mixed(&self, types: &[&Type], count: &Count) -> Option<Type> {
        let all = |structures: usize| structures + count.any == types.len();
        if count.maps > 0 && all(count.maps + count.objects) {
            self.as_collection(types, Type::map)
        } else if count.lists > 0 && all(count.lists + count.tuples) {
            self.as_collection(types, Type::list)
        } else {
            None
        }
    }

    fn collections(&self, types: &[&Type], any: bool, build: fn(Type) -> Type) -> Option<Type> {
        if any {
            return Some(Type::Any);
        }
        let elements: Vec<_> = types.iter().filter_map(|ty| element(ty).cloned()).collect();
        self.unify(&elements).map(build)
    }

    /// Objects with the same attributes stay objects, others become maps.
    fn objects(&self, types: &[&Type]) -> Option<Type> {
        let objects: Vec<_> = types.iter().filter_map(|ty| attributes(ty)).collect();
        let (first, rest) = objects.split_first()?;
        if rest.iter().any(|object| !object.keys().eq(first.keys())) {
            let all: Vec<_> = objects.iter().flat_map(|object| object.values().cloned()).collect();
            return self.unify(&all).map(Type::map);
        }
        let unified = first.keys().map(|name| {
            let across: Vec<_> = objects.iter().map(|object| object[name].clone()).collect();
            Some((name.clone(), self.unify(&across)?))
        });
        unified.collect::<Option<_>>().map(Type::object)
    }

    /// Tuples of the same length stay tuples, others become lists.
    fn tuples(&self, types: &[&Type]) -> Option<Type> {
        let tuples: Vec<_> = types.iter().filter_map(|ty| elements(ty)).collect();
        let (first, rest) = tuples.split_first()?;
        if rest.iter().any(|tuple| tuple.len() != first.len()) {
            let all: Vec<_> = tuples.iter().flat_map(|tuple| tuple.iter().cloned()).collect();
            return self.unify(&all).map(Type::list);
        }
        let unified = (0..first.len()).map(|index| {
            let across: Vec<_> = tuples.iter().map(|tuple| tuple[index].clone()).collect();
            self.unify(&across)
        });
        unified.collect::<Option<Vec<_>>>().map(Type::tuple)
    }

    /// The structures among the types are taken for collections too, if that is what they can become.
    fn as_collection(&self, types: &[&Type], build: fn(Type) -> Type) -> Option<Type> {
        let is_structure = |ty: &Type| matches!(ty, Type::Tuple(_) | Type::Object(_));
        let (structures, others): (Vec<&Type>, Vec<&Type>) = types.iter().partition(|ty| is_structure(ty));
        let parts: Vec<Type> = structures
            .iter()
            .flat_map(|ty| match ty {
                Type::Tuple(elements) => elements.to_vec(),
                Type::Object(object) => object.attributes.values().cloned().collect(),
                _ => Vec::new(),
            })
            .collect();
        let collection = build(self.unify(&parts)?);
        if !structures.iter().all(|ty| possible(ty, &collection, self)) {
            return None;
        }
        let all: Vec<Type> = others.into_iter().cloned().chain([collection]).collect();
        self.unify(&all).filter(|ty| *ty != Type::Any)
    }
}

impl Count {
    fn of(types: &[&Type]) -> Count {
        let mut count = Count::default();
        for ty in types {
            match ty {
                Type::List(_) => count.lists += 1,
                Type::Set(_) => count.sets += 1,
                Type::Map(_) => count.maps += 1,
                Type::Tuple(_) => count.tuples += 1,
                Type::Object(_) => count.objects += 1,
                Type::Any => count.any += 1,
                Type::Bool | Type::Number | Type::String => {}
            }
        }
        count
    }
}

/// Each type once, in order of appearance.
fn distinct(types: &[Type]) -> Vec<&Type> {
    let mut seen = HashSet::new();
    types.iter().filter(|ty| seen.insert(*ty)).collect()
}

fn element(ty: &Type) -> Option<&Type> {
    match ty {
        Type::List(element) | Type::Set(element) | Type::Map(element) => Some(element),
        _ => None,
    }
}

fn elements(ty: &Type) -> Option<&[Type]> {
    match ty {
        Type::Tuple(elements) => Some(elements),
        _ => None,
    }
}

fn attributes(ty: &Type) -> Option<&BTreeMap<Arc<str>, Type>> {
    match ty {
        Type::Object(object) => Some(&object.attributes),
        _ => None,
    }
}

/// The types with the more general ones first, otherwise in the order given.
fn by_preference<'a>(types: &[&'a Type]) -> Vec<&'a Type> {
    let more_general = |a: usize, b: usize| generality(types[a], types[b]) == Ordering::Less;
    let mut above: Vec<usize> =
        (0..types.len()).map(|b| (0..types.len()).filter(|a| more_general(*a, b)).count()).collect();
    let mut order: Vec<usize> = (0..types.len()).filter(|index| above[*index] == 0).collect();
    let mut next = 0;
    while let Some(&a) = order.get(next) {
        next += 1;
        for (b, above) in above.iter_mut().enumerate() {
            if more_general(a, b) {
                *above -= 1;
                if *above == 0 {
                    order.push(b);
                }
            }
        }
    }
    order.into_iter().map(|index| types[index]).collect()
}

/// `Less` if `a` is the better candidate for holding values of both types.
fn generality(a: &Type, b: &Type) -> Ordering {
    match (a, b) {
        (Type::Any, Type::Any) | (Type::String, Type::String) => Ordering::Equal,
        // Whatever is not known yet will probably be like its neighbours.
        (_, Type::Any) | (Type::String, Type::Bool | Type::Number) => Ordering::Less,
        (Type::Any, _) | (Type::Bool | Type::Number, Type::String) => Ordering::Greater,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            generality(a, b)
        }
        (Type::List(_), Type::Tuple(_) | Type::Set(_))
        | (Type::Map(_), Type::Object(_))
        | (Type::Set(_), Type::Tuple(_)) => Ordering::Less,
        (Type::Tuple(_) | Type::Set(_), Type::List(_))
        | (Type::Object(_), Type::Map(_))
        | (Type::Tuple(_), Type::Set(_)) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}
