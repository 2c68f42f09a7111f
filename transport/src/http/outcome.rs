//! What is known of a request once it was made.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use fleet_engine::resource::Error;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;

use super::redact::Redact;

/// How a request that changes something ended.
#[derive(Debug)]
pub enum Outcome {
    /// There was an answer.
    Answered(Answer),
    /// It certainly never arrived: it has no effect, now or later.
    NotSent(Error),
    /// It was sent and not answered: it may have had an effect, or may have one later.
    Unsettled(Error),
}

/// An answer, whatever it says.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// What the other side calls this request in its own log.
    pub request_id: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) redact: Redact,
}

/// What an answer means for whoever only asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It was done.
    Done,
    /// The other side cannot answer now; where it said so, not before so long.
    Later(Option<Duration>),
    /// It will say the same again.
    Refused,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Lost {
    /// Nothing arrived there.
    NotSent(Error),
    /// Nobody knows what arrived.
    Unanswered(Error),
}

impl Answer {
    /// What it means for whoever only asked. A write that is answered like this may have had an effect all the same.
    #[must_use]
    pub fn class(&self) -> Class {
        match self.status {
            200..=299 => Class::Done,
            408 | 425 | 429 | 500..=599 => Class::Later(self.retry_after()),
            _ => Class::Refused,
        }
    }

    /// The JSON that it holds. What cannot be read is not repeated: it may be secret.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let request = self.request();
            Error::transient(format!(
                "the answer cannot be read, from line {line}, column {column} on{request}"
            ))
        })
    }

    /// The JSON that it holds, if it says that it is JSON: what stands between us and an API answers in other forms.
    #[must_use]
    pub fn told<T: DeserializeOwned>(&self) -> Option<T> {
        let is_json = self.header("content-type").is_some_and(|is| is.starts_with("application/json"));
        if is_json { serde_json::from_slice(&self.body).ok() } else { None }
    }

    /// The text that it holds, as it is. It may be secret.
    pub fn text(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.body)
            .map_err(|_| Error::transient(format!("the answer is no text{}", self.request())))
    }

    /// What a header of it says.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        Some(self.redact.clean(self.headers.get(name)?.to_str().ok()?))
    }

    /// How people find the request in the log of the other side: words to put after a message.
    #[must_use]
    pub fn request(&self) -> String {
        self.request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default()
    }

    /// A text of the other side, fit to be repeated.
    #[must_use]
    pub fn clean(&self, text: &str) -> String {
        self.redact.clean(text)
    }

    /// How long the other side asked to be left alone. A date is not understood: who asks backs off anyway.
    fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
    }
}

/// What it holds may be secret.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { status, request_id, .. } = self;
        f.debug_struct("Answer")
            .field("status", status)
            .field("request_id", request_id)
            .finish_non_exhaustive()
    }
}

impl Lost {
    pub(super) fn of(api: &str, doing: &str, error: reqwest::Error, redact: &Redact) -> Lost {
        let because = |error| Cause(redact.clean(&cause(error).0));
        if error.is_builder() {
            return Lost::NotSent(
                Error::permanent(format!("{doing}: it cannot be asked")).because(because(error)),
            );
        }
        if error.is_connect() {
            let failed =
                Error::unreachable(format!("{doing}: {api} cannot be reached")).because(because(error));
            return Lost::NotSent(failed);
        }
        let what = if error.is_timeout() { "did not answer in time" } else { "did not answer" };
        Lost::Unanswered(Error::transient(format!("{doing}: {api} {what}")).because(because(error)))
    }
}

/// A request that cannot be made.
pub(super) fn unsent(doing: &str, why: &str) -> Lost {
    Lost::NotSent(Error::permanent(format!("{doing}: {why}")))
}

/// A cause in words, as an error: those of the client below hold addresses and whatever else.
#[derive(Debug)]
pub(super) struct Cause(String);

/// The innermost cause says what happened; those around it only say where.
pub(super) fn cause(error: reqwest::Error) -> Cause {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let is_innermost = error.source().is_none();
    Cause(if is_innermost { error.to_string() } else { cause.to_string() })
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cause {}
