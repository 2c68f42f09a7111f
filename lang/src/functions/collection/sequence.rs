//! Functions that make lists and tuples from others, or from nothing.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::super::args::{items, number, strings, whole};
use super::super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use super::{check_size, element_type, marks_of};
use crate::convert::{convert, unify};
use crate::eval::unknown_from;
use crate::same::Same;
use crate::{Kind, Number, Type, Value};

pub(in super::super) const TABLE: &[Function] = &[
    Function {
        name: "compact",
        group: Group::Collection,
        doc: "Leaves out the null and empty elements of a list of strings.",
        examples: &[("compact([\"a\", \"\", null, \"b\"])", "tolist([\n  \"a\",\n  \"b\",\n])")],
        params: &[Param::new("list", ParamType::List(&ParamType::String)).wholly_known()],
        variadic: None,
        returns: Returns::Always(ParamType::List(&ParamType::String)),
        body: Body::Pure(compact),
    },
    Function {
        name: "concat",
        group: Group::Collection,
        doc: "Joins lists and tuples into one. Lists give a list of a common type; a tuple among them, or lists \
              without a common type, give a tuple.",
        examples: &[
            ("concat([\"a\", \"b\"], [1])", "[\n  \"a\",\n  \"b\",\n  1,\n]"),
            ("concat(tolist([\"a\"]), tolist([1]))", "tolist([\n  \"a\",\n  \"1\",\n])"),
        ],
        params: &[],
        variadic: Some(Param::new("lists", ParamType::Any).marked()),
        returns: Returns::Depends(concat_type),
        body: Body::Pure(concat),
    },
    Function {
        name: "distinct",
        group: Group::Collection,
        doc: "Leaves out those elements of a list that are equal to an earlier one.",
        examples: &[("distinct([\"a\", \"b\", \"a\"])", "tolist([\n  \"a\",\n  \"b\",\n])")],
        params: &[Param::new("list", ParamType::List(&ParamType::Any)).wholly_known()],
        variadic: None,
        returns: Returns::Depends(|args| Ok(args[0].ty())),
        body: Body::Pure(distinct),
    },
    Function {
        name: "range",
        group: Group::Collection,
        doc: "Counts: `range(end)` from 0, `range(start, end)` from a start, `range(start, end, step)` in steps; the \
              end itself is left out. Without a step it counts down if the end is below the start. At most 1024 \
              numbers.",
        examples: &[
            ("range(3)", "tolist([\n  0,\n  1,\n  2,\n])"),
            ("range(1, 8, 3)", "tolist([\n  1,\n  4,\n  7,\n])"),
            ("range(3, 1)", "tolist([\n  3,\n  2,\n])"),
        ],
        params: &[],
        variadic: Some(Param::new("limits", ParamType::Number)),
        returns: Returns::Always(ParamType::List(&ParamType::Number)),
        body: Body::Pure(range),
    },
    Function {
        name: "reverse",
        group: Group::Collection,
        doc: "Turns a list or tuple round. A set gives a list in the opposite of its own order.",
        examples: &[("reverse([1, 2, \"c\"])", "[\n  \"c\",\n  2,\n  1,\n]")],
        params: &[Param::new("list", ParamType::Any).marked()],
        variadic: None,
        returns: Returns::Depends(reverse_type),
        body: Body::Pure(reverse),
    },
    Function {
        name: "slice",
        group: Group::Collection,
        doc: "Takes the elements of a list or tuple from one position up to, but not including, another. Positions \
              count from 0.",
        examples: &[("slice([\"a\", \"b\", \"c\", \"d\"], 1, 3)", "[\n  \"b\",\n  \"c\",\n]")],
        params: &[
            Param::new("list", ParamType::Any).marked(),
            Param::new("start_index", ParamType::Number),
            Param::new("end_index", ParamType::Number),
        ],
        variadic: None,
        returns: Returns::Depends(slice_type),
        body: Body::Pure(slice),
    },
    Function {
        name: "sort",
        group: Group::Collection,
        doc: "Sorts a list of strings by their code points, so that capitals come before small letters.",
        examples: &[("sort([\"b\", \"a\", \"C\"])", "tolist([\n  \"C\",\n  \"a\",\n  \"b\",\n])")],
        params: &[Param::new("list", ParamType::List(&ParamType::String))],
        variadic: None,
        returns: Returns::Always(ParamType::List(&ParamType::String)),
        body: Body::Pure(sort),
    },
];

/// As many numbers as `range` makes at most.
const RANGE_LIMIT: usize = 1024;

fn compact(args: &[Value]) -> Result<Value, CallError> {
    let full = items(args, 0).iter().filter(|item| item.as_str().is_some_and(|text| !text.is_empty()));
    Ok(Value::list(Type::String, full.cloned().collect()))
}

fn concat_type(args: &[Value]) -> Result<Type, CallError> {
    if args.is_empty() {
        return Err(CallError::new("at least one argument is needed"));
    }
    let types: Vec<Type> = args.iter().map(Value::ty).collect();
    for (index, ty) in types.iter().enumerate() {
        if !matches!(ty, Type::List(_) | Type::Tuple(_)) {
            return Err(CallError::arg(index, format!("must be a list or tuple, but is {ty}")));
        }
    }
    if types.iter().all(|ty| matches!(ty, Type::List(_)))
        && let Some(common @ Type::List(_)) = unify(&types)
    {
        return Ok(common);
    }
    let known_length = |arg: &Value| arg.is_known() || matches!(arg.ty(), Type::Tuple(_));
    if !args.iter().all(known_length) {
        return Ok(Type::Any);
    }
    let elements = args.iter().flat_map(|arg| match (arg.items(), arg.ty()) {
        (Some(items), _) => items.iter().map(Value::ty).collect(),
        (None, Type::Tuple(elements)) => elements.to_vec(),
        (None, _) => Vec::new(),
    });
    Ok(Type::tuple(elements.collect::<Vec<_>>()))
}

