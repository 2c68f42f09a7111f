//! Runs that were killed before anything could be seen of what they began. Whatever kind that is, a destroy right after it
//! clears what they left on their way, and harms nothing else.

use std::path::PathBuf;

use fleet_engine::address::Item;
use fleet_engine::schema::{Catalog, Sort};
use fleet_engine::state::{Intent, Object, Operation, Recorded, Store, Write};
use fleet_lang::Value;
use fleet_store::{Backend, Database, Holder, Summary};

use super::full::{ON_THE_WAY, STAYS, bare};
use crate::support::providers;

/// What was wished: the record without what only the Mac knows.
fn wish(recorded: &Recorded) -> Recorded {
    let catalog = providers(PathBuf::new());
    let schema = &catalog.find(Sort::Resource, &recorded.kind).unwrap().schema;
    let entries = recorded.value.entries().unwrap().iter().map(|(name, value)| {
        let is_known = schema.attributes[name].presence.is_configurable();
        (name.clone(), if is_known { value.clone() } else { Value::null_of(value.ty()) })
    });
    Recorded { value: Value::object(entries.collect()), ..recorded.clone() }
}

#[test]
fn what_was_begun_and_cannot_be_seen_is_cleared() {
    let minis = bare();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let backend = Backend::Sqlite(minis.site.path().join(".fleet/state.db"));
    let before = minis.snapshot().without(&STAYS);
    minis.apply();
    let state = runtime.block_on(fleet_store::read(&backend)).unwrap();
    // The host stays ours, with nothing on it.
    minis.configure_with_password("");
    minis.apply();
    minis.snapshot().without(&STAYS).check_same(&before, "nothing on it");
    // Who becomes root was made before all others.
    minis.let_sudo();
    let things = state
        .recorded
        .iter()
        .filter(|(address, recorded)| recorded.session.is_on_host() && address.item != Item::Host);
    let begun = things.map(|(address, recorded)| {
        let intent = Intent { operation: Operation::Create, record: wish(recorded) };
        Write::Begin { object: Object::current(address.clone()), intent }
    });
    let begun: Vec<Write> = begun.collect();
    assert!(begun.len() >= 30, "{}", begun.len());
    runtime.block_on(async {
        let database = Database::open(&backend, &Holder::of_process("test", |_| None), None).await.unwrap();
        for write in begun {
            database.write(write).await.unwrap();
        }
        database.close(Summary::default()).await.unwrap();
    });
    for left in ON_THE_WAY {
        minis.put(left, "left", 0o600);
    }
    let told = minis.destroy();
    assert!(told.contains("what that left is cleared"), "{told}");
    minis.snapshot().without(&STAYS).check_same(&before, "cleared");
}
