//! Known bad states, as they show in what was observed; and a look at everything for their sake alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_syntax::Diagnostics;

use super::hosts::with_hosts;
use super::look::Looker;
use super::make::{Index, Sources, look};
use super::moves::apply_moves;
use super::{Options, Plan, Step, chain, kind_of};
use crate::address::{Address, ScopePath};
use crate::expand::Memory;
use crate::finding::{Cure, Finding};
use crate::observe::{Observed, Which};
use crate::outline::Outline;
use crate::provider::Readers;
use crate::resource::Error;
use crate::schema::{Catalog, Sort};
use crate::state::State;

/// A known bad state, where it was seen and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// What sees it: a thing, or the machine of a slot.
    pub address: Address,
    /// What was found.
    pub finding: Finding,
    /// Whether the plan cures it.
    pub is_planned: bool,
}

/// What came of a look at everything.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// The slots whose hosts were to be looked at.
    pub hosts: BTreeSet<ScopePath>,
    /// The known bad states, in the order of the addresses.
    pub detected: Vec<Detected>,
    /// What could not be seen, and why.
    pub unseen: BTreeMap<Address, Error>,
    /// Who was asked again, because the first answer was none.
    pub again: Vec<String>,
}

/// Looks at all that a plan would look at, on hosts that are set apart too, and plans nothing.
pub async fn examine(
    sources: &Sources<'_, '_>,
    mut state: State,
    options: &Options,
) -> Result<Examined, Diagnostics> {
    let outline = Outline::of(sources.config, sources.surroundings.catalog);
    apply_moves(&outline.scopes, &mut state);
    let memory = Memory::of(&state, options, &BTreeSet::new());
    let index: Index<'_> = state.recorded.iter().collect();
    let nothing = Observed::default();
    let looker = Looker::new(&state, &index, sources.readers, options, &memory, &nothing);
    let options = with_hosts(options, &outline, sources.surroundings, looker)?;
    drop(index);
    let looked = look(sources, &outline, &mut state, &options, memory).await?;
    let sessions = looked.settings.keys().filter(|session| session.is_on_host());
    let failed = looked.observed.iter().filter_map(|(subject, sight)| {
        let error = sight.found.as_ref().err()?;
        Some((subject.address.clone(), error.clone()))
    });
    Ok(Examined {
        hosts: sessions.map(|session| session.scope.clone()).collect(),
        detected: detected(&looked.observed, sources.readers, sources.surroundings.catalog),
        unseen: failed.collect(),
        again: looked.again,
    })
}

/// The known bad states in what was observed, each once for whoever sees it.
pub(super) fn detected(observed: &Observed, readers: &dyn Readers, catalog: &dyn Catalog) -> Vec<Detected> {
    let mut found: BTreeMap<(Address, &str), Detected> = BTreeMap::new();
    // What keeps an API from answering is said once, and not for all that is behind it.
    let mut told: BTreeSet<(Arc<str>, &str)> = BTreeSet::new();
    let mut add = |address: Address, finding: Finding| {
        let key = (address.clone(), finding.known.name);
        found.entry(key).or_insert(Detected { address, finding, is_planned: false });
    };
    for (subject, sight) in observed {
        let address = &subject.address;
        let is_current =
            matches!(subject.which, Which::Recorded | Which::Declared | Which::Begun | Which::Imported);
        match (&sight.found, kind_of(address)) {
            (Ok(Some(value)), Some(kind)) if is_current => {
                readers.findings(&kind, value).into_iter().for_each(|finding| add(address.clone(), finding));
            }
            (Err(error), kind) => {
                let Some(known) = error.known else { continue };
                let entry = kind.and_then(|kind| catalog.find(Sort::Resource, &kind));
                let provider = entry.map(|entry| entry.provider.clone()).unwrap_or_default();
                match address.scope.slot() {
                    Some(slot) => add(Address::host_of(slot), known.seen_by(chain(error))),
                    None if told.insert((provider, known.name)) => {
                        add(address.clone(), known.seen_by(chain(error)));
                    }
                    None => {}
                }
            }
            _ => {}
        }
    }
    found.into_values().collect()
}

/// The same, with whether a plan cures them.
pub(super) fn with_cures(found: Vec<Detected>, plan: &Plan) -> Vec<Detected> {
    let changes = |step: &Step| step.action.changes_the_world();
    let is_planned = |it: &Detected| match it.finding.known.cure {
        Cure::Apply(_) => plan.steps.get(&it.address).is_some_and(changes),
        Cure::By(kind, _) => {
            let slot = it.address.scope.slot();
            let mut steps = plan.steps.iter().filter(|(_, step)| &*step.record.kind == kind && changes(step));
            steps.any(|(address, _)| address.scope.slot() == slot)
        }
        Cure::Person(_) => false,
    };
    found.into_iter().map(|it| Detected { is_planned: is_planned(&it), ..it }).collect()
}
