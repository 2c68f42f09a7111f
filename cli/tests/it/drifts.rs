//! What lives at GitHub, GitLab, Forgejo and in a tailnet: each field of it that somebody changes there is shown, alone, and put right.

use std::time::{Duration, Instant};

use fleet_engine::schema::Sort;
use fleet_lab::desk::How;
use fleet_lab::tailnet::{AUTH_KEY, Join};

use crate::laws::rows::{WithoutARow, check_rows};
use crate::laws::steps;
use crate::registrars::{GITHUB_URL, registrations};
use crate::vendors::{World, examples};

/// A kind, what happens to what its example made, and what a plan says to it.
type Row = (&'static str, fn(&World), &'static str);

const ROWS: &[Row] = &[
    (
        "github_registration",
        |world| at_github(world, |runner| runner.labels.push("odd".into())),
        "update labels",
    ),
    ("github_registration", |world| at_github(world, |runner| runner.group = 1), "update group"),
    ("gitlab_registration", |world| at_gitlab(world, |runner| runner.tag_list.clear()), "update labels"),
    ("gitlab_registration", |world| at_gitlab(world, |runner| runner.paused = true), "update paused"),
    (
        "tailscale_acl",
        |world| {
            let console = &world.lab.vendors().tailscale.books;
            console.set_policy(&console.policy().replace("22,8080", "22,80"));
        },
        "update policy",
    ),
    (
        "tailscale_auth_key",
        |world| {
            let tailnet = &world.lab.vendors().tailscale.books.tailnet;
            tailnet.edit(|book| {
                book.keys.iter_mut().for_each(|key| key.is_revoked |= key.secret.contains("CNTRL"));
            });
        },
        "replace ended",
    ),
    (
        "tailscale_name",
        |world| {
            let (tailnet, now) = (&world.lab.vendors().tailscale.books.tailnet, world.lab.clock().time());
            let join = || {
                let join =
                    Join { key: AUTH_KEY, hostname: "mini-a", tags: &["tag:ci".to_owned()], node_key: None };
                tailnet.join(join, now).unwrap()
            };
            let (left, has_it) = (join(), join());
            tailnet.connected(&left.node_key, false, now);
            tailnet.connected(&has_it.node_key, true, now);
        },
        "update left_over",
    ),
];

const FOUND_BY: &str = "it is found by them: what is called otherwise is another";
const PATIENCE: &str = "they say how long something is waited for, and nothing of them is kept there";

const WITHOUT_A_ROW: &[WithoutARow] = &[
    ("forgejo_registration", &["name", "url"], FOUND_BY),
    ("forgejo_registration", &["job_timeout", "online_timeout"], PATIENCE),
    ("github_registration", &["name", "url"], FOUND_BY),
    ("github_registration", &["job_timeout", "online_timeout"], PATIENCE),
    ("gitlab_registration", &["name", "url"], FOUND_BY),
    ("gitlab_registration", &["job_timeout", "online_timeout"], PATIENCE),
    ("tailscale_auth_key", &["description"], FOUND_BY),
    ("tailscale_auth_key", &["ephemeral", "expiry", "reusable", "tags"], "nobody can change a key"),
    ("tailscale_name", &["name", "tags"], FOUND_BY),
    ("tailscale_name", &["host"], "it is known of the machine, and not to the tailnet"),
];

/// Changes the only runner of GitHub.
fn at_github(world: &World, change: fn(&mut fleet_lab::runners::Runner)) {
    let runners = world.lab.vendors().github.books.runners();
    let [runner] = &runners.list(GITHUB_URL)[..] else { panic!("one runner") };
    assert!(runners.change(runner.id, change));
}

/// Changes the only runner of GitLab.
fn at_gitlab(world: &World, change: fn(&mut fleet_lab::gitlab::Runner)) {
    let books = &world.lab.vendors().gitlab.books;
    let [runner] = &books.runners()[..] else { panic!("one runner") };
    books.change(runner.id, change);
}

/// The examples of all kinds behind these APIs.
fn all_examples() -> Vec<(String, String)> {
    let prefixes = ["forgejo_", "github_", "gitlab_", "tailscale_"];
    prefixes.iter().flat_map(|prefix| examples(Sort::Resource, prefix)).collect()
}

/// A kind, the operation that puts its row right, and a word of what is said where nobody takes the token.
const WRITES: [(&str, &str, &str); 5] = [
    ("github_registration", "set_labels", "GITHUB_TOKEN"),
    ("gitlab_registration", "update_runner", "GITLAB_TOKEN"),
    ("tailscale_acl", "set_acl", "TAILSCALE_API_KEY"),
    ("tailscale_auth_key", "create_key", "TAILSCALE_API_KEY"),
    ("tailscale_name", "delete_device", "TAILSCALE_API_KEY"),
];

#[test]
fn a_service_that_says_when_is_asked_again_then_and_a_token_that_ended_is_said() {
    for (kind, operation, word) in WRITES {
        let world = made(kind);
        let vendors = world.lab.vendors();
        let desk = match kind.split('_').next() {
            Some("github") => &vendors.github.desk,
            Some("gitlab") => &vendors.gitlab.desk,
            _ => &vendors.tailscale.desk,
        };
        let (_, change, _) = ROWS.iter().find(|(of, ..)| *of == kind).unwrap();
        change(&world);
        desk.mishap(operation, How::Refuse(401));
        let complaint = world.apply().complaint();
        assert!(complaint.contains(word), "{kind}: {complaint}");
        assert_ne!(world.fleet(&["plan"]).ok(), "No changes.\n", "{kind}: it is still to do");
        let (before, begun) = (desk.count(operation), Instant::now());
        desk.mishap(operation, How::RefuseFor(429, 2));
        world.apply().ok();
        assert_eq!(desk.count(operation), before + 2, "{kind}");
        assert!(begun.elapsed() >= Duration::from_secs(2), "{kind}: {:?}", begun.elapsed());
        assert_eq!(world.fleet(&["plan"]).ok(), "No changes.\n", "{kind}");
    }
}

/// A world with what the example of a kind makes.
fn made(kind: &str) -> World {
    let (_, text) = all_examples().into_iter().find(|(name, _)| name == kind).unwrap();
    // A group that is not said is left to reality.
    let world = World::new(&text.replace("  labels = [\"bare", "  group  = \"macs\"\n  labels = [\"bare"));
    world.lab.vendors().github.books.add_group("macs");
    if let Some(service) = registrations().find(|service| kind.starts_with(service.provider)) {
        (service.add)(&world);
    }
    world.apply().ok();
    world
}

#[test]
fn the_tables_know_every_field() {
    let examples = all_examples();
    let kinds: Vec<&str> = examples.iter().map(|(kind, _)| &**kind).collect();
    let rows: Vec<(&str, &str)> = ROWS.iter().map(|(kind, _, expected)| (*kind, *expected)).collect();
    check_rows(&kinds, &rows, WITHOUT_A_ROW);
}

#[test]
fn each_field_that_changes_there_is_shown_alone_and_put_right() {
    for (kind, change, expected) in ROWS {
        let world = made(kind);
        change(&world);
        let plan = serde_json::from_str(&world.fleet(&["plan", "--json"]).ok()).unwrap();
        let shown: Vec<String> = steps(&plan).into_values().collect();
        assert_eq!(shown, [*expected], "{kind}");
        world.apply().ok();
        assert_eq!(world.fleet(&["plan"]).ok(), "No changes.\n", "{kind}: {expected}");
    }
}
