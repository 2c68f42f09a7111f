//! The ways to all machines of the pools of a configuration, held or not: as the fleets that take hosts from them say.

use std::collections::BTreeSet;
use std::sync::Arc;

use fleet_lang::{Entries, Value};
use fleet_syntax::Diagnostics;
use fleet_syntax::diagnostic::has_errors;

use super::look::{Looker, usable};
use super::make::Index;
use super::{Options, Sources};
use crate::address::{Key, ScopePath};
use crate::config::model::{Fleet, Slots};
use crate::expand::{Held, Memory, expand, pool_named};
use crate::observe::Observed;
use crate::outline::Outline;
use crate::pool::Rule;
use crate::provider::Session;
use crate::schema::Sort;
use crate::state::State;

/// The way to a machine of a pool, or to all of them.
#[derive(Clone, Debug)]
pub struct Way {
    /// The pool.
    pub pool: Arc<str>,
    /// The fleet that says how its machines are reached.
    pub fleet: Arc<str>,
    /// The machine; none where a vendor knows which there are.
    pub machine: Option<Arc<str>>,
    /// The settings of a session; none if that is not known.
    pub settings: Option<Value>,
}

impl Way {
    /// What the pool says of its hosts, if a vendor stands behind it and that is known.
    #[must_use]
    pub fn rule(&self) -> Option<Rule> {
        self.settings.as_ref().and_then(Rule::in_settings)
    }
}

/// The ways to all machines of all pools.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// They, fleet by fleet.
    pub ways: Vec<Way>,
    /// The pools that no fleet takes hosts from: nobody says how their machines are reached.
    pub unused: Vec<Arc<str>>,
}

/// The ways to all machines of all pools.
pub fn ways(sources: &Sources<'_, '_>, state: &State) -> Result<Ways, Diagnostics> {
    let catalog = sources.surroundings.catalog;
    let outline = Outline::of(sources.config, catalog);
    let root = sources.config.root();
    let mut held = Vec::new();
    for fleet in root.fleets.values() {
        let Some(pool) = pool_named(fleet).and_then(|name| root.pools.get(name)) else { continue };
        let entry = catalog.find(Sort::Pool, &pool.kind.name);
        let is_of_vendor = entry.is_some_and(|entry| !entry.schema.blocks.contains_key("host"));
        let machines: Vec<Arc<str>> = match is_of_vendor {
            // The vendor says which machines there are, so any name will do.
            true => vec!["".into()],
            false => pool.hosts.keys().cloned().collect(),
        };
        let way = |machine: Arc<str>| {
            let way = Way {
                pool: pool.name.name.clone(),
                fleet: fleet.name.name.clone(),
                machine: (!is_of_vendor).then(|| machine.clone()),
                settings: None,
            };
            (way, as_if_held(fleet, machine))
        };
        held.extend(machines.into_iter().map(way));
    }
    let options = Options::default();
    let memory = Memory::of(state, &options, &BTreeSet::new());
    let index: Index<'_> = state.recorded.iter().collect();
    let nothing = Observed::default();
    let walk = |memory: &Memory| {
        let mut looker = Looker::new(state, &index, sources.readers, &options, memory, &nothing);
        expand(&outline, sources.surroundings, &mut looker)
    };
    let (_, problems) = walk(&memory);
    if has_errors(&problems) {
        return Err(problems);
    }
    let mut all = memory;
    all.hosts.extend(held.iter().map(|(_, held)| held.clone()));
    // Every machine counts as held, so that none is left for slots; what else is wrong with them is told by a plan.
    let (expansion, _) = walk(&all);
    let found = held.into_iter().map(|(way, held)| {
        let session = Session::on_host(held.slot, held.machine);
        Way { settings: expansion.settings(catalog, &session).and_then(usable), ..way }
    });
    let ways: Vec<Way> = found.collect();
    let is_used = |pool: &Arc<str>| ways.iter().any(|way| way.pool == *pool);
    let unused = root.pools.keys().filter(|pool| !is_used(pool)).cloned().collect();
    Ok(Ways { ways, unused })
}

/// A machine as the slot would have it that its name belongs to, or the first one.
fn as_if_held(fleet: &Fleet, machine: Arc<str>) -> Held {
    let (key, index, text) = match fleet.slots {
        Slots::Hosts(_) => (Key::Text(machine.clone()), Value::null(), machine.to_string()),
        _ => (Key::Index(0), Value::from(0), "0".to_owned()),
    };
    let known: Entries =
        [("key".into(), Value::from(text.as_str())), ("index".into(), index)].into_iter().collect();
    Held {
        slot: ScopePath::of_slot(fleet.name.name.clone(), key),
        machine: Some(machine),
        kind: fleet.host.kind.name.clone(),
        value: Value::object(known),
        is_current: false,
    }
}
