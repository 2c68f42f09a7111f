//! Services of CI beside GitHub, through the command line: runners that are made there, seen, waited for and gone.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use fleet_engine::schema::{Catalog, Sort};
use fleet_lab::desk::Desk;
use fleet_lab::gate::When;
use fleet_lab::runners::{Purpose, Wish};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use crate::support::providers;
use crate::vendors::{World, examples};

/// What is known of a runner: its name, its labels, and whether jobs are let in.
type Seen = (String, Vec<String>, bool);

/// What the laws need to know of a service.
struct Service {
    /// The name of its provider.
    provider: &'static str,
    /// Where its runners are.
    url: &'static str,
    /// What a runner is asked for by.
    request: &'static str,
    desk: fn(&World) -> Desk,
    /// Makes the runner `mini` of the example, with an agent.
    add: fn(&World),
    /// What is known of runners.
    runners: fn(&World) -> Vec<Seen>,
    /// An agent comes with what it was configured with.
    contact: fn(&World, &str) -> bool,
    /// Whether every runner has a job.
    busy: fn(&World, bool),
    /// The jobs that were cut short.
    lost: fn(&World) -> u64,
}

const SERVICES: &[Service] = &[GITLAB, FORGEJO];

/// What the laws need to know of a kind of registrations.
pub(crate) struct Registrations {
    /// The name of its provider.
    pub(crate) provider: &'static str,
    desk: fn(&World) -> Desk,
    /// Makes the runner of the example.
    pub(crate) add: fn(&World),
    runners: fn(&World) -> Vec<Seen>,
}

/// Agents of GitHub live on Macs: see [`crate::macos`]. What GitHub itself knows of them is here.
const GITHUB: Registrations = Registrations {
    provider: "github",
    desk: |world| world.lab.vendors().github.desk.clone(),
    add: |world| _ = add_to_github(world, "mini"),
    runners: |world| {
        let runners = world.lab.vendors().github.books.runners().list(GITHUB_URL).into_iter();
        runners.map(|runner| (runner.name, runner.labels, true)).collect()
    },
};

pub(crate) const GITHUB_URL: &str = "https://github.com/example";

/// Registers a runner at GitHub, whose agent is on no Mac.
fn add_to_github(world: &World, name: &str) -> u64 {
    let (runners, now) = (world.lab.vendors().github.books.runners(), world.lab.clock().time());
    let wish = Wish {
        url: GITHUB_URL.to_owned(),
        token: runners.token(GITHUB_URL, Purpose::Register, now).token,
        name: name.to_owned(),
        labels: Vec::new(),
        replace: false,
        place: ("of-nobody".to_owned(), "/opt/actions-runner".to_owned()),
        token_is_visible: false,
    };
    runners.register(wish, now).unwrap().id
}

impl Service {
    fn registrations(&self) -> Registrations {
        let Service { provider, desk, add, runners, .. } = *self;
        Registrations { provider, desk, add, runners }
    }
}

/// The services whose registrations the laws are tried on.
pub(crate) fn registrations() -> impl Iterator<Item = Registrations> {
    SERVICES.iter().map(Service::registrations).chain([GITHUB])
}

/// The kinds that the laws are tried on.
pub(crate) fn kinds(sort: Sort) -> Vec<String> {
    let all = registrations().flat_map(|service| examples(sort, &format!("{}_", service.provider)));
    all.map(|(kind, _)| kind).collect()
}

const GITLAB: Service = Service {
    provider: "gitlab",
    url: "https://gitlab.example.com/groups/macs",
    request: "runner:https://gitlab.example.com/groups/macs?name=mini&labels=macos,xcode",
    desk: |world| world.lab.vendors().gitlab.desk.clone(),
    add: |world| {
        let books = &world.lab.vendors().gitlab.books;
        assert!(books.contact(&books.add_runner("mini", Some("macs"))));
    },
    runners: |world| {
        let runners = world.lab.vendors().gitlab.books.runners().into_iter();
        runners.map(|runner| (runner.description, runner.tag_list, !runner.paused)).collect()
    },
    contact: |world, token| world.lab.vendors().gitlab.books.contact(token),
    busy: |world, is_busy| {
        let books = &world.lab.vendors().gitlab.books;
        books.runners().iter().for_each(|runner| books.change(runner.id, |it| it.busy = is_busy));
    },
    lost: |world| world.lab.vendors().gitlab.books.jobs_lost(),
};

