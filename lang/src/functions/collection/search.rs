//! Functions that look for elements and decide by them.

use std::collections::HashSet;

use super::super::args::{items, whole};
use super::super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use crate::convert::{convert, unify};
use crate::eval::{unknown_from, unknown_result};
use crate::same::Same;
use crate::{Kind, Type, Value, equal};

pub(in super::super) const TABLE: &[Function] = &[
    Function {
        name: "alltrue",
        group: Group::Collection,
        doc: "Says whether all elements of a list of bools are true. It is true for an empty list; a null counts as \
              false.",
        examples: &[("alltrue([true, \"true\"])", "true"), ("alltrue([true, false])", "false")],
        params: &[Param::new("list", ParamType::List(&ParamType::Bool))],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Pure(alltrue),
    },
    Function {
        name: "anytrue",
        group: Group::Collection,
        doc: "Says whether at least one element of a list of bools is true. It is false for an empty list; a null \
              counts as false.",
        examples: &[("anytrue([false, \"true\"])", "true"), ("anytrue([])", "false")],
        params: &[Param::new("list", ParamType::List(&ParamType::Bool))],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Pure(anytrue),
    },
    Function {
        name: "coalesce",
        group: Group::Collection,
        doc: "Takes the first argument that is neither null nor an empty string. All arguments are converted to one \
              type; it is an error if none is left.",
        examples: &[("coalesce(null, \"\", \"b\")", "\"b\""), ("coalesce(1, \"b\")", "\"1\"")],
        params: &[],
        variadic: Some(Param::new("values", ParamType::Any).null().unknown().untyped()),
        returns: Returns::Always(ParamType::Any),
        body: Body::Pure(coalesce),
    },
    Function {
        name: "coalescelist",
        group: Group::Collection,
        doc: "Takes the first list or tuple that is not empty. It is an error if all are.",
        examples: &[("coalescelist([], [\"b\"])", "[\n  \"b\",\n]")],
        params: &[],
        variadic: Some(Param::new("lists", ParamType::Any).null().unknown().untyped()),
        returns: Returns::Always(ParamType::Any),
        body: Body::Pure(coalescelist),
    },
    Function {
        name: "contains",
        group: Group::Collection,
        doc: "Says whether a list, tuple or set has an element equal to a value. Nothing is converted: `1` and `\"1\"` \
              differ.",
        examples: &[("contains([\"a\", \"b\"], \"a\")", "true"), ("contains([1, 2], \"1\")", "false")],
        params: &[Param::new("list", ParamType::Any), Param::new("value", ParamType::Any)],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Pure(contains),
    },
    Function {
        name: "element",
        group: Group::Collection,
        doc: "Takes an element of a list or tuple by position, counted from 0. A position beyond the end starts again \
              at the beginning; without that, write `list[index]`.",
        examples: &[
            ("element([\"a\", \"b\", \"c\"], 1)", "\"b\""),
            ("element([\"a\", \"b\", \"c\"], 3)", "\"a\""),
        ],
        params: &[Param::new("list", ParamType::Any).marked(), Param::new("index", ParamType::Number)],
        variadic: None,
        returns: Returns::Depends(element_type),
        body: Body::Pure(element),
    },
    Function {
        name: "index",
        group: Group::Collection,
        doc: "Finds the position of the first element equal to a value, counted from 0. It is an error if there is \
              none.",
        examples: &[("index([\"a\", \"b\", \"c\"], \"b\")", "1")],
        params: &[Param::new("list", ParamType::Any), Param::new("value", ParamType::Any)],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(index),
    },
    Function {
        name: "matchkeys",
        group: Group::Collection,
        doc: "Takes those values whose key, at the same position of a second list, is among the keys wanted.",
        examples: &[(
            "matchkeys([\"i-1\", \"i-2\", \"i-3\"], [\"west\", \"east\", \"east\"], [\"east\"])",
            "tolist([\n  \"i-2\",\n  \"i-3\",\n])",
        )],
        params: &[
            Param::new("values", ParamType::List(&ParamType::Any)),
            Param::new("keys", ParamType::List(&ParamType::Any)),
            Param::new("searchset", ParamType::List(&ParamType::Any)),
        ],
        variadic: None,
        returns: Returns::Depends(matchkeys_type),
        body: Body::Pure(matchkeys),
    },
    Function {
        name: "one",
        group: Group::Collection,
        doc: "Takes the only element of a list, tuple or set, or null if there is none. It is an error if there are \
              more.",
        examples: &[("one([\"a\"])", "\"a\""), ("one([])", "null")],
        params: &[Param::new("list", ParamType::Any)],
        variadic: None,
        returns: Returns::Depends(one_type),
        body: Body::Pure(one),
    },
];

