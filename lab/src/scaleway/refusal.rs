//! Every error that the vendor's APIs have a type for, with its status and the shape of its body.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Answer;
use crate::clock::Time;

/// The `type` in the body of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    /// 400: something in the request is missing or not as it must be.
    InvalidArguments,
    /// 401: nobody has this key.
    DeniedAuthentication,
    /// 403: the key may not do this, or the thing is gone.
    PermissionsDenied,
    /// 403: there may not be more of these.
    QuotasExceeded,
    /// 404: there is no such thing.
    NotFound,
    /// 409: it is in the middle of something.
    TransientState,
    /// 409: it is there already.
    AlreadyExists,
    /// 410, as one SDK spells it.
    Expired,
    /// 410, as the other SDK spells it.
    ResourceExpired,
    /// 412: not now, and not like this.
    PreconditionFailed,
    /// 423: locked by the vendor.
    Locked,
    /// 429: too much at once.
    TooManyRequests,
    /// 503: there is none left.
    OutOfStock,
}

impl ErrorType {
    /// All of them.
    pub const ALL: [ErrorType; 13] = [
        ErrorType::InvalidArguments,
        ErrorType::DeniedAuthentication,
        ErrorType::PermissionsDenied,
        ErrorType::QuotasExceeded,
        ErrorType::NotFound,
        ErrorType::TransientState,
        ErrorType::AlreadyExists,
        ErrorType::Expired,
        ErrorType::ResourceExpired,
        ErrorType::PreconditionFailed,
        ErrorType::Locked,
        ErrorType::TooManyRequests,
        ErrorType::OutOfStock,
    ];

    /// The HTTP status it comes with.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            ErrorType::InvalidArguments => 400,
            ErrorType::DeniedAuthentication => 401,
            ErrorType::PermissionsDenied | ErrorType::QuotasExceeded => 403,
            ErrorType::NotFound => 404,
            ErrorType::TransientState | ErrorType::AlreadyExists => 409,
            ErrorType::Expired | ErrorType::ResourceExpired => 410,
            ErrorType::PreconditionFailed => 412,
            ErrorType::Locked => 423,
            ErrorType::TooManyRequests => 429,
            ErrorType::OutOfStock => 503,
        }
    }

    /// As it stands in a body.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ErrorType::InvalidArguments => "invalid_arguments",
            ErrorType::DeniedAuthentication => "denied_authentication",
            ErrorType::PermissionsDenied => "permissions_denied",
            ErrorType::QuotasExceeded => "quotas_exceeded",
            ErrorType::NotFound => "not_found",
            ErrorType::TransientState => "transient_state",
            ErrorType::AlreadyExists => "already_exists",
            ErrorType::Expired => "expired",
            ErrorType::ResourceExpired => "resource_expired",
            ErrorType::PreconditionFailed => "precondition_failed",
            ErrorType::Locked => "locked",
            ErrorType::TooManyRequests => "too_many_requests",
            ErrorType::OutOfStock => "out_of_stock",
        }
    }
}

/// A request that was refused.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    kind: ErrorType,
    message: String,
    extra: Value,
}

/// One argument that is not as it must be.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Argument {
    pub(crate) argument_name: String,
    pub(crate) reason: &'static str,
    pub(crate) help_message: String,
}

/// A limit on requests, and when it is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) quota: u32,
    pub(crate) window_seconds: u64,
    pub(crate) reset_seconds: u64,
    pub(crate) reset_at: Time,
}

impl Refusal {
    fn new(kind: ErrorType, message: impl Into<String>, extra: Value) -> Refusal {
        Refusal { kind, message: message.into(), extra }
    }

    pub(crate) fn kind(&self) -> ErrorType {
        self.kind
    }

    pub(crate) fn arguments(details: &[Argument]) -> Refusal {
        Refusal::new(ErrorType::InvalidArguments, "invalid argument(s)", json!({ "details": details }))
    }

    pub(crate) fn argument(name: &str, reason: &'static str, help: &str) -> Refusal {
        Refusal::arguments(&[Argument {
            argument_name: name.to_owned(),
            reason,
            help_message: help.to_owned(),
        }])
    }

    pub(crate) fn authentication(reason: &str) -> Refusal {
        let extra = json!({ "method": "api_key", "reason": reason });
        Refusal::new(ErrorType::DeniedAuthentication, "authentication is denied", extra)
    }

