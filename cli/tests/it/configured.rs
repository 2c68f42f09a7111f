//! Provider configuration that is made from other resources: known while planning, or only during apply.

use fleet_test_provider::{Server, World};

use crate::support::Site;

/// The same configuration, with settings that nobody knows before `core_value.door` is made.
fn site(world: &World, text: &str) -> Site {
    let site = Site::empty();
    let settings =
        world.configuration().replace("url   = \"", "url   = \"${substr(core_value.door.id, 0, 0)}");
    site.write("world.fleet.hcl", &settings);
    site.write("main.fleet.hcl", text);
    site
}

fn door(version: u32) -> String {
    format!("resource \"core_value\" \"door\" {{\n  triggers_replace = {version}\n}}\n")
}

fn server(name: &str, size: u32) -> String {
    format!("resource \"test_server\" \"{name}\" {{\n  name = \"{name}\"\n  size = {size}\n}}\n")
}

fn sizes(world: &World) -> Vec<(String, i64)> {
    let mut found: Vec<_> = world.servers().into_iter().map(|server| (server.name, server.size)).collect();
    found.sort();
    found
}

#[test]
fn settings_may_be_made_during_apply() {
    let world = World::start();
    let text = [door(1), server("a", 1), server("b", 1), server("c", 1)].concat();
    let site = site(&world, &text);
    let plan = site.fleet(["plan"]).ok();
    assert!(plan.contains("Plan: 4 to create."), "{plan}");
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");

    // They become unknown again while something changes, goes and is made.
    site.write("main.fleet.hcl", &[door(2), server("a", 2), server("c", 1), server("d", 1)].concat());
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(sizes(&world), [("a".into(), 2), ("c".into(), 1), ("d".into(), 1)]);
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");

    // Something that changed behind our back is seen as soon as the settings are known.
    world.change("c", |server| server.size = 9);
    site.write("main.fleet.hcl", &[door(3), server("a", 2), server("c", 1), server("d", 1)].concat());
    site.fleet(["apply", "--auto-approve"]).ok();
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(sizes(&world), [("a".into(), 2), ("c".into(), 1), ("d".into(), 1)]);

    // What made the settings goes last, also if it was to be another one.
    site.write("main.fleet.hcl", &[door(4), server("a", 2), server("c", 1), server("d", 1)].concat());
    let ran = site.fleet(["destroy", "--auto-approve"]);
    let at = |line: &str| ran.stderr.find(line).unwrap_or_else(|| panic!("{line} in {}", ran.stderr));
    for name in ["a", "c", "d"] {
        assert!(at(&format!("test_server.{name}: destroyed")) < at("core_value.door: destroying"));
    }
    ran.ok();
    assert_eq!(world.servers(), Vec::<Server>::new());
}
