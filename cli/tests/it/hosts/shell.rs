//! `fleet ssh`.

use super::desk::Desk;
use crate::child::finish;

#[test]
fn a_command_runs_on_the_host_of_a_slot() {
    let desk = Desk::of(2, "");
    desk.apply();
    for host in ["desk[1]", "fleet.desk[1]", "desk-1", "b"] {
        let output = finish(desk.site.spawn_with_path(["ssh", host, "ls", "-a", "/proc/self/fd/9/"]));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{host}: {text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.lines().any(|line| line == "etc"), "{text}");
    }
    assert_eq!(desk.machine("a").server.connections(), 1);
    let output = finish(desk.site.spawn_with_path(["ssh", "desk[0]", "exit 3"]));
    assert!(!output.status.success());
    let said = desk.site.fleet(["ssh", "desk[7]"]).failed();
    assert!(said.contains("unknown host"), "{said}");
}

#[test]
fn another_host_at_the_address_is_not_connected_to() {
    let mut desk = Desk::of(1, "");
    desk.apply();
    desk.machines[0].server.change_host_key();
    desk.machines[0].server.restart();
    let output = finish(desk.site.spawn_with_path(["ssh", "desk[0]", "true"]));
    assert!(!output.status.success());
    assert_eq!(desk.machine("a").server.connections(), 1);
}
