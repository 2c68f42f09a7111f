//! `fleet state list`, `show`, `mv` and `rm`.

use fleet_engine::address::Target;
use fleet_engine::state::{Object, Store, Write};
use fleet_store::{Database, Holder, Summary};
use serde_json::{Value as Json, json};

use super::{Kept, block_on, on_both};

const TWO_MODULES: &str = r#"
module "web" {
  source   = "./part"
  for_each = toset(["a", "b"])
  name     = each.key
}

resource "test_server" "db" {
  name = "db"
}

resource "test_server" "api" {
  count    = 2
  name     = "api-${count.index}"
  labels   = { db = test_server.db.id }
  password = var.password
}

variable "password" {
  sensitive = true
  default   = "pass-word-of-api"
}
"#;

const PART: &str = r#"
variable "name" {}

resource "test_server" "one" {
  name = "web-${var.name}"
}
"#;

const ALL: [&str; 5] = [
    "module.web[\"a\"].test_server.one",
    "module.web[\"b\"].test_server.one",
    "test_server.api[0]",
    "test_server.api[1]",
    "test_server.db",
];

fn applied(kept: &Kept) {
    kept.site.write("part/main.fleet.hcl", PART);
    kept.apply();
}

fn list<const N: usize>(kept: &Kept, args: [&str; N]) -> Vec<String> {
    let words: Vec<&str> = ["state", "list"].into_iter().chain(args).collect();
    kept.site.fleet_words(&words).ok().lines().map(str::to_owned).collect()
}

/// Changes the state behind everybody's back.
fn write(kept: &Kept, writes: Vec<Write>) {
    block_on(async {
        let holder = Holder::of_process("test", |_| None);
        let database = Database::open(&kept.backend, &holder, None).await.unwrap();
        for write in writes {
            database.write(write).await.unwrap();
        }
        database.close(Summary::default()).await.unwrap();
    });
}

fn address(text: &str) -> fleet_engine::address::Address {
    fleet_engine::address::Address::parse(text).unwrap()
}

#[test]
fn everything_is_listed_or_what_is_asked_for() {
    on_both(TWO_MODULES, |kept| {
        assert_eq!(list(kept, []), Vec::<String>::new());
        applied(kept);
        let mut all = ALL;
        all.sort_unstable();
        let mut listed = list(kept, []);
        listed.sort();
        assert_eq!(listed, all);
        assert_eq!(list(kept, ["module.web"]), ALL[..2]);
        assert_eq!(list(kept, ["module.web[\"b\"]"]), ALL[1..2]);
        assert_eq!(list(kept, ["test_server.api"]), ALL[2..4]);
        assert_eq!(list(kept, ["test_server.api[1]", "test_server.db"]), ALL[3..]);
        assert_eq!(list(kept, ["test_server.nobody"]), Vec::<String>::new());
        let complaint = kept.fleet(["state", "list", "a b"]).failed();
        assert!(complaint.contains("`a b` is not an address"), "{complaint}");
    });
}

#[test]
fn older_objects_and_what_was_begun_are_marked() {
    let kept = Kept::sqlite(TWO_MODULES);
    applied(&kept);
    let record = kept.state().recorded[&address("test_server.db")].clone();
    let depose = Write::Depose { address: address("test_server.db"), number: 3, recorded: record.clone() };
    let intent = fleet_engine::state::Intent { operation: fleet_engine::state::Operation::Create, record };
    let begin = Write::Begin { object: Object::current(address("test_server.new")), intent };
    write(&kept, vec![depose, begin]);
    let listed = list(&kept, ["test_server.db", "test_server.new"]);
    assert_eq!(listed, ["test_server.db", "test_server.db (deposed 3)", "test_server.new (begun)"]);
    let shown = kept.fleet(["state", "show", "test_server.db"]).ok();
    let titles: Vec<&str> = shown.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(titles, ["# test_server.db", "# test_server.db (deposed 3)"]);
    let shown = kept.fleet(["state", "show", "test_server.new"]).ok();
    assert!(shown.starts_with("# test_server.new (create begun, not settled)\n"), "{shown}");
}

