//! A life without accidents.

use std::collections::BTreeMap;

use fleet_lab::scaleway::Operation;

use super::world::World;

#[test]
fn runners_come_out_of_the_pool_and_go_back() {
    let world = World::of(4);
    let runners = world.runners();
    let planned = runners.plan(2).ok();
    assert!(
        planned.contains("first choice pool-01") && planned.contains("first choice pool-02"),
        "{planned}"
    );
    assert_eq!(world.writes_after(0).len(), 0, "a plan changes nothing");
    world.check_books(&BTreeMap::new(), "a plan claims nothing");

    let said = runners.apply(2).ok();
    assert!(said.contains("\"staging-runner-0\" = \"127.77.0.1\""), "{said}");
    runners.check(2, "made");
    let about = about(&world, "staging-runner-1");
    assert!(about.contains("\"name\":\"staging-runner-1\""), "{about}");

    let (first, at) = (world.accounts()["staging-runner-0"].server.id.clone(), world.n_requests());
    runners.apply(3).ok();
    runners.check(3, "one more");
    assert_eq!(world.accounts()["staging-runner-0"].server.id, first);
    let touched =
        |at| world.writes_after(at).into_iter().filter_map(|entry| entry.server).collect::<Vec<_>>();
    assert_eq!(touched(at), [world.accounts()["staging-runner-2"].server.id.as_str()], "one rename, once");

    let at = world.n_requests();
    runners.apply(1).ok();
    runners.check(1, "two less");
    let returned = |at| {
        let writes = world.writes_after(at);
        writes.iter().filter(|entry| entry.operation == Some(Operation::ReinstallServer)).count()
    };
    assert_eq!(returned(at), 2, "each is installed anew, once");
    assert!(!touched(at).contains(&first));
    // They can be had again.
    runners.apply(2).ok();
    runners.check(2, "two again");

    let at = world.n_requests();
    runners.destroy().ok();
    runners.check(0, "gone");
    assert_eq!(returned(at), 2);
    assert_eq!(world.check_log("a life"), 4);
    assert_eq!(runners.destroy().ok(), "No changes.\n");
}

/// What a runner knows of itself.
fn about(world: &World, name: &str) -> String {
    let id = world.lab.server(name).unwrap().id;
    let path = world.lab.directory().join("machines").join(id).join("root/Users/m1/runner/about.json");
    std::fs::read_to_string(path).unwrap()
}
