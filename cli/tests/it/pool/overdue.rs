//! Hosts that do not come back in time: giving them back is tried again, with a reboot in between, and ends.

use std::thread;
use std::time::Duration;

use fleet_cli::Exit;
use fleet_lab::ServerEdit;
use fleet_lab::fault::{Effect, Fault};
use fleet_lab::scaleway::{Operation, Seconds, ServerStatus};

use super::world::{Runners, World, ran};

/// Somebody whose hosts have so much time to go back.
fn runners<'w>(world: &'w World, deadline: &str) -> Runners<'w> {
    let runners = world.runners();
    let text = runners.site.read("main.fleet.hcl");
    let hurried = text.replace("deadline = \"45m\"", &format!("deadline = \"{deadline}\""));
    assert_ne!(text, hurried);
    runners.site.write("main.fleet.hcl", &hurried);
    runners
}

/// What the vendor was told of a server since a request, beside names.
fn told(world: &World, at: u64) -> Vec<Operation> {
    let all = world.writes_after(at).into_iter().filter_map(|entry| entry.operation);
    all.filter(|it| matches!(it, Operation::RebootServer | Operation::ReinstallServer)).collect()
}

#[test]
fn a_host_that_never_comes_back_is_quarantined_and_the_others_are_free() {
    let world = World::of(3);
    let runners = runners(&world, "8s");
    runners.apply(2).ok();
    let lost = world.lab.server("staging-runner-0").unwrap().id;
    // It is installed anew for ever; the other one as long as it takes.
    world
        .lab
        .fault(Fault { effect: Effect::Never, ..Fault::new() }.on(Operation::ReinstallServer).about(&lost));
    let at = world.n_requests();
    let child = runners.command(&["destroy", "--auto-approve", "--json"]).spawn().unwrap();
    while world.lab.faults()[0].hit == 0 {
        thread::sleep(Duration::from_millis(5));
    }
    let (status, power) = (Some(ServerStatus::Reinstalling), Some(false));
    assert!(world.lab.edit_server(&lost, ServerEdit { status, power, ..ServerEdit::default() }));
    let ended = ran(child.wait_with_output().unwrap());
    assert_eq!(ended.exit, Exit::Failed, "{ended:?}");
    let said = format!("{}{}", ended.stdout, ended.stderr);
    for words in [
        "did not get there within its deadline of 8s, and is quarantined",
        "done: named `returning-",
        "told to install itself anew",
        "not done: it was not seen clean, and not named free",
        "run it again: it goes on where it stopped",
        "the vendor's console",
    ] {
        assert!(said.contains(words), "`{words}`: {said}");
    }
    // It says what it waits for.
    assert!(ended.stdout.contains("\"on\":\"host\""), "{}", ended.stdout);
    assert_eq!(told(&world, at), [Operation::ReinstallServer; 2], "what does not answer is told nothing");
    let audit = runners.run(&["pool", "audit"]);
    assert_eq!(audit.exit, Exit::Failed);
    assert!(audit.stdout.contains("3 servers: 2 free, 1 quarantined"), "{audit:?}");
    assert!(audit.stdout.contains("broken: no server is held back: returning-"), "{audit:?}");
    // The next run ends too, and the one after the host was mended gives it back.
    assert_eq!(runners.destroy().exit, Exit::Failed);
    let (status, power) = (Some(ServerStatus::Ready), Some(true));
    assert!(world.lab.edit_server(&lost, ServerEdit { status, power, ..ServerEdit::default() }));
    runners.destroy().ok();
    runners.check(0, "mended");
}

#[test]
fn a_host_that_obeys_after_a_reboot_goes_back() {
    let world = World::of(1);
    let runners = runners(&world, "2m");
    runners.apply(1).ok();
    // What the vendor takes has no effect, until the machine was started anew.
    let ignored = Fault { effect: Effect::Never, ..Fault::new() }.on(Operation::ReinstallServer);
    world.lab.fault(ignored.times(2));
    let at = world.n_requests();
    runners.destroy().ok();
    use Operation::{RebootServer, ReinstallServer};
    assert_eq!(told(&world, at), [ReinstallServer, ReinstallServer, RebootServer, ReinstallServer]);
    runners.check(0, "after a reboot");
    world.check_installs(1, "after a reboot");
}

/// A server that its vendor deletes while it goes back is forgotten, and nobody waits for it.
#[test]
fn a_host_that_is_deleted_on_its_way_back_is_forgotten() {
    let world = World::of(2);
    let runners = runners(&world, "1m");
    runners.apply(1).ok();
    let id = world.lab.server("staging-runner-0").unwrap().id;
    world.lab.edit(|vendor, _| {
        let week = Seconds::new(7 * 24 * 3600);
        vendor.rules.reinstall = (week, week);
    });
    let child = runners.command(&["destroy", "--auto-approve"]).spawn().unwrap();
    while world.lab.server(&id).unwrap().status != ServerStatus::Reinstalling {
        thread::sleep(Duration::from_millis(5));
    }
    let gone = id.clone();
    world.lab.edit(move |vendor, now| vendor.servers.put(&gone, now, None));
    ran(child.wait_with_output().unwrap()).ok();
    runners.check(0, "deleted on its way");
    assert!(world.lab.server(&id).is_none());
}
