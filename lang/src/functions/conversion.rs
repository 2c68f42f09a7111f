//! Conversions between types, and marks.

use super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use crate::convert::convert;
use crate::eval::unknown_result;
use crate::{Kind, Marks, Type, Value};

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "ephemeralasnull",
        group: Group::TypeConversion,
        doc: "Replaces everything ephemeral in a value by null, so that the rest may be stored.",
        examples: &[("ephemeralasnull({ a = 1 })", "{\n  \"a\" = 1\n}")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::Any),
        body: Body::Pure(ephemeralasnull),
    },
    Function {
        name: "issensitive",
        group: Group::TypeConversion,
        doc: "Says whether a value as a whole is sensitive. What its elements are does not count.",
        examples: &[("issensitive(sensitive(\"x\"))", "true"), ("issensitive(\"x\")", "false")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Pure(issensitive),
    },
    Function {
        name: "nonsensitive",
        group: Group::TypeConversion,
        doc: "Takes the sensitive mark off a value, so that it is shown. Only use it where that gives nothing away. \
              Elements keep their own marks.",
        examples: &[("nonsensitive(sensitive(\"x\"))", "\"x\"")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::Any),
        body: Body::Pure(nonsensitive),
    },
    Function {
        name: "sensitive",
        group: Group::TypeConversion,
        doc: "Marks a value as sensitive: it and everything computed from it is not shown.",
        examples: &[("sensitive(\"x\")", "(sensitive value)")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::Any),
        body: Body::Pure(|args| Ok(args[0].clone().mark(Marks::SENSITIVE))),
    },
    Function {
        name: "tobool",
        group: Group::TypeConversion,
        doc: "Converts to a bool. Of all strings, only `\"true\"`, `\"false\"`, `\"1\"` and `\"0\"` stand for one.",
        examples: &[("tobool(\"true\")", "true"), ("tobool(null)", "tobool(null)")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Pure(|args| to(&Type::Bool, args)),
    },
    Function {
        name: "tolist",
        group: Group::TypeConversion,
        doc: "Converts a tuple or set to a list. The elements are converted to one type.",
        examples: &[("tolist([1, \"b\"])", "tolist([\n  \"1\",\n  \"b\",\n])")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::List(&ParamType::Any)),
        body: Body::Pure(|args| to(&Type::list(Type::Any), args)),
    },
    Function {
        name: "tomap",
        group: Group::TypeConversion,
        doc: "Converts an object to a map. The elements are converted to one type.",
        examples: &[("tomap({ a = 1, b = \"x\" })", "tomap({\n  \"a\" = \"1\"\n  \"b\" = \"x\"\n})")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::Map(&ParamType::Any)),
        body: Body::Pure(|args| to(&Type::map(Type::Any), args)),
    },
    Function {
        name: "tonumber",
        group: Group::TypeConversion,
        doc: "Converts a string with a decimal number in it to a number.",
        examples: &[("tonumber(\"1e3\")", "1000"), ("tonumber(null)", "tonumber(null)")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(|args| to(&Type::Number, args)),
    },
    Function {
        name: "toset",
        group: Group::TypeConversion,
        doc: "Converts a list or tuple to a set: without doubles, and in an order of its own. The elements are \
              converted to one type.",
        examples: &[("toset([\"b\", \"a\", \"b\"])", "toset([\n  \"a\",\n  \"b\",\n])")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::Set(&ParamType::Any)),
        body: Body::Pure(|args| to(&Type::set(Type::Any), args)),
    },
    Function {
        name: "tostring",
        group: Group::TypeConversion,
        doc: "Converts a number or bool to a string.",
        examples: &[("tostring(1.50)", "\"1.5\""), ("tostring(true)", "\"true\"")],
        params: &[WHATEVER],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| to(&Type::String, args)),
    },
];

/// A parameter that takes everything as it is.
const WHATEVER: Param = Param::new("value", ParamType::Any).null().unknown().untyped().marked();

fn to(ty: &Type, args: &[Value]) -> Result<Value, CallError> {
    convert(&args[0], ty).map_err(|error| CallError::arg(0, error.to_string()))
}

fn issensitive(args: &[Value]) -> Result<Value, CallError> {
    let value = &args[0];
    let sensitive = value.marks.contains(Marks::SENSITIVE);
    // What is unknown may still turn out to be sensitive.
    Ok(if sensitive || value.is_known() { sensitive.into() } else { unknown_result(Type::Bool, args) })
}

fn nonsensitive(args: &[Value]) -> Result<Value, CallError> {
    let (value, marks) = args[0].clone().unmark();
    Ok(value.mark(marks.without(Marks::SENSITIVE)))
}

fn ephemeralasnull(args: &[Value]) -> Result<Value, CallError> {
    let any = args[0].marks_deep().contains(Marks::EPHEMERAL);
    Ok(if any { without_ephemeral(&args[0]) } else { args[0].clone() })
}

fn without_ephemeral(value: &Value) -> Value {
    if value.marks.contains(Marks::EPHEMERAL) {
        return Value::null_of(value.ty()).mark(value.marks.without(Marks::EPHEMERAL));
    }
    let items = |items: &[Value]| items.iter().map(without_ephemeral).collect::<Vec<_>>();
    let entries = || {
        let entries = value.entries().into_iter().flatten();
        entries.map(|(key, element)| (key.clone(), without_ephemeral(element))).collect()
    };
    match &value.kind {
        Kind::List(list) => Value::list(list.element.clone(), items(&list.items)),
        Kind::Tuple(elements) => Value::tuple(items(elements)),
        Kind::Map(map) => Value::map(map.element.clone(), entries()),
        Kind::Object(_) => Value::object(entries()),
        _ => value.clone(),
    }
    .mark(value.marks)
}
