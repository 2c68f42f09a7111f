//! Values as keys of hash tables, so that looking for equal ones among many costs no more than looking at each.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use crate::{Kind, Value};

/// A value that equals another where the language's `==` says so, for values that are wholly known and of one type.
/// Marks do not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Same<'v>(pub(crate) &'v Value);

impl PartialEq for Same<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (Same(a), Same(b)) = (self, other);
        match (&a.kind, &b.kind) {
            (Kind::Null(_), Kind::Null(_)) => true,
            (Kind::Bool(a), Kind::Bool(b)) => a == b,
            (Kind::Number(a), Kind::Number(b)) => a == b,
            (Kind::String(a), Kind::String(b)) => a == b,
            // Equal sets may list elements in different orders where these print alike.
            (Kind::Set(a), Kind::Set(b)) => {
                let elements: HashSet<Same<'_>> = a.items.iter().map(Same).collect();
                a.items.len() == b.items.len() && b.items.iter().all(|item| elements.contains(&Same(item)))
            }
            _ => match (a.items(), b.items(), a.entries(), b.entries()) {
                (Some(a), Some(b), ..) => a.iter().map(Same).eq(b.iter().map(Same)),
                (_, _, Some(a), Some(b)) => {
                    a.keys().eq(b.keys()) && a.values().map(Same).eq(b.values().map(Same))
                }
                _ => false,
            },
        }
    }
}

impl Eq for Same<'_> {}

impl Hash for Same<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Same(value) = self;
        discriminant(&value.kind).hash(state);
        match &value.kind {
            Kind::Bool(truth) => truth.hash(state),
            Kind::Number(number) => number.hash(state),
            Kind::String(text) => text.hash(state),
            Kind::Set(set) => set.items.len().hash(state),
            Kind::List(_) | Kind::Tuple(_) | Kind::Map(_) | Kind::Object(_) => {
                value.items().into_iter().flatten().for_each(|item| Same(item).hash(state));
                for (key, item) in value.entries().into_iter().flatten() {
                    key.hash(state);
                    Same(item).hash(state);
                }
            }
            Kind::Null(_) | Kind::Unknown(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::hash::{DefaultHasher, Hash, Hasher};

    use proptest::prelude::*;

    use super::Same;
    use crate::{Kind, Number, Type, Value, equal};

    /// Values of the type `list(object({ a = number, b = set(string) }))`.
    fn values() -> impl Strategy<Value = Value> {
        let number = prop_oneof![
            Just(Value::null_of(Type::Number)),
            prop::sample::select(vec!["0", "-0", "1", "1.0", "0.1", "100000000003", "100000000001"])
                .prop_map(|text| Number::parse(text).unwrap().into()),
        ];
        let strings = prop::collection::vec("[ab]?", 0..3).prop_map(|texts| {
            Value::set(Type::String, texts.iter().map(|text| text.as_str().into()).collect())
        });
        let object =
            (number, strings).prop_map(|(a, b)| Value::object([("a".into(), a), ("b".into(), b)].into()));
        let set = Type::set(Type::String);
        let ty = Type::object(BTreeMap::from([("a".into(), Type::Number), ("b".into(), set)]));
        prop::collection::vec(object, 0..3).prop_map(move |items| Value::list(ty.clone(), items))
    }

    proptest! {
        #[test]
        fn same_is_what_the_language_calls_equal(a in values(), b in values()) {
            prop_assert_eq!(Kind::Bool(Same(&a) == Same(&b)), equal(&a, &b).kind);
            let hash = |value| {
                let mut hasher = DefaultHasher::new();
                Same(value).hash(&mut hasher);
                hasher.finish()
            };
            if Same(&a) == Same(&b) {
                prop_assert_eq!(hash(&a), hash(&b));
            }
        }
    }
}
