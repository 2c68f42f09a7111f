//! Every field of every kind: changed in the file, changed behind our back.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use fleet_engine::schema::{Attribute, Catalog, Presence, Sort};
use fleet_test_provider::Server;

use super::Lab;
use crate::support::providers;

/// A field of a kind, what it is at first and what it becomes.
type Field = (&'static str, &'static str, &'static str);

const FILE: &[Field] = &[
    ("path", r#""a.txt""#, r#""b.txt""#),
    ("content", r#""one\n""#, r#""one\ntwo\n""#),
    ("mode", r#""0600""#, r#""0640""#),
];

const VALUE: &[Field] =
    &[("input", "{ a = [1, 2] }", "{ a = [1, 3] }"), ("triggers_replace", r#"["one"]"#, r#"["two"]"#)];

const SERVER: &[Field] = &[
    ("name", r#""web""#, r#""db""#),
    ("zone", r#""b""#, r#""c""#),
    ("size", "2", "3"),
    ("image", r#""Base-2""#, r#""base-3""#),
    ("description", r#""front""#, r#""back""#),
    ("labels", r#"{ tier = "front", old = "yes" }"#, r#"{ tier = "back" }"#),
    ("ports", "[443, 80]", "[80, 443]"),
    ("routes", r#"{ "10.0.0.0/8" = ["a", "b"] }"#, r#"{ "10.0.0.0/8" = ["b", "a"] }"#),
    ("password", r#""first""#, r#""second""#),
    ("join_token", r#""third""#, r#""fourth""#),
];

const KINDS: &[(&str, &[Field])] = &[("core_file", FILE), ("core_value", VALUE), ("test_server", SERVER)];

fn resource(kind: &str, fields: &[(&str, &str)]) -> String {
    let lines: String = fields.iter().map(|(name, value)| format!("  {name} = {value}\n")).collect();
    format!("resource \"{kind}\" \"x\" {{\n{lines}}}\n")
}

/// All fields of a kind, one of them another.
fn with(kind: &str, fields: &[Field], changed: Option<&str>) -> String {
    let value = |(name, first, second): &Field| (*name, if changed == Some(name) { *second } else { *first });
    resource(kind, &fields.iter().map(value).collect::<Vec<_>>())
}

fn attribute(kind: &str, name: &str) -> Attribute {
    let catalog = providers(PathBuf::new());
    catalog.find(Sort::Resource, kind).unwrap().schema.attributes[name].clone()
}

#[test]
fn the_tables_know_every_field() {
    let catalog = providers(PathBuf::new());
    assert_eq!(catalog.names(Sort::Resource), KINDS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (kind, fields) in KINDS {
        let schema = &catalog.find(Sort::Resource, kind).unwrap().schema;
        let all = schema.attributes.iter().filter(|(_, a)| a.presence.is_configurable());
        let all: BTreeSet<&str> = all.map(|(name, _)| &**name).collect();
        assert_eq!(fields.iter().map(|(name, ..)| *name).collect::<BTreeSet<_>>(), all, "{kind}");
    }
}

#[test]
fn each_field_that_changes_in_the_file_is_planned_alone() {
    for (kind, fields) in KINDS {
        for (name, ..) in *fields {
            let lab = Lab::applied(&with(kind, fields, None));
            lab.check_converged();
            lab.write(&with(kind, fields, Some(name)));
            let verb = if attribute(kind, name).forces_replace { "replace" } else { "update" };
            let address = format!("{kind}.x");
            lab.without_a_trace(|| lab.check_plan(&[(&address, &format!("{verb} {name}"))]));
            lab.apply();
            lab.check_converged();
            let direct = Lab::applied(&with(kind, fields, Some(name)));
            assert_eq!(lab.reality().without_ids(), direct.reality().without_ids(), "{kind} {name}");
        }
    }
}

#[test]
fn each_field_that_is_left_out_goes_back_to_its_default_or_is_left_to_reality() {
    for (kind, fields) in KINDS {
        for (name, ..) in *fields {
            let attribute = attribute(kind, name);
            if attribute.presence == Presence::Required {
                continue;
            }
            let lab = Lab::applied(&with(kind, fields, None));
            let others: Vec<_> = fields.iter().filter(|(other, ..)| other != name).collect();
            let others: Vec<_> = others.into_iter().map(|(name, first, _)| (*name, *first)).collect();
            lab.write(&resource(kind, &others));
            let verb = if attribute.forces_replace { "replace" } else { "update" };
            if attribute.presence == Presence::OptionalComputed {
                lab.check_plan(&[]);
            } else {
                lab.check_plan(&[(&format!("{kind}.x"), &format!("{verb} {name}"))]);
            }
            lab.apply();
            lab.check_converged();
            // And it comes back.
            lab.write(&with(kind, fields, None));
            lab.apply();
            lab.check_converged();
        }
    }
}

/// What happens to a server behind our back, and what a plan makes of it.
type Drift = (&'static str, fn(&mut Server), &'static str);

const DRIFTS: &[Drift] = &[
    ("name", |server| server.name = "odd".into(), "replace name"),
    ("zone", |server| server.zone = "odd".into(), "replace zone"),
    ("size", |server| server.size = 9, "update size"),
    ("image", |server| server.image = Some("odd".into()), "update image"),
    ("description", |server| server.description = None, "update description"),
    ("labels", |server| _ = server.labels.insert("odd".into(), "yes".into()), "update labels"),
    ("ports", |server| server.ports.reverse(), "update ports"),
    ("routes", |server| server.routes.clear(), "update routes"),
    ("password", |server| server.password = Some("odd".into()), "update password"),
    ("address", |server| server.address = Some("10.9.9.9".into()), "record"),
    ("console_key", |server| server.console_key = Some("odd".into()), "record"),
];

#[test]
fn each_field_of_a_server_that_changes_behind_our_back_is_seen_and_mended() {
    for (name, change, expected) in DRIFTS {
        let lab = Lab::applied(&with("test_server", SERVER, None));
        let before = lab.reality();
        lab.world.change("web", change);
        let plan = lab.without_a_trace(|| lab.plan(&[]));
        let steps = super::steps(&plan);
        assert_eq!(steps, [("test_server.x".to_owned(), (*expected).to_owned())].into(), "{name}");
        let drift = plan["steps"][0]["drift"].as_array().unwrap();
        assert_eq!(drift.iter().map(|d| d["attribute"].as_str().unwrap()).collect::<Vec<_>>(), [*name]);

        // Only the record changes, and nothing is forgotten with it.
        let odd = lab.reality();
        lab.apply_with(&["--refresh-only"]);
        assert_eq!(lab.reality(), odd, "{name}");
        let planned = if *expected == "record" { vec![] } else { vec![("test_server.x", *expected)] };
        lab.check_plan(&planned);

        lab.apply();
        lab.check_converged();
        if *expected != "record" {
            assert_eq!(lab.reality().without_ids(), before.without_ids(), "{name}");
        }
    }
}

#[test]
fn each_field_of_a_file_that_changes_behind_our_back_is_seen_and_mended() {
    let check = |change: fn(&std::path::Path), expected: &str| {
        let lab = Lab::applied(&with("core_file", FILE, None));
        let before = lab.reality();
        change(&lab.site.path().join("a.txt"));
        lab.without_a_trace(|| lab.check_plan(&[("core_file.x", expected)]));
        let odd = lab.reality();
        lab.apply_with(&["--refresh-only"]);
        assert_eq!(lab.reality(), odd);
        lab.apply();
        lab.check_converged();
        assert_eq!(lab.reality(), before);
    };
    check(|path| fs::write(path, "odd").unwrap(), "update content");
    check(|path| fs::write(path, [0xff]).unwrap(), "update content");
    check(|path| fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap(), "update mode");
    check(|path| fs::remove_file(path).unwrap(), "create");
}

#[test]
fn what_vanished_is_made_again() {
    let lab = Lab::applied(&with("test_server", SERVER, None));
    let before = lab.reality();
    lab.world.remove("web");
    lab.without_a_trace(|| lab.check_plan(&[("test_server.x", "create")]));
    lab.apply();
    lab.check_converged();
    assert_eq!(lab.reality().without_ids(), before.without_ids());
    // What is gone already needs nobody to destroy it.
    lab.world.remove("web");
    lab.destroy();
    assert_eq!(lab.destroy(), "No changes.\n");
}
