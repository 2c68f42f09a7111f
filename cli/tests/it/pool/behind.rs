//! What others do meanwhile, and what is nobody's business.

use fleet_engine::host::reach::Secret;
use fleet_lab::ServerEdit;
use fleet_lab::fault::Fault;
use fleet_lab::scaleway::{ErrorType, Operation, ServerStatus};
use fleet_transport::http::{Options, Outcome, Verb, connect};
use serde_json::json;

use super::world::World;

/// Somebody installs a server anew at the vendor's console, and waits until it is there again.
fn reinstall(world: &World, server: &str) {
    let before = world.lab.server(server).unwrap();
    let options = Options {
        name: "the vendor",
        url: world.lab.api_url(),
        header: "x-auth-token",
        credential: &Secret(world.lab.add_token("console", None).secret),
        headers: &[],
        request_id: "x-request-id",
        timeout: std::time::Duration::from_secs(10),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let path = ["apple-silicon", "v1alpha1", "zones", &before.zone, "servers", &before.id, "reinstall"];
    let sent = runtime.block_on(async {
        let (_, writer) = connect(&options).unwrap();
        writer.send("reinstalling", Verb::Post, &path, Some(&json!({}))).await
    });
    assert!(matches!(&sent, Outcome::Answered(answer) if answer.status == 200), "{sent:?}");
    let is_done = || {
        let now = world.lab.server(server).unwrap();
        now.installs > before.installs && now.status == ServerStatus::Ready
    };
    while !is_done() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_host_that_somebody_installed_anew_converges_again() {
    let world = World::of(3);
    let runners = world.runners();
    runners.apply(2).ok();
    let before = world.accounts()["staging-runner-1"].server.id.clone();
    reinstall(&world, "staging-runner-1");
    let at = world.n_requests();
    let planned = runners.plan(2).ok();
    assert!(planned.contains("reinstalled behind our back"), "the plan says so: {planned}");
    runners.apply(2).ok();
    runners.check(2, "installed anew by somebody");
    assert_eq!(world.accounts()["staging-runner-1"].server.id, before);
    assert_eq!(world.writes_after(at).len(), 0, "its name was right all the time");
    runners.destroy().ok();
    runners.check(0, "gone");
}

#[test]
fn what_is_not_ours_is_never_touched() {
    let world = World::of(4);
    let call = |server: &str, name: &str| {
        let edit = ServerEdit { name: Some(name.into()), ..ServerEdit::default() };
        assert!(world.lab.edit_server(server, edit));
    };
    // Of somebody who has no fleet, and of nobody, although it is called as ours would be.
    call("pool-01", "ci-of-another-team");
    call("pool-02", "staging-runner-1");
    let theirs: Vec<String> =
        ["ci-of-another-team", "staging-runner-1"].map(|name| world.lab.server(name).unwrap().id).into();
    let runners = world.runners();
    runners.apply(1).ok();
    runners.apply(1).ok();
    runners.destroy().ok();
    let accounts = world.accounts();
    assert!(accounts.values().all(|account| account.ledger.is_none()), "{accounts:#?}");
    let names: Vec<&String> = accounts
        .values()
        .filter(|account| theirs.contains(&account.server.id))
        .map(|account| &account.server.name)
        .collect();
    assert_eq!(names, ["ci-of-another-team", "staging-runner-1"]);
    for entry in world.writes_after(0) {
        assert!(entry.server.is_none_or(|server| !theirs.contains(&server)), "{:?}", entry.path);
    }
}

#[test]
fn where_no_host_is_free_the_others_go_on() {
    let world = World::of(2);
    let runners = world.runners();
    let refused = runners.apply(3);
    let complaint = format!("{}{}", refused.stdout, refused.stderr);
    assert_eq!(refused.exit, fleet_cli::Exit::Failed, "{complaint}");
    assert!(complaint.contains("no host of `pool.minis` is free"), "{complaint}");
    assert!(complaint.contains("help: order a host"), "{complaint}");
    let named =
        |operation| world.writes_after(0).iter().filter(|entry| entry.operation == Some(operation)).count();
    assert_eq!((named(Operation::UpdateServer), named(Operation::ReinstallServer)), (2, 0));
    let accounts = world.accounts();
    assert!(accounts.values().all(|account| account.ledger.is_some()), "{accounts:#?}");
    runners.destroy().ok();
    runners.check(0, "gone");
}

#[test]
fn a_plan_asks_again_what_was_not_answered_for_now() {
    let world = World::of(2);
    let runners = world.runners();
    world.lab.fault(Fault::refused(ErrorType::TooManyRequests).on(Operation::ListServers));
    let planned = runners.plan(1).ok();
    assert!(
        planned.contains("fleet.runners[0].host was asked again once: cannot list the servers"),
        "{planned}"
    );
    assert!(planned.contains("first choice pool-01"), "{planned}");
    runners.apply(1).ok();
    // A host that is there is not left out for one answer of the vendor.
    world.lab.fault(Fault::failed(503).on(Operation::ListServers));
    let planned = runners.plan(1).ok();
    assert!(planned.contains("No changes.") && planned.contains("was asked again once"), "{planned}");
    runners.check(1, "asked again");
}

#[test]
fn a_family_that_the_vendor_has_no_more_is_a_warning() {
    let world = World::of(1);
    let runners = world.runners();
    runners.apply(1).ok();
    world.lab.edit(|vendor, _| {
        vendor.catalogue.os.retain(|os| os.family != "Tahoe");
        let other = vendor.catalogue.os.iter().find(|os| os.family == "Sequoia").unwrap().name.clone();
        vendor.catalogue.default_os = other;
    });
    let destroyed = runners.destroy();
    assert_eq!(destroyed.exit, fleet_cli::Exit::Done, "{destroyed:?}");
    let said = format!("{}{}", destroyed.stdout, destroyed.stderr);
    assert!(said.contains("no system of the family `Tahoe` for M2-L any more"), "{said}");
    runners.check(0, "with another system");
}

#[test]
fn what_it_takes_to_go_on_is_not_shown() {
    let world = World::of(1);
    let runners = world.runners();
    let planned = runners.plan(1).ok();
    assert!(planned.contains("deletable_at") && !planned.contains("journal"), "{planned}");
}
