//! The books of a pool: every server is in exactly one class. The ledger on the host comes before our records, and both before the
//! name, which is only a hint.

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;

use super::protocol::{RETURNING, Record, Stage};
use super::{Server, Status};
use crate::host::{Holding, Ledger};

/// What a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Anybody may claim it.
    Free,
    /// Somebody is claiming it.
    Pending,
    /// We have it.
    Mine,
    /// Somebody else has it.
    Foreign,
    /// Somebody gives it back.
    Returning,
    /// It is being installed anew.
    Reinstalling,
    /// It is held back until requests without an answer are void, or because giving it back took too long.
    Quarantined,
    /// It does not answer, is broken, or is not there yet.
    Unavailable,
    /// It is nobody's, and not free: a human decides.
    Stray,
}

/// A server in the books.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// What it is.
    pub class: Class,
    /// Whose it is: the state and the slot.
    pub whose: Option<(String, String)>,
    /// Since when, as the ledger says.
    pub since: Option<String>,
    /// Why it is in this class.
    pub why: String,
    /// What can be done about it.
    pub remedy: Option<Remedy>,
}

/// What can be done about a server that does not get where it should by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Remedy {
    /// Its ledger may be taken over from this claim, to free it.
    Reclaim(String),
    /// Whoever returned it left it behind under this name, and anybody may free it.
    Finish(String),
    /// A human says whether it is adopted or given back.
    Decide,
}

/// What a host answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing; why.
    Silent(String),
    /// It is in this installation, and this is where its ledger lies.
    Answered {
        /// The installation, told by the host key.
        epoch: String,
        /// What lies there.
        found: Found,
    },
}

/// What lies where the ledger of a host does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A ledger.
    Ledger(Ledger),
    /// Something that is no ledger, or one that this program does not know.
    Unreadable,
}

/// After which time something that was begun counts as left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages {
    /// A ledger that says `claiming`.
    pub claiming: Duration,
    /// The name of a host that goes back, without a ledger.
    pub returning: Duration,
}

/// Who keeps the books.
#[derive(Clone, Copy, Debug)]
pub struct Books<'b> {
    /// The random name of our state.
    pub lineage: &'b str,
    /// What free names start with.
    pub prefix: &'b str,
    /// Our open records.
    pub records: &'b [Record],
    /// When something counts as left behind.
    pub ages: Ages,
    /// Now, in seconds since 1970.
    pub date: u64,
}