    pub(crate) fn permissions(resource: &str, action: &str) -> Refusal {
        let extra = json!({ "details": [{ "resource": resource, "action": action }] });
        Refusal::new(ErrorType::PermissionsDenied, "insufficient permissions", extra)
    }

    pub(crate) fn quota(resource: &str, quota: u32, current: usize, project: &str) -> Refusal {
        let details = json!([{
            "resource": resource, "quota": quota, "current": current, "project_id": project,
        }]);
        Refusal::new(ErrorType::QuotasExceeded, "quota(s) exceeded", json!({ "details": details }))
    }

    pub(crate) fn not_found(resource: &str, id: &str) -> Refusal {
        Refusal::new(ErrorType::NotFound, "resource is not found", about(resource, id))
    }

    pub(crate) fn transient(resource: &str, id: &str, state: &str) -> Refusal {
        let mut extra = about(resource, id);
        extra["current_state"] = state.into();
        Refusal::new(ErrorType::TransientState, "resource is in a transient state", extra)
    }

    pub(crate) fn precondition(precondition: &str, help: &str) -> Refusal {
        let extra = json!({ "precondition": precondition, "help_message": help });
        Refusal::new(ErrorType::PreconditionFailed, "precondition failed", extra)
    }

    pub(crate) fn locked(resource: &str, id: &str) -> Refusal {
        Refusal::new(ErrorType::Locked, "resource is locked", about(resource, id))
    }

    pub(crate) fn too_many(limit: Limit) -> Refusal {
        let extra = json!({
            "help_message": "wait before the next request",
            "limit": { "quota": limit.quota, "window_seconds": limit.window_seconds },
            "reset_seconds": limit.reset_seconds,
            "reset_at": limit.reset_at,
        });
        Refusal::new(ErrorType::TooManyRequests, "too many requests", extra)
    }

    pub(crate) fn out_of_stock(resource: &str) -> Refusal {
        Refusal::new(ErrorType::OutOfStock, "resource is out of stock", json!({ "resource": resource }))
    }

    /// An error of a type as the vendor would give it for a thing, whatever the thing is really like.
    pub(crate) fn sample(kind: ErrorType, resource: &str, id: &str, now: Time) -> Refusal {
        match kind {
            ErrorType::InvalidArguments => Refusal::argument("name", "constraint", "refused on purpose"),
            ErrorType::DeniedAuthentication => Refusal::authentication("expired"),
            ErrorType::PermissionsDenied => Refusal::permissions(resource, "read"),
            ErrorType::QuotasExceeded => Refusal::quota(resource, 1, 1, ""),
            ErrorType::NotFound => Refusal::not_found(resource, id),
            ErrorType::TransientState => Refusal::transient(resource, id, "busy"),
            ErrorType::AlreadyExists => {
                let mut extra = about(resource, id);
                extra["help_message"] = "refused on purpose".into();
                Refusal::new(kind, "resource already exists", extra)
            }
            ErrorType::Expired | ErrorType::ResourceExpired => {
                let mut extra = about(resource, id);
                extra["expired_since"] = now.to_string().into();
                Refusal::new(kind, "resource is expired", extra)
            }
            ErrorType::PreconditionFailed => {
                Refusal::precondition("resource_not_usable", "refused on purpose")
            }
            ErrorType::Locked => Refusal::locked(resource, id),
            ErrorType::TooManyRequests => {
                let window = std::time::Duration::from_secs(1);
                let reset_at = now.after(window);
                Refusal::too_many(Limit { quota: 1, window_seconds: 1, reset_seconds: 1, reset_at })
            }
            ErrorType::OutOfStock => Refusal::out_of_stock(resource),
        }
    }

    pub(crate) fn answer(&self) -> Answer {
        let mut body = Map::new();
        body.insert("type".to_owned(), self.kind.name().into());
        body.insert("message".to_owned(), self.message.clone().into());
        if let Value::Object(extra) = &self.extra {
            body.extend(extra.clone());
        }
        Answer::json(self.kind.status(), Value::Object(body))
    }
}

fn about(resource: &str, id: &str) -> Value {
    json!({ "resource": resource, "resource_id": id })
}
