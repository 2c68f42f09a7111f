//! What the vendor's errors mean: for whoever asked, and for whoever wanted to change something.
//!
//! An error is what its type *and* its status say together. A 404 of something between us and the API is not a thing
//! that is gone, and a known type with another status is nothing that anybody described.

use std::time::Duration;

use fleet_engine::finding::table;
use fleet_engine::pool::Sent;
use fleet_engine::resource::Error;
use fleet_transport::http::{Answer, Class};
use serde::Deserialize;
use serde_json::Value as Json;

/// The types of errors, with the status that each comes with.
const TYPES: [(&str, u16, Type); 13] = [
    ("invalid_arguments", 400, Type::InvalidArguments),
    ("denied_authentication", 401, Type::DeniedAuthentication),
    ("permissions_denied", 403, Type::PermissionsDenied),
    ("quotas_exceeded", 403, Type::QuotasExceeded),
    ("not_found", 404, Type::NotFound),
    ("transient_state", 409, Type::TransientState),
    ("already_exists", 409, Type::AlreadyExists),
    ("expired", 410, Type::Expired),
    ("resource_expired", 410, Type::Expired),
    ("precondition_failed", 412, Type::PreconditionFailed),
    ("locked", 423, Type::Locked),
    ("too_many_requests", 429, Type::TooManyRequests),
    ("out_of_stock", 503, Type::OutOfStock),
];

/// How long to leave a thing alone that is in the middle of something.
const BUSY: Duration = Duration::from_secs(5);

/// The most of a text that is repeated.
const LONGEST: usize = 400;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    InvalidArguments,
    DeniedAuthentication,
    PermissionsDenied,
    QuotasExceeded,
    NotFound,
    TransientState,
    AlreadyExists,
    Expired,
    PreconditionFailed,
    Locked,
    TooManyRequests,
    OutOfStock,
    /// Another, or one that something between us and the API made.
    Other,
}

/// Why something could not be read.
#[derive(Debug)]
pub(super) enum Unread {
    /// It is certainly not there.
    Gone(Error),
    /// It may be gone, or may only be hidden: this is also how the vendor answers for things that were deleted.
    Perhaps(Error),
    /// Nothing is known of it.
    Failed(Error),
}

/// Why something was not changed.
#[derive(Debug)]
pub(super) enum Unmade {
    /// What it is about is not there.
    Gone(Error),
    /// It is in the middle of something.
    Busy(Error),
    /// Something has to be so first, and it has no effect.
    NotNow(Error),
    /// It was refused, and has no effect.
    Refused(Error),
    /// Nobody knows whether it has an effect.
    Unsettled(Error),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    #[serde(rename = "type")]
    kind: String,
    message: String,
    details: Vec<Json>,
    resource: Option<String>,
    current_state: Option<String>,
    precondition: Option<String>,
    help_message: Option<String>,
    reason: Option<String>,
    reset_seconds: Option<f64>,
}

impl Type {
    fn of(kind: &str, status: u16) -> Type {
        let known = TYPES.iter().find(|(name, code, _)| *name == kind && *code == status);
        known.map_or(Type::Other, |(_, _, kind)| *kind)
    }
}

/// What an answer means to whoever asked; `Ok` if it has what was asked for.
pub(super) fn on_read(doing: &str, answer: &Answer) -> Result<(), Unread> {
    let class = answer.class();
    if class == Class::Done {
        return Ok(());
    }
    let (kind, error) = explain(doing, answer);
    Err(match (kind, class) {
        (Type::NotFound, _) => Unread::Gone(error),
        (Type::PermissionsDenied | Type::Expired, _) => Unread::Perhaps(error),
        (_, Class::Later(_)) => Unread::Failed(patient(error)),
        _ => Unread::Failed(error),
    })
}

/// What an answer means to whoever wanted to change something; `Ok` if it was taken.
pub(super) fn on_write(doing: &str, answer: &Answer) -> Result<(), Unmade> {
    let class = answer.class();
    if class == Class::Done {
        return Ok(());
    }
    let (kind, error) = explain(doing, answer);
    Err(match (kind, class) {
        (Type::NotFound, _) => Unmade::Gone(error),
        (Type::TransientState, _) => Unmade::Busy(patient(error).after(BUSY)),
        (Type::PreconditionFailed, _) => Unmade::NotNow(error),
        // Who failed in the middle does not say how far it came; only a 429 of any form was turned away at the door.
        (Type::Other, Class::Later(_)) if answer.status != 429 => Unmade::Unsettled(error),
        _ => Unmade::Refused(error),
    })
}