const FORGEJO: Service = Service {
    provider: "forgejo",
    url: "https://forgejo.example.com/macs",
    request: "runner:https://forgejo.example.com/macs?name=mini",
    desk: |world| world.lab.vendors().forgejo.desk.clone(),
    add: |world| {
        let books = &world.lab.vendors().forgejo.books;
        assert!(books.contact(&books.add_runner("mini", "orgs/macs"), &["macos"]));
    },
    runners: |world| {
        let runners = world.lab.vendors().forgejo.books.runners().into_iter();
        runners.map(|runner| (runner.name, runner.labels, true)).collect()
    },
    contact: |world, connection| world.lab.vendors().forgejo.books.contact(connection, &["macos", "xcode"]),
    busy: |world, is_busy| {
        let books = &world.lab.vendors().forgejo.books;
        books.runners().iter().for_each(|runner| books.change(runner.id, |it| it.busy = is_busy));
    },
    lost: |world| world.lab.vendors().forgejo.books.jobs_lost(),
};

/// The requests that change something.
fn writes(desk: &Desk) -> usize {
    desk.visits().iter().filter(|visit| visit.method != "GET").count()
}

#[test]
fn the_laws_hold_for_every_registration_on_its_example() {
    for service in registrations() {
        let all = examples(Sort::Resource, &format!("{}_", service.provider));
        let [(kind, text)] = &all[..] else { panic!("{all:?}") };
        let world = World::new(text);
        (service.add)(&world);
        let desk = (service.desk)(&world);
        let before = writes(&desk);
        assert_eq!(world.actions().len(), 1, "{kind}");
        assert_eq!(writes(&desk), before, "{kind}: a plan writes nothing");
        world.apply().ok();
        let (made, once) = ((service.runners)(&world), writes(&desk));
        assert_eq!(made.len(), 1, "{kind}: nothing is made twice");
        assert_eq!(world.fleet(&["plan"]).ok(), "No changes.\n", "{kind}");
        assert_eq!(world.apply().ok(), "No changes.\n", "{kind}");
        assert_eq!(
            ((service.runners)(&world), writes(&desk)),
            (made.clone(), once),
            "{kind}: apply twice is apply once"
        );

        // What is there is found again without a state.
        fs::remove_dir_all(world.site.path().join(".fleet")).unwrap();
        world.apply().ok();
        assert_eq!((service.runners)(&world), made, "{kind}");
        assert_eq!(world.fleet(&["plan"]).ok(), "No changes.\n", "{kind}");

        world.fleet(&["destroy", "--auto-approve"]).ok();
        assert_eq!((service.runners)(&world), [], "{kind}");
        assert_eq!(world.fleet(&["destroy", "--auto-approve"]).ok(), "No changes.\n", "{kind}");
    }
}

#[test]
fn runners_are_listed_and_nothing_is_changed() {
    let all = kinds(Sort::Data);
    assert_eq!(all, ["github_runners"]);
    let (_, text) = &examples(Sort::Data, "github_")[0];
    let more = "\noutput \"all\" {\n  value = keys(data.github_runners.all.runners)\n}\n\n\
                output \"busy\" {\n  value = [for name, runner in data.github_runners.all.runners : name if runner.busy]\n}\n";
    let world = World::new(&format!("{text}{more}"));
    let desk = world.lab.vendors().github.desk.clone();
    let id = add_to_github(&world, "mini");
    add_to_github(&world, "maxi");
    let runners = world.lab.vendors().github.books.runners();
    let told = || {
        world.apply().ok();
        let told: Json = serde_json::from_str(&world.fleet(&["output", "--json"]).ok()).unwrap();
        ["offline", "busy", "all"].map(|name| told[name]["value"].clone())
    };
    let both = json!(["maxi", "mini"]);
    assert_eq!(told(), [both.clone(), json!([]), both.clone()]);
    runners.change(id, |runner| runner.busy = true);
    assert_eq!(told(), [both.clone(), json!(["mini"]), both]);
    assert_eq!(world.fleet(&["plan"]).ok(), "No changes.\n");
    world
        .site
        .write("main.fleet.hcl", &format!("{}{more}", text.replace("  url", "  prefix = \"ma\"\n  url")));
    assert_eq!(told(), [json!(["maxi"]), json!([]), json!(["maxi"])]);
    assert_eq!(writes(&desk), 0, "what is only read changes nothing");
    world.fleet(&["destroy", "--auto-approve"]).ok();
    assert_eq!(runners.list(GITHUB_URL).len(), 2);
}

/// What an agent is configured with, as a file.
fn configuration(service: &Service, more: &str) -> String {
    let Service { provider, request, url, .. } = service;
    let agent = format!(
        "provider \"{provider}\" {{}}\n\nsecret \"runner\" {{\n  from     = \"{request}\"\n  provider = {provider}\n}}\n\n\
         resource \"core_file\" \"agent\" {{\n  path    = \"agent\"\n  content = secret.runner\n}}\n"
    );
    let registration = format!(
        "\nresource \"{provider}_registration\" \"this\" {{\n  url         = \"{url}\"\n  name        = \"mini\"\n  \
         job_timeout = 2\n  depends_on  = [core_file.agent]\n}}\n"
    );
    if more.is_empty() { agent } else { format!("{agent}{registration}") }
}

