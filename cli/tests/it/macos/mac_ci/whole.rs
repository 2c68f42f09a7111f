//! From nothing to three healthy fleets and back, as each service sees it.

use std::collections::BTreeSet;

use fleet_lab::gate::Pass;
use serde_json::{Value as Json, json};

use super::World;

/// The hosts, by their names.
const NAMES: [&str; 3] = ["staging-macos-0", "staging-runner-0", "staging-builder-0"];

#[test]
fn three_fleets_come_out_of_one_pool_and_go_back() {
    let world = World::new(4);
    let (before, nothing) = (world.snapshots(), world.views());
    let planned = world.run("plan", &[]).ok();
    assert!(planned.contains("fleet.macos[0]") && planned.contains("fleet.builders[0]"), "{planned}");
    assert_eq!(world.snapshots(), before, "a plan changes nothing");
    assert_eq!(world.views(), nothing, "a plan changes nothing");
    world.run_searched("apply");
    let again = world.run("plan", &[]).ok();
    assert!(again.starts_with("No changes."), "{again}");
    NAMES.iter().for_each(|name| check_mac(&world, name));
    check_views(&world, &nothing);

    let servers = NAMES.map(|name| world.rented.server(name).id);
    let devices = NAMES.map(|name| world.device(name));
    world.rented.lab.gate().begin_anew();
    world.run_searched("destroy");
    let calls = world.rented.lab.gate().passed();
    for ((name, server), device) in NAMES.iter().zip(&servers).zip(&devices) {
        check_order(&calls, name, server, device);
    }
    world.check_views(&nothing, "nobody knows of the Macs any more, and the pool is full again");
    let rented = &world.rented;
    for server in rented.lab.servers() {
        assert!(!rented.root(&server).join("var/tmp/fleet/ledger").exists(), "{}", server.name);
    }
    // What macOS reads when it starts counts until it is started anew; and nothing comes back then.
    rented.lab.servers().iter().for_each(|server| rented.restart(&server.id));
    for (id, after) in world.snapshots() {
        after.check_same(&before[&id], &id);
    }
}

/// The way out of each Mac: its runner is deregistered, its Node drained, what its agent may do revoked, its Node and its device
/// removed, with the Service that leads to it and the account of its agent; and then the pool has it back.
fn check_order(calls: &[Pass], name: &str, server: &str, device: &str) {
    let writes: Vec<String> = calls
        .iter()
        .filter(|call| call.changes())
        .map(|call| format!("{} {}", call.method, call.path))
        .collect();
    let all = |end: &str| {
        let places = writes.iter().enumerate().filter(|(_, write)| write.ends_with(end)).map(|(at, _)| at);
        places.collect::<Vec<_>>()
    };
    let first = |end: &str| *all(end).first().unwrap_or_else(|| panic!("{name}: no {end}: {writes:#?}"));
    let last = |end: &str| *all(end).last().unwrap_or_else(|| panic!("{name}: no {end}: {writes:#?}"));
    let node = format!("/api/v1/nodes/{name}");
    let drained = first(&format!("PATCH {node}"));
    let revoked =
        first(&format!("DELETE /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/tart-kubelet-{name}"));
    let deleted = last(&format!("DELETE {node}"));
    let left = first(&format!("DELETE /api/v2/device/{device}"));
    let returned = last(&format!("/servers/{server}"));
    let detached =
        writes.iter().position(|write| write.contains(&format!("/servers/{server}/private-networks/")));
    assert!(detached.is_some_and(|detached| detached < returned), "{name}: {writes:#?}");
    assert!(drained < revoked && revoked < deleted, "{name}: {writes:#?}");
    let account = format!("tart-kubelet-{name}");
    let token = writes
        .iter()
        .rposition(|write| write.starts_with(&format!("DELETE /api/v1/namespaces/ci/secrets/{account}")));
    let gone = [
        token.unwrap_or_else(|| panic!("{name}: its token is left: {writes:#?}")),
        deleted,
        left,
        last(&format!("DELETE /api/v1/namespaces/tailscale-operator/services/{name}")),
        last(&format!("DELETE /api/v1/namespaces/ci/serviceaccounts/{account}")),
    ];
    assert!(gone.iter().all(|gone| *gone < returned), "{name}: {gone:?} {returned} {writes:#?}");
    if name.contains("builder") {
        let is_it = |write: &String| write.starts_with("DELETE /orgs/example/actions/runners/");
        let deregistered = writes.iter().position(is_it).unwrap_or_else(|| panic!("{name}: {writes:#?}"));
        assert!(deregistered < deleted && deregistered < left, "{name}: {writes:#?}");
    }
}

