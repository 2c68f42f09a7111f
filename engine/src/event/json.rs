//! How the parts of events are written in JSON.

use std::fmt::Display;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::plan::Action;
use crate::state::Object;

pub(super) fn in_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(in_millis(*duration))
}

pub(super) fn display<S: Serializer>(name: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

pub(super) fn action<S: Serializer>(action: &Action, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(action.word())
}

/// `address`, and `deposed` for an older object.
pub(super) fn object<S: Serializer>(object: &Object, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Named<'a> {
        #[serde(serialize_with = "display")]
        address: &'a crate::address::Address,
        #[serde(skip_serializing_if = "Option::is_none")]
        deposed: Option<u32>,
    }
    Named { address: &object.address, deposed: object.deposed }.serialize(serializer)
}
