//! `fleet state pull`, `push` and `migrate`.

use std::fs;

use fleet_store::Document;
use fleet_test_postgres::{PASSWORD, Server};
use serde_json::Value as Json;

use super::{Kept, block_on, on_both, postgres_settings, servers, signal};
use crate::laws::Lab;

fn pulled(kept: &Kept) -> Json {
    serde_json::from_str(&kept.fleet(["state", "pull"]).ok()).unwrap()
}

#[test]
fn what_was_pulled_can_be_pushed_where_nothing_is() {
    on_both(&servers(3), |kept| {
        kept.apply();
        let document = pulled(kept);
        assert_eq!((&document["format"], document["resources"].as_array().unwrap().len()), (&1.into(), 3));
        let before = kept.state();
        let other = Kept::sqlite("");
        other.site.write("copy.json", &document.to_string());
        let said = other.fleet(["state", "push", "copy.json"]).ok();
        assert!(said.contains("the state has 3 resources"), "{said}");
        assert_eq!(other.state(), before);
        // Pushing the same again changes nothing.
        other.fleet(["state", "push", "copy.json"]).ok();
        assert_eq!(other.state(), before);
    });
}

#[test]
fn only_a_later_version_is_pushed_unless_by_force() {
    on_both(&servers(2), |kept| {
        kept.apply();
        let old = kept.fleet(["state", "pull"]).ok();
        kept.fleet(["state", "rm", "test_server.a[1]"]).ok();
        let current = kept.state();
        let refused = |text: &str, expected: &str| {
            let complaint = kept.site.fleet_with_input(["state", "push", "-"], text).failed();
            assert!(complaint.contains(expected) && complaint.contains("help: "), "{complaint}");
            assert!(complaint.contains("nothing was done"), "{complaint}");
            assert_eq!(kept.state(), current);
        };
        refused(&old, "the state was changed since");
        let lineage = current.lineage.as_deref().unwrap();
        refused(&old.replace(lineage, "another"), "the document is of another state");
        refused("{}", "this is not the document of a state");
        refused("", "`-` is refused");
        let complaint = kept.fleet(["state", "push", "nowhere.json"]).failed();
        assert!(complaint.contains("`nowhere.json` cannot be read, nothing was done"), "{complaint}");

        kept.site.write("old.json", &old);
        kept.fleet(["state", "push", "--force", "old.json"]).ok();
        let state = kept.state();
        assert_eq!(state.recorded.len(), 2);
        assert!(state.serial > current.serial, "serial numbers never go back");
        assert_eq!(kept.fleet(["plan"]).ok(), "No changes.\n");
    });
}

#[test]
fn a_state_follows_the_settings_to_another_database() {
    let kept = Kept::sqlite(&servers(3));
    kept.apply();
    let before = kept.state();
    let old = fs::read(kept.site.path().join(".fleet/state.db")).unwrap();

    // The settings say PostgreSQL now.
    let url = Server::shared().database();
    kept.site.write("settings.fleet.hcl", &postgres_settings("site"));
    kept.site.write("database.url", &url);
    kept.site.write("digest.key", "0123456789abcdef0123456789abcdef");
    assert_eq!(kept.fleet(["state", "list"]).ok(), "");
    let said = kept.fleet(["state", "migrate", "--from", "sqlite:.fleet/state.db"]).ok();
    assert!(said.starts_with("Copied 3 resources from the state in "), "{said}");
    assert_eq!(fs::read(kept.site.path().join(".fleet/state.db")).unwrap(), old, "the source is as it was");
    let kept = Kept { backend: Kept::at(url, "").backend, ..kept };
    assert_eq!(kept.state(), before);
    // With the place, the key of the digests is another one: it takes an apply until all are made with it.
    let plan = kept.fleet(["plan"]).ok();
    assert_eq!(plan, "No changes. 3 records will be brought up to date.\n");
    kept.apply();
    assert_eq!(kept.fleet(["plan"]).ok(), "No changes.\n");
    let before = kept.state();
    // It is not empty any more.
    let complaint = kept.fleet(["state", "migrate", "--from", "sqlite:.fleet/state.db"]).failed();
    assert!(complaint.contains("is not empty, it has 3 resources; nothing was done"), "{complaint}");

    // To another name in the same database, and back to a file.
    kept.site.write("settings.fleet.hcl", &postgres_settings("renamed"));
    kept.fleet(["state", "migrate", "--from", "postgres:site"]).ok();
    kept.site
        .write("settings.fleet.hcl", "settings {\n  backend \"sqlite\" {\n    path = \"new.db\"\n  }\n}\n");
    let from = ["state", "migrate", "--from", "postgres:renamed", "--from-url", "file:database.url"];
    let said = kept.fleet(from).ok();
    assert!(!said.contains(PASSWORD), "{said}");
    let back = Kept { backend: fleet_store::Backend::Sqlite(kept.site.path().join("new.db")), ..kept };
    assert_eq!(back.state(), before);
    // The new file lies beside the key.
    assert_eq!(back.fleet(["plan"]).ok(), "No changes.\n");
    back.check_converges(3);
}

