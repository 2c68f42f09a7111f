//! Looking at all machines of a pool, whosever they are, for the books. Nothing is changed by it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};

use super::books::{Ages, Asked, Books, Entry, seconds};
use super::ground::Ground;
use super::host::{Met, look_at, record_of};
use super::protocol::{Identity, Method, Progress, Record, Stage};
use super::vendor::{Server, Status};
use crate::address::{Address, Item, ScopePath, ScopeStep};
use crate::diff::get;
use crate::host::reach::Over;
use crate::host::{Hosts, Reach};
use crate::plan::chain;
use crate::resource::Error;
use crate::state::{Recorded, State};

/// So many machines are looked at at once.
pub(super) const AT_ONCE: usize = 16;

/// What a state remembers of the hosts that it takes, has or gives back.
#[derive(Clone, Debug, Default)]
pub struct Ours {
    /// The random name of the state; empty while there is none.
    pub lineage: String,
    /// The open records, what was noted last of each.
    pub records: Vec<Record>,
    /// The claims on hosts that their slots have replaced already.
    pub replaced: BTreeSet<String>,
}

/// A machine of a pool, with what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Surveyed {
    /// What the vendor shows of it; of a machine in a pool without one, what the configuration says.
    pub server: Server,
    /// What it is.
    pub entry: Entry,
}

impl Ours {
    /// What a state remembers.
    pub fn of(state: &State) -> Result<Ours, Error> {
        let mut ours =
            Ours { lineage: state.lineage.as_deref().unwrap_or_default().to_owned(), ..Ours::default() };
        let is_host = |address: &Address| address.item == Item::Host;
        // What was noted in a step is newer than what is recorded.
        for (_, intent) in state.intents.iter().filter(|(object, _)| is_host(&object.address)) {
            ours.add(&intent.record)?;
        }
        for (_, record) in state.recorded.iter().filter(|(address, _)| is_host(address)) {
            ours.add(record)?;
        }
        for (_, older) in state.deposed.iter().filter(|(address, _)| is_host(address)) {
            for record in older.values() {
                ours.replaced.extend(get(&record.value, "claim").as_str().map(str::to_owned));
                ours.add(record)?;
            }
        }
        Ok(ours)
    }

    fn add(&mut self, recorded: &Recorded) -> Result<(), Error> {
        let Some(record) = record(recorded, &self.lineage)? else { return Ok(()) };
        let is_known = |known: &Record| known.identity.claim == record.identity.claim;
        if !self.records.iter().any(is_known) {
            self.records.push(record);
        }
        Ok(())
    }

    /// The same without what slots of these fleets have: machines of other pools may have the same names.
    #[must_use]
    pub fn without(&self, fleets: &BTreeSet<Arc<str>>) -> Ours {
        let is_of = |record: &&Record| {
            let slot = ScopePath::slot_named(&record.identity.slot);
            let step = slot.as_ref().and_then(|slot| slot.steps().last());
            !matches!(step, Some(ScopeStep::Fleet(fleet, _)) if fleets.contains(fleet))
        };
        Ours { records: self.records.iter().filter(is_of).cloned().collect(), ..self.clone() }
    }

    /// Requests to vendors of which nobody knows whether, or when, they have an effect.
    #[must_use]
    pub fn unsettled(&self) -> Vec<String> {
        let of = |record: &Record| {
            let server = record.identity.server.clone();
            let told = record.progress.open.iter().map(move |open| open.told(&server));
            told.collect::<Vec<String>>()
        };
        self.records.iter().flat_map(of).collect()
    }

    /// The servers that more than one open claim of ours is about, with the slots that claim them.
    #[must_use]
    pub fn claimed_twice(&self) -> Vec<(String, Vec<String>)> {
        let open = |record: &&Record| record.progress.stage != Stage::Closed;
        let servers: BTreeSet<&str> =
            self.records.iter().filter(open).map(|record| &*record.identity.server).collect();
        let slots = |server: &str| {
            let here = self.records.iter().filter(open).filter(|record| record.identity.server == server);
            here.map(|record| record.identity.slot.clone()).collect::<Vec<String>>()
        };
        let of = |server: &str| (server.to_owned(), slots(server));
        servers.into_iter().map(of).filter(|(_, slots)| slots.len() > 1).collect()
    }

