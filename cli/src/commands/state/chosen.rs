//! Which of the things in the state somebody means.

use std::collections::BTreeSet;

use fleet_engine::address::{Address, Target};
use fleet_engine::state::{Object, State};
use fleet_syntax::nearest;

use crate::Failure;

/// Reads an address as somebody wrote it.
pub(super) fn target(text: &str) -> Result<Target, Failure> {
    Target::parse(text).ok_or_else(|| {
        Failure::new(format!("`{text}` is not an address"))
            .help("write it as `core_file.motd`, `core_file.motd[0]` or `module.m[\"key\"]`")
    })
}

/// Everything that is remembered, older objects and what was only begun included.
pub(super) fn objects(state: &State) -> BTreeSet<Object> {
    let current = state.recorded.keys().cloned().map(Object::current);
    let older = state.deposed.iter().flat_map(|(address, numbers)| {
        numbers.keys().map(|number| Object { address: address.clone(), deposed: Some(*number) })
    });
    current.chain(older).chain(state.intents.keys().cloned()).collect()
}

/// The failure that nothing in the state has such a name.
pub(super) fn nothing(wanted: &Target, state: &State) -> Failure {
    let failure = Failure::new(format!("there is no `{wanted}` in the state; nothing was done"));
    let addresses = addresses(state);
    let known: BTreeSet<String> =
        addresses.iter().flat_map(|address| [address.to_string(), unkeyed(address)]).collect();
    match nearest(&wanted.to_string(), known.iter().map(String::as_str)) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help("`fleet state list` names everything there is"),
    }
}

/// Every address that something is remembered of.
pub(super) fn addresses(state: &State) -> BTreeSet<Address> {
    objects(state).into_iter().map(|object| object.address).collect()
}

fn unkeyed(address: &Address) -> String {
    Address { key: None, ..address.clone() }.to_string()
}
