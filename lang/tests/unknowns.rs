//! The law that a plan rests on: what a function says about arguments that are not all known must still be true once
//! they are.

use std::sync::Arc;

use fleet_lang::functions::{self, Function, ParamType};
use fleet_lang::outside::Memory;
use fleet_lang::{Kind, Names, Number, Type, Value, evaluate, print};
use fleet_syntax::{FileId, parse_expression};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;

/// Those that answer differently every time or take long on purpose, and those that get the call unevaluated.
const LEFT_OUT: &[&str] = &["bcrypt", "timestamp", "uuid", "try", "can", "templatestring", "templatefile"];

#[test]
fn what_is_said_about_unknowns_stays_true() {
    for function in functions::all().filter(|function| !LEFT_OUT.contains(&function.name)) {
        let cases = (arguments(function), any::<Index>(), any::<Index>());
        let law = |(args, hidden, deeper): (Vec<Value>, Index, Index)| {
            if args.is_empty() {
                return Ok(());
            }
            let Some(late) = answer(function, &args) else { return Ok(()) };
            let mut partly = args.clone();
            let hidden = hidden.index(args.len());
            partly[hidden] = hide(&args[hidden], deeper);
            let early = answer(function, &partly);
            prop_assert!(
                early.as_ref().is_some_and(|early| may_become(early, &late)),
                "{} gives {}, but {} gave {}",
                shown(function, &args),
                print(&late),
                shown(function, &partly),
                early.map_or("an error".to_owned(), |early| print(&early)),
            );
            Ok(())
        };
        let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
        if let Err(error) = TestRunner::new(config).run(&cases, law) {
            panic!("{error}");
        }
    }
}

fn shown(function: &Function, args: &[Value]) -> String {
    format!("{}({})", function.name, args.iter().map(print).collect::<Vec<_>>().join(", "))
}

/// The value of a call, or nothing if it fails.
fn answer(function: &Function, args: &[Value]) -> Option<Value> {
    let names: Vec<String> = (0..args.len()).map(|index| format!("a{index}")).collect();
    let (call, problems) = parse_expression(FileId(0), &format!("{}({})", function.name, names.join(", ")));
    assert!(problems.is_empty(), "{problems:?}");
    let scope = Names(names.iter().map(|name| Arc::from(name.as_str())).zip(args.iter().cloned()).collect());
    evaluate(&call, &scope, &Memory::new().file("a", "text").file("b/c", "")).ok()
}

/// The value with itself or one of its elements made unknown.
fn hide(value: &Value, which: Index) -> Value {
    let size =
        value.items().map(<[Value]>::len).or(value.entries().map(|entries| entries.len())).unwrap_or(0);
    let chosen = which.index(size + 1);
    let at = |position: usize, item: &Value| {
        if position == chosen { Value::unknown(item.ty()) } else { item.clone() }
    };
    let items =
        || value.items().into_iter().flatten().enumerate().map(|(i, item)| at(i, item)).collect::<Vec<_>>();
    let entries = || {
        let entries = value.entries().into_iter().flatten().enumerate();
        entries.map(|(i, (key, item))| (key.clone(), at(i, item))).collect()
    };
    match &value.kind {
        _ if chosen == size => Value::unknown(value.ty()),
        Kind::List(list) => Value::list(list.element.clone(), items()),
        Kind::Set(set) => Value::set(set.element.clone(), items()),
        Kind::Tuple(_) => Value::tuple(items()),
        Kind::Map(map) => Value::map(map.element.clone(), entries()),
        Kind::Object(_) => Value::object(entries()),
        _ => Value::unknown(value.ty()),
    }
}

/// Whether a value known in part may turn out to be another, which is known.
fn may_become(early: &Value, late: &Value) -> bool {
    match (&early.kind, &late.kind) {
        (Kind::Unknown(unknown), _) => {
            type_may_become(&unknown.ty, &late.ty()) && !(unknown.not_null && late.is_null())
        }
        // Unknown elements of a set may turn out to be equal, and then there are fewer.
        (Kind::Set(early), Kind::Set(late)) => {
            early.items.len() >= late.items.len() || early.items == late.items
        }
        (Kind::Null(_), Kind::Null(_)) => true,
        _ => match (early.items(), late.items(), early.entries(), late.entries()) {
            (Some(a), Some(b), ..) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| may_become(a, b)),
            (_, _, Some(a), Some(b)) => {
                a.keys().eq(b.keys()) && a.values().zip(b.values()).all(|(a, b)| may_become(a, b))
            }
            _ => early.kind == late.kind,
        },
    }
}

