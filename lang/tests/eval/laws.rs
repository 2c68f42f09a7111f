//! Laws that hold for every expression: what is not known yet never changes a known answer, and what is sensitive never
//! shows in an unmarked one.

use fleet_lang::print::print;
use fleet_lang::{Kind, Marks, Names, Type, Value};
use proptest::prelude::*;

use super::{evaluate_in, names};

/// Values for the variables that the expressions use.
fn scope(seed: u8) -> Names {
    let n = i64::from(seed % 3);
    names([
        ("n", n.into()),
        ("b", (seed & 4 == 0).into()),
        ("s", if seed & 8 == 0 { "a" } else { "b" }.into()),
        ("l", Value::list(Type::Number, (0..n).map(Value::from).collect())),
        ("t", Value::tuple([Value::from(n), Value::from("x")])),
        ("o", Value::object([("a".into(), n.into()), ("b".into(), "y".into())].into())),
        ("m", Value::map(Type::Number, [(if seed & 16 == 0 { "a" } else { "b" }.into(), n.into())].into())),
        ("z", Value::null_of(Type::Number)),
    ])
}

/// An expression over the variables of [`scope`], which may well fail. The branches of conditionals stand in the text
/// a second time: a branch that is not taken and fails has no type to share, but may get one while it is unknown.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "n", "b", "s", "l", "t", "o", "m", "z", "o.a", "t[0]", "m.a", "l[0]", "l[*]"
        ]),
        prop::sample::select(vec!["0", "1", "2", "true", "false", "null", "\"a\"", "\"1\"", "[]", "{}"]),
    ];
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let operators = vec!["+", "-", "*", "/", "%", "<", ">=", "==", "!=", "&&", "||"];
        prop_oneof![
            4 => (inner.clone(), prop::sample::select(operators), inner.clone())
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            1 => inner.clone().prop_map(|a| format!("!({a})")),
            1 => inner.clone().prop_map(|a| format!("-({a})")),
            4 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("[{b}, {c}, ({a} ? {b} : {c})][2]")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ a = {a}, ({b}) = 1 }}")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            1 => inner.clone().prop_map(|a| format!("({a})[*]")),
            1 => inner.clone().prop_map(|a| format!("({a}).a")),
            1 => inner.clone().prop_map(|a| format!("({a})[*].a")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[for n in {a} : {b}]")),
            2 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("[for k, x in {a} : {b} if {c}]")),
            2 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("{{ for k, x in {a} : {b} => [x, {c}]... }}")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("\"x${{{a}}}${{{b}}}\"")),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("[{b}, {c}, \"%{{ if {a} }}${{{b}}}%{{ else }}${{{c}}}%{{ endif }}\"][2]")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("\"%{{ for x in {a} }}${{{b}}}%{{ endfor }}\"")),
        ]
    })
}

/// Whether a value may still become another one.
fn may_become(now: &Value, later: &Value) -> bool {
    match &now.kind {
        Kind::Unknown(unknown) => {
            may_have_type(&unknown.ty, &later.ty()) && !(unknown.not_null && later.is_null())
        }
        _ if now.is_null() || later.is_null() => now.is_null() && later.is_null(),
        _ => match (now.items(), later.items(), now.entries(), later.entries()) {
            (Some(a), Some(b), ..) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| may_become(a, b)),
            (.., Some(a), Some(b)) => {
                a.keys().eq(b.keys()) && a.values().zip(b.values()).all(|(a, b)| may_become(a, b))
            }
            _ => now.kind == later.kind,
        },
    }
}

fn may_have_type(now: &Type, later: &Type) -> bool {
    match (now, later) {
        (Type::Any, _) | (_, Type::Any) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            may_have_type(a, b)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| may_have_type(a, b))
        }
        (Type::Object(a), Type::Object(b)) => {
            a.attributes.keys().eq(b.attributes.keys())
                && a.attributes.values().zip(b.attributes.values()).all(|(a, b)| may_have_type(a, b))
        }
        _ => now == later,
    }
}

/// Whether two values look the same to somebody who may not see what is sensitive.
fn look_the_same(a: &Value, b: &Value) -> bool {
    if a.marks.contains(Marks::SENSITIVE) && b.marks.contains(Marks::SENSITIVE) {
        return true;
    }
    if a.marks != b.marks {
        return false;
    }
    match (a.items(), b.items(), a.entries(), b.entries()) {
        (Some(x), Some(y), ..) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| look_the_same(x, y)),
        (.., Some(x), Some(y)) => {
            x.keys().eq(y.keys()) && x.values().zip(y.values()).all(|(x, y)| look_the_same(x, y))
        }
        _ => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_unknown_never_changes_a_known_answer(text in expression(), seed: u8, hidden: u8) {
        let known = scope(seed);
        let mut partly = known.clone();
        for (index, (_, value)) in partly.0.iter_mut().enumerate() {
            // Null stays: a splat looks at the type of what is unknown, while `null[*].a` is empty for any type.
            if hidden >> index & 1 == 1 && !value.is_null() {
                *value = Value::unknown(value.ty());
            }
        }
        if let Ok(later) = evaluate_in(&known, &text) {
            let now = evaluate_in(&partly, &text);
            prop_assert!(now.is_ok(), "{text} fails only while something is unknown: {now:?}");
            let now = now.expect("checked");
            prop_assert!(may_become(&now, &later), "{text} is {} but becomes {}", print(&now), print(&later));
        }
    }

    #[test]
    fn what_is_sensitive_never_shows(text in expression(), seed: u8, other: u8, secret: u8) {
        let (mut one, mut two) = (scope(seed), scope(seed));
        for (index, (name, value)) in scope(other).0.into_iter().enumerate() {
            if secret >> index & 1 == 1 {
                one.0.get_mut(&name).expect("same names").marks = Marks::SENSITIVE;
                two.0.insert(name, value.mark(Marks::SENSITIVE));
            }
        }
        if let (Ok(one), Ok(two)) = (evaluate_in(&one, &text), evaluate_in(&two, &text)) {
            prop_assert!(look_the_same(&one, &two), "{text} shows {one:?} and {two:?}");
        }
    }

    #[test]
    fn marks_change_nothing_but_marks(text in expression(), seed: u8) {
        let mut marked = scope(seed);
        marked.0.iter_mut().for_each(|(_, value)| value.marks = Marks::SENSITIVE);
        match (evaluate_in(&scope(seed), &text), evaluate_in(&marked, &text)) {
            (Ok(plain), Ok(marked)) => prop_assert_eq!(plain, marked.unmark_deep().0, "{}", text),
            (plain, marked) => prop_assert_eq!(plain.is_ok(), marked.is_ok(), "{}", text),
        }
    }
}
