//! Signals: one stops, two abort, and nothing is lost either way.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};

use fleet_test_provider::{Operation, World};
use serde_json::Value as Json;

use crate::support::Site;

/// How many servers there are to be.
const SERVERS: usize = 8;

/// A site whose apply stands still: two servers are being made, and the world does not answer.
struct Stuck {
    world: World,
    site: Site,
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Stuck {
    fn new() -> Stuck {
        let (world, site) = (World::start(), Site::empty());
        site.write("world.fleet.hcl", &world.configuration());
        let servers = format!(
            "resource \"test_server\" \"a\" {{\n  count = {SERVERS}\n  name = \"a-${{count.index}}\"\n}}\n"
        );
        site.write("main.fleet.hcl", &servers);
        world.hold(Operation::Create);
        let args = ["apply", "--auto-approve", "--parallelism", "2", "--json-into", "events.jsonl"];
        let mut child = site.spawn(args);
        let stderr = BufReader::new(child.stderr.take().unwrap());
        world.until(|seen| seen.calls.get(&Operation::Create) == Some(&2));
        Stuck { world, site, child, stderr }
    }

    /// Sends a signal and waits until the process has said that it heard.
    fn signal(&mut self, name: &str, answer: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        loop {
            let mut line = String::new();
            assert!(self.stderr.read_line(&mut line).unwrap() > 0, "it ended without an answer");
            if line.starts_with(answer) {
                return;
            }
        }
    }

    /// Waits for the end. Returns the world, the site, and how many steps ended in which way.
    fn end(mut self) -> (World, Site, Json) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(1), "{rest}");
        let events = self.site.read("events.jsonl");
        let last: Json = serde_json::from_str(events.lines().last().unwrap()).unwrap();
        assert_eq!(last["type"], "finished");
        (self.world, self.site, last["counts"].clone())
    }
}

/// The next run makes what is missing, and nothing twice.
fn converges(world: &World, site: &Site) {
    world.release();
    site.fleet(["apply", "--auto-approve"]).ok();
    let mut names: Vec<String> = world.servers().into_iter().map(|server| server.name).collect();
    names.sort();
    assert_eq!(names, (0..SERVERS).map(|i| format!("a-{i}")).collect::<Vec<_>>());
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn one_signal_lets_what_runs_end_and_begins_nothing_new() {
    for name in ["INT", "TERM", "HUP"] {
        let mut stuck = Stuck::new();
        stuck.signal(name, "interrupted: nothing new is begun");
        stuck.world.release();
        let (world, site, counts) = stuck.end();
        assert_eq!((&counts["done"], &counts["not_started"]), (&2.into(), &6.into()), "{counts}");
        assert_eq!((world.servers().len(), world.calls(Operation::Create)), (2, 2));
        converges(&world, &site);
    }
}

#[test]
fn two_signals_leave_what_runs_and_write_what_is_known() {
    let mut stuck = Stuck::new();
    stuck.signal("INT", "interrupted: nothing new is begun");
    stuck.signal("INT", "aborting: ");
    let (world, site, counts) = stuck.end();
    assert_eq!((&counts["unknown"], &counts["not_started"]), (&2.into(), &6.into()), "{counts}");
    // The requests that were under way are carried out after all.
    world.release();
    world.until(|seen| seen.in_flight == 0);
    converges(&world, &site);
}
