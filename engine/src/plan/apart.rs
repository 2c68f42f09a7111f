//! Hosts that somebody set apart: they are left out, as if excluded, and the plan says why.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Goal, LeftOut, Options, Plan};
use crate::address::{Address, Item, ScopePath, Target};
use crate::provider::Session;
use crate::state::{Apart, Mark, Object, State};

/// The slots that are left out of a plan, and why.
pub(super) type SetApart = BTreeMap<ScopePath, Arc<str>>;

/// The hosts that stay out of a plan. A pause never keeps a host from being given back; a quarantine does. A quarantine is one of
/// a machine: a slot that gets another one, or has it by now, goes on with that.
pub(super) fn set_apart(state: &State, options: &Options) -> SetApart {
    let is_out = |host: &Address, mark: &Mark| {
        let is_there = state.recorded.contains_key(host)
            || state.deposed.contains_key(host)
            || state.intents.contains_key(&Object::current(host.clone()));
        let current = state.recorded.get(host).and_then(|record| record.session.alias.as_ref());
        let has_another = match (current, &mark.machine) {
            (Some(current), Some(machine)) => current != machine,
            _ => false,
        };
        let gets_another = options.replace.iter().any(|target| target.covers(host));
        let goes_on = mark.apart == Apart::Quarantined && (has_another || gets_another);
        is_there && !goes_on && (options.goal != Goal::Destroy || mark.apart == Apart::Quarantined)
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

/// Whether a session leads to a machine that is quarantined: nothing there is looked at or removed, whatever took its place.
pub(crate) fn is_quarantined(state: &State, session: &Session) -> bool {
    let mark = state.marks.get(&Address::host_of(session.scope.clone())).filter(|_| session.is_on_host());
    mark.is_some_and(|mark| mark.apart == Apart::Quarantined && mark.machine == session.alias)
}

/// What is said of machines that were given up by their slots, and stay as they are.
pub(super) fn left_as_they_are(state: &State) -> Vec<String> {
    let hosts = state.deposed.iter().filter(|(address, _)| address.item == Item::Host);
    let older = hosts.flat_map(|(address, older)| older.values().map(move |record| (address, record)));
    let told =
        older.filter(|(_, record)| is_quarantined(state, &record.session)).filter_map(|(host, record)| {
            let machine = record.session.alias.as_deref()?;
            Some(format!(
                "`{machine}`, which {} had, stays as it is: {}.",
                host.scope,
                told(state.marks.get(host)?)
            ))
        });
    told.collect()
}

/// How a host is set apart, in words.
fn told(mark: &Mark) -> String {
    let Mark { apart, by, since, reason, .. } = mark;
    let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{} by {by} since {since}{reason}", apart.word())
}