impl Books<'_> {
    /// The one class of a server, from what its vendor shows and what the host answered. `named` is since when it is known to
    /// have its name, in seconds since 1970.
    #[must_use]
    pub fn entry(&self, server: &Server, asked: &Asked, named: Option<u64>) -> Entry {
        match asked {
            Asked::Answered { found: Found::Ledger(ledger), epoch } if ledger.is_of(epoch) => {
                self.by_ledger(server, ledger)
            }
            Asked::Answered { found: Found::Nothing, epoch } => self.without_ledger(server, epoch, named),
            Asked::Answered { .. } => {
                let why = "what lies where its ledger should is none of this installation that can be read";
                Entry::new(Class::Stray, why).remedy(Remedy::Decide)
            }
            Asked::Silent(why) => self.silent(server, why, named),
        }
    }

    fn by_ledger(&self, server: &Server, ledger: &Ledger) -> Entry {
        let Ledger { lineage, claim, state, .. } = ledger;
        let is_old = age(ledger, self.date).is_some_and(|age| age > self.ages.claiming);
        let record = self.record(server).filter(|record| record.identity.claim == *claim);
        let entry = match (record, state) {
            (Some(record), _) => self.by_record(record, "our ledger is there"),
            (None, Holding::Claiming) if lineage == self.lineage => {
                let why = "our claim, without a record of it";
                Entry::new(Class::Stray, why).remedy(Remedy::Reclaim(claim.clone()))
            }
            (None, _) if lineage == self.lineage => {
                Entry::new(Class::Stray, "our ledger, without a record of it").remedy(Remedy::Decide)
            }
            (None, Holding::Claiming) if is_old => {
                let why = "somebody began to claim it, and left it behind";
                Entry::new(Class::Pending, why).remedy(Remedy::Reclaim(claim.clone()))
            }
            (None, Holding::Claiming) => Entry::new(Class::Pending, "somebody is claiming it"),
            (None, Holding::Owned) => Entry::new(Class::Foreign, "somebody else has it"),
            (None, Holding::Returning) => Entry::new(Class::Returning, "somebody gives it back"),
        };
        Entry { since: Some(ledger.since.clone()), ..entry.of(lineage, &ledger.slot) }
    }

    fn without_ledger(&self, server: &Server, epoch: &str, named: Option<u64>) -> Entry {
        if let Some(record) = self.record(server) {
            let is_new = record.progress.epoch.as_deref().is_some_and(|known| known != epoch);
            return match (&record.progress.stage, is_new) {
                (Stage::Owned, true) => {
                    Entry::new(Class::Pending, "reinstalled behind our back, and not claimed again yet")
                }
                (Stage::Owned, false) => Entry::new(
                    Class::Pending,
                    "its ledger was removed behind our back, and it is not claimed again yet",
                ),
                _ => self.by_record(record, "its ledger is not there"),
            }
            .unsettled(record)
            .of(self.lineage, &record.identity.slot);
        }
        self.by_status(server).unwrap_or_else(|| self.by_name(server, named))
    }

    fn silent(&self, server: &Server, why: &str, named: Option<u64>) -> Entry {
        let record = self.record(server);
        let entry = match (&server.status, record) {
            // Longer than it may take.
            (Status::Reinstalling, Some(record)) if record.progress.overdue => self.by_record(record, why),
            (Status::Reinstalling, _) => Entry::new(Class::Reinstalling, "the vendor installs it anew"),
            (_, Some(record)) if record.progress.stage != Stage::Owned => self.by_record(record, why),
            (_, Some(_)) => Entry::new(Class::Unavailable, format!("ours, but it does not answer: {why}")),
            (_, None) => self.by_status(server).unwrap_or_else(|| {
                let by_name = self.by_name(server, named);
                match by_name.class {
                    // Nobody can say that the ledger is not there.
                    Class::Returning => Entry { remedy: None, ..by_name },
                    _ => Entry::new(Class::Unavailable, format!("it does not answer: {why}")),
                }
            }),
        };
        match record {
            Some(record) => entry.unsettled(record).of(self.lineage, &record.identity.slot),
            None => entry,
        }
    }

    fn by_record(&self, record: &Record, why: &str) -> Entry {
        let progress = &record.progress;
        let class = match progress.stage {
            _ if progress.overdue => Class::Quarantined,
            Stage::Claiming | Stage::Abandoning => Class::Pending,
            Stage::Retiring => return Entry::new(Class::Pending, "held to be deleted").unsettled(record),
            Stage::Owned => return Entry::new(Class::Mine, why),
            Stage::Leaving | Stage::Freeing | Stage::Taking { .. } | Stage::Closed => Class::Returning,
        };
        Entry::new(class, why).unsettled(record)
    }

    /// What a server without a ledger is that cannot be used.
    fn by_status(&self, server: &Server) -> Option<Entry> {
        let status = &server.status;
        match status {
            Status::Ready => None,
            Status::Reinstalling => Some(Entry::new(Class::Reinstalling, "the vendor installs it anew")),
            _ => Some(Entry::new(Class::Unavailable, format!("it is {status}"))),
        }
    }

    fn by_name(&self, server: &Server, named: Option<u64>) -> Entry {
        let name = &server.name;
        if name.starts_with(RETURNING) {
            let age = named.map(|named| Duration::from_secs(self.date.saturating_sub(named)));
            let entry = Entry::new(Class::Returning, "it is called so, and nobody holds it");
            return match age.is_some_and(|age| age > self.ages.returning) {
                true => entry.remedy(Remedy::Finish(name.clone())),
                false => entry,
            };
        }
        if !self.prefix.is_empty() && name.starts_with(self.prefix) {
            return Entry::new(Class::Free, "it is called so, and nobody holds it");
        }
        let why = format!("it is called `{name}`, without a ledger or a record of ours");
        Entry::new(Class::Stray, why).remedy(Remedy::Decide)
    }

    fn record(&self, server: &Server) -> Option<&Record> {
        let is_open =
            |record: &&Record| record.identity.server == server.id && record.progress.stage != Stage::Closed;
        self.records.iter().find(is_open)
    }
}

/// How long ago a ledger was made, if it says so.
fn age(ledger: &Ledger, date: u64) -> Option<Duration> {
    Some(Duration::from_secs(date.saturating_sub(seconds(&ledger.since)?)))
}