fn concat(args: &[Value]) -> Result<Value, CallError> {
    let ty = concat_type(args)?;
    let parts = || args.iter().filter_map(Value::items);
    check_size(parts().map(<[Value]>::len).try_fold(0, usize::checked_add))?;
    let mut elements: Vec<Value> = parts().flatten().cloned().collect();
    let marks = marks_of(args);
    let Type::List(element) = &ty else { return Ok(Value::tuple(elements).mark(marks)) };
    for item in &mut elements {
        *item = convert(item, element).map_err(|error| CallError::new(error.to_string()))?;
    }
    Ok(Value::list(Type::clone(element), elements).mark(marks))
}

fn distinct(args: &[Value]) -> Result<Value, CallError> {
    let mut seen = HashSet::new();
    let first = items(args, 0).iter().filter(|item| seen.insert(Same(item))).cloned().collect();
    Ok(Value::list(element_type(&args[0].ty()).cloned().unwrap_or(Type::Any), first))
}

fn range(args: &[Value]) -> Result<Value, CallError> {
    let zero = Number::from(0);
    let (start, end) = match args.len() {
        1 => (&zero, number(args, 0)),
        2 | 3 => (number(args, 0), number(args, 1)),
        count => return Err(CallError::new(format!("takes one, two or three arguments, but gets {count}"))),
    };
    let direction = end.cmp(start);
    let step = match args.len() {
        3 => number(args, 2).clone(),
        _ if direction == Ordering::Less => Number::from(-1),
        _ => Number::from(1),
    };
    let towards = step.cmp(&zero);
    if direction != Ordering::Equal && towards == direction.reverse() {
        let message = format!("a step of {step} never leads from {start} to {end}");
        return Err(CallError::arg(2, message));
    }
    let mut numbers = Vec::new();
    let mut next = start.clone();
    while next.cmp(end) == direction.reverse() && direction != Ordering::Equal {
        if numbers.len() == RANGE_LIMIT {
            return Err(CallError::new(format!("there would be more than {RANGE_LIMIT} numbers")));
        }
        let following = next.add(&step).ok_or_else(|| CallError::arg(2, "leads nowhere from an infinity"))?;
        numbers.push(Value::from(std::mem::replace(&mut next, following)));
    }
    Ok(Value::list(Type::Number, numbers))
}

fn reverse_type(args: &[Value]) -> Result<Type, CallError> {
    match args[0].ty() {
        Type::List(element) | Type::Set(element) => Ok(Type::List(element)),
        Type::Tuple(elements) => Ok(Type::tuple(elements.iter().rev().cloned().collect::<Vec<_>>())),
        ty => Err(CallError::arg(0, format!("must be a list, set or tuple, but is {ty}"))),
    }
}

fn reverse(args: &[Value]) -> Result<Value, CallError> {
    let ty = reverse_type(args)?;
    if matches!(args[0].kind, Kind::Set(_)) && !args[0].is_wholly_known() {
        // Unknown elements of a set may turn out to be equal to others, so not even the length is known.
        return Ok(unknown_from(ty, args).mark(args[0].marks));
    }
    Ok(sequence(&ty, items(args, 0).iter().rev().cloned().collect()).mark(args[0].marks))
}

fn slice_type(args: &[Value]) -> Result<Type, CallError> {
    let ty = args[0].ty();
    let length = match &ty {
        Type::List(_) => args[0].items().map(<[Value]>::len),
        Type::Tuple(elements) => Some(elements.len()),
        Type::Set(_) => return Err(CallError::arg(0, "is a set, whose elements have no positions")),
        ty => return Err(CallError::arg(0, format!("must be a list or tuple, but is {ty}"))),
    };
    let position = |index: usize, limit: Option<usize>| {
        if !args[index].is_known() {
            return Ok(None);
        }
        let position = whole(args, index)?;
        match (usize::try_from(position), limit) {
            (Err(_), _) => Err(CallError::arg(index, format!("must not be negative, but is {position}"))),
            (Ok(found), Some(limit)) if found > limit => {
                Err(CallError::arg(index, format!("must not be above {limit}, but is {found}")))
            }
            (Ok(found), _) => Ok(Some(found)),
        }
    };
    let end = position(2, length)?;
    let start = position(1, end.or(length))?;
    match (ty, start, end) {
        (Type::Tuple(elements), Some(start), Some(end)) => Ok(Type::tuple(&elements[start..end])),
        (Type::Tuple(_), ..) => Ok(Type::Any),
        (list, ..) => Ok(list),
    }
}

fn slice(args: &[Value]) -> Result<Value, CallError> {
    let ty = slice_type(args)?;
    let position = |index: usize| whole(args, index).map(|position| position as usize);
    let part = items(args, 0)[position(1)?..position(2)?].to_vec();
    Ok(sequence(&ty, part).mark(args[0].marks))
}

fn sort(args: &[Value]) -> Result<Value, CallError> {
    let list = items(args, 0);
    if !args[0].is_wholly_known() {
        // The length is known, but any element may come to stand anywhere.
        let anywhere = unknown_from(Type::String, args);
        return Ok(Value::list(Type::String, vec![anywhere; list.len()]));
    }
    let mut texts = strings(args, 0)?;
    texts.sort_unstable();
    Ok(Value::list(Type::String, texts.into_iter().map(Value::from).collect()))
}

/// A list or tuple, as the type says.
fn sequence(ty: &Type, elements: Vec<Value>) -> Value {
    match ty {
        Type::List(element) => Value::list(Type::clone(element), elements),
        _ => Value::tuple(elements),
    }
}
