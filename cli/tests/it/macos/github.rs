//! Runners from the API to the Mac and back: tokens that GitHub issues, agents that it sees, jobs that it waits for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use fleet_engine::schema::{Catalog, Sort};
use fleet_lab::github::App;
use fleet_lab::vendors::Vendors;

use super::Minis;
use super::builders::{URL, copy_module, prepare};
use crate::laws::search::Search;
use crate::support::providers;

/// A Mac, and GitHub with an App.
struct World {
    minis: Minis,
    vendors: Vendors,
    app: App,
}

impl World {
    fn new() -> World {
        let minis = Minis::free();
        prepare(&minis);
        let vendors = minis.vendors();
        let app = vendors.github.books.install_app("example");
        minis.site.write("app.pem", &app.pkcs1);
        let (url, id) = (vendors.github.desk.url(), app.id);
        minis.site.write(
            "github.fleet.hcl",
            &format!(
                "secret \"app\" {{\n  from = \"file:app.pem\"\n}}\n\nprovider \"github\" {{\n  api_url     = \"{url}\"\n  app_id      = \"{id}\"\n  \
                 private_key = secret.app\n}}\n\nsecret \"runner\" {{\n  from     = \"registration-token:{URL}\"\n  provider = github\n}}\n"
            ),
        );
        let world = World { minis, vendors, app };
        world.configure("");
        world
    }

