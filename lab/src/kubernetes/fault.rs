//! What goes wrong on purpose with requests to the API server.

use super::refusal::{Cause, Refusal};
use super::route::Call;

/// Some requests go wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What is asked, as permissions call it; anything if this is none.
    pub verb: Option<String>,
    /// The plural of the kind; all kinds if this is none.
    pub resource: Option<String>,
    /// Whether it is one that only asks what would be; all if this is none.
    pub dry_run: Option<bool>,
    /// How many of them go well first.
    pub skip: u32,
    /// How many of them go wrong then; all of them if this is none.
    pub times: Option<u32>,
    /// How.
    pub wrong: Wrong,
}

/// How a request goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// 401: the token is good no more.
    Unauthorized,
    /// 400: a webhook of this name cannot say what it would do.
    NoDryRun(String),
    /// 403: admission does not let it in, and says this.
    NotAdmitted(String),
    /// 409: somebody else was faster.
    Conflict,
    /// 410: what is asked for is forgotten.
    Expired,
    /// 422: this field cannot be so.
    Invalid(String),
    /// 429: not before so many seconds.
    TooMany(u64),
    /// 500.
    Internal,
    /// Somebody removes the object just before the request comes.
    Removed,
    /// The connection ends before it has an effect.
    CutBefore,
    /// It has its effect, and then the connection ends.
    CutAfter,
}

impl Fault {
    /// The next request goes wrong.
    #[must_use]
    pub fn new(wrong: Wrong) -> Fault {
        Fault { verb: None, resource: None, dry_run: Some(false), skip: 0, times: Some(1), wrong }
    }

    /// Of one verb, on one kind.
    #[must_use]
    pub fn on(mut self, verb: &str, resource: &str) -> Fault {
        self.verb = Some(verb.to_owned());
        self.resource = Some(resource.to_owned());
        self
    }

    /// Those that only ask what would be, and no others.
    #[must_use]
    pub fn rehearsed(mut self) -> Fault {
        self.dry_run = Some(true);
        self
    }

    /// So many of them.
    #[must_use]
    pub fn times(mut self, times: u32) -> Fault {
        self.times = Some(times);
        self
    }

    /// All of them from now on.
    #[must_use]
    pub fn always(mut self) -> Fault {
        self.times = None;
        self
    }

    fn is_for(&self, call: &Call) -> bool {
        self.verb.as_deref().is_none_or(|verb| verb == call.verb)
            && self.resource.as_deref().is_none_or(|resource| resource == call.kind.plural)
            && self.dry_run.is_none_or(|dry_run| dry_run == call.is_dry_run())
    }
}

/// All faults that are set, with how many requests met each.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<(Fault, u32)>);

impl Faults {
    pub(super) fn set(&mut self, fault: Fault) {
        self.0.push((fault, 0));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// What goes wrong with a request: as the first fault says that is for it.
    pub(super) fn strike(&mut self, call: &Call) -> Option<Wrong> {
        let mut struck = None;
        for (fault, met) in self.0.iter_mut().filter(|(fault, _)| fault.is_for(call)) {
            *met += 1;
            let number = met.saturating_sub(fault.skip);
            let is_due = number > 0 && fault.times.is_none_or(|times| number <= times);
            if is_due && struck.is_none() {
                struck = Some(fault.wrong.clone());
            }
        }
        struck
    }
}

impl Wrong {
    /// What is answered; nothing if the connection ends instead.
    pub(super) fn refusal(&self, call: &Call) -> Option<Refusal> {
        let (kind, name) = (call.kind, &*call.name);
        Some(match self {
            Wrong::Unauthorized => Refusal::unauthorized(),
            Wrong::NotAdmitted(why) => Refusal::not_admitted(kind, name, why),
            Wrong::NoDryRun(webhook) => {
                Refusal::bad_request(format!("admission webhook \"{webhook}\" does not support dry run"))
            }
            Wrong::Conflict => Refusal::outdated(kind, name),
            Wrong::Expired => Refusal::expired("The resourceVersion for the provided list is too old."),
            Wrong::Invalid(field) => Refusal::invalid(kind, name, &[Cause::required(field)]),
            Wrong::TooMany(seconds) => {
                Refusal::too_many("the server has received too many requests", *seconds)
            }
            Wrong::Internal => Refusal::internal("the lab breaks on purpose"),
            Wrong::Removed | Wrong::CutBefore | Wrong::CutAfter => return None,
        })
    }
}
