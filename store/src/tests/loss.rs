//! What is done while the database is lost, full or read-only.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fleet_engine::state::{Store, StoreErrorKind, Write};
use fleet_test_postgres::{PASSWORD, Server};

use super::proxy::{Cut, Proxy};
use super::{Place, address, begin, close, current, dead_holder, holder, record, settle};
use crate::{Backend, Database, OpenError};

/// A run that begins three steps and does them, but finds no database to write that to.
async fn lost() -> (Place, PathBuf) {
    let url = Server::shared().database();
    let proxy = Proxy::to(&url);
    let mut place = Place::at(proxy.url(&url));
    let patience = Duration::from_millis(300);
    let database = Database::open_patiently(&place.backend, &dead_holder(), None, patience).await.unwrap();
    database.write(settle("core_file.c", "old")).await.unwrap();
    for name in ["core_file.a", "core_file.b", "core_file.c"] {
        database.write(begin(name)).await.unwrap();
    }
    proxy.cut(Cut::Forever);
    let mut file = None;
    let depose = Write::Depose { address: address("core_file.c"), number: 4, recorded: record("new") };
    let gone = Write::Settle { object: current("core_file.b"), recorded: None };
    for write in [settle("core_file.a", "made"), gone, depose] {
        let error = database.write(write).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Lost);
        let text = format!("{error} {error:?}");
        assert!(!text.contains(PASSWORD), "{text}");
        file = error.recovery.as_deref().map(PathBuf::from);
    }
    // What was not begun needs no recovery, and is told so at once.
    let error = database.write(begin("core_file.d")).await.unwrap_err();
    assert_eq!((error.kind, error.recovery), (StoreErrorKind::Lost, None));
    drop(database);
    let Backend::Postgres { url: ours, .. } = &mut place.backend else { unreachable!() };
    *ours = url;
    (place, file.unwrap())
}

#[tokio::test]
async fn what_was_done_without_a_database_is_settled_by_the_next_run() {
    let (place, file) = lost().await;
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert!(!text.contains(PASSWORD));
    // As if the run had been killed while it wrote one more line.
    fs::write(&file, text + "{\"settle\":{\"object\":{\"addr").unwrap();

    let next = place.open().await;
    assert_eq!(next.recovered(), 3);
    let state = next.read().await.unwrap();
    assert_eq!(state.intents.len(), 0);
    assert_eq!(
        state.recorded,
        [(address("core_file.a"), record("made")), (address("core_file.c"), record("new"))].into()
    );
    assert_eq!(state.deposed, [(address("core_file.c"), [(4, record("old"))].into())].into());
    assert!(!file.exists());
    close(next).await;
    assert_eq!(place.open().await.recovered(), 0);
}

#[tokio::test]
async fn what_somebody_else_has_settled_is_left_alone() {
    let (place, file) = lost().await;
    // Somebody without the file has looked at what was in flight.
    let aside = file.with_extension("aside");
    fs::rename(&file, &aside).unwrap();
    let other = place.open().await;
    other.write(settle("core_file.a", "as found")).await.unwrap();
    other.write(begin("core_file.c")).await.unwrap();
    close(other).await;
    fs::rename(&aside, &file).unwrap();

    let next = place.open().await;
    assert_eq!(next.recovered(), 1, "that of core_file.b");
    let state = next.read().await.unwrap();
    assert_eq!(state.recorded[&address("core_file.a")], record("as found"));
    assert_eq!(state.intents.keys().collect::<Vec<_>>(), [&current("core_file.c")]);
    assert!(!file.exists());
}

#[tokio::test]
async fn the_file_of_another_state_is_left_alone() {
    let (place, file) = lost().await;
    let Backend::Postgres { url, recovery, .. } = &place.backend else { unreachable!() };
    let other = Backend::Postgres { url: url.clone(), name: "other".into(), recovery: recovery.clone() };
    let database = Database::open(&other, &holder(), None).await.unwrap();
    assert_eq!(database.recovered(), 0);
    assert!(file.exists());
}

#[tokio::test]
async fn neither_address_nor_password_is_ever_shown() {
    let url = Server::shared().database();
    let wrong = url.replace(PASSWORD, "wrong-secret");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let unreachable = format!("postgres://fleet:wrong-secret@127.0.0.1:{closed}/x");
    for url in [
        wrong,
        unreachable,
        "postgres://fleet:wrong-secret@[::bad/x".to_owned(),
        "postgres://fleet:wrong-secret@127.0.0.1/x?sslmode=wrong-secret".to_owned(),
        "wrong-secret".to_owned(),
    ] {
        let backend = Backend::Postgres { url, name: "site".into(), recovery: PathBuf::new() };
        let read = crate::read(&backend).await.unwrap_err();
        let open = Database::open(&backend, &holder(), None).await.unwrap_err();
        let OpenError::Store(open) = open else { panic!("{open}") };
        for error in [read, open] {
            let mut text = format!("{backend} {backend:?} {error} {error:?}");
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                text += &format!(" {error} {error:?}");
                cause = error.source();
            }
            assert!(!text.contains("wrong-secret"), "{text}");
        }
    }
}

const INNER: &str = "FLEET_TEST_SMALL_DISK";

/// Runs a test of this program again, with a small disk of its own.
#[cfg(target_os = "linux")]
fn on_a_small_disk(test: &str) {
    let directory = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=2m none "$1" && shift && exec "$@""#;
    let ran = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INNER, directory.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && text.contains("1 passed"), "{text}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_said_and_loses_nothing() {
    let Some(directory) = std::env::var_os(INNER) else {
        return on_a_small_disk("tests::loss::a_full_disk_is_said_and_loses_nothing");
    };
    let directory = Path::new(&directory);
    let backend = Backend::Sqlite(directory.join("state.db"));
    let database = Database::open(&backend, &holder(), None).await.unwrap();
    database.write(settle("core_file.a", "before")).await.unwrap();
    database.write(begin("core_file.b")).await.unwrap();
    let before = database.read().await.unwrap();
    let ballast = directory.join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}

    let large = "x".repeat(100_000);
    let error = database.write(settle("core_file.b", &large)).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Full, "{error:?}");
    let expected = format!("cannot write {backend}: there is no room left; free some and run again");
    assert_eq!(error.message, expected);
    assert_eq!(database.read().await.unwrap(), before);

    drop(file);
    fs::remove_file(&ballast).unwrap();
    database.write(settle("core_file.b", &large)).await.unwrap();
    close(database).await;
    assert_eq!(crate::read(&backend).await.unwrap().recorded.len(), 2);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_read_only_disk_is_said_and_can_be_read() {
    let Some(directory) = std::env::var_os(INNER) else {
        return on_a_small_disk("tests::loss::a_read_only_disk_is_said_and_can_be_read");
    };
    let directory = Path::new(&directory);
    let backend = Backend::Sqlite(directory.join("state.db"));
    let database = Database::open(&backend, &holder(), None).await.unwrap();
    database.write(settle("core_file.a", "x")).await.unwrap();
    close(database).await;
    let remounted = Command::new("mount").args(["-o", "remount,bind,ro"]).arg(directory).status().unwrap();
    assert!(remounted.success());

    let OpenError::Store(error) = Database::open(&backend, &holder(), None).await.unwrap_err() else {
        panic!()
    };
    assert_eq!(error.kind, StoreErrorKind::ReadOnly, "{error:?}");
    assert_eq!(error.message, format!("cannot open {backend}: it must not be written"));
    assert_eq!(crate::read(&backend).await.unwrap().recorded.len(), 1);
}