    fn configure(&self, more: &str) {
        self.minis.configure(&format!(
            "  resource \"github_runner\" \"this\" {{
    user          = \"m1\"
    url           = \"{URL}\"
    name          = \"mini\"
    labels        = [\"builder\"]
    version       = \"2.336.0\"
    source        = \"actions-runner-osx-arm64.tar.gz\"
    source_sha256 = filesha256(\"actions-runner-osx-arm64.tar.gz\")
    token         = secret.runner
  }}

  resource \"github_registration\" \"this\" {{
    url         = github_runner.this.url
    name        = github_runner.this.name
    labels      = github_runner.this.labels
    job_timeout = 2
    {more}
  }}
"
        ));
    }

    fn count(&self, operation: &str) -> usize {
        self.vendors.github.desk.count(operation)
    }

    /// The number of the only runner.
    fn id(&self) -> u64 {
        let [runner] = &self.minis.runners().list(URL)[..] else { panic!("one runner") };
        runner.id
    }

    /// Lets the time of the Macs go on until something is so.
    #[track_caller]
    fn await_that(&self, what: &str, is_so: impl Fn() -> bool) {
        let mut looks = 0;
        while !is_so() {
            looks += 1;
            assert!(looks < 600, "{what}: it is not so");
            self.minis.wait(self.minis.clock.advance(Duration::from_secs(1)));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Secrets stand in none of these texts, in none of these files, and not in the state.
    #[track_caller]
    fn check_hidden(&self, texts: &[&str], files: &[&str], secrets: &[String]) {
        let search = Search::new(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
        texts.iter().for_each(|text| search.check("output", text.as_bytes()));
        for name in files {
            search.check(name, &fs::read(self.minis.site.path().join(name)).unwrap());
        }
        for entry in fs::read_dir(self.minis.site.path().join(".fleet")).unwrap() {
            search.check("state", &fs::read(entry.unwrap().path()).unwrap());
        }
    }

    fn is_busy(&self, busy: bool) {
        assert!(self.minis.runners().change(self.id(), |runner| runner.busy = busy));
    }
}

#[test]
fn a_runner_comes_by_an_issued_token_is_seen_online_and_goes_from_both_sides() {
    let world = World::new();
    let before = world.minis.snapshot();
    world.minis.plan();
    assert_eq!(world.count("registration_token"), 0, "a plan asks for no token");
    world.minis.apply();
    world.minis.check_converged("applied");
    assert_eq!(world.count("registration_token"), 1);
    assert!(world.minis.runners().list(URL)[0].online);
    // What changes at GitHub is seen and put right; no token is needed for that.
    let id = world.id();
    world.minis.runners().change(id, |runner| runner.labels.push("odd".into()));
    world.minis.check_plan(&[("github_registration.this", "update labels")]);
    world.minis.apply();
    world.minis.check_converged("put right");
    world.vendors.github.books.add_group("macs");
    world.configure("group = \"macs\"");
    world.minis.check_plan(&[("github_registration.this", "update group")]);
    world.minis.apply();
    world.minis.check_converged("in its group");
    assert_eq!(world.minis.runners().list(URL)[0].group, 2);
    assert_eq!(world.count("registration_token"), 1);
    world.minis.destroy();
    assert!(world.minis.runners().list(URL).is_empty(), "GitHub lists nothing any more");
    assert_eq!(world.count("delete_runner"), 1);
    world.minis.check_same(&before, "destroyed");
}

#[test]
fn the_laws_hold_for_the_example_of_a_registration() {
    let world = World::new();
    world.minis.configure(RUNNER_ALONE);
    world.minis.apply();
    let catalog = providers(PathBuf::new());
    let doc = &catalog.find(Sort::Resource, "github_registration").unwrap().schema.doc;
    let example = doc.split_once("```hcl\n").unwrap().1.split_once("```").unwrap().0;
    world.minis.site.write("example.fleet.hcl", example);
    let writes = || {
        let visits = world.vendors.github.desk.visits();
        visits.iter().filter(|visit| visit.method != "GET" && visit.operation != Some("create_token")).count()
    };
    let before = writes();
    assert_eq!(world.minis.steps().len(), 1);
    assert_eq!(writes(), before, "a plan writes nothing");
    world.minis.apply();
    world.minis.check_converged("applied");
    let (made, once) = (world.minis.runners().list(URL), writes());
    assert_eq!(made[0].labels, ["self-hosted", "macOS", "ARM64", "bare-metal", "vm-image-builder"]);
    world.minis.apply();
    assert_eq!((world.minis.runners().list(URL), writes()), (made, once), "apply twice is apply once");
    fs::remove_file(world.minis.site.path().join("example.fleet.hcl")).unwrap();
    world.minis.apply();
    assert!(world.minis.runners().list(URL).is_empty());
}

/// An agent, and nothing that looks at it from the other side.
const RUNNER_ALONE: &str = "  resource \"github_runner\" \"this\" {
    user          = \"m1\"
    url           = \"https://github.com/example\"
    name          = \"mini\"
    version       = \"2.336.0\"
    source        = \"actions-runner-osx-arm64.tar.gz\"
    source_sha256 = filesha256(\"actions-runner-osx-arm64.tar.gz\")
    token         = secret.runner
  }
";

#[test]
fn a_runner_that_runs_a_job_is_waited_for_then_deregistered() {
    let world = World::new();
    // How often GitHub is looked at until a runner without a job goes.
    world.minis.apply();
    let before = world.count("list_runners");
    world.minis.destroy();
    let visits = world.vendors.github.desk.visits();
    let until = visits.iter().position(|visit| visit.operation == Some("delete_runner")).unwrap();
    let looks =
        visits[..until].iter().filter(|visit| visit.operation == Some("list_runners")).count() - before;

    // The job ends only once all of these looks found it.
    world.minis.apply();
    world.is_busy(true);
    let (runners, id) = (world.minis.runners().clone(), world.id());
    let (desk, enough) = (world.vendors.github.desk.clone(), world.count("list_runners") + looks);
    let job = thread::spawn(move || {
        while desk.count("list_runners") < enough {
            thread::sleep(Duration::from_millis(10));
        }
        runners.change(id, |runner| runner.busy = false);
    });
    let ran = world.minis.fleet(&["destroy", "--auto-approve"]);
    job.join().unwrap();
    let told = format!("{}{}", ran.stdout, ran.stderr).replace('\n', " ");
    ran.ok();
    assert!(told.contains("a job ran on runner `mini` and was waited for"), "{told}");
    assert!(world.minis.runners().list(URL).is_empty());
}

#[test]
fn a_job_that_does_not_end_in_time_is_not_cut_short() {
    let world = World::new();
    world.minis.apply();
    world.is_busy(true);
    assert!(world.minis.by_hand("ps -axo args=").ok().contains("/bin/Runner.Worker spawnclient"));
    let failed = world.minis.fleet(&["destroy", "--auto-approve"]).failed().replace('\n', " ");
    assert!(failed.contains("still runs a job after 2s"), "{failed}");
    assert!(failed.contains("was not cut short, and the runner is still registered"), "{failed}");
    assert!(!failed.contains("is busy"), "the host was not asked: {failed}");
    // Its agent is still there, too: it goes after its registration.
    assert!(world.minis.runners().list(URL)[0].online);
    assert_eq!(world.count("delete_runner"), 0);
    world.is_busy(false);
    world.minis.destroy();
    assert!(world.minis.runners().list(URL).is_empty());
}

#[test]
fn a_runner_that_was_deleted_there_is_told_with_what_to_do() {
    let world = World::new();
    world.minis.apply();
    assert!(world.minis.runners().delete(world.id()));
    world.configure("online_timeout = 1");
    world.minis.check_plan(&[("github_registration.this", "create")]);
    let failed = world.minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(failed.contains("no runner `mini` is registered") && failed.contains("--replace"), "{failed}");
    world.minis.fleet(&["apply", "--auto-approve", "--replace", "fleet.desk[0].github_runner.this"]).ok();
    world.minis.check_converged("registered anew");
    assert!(world.minis.runners().list(URL)[0].online);
}

/// A module that starts an agent for one job.
const ONE_JOB: &str = "  module \"job\" {
    source        = \"./modules/github-jit-runner\"
    configuration = secret.job
    runner = {
      source = \"actions-runner-osx-arm64.tar.gz\"
      sha256 = filesha256(\"actions-runner-osx-arm64.tar.gz\")
    }
  }
";

#[test]
fn a_runner_for_one_job_comes_runs_it_and_is_gone() {
    let world = World::new();
    let minis = &world.minis;
    copy_module(&minis.site, "github-jit-runner");
    minis.site.write(
        "job.fleet.hcl",
        &format!(
            "secret \"job\" {{\n  from     = \"jit-config:{URL}?name=mini&labels=builder\"\n  provider = github\n}}\n"
        ),
    );
    let before = minis.snapshot();
    minis.configure(ONE_JOB);
    minis.plan();
    let place = minis.path("/opt/jit-runner");
    for round in 1..=2 {
        assert_eq!(world.count("jit_config"), round - 1, "a plan asks for none");
        let words =
            ["apply", "--auto-approve", "--log", "trace", "--log-file", "log", "--json-into", "events"];
        let told = minis.fleet(&words).told();
        let runners = || minis.runners().list(URL);
        world.await_that("its agent comes", || runners().iter().any(|runner| runner.online));
        let [runner] = &runners()[..] else { panic!("one runner") };
        assert_eq!((&*runner.labels, runner.os), (&["builder".to_owned()][..], "macos"));
        assert!(!runner.token_was_visible, "among the words of a process");
        let mode = fs::metadata(place.join("configuration")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        minis.check_converged("it waits for its job");
        let seen = minis.by_hand("ps -axo args=").ok();
        world.check_hidden(&[&told, &seen], &["log", "events"], &world.vendors.github.books.secrets());
        assert!(minis.runners().end_job(runner.id));
        world.await_that("it is over", || !place.join("run").exists());
        assert_eq!(runners(), []);
        minis.check_plan(&[("module.job.host_file.configuration", "create")]);
    }
    minis.destroy();
    minis.check_same(&before, "destroyed");
}

#[test]
fn no_runner_stays_with_what_is_for_one_job() {
    let world = World::new();
    let path = "github.fleet.hcl";
    let text = world.minis.site.read(path);
    let job = format!("jit-config:{URL}?name=mini&labels=builder");
    world.minis.site.write(path, &text.replace(&format!("registration-token:{URL}"), &job));
    let complaint = world.minis.fleet(&["apply", "--auto-approve"]).complaint();
    assert!(complaint.contains("for one job") && complaint.contains("registration-token:"), "{complaint}");
    assert_eq!(world.minis.runners().list(URL), [], "what was made for it is taken back");
}

#[test]
fn no_credential_stands_where_somebody_could_see_it() {
    let world = World::new();
    let words = ["--auto-approve", "--log", "trace", "--log-file", "log", "--json-into", "events"];
    let mut told = String::new();
    for command in ["apply", "destroy"] {
        let ran = world.minis.fleet(&[&[command][..], &words].concat());
        told += &format!("{}{}", ran.stdout, ran.stderr);
        ran.ok();
    }
    world.minis.fleet(&["apply", "--auto-approve"]).ok();
    told += &world.minis.fleet(&["plan", "--json", "--out", "saved"]).ok();
    let mut secrets: Vec<String> = world.vendors.github.books.secrets();
    assert!(secrets.len() >= 2, "tokens of the installation");
    secrets.extend(world.minis.runners().secrets());
    secrets.push(world.app.pkcs1.lines().nth(1).unwrap().to_owned());
    // What Apps sign begins so.
    secrets.push("eyJ0eXAiOiJKV1Qi".to_owned());
    world.check_hidden(&[&told], &["log", "events", "saved"], &secrets);
    assert!(!world.minis.runners().list(URL)[0].token_was_visible, "among the words of a process");
}
