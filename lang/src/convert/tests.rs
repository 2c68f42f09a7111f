//! Laws of conversion, and examples as Terraform answers them.

use fleet_syntax::FileId;
use fleet_syntax::parse::parse_expression;
use proptest::prelude::*;

use super::types::possible;
use super::unify::Unifier;
use super::*;
use crate::Entries;
use crate::arbitrary::{assert_well_formed, types, values, values_of, wanted_types};
use crate::eval::{Names, evaluate};
use crate::outside::Memory;
use crate::print;

/// Each line of the file is an expression and what it prints, on one line.
#[test]
fn examples() {
    for line in include_str!("examples.txt").lines() {
        let (text, expected) = line.split_once(" ⇒ ").expect("an expression and its value");
        let (expr, diagnostics) = parse_expression(FileId(0), text);
        assert_eq!(diagnostics, [], "{text}");
        let printed = match evaluate(&expr, &Names::default(), &Memory::new()) {
            Ok(value) => print(&value).split_whitespace().collect::<Vec<_>>().join(" "),
            Err(_) => "error".to_owned(),
        };
        assert_eq!(printed, expected, "{text}");
    }
}

/// A value together with a type that it may or may not fit.
fn conversions() -> impl Strategy<Value = (Value, Type)> {
    prop_oneof![
        (values(), wanted_types()),
        // Arbitrary types rarely fit each other, so half of the values start from the type that is wanted.
        (wanted_types(), wanted_types()).prop_flat_map(|(ty, other)| {
            let source = ty.without_optional();
            (prop_oneof![values_of(&source), values_of(&loose(&source))], Just(ty)).prop_map(
                move |(value, ty)| if value.is_null() { (value, other.clone()) } else { (value, ty) },
            )
        }),
    ]
}

/// The type of the literal that one would write for a value of this type.
fn loose(ty: &Type) -> Type {
    match ty {
        Type::List(element) | Type::Set(element) => Type::tuple([loose(element), loose(element)]),
        Type::Map(element) => {
            Type::object([("a".into(), loose(element)), ("b".into(), loose(element))].into())
        }
        Type::Tuple(elements) => Type::tuple(elements.iter().map(loose).collect::<Vec<_>>()),
        Type::Object(object) => {
            Type::object(object.attributes.iter().map(|(name, ty)| (name.clone(), loose(ty))).collect())
        }
        Type::Number | Type::Bool => Type::String,
        Type::Any | Type::String => Type::Number,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_result_has_the_wanted_type((value, to) in conversions()) {
        if let Ok(converted) = convert(&value, &to) {
            assert_well_formed(&converted);
            prop_assert!(can_convert(&value.ty(), &to));
            if !to.has_any() {
                prop_assert_eq!(converted.ty(), to.without_optional());
            }
        }
    }

    #[test]
    fn converting_twice_changes_nothing((value, to) in conversions()) {
        if let Ok(converted) = convert(&value, &to) {
            prop_assert_eq!(convert(&converted, &to), Ok(converted));
        }
    }

    #[test]
    fn a_value_of_the_wanted_type_is_shared(value in values()) {
        prop_assert_eq!(changed(&value, &value.ty()), Ok(None));
        prop_assert_eq!(changed(&value, &Type::Any), Ok(None));
    }

    #[test]
    fn no_mark_appears((value, to) in conversions()) {
        if let Ok(converted) = convert(&value, &to) {
            prop_assert!(value.marks_deep().contains(converted.marks_deep()));
            prop_assert!(converted.marks.contains(value.marks));
        }
    }

    #[test]
    fn the_common_type_accepts_all(types in proptest::collection::vec(wanted_types(), 1..4)) {
        let types: Vec<_> = types.iter().map(Type::without_optional).collect();
        for unifier in [Unifier::default(), Unifier::safe()] {
            if let Some(common) = unifier.unify(&types) {
                for ty in &types {
                    prop_assert!(*ty == common || possible(ty, &common, &unifier), "{} to {}", ty, common);
                }
            }
        }
    }

    #[test]
    fn a_type_alone_is_its_own_common_type(ty in types()) {
        prop_assert_eq!(unify(&[ty.clone(), ty.clone()]), Some(ty));
    }
}
/// Each of these would take days if the work doubled with every level.
#[test]
fn deep_values_take_no_exponential_time() {
    let wrap: [fn(Value) -> Value; 4] = [
        |inner| Value::tuple([inner, Value::null()]),
        |inner| Value::tuple([inner, Value::list(Type::Any, vec![])]),
        |inner| {
            Value::object([("a".into(), inner), ("b".into(), Value::map(Type::Any, Entries::new()))].into())
        },
        |inner| Value::tuple([Value::tuple([inner]), Value::tuple([Value::from("a"), Value::from(1)])]),
    ];
    for wrap in wrap {
        let value = (0..40).fold(Value::from(1), |value, _| wrap(value));
        let lists = (0..40).fold(Type::Any, |ty, _| Type::list(ty));
        for ty in [Type::list(Type::Any), Type::map(Type::Any), lists] {
            let converted = convert(&value, &ty);
            assert!(converted.is_err() || can_convert(&value.ty(), &ty));
        }
    }
}
