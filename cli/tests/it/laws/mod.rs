//! The laws of plan, apply and destroy: what holds for every kind and every configuration.
//!
//! 1. [`examples`]: every kind of the catalogue, on the example of its documentation
//! 2. [`fields`]: every field of every kind, changed in the file and behind our back
//! 3. [`lifecycle`], [`moves`], [`choice`]: what users ask of a plan
//! 4. [`faults`]: steps that fail
//! 5. [`secrets`], with [`search`]: where no secret may be
//! 6. [`read_only`]: looking writes nothing
//! 7. [`generated`], with [`generate`]: all of it on configurations that nobody thought of

mod choice;
mod elsewhere;
mod examples;
mod faults;
mod fields;
mod generate;
mod generated;
mod lifecycle;
mod moves;
mod on_host;
mod read_only;
pub(crate) mod rows;
pub(super) mod search;
mod secrets;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fleet_cli::Exit;
use fleet_engine::state::State;
use fleet_store::Backend;
use fleet_test_provider::{Operation, Server, World};
use serde_json::Value as Json;

use crate::support::{Ran, Site};

/// The name of the file that a test writes and edits.
const MAIN: &str = "main.fleet.hcl";

/// A directory and a world for one test.
pub(crate) struct Lab {
    pub(crate) site: Site,
    pub(crate) world: World,
}

/// All that fleet can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reality {
    pub(super) servers: Vec<Server>,
    pub(super) files: Files,
}

/// Files by their paths, with content and mode.
pub(super) type Files = BTreeMap<String, (Vec<u8>, u32)>;

/// What a plan does, by address: the action, and the attributes that change.
pub(crate) type Steps = BTreeMap<String, String>;

impl Lab {
    /// A configuration that is not applied yet.
    pub(crate) fn new(text: &str) -> Lab {
        let lab = Lab { site: Site::empty(), world: World::start() };
        lab.site.write("world.fleet.hcl", &lab.world.configuration());
        lab.site.write(MAIN, text);
        if text.contains("fleet \"lab\"") {
            on_host::prepare(lab.site.path());
        }
        lab
    }

    /// A configuration that is applied.
    #[track_caller]
    pub(crate) fn applied(text: &str) -> Lab {
        let lab = Lab::new(text);
        lab.apply();
        lab
    }

    /// Puts another configuration in its place.
    pub(crate) fn write(&self, text: &str) {
        self.site.write(MAIN, text);
    }

    /// Changes some words of the configuration.
    #[track_caller]
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = self.site.read(MAIN);
        assert!(text.contains(from), "{from} in {text}");
        self.write(&text.replace(from, to));
    }

    #[track_caller]
    pub(crate) fn apply(&self) -> String {
        self.apply_with(&[])
    }

    /// Applies with more options.
    #[track_caller]
    pub(super) fn apply_with(&self, options: &[&str]) -> String {
        self.run("apply", options).ok()
    }

    #[track_caller]
    pub(crate) fn destroy(&self) -> String {
        self.run("destroy", &[]).ok()
    }

    /// Runs a command that changes things, without asking.
    pub(crate) fn run(&self, command: &str, options: &[&str]) -> Ran {
        let words: Vec<&str> = [command, "--auto-approve"].iter().chain(options).copied().collect();
        self.site.fleet_words(&words)
    }

    /// A plan as programs see it.
    #[track_caller]
    pub(super) fn plan(&self, options: &[&str]) -> Json {
        let words: Vec<&str> = ["plan", "--json"].iter().chain(options).copied().collect();
        serde_json::from_str(&self.site.fleet_words(&words).ok()).unwrap()
    }

    /// The steps of a plan.
    #[track_caller]
    pub(super) fn steps(&self, options: &[&str]) -> Steps {
        steps(&self.plan(options))
    }

    /// A plan does exactly this.
    #[track_caller]
    pub(crate) fn check_plan(&self, expected: &[(&str, &str)]) {
        let expected: Steps = expected.iter().map(|(a, what)| ((*a).into(), (*what).into())).collect();
        assert_eq!(self.steps(&[]), expected, "{}", self.site.read(MAIN));
    }

    /// There is nothing to do, in every form in which a plan says so.
    #[track_caller]
    pub(crate) fn check_converged(&self) {
        let text = self.site.fleet(["plan"]).ok();
        assert!(text.lines().any(|line| line == "No changes."), "{text}{}", self.site.read(MAIN));
        let plan = self.plan(&[]);
        for part in ["steps", "deferred", "outputs"] {
            assert_eq!(plan[part], Json::Array(Vec::new()), "{part}: {}", self.site.read(MAIN));
        }
        assert_eq!(self.site.fleet(["plan", "--detailed-exitcode"]).exit, Exit::Done);
    }

    /// All that fleet can change, as it is now.
    pub(super) fn reality(&self) -> Reality {
        let mut files = contents(self.site.path());
        files.retain(|path, _| {
            !path.starts_with(".fleet/") && !path.starts_with("modules/") && !path.ends_with(".hcl")
        });
        Reality { servers: self.world.servers(), files }
    }

    /// What fleet remembers.
    pub(crate) fn state(&self) -> State {
        let backend = Backend::Sqlite(self.site.path().join(".fleet/state.db"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(fleet_store::read(&backend)).unwrap()
    }

    /// Loses the state, and all that lies beside it.
    pub(super) fn lose_state(&self) {
        fs::remove_dir_all(self.site.path().join(".fleet")).unwrap();
    }

    /// Does something that must leave no trace: not in the world, not in any file, not in the state.
    #[track_caller]
    pub(super) fn without_a_trace<T>(&self, look: impl FnOnce() -> T) -> T {
        let writes =
            || [Operation::Create, Operation::Update, Operation::Delete].map(|o| self.world.calls(o));
        let all = || (contents(self.site.path()), self.world.servers(), self.state(), writes());
        let before = all();
        let answer = look();
        assert_eq!(all(), before);
        answer
    }
}

impl Reality {
    /// The same without what the world decides, which is new with every object.
    pub(super) fn without_ids(&self) -> Reality {
        let mut servers: Vec<Server> = self.servers.clone();
        for server in &mut servers {
            (server.id, server.address, server.console_key) = (None, None, None);
        }
        servers.sort_by(|a, b| (&a.name, &a.zone).cmp(&(&b.name, &b.zone)));
        let mut files = self.files.clone();
        files.retain(|path, _| !path.starts_with(on_host::LEDGERS));
        Reality { servers, files }
    }
}

/// The steps of a plan that programs see.
pub(crate) fn steps(plan: &Json) -> Steps {
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    let step = |step: &Json| {
        let deposed = step.get("deposed").map_or(String::new(), |number| format!(" (deposed {number})"));
        let names = step.get("changes").and_then(Json::as_array).into_iter().flatten();
        let names = names.map(|change| text(&change["attribute"]));
        let words: Vec<String> = std::iter::once(text(&step["action"])).chain(names).collect();
        (text(&step["address"]) + &deposed, words.join(" "))
    };
    plan["steps"].as_array().unwrap().iter().map(step).collect()
}

/// Every file of a directory, by its path from there.
fn contents(directory: &Path) -> Files {
    fn add(found: &mut Files, root: &Path, directory: &Path) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = || path.strip_prefix(root).unwrap().display().to_string();
            if path.is_symlink() {
                let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                found.insert(name(), (target, 0o120_000));
            } else if path.is_dir() {
                add(found, root, &path);
            } else {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
                found.insert(name(), (fs::read(&path).unwrap(), mode));
            }
        }
    }
    let mut found = Files::new();
    add(&mut found, directory, directory);
    found
}
