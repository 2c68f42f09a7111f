//! Whatever arguments they get, functions answer or refuse: they do not panic, hang or fill the memory.

use std::sync::Arc;

use fleet_lang::outside::Memory;
use fleet_lang::{Names, Number, Type, Value, evaluate, functions};
use fleet_syntax::{FileId, parse_expression};
use proptest::prelude::*;

/// The result of a call of `name` with these arguments.
fn call(name: &str, args: &[Value]) -> Result<Value, String> {
    let names: Vec<String> = (0..args.len()).map(|index| format!("a{index}")).collect();
    let scope = names.iter().map(|name| Arc::from(name.as_str())).zip(args.iter().cloned());
    let (expr, problems) = parse_expression(FileId(0), &format!("{name}({})", names.join(", ")));
    assert!(problems.is_empty(), "{problems:?}");
    evaluate(&expr, &Names(scope.collect()), &Memory::new()).map_err(|p| format!("{p:?}"))
}

fn text(text: impl AsRef<str>) -> Value {
    Value::from(text.as_ref())
}

#[test]
fn bombs_are_refused() {
    let million = text("a".repeat(1_000_000));
    let lines = text("\n".repeat(100_000));
    let big = |digits: &str| Value::from(Number::parse(digits).unwrap());
    let bombs: &[(&str, &[Value])] = &[
        ("format", &[text("%1000000000d"), 1.into()]),
        ("format", &[text("%.1000000000f"), 1.into()]),
        ("format", &[text("%1000000[1]s".repeat(10_000)), text("a")]),
        ("format", &[text("%[18446744073709551616]s"), text("a")]),
        ("indent", &[big("1e15"), lines.clone()]),
        ("indent", &[10_000_000.into(), lines.clone()]),
        ("replace", &[million.clone(), text(""), million.clone()]),
        ("replace", &[million.clone(), text("/a/"), text("x".repeat(10_000) + "$0")]),
        ("join", &[million.clone(), Value::list(Type::String, vec![text("a"); 10_000])]),
        ("regex", &[text("((a{1000}){1000}){1000}"), million.clone()]),
        ("regex", &[text("(".repeat(1_000_000)), million.clone()]),
        ("regex", &[text("\\pL{1000}{1000}"), million.clone()]),
        ("regex", &[text("[[:word:]\\pL]{1000}".repeat(100)), million.clone()]),
        ("parseint", &[million.clone(), 36.into()]),
        ("jsondecode", &[text("[".repeat(1_000_000))]),
        ("yamldecode", &[text("[".repeat(1_000_000))]),
        ("yamldecode", &[text("- ".repeat(1_000_000))]),
        ("yamldecode", &[text("{a: ".repeat(100_000))]),
        ("jsondecode", &[text("1e1000000000")]),
        ("yamldecode", &[text("1e1000000000")]),
        ("bcrypt", &[text("a"), 31.into()]),
        ("timeadd", &[text("2017-11-22T00:00:00Z"), text("9".repeat(100_000) + "h")]),
        ("substr", &[text("a"), big("1e30"), 1.into()]),
    ];
    for (name, args) in bombs {
        assert!(call(name, args).is_err(), "{name}");
    }
}

#[test]
fn large_arguments_are_answered() {
    let large = text("ab".repeat(50_000));
    let alone = std::slice::from_ref(&large);
    let calls: &[(&str, &[Value])] = &[
        ("regexall", &[text("(a+)+b"), large.clone()]),
        ("regexall", &[text(".*.*.*=.*"), large.clone()]),
        ("split", &[text(""), large.clone()]),
        ("strrev", alone),
        ("title", alone),
        ("trim", &[large.clone(), large.clone()]),
        ("base64gzip", alone),
        ("yamlencode", alone),
        ("format", &[text("%1000000d"), 1.into()]),
        ("csvdecode", &[text("a,b\n".repeat(20_000))]),
        ("jsondecode", &[text(format!("[{}1]", "1,".repeat(100_000)))]),
        ("yamldecode", &[text("- 1\n".repeat(20_000))]),
    ];
    for (name, args) in calls {
        if let Err(problem) = call(name, args) {
            panic!("{name}: {problem}");
        }
    }
}

/// Texts that mean something to some function, and texts that mean nothing.
fn any_text() -> impl Strategy<Value = Value> {
    prop_oneof![
        "\\PC{0,12}",
        "[%\\[\\]0-9.+# vsdxXeEfgGqt-]{0,12}",
        "[\\\\(){}\\[\\]|*+?^$a-c:<>PdwsQEpL0-9,&~/-]{0,14}",
        "[-:,\\[\\]{}&*!|>'\"#%@ \n\tab1~?.<]{0,20}",
        "[\\[\\]{}:,\"\\\\u0-9a-f.eE+ tru-]{0,16}",
        "[0-9TZ:+. -]{0,25}",
        "[0-9.hmsnuµ+-]{0,10}",
        "[YMDEhHmsaAZ' x-]{0,12}",
        "[A-Za-z0-9+/=\r\n]{0,12}",
        "[a,\"\r\n]{0,12}",
    ]
    .prop_map(text)
}

fn any_argument() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => any_text(),
        1 => any::<i64>().prop_map(Value::from),
        1 => (-70_i64..70).prop_map(Value::from),
        1 => any::<f64>().prop_map(|f| Number::from_f64(f).map_or_else(Value::null, Value::from)),
        1 => Just(Value::null()),
        1 => Just(Value::unknown(Type::String)),
        1 => prop::collection::vec(any_text(), 0..3).prop_map(|items| Value::list(Type::String, items)),
        1 => prop::collection::vec(any_text(), 0..3).prop_map(Value::tuple),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_call_panics(index: prop::sample::Index, args in prop::collection::vec(any_argument(), 0..4)) {
        // bcrypt takes its time by design.
        let names: Vec<&str> = functions::all().map(|f| f.name).filter(|name| *name != "bcrypt").collect();
        let _ = call(names[index.index(names.len())], &args);
    }
}