fn alltrue(args: &[Value]) -> Result<Value, CallError> {
    // The first element that is not true decides, even if a later one would be known to be false.
    Ok(match items(args, 0).iter().find(|item| item.kind != Kind::Bool(true)) {
        None => true.into(),
        Some(item) if item.is_known() => false.into(),
        Some(item) => unknown_result(Type::Bool, [item]),
    })
}

fn anytrue(args: &[Value]) -> Result<Value, CallError> {
    let items = items(args, 0);
    Ok(match items.iter().find(|item| !item.is_known()) {
        _ if items.iter().any(|item| item.kind == Kind::Bool(true)) => true.into(),
        None => false.into(),
        Some(item) => unknown_result(Type::Bool, [item]),
    })
}

fn coalesce(args: &[Value]) -> Result<Value, CallError> {
    if args.is_empty() {
        return Err(CallError::new("at least one argument is needed"));
    }
    let types: Vec<Type> = args.iter().map(Value::ty).collect();
    let ty = unify(&types).ok_or_else(|| CallError::new("the arguments have no type in common"))?;
    for (index, arg) in args.iter().enumerate() {
        if !arg.is_known() {
            return Ok(unknown_result(ty, [arg]));
        }
        if !(arg.is_null() || ty == Type::String && arg.as_str() == Some("")) {
            return convert(arg, &ty).map_err(|error| CallError::arg(index, error.to_string()));
        }
    }
    Err(CallError::new("every argument is null or an empty string"))
}

fn coalescelist(args: &[Value]) -> Result<Value, CallError> {
    if args.is_empty() {
        return Err(CallError::new("at least one argument is needed"));
    }
    for (index, arg) in args.iter().enumerate() {
        match arg.ty() {
            Type::List(_) | Type::Tuple(_) => {}
            // Whatever follows may turn out not to matter.
            _ if !arg.is_known() => break,
            ty => return Err(CallError::arg(index, format!("must be a list or tuple, but is {ty}"))),
        }
    }
    for arg in args {
        if !arg.is_known() {
            return Ok(unknown_from(Type::Any, [arg]));
        }
        if arg.items().is_some_and(|items| !items.is_empty()) {
            return Ok(arg.clone());
        }
    }
    Err(CallError::new("every argument is null or empty"))
}

fn contains(args: &[Value]) -> Result<Value, CallError> {
    let Some(items) = args[0].items() else {
        return Err(CallError::arg(0, format!("must be a list, set or tuple, but is {}", args[0].ty())));
    };
    let mut undecided = None;
    for item in items {
        let same = equal(item, &args[1]);
        match same.kind {
            Kind::Bool(true) => return Ok(same),
            Kind::Bool(false) => {}
            _ => undecided = undecided.or(Some(same)),
        }
    }
    Ok(undecided.unwrap_or_else(|| false.into()))
}

fn element_type(args: &[Value]) -> Result<Type, CallError> {
    match args[0].ty() {
        Type::List(element) => Ok(Type::clone(&element)),
        Type::Tuple(elements) if args[1].is_known() => Ok(elements[position(args, elements.len())?].clone()),
        Type::Tuple(_) => Ok(Type::Any),
        ty => Err(not_a_sequence(&ty)),
    }
}

fn element(args: &[Value]) -> Result<Value, CallError> {
    match (&args[0].kind, args[0].items()) {
        (Kind::List(_) | Kind::Tuple(_), Some(items)) => {
            Ok(items[position(args, items.len())?].clone().mark(args[0].marks))
        }
        _ => Err(not_a_sequence(&args[0].ty())),
    }
}

