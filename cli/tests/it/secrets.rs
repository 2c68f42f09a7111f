//! Secrets that change at their source, and secrets that cannot be had.

use std::fs;

use crate::converge::site;
use crate::support::Site;

const TEXT: &str = r#"
secret "key" {
  from = "file:key"
}

resource "core_file" "a" {
  path    = "a.txt"
  content = "key ${secret.key}"
}

resource "core_file" "b" {
  path    = "b.txt"
  content = "b"
}
"#;

fn applied() -> Site {
    let site = site(TEXT);
    site.write("key", "one");
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(site.read("a.txt"), "key one");
    site
}

#[test]
fn a_secret_that_changed_at_its_source_is_seen_by_those_who_ask_for_it() {
    let apply: fn(&Site) = |site| _ = site.fleet(["apply", "--auto-approve", "--resolve-secrets"]).ok();
    let apply_saved: fn(&Site) = |site| {
        let plan = site.fleet(["plan", "--resolve-secrets", "--out", "p"]).ok();
        assert!(plan.contains("~ core_file.a"), "{plan}");
        // Where the plan was made with secrets, it is compared with secrets.
        site.fleet(["apply", "p"]).ok();
    };
    for apply in [apply, apply_saved] {
        let site = applied();
        site.write("key", "two");
        assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
        apply(&site);
        assert_eq!(site.read("a.txt"), "key two");
        assert_eq!(site.fleet(["plan", "--resolve-secrets"]).ok(), "No changes.\n");
    }
    let complaint = applied().fleet(["apply", "p", "--resolve-secrets"]).failed();
    assert!(complaint.contains("a saved plan cannot be made another one"), "{complaint}");
}

#[test]
fn a_secret_that_cannot_be_had_stops_the_run_before_anything_is_touched() {
    let check = |site: &Site, args: &[&str]| {
        let before = (site.read("a.txt"), site.read("b.txt"));
        let ran = site.fleet_words(args);
        assert!(ran.stdout.contains("not started"), "{}", ran.stdout);
        let complaint = ran.failed();
        assert!(complaint.contains("cannot get secret.key: cannot read"), "{complaint}");
        assert!(complaint.contains("help: "), "{complaint}");
        assert_eq!((site.read("a.txt"), site.read("b.txt")), before);
    };
    let site = applied();
    fs::remove_file(site.path().join("key")).unwrap();
    // What is made anew must not go before its successor can be made.
    check(&site, &["apply", "--auto-approve", "--replace", "core_file.a"]);
    site.write("main.fleet.hcl", &TEXT.replace("\"b\"\n}", "\"bb\"\n}").replace("key $", "the key $"));
    check(&site, &["apply", "--auto-approve"]);
    // Nobody is asked for a secret that nothing needs.
    site.write("main.fleet.hcl", &TEXT.replace("\"b\"\n}", "\"bb\"\n}"));
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(site.read("b.txt"), "bb");
}
