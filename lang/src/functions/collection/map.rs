//! Functions over maps and objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::args::{items, string, strings};
use super::super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use crate::convert::convert;
use crate::eval::unknown_from;
use crate::{Kind, Marks, Type, Value};

pub(in super::super) const TABLE: &[Function] = &[
    Function {
        name: "keys",
        group: Group::Collection,
        doc: "Lists the keys of a map or the names of an object, sorted.",
        examples: &[("keys({ b = 1, a = 2 })", "[\n  \"a\",\n  \"b\",\n]")],
        params: &[Param::new("map", ParamType::Any).unknown().marked()],
        variadic: None,
        returns: Returns::Always(ParamType::Any),
        body: Body::Pure(keys),
    },
    Function {
        name: "lookup",
        group: Group::Collection,
        doc: "Takes the element of a map or object with a key, or the default if there is none. Without a default a \
              missing key is an error.",
        examples: &[
            ("lookup({ a = \"x\" }, \"a\", \"none\")", "\"x\""),
            ("lookup({ a = \"x\" }, \"b\", \"none\")", "\"none\""),
        ],
        params: &[Param::new("map", ParamType::Any).marked(), Param::new("key", ParamType::String)],
        variadic: Some(Param::new("default", ParamType::Any).null().unknown().untyped().marked()),
        returns: Returns::Depends(lookup_type),
        body: Body::Pure(lookup),
    },
    Function {
        name: "merge",
        group: Group::Collection,
        doc: "Puts maps and objects together; of equal keys the last argument wins. Maps of one type give a map, \
              anything else an object. Nulls are left out, and what lies inside the elements is not merged.",
        examples: &[("merge({ a = 1, b = 2 }, { b = \"x\" })", "{\n  \"a\" = 1\n  \"b\" = \"x\"\n}")],
        params: &[],
        variadic: Some(Param::new("maps", ParamType::Any).null().unknown().untyped().marked()),
        returns: Returns::Always(ParamType::Any),
        body: Body::Pure(merge),
    },
    Function {
        name: "transpose",
        group: Group::Collection,
        doc: "Swaps the keys and values of a map of lists of strings: every string gets the list of the keys it was \
              found under.",
        examples: &[(
            "transpose({ a = [\"x\", \"y\"], b = [\"y\"] })",
            "tomap({\n  \"x\" = tolist([\n    \"a\",\n  ])\n  \"y\" = tolist([\n    \"a\",\n    \"b\",\n  ])\n})",
        )],
        params: &[Param::new("map", ParamType::Map(&ParamType::List(&ParamType::String))).wholly_known()],
        variadic: None,
        returns: Returns::Always(ParamType::Map(&ParamType::List(&ParamType::String))),
        body: Body::Pure(transpose),
    },
    Function {
        name: "values",
        group: Group::Collection,
        doc: "Lists the elements of a map or object in the order of their keys.",
        examples: &[("values({ b = 1, a = \"x\" })", "[\n  \"x\",\n  1,\n]")],
        params: &[Param::new("map", ParamType::Any).marked()],
        variadic: None,
        returns: Returns::Depends(values_type),
        body: Body::Pure(values),
    },
    Function {
        name: "zipmap",
        group: Group::Collection,
        doc: "Makes a map or object of a list of keys and a list or tuple of as many values. Of equal keys the last \
              one wins.",
        examples: &[("zipmap([\"a\", \"b\"], [1, \"x\"])", "{\n  \"a\" = 1\n  \"b\" = \"x\"\n}")],
        params: &[
            Param::new("keys", ParamType::List(&ParamType::String)).wholly_known(),
            Param::new("values", ParamType::Any).marked(),
        ],
        variadic: None,
        returns: Returns::Depends(zipmap_type),
        body: Body::Pure(zipmap),
    },
];

fn keys(args: &[Value]) -> Result<Value, CallError> {
    let map = &args[0];
    let keys = match (map.ty(), map.entries()) {
        (Type::Map(_), Some(entries)) => Value::list(Type::String, entries.keys().map(name).collect()),
        (Type::Map(_), None) => unknown_from(Type::list(Type::String), args),
        // The names belong to the type, so they are known even if the object is not.
        (Type::Object(ty), _) => Value::tuple(ty.attributes.keys().map(name).collect::<Vec<_>>()),
        (ty, _) => return Err(not_a_map(&ty)),
    };
    Ok(keys.mark(map.marks))
}

fn name(key: &Arc<str>) -> Value {
    Kind::String(key.clone()).into()
}

fn lookup_type(args: &[Value]) -> Result<Type, CallError> {
    if args.len() > 3 {
        return Err(CallError::new(format!("takes two or three arguments, but gets {}", args.len())));
    }
    match args[0].ty() {
        Type::Map(element) => {
            lookup_default(args, &element)?;
            Ok(Type::clone(&element))
        }
        Type::Object(_) if !args[1].is_known() => Ok(Type::Any),
        Type::Object(ty) => match (ty.attributes.get(string(args, 1)), args.get(2)) {
            (Some(attribute), _) => Ok(attribute.clone()),
            (None, Some(default)) => Ok(default.ty()),
            (None, None) => Err(no_such_key(args)),
        },
        ty => Err(not_a_map(&ty)),
    }
}