#[test]
fn a_migration_that_makes_no_sense_does_nothing() {
    let kept = Kept::sqlite(&servers(1));
    kept.apply();
    let before = block_on(Document::read(&kept.backend)).unwrap();
    let check = |from: &str, expected: &str| {
        let complaint = kept.fleet(["state", "migrate", "--from", from]).failed();
        assert!(complaint.contains(expected) && complaint.contains("help: "), "{complaint}");
        assert_eq!(block_on(Document::read(&kept.backend)).unwrap(), before);
    };
    check("sqlite:.fleet/state.db", "is where the settings have it already");
    check("sqlite:nowhere.db", "there is nothing in the state in `");
    check("postgres:site", "`postgres:site` does not say where the state was");
    check("postgres://ada:pass@host/x", "does not say where the state was");
    check("elsewhere", "`elsewhere` does not say where the state was");
    assert!(!kept.site.path().join("nowhere.db").exists());
}

#[test]
fn a_state_that_is_in_use_is_not_copied() {
    let kept = Kept::sqlite(&servers(1));
    let mut child = kept.stuck(1);
    kept.site
        .write("settings.fleet.hcl", "settings {\n  backend \"sqlite\" {\n    path = \"new.db\"\n  }\n}\n");
    let from = ["state", "migrate", "--from", "sqlite:.fleet/state.db"];
    let complaint = kept.fleet(from).failed();
    assert!(
        complaint.contains(&format!("(process {}, `fleet apply`); nothing was done", child.id())),
        "{complaint}"
    );
    signal(&child, "KILL");
    child.wait().unwrap();
    // What was begun there is taken along, and settled here.
    kept.fleet(["state", "migrate", "--from", "sqlite:.fleet/state.db"]).failed();
    fs::remove_file(kept.site.path().join("settings.fleet.hcl")).unwrap();
    kept.fleet(["lock", "release", "--force"]).ok();
    kept.site
        .write("settings.fleet.hcl", "settings {\n  backend \"sqlite\" {\n    path = \"new.db\"\n  }\n}\n");
    kept.fleet(from).ok();
    let kept = Kept { backend: fleet_store::Backend::Sqlite(kept.site.path().join("new.db")), ..kept };
    assert_eq!(kept.state().intents.len(), 1);
    kept.check_converges(1);
}

#[test]
fn reading_leaves_no_trace() {
    let lab = Lab::applied(&(servers(2) + "output \"x\" {\n  value = 1\n}\n"));
    let all = [
        &["state", "list"][..],
        &["state", "show", "test_server.a[0]"],
        &["state", "pull"],
        &["state", "history", "--details"],
        &["state", "mv", "test_server.a", "test_server.b", "--dry-run"],
        &["state", "rm", "test_server.a", "--dry-run"],
        &["lock", "status"],
        &["output"],
    ];
    for args in all {
        lab.without_a_trace(|| lab.site.fleet_words(args).ok());
    }
    // Where nothing is, nothing comes into being.
    let empty = Lab::new("");
    for args in all {
        let before = fs::read_dir(empty.site.path()).unwrap().count();
        empty.site.fleet_words(args);
        assert_eq!(fs::read_dir(empty.site.path()).unwrap().count(), before, "{args:?}");
    }
}