    /// Whether the slot of a machine has another one by now.
    #[must_use]
    pub fn is_replaced(&self, server: &str) -> bool {
        let mut here = self.records.iter().filter(|record| record.identity.server == server);
        here.any(|record| self.replaced.contains(&record.identity.claim))
    }

    /// By which key a machine is known to us.
    fn pin(&self, server: &str) -> Option<&str> {
        let record = self.records.iter().find(|record| record.identity.server == server)?;
        record.progress.epoch.as_deref()
    }
}

/// What is kept of a host: the protocol's own record, where a vendor stands behind its pool.
fn record(recorded: &Recorded, lineage: &str) -> Result<Option<Record>, Error> {
    let text = |name: &str| get(&recorded.value, name).as_str().map(str::to_owned);
    if let Some(journal) = text("journal") {
        return record_of(&journal).map(Some);
    }
    let (Some(server), Some(claim)) = (&recorded.session.alias, text("claim")) else { return Ok(None) };
    let identity = Identity {
        server: server.to_string(),
        lineage: lineage.to_owned(),
        slot: recorded.session.scope.to_string(),
        claim,
        names: None,
    };
    let progress = Progress {
        stage: Stage::Owned,
        epoch: text("host_key"),
        method: Method::Scrub,
        open: Vec::new(),
        overdue: false,
    };
    Ok(Some(Record { identity, progress }))
}

impl Ground {
    /// Every server of the project and zone, whatever it is called.
    pub(crate) async fn survey(&self, servers: &[Server], ours: &Ours, date: u64) -> Vec<Surveyed> {
        let prefix = &*self.rule.choice.prefix;
        let books =
            Books { lineage: &ours.lineage, prefix, records: &ours.records, ages: self.rule.ages(), date };
        let look = async |server: &Server| {
            let pin = ours.pin(&server.id);
            let asked = match server.addresses.is_empty() {
                true => Asked::Silent("its vendor names no address".to_owned()),
                false => asked(self.meet(&server.id, &server.addresses, pin).await),
            };
            let named = server.updated_at.as_deref().and_then(seconds);
            Surveyed { entry: books.entry(server, &asked, named), server: server.clone() }
        };
        stream::iter(servers).map(look).buffered(AT_ONCE).collect().await
    }
}

/// Machines that the configuration lists. They have no names that anybody could write, so that whoever holds none is free.
pub(crate) async fn survey_machines(
    hosts: &dyn Hosts,
    machines: Vec<(&str, Reach)>,
    ours: &Ours,
    date: u64,
) -> Vec<Surveyed> {
    let look = async |(machine, reach): (&str, Reach)| {
        let server = listed(machine, &reach);
        let books = Books {
            lineage: &ours.lineage,
            prefix: machine,
            records: &ours.records,
            // Nobody gives up a claim on such a machine half-way: its ledger is made and removed in one step.
            ages: Ages { claiming: Duration::MAX, returning: Duration::MAX },
            date,
        };
        let reply = hosts.reader(&reach).ask(vec![look_at(&reach.ledger)]).await.pop();
        let reply = reply.unwrap_or_else(|| Err(Error::transient("the host did not answer")));
        let asked = asked(reply.and_then(|reply| Met::of(&reply)));
        Surveyed { entry: books.entry(&server, &asked, None), server }
    };
    stream::iter(machines).map(look).buffered(AT_ONCE).collect().await
}

fn listed(machine: &str, reach: &Reach) -> Server {
    let addresses = match &reach.over {
        Over::Ssh(ssh) => ssh.addresses.clone(),
        Over::Local => Vec::new(),
    };
    Server {
        id: machine.to_owned(),
        name: machine.to_owned(),
        zone: String::new(),
        model: String::new(),
        os_family: String::new(),
        addresses,
        status: Status::Ready,
        provider_id: String::new(),
        created_at: None,
        updated_at: None,
        deletable_at: None,
        commitment: None,
    }
}