/// Whether a value of a type may turn out to have another. What elements are does not count: where something of an
/// unknown type is among values of several others, the type that suits all of them is not the last word.
fn type_may_become(early: &Type, late: &Type) -> bool {
    match (early, late) {
        (Type::Any, _)
        | (Type::List(_), Type::List(_))
        | (Type::Set(_), Type::Set(_))
        | (Type::Map(_), Type::Map(_)) => true,
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len(),
        (Type::Object(a), Type::Object(b)) => a.attributes.keys().eq(b.attributes.keys()),
        _ => early == late,
    }
}

/// Arguments for a function, most of which suit it. All of them are made of the same few texts and numbers, so that they
/// have something to do with each other.
fn arguments(function: &'static Function) -> impl Strategy<Value = Vec<Value>> {
    let few = |all: &[&'static str]| prop::sample::subsequence(all.to_vec(), 1..4);
    (few(TEXTS), few(NUMBERS)).prop_flat_map(|(texts, numbers)| {
        let made = Made { texts, numbers };
        let fixed: Vec<_> = function.params.iter().map(|param| made.of(param.ty)).collect();
        let more = function
            .variadic
            .map_or(Just(Vec::new()).boxed(), |param| prop::collection::vec(made.of(param.ty), 0..4).boxed());
        (fixed, more).prop_map(|(fixed, more)| [fixed, more].concat())
    })
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "ab",
    "1",
    "-2.5",
    "true",
    "é",
    "a,b",
    "%s",
    "%d",
    "10.0.0.0/8",
    "fd00::/64",
    "[1]",
    "{}",
];
const NUMBERS: &[&str] = &["0", "1", "2", "3", "-1", "0.5", "16", "1e30"];

/// What arguments are made of.
struct Made {
    texts: Vec<&'static str>,
    numbers: Vec<&'static str>,
}

impl Made {
    fn of(&self, ty: ParamType) -> BoxedStrategy<Value> {
        match ty {
            ParamType::Any => self.any(),
            ParamType::Bool => any::<bool>().prop_map(Value::from).boxed(),
            ParamType::Number => self.number(),
            ParamType::String => self.string(),
            ParamType::List(element) | ParamType::Set(element) => {
                prop::collection::vec(self.of(*element), 0..4).prop_map(Value::tuple).boxed()
            }
            ParamType::Map(element) => prop::collection::btree_map(key(), self.of(*element), 0..4)
                .prop_map(|items| Value::object(items.into()))
                .boxed(),
        }
    }

    fn string(&self) -> BoxedStrategy<Value> {
        select(self.texts.clone()).prop_map(Value::from).boxed()
    }

    fn number(&self) -> BoxedStrategy<Value> {
        select(self.numbers.clone())
            .prop_map(|text| Number::parse(text).expect("it is a number").into())
            .boxed()
    }

    fn any(&self) -> BoxedStrategy<Value> {
        let (string, number) = (self.string(), self.number());
        let scalar = prop_oneof![
            4 => string.clone(),
            3 => number.clone(),
            1 => any::<bool>().prop_map(Value::from),
            1 => Just(Value::null()),
            1 => Just(Value::null_of(Type::String)),
        ];
        let several = |element: &BoxedStrategy<Value>| prop::collection::vec(element.clone(), 0..4);
        let keyed =
            |element: &BoxedStrategy<Value>| prop::collection::btree_map(key(), element.clone(), 0..4);
        scalar
            .prop_recursive(3, 12, 4, move |element| {
                let element = element.boxed();
                prop_oneof![
                    several(&element).prop_map(Value::tuple),
                    keyed(&element).prop_map(|items| Value::object(items.into())),
                    several(&string).prop_map(|items| Value::list(Type::String, items)),
                    several(&number).prop_map(|items| Value::list(Type::Number, items)),
                    several(&string).prop_map(|items| Value::set(Type::String, items)),
                    keyed(&string).prop_map(|items| Value::map(Type::String, items.into())),
                ]
            })
            .boxed()
    }
}

fn key() -> impl Strategy<Value = Arc<str>> {
    select(vec!["a", "b", "c"]).prop_map(Arc::from)
}
