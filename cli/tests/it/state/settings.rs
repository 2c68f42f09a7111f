//! Where the state is, as the settings say: found, refused with a reason, and shared.

use fleet_test_postgres::{PASSWORD, Server};
use fleet_test_provider::World;

use super::{Kept, servers};
use crate::support::Site;

fn site(text: &str) -> Site {
    let site = Site::empty();
    site.write("main.fleet.hcl", text);
    site
}

#[test]
fn settings_that_say_nothing_are_refused_where_they_stand() {
    let check = |settings: &str, expected: &[&str]| {
        let site = site(settings);
        for args in [&["plan"][..], &["apply", "--auto-approve"], &["state", "list"], &["output"]] {
            let complaint = site.fleet_words(args).failed();
            for expected in expected.iter().chain(&["main.fleet.hcl:"]) {
                assert!(complaint.contains(expected), "{args:?}: {expected} in {complaint}");
            }
        }
        assert!(!site.path().join(".fleet").exists(), "nothing was made");
    };
    let postgres = |url: &str| {
        format!("settings {{\n  backend \"postgres\" {{\n    url  = {url}\n    name = \"x\"\n  }}\n}}\n")
    };
    let secret = "secret \"db\" {\n  from = \"env:NOT_SET\"\n}\n";
    check(
        &(postgres("secret.db") + secret),
        &["cannot get secret.db", "variable `NOT_SET`", "main.fleet.hcl:3:12", "help: make it available"],
    );
    check(&postgres("secret.db"), &["undeclared secret `db`"]);
    check(&postgres("\"mysql://x\""), &["not the address of a database", "help: write `postgres://"]);
    check(&postgres("\"\""), &["`url` must not be empty"]);
    check(&postgres("core_value.a.output"), &["`core_value` is not known here yet", "use variables"]);
    check(
        "settings {\n  backend \"postgres\" {\n    name = \"x\"\n  }\n}\n",
        &["`url`", "main.fleet.hcl:2:3"],
    );
    check("settings {\n  backend \"sqlit\" {}\n}\n", &["unknown backend `sqlit`", "did you mean `sqlite`?"]);
    check(
        "settings {\n  backend \"sqlite\" {\n    paht = \"x\"\n  }\n}\n",
        &["`paht`", "did you mean `path`?"],
    );
    let patience = postgres("\"postgres://x\"").replace("name =", "patience = \"soon\"\n    name =");
    check(&patience, &["`soon` is not a length of time", "help: write it as `30s`"]);
    let key = |key: &str| {
        format!("settings {{\n  digest_key = {key}\n}}\nsecret \"k\" {{\n  from = \"file:k\"\n}}\n")
    };
    check(&key("\"0123456789abcdef\""), &["digest key that is no secret"]);
    check(&key("secret.k"), &["cannot get secret.k"]);
    let site = site(&key("secret.k"));
    site.write("k", "short");
    let complaint = site.fleet(["plan"]).failed();
    assert!(complaint.contains("digest key that can be guessed"), "{complaint}");
}

#[test]
fn validate_sees_wrong_settings_without_asking_for_secrets() {
    let text = "settings {\n  backend \"postgres\" {\n    url = secret.db\n  }\n}\nsecret \"db\" {\n  from = \"env:X\"\n}\n";
    let complaint = site(text).fleet(["validate"]).failed();
    assert!(complaint.contains("`name`"), "{complaint}");
    let right = text.replace("url =", "name = \"x\"\n    url =");
    assert_eq!(site(&right).fleet(["validate"]).ok(), "The configuration is valid.\n");
}

#[test]
fn variables_may_say_where_the_state_is() {
    let text = "variable \"env\" {}\nsettings {\n  backend \"sqlite\" {\n    path = \"${var.env}/state.db\"\n  }\n}\n\
                resource \"core_value\" \"v\" {\n  input = 1\n}\n";
    let site = site(text);
    site.fleet(["apply", "--auto-approve", "--var", "env=prod"]).ok();
    assert_eq!(site.fleet(["state", "list", "--var", "env=prod"]).ok(), "core_value.v\n");
    assert_eq!(site.fleet(["state", "list", "--var", "env=test"]).ok(), "");
    let complaint = site.fleet(["state", "list"]).failed();
    assert!(complaint.contains("depends on var.env, which has no value"), "{complaint}");
}

