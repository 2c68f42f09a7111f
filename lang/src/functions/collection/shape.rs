//! Functions that change how elements are grouped, and the one that counts them.

use unicode_segmentation::UnicodeSegmentation;

use super::super::args::{count, items};
use super::super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use super::{check_size, element_type};
use crate::eval::{unknown_from, unknown_result};
use crate::{Kind, Marks, Type, Value};

pub(in super::super) const TABLE: &[Function] = &[
    Function {
        name: "chunklist",
        group: Group::Collection,
        doc: "Cuts a list into lists of a length; the last one may be shorter. With a length of 0 there is no cut.",
        examples: &[(
            "chunklist([\"a\", \"b\", \"c\"], 2)",
            "tolist([\n  tolist([\n    \"a\",\n    \"b\",\n  ]),\n  tolist([\n    \"c\",\n  ]),\n])",
        )],
        params: &[
            Param::new("list", ParamType::List(&ParamType::Any)).marked(),
            Param::new("size", ParamType::Number),
        ],
        variadic: None,
        returns: Returns::Depends(|args| Ok(Type::list(args[0].ty()))),
        body: Body::Pure(chunklist),
    },
    Function {
        name: "flatten",
        group: Group::Collection,
        doc: "Replaces every list, set and tuple within a list by its elements, however deep. The result is a tuple.",
        examples: &[("flatten([[\"a\", [\"b\"]], [], \"c\"])", "[\n  \"a\",\n  \"b\",\n  \"c\",\n]")],
        params: &[Param::new("list", ParamType::Any).marked()],
        variadic: None,
        returns: Returns::Depends(flatten_type),
        body: Body::Pure(flatten),
    },
    Function {
        name: "length",
        group: Group::Collection,
        doc: "Counts the elements of a list, map or their like, or the characters of a string as people see them.",
        examples: &[("length([\"a\", \"b\"])", "2"), ("length(\"héllo\")", "5"), ("length({ a = 1 })", "1")],
        params: &[Param::new("value", ParamType::Any).unknown().untyped().marked()],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(length),
    },
];

fn chunklist(args: &[Value]) -> Result<Value, CallError> {
    let (list, size) = (items(args, 0), count(args, 1)?);
    let ty = args[0].ty();
    let element = element_type(&ty).cloned().unwrap_or(Type::Any);
    let chunks = list
        .chunks(if size == 0 { list.len().max(1) } else { size })
        .map(|chunk| Value::list(element.clone(), chunk.to_vec()))
        .collect();
    Ok(Value::list(ty, chunks).mark(args[0].marks))
}

fn flatten_type(args: &[Value]) -> Result<Type, CallError> {
    match args[0].ty() {
        Type::List(_) | Type::Set(_) | Type::Tuple(_) => Ok(Type::Any),
        ty => Err(CallError::arg(0, format!("must be a list, set or tuple, but is {ty}"))),
    }
}

fn flatten(args: &[Value]) -> Result<Value, CallError> {
    flatten_type(args)?;
    let mut marks = Marks::NONE;
    let mut unknown = false;
    let mut flat = Vec::new();
    // What is still to be taken apart, the next element last.
    let mut ahead = vec![&args[0]];
    while let Some(value) = ahead.pop() {
        match (&value.kind, value.items()) {
            (Kind::Set(_), _) if !value.is_wholly_known() => unknown = true,
            (_, Some(items)) => {
                marks |= value.marks;
                ahead.extend(items.iter().rev());
                check_size(Some(flat.len() + ahead.len()))?;
            }
            (Kind::Unknown(of), _)
                if matches!(of.ty, Type::Any | Type::List(_) | Type::Set(_) | Type::Tuple(_)) =>
            {
                unknown = true;
            }
            _ => flat.push(value.clone()),
        }
    }
    if unknown {
        return Ok(unknown_from(Type::Any, args).mark(args[0].marks_deep()));
    }
    Ok(Value::tuple(flat).mark(marks))
}

fn length(args: &[Value]) -> Result<Value, CallError> {
    let value = &args[0];
    let count = match (&value.kind, value.ty()) {
        (Kind::Set(_), _) if !value.is_wholly_known() => None,
        (_, Type::Tuple(elements)) => Some(elements.len()),
        (_, Type::Object(object)) => Some(object.attributes.len()),
        (Kind::String(text), _) => Some(text.graphemes(true).count()),
        (_, Type::Bool | Type::Number) => {
            let message = format!("must be a string, list, map or their like, but is {}", value.ty());
            return Err(CallError::arg(0, message));
        }
        (Kind::Unknown(_), _) => None,
        _ => value.items().map(<[Value]>::len).or(value.entries().map(|entries| entries.len())),
    };
    let count = count.map(|count| i64::try_from(count).expect("no collection is that long"));
    Ok(count.map_or_else(|| unknown_result(Type::Number, args), Value::from).mark(value.marks))
}
