//! Hosts that somebody set apart: they are left out, as if excluded, and the plan says why.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Goal, LeftOut, Options, Plan};
use crate::address::{Address, ScopePath, Target};
use crate::state::{Apart, Mark, Object, State};

/// The slots that are left out of a plan, and why.
pub(super) type SetApart = BTreeMap<ScopePath, Arc<str>>;

/// The hosts that stay out of a plan for this goal. A pause never keeps a host from being given back; a quarantine does.
pub(super) fn set_apart(state: &State, goal: Goal) -> SetApart {
    let is_out = |host: &Address, mark: &Mark| {
        let is_there = state.recorded.contains_key(host)
            || state.deposed.contains_key(host)
            || state.intents.contains_key(&Object::current(host.clone()));
        is_there && (goal != Goal::Destroy || mark.apart == Apart::Quarantined)
    };
    let out = state.marks.iter().filter(|(host, mark)| is_out(host, mark));
    out.map(|(host, mark)| (host.scope.clone(), told(mark).into())).collect()
}

/// The same options without those hosts.
pub(super) fn without<'o>(options: Cow<'o, Options>, apart: &SetApart) -> Cow<'o, Options> {
    if apart.is_empty() {
        return options;
    }
    let mut options = options.into_owned();
    let slots = apart.keys().map(|slot| Target { scope: slot.clone(), item: None, key: None });
    options.excludes.extend(slots);
    Cow::Owned(options)
}

/// Says of what is left out that somebody set its host apart.
pub(super) fn explain(plan: &mut Plan, apart: &SetApart) {
    for (target, why) in &mut plan.left_out {
        let how = target.scope.slot().and_then(|slot| apart.get(&slot));
        if let (LeftOut::Excluded, Some(how)) = (&*why, how) {
            *why = LeftOut::Apart(how.clone());
        }
    }
}

/// How a host is set apart, in words.
fn told(mark: &Mark) -> String {
    let Mark { apart, by, since, reason, .. } = mark;
    let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{} by {by} since {since}{reason}", apart.word())
}
