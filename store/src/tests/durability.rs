//! What was acknowledged survives: the settings that promise it, and a server that is killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fleet_engine::state::{State, Write};
use fleet_test_postgres::Server;

use super::proxy::{Cut, Proxy};
use super::{Place, begin, close, settle, write_all};
use crate::Backend;
use crate::connection::Connection;

#[tokio::test]
async fn sqlite_writes_reach_the_disk() {
    let place = Place::sqlite();
    close(place.open().await).await;
    let mut connection = Connection::write(&place.backend).await.unwrap();
    let journal = connection.rows("PRAGMA journal_mode", &[]).await.unwrap();
    assert_eq!(journal[0].get::<String>(0).unwrap(), "wal");
    // 2 is FULL.
    for (pragma, expected) in
        [("PRAGMA synchronous", 2), ("PRAGMA fullfsync", 1), ("PRAGMA checkpoint_fullfsync", 1)]
    {
        let rows = connection.rows(pragma, &[]).await.unwrap();
        assert_eq!(rows[0].get::<i64>(0).unwrap(), expected, "{pragma}");
    }
}

#[tokio::test]
async fn postgresql_writes_reach_the_disk_whatever_its_default() {
    let place = Place::postgres();
    let Backend::Postgres { url, .. } = &place.backend else { unreachable!() };
    let name = url.rsplit('/').next().unwrap();
    let sql = format!("ALTER DATABASE {name} SET synchronous_commit = off");
    Server::shared().sql(name, &sql);
    assert_eq!(Server::shared().sql(name, "SHOW synchronous_commit"), "off");
    let mut connection = Connection::write(&place.backend).await.unwrap();
    let rows = connection.rows("SHOW synchronous_commit", &[]).await.unwrap();
    assert_eq!(rows[0].get::<String>(0).unwrap(), "on");
}

/// Steps that are begun and settled, many at a time.
fn steps(group: usize) -> [Vec<Write>; 2] {
    let names: Vec<String> = (0..20).map(|i| format!("core_file.g{group}[{i}]")).collect();
    [names.iter().map(|name| begin(name)).collect(), names.iter().map(|name| settle(name, "made")).collect()]
}

async fn expect(place: &Place, expected: &State) {
    let state = crate::read(&place.backend).await.unwrap();
    assert_eq!(state, *expected);
}

#[tokio::test]
async fn a_server_that_is_killed_and_comes_back_loses_nothing() {
    let mut server = Server::start();
    let place = Place::at(server.database());
    let database = place.open().await;
    let mut state = database.read().await.unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    let seen = done.clone();
    let killer = thread::spawn(move || {
        for at in [5, 20] {
            while seen.load(Ordering::SeqCst) < at {
                thread::yield_now();
            }
            server.kill();
            server.restart();
        }
        server
    });
    for group in 0..40 {
        for writes in steps(group) {
            for write in &writes {
                assert!(state.write(write.clone()));
            }
            for outcome in write_all(&database, writes).await {
                outcome.unwrap();
            }
        }
        done.fetch_add(1, Ordering::SeqCst);
    }
    close(database).await;
    let server = killer.join().unwrap();
    expect(&place, &state).await;
    drop(server);
}

#[tokio::test]
async fn a_commit_that_is_cut_off_is_stored_once() {
    let url = Server::shared().database();
    let proxy = Proxy::to(&url);
    let place = Place::at(proxy.url(&url));
    let database = place.open().await;
    let mut state = database.read().await.unwrap();
    // Deposing twice would make the new object an older one.
    let address = super::address("core_file.a");
    for (number, cut) in [(0, Cut::No), (1, Cut::BeforeCommit), (2, Cut::AfterCommit), (3, Cut::No)] {
        proxy.cut(cut);
        let recorded = super::record(&number.to_string());
        let write = Write::Depose { address: address.clone(), number, recorded };
        assert!(state.write(write.clone()));
        write_all(&database, vec![write]).await.pop().unwrap().unwrap();
        assert!(proxy.is_whole(), "{cut:?} did not happen");
        assert_eq!(database.read().await.unwrap(), state, "{cut:?}");
    }
    close(database).await;
}
