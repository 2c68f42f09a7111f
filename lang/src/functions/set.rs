//! Functions over sets.

use std::collections::HashSet;

use super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use crate::convert::{convert, unify};
use crate::eval::{MAX_ELEMENTS, unknown_from};
use crate::same::Same;
use crate::{Kind, Marks, Type, Value};

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "setintersection",
        group: Group::Collection,
        doc: "Keeps the elements that all of the sets have.",
        examples: &[("setintersection([\"a\", \"b\"], [\"b\", \"c\"])", "toset([\n  \"b\",\n])")],
        params: &[KNOWN_SET],
        variadic: Some(KNOWN_SET),
        returns: Returns::Depends(common_type),
        body: Body::Pure(|args| filter(args, true)),
    },
    Function {
        name: "setproduct",
        group: Group::Collection,
        doc: "Makes all the combinations of one element from each list or set, the last one changing fastest. The \
              result is a set if one of the arguments is, otherwise a list.",
        examples: &[(
            "setproduct([\"a\", \"b\"], [1])",
            "tolist([\n  [\n    \"a\",\n    1,\n  ],\n  [\n    \"b\",\n    1,\n  ],\n])",
        )],
        params: &[],
        variadic: Some(Param::new("sets", ParamType::Any).marked()),
        returns: Returns::Depends(product_type),
        body: Body::Pure(setproduct),
    },
    Function {
        name: "setsubtract",
        group: Group::Collection,
        doc: "Keeps the elements of a first set that a second one does not have.",
        examples: &[("setsubtract([\"a\", \"b\"], [\"b\", \"c\"])", "toset([\n  \"a\",\n])")],
        params: &[KNOWN_SET, KNOWN_SET],
        variadic: None,
        returns: Returns::Depends(common_type),
        body: Body::Pure(|args| filter(args, false)),
    },
    Function {
        name: "setunion",
        group: Group::Collection,
        doc: "Puts the elements of several sets into one.",
        examples: &[(
            "setunion([\"a\", \"b\"], [\"b\", \"c\"])",
            "toset([\n  \"a\",\n  \"b\",\n  \"c\",\n])",
        )],
        params: &[SET],
        variadic: Some(SET),
        returns: Returns::Depends(common_type),
        body: Body::Pure(setunion),
    },
];

const SET: Param = Param::new("set", ParamType::Set(&ParamType::Any));
const KNOWN_SET: Param = SET.wholly_known();

/// The type of set that all the arguments can be converted to. Sets of no particular
/// type hold at most a null, which has no say.
fn common_type(args: &[Value]) -> Result<Type, CallError> {
    let elements = args.iter().filter_map(|arg| match (arg.ty(), arg.items()) {
        (Type::Set(element), Some(_)) if *element == Type::Any => None,
        (Type::Set(element), _) => Some(Type::clone(&element)),
        _ => None,
    });
    let elements: Vec<Type> = elements.collect();
    if elements.is_empty() {
        return Ok(Type::set(Type::Any));
    }
    unify(&elements)
        .map(Type::set)
        .ok_or_else(|| CallError::new("the elements of the sets have no type in common"))
}

/// The elements of each argument, converted to one type, and that type.
fn common_sets(args: &[Value]) -> Result<(Vec<Value>, Type), CallError> {
    let ty = common_type(args)?;
    let converted = args
        .iter()
        .enumerate()
        .map(|(index, set)| convert(set, &ty).map_err(|error| CallError::arg(index, error.to_string())));
    let sets = converted.collect::<Result<_, _>>()?;
    let Type::Set(element) = ty else { return Err(CallError::new("all arguments must be sets")) };
    Ok((sets, Type::clone(&element)))
}

fn setunion(args: &[Value]) -> Result<Value, CallError> {
    let (sets, element) = common_sets(args)?;
    Ok(Value::set(element, sets.iter().filter_map(Value::items).flatten().cloned().collect()))
}

/// Keeps those elements of the first set that all of the others have, or that none of them has.
fn filter(args: &[Value], wanted: bool) -> Result<Value, CallError> {
    let (sets, element) = common_sets(args)?;
    let others: Vec<HashSet<Same<'_>>> =
        sets[1..].iter().map(|set| set.items().unwrap_or_default().iter().map(Same).collect()).collect();
    let mut kept = sets[0].items().unwrap_or_default().to_vec();
    kept.retain(|item| others.iter().all(|other| other.contains(&Same(item)) == wanted));
    Ok(Value::set(element, kept))
}

fn product_type(args: &[Value]) -> Result<Type, CallError> {
    if args.len() < 2 {
        return Err(CallError::new("at least two arguments are needed"));
    }
    let mut any_set = false;
    let elements = args.iter().enumerate().map(|(index, arg)| match arg.ty() {
        Type::List(element) => Ok(Type::clone(&element)),
        Type::Set(element) => {
            any_set = true;
            Ok(Type::clone(&element))
        }
        Type::Tuple(elements) if elements.is_empty() => Ok(Type::Any),
        Type::Tuple(elements) => {
            unify(&elements).ok_or_else(|| CallError::arg(index, "its elements have no type in common"))
        }
        ty => Err(CallError::arg(index, format!("must be a list, set or tuple, but is {ty}"))),
    });
    let tuple = Type::tuple(elements.collect::<Result<Vec<_>, _>>()?);
    Ok(if any_set { Type::set(tuple) } else { Type::list(tuple) })
}

fn setproduct(args: &[Value]) -> Result<Value, CallError> {
    let ty = product_type(args)?;
    let marks = args.iter().fold(Marks::NONE, |marks, arg| marks | arg.marks);
    if args.iter().any(|arg| matches!(arg.kind, Kind::Set(_)) && !arg.is_wholly_known()) {
        // Unknown elements of a set may turn out to be equal to others, so not even their number is known.
        return Ok(unknown_from(ty, args).mark(marks));
    }
    let (Type::List(tuple) | Type::Set(tuple)) = &ty else { unreachable!("a product is a list or set") };
    let Type::Tuple(elements) = &**tuple else { unreachable!("of tuples") };
    let lists = args.iter().zip(elements.iter()).enumerate().map(|(index, (arg, element))| {
        let item = |item| convert(item, element).map_err(|error| CallError::arg(index, error.to_string()));
        arg.items().unwrap_or_default().iter().map(item).collect::<Result<Vec<_>, _>>()
    });
    let lists = lists.collect::<Result<Vec<_>, _>>()?;
    let product = combinations(&lists)?;
    let product = product.into_iter().map(Value::tuple).collect();
    let element = Type::clone(tuple);
    Ok(if matches!(ty, Type::Set(_)) { Value::set(element, product) } else { Value::list(element, product) }
        .mark(marks))
}

fn combinations(lists: &[Vec<Value>]) -> Result<Vec<Vec<Value>>, CallError> {
    if lists.iter().any(Vec::is_empty) {
        return Ok(Vec::new());
    }
    let size = lists.iter().map(Vec::len).try_fold(lists.len(), usize::checked_mul);
    if size.is_none_or(|size| size > MAX_ELEMENTS) {
        let message = format!("the combinations would have more than {MAX_ELEMENTS} elements");
        return Err(CallError::new(message));
    }
    Ok(lists.iter().fold(vec![Vec::new()], |shorter: Vec<Vec<Value>>, list| {
        let longer = |start: &Vec<Value>| {
            list.iter().map(|item| start.iter().chain([item]).cloned().collect()).collect::<Vec<_>>()
        };
        shorter.iter().flat_map(longer).collect()
    }))
}