#[test]
fn a_runner_comes_by_what_is_issued_and_goes_after_its_job() {
    for service in SERVICES {
        let name = service.provider;
        let world = World::new(&configuration(service, ""));
        for words in [&["validate"][..], &["plan"], &["plan", "--resolve-secrets"], &["secrets", "check"]] {
            world.fleet(words).ok();
            assert_eq!(writes(&(service.desk)(&world)), 0, "{name}: {words:?}");
        }
        world.apply().ok();
        assert_eq!((service.runners)(&world).len(), 1, "{name}");
        assert!((service.contact)(&world, &world.site.read("agent")), "{name}: the agent is let in");
        world.site.write("main.fleet.hcl", &configuration(service, "seen"));
        world.apply().ok();
        assert_eq!(world.fleet(&["plan"]).ok(), "No changes.\n", "{name}");
        assert_eq!((service.runners)(&world).len(), 1, "{name}");

        // A job that does not end in time is not cut short, and the runner is as it was.
        (service.busy)(&world, true);
        let before = (service.runners)(&world);
        let failed = world.fleet(&["destroy", "--auto-approve"]).failed().replace('\n', " ");
        assert!(failed.contains("still runs a job after 2s"), "{name}: {failed}");
        assert!(failed.contains("was not cut short, and the runner is still registered"), "{name}: {failed}");
        assert_eq!((service.runners)(&world), before, "{name}");
        assert!(world.site.path().join("agent").exists(), "{name}: its agent goes after it");

        // One that ends is waited for.
        world.site.write(
            "main.fleet.hcl",
            &configuration(service, "seen").replace("job_timeout = 2", "job_timeout = 600"),
        );
        world.apply().ok();
        let (desk, looks) = ((service.desk)(&world), (service.desk)(&world).count("list_runners") + 2);
        let told = thread::scope(|scope| {
            let run = scope.spawn(|| world.fleet(&["destroy", "--auto-approve"]));
            while desk.count("list_runners") < looks && !run.is_finished() {
                thread::sleep(Duration::from_millis(10));
            }
            (service.busy)(&world, false);
            let ran = run.join().unwrap();
            let told = format!("{}{}", ran.stdout, ran.stderr);
            ran.ok();
            told
        });
        assert_eq!(((service.runners)(&world).len(), (service.lost)(&world)), (0, 0), "{name}: {told}");
        assert!(!world.site.path().join("agent").exists(), "{name}");
    }
}

#[test]
fn labels_are_changed_while_the_agent_is_online() {
    // Forgejo's are where its agent is configured, as the example of its provider has it.
    let catalog = providers(PathBuf::new());
    let doc = &catalog.find(Sort::Provider, "forgejo").unwrap().schema.doc;
    let (_, example) = doc.split_once("```hcl\n").unwrap();
    let text = example.split_once("```").unwrap().0;
    let mut world = World::new(text);
    world.vars.insert("CI_ADMIN_TOKEN".to_owned(), world.vars["FORGEJO_TOKEN"].clone());
    world.apply().ok();
    let connection = world.site.read("connection.yml");
    let (_, json) = connection.split_once("forgejo: ").unwrap();
    assert!((FORGEJO.contact)(&world, json.trim()));
    let made = writes(&(FORGEJO.desk)(&world));
    world.site.write("main.fleet.hcl", &text.replace("macos:host", "macos:host\", \"xcode:host"));
    world.apply().ok();
    assert!(world.site.read("labels.yml").contains("xcode:host"));
    assert_eq!(world.site.read("connection.yml"), connection);
    assert_eq!(writes(&(FORGEJO.desk)(&world)), made, "its runner is as it was");

    // GitLab's are set there.
    let text = |tags: &str| {
        format!(
            "{}  labels = [{tags}]\n}}\n",
            configuration(&GITLAB, "seen").trim_end().trim_end_matches('}')
        )
    };
    let world = World::new(&configuration(&GITLAB, ""));
    world.apply().ok();
    let token = world.site.read("agent");
    assert!((GITLAB.contact)(&world, &token));
    for tags in ["\"macos\", \"xcode\"", "\"linux\", \"macos\""] {
        world.site.write("main.fleet.hcl", &text(tags));
        world.apply().ok();
    }
    // What it is made with is nothing to one that is there.
    world.site.write(
        "main.fleet.hcl",
        &text("\"linux\", \"macos\"").replace("labels=macos,xcode", "labels=linux,macos"),
    );
    assert_eq!(world.apply().ok(), "No changes.\n");
    assert_eq!((GITLAB.runners)(&world)[0].1, ["linux", "macos"]);
    assert_eq!(world.site.read("agent"), token);
}

