//! Which of the hosts in the state somebody means.

use std::collections::BTreeSet;

use fleet_engine::address::{Address, Item, ScopePath};
use fleet_engine::diff::get;
use fleet_engine::state::State;
use fleet_syntax::nearest;

use crate::Failure;

/// The address of a host that is recorded, by its slot, its name or its machine.
pub(super) fn recorded(state: &State, text: &str) -> Result<Address, Failure> {
    let hosts = state.recorded.iter().filter(|(address, _)| address.item == Item::Host);
    let names = hosts.flat_map(|(address, record)| {
        let name = get(&record.value, "name").as_str().map(str::to_owned);
        let machine = record.session.alias.as_deref().map(str::to_owned);
        [name, machine].into_iter().flatten().map(move |name| (name, address))
    });
    one(text, &names.collect::<Vec<_>>(), state.recorded.keys().filter(|address| address.item == Item::Host))
}

/// The address of a host that is set apart, by its slot, its name or its machine.
pub(super) fn set_apart(state: &State, text: &str) -> Result<Address, Failure> {
    let names = state.marks.iter().flat_map(|(host, mark)| {
        let record = state.recorded.get(host);
        let name = record.and_then(|record| get(&record.value, "name").as_str().map(str::to_owned));
        let machine = mark.machine.as_deref().map(str::to_owned);
        [name, machine].into_iter().flatten().map(move |name| (name, host))
    });
    one(text, &names.collect::<Vec<_>>(), state.marks.keys())
}

fn one<'a>(
    text: &str,
    names: &[(String, &'a Address)],
    hosts: impl Iterator<Item = &'a Address>,
) -> Result<Address, Failure> {
    let hosts: BTreeSet<&Address> = hosts.collect();
    let slot = ScopePath::slot_named(text);
    let by_slot = hosts.iter().find(|host| Some(&host.scope) == slot.as_ref() || host.to_string() == text);
    if let Some(host) = by_slot {
        return Ok((*host).clone());
    }
    let meant: BTreeSet<&Address> =
        names.iter().filter(|(name, _)| name == text).map(|(_, at)| *at).collect();
    let mut meant = meant.into_iter();
    match (meant.next(), meant.next()) {
        (Some(host), None) => Ok(host.clone()),
        (Some(first), Some(second)) => {
            let failure = Failure::new(format!(
                "`{text}` may be {} or {}; nothing was done",
                first.scope, second.scope
            ));
            Err(failure.help("name the slot"))
        }
        (None, _) => {
            let failure = Failure::new(format!("no such host in the state: `{text}`; nothing was done"));
            let slots: Vec<String> = hosts.iter().map(|host| host.scope.to_string()).collect();
            let known = names.iter().map(|(name, _)| name.as_str()).chain(slots.iter().map(String::as_str));
            Err(match nearest(text, known) {
                Some(near) => failure.help(format!("did you mean `{near}`?")),
                None => failure.help("`fleet host list` names all of them"),
            })
        }
    }
}
