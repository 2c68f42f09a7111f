//! What lives at the vendor, through the command line, in a world of its own.

use std::fs;
use std::path::PathBuf;

use fleet_engine::schema::{Catalog, Sort};
use fleet_lab::clock::Pace;
use fleet_lab::fault::Fault;
use fleet_lab::scaleway::{ErrorType, Operation};
use fleet_lab::{Lab, Options, ServerEdit};
use serde_json::Value as Json;

use crate::support::{Ran, Site, providers};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
const OTHER: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA";

/// A world, and a directory with a configuration for it.
struct World {
    lab: Lab,
    site: Site,
}

impl World {
    fn new(text: &str) -> World {
        let lab = Lab::start(Options { pace: Pace::Times(100.0), ..Options::default() }).unwrap();
        let first = lab.servers()[0].id.clone();
        lab.edit_server(&first, ServerEdit { name: Some("builder-0".into()), ..ServerEdit::default() });
        let site = Site::empty();
        site.write("key", lab.secret_key());
        let (project, url) = (lab.project_id(), lab.api_url());
        site.write(
            "vendor.fleet.hcl",
            &format!(
                "secret \"vendor\" {{\n  from = \"file:key\"\n}}\n\nprovider \"scaleway\" {{\n  project_id = \"{project}\"\n  \
                 secret_key = secret.vendor\n  api_url    = \"{url}\"\n}}\n"
            ),
        );
        site.write("main.fleet.hcl", text);
        World { lab, site }
    }

    fn run(&self, command: &str) -> Ran {
        self.site.fleet([command, "--auto-approve"])
    }

    /// What a plan does, by address.
    fn actions(&self, options: &[&str]) -> Vec<String> {
        let words: Vec<&str> = ["plan", "--json"].iter().chain(options).copied().collect();
        let plan: Json = serde_json::from_str(&self.site.fleet_words(&words).ok()).unwrap();
        let steps = plan["steps"].as_array().unwrap();
        steps.iter().map(|step| step["action"].as_str().unwrap().to_owned()).collect()
    }

    /// All that fleet may change there.
    fn reality(&self) -> Vec<String> {
        let vendor = self.lab.scaleway();
        let keys = vendor.ssh_keys.all().map(|key| format!("{} {} {}", key.id, key.name, key.public_key));
        let networks =
            vendor.private_networks.all().map(|network| format!("{} {}", network.id, network.name));
        let within = vendor.attachments.all().map(|one| format!("{} {:?}", one.id, one.status));
        let servers = vendor.servers.all().map(|server| format!("{} {}", server.id, server.name));
        keys.chain(networks).chain(within).chain(servers).collect()
    }

    /// The requests that changed something, or tried to.
    fn writes(&self) -> Vec<Operation> {
        let all = self.lab.requests();
        all.iter().filter_map(|entry| entry.operation).filter(|operation| !operation.reads()).collect()
    }
}

fn key(public_key: &str) -> String {
    format!(
        "resource \"scaleway_ssh_key\" \"fleet\" {{\n  name       = \"fleet\"\n  public_key = \"{public_key}\"\n}}\n"
    )
}

/// The examples of all kinds of the provider, on which the laws are tried.
pub(crate) fn examples(sort: Sort) -> Vec<(String, String)> {
    let catalog = providers(PathBuf::new());
    let names = catalog.names(sort).into_iter().filter(|name| name.starts_with("scaleway_"));
    let example = |name: &str| {
        let (_, rest) = catalog.find(sort, name).unwrap().schema.doc.split_once("```hcl\n")?;
        Some((name.to_owned(), rest.split_once("```")?.0.to_owned()))
    };
    names.filter_map(example).collect()
}

#[test]
fn the_laws_hold_for_every_kind_on_its_example() {
    let all = examples(Sort::Resource);
    assert_eq!(all.len(), 3);
    for (kind, text) in all {
        let world = World::new(&text);
        let before = world.reality();
        let planned = world.actions(&[]);
        assert!(
            !planned.is_empty() && planned.iter().all(|action| action == "create"),
            "{kind}: {planned:?}"
        );
        assert_eq!(world.writes(), [], "{kind}: a plan writes nothing");
        world.run("apply").ok();
        let (made, writes) = (world.reality(), world.writes());
        assert_ne!(made, before, "{kind}");
        assert_eq!(world.site.fleet(["plan"]).ok(), "No changes.\n", "{kind}");
        assert_eq!(world.run("apply").ok(), "No changes.\n", "{kind}");
        assert_eq!(
            (world.reality(), world.writes()),
            (made.clone(), writes),
            "{kind}: apply twice is apply once"
        );

        // What is there is found again without a state.
        fs::remove_dir_all(world.site.path().join(".fleet")).unwrap();
        let planned = world.actions(&[]);
        // What stands at something that is found is looked at when it is its turn.
        assert!(planned.iter().skip(1).all(|action| action == "create"), "{kind}: {planned:?}");
        assert_eq!(planned.first().map(String::as_str), Some("record"), "{kind}");
        let writes = world.writes();
        world.run("apply").ok();
        assert_eq!((world.reality(), world.writes()), (made, writes), "{kind}");
        assert_eq!(world.site.fleet(["plan"]).ok(), "No changes.\n", "{kind}");

        world.run("destroy").ok();
        assert_eq!(world.reality(), before, "{kind}");
        assert_eq!(world.run("destroy").ok(), "No changes.\n", "{kind}");
    }
}

#[test]
fn data_is_read_and_changes_nothing() {
    let all = examples(Sort::Data);
    assert_eq!(all.len(), 4);
    for (kind, text) in all {
        let world = World::new(&text);
        assert_eq!(world.run("apply").ok().lines().next(), Some("No changes."), "{kind}");
        assert_eq!(world.writes(), [], "{kind}");
    }
}

