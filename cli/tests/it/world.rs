//! The test provider through the command line: the whole life of things that have ids of their own.

use fleet_test_provider::{Operation, Server, World};

use crate::child::finish;
use crate::support::Site;

const SERVERS: &str = r#"
resource "test_server" "db" {
  name = "db"
}

resource "test_server" "web" {
  count  = 3
  name   = "web-${count.index}"
  labels = { db = test_server.db.id }
  routes = { "10.0.0.0/8" = [test_server.db.address] }
}
"#;

fn site(world: &World, text: &str) -> Site {
    let site = Site::empty();
    site.write("world.fleet.hcl", &world.configuration());
    site.write("main.fleet.hcl", text);
    site
}

fn names(world: &World) -> Vec<String> {
    world.servers().into_iter().map(|server| server.name).collect()
}

#[test]
fn servers_are_made_kept_changed_and_removed() {
    let world = World::start();
    let site = site(&world, SERVERS);
    site.fleet(["apply", "--auto-approve"]).ok();
    let mut made = names(&world);
    made[1..].sort();
    assert_eq!(made, ["db", "web-0", "web-1", "web-2"]);
    assert_eq!(world.server("web-2").labels["db"], world.server("db").id.unwrap());
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");

    // Looking at all of them costs one call, and asks for nothing else.
    let before = world.seen().calls;
    site.fleet(["plan"]).ok();
    let mut after = world.seen().calls;
    *after.get_mut(&Operation::List).unwrap() -= 1;
    assert_eq!(after, before);

    world.change("web-1", |server| server.size = 7);
    world.remove("web-0");
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!((world.server("web-1").size, world.servers().len()), (1, 4));
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");

    site.fleet(["destroy", "--auto-approve"]).ok();
    assert_eq!(world.servers(), Vec::<Server>::new());
}

#[test]
fn a_process_of_its_own_reaches_the_world() {
    let world = World::start();
    let site = site(&world, SERVERS);
    let output = finish(site.spawn(["apply", "--auto-approve"]));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.servers().len(), 4);
    let output = finish(site.spawn(["plan"]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "No changes.\n");
}

#[test]
fn servers_that_others_made_can_be_read() {
    let world = World::start();
    world.put(Server { name: "old".into(), zone: "b".into(), size: 5, ..Server::default() });
    let text = r#"
data "test_server" "old" {
  name = "old"
  zone = "b"
}

resource "test_server" "new" {
  name = "new"
  size = data.test_server.old.size
}
"#;
    let site = site(&world, text);
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(world.server("new").size, 5);
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn a_server_without_settings_says_what_is_missing() {
    let site = Site::empty();
    site.write("main.fleet.hcl", "resource \"test_server\" \"a\" {\n  name = \"a\"\n}\n");
    let complaint = site.fleet(["plan"]).failed();
    assert!(complaint.contains("provider `test` cannot be used"), "{complaint}");
    assert!(complaint.contains("configure it with `provider \"test\" { … }`"), "{complaint}");
}