#[test]
fn one_thing_is_shown_without_what_is_sensitive() {
    on_both(TWO_MODULES, |kept| {
        applied(kept);
        let shown = kept.fleet(["state", "show", "test_server.api[1]"]).ok();
        for line in [
            "# test_server.api[1]",
            "resource \"test_server\" \"api\" {",
            "  name        = \"api-1\"",
            "  password    = (sensitive value)",
            "  size        = 1",
        ] {
            assert!(shown.lines().any(|found| found == line), "{line} in {shown}");
        }
        let printed = kept.fleet(["state", "show", "test_server.api[1]", "--json"]).ok();
        let json: Json = serde_json::from_str(&printed).unwrap();
        assert_eq!(json["address"], "test_server.api[1]");
        assert_eq!(json["attributes"]["labels"]["db"], json!(kept.world.server("db").id));
        assert_eq!(json["attributes"]["password"], Json::Null);
        assert!(json["sensitive"].as_array().unwrap().contains(&"password".into()), "{json}");
        assert_eq!(json["depends_on"], json!(["test_server.db"]));
        assert!(!(shown + &printed).contains("pass-word-of-api"));

        let complaint = kept.fleet(["state", "show", "test_server.dv"]).failed();
        assert!(complaint.contains("there is no `test_server.dv` in the state"), "{complaint}");
        assert!(complaint.contains("help: did you mean `test_server.db`?"), "{complaint}");
        let complaint = kept.fleet(["state", "show", "module.web"]).failed();
        assert!(complaint.contains("`module.web` is not the address of one thing"), "{complaint}");
    });
}

#[test]
fn what_is_moved_is_kept() {
    on_both(TWO_MODULES, |kept| {
        applied(kept);
        let before = kept.world.servers();
        let dry = kept.fleet(["state", "mv", "module.web", "module.front", "--dry-run"]).ok();
        assert_eq!(dry.lines().count(), 2);
        assert!(
            dry.contains("module.web[\"a\"].test_server.one → module.front[\"a\"].test_server.one"),
            "{dry}"
        );
        assert_eq!(list(kept, ["module.front"]), Vec::<String>::new());

        kept.fleet(["state", "mv", "module.web", "module.front"]).ok();
        kept.fleet(["state", "mv", "test_server.db", "test_server.database"]).ok();
        kept.fleet(["state", "mv", "test_server.api", "test_server.backend"]).ok();
        assert_eq!(list(kept, ["module.web", "test_server.api", "test_server.db"]), Vec::<String>::new());
        // What depended on it depends on its new name.
        let api = &kept.state().recorded[&address("test_server.backend[0]")];
        assert_eq!(*api.depends_on, [Target::parse("test_server.database").unwrap()]);
        let text = TWO_MODULES
            .replace("module \"web\"", "module \"front\"")
            .replace("\"db\" {", "\"database\" {")
            .replace("test_server.db", "test_server.database")
            .replace("\"api\"", "\"backend\"");
        kept.site.write("main.fleet.hcl", &text);
        assert_eq!(kept.fleet(["plan"]).ok(), "No changes.\n");
        assert_eq!(kept.world.servers(), before);

        // One instance gets a key, or loses it.
        kept.fleet(["state", "mv", "test_server.backend[1]", "test_server.single"]).ok();
        assert_eq!(list(kept, ["test_server.single"]), ["test_server.single"]);
    });
}

#[test]
fn a_move_that_makes_no_sense_does_nothing() {
    let kept = Kept::sqlite(TWO_MODULES);
    applied(&kept);
    let before = kept.state();
    let check = |from: &str, to: &str, expected: &str| {
        let complaint = kept.fleet(["state", "mv", from, to]).failed();
        assert!(complaint.contains(expected), "{from} {to}: {complaint}");
        assert!(complaint.contains("nothing was done") && complaint.contains("help: "), "{complaint}");
        assert_eq!(kept.state(), before);
    };
    check("test_server.nobody", "test_server.x", "there is no `test_server.nobody` in the state");
    check("test_server.api[0]", "test_server.api[1]", "`test_server.api[1]` is in the state already");
    check("test_server.db", "core_file.db", "a `test_server` cannot become a `core_file`");
    check("test_server.db", "test_server.db", "both addresses are `test_server.db`");
    check("test_server.db", "module.web", "`test_server.db` is one thing, and `module.web` a whole module");
    check("module.web", "test_server.x", "`module.web` cannot be moved to `test_server.x`");
    check("test_server.api", "test_server.x[0]", "there is no `test_server.api` in the state");
}

#[test]
fn what_is_forgotten_is_still_there() {
    on_both(TWO_MODULES, |kept| {
        applied(kept);
        let before = kept.world.servers();
        let dry = kept.fleet(["state", "rm", "--dry-run", "module.web", "test_server.api[0]"]).ok();
        assert_eq!(dry.lines().filter(|line| line.ends_with(": would be forgotten")).count(), 3, "{dry}");
        assert_eq!(list(kept, []).len(), 5);
        let said = kept.fleet(["state", "rm", "module.web", "test_server.api[0]"]).ok();
        assert_eq!(said.lines().last(), Some("Nothing was destroyed: what is forgotten is still there."));
        assert_eq!(list(kept, []), [ALL[3], ALL[4]]);
        assert_eq!(kept.world.servers(), before);

        let complaint = kept.fleet(["state", "rm", "test_server.db", "module.web"]).failed();
        assert!(complaint.contains("there is no `module.web` in the state; nothing was done"), "{complaint}");
        assert_eq!(list(kept, []).len(), 2);
    });
}
