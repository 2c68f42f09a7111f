//! `moved` blocks, and blocks that got or lost their `count`: things keep, whatever they are called.

use super::{Lab, Steps};

const SERVER: &str = "resource \"test_server\" \"a\" {\n  name = \"web\"\n  join_token = \"t\"\n}\n";

/// The two words of the two sides of a move.
fn moved(from: &str, to: &str) -> String {
    format!("moved {{\n  from = {from}\n  to   = {to}\n}}\n")
}

/// Goes from one configuration to another: the thing stays, at its new address.
#[track_caller]
fn check(before: &str, after: &str, expected: &[(&str, &str)]) {
    let lab = Lab::new(before);
    lab.site.write("modules/m/main.fleet.hcl", SERVER);
    lab.site.write("modules/n/main.fleet.hcl", &SERVER.replace("\"a\"", "\"b\""));
    lab.apply();
    let there = lab.reality();
    lab.write(after);
    let plan = lab.without_a_trace(|| lab.plan(&[]));
    let of_step = |step: &serde_json::Value| {
        let text = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
        (text("address"), text("moved_from"))
    };
    let moves: Steps = plan["steps"].as_array().unwrap().iter().map(of_step).collect();
    assert_eq!(moves, expected.iter().map(|(to, from)| ((*to).into(), (*from).into())).collect(), "{after}");
    assert!(super::steps(&plan).values().all(|what| what == "record"), "{plan}");
    lab.apply();
    assert_eq!(lab.reality(), there, "{after}");
    let recorded: Vec<String> = lab.state().recorded.keys().map(ToString::to_string).collect();
    assert_eq!(recorded, expected.iter().map(|(to, _)| (*to).to_owned()).collect::<Vec<_>>(), "{after}");
    lab.check_converged();
    // The block has done its work; that it stays changes nothing, and that it goes neither.
    if let Some((rest, _)) = after.split_once("moved {") {
        lab.write(rest);
        lab.check_converged();
    }
    lab.destroy();
    assert!(lab.world.servers().is_empty());
}

#[test]
fn a_thing_keeps_under_every_new_address() {
    let renamed = SERVER.replace("\"a\"", "\"b\"");
    let module =
        |name: &str, repeat: &str| format!("module \"{name}\" {{\n  source = \"./modules/m\"\n{repeat}}}\n");
    let with = |repeat: &str| SERVER.replace("{\n  name", &format!("{{\n  {repeat}\n  name"));
    let (x, y) = ("test_server.a", "test_server.b");
    check(SERVER, &format!("{renamed}{}", moved(x, y)), &[(y, x)]);
    check(
        SERVER,
        &format!("{}{}", module("m", ""), moved(x, "module.m.test_server.a")),
        &[("module.m.test_server.a", x)],
    );
    check(
        &module("m", ""),
        &format!("{SERVER}{}", moved("module.m.test_server.a", x)),
        &[(x, "module.m.test_server.a")],
    );
    check(
        &module("m", ""),
        &format!("{}{}", module("k", ""), moved("module.m", "module.k")),
        &[("module.k.test_server.a", "module.m.test_server.a")],
    );
    check(
        &module("m", ""),
        &format!("{}{}", module("m", "  for_each = toset([\"k\"])\n"), moved("module.m", "module.m[\"k\"]")),
        &[("module.m[\"k\"].test_server.a", "module.m.test_server.a")],
    );
    check(SERVER, &with("count = 1"), &[("test_server.a[0]", x)]);
    check(&with("count = 1"), SERVER, &[(x, "test_server.a[0]")]);
    check(
        SERVER,
        &format!("{}{}", with("for_each = toset([\"k\"])"), moved(x, "test_server.a[\"k\"]")),
        &[("test_server.a[\"k\"]", x)],
    );
    // One after the other.
    let twice = format!("{renamed}{}{}", moved("test_server.old", y), moved(x, "test_server.old"));
    check(SERVER, &twice, &[(y, x)]);
}

#[test]
fn a_module_that_gets_a_count_keeps_its_first() {
    let module = "module \"m\" {\n  source = \"./modules/m\"\n}\n";
    check(
        module,
        &module.replace("source", "count  = 1\n  source"),
        &[("module.m[0].test_server.a", "module.m.test_server.a")],
    );
}

#[test]
fn what_moves_can_change_at_the_same_time() {
    let check = |change: (&str, &str), expected: &str, keeps: bool| {
        let lab = Lab::applied(SERVER);
        let id = lab.world.servers()[0].id.clone();
        let after = SERVER.replace("\"a\"", "\"b\"").replace(change.0, change.1);
        lab.write(&format!("{after}{}", moved("test_server.a", "test_server.b")));
        lab.without_a_trace(|| lab.check_plan(&[("test_server.b", expected)]));
        lab.apply();
        let recorded: Vec<String> = lab.state().recorded.keys().map(ToString::to_string).collect();
        assert_eq!(recorded, ["test_server.b"], "{expected}");
        assert_eq!(lab.world.servers().len(), 1);
        assert_eq!(lab.world.servers()[0].id == id, keeps, "{expected}");
        lab.check_converged();
        lab.write("");
        lab.apply();
        assert!(lab.world.servers().is_empty());
        assert!(lab.state().recorded.is_empty());
    };
    check(("join_token = \"t\"", "size = 3"), "update join_token size", true);
    check(("\"web\"", "\"db\""), "replace name", false);
    check(
        ("name = \"web\"", "name = \"db\"\n  lifecycle {\n    create_before_destroy = true\n  }"),
        "replace name",
        false,
    );
}

#[test]
fn what_moved_and_vanished_is_made_at_its_new_address() {
    let lab = Lab::applied(SERVER);
    lab.write(&format!("{}{}", SERVER.replace("\"a\"", "\"b\""), moved("test_server.a", "test_server.b")));
    lab.world.remove("web");
    lab.check_plan(&[("test_server.b", "create")]);
    lab.apply();
    lab.check_converged();
    let recorded: Vec<String> = lab.state().recorded.keys().map(ToString::to_string).collect();
    assert_eq!(recorded, ["test_server.b"]);
}

#[test]
fn what_moved_and_is_not_declared_goes_from_its_new_address() {
    let lab = Lab::applied(SERVER);
    let other = "resource \"test_server\" \"b\" {\n  count = 0\n  name = \"web\"\n}\n";
    lab.write(&format!("{other}{}", moved("test_server.a", "test_server.b")));
    lab.apply();
    assert!(lab.world.servers().is_empty());
    assert!(lab.state().recorded.is_empty());
    lab.check_converged();
}
