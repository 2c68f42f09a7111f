//! Round trips, counted by the server.

use std::time::Duration;

use fleet_test_sshd::Slow;

use super::desk::{Desk, MAIN};

fn files(count: usize) -> String {
    format!(
        "  resource \"host_file\" \"note\" {{\n    count   = {count}\n    path    = \"/etc/${{count.index}}\"\n    \
         content = \"${{count.index}} of ${{host.name}}\"\n  }}\n"
    )
}

/// One machine that counts.
fn desk() -> Desk {
    let mut desk = Desk::noting("");
    desk.connection = format!("root = \"{}\"", desk.machines[0].root().display());
    desk.write();
    desk
}

/// How many requests, commands and connections something took.
fn cost(desk: &Desk, work: impl FnOnce()) -> [usize; 3] {
    let server = &desk.machines[0].server;
    let count = || [server.requests(), server.commands(), server.connections()];
    let before = count();
    work();
    let after = count();
    [after[0] - before[0], after[1] - before[1], after[2] - before[2]]
}

#[test]
fn a_plan_takes_one_round_trip_whatever_is_on_the_host() {
    let mut desk = desk();
    for count in [1, 10, 200] {
        desk.inside(&files(count));
        desk.apply();
        assert_eq!(cost(&desk, || desk.check_converged()), [1, 1, 1], "{count}");
    }
    // From afar, too.
    let slow = Slow::before(desk.machines[0].server.port(), Duration::from_millis(20));
    let port = format!("port    = {}", desk.machines[0].server.port());
    let text = desk.site.read(MAIN);
    for count in [1, 10, 200] {
        desk.inside(&files(count));
        desk.apply();
        let afar = desk.site.read(MAIN).replace(&port, &format!("port    = {}", slow.port()));
        desk.site.write(MAIN, &afar);
        let plan = || drop(desk.site.fleet(["plan"]).ok());
        assert_eq!(cost(&desk, plan), [1, 1, 1], "{count}");
    }
    desk.site.write(MAIN, &text);
    // What is there and not as it should be costs no more.
    for entry in std::fs::read_dir(desk.machines[0].path("etc")).unwrap() {
        std::fs::write(entry.unwrap().path(), "tampered").unwrap();
    }
    let plan = || drop(desk.site.fleet(["plan"]).ok());
    assert_eq!(cost(&desk, plan), [1, 1, 1]);
}

#[test]
fn an_apply_goes_on_with_the_connection_of_its_plan() {
    let mut desk = desk();
    let mut costs = Vec::new();
    for count in [1, 10, 200] {
        desk.inside(&files(count));
        desk.apply();
        desk.run("destroy", &[]).ok();
        costs.push(cost(&desk, || drop(desk.apply())));
        desk.run("destroy", &[]).ok();
    }
    assert!(costs.iter().all(|[_, _, connections]| *connections == 1), "{costs:?}");
    // Steps that do not wait for each other travel together.
    assert!(costs[2][0] < 60, "{costs:?}");
}

#[test]
fn data_that_decides_where_to_look_takes_one_more_and_says_so() {
    let mut desk = desk();
    desk.inside(
        "  data \"host_facts\" \"this\" {}\n  resource \"host_file\" \"note\" {\n    path    = \"/etc/${data.host_facts.this.os}\"\n    content = \"x\"\n  }\n",
    );
    let plan = || {
        let text = desk.site.fleet(["plan"]).ok();
        assert!(text.contains("Reality was asked 1 more time"), "{text}");
    };
    assert_eq!(cost(&desk, plan), [2, 1, 1]);
}
