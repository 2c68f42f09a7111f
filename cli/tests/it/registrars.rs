//! Services of CI beside GitHub, through the command line: runners that are made there, seen, waited for and gone.

use std::fs;
use std::thread;
use std::time::Duration;

use fleet_engine::schema::Sort;
use fleet_lab::desk::Desk;
use fleet_lab::runners::{Purpose, Wish};
use serde_json::{Value as Json, json};

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
struct Registrations {
    /// The name of its provider.
    provider: &'static str,
    desk: fn(&World) -> Desk,
    add: fn(&World),
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

const GITHUB_URL: &str = "https://github.com/example";

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
fn registered() -> impl Iterator<Item = Registrations> {
    SERVICES.iter().map(Service::registrations).chain([GITHUB])
}

/// The kinds that the laws are tried on.
pub(crate) fn kinds(sort: Sort) -> Vec<String> {
    let all = registered().flat_map(|service| examples(sort, &format!("{}_", service.provider)));
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
    for service in registered() {
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