/// A file that needs what is issued, and a step that fails before it.
fn failing(provider: &str, request: &str) -> String {
    format!(
        "provider \"{provider}\" {{}}\n\nsecret \"runner\" {{\n  from     = \"{request}\"\n  provider = {provider}\n}}\n\n\
         resource \"core_file\" \"first\" {{\n  path    = \"missing/first\"\n  content = \"x\"\n}}\n\n\
         resource \"core_file\" \"agent\" {{\n  path       = \"agent\"\n  content    = secret.runner\n  depends_on = [core_file.first]\n}}\n"
    )
}

#[test]
fn what_was_issued_for_a_step_that_never_came_is_taken_back() {
    let jit = "jit-config:https://github.com/example?name=mini&labels=macos";
    type Known = fn(&World) -> usize;
    let at_github: Known =
        |world| world.lab.vendors().github.books.runners().list("https://github.com/example").len();
    let cases: [(&str, &str, Known); 3] = [
        (GITLAB.provider, GITLAB.request, |world| (GITLAB.runners)(world).len()),
        (FORGEJO.provider, FORGEJO.request, |world| (FORGEJO.runners)(world).len()),
        ("github", jit, at_github),
    ];
    for (provider, request, known) in cases {
        let text = failing(provider, request);
        let world = World::new(&text);
        world.apply().failed();
        assert!(!world.site.path().join("agent").exists(), "{provider}");
        world.fleet(&["destroy", "--auto-approve"]).ok();
        assert_eq!(known(&world), 0, "{provider}: nothing that is known there is left behind");

        // What a step has used stays, whatever fails beside it: its agent has yet to come.
        let text = text.replace("  depends_on = [core_file.first]\n", "");
        let world = World::new(&text);
        world.apply().failed();
        assert!(world.site.path().join("agent").exists(), "{provider}");
        assert_eq!(known(&world), 1, "{provider}");
    }
}

#[test]
fn a_runner_that_was_left_paused_gets_jobs_again() {
    let alive = || {
        let world = World::new(&configuration(&GITLAB, ""));
        world.apply().ok();
        assert!((GITLAB.contact)(&world, &world.site.read("agent")));
        world.site.write("main.fleet.hcl", &configuration(&GITLAB, "seen"));
        world.apply().ok();
        world
    };

    // Killed when it was paused, and not yet deleted.
    let world = alive();
    let victim = Arc::new(OnceLock::new());
    let known = Arc::clone(&victim);
    let kill = move || kill_process(*known.wait(), Signal::KILL).unwrap();
    world.lab.gate().await_that(|pass| pass.method == "DELETE", When::Before, kill);
    let mut fleet = world.site.command_with_path(["destroy", "--auto-approve"]);
    let mut fleet = fleet.envs(&world.vars).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    victim.set(Pid::from_child(&fleet)).unwrap();
    fleet.wait().unwrap();
    let lets_jobs_in = || (GITLAB.runners)(&world)[0].2;
    assert!(!lets_jobs_in());
    let plan = world.fleet(&["plan"]).ok();
    assert!(plan.contains("paused") && plan.contains("true → false"), "{plan}");
    world.apply().ok();
    assert!(lets_jobs_in());
    assert_eq!(world.fleet(&["plan"]).ok(), "No changes.\n");

    // One that is meant to be paused stays so.
    let text = configuration(&GITLAB, "seen").replace("job_timeout = 2", "paused = true");
    world.site.write("main.fleet.hcl", &text);
    world.apply().ok();
    assert!(!lets_jobs_in());
}

#[test]
fn check_tells_whether_a_service_takes_its_token() {
    for service in SERVICES {
        let name = service.provider;
        let text = format!(
            "secret \"t\" {{\n  from = \"file:t\"\n}}\n\nprovider \"{name}\" {{\n  token = secret.t\n}}\n"
        );
        let world = World::new(&text);
        let variable = format!("{}_TOKEN", name.to_uppercase());
        world.site.write("t", &world.vars[&variable]);
        let told = world.fleet(&["secrets", "check"]).ok();
        assert!(told.contains(&format!("provider.{name}\n  valid: ")), "{told}");
        world.site.write("t", "of nobody");
        let told = world.fleet(&["secrets", "check"]).stdout;
        assert!(
            told.contains(&format!("provider.{name}\n  refused: ")) && told.contains(&variable),
            "{told}"
        );
    }
}
