//! All slots of all fleets: which machine each has, and how that stands. Nothing is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_syntax::Diagnostics;
use fleet_syntax::diagnostic::has_errors;

use super::look::Looker;
use super::make::Index;
use super::{Options, Sources};
use crate::address::{Address, Item, ScopePath};
use crate::diff::get;
use crate::expand::{Memory, expand};
use crate::observe::Observed;
use crate::outline::Outline;
use crate::state::{Mark, Object, Recorded, State};

/// A slot, with a machine that it has or is to have.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Its name, such as `fleet.runners[0]`.
    pub slot: ScopePath,
    /// The name of its host.
    pub name: Option<String>,
    /// Which machine; none while that is not decided.
    pub machine: Option<Arc<str>>,
    /// How that stands.
    pub standing: Standing,
    /// Since when the machine is held.
    pub since: Option<String>,
    /// Whether somebody set it apart.
    pub mark: Option<Mark>,
}

/// How it stands between a slot and a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is declared, and nobody has the machine yet.
    Declared,
    /// Taking the machine was begun, and nobody knows how that ended.
    Begun,
    /// The slot has it.
    Held,
    /// The slot has it, and is not declared any more.
    Leaving,
    /// The slot has another by now.
    Replaced,
}

impl Standing {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Standing::Declared => "declared",
            Standing::Begun => "begun",
            Standing::Held => "held",
            Standing::Leaving => "leaving",
            Standing::Replaced => "replaced",
        }
    }
}

/// All slots, declared or remembered, by name.
pub fn slots(sources: &Sources<'_, '_>, state: &State) -> Result<Vec<Slot>, Diagnostics> {
    let options = Options::default();
    let outline = Outline::of(sources.config, sources.surroundings.catalog);
    let memory = Memory::of(state, &options, &BTreeSet::new());
    let index: Index<'_> = state.recorded.iter().collect();
    let nothing = Observed::default();
    let mut looker = Looker::new(state, &index, sources.readers, &options, &memory, &nothing);
    let (expansion, problems) = expand(&outline, sources.surroundings, &mut looker);
    if has_errors(&problems) {
        return Err(problems);
    }
    let instances = expansion.instances.iter().filter(|instance| instance.address.item == Item::Host);
    let declared: BTreeMap<&Address, _> = instances.map(|host| (&host.address, &host.value)).collect();
    let mark = |host: &Address| state.marks.get(host).cloned();
    let held = |host: &Address, record: &Recorded, standing| Slot {
        slot: host.scope.clone(),
        name: text(&record.value, "name"),
        machine: record.session.alias.clone(),
        standing,
        since: text(&record.value, "since"),
        mark: mark(host),
    };
    let mut slots = Vec::new();
    for (host, value) in &declared {
        if !state.recorded.contains_key(*host) {
            let is_begun = state.intents.contains_key(&Object::current((*host).clone()));
            slots.push(Slot {
                slot: host.scope.clone(),
                name: text(value, "name"),
                machine: expansion.session_with(host.scope.clone()).alias,
                standing: if is_begun { Standing::Begun } else { Standing::Declared },
                since: None,
                mark: mark(host),
            });
        }
    }
    for (host, record) in state.recorded.iter().filter(|(address, _)| address.item == Item::Host) {
        let standing = if declared.contains_key(host) { Standing::Held } else { Standing::Leaving };
        slots.push(held(host, record, standing));
    }
    for (host, older) in state.deposed.iter().filter(|(address, _)| address.item == Item::Host) {
        slots.extend(older.values().map(|record| held(host, record, Standing::Replaced)));
    }
    slots.sort_by(|a, b| a.slot.cmp(&b.slot));
    Ok(slots)
}

fn text(value: &fleet_lang::Value, name: &str) -> Option<String> {
    get(value, name).as_str().map(str::to_owned)
}