/// The position that the second argument stands for among so many elements.
fn position(args: &[Value], length: usize) -> Result<usize, CallError> {
    let index = whole(args, 1)?;
    if length == 0 {
        return Err(CallError::arg(0, "is empty and has no element to take"));
    }
    let length = i64::try_from(length).expect("no collection is that long");
    usize::try_from(index % length)
        .map_err(|_| CallError::arg(1, format!("must not be negative, but is {index}")))
}

fn not_a_sequence(ty: &Type) -> CallError {
    CallError::arg(0, format!("must be a list or tuple, but is {ty}"))
}

fn index(args: &[Value]) -> Result<Value, CallError> {
    let (Kind::List(_) | Kind::Tuple(_), Some(items)) = (&args[0].kind, args[0].items()) else {
        return Err(not_a_sequence(&args[0].ty()));
    };
    for (position, item) in (0_i64..).zip(items) {
        let same = equal(item, &args[1]);
        match same.kind {
            Kind::Bool(true) => return Ok(position.into()),
            Kind::Bool(false) => {}
            _ => return Ok(unknown_result(Type::Number, [&same])),
        }
    }
    Err(CallError::new("no element is equal to the value"))
}

fn matchkeys_type(args: &[Value]) -> Result<Type, CallError> {
    key_type(args)?;
    Ok(args[0].ty())
}

fn matchkeys(args: &[Value]) -> Result<Value, CallError> {
    let (values, keys, wanted) = (items(args, 0), items(args, 1), items(args, 2));
    if values.len() != keys.len() {
        let message = format!("there are {} values but {} keys", values.len(), keys.len());
        return Err(CallError::arg(1, message));
    }
    let ty = matchkeys_type(args)?;
    // Without keys, or without any that are wanted, nothing can be found whatever is unknown.
    let decided = keys.is_empty() || wanted.is_empty();
    if !decided && !args.iter().all(Value::is_wholly_known) {
        return Ok(unknown_result(ty, args));
    }
    let keys = key_type(args)?;
    let converted =
        |index: usize| convert(&args[index], &keys).map_err(|error| CallError::arg(index, error.to_string()));
    let (keys, wanted) = (converted(1)?, converted(2)?);
    let wanted: HashSet<Same<'_>> = wanted.items().unwrap_or_default().iter().map(Same).collect();
    let keyed = values.iter().zip(keys.items().unwrap_or_default());
    let found = keyed.filter(|(_, key)| wanted.contains(&Same(key)));
    let element = super::element_type(&ty).cloned().unwrap_or(Type::Any);
    Ok(Value::list(element, found.map(|(value, _)| value.clone()).collect()))
}

/// The type of list that both the keys and the keys wanted can be converted to.
fn key_type(args: &[Value]) -> Result<Type, CallError> {
    unify(&[args[1].ty(), args[2].ty()])
        .ok_or_else(|| CallError::arg(2, "has no type in common with the keys"))
}

fn one_type(args: &[Value]) -> Result<Type, CallError> {
    match args[0].ty() {
        Type::List(element) | Type::Set(element) => Ok(Type::clone(&element)),
        Type::Tuple(elements) if elements.len() <= 1 => Ok(elements.first().cloned().unwrap_or(Type::Any)),
        Type::Tuple(elements) => Err(more_than_one(elements.len())),
        ty => Err(CallError::arg(0, format!("must be a list, set or tuple, but is {ty}"))),
    }
}

fn one(args: &[Value]) -> Result<Value, CallError> {
    let ty = one_type(args)?;
    let items = args[0].items().unwrap_or_default();
    // Unknown elements of a set may turn out to be equal to others.
    let known = items.iter().filter(|item| item.is_wholly_known()).count();
    match items {
        [] => Ok(Value::null_of(ty)),
        _ if known < items.len() && known <= 1 && matches!(args[0].kind, Kind::Set(_)) => {
            Ok(unknown_from(ty, items))
        }
        [only] => Ok(only.clone()),
        _ => Err(more_than_one(items.len())),
    }
}

fn more_than_one(count: usize) -> CallError {
    CallError::arg(0, format!("must have one element at most, but has {count}"))
}