/// A time as vendors and ledgers write it, in seconds since 1970.
#[must_use]
pub fn seconds(time: &str) -> Option<u64> {
    Some(humantime::parse_rfc3339_weak(time).ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

impl Entry {
    fn new(class: Class, why: impl Into<String>) -> Entry {
        Entry { class, whose: None, since: None, why: why.into(), remedy: None }
    }

    fn of(self, lineage: &str, slot: &str) -> Entry {
        Entry { whose: Some((lineage.to_owned(), slot.to_owned())), ..self }
    }

    fn remedy(self, remedy: Remedy) -> Entry {
        Entry { remedy: Some(remedy), ..self }
    }

    /// What is still open is said; and whatever is neither ours nor out of reach is held back for it.
    fn unsettled(self, record: &Record) -> Entry {
        let [.., last] = &*record.progress.open else { return self };
        let class = match self.class {
            Class::Pending | Class::Returning => Class::Quarantined,
            class => class,
        };
        Entry { class, why: last.told(&record.identity.server), ..self }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Free => "free",
            Class::Pending => "pending",
            Class::Mine => "mine",
            Class::Foreign => "foreign",
            Class::Returning => "returning",
            Class::Reinstalling => "reinstalling",
            Class::Quarantined => "quarantined",
            Class::Unavailable => "unavailable",
            Class::Stray => "stray",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::protocol::{Identity, Method, Open, Progress, Write};
    use crate::pool::sample::server;

    const HOUR: u64 = 3600;

    fn ledger(lineage: &str, state: Holding) -> Asked {
        let found = Found::Ledger(Ledger {
            lineage: lineage.into(),
            slot: "fleet.a[0]".into(),
            claim: "c".into(),
            fence: 1,
            epoch: "k1".into(),
            state,
            since: "1970-01-01T00:00:00Z".into(),
            by: "me@here".into(),
        });
        Asked::Answered { epoch: "k1".into(), found }
    }

    fn empty(epoch: &str) -> Asked {
        Asked::Answered { epoch: epoch.into(), found: Found::Nothing }
    }

    fn silent() -> Asked {
        Asked::Silent("timeout".into())
    }

    fn record(stage: Stage) -> Record {
        let identity = Identity {
            server: "s".into(),
            lineage: "us".into(),
            slot: "fleet.a[0]".into(),
            claim: "c".into(),
            names: None,
        };
        let progress = Progress {
            stage,
            epoch: Some("k1".into()),
            method: Method::Reinstall,
            open: Vec::new(),
            overdue: false,
        };
        Record { identity, progress }
    }

    fn open(stage: Stage) -> Record {
        let mut record = record(stage);
        record.progress.open.push(Open { write: Write::Reinstall, date: 0 });
        record
    }

    fn overdue(stage: Stage) -> Record {
        let mut record = record(stage);
        record.progress.overdue = true;
        record
    }

    fn entry(server: &Server, asked: &Asked, records: &[Record], date: u64) -> Entry {
        let hour = Duration::from_secs(HOUR);
        let ages = Ages { claiming: hour, returning: hour };
        Books { lineage: "us", prefix: "pool-", records, ages, date }.entry(server, asked, Some(0))
    }

    #[test]
    fn the_ledger_decides_whatever_the_name() {
        use Holding::{Claiming, Owned, Returning};
        let reclaim = || Some(Remedy::Reclaim("c".into()));
        for name in ["pool-1", "runner-0", "returning-x-y"] {
            for (lineage, state, records, date, class, remedy) in [
                ("us", Claiming, vec![], 0, Class::Stray, reclaim()),
                ("us", Owned, vec![], 0, Class::Stray, Some(Remedy::Decide)),
                ("us", Returning, vec![], 0, Class::Stray, Some(Remedy::Decide)),
                ("them", Claiming, vec![], HOUR, Class::Pending, None),
                ("them", Claiming, vec![], HOUR + 1, Class::Pending, reclaim()),
                ("them", Owned, vec![], HOUR + 1, Class::Foreign, None),
                ("them", Returning, vec![], HOUR + 1, Class::Returning, None),
                ("us", Claiming, vec![record(Stage::Claiming)], 0, Class::Pending, None),
                ("us", Claiming, vec![record(Stage::Abandoning)], 0, Class::Pending, None),
                ("us", Claiming, vec![record(Stage::Retiring)], 0, Class::Pending, None),
                ("us", Claiming, vec![open(Stage::Retiring)], 0, Class::Quarantined, None),
                ("us", Owned, vec![record(Stage::Owned)], 0, Class::Mine, None),
                ("us", Owned, vec![open(Stage::Owned)], 0, Class::Mine, None),
                ("us", Returning, vec![record(Stage::Leaving)], 0, Class::Returning, None),
                ("us", Returning, vec![record(Stage::Freeing)], 0, Class::Returning, None),
                ("us", Returning, vec![open(Stage::Freeing)], 0, Class::Quarantined, None),
                ("us", Returning, vec![overdue(Stage::Leaving)], 0, Class::Quarantined, None),
                ("us", Owned, vec![record(Stage::Closed)], 0, Class::Stray, Some(Remedy::Decide)),
            ] {
                let found = entry(&server("s", name), &ledger(lineage, state), &records, date);
                assert_eq!(
                    (found.class, &found.remedy),
                    (class, &remedy),
                    "{name} {lineage} {state:?} {records:?}"
                );
                assert_eq!(found.whose, Some((lineage.into(), "fleet.a[0]".into())));
                assert_eq!(found.since.as_deref(), Some("1970-01-01T00:00:00Z"));
            }
        }
    }

    #[test]
    fn without_a_ledger_records_come_before_the_name() {
        for (name, epoch, records, date, class, remedy) in [
            ("pool-1", "k1", vec![], 0, Class::Free, None),
            ("returning-x-y", "k1", vec![], HOUR, Class::Returning, None),
            (
                "returning-x-y",
                "k1",
                vec![],
                HOUR + 1,
                Class::Returning,
                Some(Remedy::Finish("returning-x-y".into())),
            ),
            ("runner-0", "k1", vec![], 0, Class::Stray, Some(Remedy::Decide)),
            ("pool-1", "k1", vec![record(Stage::Claiming)], 0, Class::Pending, None),
            ("runner-0", "k2", vec![record(Stage::Owned)], 0, Class::Pending, None),
            ("runner-0", "k1", vec![record(Stage::Owned)], 0, Class::Pending, None),
            ("returning-x-y", "k2", vec![record(Stage::Leaving)], HOUR + 1, Class::Returning, None),
            ("returning-x-y", "k2", vec![open(Stage::Leaving)], 0, Class::Quarantined, None),
            ("pool-1", "k1", vec![record(Stage::Closed)], 0, Class::Free, None),
        ] {
            let found = entry(&server("s", name), &empty(epoch), &records, date);
            assert_eq!((found.class, found.remedy), (class, remedy), "{name} {epoch} {records:?}");
        }
        let torn = Asked::Answered { epoch: "k1".into(), found: Found::Unreadable };
        assert_eq!(entry(&server("s", "pool-1"), &torn, &[], 0).class, Class::Stray);
    }

    #[test]
    fn what_does_not_answer_or_cannot_be_used() {
        let is = |status| Server { status, ..server("s", "pool-1") };
        let broken = || Status::Broken("locked".into());
        for (server, asked, records, class) in [
            (is(Status::Ready), silent(), vec![], Class::Unavailable),
            (is(Status::Reinstalling), silent(), vec![], Class::Reinstalling),
            (is(Status::Reinstalling), silent(), vec![record(Stage::Leaving)], Class::Reinstalling),
            (is(Status::Reinstalling), silent(), vec![overdue(Stage::Leaving)], Class::Quarantined),
            (is(Status::Reinstalling), empty("k1"), vec![], Class::Reinstalling),
            (is(Status::Undelivered), silent(), vec![], Class::Unavailable),
            (is(Status::Leaving), empty("k1"), vec![], Class::Unavailable),
            (is(broken()), silent(), vec![], Class::Unavailable),
            (is(broken()), ledger("them", Holding::Owned), vec![], Class::Foreign),
            (is(Status::Ready), silent(), vec![record(Stage::Owned)], Class::Unavailable),
            (is(Status::Ready), silent(), vec![open(Stage::Leaving)], Class::Quarantined),
            (is(Status::Ready), silent(), vec![record(Stage::Leaving)], Class::Returning),
            (server("s", "returning-x-y"), silent(), vec![], Class::Returning),
            (server("s", "runner-0"), silent(), vec![], Class::Unavailable),
        ] {
            let found = entry(&server, &asked, &records, HOUR + 1);
            assert_eq!((found.class, &found.remedy), (class, &None), "{server:?} {asked:?} {records:?}");
        }
    }

    #[test]
    fn what_is_unsettled_is_said() {
        let found = entry(&server("s", "runner-0"), &empty("k2"), &[open(Stage::Owned)], 0);
        assert_eq!(found.why, "unsettled reinstall on s, sent 1970-01-01T00:00:00Z");
        let found = entry(&server("s", "runner-0"), &empty("k2"), &[record(Stage::Owned)], 0);
        assert!(found.why.contains("reinstalled behind our back"), "{}", found.why);
    }
}
