//! Types and values for property tests.

use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::{Kind, Marks, Number, Type, Value};

/// Types without `any`, as values have them.
pub(crate) fn types() -> BoxedStrategy<Type> {
    types_from(prop_oneof![Just(Type::Bool), Just(Type::Number), Just(Type::String)].boxed())
}

/// Types as users may ask for them: with `any` and optional attributes.
pub(crate) fn wanted_types() -> BoxedStrategy<Type> {
    types_from(prop_oneof![Just(Type::Any), Just(Type::Bool), Just(Type::Number), Just(Type::String)].boxed())
        .prop_flat_map(|ty| (Just(ty), any::<u8>()))
        .prop_map(|(ty, optional)| with_optional(&ty, optional))
        .boxed()
}

/// Values of all kinds, nulls, unknowns and marks included.
pub(crate) fn values() -> BoxedStrategy<Value> {
    types().prop_flat_map(|ty| values_of(&ty)).boxed()
}

/// Values of one type.
pub(crate) fn values_of(ty: &Type) -> BoxedStrategy<Value> {
    let known = match ty {
        Type::Any => Just(Value::null()).boxed(),
        Type::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Type::Number => prop_oneof![
            (-3_i64..12).prop_map(Value::from),
            "[0-9]{1,25}(\\.[0-9]{1,3})?".prop_map(|text| Number::parse(&text).expect("a number").into()),
        ]
        .boxed(),
        Type::String => {
            let texts = ["", "true", "1", "7", "1.50", "x", "é", "a\nb", "\"\\"];
            proptest::sample::select(texts.to_vec()).prop_map(Value::from).boxed()
        }
        Type::List(element) => {
            let ty = Type::clone(element);
            vec(values_of(element), 0..4).prop_map(move |items| Value::list(ty.clone(), items)).boxed()
        }
        Type::Set(element) => {
            let ty = Type::clone(element);
            vec(values_of(element), 0..4).prop_map(move |items| Value::set(ty.clone(), items)).boxed()
        }
        Type::Map(element) => {
            let ty = Type::clone(element);
            btree_map(names(), values_of(element), 0..4)
                .prop_map(move |items| Value::map(ty.clone(), items.into()))
                .boxed()
        }
        Type::Tuple(elements) => {
            elements.iter().map(values_of).collect::<Vec<_>>().prop_map(Value::tuple).boxed()
        }
        Type::Object(object) => {
            let names: Vec<_> = object.attributes.keys().cloned().collect();
            let values: Vec<_> = object.attributes.values().map(values_of).collect();
            values.prop_map(move |values| Value::object(names.iter().cloned().zip(values).collect())).boxed()
        }
    };
    let ty = ty.clone();
    (known, 0_u8..24)
        .prop_map(move |(value, fate)| match fate {
            0 => Value::null_of(ty.clone()),
            1 => Value::unknown(ty.clone()),
            2 => value.mark(Marks::SENSITIVE),
            3 => value.mark(Marks::EPHEMERAL),
            _ => value,
        })
        .boxed()
}

/// Fails unless every part of a value has the type that the value claims for it.
pub(crate) fn assert_well_formed(value: &Value) {
    let element = match &value.kind {
        Kind::List(list) => Some(&list.element),
        Kind::Set(set) => Some(&set.element),
        Kind::Map(map) => Some(&map.element),
        _ => None,
    };
    let parts = value
        .items()
        .into_iter()
        .flatten()
        .chain(value.entries().into_iter().flat_map(|entries| entries.values()));
    for part in parts {
        if let Some(element) = element {
            assert_eq!(&part.ty(), element, "in {value:?}");
        }
        assert_well_formed(part);
    }
    if let Kind::Set(set) = &value.kind {
        assert_eq!(&Value::set(set.element.clone(), set.items.clone()), &Value::from(value.kind.clone()));
    }
    assert_eq!(value.ty(), value.ty().without_optional());
}

fn names() -> impl Strategy<Value = Arc<str>> {
    proptest::sample::select(vec!["a", "b", "c"]).prop_map(Arc::from)
}

fn types_from(leaf: BoxedStrategy<Type>) -> BoxedStrategy<Type> {
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::set),
            inner.clone().prop_map(Type::map),
            vec(inner.clone(), 0..3).prop_map(Type::tuple),
            btree_map(names(), inner, 0..3).prop_map(Type::object),
        ]
    })
    .boxed()
}

fn with_optional(ty: &Type, optional: u8) -> Type {
    match ty {
        Type::Object(object) => {
            let mut object = crate::ObjectType::clone(object);
            let chosen = object.attributes.keys().enumerate().filter(|(index, _)| optional >> index & 1 == 1);
            object.optional = chosen.map(|(_, name)| name.clone()).collect();
            Type::Object(Arc::new(object))
        }
        Type::List(element) => Type::list(with_optional(element, optional)),
        Type::Set(element) => Type::set(with_optional(element, optional)),
        Type::Map(element) => Type::map(with_optional(element, optional)),
        _ => ty.clone(),
    }
}
