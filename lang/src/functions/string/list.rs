//! Text from lists and lists from text.

use super::check_length;
use crate::eval::unknown_result;
use crate::functions::{CallError, args};
use crate::{Kind, Type, Value};

pub(super) fn split(args: &[Value]) -> Result<Value, CallError> {
    let (separator, text) = (args::string(args, 0), args::string(args, 1));
    let parts: Vec<Value> = if separator.is_empty() {
        text.chars().map(|c| Value::from(&*c.encode_utf8(&mut [0; 4]))).collect()
    } else {
        text.split(separator).map(Value::from).collect()
    };
    Ok(Value::list(Type::String, parts))
}

pub(super) fn join(args: &[Value]) -> Result<Value, CallError> {
    if args.len() < 2 {
        return Err(CallError::new("at least one list is needed"));
    }
    let separator = args::string(args, 0);
    let mut parts = Vec::new();
    for index in 1..args.len() {
        parts.extend(args::strings(args, index)?);
    }
    let separators = parts.len().saturating_sub(1).saturating_mul(separator.len());
    check_length(parts.iter().map(|part| part.len()).sum::<usize>().saturating_add(separators))?;
    Ok(parts.join(separator).as_str().into())
}

pub(super) fn format(args: &[Value]) -> Result<Value, CallError> {
    Ok(super::format::format(args::string(args, 0), &args[1..])?.as_str().into())
}

pub(super) fn formatlist(args: &[Value]) -> Result<Value, CallError> {
    let mut length: Option<(usize, usize)> = None;
    for (index, arg) in args.iter().enumerate().skip(1) {
        let is_list = matches!(arg.ty(), Type::List(_) | Type::Set(_) | Type::Tuple(_));
        match (arg.items(), length) {
            // Unknown elements of a set may turn out to be equal to others, so not even their number is known.
            (Some(_), _) if matches!(arg.kind, Kind::Set(_)) && !arg.is_wholly_known() => {
                return Ok(Value::unknown(Type::list(Type::String)));
            }
            (Some(items), None) => length = Some((index, items.len())),
            (Some(items), Some((first, count))) if items.len() != count => {
                return Err(CallError::arg(
                    index,
                    format!("has {} elements, but argument {first} after the text has {count}", items.len()),
                ));
            }
            (None, _) if is_list && arg.is_null() => return Err(CallError::arg(index, "must not be null")),
            (None, _) if is_list => return Ok(Value::unknown(Type::list(Type::String))),
            _ => {}
        }
    }
    let mut rows = Vec::new();
    let mut bytes = 0;
    for position in 0..length.map_or(1, |(_, count)| count) {
        let row: Vec<Value> =
            args[1..].iter().map(|arg| arg.items().map_or(arg, |items| &items[position]).clone()).collect();
        let value = if row.iter().all(Value::is_wholly_known) {
            let text = super::format::format(args::string(args, 0), &row)?;
            bytes += text.len();
            check_length(bytes)?;
            Value::from(text.as_str())
        } else {
            unknown_string(&row)
        };
        rows.push(value);
    }
    Ok(Value::list(Type::String, rows))
}

/// The string that some values will make, waiting for the first unknown of them.
fn unknown_string(values: &[Value]) -> Value {
    unknown_result(Type::String, values)
}
