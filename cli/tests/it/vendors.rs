//! What lives at GitHub and in a tailnet, through the command line, in a world of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use fleet_engine::schema::{Catalog, Sort};
use fleet_lab::desk::How;
use fleet_lab::tailnet::{self, AUTH_KEY, Join};
use fleet_lab::vendors::Vendors;
use fleet_lab::{Lab, Options};
use serde_json::Value as Json;

use crate::laws::search::Search;
use crate::support::{Ran, Site, providers};

/// A world, and a directory with a configuration for it.
pub(crate) struct World {
    pub(crate) lab: Lab,
    pub(crate) site: Site,
    pub(crate) vars: BTreeMap<String, String>,
}

impl World {
    pub(crate) fn new(text: &str) -> World {
        let lab = Lab::start(Options { macs: 0, ..Options::default() }).unwrap();
        let site = Site::empty();
        site.write("main.fleet.hcl", text);
        let vars = lab.vendors().environment().collect();
        World { lab, site, vars }
    }

    pub(crate) fn fleet(&self, args: &[&str]) -> Ran {
        let tells = ["apply", "destroy"].contains(&args[0]);
        let words: &[&str] = if tells { &["--json-into", "events"] } else { &[] };
        let words = [&["--log", "trace", "--log-file", "log"], words].concat();
        let ran = self.site.fleet_in(&self.vars, &args.iter().chain(&words).copied().collect::<Vec<_>>());
        // Whatever was done: no key and no token stands where somebody could see it.
        let secrets = secrets(self.lab.vendors());
        let search = Search::new(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
        search.check("output", format!("{}{}", ran.stdout, ran.stderr).as_bytes());
        search.check("log", &fs::read(self.site.path().join("log")).unwrap());
        for name in ["events", "saved"] {
            if let Ok(bytes) = fs::read(self.site.path().join(name)) {
                search.check(name, &bytes);
            }
        }
        if let Ok(files) = fs::read_dir(self.site.path().join(".fleet")) {
            for file in files {
                search.check("state", &fs::read(file.unwrap().path()).unwrap());
            }
        }
        ran
    }

    pub(crate) fn apply(&self) -> Ran {
        self.fleet(&["apply", "--auto-approve"])
    }

    pub(crate) fn actions(&self) -> Vec<String> {
        let plan = self.fleet(&["plan", "--json", "--out", "saved"]).ok();
        let plan: Json = serde_json::from_str(&plan).unwrap();
        let steps = plan["steps"].as_array().unwrap();
        steps.iter().map(|step| step["action"].as_str().unwrap().to_owned()).collect()
    }

    /// All that fleet may change in the tailnet.
    fn reality(&self) -> (String, Vec<String>, usize) {
        let console = &self.lab.vendors().tailscale.books;
        let book = console.tailnet.book();
        (console.policy(), book.keys.into_iter().map(|key| key.secret).collect(), book.devices.len())
    }

    /// The requests that change something.
    fn writes(&self) -> usize {
        let visits = self.lab.vendors().tailscale.desk.visits();
        visits.iter().filter(|visit| visit.method != "GET" && visit.operation != Some("create_token")).count()
    }
}

/// What nobody may see of these vendors: what programs log in with, and what they were given.
pub(crate) fn secrets(vendors: &Vendors) -> Vec<String> {
    let is_credential = |name: &str| name.ends_with("_TOKEN") || name.ends_with("_KEY");
    let own = vendors.environment().filter(|(name, _)| is_credential(name)).map(|(_, value)| value);
    let mut secrets: Vec<String> =
        own.chain([tailnet::AUTH_KEY, tailnet::CLIENT_SECRET].map(str::to_owned)).collect();
    assert_eq!(secrets.len(), 8, "each vendor has one, and the tailnet three");
    secrets.extend(vendors.tailscale.books.secrets());
    secrets.extend(vendors.github.books.secrets());
    secrets.extend(vendors.github.books.runners().secrets());
    secrets.extend(vendors.gitlab.books.secrets());
    secrets.extend(vendors.forgejo.books.secrets());
    secrets.sort();
    secrets.dedup();
    secrets
}

/// The examples of all kinds of a provider that are behind its API.
pub(crate) fn examples(sort: Sort, prefix: &str) -> Vec<(String, String)> {
    let catalog = providers(PathBuf::new());
    let names = catalog.names(sort).into_iter().filter(|name| name.starts_with(prefix));
    let example = |name: &str| {
        let entry = catalog.find(sort, name).unwrap();
        let (_, rest) = entry.schema.doc.split_once("```hcl\n")?;
        let is_api = entry.place == fleet_engine::schema::Place::Api;
        is_api.then(|| (name.to_owned(), rest.split_once("```").unwrap().0.to_owned()))
    };
    names.filter_map(example).collect()
}

#[test]
fn the_laws_hold_for_every_kind_of_a_tailnet_on_its_example() {
    let all = examples(Sort::Resource, "tailscale_");
    assert_eq!(all.len(), 3);
    for (kind, text) in all {
        let world = World::new(&text);
        let before = world.reality();
        assert_eq!(world.actions().len(), 1, "{kind}");
        assert_eq!(world.writes(), 0, "{kind}: a plan writes nothing");
        world.apply().ok();
        let (made, writes) = (world.reality(), world.writes());
        assert_eq!(world.fleet(&["plan"]).ok(), "No changes.\n", "{kind}");
        assert_eq!(world.apply().ok(), "No changes.\n", "{kind}");
        assert_eq!(
            (world.reality(), world.writes()),
            (made.clone(), writes),
            "{kind}: apply twice is apply once"
        );

        // What is there is found again without a state.
        fs::remove_dir_all(world.site.path().join(".fleet")).unwrap();
        world.apply().ok();
        assert_eq!(world.reality(), made, "{kind}");
        assert_eq!(world.fleet(&["plan"]).ok(), "No changes.\n", "{kind}");

        world.fleet(&["destroy", "--auto-approve"]).ok();
        // There is always a policy.
        let left = if kind == "tailscale_acl" { made } else { before };
        assert_eq!(world.reality(), left, "{kind}");
        assert_eq!(world.fleet(&["destroy", "--auto-approve"]).ok(), "No changes.\n", "{kind}");
    }
}

const POLICY: &str = r#"
resource "tailscale_acl" "this" {
  policy = <<-EOT
    // Who may reach what.
    {
      "acls": [
        {"action": "accept", "src": ["tag:ci"], "dst": ["tag:mac:22"]},
      ],
      "tests": [{"src": "tag:ci", "accept": ["tag:mac:22"], "deny": ["tag:mac:5900"]}],
    }
  EOT
}
"#;

#[test]
fn what_somebody_changed_in_the_console_is_shown_and_not_overwritten() {
    let world = World::new(POLICY);
    world.apply().ok();
    let console = &world.lab.vendors().tailscale.books;
    // It is shown as a difference of its lines.
    console.set_policy(&console.policy().replace("mac:22", "mac:22,80"));
    let plan = world.fleet(&["plan"]).ok();
    assert!(plan.contains("mac:22,80") && plan.contains("~ tailscale_acl.this"), "{plan}");
    world.apply().ok();
    assert!(!console.policy().contains("22,80"));
    // A plan that was saved before does not run.
    world.site.write("main.fleet.hcl", &POLICY.replace("5900", "5901"));
    world.fleet(&["plan", "--out", "saved"]).ok();
    let (before, by_hand) = (console.policy(), console.policy().replace("mac:22\"]}", "mac:22,443\"]}"));
    assert_ne!(before, by_hand);
    console.set_policy(&by_hand);
    let complaint = world.fleet(&["apply", "--auto-approve", "saved"]).failed();
    assert!(complaint.contains("tailscale_acl.this"), "{complaint}");
    assert_eq!(console.policy(), by_hand);
    // Between the look of apply and its request, the tailnet refuses, and it is told what came between.
    console.set_policy(&before);
    console.set_policy_meanwhile(&by_hand);
    let complaint = world.apply().failed();
    let at = complaint.find("somebody changed these lines:").unwrap_or_else(|| panic!("{complaint}"));
    let lines: Vec<&str> = complaint[at..].lines().map(|line| line.trim_start_matches([' ', '│'])).collect();
    assert!(
        lines.iter().any(|line| line.starts_with("- ") && line.contains("\"tag:mac:22\"")),
        "{complaint}"
    );
    assert!(
        lines.iter().any(|line| line.starts_with("+ ") && line.contains("tag:mac:22,443")),
        "{complaint}"
    );
    assert!(complaint.contains("not overwritten") && complaint.contains("plan again"), "{complaint}");
    assert_eq!(console.policy(), by_hand);
    // The next plan shows the same, and whoever read it may apply it.
    assert!(world.fleet(&["plan"]).ok().contains("mac:22,443"));
    world.apply().ok();
    assert!(console.policy().contains("5901") && !console.policy().contains("443"));
}

#[test]
fn failing_tests_of_a_policy_stop_the_apply_before_it_is_set() {
    let world = World::new(&POLICY.replace("\"deny\": [\"tag:mac:5900\"]", "\"deny\": [\"tag:mac:22\"]"));
    let before = world.reality();
    let complaint = world.apply().failed().replace('\n', " ");
    assert!(
        complaint.contains("want: Drop, got: Accept") && complaint.contains("nothing was set"),
        "{complaint}"
    );
    assert_eq!(world.reality(), before);
    let malformed = World::new(&POLICY.replace("\"acls\": [", "\"acls\": "));
    assert!(malformed.fleet(&["validate"]).failed().contains("no HuJSON"));
}

#[test]
fn a_plan_warns_of_too_many_devices_and_of_keys_that_end() {
    let text = "provider \"tailscale\" {\n  device_cap = 2\n}\n\nresource \"tailscale_name\" \"a\" {\n  name = \"mini\"\n  tags = [\"tag:ci\"]\n}\n\n\
                resource \"tailscale_auth_key\" \"k\" {\n  description = \"operator\"\n  tags        = [\"tag:ci\"]\n}\n";
    let world = World::new(text);
    world.apply().ok();
    let (console, now) = (&world.lab.vendors().tailscale.books, world.lab.clock().time());
    for name in ["a", "b", "c"] {
        let tags = ["tag:ci".to_owned()];
        console
            .tailnet
            .join(Join { key: AUTH_KEY, hostname: name, tags: &tags, node_key: None }, now)
            .unwrap();
    }
    let plan = world.fleet(&["plan"]).ok();
    assert!(plan.contains("3 tagged devices of 2, which is more than it may have"), "{plan}");
    assert!(!plan.contains("operator` ends"), "{plan}");
    console.tailnet.edit(|book| {
        let end = now.after(std::time::Duration::from_secs(5 * 86_400 + 3600));
        book.keys
            .iter_mut()
            .filter(|key| key.secret.contains("CNTRL"))
            .for_each(|key| key.expires = Some(end));
    });
    let plan = world.fleet(&["plan"]).ok();
    assert!(plan.contains("the key `operator` ends in 5 days"), "{plan}");
}

#[test]
fn an_answer_that_got_lost_makes_no_key_twice() {
    let text = "resource \"tailscale_auth_key\" \"k\" {\n  description = \"operator\"\n  tags        = [\"tag:ci\"]\n}\n";
    let world = World::new(text);
    let before = world.reality().1.len();
    world.lab.vendors().tailscale.desk.mishap("create_key", How::CutAfter);
    world.apply().ok();
    assert_eq!(world.reality().1.len(), before + 1);
    world.lab.vendors().tailscale.desk.mishap("delete_key", How::CutAfter);
    world.fleet(&["destroy", "--auto-approve"]).ok();
    assert_eq!(world.reality().1.len(), before);
}
