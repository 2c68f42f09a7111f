//! What is noted while a server is freed or deleted outside of a run of `fleet apply`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fleet_engine::address::{Address, ScopePath};
use fleet_engine::clock::Clock as _;
use fleet_engine::diff::get;
use fleet_engine::event::Wait;
use fleet_engine::host::Holder;
use fleet_engine::plan::Way;
use fleet_engine::provider::{Journal, Session};
use fleet_engine::resource::{BoxFuture, Error};
use fleet_engine::schema::{Catalog as _, Sort};
use fleet_engine::state::{Object, Recorded, State, Store as _, Write};
use fleet_lang::Value;
use fleet_store::Database;

use super::survey::{now, random};
use crate::clock::Stopwatch;
use crate::converge::Site;

/// On whose behalf hosts are changed.
pub(super) fn holder(database: &Database, state: &State) -> Holder {
    let lineage = state.lineage.as_deref().unwrap_or_default().to_owned();
    Holder { lineage, fence: database.fence(), by: database.holder().to_string() }
}

/// What is noted while something is done with a server stands in the state as a host that its slot has no use for any more, so that the next
/// apply goes on with it.
pub(super) struct Notes<'a> {
    clock: Stopwatch,
    database: &'a Database,
    object: Object,
    record: Recorded,
    warnings: Mutex<Vec<String>>,
}

impl<'a> Notes<'a> {
    /// Of something new.
    pub(super) fn new(
        site: &Site,
        database: &'a Database,
        state: &State,
        way: &Way,
        slot: &ScopePath,
    ) -> Notes<'a> {
        let address = Address::host_of(slot.clone());
        let numbers = state.deposed.get(&address).and_then(|older| older.keys().last());
        let number = numbers.map_or(1, |last| last + 1);
        let pool = way.settings.as_ref().map(|settings| get(settings, "pool")).unwrap_or_else(Value::null);
        let kind = format!("{}_host", get(&pool, "provider").as_str().unwrap_or_default());
        let version = site.providers.find(Sort::Resource, &kind).map_or(0, |entry| entry.version);
        let record = Recorded {
            session: Session::on_host(slot.clone(), None),
            kind: kind.into(),
            version,
            value: Value::null(),
            sealed: BTreeMap::new(),
            depends_on: [].into(),
            create_before_destroy: false,
            epoch: None,
        };
        let object = Object { address, deposed: Some(number) };
        Notes { clock: site.clock, database, object, record, warnings: Mutex::default() }
    }

    /// Of what was begun with this claim, if the state knows it as something that its slot has no use for any more.
    pub(super) fn of_claim(
        site: &Site,
        database: &'a Database,
        state: &State,
        claim: &str,
    ) -> Option<Notes<'a>> {
        let older = state.deposed.iter().flat_map(|(address, older)| {
            older.iter().map(move |(number, record)| (address, *number, record))
        });
        let mut begun = older.filter(|(_, _, record)| get(&record.value, "claim").as_str() == Some(claim));
        let (address, number, record) = begun.next()?;
        let object = Object { address: address.clone(), deposed: Some(number) };
        let record = record.clone();
        Some(Notes { clock: site.clock, database, object, record, warnings: Mutex::default() })
    }

    async fn write(&self, recorded: Option<Recorded>) -> Result<(), Error> {
        let written = self.database.write(Write::Settle { object: self.object.clone(), recorded }).await;
        written.map_err(|error| Error::permanent(format!("it cannot be noted: {error}")))
    }

    /// What somebody should know, although nothing failed.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Nothing is left to do.
    pub(super) async fn close(&self) -> Result<(), Error> {
        self.write(None).await
    }
}

impl Journal for Notes<'_> {
    fn note(&self, value: Value) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let mut record = self.record.clone();
            record.session.alias = get(&value, "machine").as_str().map(Into::into);
            record.value = value;
            self.write(Some(record)).await
        })
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn wait(&self, until: Duration, _: Wait) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            while let Some(left) = until.checked_sub(self.now()).filter(|left| !left.is_zero()) {
                self.clock.sleep(left).await;
            }
        })
    }

    fn warn(&self, message: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    fn date(&self) -> u64 {
        now()
    }

    fn random(&self) -> String {
        random()
    }
}
