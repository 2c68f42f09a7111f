//! A state from what hosts know: their ledgers say whose they are, their inventories what is managed there.
//!
//! 1. [`ways`](fn@super::ways): every machine that a fleet of the configuration may have, and how it is reached
//! 2. the caller reads the ledgers and inventories there
//! 3. [`rebuilt`]: what they found → a state that says where to look; a refresh completes it

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_lang::Value;
use fleet_syntax::diagnostic::has_errors;
use fleet_syntax::{Diagnostic, Diagnostics};

use super::{Options, Sources};
use crate::address::{Address, Item, ScopePath, ScopeStep, Target};
use crate::attributes::Misfit;
use crate::config::model::Fleet;
use crate::diff::get;
use crate::expand::{Instance, Memory, RememberedHosts, expand};
use crate::host::inventory::Known;
use crate::outline::Outline;
use crate::pool::HeldServer;
use crate::provider::Session;
use crate::schema::Sort;
use crate::state::{Recorded, State};

/// A machine whose ledger names a slot.
#[derive(Clone, Debug)]
pub struct Found {
    /// The slot.
    pub slot: ScopePath,
    /// The machine.
    pub machine: Arc<str>,
    /// What is managed there.
    pub inventory: Vec<Known>,
    /// What a vendor and the machine itself know of it, if a vendor stands behind its pool.
    pub server: Option<HeldServer>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// The state: it says where to look, and nothing in it was looked at yet.
    pub state: State,
    /// What inventories list, and nobody declares.
    pub undeclared: Vec<Address>,
}

/// The slots that the configuration declares.
pub fn declared_slots(sources: &Sources<'_, '_>) -> BTreeSet<ScopePath> {
    let outline = Outline::of(sources.config, sources.surroundings.catalog);
    let (expansion, _) = expand(&outline, sources.surroundings, &mut RememberedHosts(&Memory::default()));
    let hosts = expansion.instances.into_iter().filter(|instance| instance.address.item == Item::Host);
    hosts.map(|host| host.address.scope).collect()
}

/// A state of that lineage with what was found.
pub fn rebuilt(sources: &Sources<'_, '_>, lineage: &str, found: Vec<Found>) -> Result<Rebuilt, Diagnostics> {
    let outline = Outline::of(sources.config, sources.surroundings.catalog);
    let machines: BTreeMap<ScopePath, Arc<str>> =
        found.iter().map(|found| (found.slot.clone(), found.machine.clone())).collect();
    let mut state = State { lineage: Some(lineage.into()), serial: 1, ..State::default() };
    let memory = Memory::of(&state, &Options { machines, ..Options::default() }, &BTreeSet::new());
    let (expansion, problems) = expand(&outline, sources.surroundings, &mut RememberedHosts(&memory));
    if has_errors(&problems) {
        return Err(problems);
    }
    let catalog = sources.surroundings.catalog;
    let declared: BTreeMap<&Address, _> =
        expansion.instances.iter().map(|instance| (&instance.address, instance)).collect();
    let mut undeclared = Vec::new();
    for Found { slot, machine, inventory, server } in found {
        let host = Address::host_of(slot.clone());
        let session = Session::on_host(slot.clone(), Some(machine));
        let fleet = root_fleet(sources, &slot);
        let (Some(instance), Some(fleet)) = (declared.get(&host), fleet) else { continue };
        let Some(entry) = catalog.find(Sort::Resource, &fleet.host.kind.name) else { continue };
        let record = |kind: Arc<str>, version, value, depends_on: &[Target]| Recorded {
            session: session.clone(),
            kind,
            version,
            value,
            sealed: BTreeMap::new(),
            depends_on: depends_on.into(),
            create_before_destroy: false,
            epoch: None,
        };
        let declared_host = instance.declared.clone().unmark_deep().0;
        let value = match &server {
            None => with_lineage(&declared_host, lineage),
            Some(server) => server.recorded(&declared_host).map_err(|misfit| unusable(instance, &misfit))?,
        };
        let of_host = record(fleet.host.kind.name.clone(), entry.version, value, &[]);
        for Known { address, kind, version, value } in inventory {
            if declared.contains_key(&address) && address.scope.slot().as_ref() == Some(&slot) {
                let listed = record(kind, version, value, &[Target::from(&host)]);
                state.recorded.insert(address, listed);
            } else {
                undeclared.push(address);
            }
        }
        state.recorded.insert(host, of_host);
    }
    Ok(Rebuilt { state, undeclared })
}

/// What is declared of a host cannot be understood, so that it cannot be found again.
fn unusable(instance: &Instance, misfit: &Misfit) -> Diagnostics {
    let error = Diagnostic::error(instance.span, "host cannot be recorded", format!("{misfit}."));
    vec![error.at(instance.address.to_string())]
}

fn root_fleet<'c>(sources: &Sources<'_, 'c>, slot: &ScopePath) -> Option<&'c Fleet> {
    let Some(ScopeStep::Fleet(name, _)) = slot.steps().last() else { return None };
    sources.config.root().fleets.get(name)
}

/// What is declared of a host, as the record of one that this state holds.
fn with_lineage(declared: &Value, lineage: &str) -> Value {
    let mut entries = declared.entries().cloned().unwrap_or_default();
    if get(declared, "lineage").is_null() {
        entries.insert("lineage".into(), lineage.into());
    }
    Value::object(entries)
}
