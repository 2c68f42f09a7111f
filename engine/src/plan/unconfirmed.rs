//! Changes that could have cut a host off and that nobody confirmed: the host undoes them by itself, which is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_syntax::Diagnostics;

use super::make::{Looked, Settings, Sources, look, look_on};
use super::{Options, Plan};
use crate::address::{Item, ScopePath};
use crate::attributes::read;
use crate::expand::Memory;
use crate::host::inventory::{self, Unconfirmed};
use crate::host::reach::CONFIRM_WITHIN;
use crate::observe::{Observed, Which};
use crate::outline::Outline;
use crate::resource::Error;
use crate::state::State;

/// How long the steps of a change and undoing it may take, beyond the time that a host waits for somebody who confirms it.
const UNDOING: Duration = Duration::from_secs(45);

/// How long it is until a host is asked again.
const POLL: Duration = Duration::from_secs(2);

/// Looks at everything. A host that is about to undo a change is looked at again once it has, because until then nothing can
/// be told about it.
pub(super) async fn look_until_undone(
    sources: &Sources<'_, '_>,
    outline: &Outline<'_>,
    state: &mut State,
    options: &Options,
    memory: Memory,
) -> Result<Looked, Diagnostics> {
    let mut looked = look(sources, outline, state, options, memory).await?;
    let (begin, rounds) = (sources.clock.now(), looked.rounds);
    let mut waited_for = BTreeSet::new();
    loop {
        let undoing = undoing(&looked.observed);
        let is_over = sources.clock.now().saturating_sub(begin) >= longest(&undoing, &looked.settings);
        if undoing.is_empty() || is_over {
            break;
        }
        sources.clock.sleep(POLL).await;
        looked
            .observed
            .retain(|subject, _| subject.address.scope.slot().is_none_or(|slot| !undoing.contains(&slot)));
        waited_for.extend(undoing);
        looked.rounds = 0;
        looked = look_on(sources, outline, state, options, looked).await?;
    }
    looked.rounds = rounds;
    looked.again.extend(waited_for.iter().map(|slot| {
        format!("{slot} was waited for, because it was about to undo a change that nobody had confirmed.")
    }));
    Ok(looked)
}

/// The slots of the hosts that are about to undo something.
fn undoing(observed: &Observed) -> BTreeSet<ScopePath> {
    let waits = |of: &BTreeMap<_, _>| of.values().any(|became| *became == Unconfirmed::Pending);
    unconfirmed(observed).into_iter().filter(|(_, of)| waits(of)).map(|(slot, _)| slot).collect()
}

/// How long these hosts are waited for.
fn longest(slots: &BTreeSet<ScopePath>, settings: &Settings) -> Duration {
    let here = settings.iter().filter(|(session, _)| slots.contains(&session.scope));
    let said = here.filter_map(|(_, settings)| read::<Option<i64>>(settings, "confirm_within").ok()?);
    UNDOING + said.max().map_or(CONFIRM_WITHIN, |seconds| Duration::from_secs(seconds.unsigned_abs()))
}

/// What nobody confirmed, by the slot of its host.
fn unconfirmed(observed: &Observed) -> Vec<(ScopePath, BTreeMap<String, Unconfirmed>)> {
    let seen = observed.iter().filter(|(subject, _)| subject.which == Which::Inventory);
    let read = seen.filter_map(|(subject, sight)| {
        let read = sight.found.as_ref().ok()?.as_ref()?;
        Some((subject.address.scope.clone(), inventory::unconfirmed(read)))
    });
    read.filter(|(_, unconfirmed)| !unconfirmed.is_empty()).collect()
}

/// What its host is about to undo cannot be told yet: it is neither as it was, nor will it stay as it is.
pub(super) fn leave_alone(observed: &mut Observed) {
    for (slot, unconfirmed) in unconfirmed(observed) {
        let here = observed.iter_mut().filter(|(subject, _)| {
            subject.address.item != Item::Host && subject.address.scope.slot().as_ref() == Some(&slot)
        });
        for (subject, sight) in here {
            let name = inventory::listed(&subject.address, None).name;
            if unconfirmed.get(&name) == Some(&Unconfirmed::Pending) {
                let error = Error::permanent(
                    "a run that changed it did not confirm that the host can still be reached, so the host is about to undo \
                     the change by itself",
                );
                sight.found = Err(error.help("plan again in a minute or two; if it stays so, see what lies beside the ledger of the host"));
            }
        }
    }
}

/// What is to be changed again because a host undid it by itself.
pub(super) fn undone(plan: &Plan, observed: &Observed) -> Vec<String> {
    let mut notes = Vec::new();
    for (slot, unconfirmed) in unconfirmed(observed) {
        let here = plan.steps.iter().filter(|(address, step)| {
            address.scope.slot().as_ref() == Some(&slot) && step.action.changes_the_world()
        });
        for (address, _) in here {
            let name = inventory::listed(address, None).name;
            let Some(Unconfirmed::Undone { when, wrong }) = unconfirmed.get(&name) else { continue };
            let rest =
                if wrong.is_empty() { String::new() } else { format!(" Not all could be undone: {wrong}.") };
            notes.push(format!(
                "{address} was changed before, and the host undid it by itself at {when}: no new connection confirmed that the \
                 host could still be reached.{rest}"
            ));
        }
    }
    notes
}