fn asked(met: Result<Met, Error>) -> Asked {
    match met {
        Ok(met) => Asked::Answered { epoch: met.epoch(), found: met.page },
        Err(error) => Asked::Silent(chain(&error)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fleet_lang::Value;

    use super::*;
    use crate::pool::protocol::{Open, Write};
    use crate::provider::Session;
    use crate::state::{Intent, Object, Operation};

    fn slot(number: u32) -> ScopePath {
        ScopePath::slot_named(&format!("fleet.a[{number}]")).unwrap()
    }

    /// What is recorded of a slot that claims a server.
    fn claimed(slot: &ScopePath, server: &str, claim: &str, stage: Stage) -> Recorded {
        let identity = Identity {
            server: server.into(),
            lineage: "us".into(),
            slot: slot.to_string(),
            claim: claim.into(),
            names: None,
        };
        let open = vec![Open { write: Write::Reboot, date: 0 }];
        let progress = Progress { stage, epoch: None, method: Method::Reinstall, open, overdue: false };
        let journal = serde_json::to_string(&Record { identity, progress }).unwrap();
        let entries = [("claim", claim), ("journal", &*journal)];
        Recorded {
            session: Session::on_host(slot.clone(), Some(server.into())),
            kind: "x_host".into(),
            version: 1,
            value: Value::object(entries.map(|(name, value)| (name.into(), value.into())).into()),
            sealed: BTreeMap::new(),
            depends_on: [].into(),
            create_before_destroy: false,
            epoch: None,
        }
    }

    fn state() -> State {
        let host = |number| Address::host_of(slot(number));
        let mut state = State { lineage: Some("us".into()), ..State::default() };
        state.recorded.insert(host(0), claimed(&slot(0), "s0", "c0", Stage::Owned));
        let older = claimed(&slot(0), "s1", "c1", Stage::Owned);
        state.deposed.insert(host(0), [(1, older)].into());
        state
    }

    #[test]
    fn what_was_noted_last_counts() {
        let mut state = state();
        let record = claimed(&slot(0), "s0", "c0", Stage::Leaving);
        let object = Object::current(Address::host_of(slot(0)));
        state.intents.insert(object, Intent { operation: Operation::Destroy, record });
        let ours = Ours::of(&state).unwrap();
        let stages: Vec<(&str, &Stage)> =
            ours.records.iter().map(|record| (&*record.identity.claim, &record.progress.stage)).collect();
        assert_eq!(stages, [("c0", &Stage::Leaving), ("c1", &Stage::Owned)]);
        assert!(ours.is_replaced("s1") && !ours.is_replaced("s0"));
        assert_eq!(ours.unsettled()[0], "unsettled reboot on s0, sent 1970-01-01T00:00:00Z");
    }

    #[test]
    fn a_server_that_two_slots_claim_is_told() {
        let mut state = state();
        assert_eq!(Ours::of(&state).unwrap().claimed_twice(), []);
        let closed = claimed(&slot(1), "s0", "c2", Stage::Closed);
        state.recorded.insert(Address::host_of(slot(1)), closed);
        assert_eq!(Ours::of(&state).unwrap().claimed_twice(), []);
        let again = claimed(&slot(1), "s0", "c2", Stage::Owned);
        state.recorded.insert(Address::host_of(slot(1)), again);
        let slots = vec!["fleet.a[0]".to_owned(), "fleet.a[1]".to_owned()];
        assert_eq!(Ours::of(&state).unwrap().claimed_twice(), [("s0".to_owned(), slots)]);
    }

    #[test]
    fn hosts_of_fleets_on_other_pools_are_left_out_and_a_journal_that_cannot_be_read_is_said() {
        let mut state = state();
        let ours = Ours::of(&state).unwrap();
        assert_eq!(ours.without(&["b".into()].into()).records.len(), 2);
        assert_eq!(ours.without(&["a".into()].into()).records.len(), 0);
        let unreadable = Value::object([("journal".into(), "{".into())].into());
        state.recorded.values_mut().next().unwrap().value = unreadable;
        assert!(Ours::of(&state).unwrap_err().message.contains("cannot be read"));
    }
}
