//! Functions over points in time.

mod duration;
mod layout;
pub(super) mod timestamp;

use time::Duration;

use self::timestamp::Timestamp;
use super::{Body, CallError, Function, Group, Param, ParamType, Returns, args};
use crate::{Type, Value};

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "formatdate",
        group: Group::DateTime,
        doc: "A timestamp in a layout of your own.\n\nRuns of letters stand for its parts: `YYYY` or `YY` the year, \
              `MMMM`, `MMM`, `MM` or `M` the month, `DD` or `D` the day, `EEEE` or `EEE` the day of the week, `hh` or \
              `h` the hour of 24, `HH` or `H` the hour of 12 with `AA` or `aa` for the half of the day, `mm` or `m` \
              the minute, `ss` or `s` the second, `ZZZZZ`, `ZZZZ`, `ZZZ` or `Z` the offset from UTC. Everything else \
              stands for itself, letters if they are in single quotes; two single quotes are one.",
        examples: &[
            ("formatdate(\"DD MMM YYYY hh:mm ZZZ\", \"2018-01-02T23:12:01Z\")", "\"02 Jan 2018 23:12 UTC\""),
            (
                "formatdate(\"EEEE, HH 'o''clock' aa\", \"2018-01-02T23:12:01Z\")",
                "\"Tuesday, 11 o'clock pm\"",
            ),
        ],
        params: &[Param::new("layout", ParamType::String), Param::new("timestamp", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(formatdate),
    },
    Function {
        name: "plantimestamp",
        group: Group::DateTime,
        doc: "The time at which the plan was made, the same at every call and when the plan is applied. Outside of a \
              plan it is not known.",
        examples: &[("plantimestamp()", "(known after apply)")],
        params: &[],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, _| moment(outside.planned())),
    },
    Function {
        name: "timeadd",
        group: Group::DateTime,
        doc: "A timestamp plus a duration such as `1h30m` or `-1.5s`; the units are `ns`, `us`, `ms`, `s`, `m` and \
              `h`. Fractions of seconds of the result are cut off.",
        examples: &[
            ("timeadd(\"2017-11-22T00:00:00Z\", \"10m\")", "\"2017-11-22T00:10:00Z\""),
            ("timeadd(\"2017-11-22T00:00:00+01:00\", \"-1.5h\")", "\"2017-11-21T22:30:00+01:00\""),
        ],
        params: &[Param::new("timestamp", ParamType::String), Param::new("duration", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(timeadd),
    },
    Function {
        name: "timecmp",
        group: Group::DateTime,
        doc: "-1, 0 or 1: whether the first of two timestamps is before, at or after the second. Offsets are taken \
              into account.",
        examples: &[
            ("timecmp(\"2017-11-22T00:00:00Z\", \"2017-11-22T01:00:00Z\")", "-1"),
            ("timecmp(\"2017-11-22T01:00:00Z\", \"2017-11-22T00:00:00-01:00\")", "0"),
        ],
        params: &[Param::new("a", ParamType::String), Param::new("b", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(timecmp),
    },
    Function {
        name: "timestamp",
        group: Group::DateTime,
        doc: "The current time in UTC. It is not known before the plan is applied; prefer `plantimestamp`, which does \
              not change what is planned at every run.",
        examples: &[("can(formatdate(\"YYYY\", timestamp()))", "true")],
        params: &[],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, _| moment(outside.fickle().then(|| outside.now()))),
    },
];

/// The timestamp argument at a position.
fn timestamp(args: &[Value], index: usize) -> Result<Timestamp, CallError> {
    Timestamp::parse(args::string(args, index)).map_err(|problem| CallError::arg(index, problem))
}

/// A time as a string, unknown if it is not settled.
fn moment(nanoseconds: Option<i128>) -> Result<Value, CallError> {
    let Some(nanoseconds) = nanoseconds else { return Ok(Value::unknown(Type::String)) };
    match Timestamp::from_nanoseconds(nanoseconds) {
        Some(timestamp) => Ok(Value::from(timestamp.to_string().as_str())),
        None => Err(CallError::new("the clock is set to a year that cannot be written")),
    }
}

fn formatdate(args: &[Value]) -> Result<Value, CallError> {
    let text = layout::format(args::string(args, 0), &timestamp(args, 1)?);
    text.map(|text| Value::from(text.as_str())).map_err(|problem| CallError::arg(0, problem))
}

fn timeadd(args: &[Value]) -> Result<Value, CallError> {
    let nanoseconds = duration::parse(args::string(args, 1)).map_err(|problem| CallError::arg(1, problem))?;
    match timestamp(args, 0)?.0.checked_add(Duration::nanoseconds(nanoseconds)) {
        Some(sum) => Ok(Value::from(Timestamp(sum).to_string().as_str())),
        None => Err(CallError::new("the result is beyond the year 9999")),
    }
}

fn timecmp(args: &[Value]) -> Result<Value, CallError> {
    let order = timestamp(args, 0)?.0.cmp(&timestamp(args, 1)?.0);
    Ok((order as i64).into())
}