/// What is on a Mac.
fn check_mac(world: &World, name: &str) {
    let rented = &world.rented;
    let said = |command| rented.as_root(name, command).ok();
    assert_eq!(said("hostname"), format!("{name}\n"));
    let service = said("launchctl print system/dev.fleet.tart-kubelet");
    assert!(service.contains("state = running"), "{name}: {service}");
    assert!(service.contains(&format!("--node-name={name}")), "{name}: {service}");
    assert!(service.contains("--provider-id=scw-applesilicon://"), "{name}: {service}");
    assert_eq!(service.contains("--disable-vm-gc"), name.contains("builder"), "{name}: {service}");
    assert_eq!(service.contains("--runner-cache-root=/Volumes/runner-cache"), name.contains("runner-0"));
    assert!(service.contains("--node-ip-source=tailscale"), "{name}: {service}");
    let address = said("tailscale ip -4");
    let listens = said("lsof -nP -iTCP:9100 -sTCP:LISTEN");
    assert!(listens.contains(&format!("{}:9100", address.trim())), "{name}: {listens}");
    assert!(said("launchctl print system/dev.fleet.log-shipper").contains("state = running"), "{name}");
    assert!(said("launchctl print gui/501").contains("session = Aqua"), "{name}");
    // VMs reach others, but nobody in a private network.
    assert_eq!(rented.as_root(name, "lab-packet out en0 tcp 192.168.64.5 10.0.0.1:443").status, Some(1));
    assert_eq!(rented.as_root(name, "lab-packet out en0 tcp 192.168.64.5 10.128.0.1:4000").status, Some(0));
    check_private_network(world, name);
    check_who_gets_in(world, name);
}

/// The Mac is in the private network, by the VLAN that the vendor gave it, and its VMs reach services there.
fn check_private_network(world: &World, name: &str) {
    let rented = &world.rented;
    let scaleway = rented.lab.scaleway();
    let server = rented.server(name).id;
    let attachment = scaleway.attachments.all().find(|one| one.server_id == server).expect(name);
    let vlans = rented.as_root(name, "networksetup -listVLANs").ok();
    assert!(vlans.contains(&format!("Tag: {}\n", attachment.vlan.unwrap())), "{name}: {vlans}");
    let service = rented.as_root(name, "networksetup -getinfo 'pn Configuration'").ok();
    assert!(service.contains("IP address: 172.16."), "{name}: {service}");
    let packet = |port: u16| format!("lab-packet out en0 tcp 192.168.64.5 172.16.0.9:{port}");
    assert_eq!(rented.as_root(name, &packet(30000)).status, Some(0), "{name}");
    assert_eq!(rented.as_root(name, &packet(22)).status, Some(1), "{name}");
}

/// Operators get in from the networks that are allowed, others of the tailnet by that, and nobody else does. Whoever runs fleet
/// is in: all of this is asked over SSH.
fn check_who_gets_in(world: &World, name: &str) {
    let rented = &world.rented;
    let arrives = |interface: &str, from: &str| {
        let here = rented.server(name).ip;
        rented.as_root(name, &format!("lab-packet in {interface} tcp {from} {here}:22")).status == Some(0)
    };
    assert!(arrives("en0", "198.51.100.7"), "{name}: an operator");
    assert!(arrives("utun0", "100.101.102.103"), "{name}: somebody in the tailnet");
    assert!(!arrives("en0", "192.0.2.9"), "{name}: a stranger");
    let of_vm =
        |to: &str| rented.as_root(name, &format!("lab-packet in bridge100 tcp 192.168.64.5 {to}:22")).status;
    assert_eq!((of_vm("140.82.112.3"), of_vm("192.168.64.6")), (Some(0), Some(1)), "{name}: a VM");
}

/// What the services say of them.
fn check_views(world: &World, before: &Json) {
    let views = world.views();
    let devices = views["devices"].as_array().unwrap();
    assert_eq!(devices.len(), NAMES.len(), "{views:#}");
    assert_eq!(views["keys"], before["keys"], "a key that let devices in is not left behind");
    assert_eq!((&before["networks"], &before["attached"]), (&json!([]), &json!([])));
    assert_eq!(views["networks"], json!([{ "name": "ci-staging" }]));
    let attached: BTreeSet<&str> =
        views["attached"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(attached, NAMES.into());
    for name in NAMES {
        let device = devices.iter().find(|device| device["hostname"] == name).expect(name);
        let address = &device["addresses"][0];
        assert_eq!(device["connectedToControl"], true, "{device:#}");
        assert_eq!(device["tags"], json!(["tag:ci"]));
        let object = |kind, namespace, name: &str| {
            let found = world.rented.lab.kubernetes().object(kind, namespace, name);
            found.unwrap_or_else(|| panic!("there is no {kind} {name}: {:#}", views["kubernetes"]))
        };
        let node = object("Node", None, name);
        let ready =
            node["status"]["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "Ready");
        assert_eq!(ready.unwrap()["status"], "True", "{node:#}");
        let addresses = node["status"]["addresses"].as_array().unwrap();
        assert!(addresses.iter().any(|one| one["address"] == *address), "{node:#}");
        let server = world.rented.server(name);
        let id = node["spec"]["providerID"].as_str().unwrap();
        assert!(id.starts_with("scw-applesilicon://") && id.ends_with(&server.id), "{id}");
        let account = format!("tart-kubelet-{name}");
        object("ServiceAccount", Some("ci"), &account);
        assert_eq!(object("ClusterRoleBinding", None, &account)["roleRef"]["name"], "tart-kubelet-staging");
        let service = object("Service", Some("tailscale-operator"), name);
        assert_eq!(service["metadata"]["annotations"]["tailscale.com/tailnet-fqdn"], device["name"]);
    }
    let [runner] = &views["runners"].as_array().unwrap()[..] else { panic!("{:#}", views["runners"]) };
    assert_eq!(runner["name"], "staging-builder-0");
    assert_eq!((&runner["status"], &runner["busy"]), (&json!("online"), &json!(false)));
}
