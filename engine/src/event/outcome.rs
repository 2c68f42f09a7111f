//! How one step ended.

use serde::{Serialize, Serializer};

use crate::address::Address;

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done, read back and recorded.
    Done,
    /// It failed.
    Failed(Failure),
    /// It was not tried, because this one had not been done.
    Skipped(Address),
    /// The run was stopped before it began.
    NotStarted,
    /// It was begun and nobody knows how it ended: this is why. The next run will look.
    Unknown(String),
}

/// Why a step failed, and what it left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened, with all causes, on one line, in lower case and without a full stop.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
    /// What was done nevertheless.
    pub effect: Effect,
}

/// What a failed step did to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing.
    None,
    /// It was tried; the next plan will see what came of it.
    Perhaps,
    /// It was done, but what is there now is not what was declared.
    Other,
}

impl Outcome {
    /// How much it takes to go on from here: who does not know what was done has to look.
    #[must_use]
    pub fn gravity(&self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::NotStarted => 1,
            Outcome::Skipped(_) => 2,
            Outcome::Failed(_) => 3,
            Outcome::Unknown(_) => 4,
        }
    }

    /// The word for it, as JSON has it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed(_) => "failed",
            Outcome::Skipped(_) => "skipped",
            Outcome::NotStarted => "not_started",
            Outcome::Unknown(_) => "unknown",
        }
    }
}

impl Failure {
    /// A failure before anything was touched.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), help: None, effect: Effect::None }
    }

    /// Says what it did nevertheless.
    #[must_use]
    pub fn effect(self, effect: Effect) -> Failure {
        Failure { effect, ..self }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Failure {
        Failure { help: Some(help.into()), ..self }
    }
}

impl Effect {
    /// What people are told.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Effect::None => "Nothing was changed.",
            Effect::Perhaps => "It may have been changed; the next plan will look.",
            Effect::Other => "It was changed, but is not as declared.",
        }
    }
}

/// All outcomes have the same few fields, so that a reader of the stream needs no cases.
#[derive(Serialize)]
struct Flat<'a> {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<Effect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut flat = Flat { outcome: self.word(), message: None, help: None, effect: None, because: None };
        match self {
            Outcome::Done | Outcome::NotStarted => {}
            Outcome::Failed(failure) => {
                flat.message = Some(&failure.message);
                flat.help = failure.help.as_deref();
                flat.effect = Some(failure.effect);
            }
            Outcome::Skipped(because) => flat.because = Some(because.to_string()),
            Outcome::Unknown(why) => flat.message = Some(why),
        }
        flat.serialize(serializer)
    }
}