/// The error in words, and what to do about it.
fn explain(doing: &str, answer: &Answer) -> (Type, Error) {
    let body: Body = answer.told().unwrap_or_default();
    let kind = Type::of(&body.kind, answer.status);
    let said = answer.clean(&body.words());
    let said = if said.is_empty() { format!("it answered {}", answer.status) } else { said };
    let message = format!("{doing}: {said}{}", answer.request());
    let error = match kind {
        Type::DeniedAuthentication => Error::permanent(message)
            .known(&table::EXPIRED_CREDENTIAL)
            .help("check `secret_key` of the provider, or `SCW_SECRET_KEY`: nobody has this key, or it expired"),
        Type::PermissionsDenied => Error::permanent(message)
            .help("it may be gone; otherwise check the permissions of the key, and that `project_id` is its project"),
        Type::QuotasExceeded => Error::permanent(message).help("ask the vendor for a higher quota, or use fewer"),
        Type::Locked => Error::permanent(message).help("the vendor locked it: ask its support why"),
        Type::OutOfStock => Error::permanent(message).help("try later, or use another type or zone"),
        Type::TransientState => Error::permanent(message).help("wait until it is done with what it is doing"),
        Type::AlreadyExists => Error::permanent(message).help("import what is there, or choose another name"),
        Type::TooManyRequests => {
            let asked = body.reset_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            later(message, answer, asked)
        }
        Type::InvalidArguments | Type::NotFound | Type::Expired | Type::PreconditionFailed => {
            Error::permanent(message)
        }
        Type::Other => match answer.class() {
            Class::Later(_) => later(message, answer, None),
            _ => Error::permanent(message).help("check `api_url` of the provider"),
        },
    };
    (kind, error)
}

/// The same, but trying again may help.
fn patient(mut error: Error) -> Error {
    error.transient = true;
    error
}

/// Something that can be tried later.
fn later(message: String, answer: &Answer, asked: Option<Duration>) -> Error {
    let header = match answer.class() {
        Class::Later(after) => after,
        Class::Done | Class::Refused => None,
    };
    header.max(asked).into_iter().fold(Error::transient(message), Error::after)
}

impl Body {
    /// What the vendor says, in one line.
    fn words(&self) -> String {
        let text = |json: &Json, name: &str| json[name].as_str().map(str::to_owned);
        let detail = |json: &Json| {
            let what = text(json, "argument_name").or_else(|| text(json, "resource"))?;
            let rest = ["help_message", "reason", "action"].iter().find_map(|name| text(json, name));
            Some(rest.map_or(what.clone(), |rest| format!("{what}: {rest}")))
        };
        let details = self.details.iter().filter_map(detail);
        let named =
            [&self.resource, &self.current_state, &self.precondition, &self.help_message, &self.reason];
        let more: Vec<String> = details.chain(named.into_iter().flatten().cloned()).collect();
        let kind = if self.kind.is_empty() { String::new() } else { format!(" [{}]", self.kind) };
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
        let words = format!("{}{more}{kind}", self.message);
        words.trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect()
    }
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Error {
        match unread {
            Unread::Gone(error) | Unread::Perhaps(error) | Unread::Failed(error) => error,
        }
    }
}

/// For kinds: the engine looks again before it does anything else there, so what is unsettled can be tried again.
impl From<Unmade> for Error {
    fn from(unmade: Unmade) -> Error {
        match unmade {
            Unmade::Gone(error)
            | Unmade::Busy(error)
            | Unmade::NotNow(error)
            | Unmade::Refused(error)
            | Unmade::Unsettled(error) => error,
        }
    }
}

impl From<Unmade> for Sent {
    fn from(unmade: Unmade) -> Sent {
        match unmade {
            Unmade::Gone(_) => Sent::Gone,
            Unmade::Busy(error) => Sent::Busy(error),
            Unmade::NotNow(error) | Unmade::Refused(error) => Sent::Refused(error),
            Unmade::Unsettled(error) => Sent::Unsettled(error),
        }
    }
}