#[test]
fn another_key_is_registered_before_the_old_one_goes() {
    let world = World::new(&key(KEY));
    world.run("apply").ok();
    world.site.write("main.fleet.hcl", &key(OTHER));
    // The old one stays where the new one cannot be had, and where the old one cannot go, both are there.
    world.lab.fault(Fault::refused(ErrorType::QuotasExceeded).on(Operation::CreateSshKey));
    world.run("apply").failed();
    assert!(world.reality().iter().any(|thing| thing.contains(KEY)));
    world.lab.fault(Fault::refused(ErrorType::Locked).on(Operation::DeleteSshKey));
    world.run("apply").failed();
    for known in [KEY, OTHER] {
        assert!(world.reality().iter().any(|thing| thing.contains(known)));
    }
    world.run("apply").ok();
    assert!(!world.reality().iter().any(|thing| thing.contains(KEY)));
    assert_eq!(world.site.fleet(["plan"]).ok(), "No changes.\n");
    let keys = |operation: &Operation| operation.resource() == "ssh_key";
    use Operation::{CreateSshKey, DeleteSshKey};
    let writes: Vec<_> = world.writes().into_iter().filter(keys).collect();
    assert_eq!(writes, [CreateSshKey, CreateSshKey, CreateSshKey, DeleteSshKey, DeleteSshKey]);
}

#[test]
fn a_key_of_somebody_else_under_the_same_name_is_not_touched() {
    let world = World::new(&key(KEY));
    world.run("apply").ok();
    fs::remove_dir_all(world.site.path().join(".fleet")).unwrap();
    world.site.write("main.fleet.hcl", &key(OTHER));
    let before = world.reality();
    let complaint = world.run("apply").failed();
    assert!(complaint.contains("something is in the way"), "{complaint}");
    assert_eq!(world.reality(), before);
}

#[test]
fn what_may_not_be_seen_is_neither_forgotten_nor_made_again() {
    let world = World::new(&key(KEY));
    world.run("apply").ok();
    let (before, writes) = (world.reality(), world.writes());
    for kind in [ErrorType::PermissionsDenied, ErrorType::DeniedAuthentication, ErrorType::Expired] {
        world.lab.fault(Fault::refused(kind).on(Operation::ListSshKeys).always());
        let complaint = world.run("apply").failed();
        assert!(complaint.contains(kind.name()), "{complaint}");
        assert!(!complaint.contains(world.lab.secret_key()), "{complaint}");
        world.lab.clear_faults();
        assert_eq!((world.reality(), world.writes()), (before.clone(), writes.clone()));
    }
    assert_eq!(world.site.fleet(["plan"]).ok(), "No changes.\n");
}

#[test]
fn an_answer_that_got_lost_makes_nothing_twice() {
    let world = World::new(&key(KEY));
    let before = world.reality().len();
    world.lab.fault(Fault::cut_after().on(Operation::CreateSshKey));
    world.run("apply").ok();
    assert_eq!(world.reality().len(), before + 1);
    world.lab.fault(Fault::cut_after().on(Operation::DeleteSshKey));
    world.run("destroy").ok();
    assert_eq!(world.reality().len(), before);
}

#[test]
fn a_pool_that_cannot_be_is_refused_with_the_reason() {
    let pool = |prefix: &str, family: &str, more: &str| {
        format!(
            "pool \"scaleway\" \"minis\" {{\n  zone      = \"fr-par-1\"\n  prefix    = \"{prefix}\"\n  type      = \"M2-L\"\n  \
             os_family = \"{family}\"\n{more}}}\n"
        )
    };
    let back = "  return {\n    method   = \"scrub\"\n    deadline = \"45m\"\n  }\n";
    World::new(&pool("pool-", "Tahoe", back)).site.fleet(["validate"]).ok();
    let cases = [
        (pool("", "Tahoe", ""), "every server of the project would be free"),
        (pool("pool-", "macos-tahoe-26.3", ""), "retires single versions without notice"),
        (pool("pool-", "Tahoe", "  prefer    = \"best\"\n"), "`name`, `oldest` and `newest`"),
        (pool("pool-", "Tahoe", "  settle    = \"soon\"\n"), "a duration is a text with a unit"),
        (pool("pool-", "Tahoe", "  min_free  = -1\n"), "at least 0"),
    ];
    for (text, expected) in cases {
        let complaint = World::new(&text).site.fleet(["validate"]).failed();
        assert!(complaint.replace('\n', " ").contains(expected), "{complaint}");
    }
}

#[test]
fn a_missing_setting_is_named_with_its_variable() {
    let site = Site::empty();
    site.write("main.fleet.hcl", &key(KEY));
    let complaint = site.fleet(["plan"]).failed();
    assert!(complaint.contains("SCW_DEFAULT_PROJECT_ID"), "{complaint}");
}

#[test]
fn a_key_that_expired_has_a_name() {
    let world = World::new(&key(KEY));
    world.run("apply").ok();
    assert!(world.site.fleet(["doctor"]).ok().contains("nothing found"));
    // A key that nobody has any more.
    world.site.write("key", "11111111-2222-3333-4444-555555555555");
    let said = world.site.fleet(["plan"]).failed();
    assert!(said.contains("cannot be observed: expired-credential"), "{said}");
    let said = world.site.fleet(["doctor", "--json"]);
    assert_eq!(said.exit, fleet_cli::Exit::Failed, "{said:?}");
    let printed: Json = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(printed["findings"][0]["name"], "expired-credential", "{printed}");
    assert_eq!(printed["findings"][0]["address"], "scaleway_ssh_key.fleet", "{printed}");
}