#[test]
fn mistakes_elsewhere_do_not_hide_the_state() {
    let settings = "settings {\n  backend \"sqlite\" {\n    path = \"other.db\"\n  }\n}\n";
    let good = "resource \"core_value\" \"v\" {\n  input = 1\n}\n";
    let site = site(&format!("{settings}{good}"));
    site.fleet(["apply", "--auto-approve"]).ok();
    for broken in [
        "resource \"no_such_kind\" \"x\" {\n  a = nowhere.b\n}\n",
        "resource \"core_value\" \"v\" {\n  input = ]\n}\n",
        "resource \"core_value\" {\n}\nvariable \"unset\" {}\n",
        "nonsense \"x\" {}\n",
    ] {
        site.write("main.fleet.hcl", &format!("{settings}{broken}"));
        site.fleet(["plan"]).failed();
        assert_eq!(site.fleet(["state", "list"]).ok(), "core_value.v\n", "{broken}");
    }
    // Where they may hide it, the wrong state is not taken for the right one.
    for broken in [
        settings.replace("\"other.db\"", "]"),
        settings.replace("backend", "bakend"),
        settings.replace("settings", "setings"),
    ] {
        site.write("main.fleet.hcl", &broken);
        let complaint = site.fleet(["state", "list"]).failed();
        assert!(complaint.contains("help: mend the configuration"), "{complaint}");
        site.fleet(["state", "rm", "core_value.v"]).failed();
    }
    assert!(!site.path().join(".fleet").exists());
}

#[test]
fn several_configurations_share_a_database() {
    let url = Server::shared().database();
    let sites = ["one", "two"].map(|name| {
        let kept = Kept::at(url.clone(), &servers(1).replace("\"a-", &format!("\"{name}-")));
        let settings = kept.site.read("settings.fleet.hcl").replace("\"site\"", &format!("\"{name}\""));
        kept.site.write("settings.fleet.hcl", &settings);
        kept.apply();
        kept
    });
    for kept in &sites {
        assert_eq!(kept.fleet(["state", "list"]).ok(), "test_server.a[0]\n");
        assert_eq!(kept.fleet(["plan"]).ok(), "No changes.\n");
    }
    assert_ne!(pulled_lineage(&sites[0]), pulled_lineage(&sites[1]));
}

fn pulled_lineage(kept: &Kept) -> String {
    let json: serde_json::Value = serde_json::from_str(&kept.fleet(["state", "pull"]).ok()).unwrap();
    json["lineage"].as_str().unwrap().to_owned()
}

/// Two people with one configuration, each in a directory of their own.
fn two_people(text: &str, with_key: bool) -> [Kept; 2] {
    let url = Server::shared().database();
    let world = World::start();
    let [mut first, second] = [(); 2].map(|()| {
        let kept = Kept::at(url.clone(), text);
        kept.site.write("world.fleet.hcl", &world.configuration());
        kept.site.write("password", "s3cret-of-them");
        if !with_key {
            let settings =
                kept.site.read("settings.fleet.hcl").replace("  digest_key = secret.digest_key\n", "");
            kept.site.write("settings.fleet.hcl", &settings);
        }
        kept
    });
    first.world = world;
    [first, second]
}

const WITH_PASSWORD: &str = "secret \"password\" {\n  from = \"file:password\"\n}\n\
    resource \"test_server\" \"a\" {\n  name = \"a\"\n  password = secret.password\n}\n";

#[test]
fn those_who_share_the_key_agree_about_secrets() {
    let [ada, grace] = two_people(WITH_PASSWORD, true);
    ada.apply();
    assert_eq!(grace.fleet(["plan"]).ok(), "No changes.\n");
    // A plan that one of them saved fits the other.
    ada.world.change("a", |server| server.size = 7);
    ada.fleet(["plan", "--out", "reviewed.plan"]).ok();
    std::fs::copy(ada.site.path().join("reviewed.plan"), grace.site.path().join("reviewed.plan")).unwrap();
    grace.fleet(["apply", "reviewed.plan"]).ok();
    assert_eq!(ada.world.server("a").size, 1);
    for kept in [&ada, &grace] {
        assert!(!kept.site.path().join(".fleet/digest.key").exists());
    }
}

#[test]
fn those_who_do_not_are_warned() {
    let [ada, grace] = two_people(WITH_PASSWORD, false);
    let said = ada.fleet(["plan"]);
    assert!(
        said.stdout.contains("shared state without a shared digest key"),
        "{}{}",
        said.stdout,
        said.stderr
    );
    ada.apply();
    let plan = grace.fleet(["plan"]).ok();
    assert!(plan.contains("~ password = (sensitive value)"), "{plan}");
}

#[test]
fn neither_password_nor_address_is_shown_or_kept() {
    let kept = Kept::at(Server::shared().database(), &servers(1));
    kept.apply();
    let wrong = kept.site.read("database.url").replace(PASSWORD, "wrong-password");
    let mut printed = String::new();
    for args in [
        &["plan", "--log", "trace"][..],
        &["state", "pull"],
        &["state", "history"],
        &["lock", "status"],
        &["state", "migrate", "--from", "postgres:nobody", "--from-url", "file:database.url"],
    ] {
        let ran = kept.site.fleet_words(args);
        printed += &(ran.stdout + &ran.stderr);
    }
    kept.site.write("database.url", &wrong);
    for args in [&["plan"][..], &["apply", "--auto-approve"], &["state", "list"], &["lock", "release"]] {
        let complaint = kept.site.fleet_words(args).failed();
        assert!(complaint.contains("cannot open the state `site` in PostgreSQL"), "{complaint}");
        printed += &complaint;
    }
    for secret in [PASSWORD, "wrong-password", "postgres://"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}