fn lookup(args: &[Value]) -> Result<Value, CallError> {
    let ty = lookup_type(args)?;
    let entries = args[0].entries().ok_or_else(|| not_a_map(&args[0].ty()))?;
    let found = match entries.get(string(args, 1)) {
        Some(found) => found.clone(),
        None => lookup_default(args, &ty)?.ok_or_else(|| no_such_key(args))?,
    };
    Ok(found.mark(args[0].marks))
}

fn lookup_default(args: &[Value], element: &Type) -> Result<Option<Value>, CallError> {
    let unsuitable = |error| CallError::arg(2, format!("must have the type of the elements: {error}"));
    args.get(2).map(|default| convert(default, element).map_err(unsuitable)).transpose()
}

fn no_such_key(args: &[Value]) -> CallError {
    CallError::arg(1, format!("there is no element {:?}, and no default is given", string(args, 1)))
}

fn not_a_map(ty: &Type) -> CallError {
    CallError::arg(0, format!("must be a map or object, but is {ty}"))
}

fn merge(args: &[Value]) -> Result<Value, CallError> {
    let types: Vec<Type> = args.iter().map(Value::ty).collect();
    for (index, ty) in types.iter().enumerate() {
        if !matches!(ty, Type::Map(_) | Type::Object(_) | Type::Any) {
            return Err(CallError::arg(index, format!("must be a map or object, but is {ty}")));
        }
    }
    let map = match types.first() {
        Some(Type::Map(element)) if types.iter().all(|ty| *ty == types[0]) => Some(Type::clone(element)),
        _ => None,
    };
    let given = || args.iter().filter(|arg| !arg.is_null());
    let marks = given().fold(Marks::NONE, |marks, arg| marks | arg.marks);
    if !args.iter().all(Value::is_known) {
        let ty = map.map_or_else(|| merged_object(args), Type::map);
        return Ok(unknown_from(ty, args).mark(marks));
    }
    let entries = given().filter_map(Value::entries).flatten();
    let merged = entries.map(|(key, value)| (key.clone(), value.clone())).collect();
    Ok(match map {
        Some(element) => Value::map(element, merged),
        None => Value::object(merged),
    }
    .mark(marks))
}

/// The type of the object that arguments, some of them unknown, will become; open if not all names are known.
fn merged_object(args: &[Value]) -> Type {
    let mut attributes = BTreeMap::new();
    for arg in args.iter().filter(|arg| !arg.is_null()) {
        match (arg.ty(), arg.entries()) {
            (Type::Object(ty), _) => attributes.extend(ty.attributes.clone()),
            (Type::Map(element), Some(entries)) => {
                attributes.extend(entries.keys().map(|key| (key.clone(), Type::clone(&element))));
            }
            _ => return Type::Any,
        }
    }
    Type::object(attributes)
}

fn transpose(args: &[Value]) -> Result<Value, CallError> {
    let mut swapped: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
    for (key, list) in args[0].entries().into_iter().flatten() {
        let null = |what: &str| CallError::arg(0, format!("{what} {key:?} is null"));
        for item in list.items().ok_or_else(|| null("the list"))? {
            let Kind::String(text) = &item.kind else { return Err(null("an element of the list")) };
            swapped.entry(text.clone()).or_default().push(name(key));
        }
    }
    let lists = swapped.into_iter().map(|(text, keys)| (text, Value::list(Type::String, keys)));
    Ok(Value::map(Type::list(Type::String), lists.collect()))
}

fn values_type(args: &[Value]) -> Result<Type, CallError> {
    match args[0].ty() {
        Type::Map(element) => Ok(Type::List(element)),
        Type::Object(ty) => Ok(Type::tuple(ty.attributes.values().cloned().collect::<Vec<_>>())),
        ty => Err(not_a_map(&ty)),
    }
}

fn values(args: &[Value]) -> Result<Value, CallError> {
    let ty = values_type(args)?;
    let elements: Vec<Value> =
        args[0].entries().into_iter().flat_map(|entries| entries.values()).cloned().collect();
    Ok(match ty {
        Type::List(element) => Value::list(Type::clone(&element), elements),
        _ => Value::tuple(elements),
    }
    .mark(args[0].marks))
}

fn zipmap_type(args: &[Value]) -> Result<Type, CallError> {
    match args[1].ty() {
        Type::List(element) => Ok(Type::Map(element)),
        Type::Tuple(elements) if args[0].is_wholly_known() => {
            same_length(args, elements.len())?;
            let names = strings(args, 0)?.into_iter().map(Arc::from);
            Ok(Type::object(names.zip(elements.iter().cloned()).collect()))
        }
        Type::Tuple(_) => Ok(Type::Any),
        ty => Err(CallError::arg(1, format!("must be a list or tuple, but is {ty}"))),
    }
}

fn zipmap(args: &[Value]) -> Result<Value, CallError> {
    let ty = zipmap_type(args)?;
    let values = items(args, 1);
    same_length(args, values.len())?;
    let names = strings(args, 0)?.into_iter().map(Arc::from);
    let entries = names.zip(values.iter().cloned()).collect();
    Ok(match ty {
        Type::Map(element) => Value::map(Type::clone(&element), entries),
        _ => Value::object(entries),
    }
    .mark(args[1].marks))
}

fn same_length(args: &[Value], values: usize) -> Result<(), CallError> {
    let keys = items(args, 0).len();
    if keys == values {
        return Ok(());
    }
    Err(CallError::arg(1, format!("there are {keys} keys but {values} values")))
}
