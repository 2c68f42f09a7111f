//! The API of Forgejo 15, as far as runners need it: who asks, and runners.
//!
//! | addresses, below `/api/v1` | |
//! |---|---|
//! | `GET user` | who asks |
//! | `GET`/`POST PLACE/actions/runners`, `GET`/`DELETE PLACE/actions/runners/ID` | runners of a place |
//!
//! A place is the whole server (`admin`), an organisation (`orgs/macs`), a repository (`repos/macs/app`) or who asks (`user`).
//! Lists begin with the runner that was there last, so that what stands on a page changes between two of them.
//! Labels are what an agent says of itself. A runner that runs a job is removed like any other, and its job is lost; none can
//! be kept from new jobs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use crate::clock::Time;
use crate::desk::{Ask, Books, Paging, Reply};

/// The token that it knows from the beginning, and that may do everything.
pub const TOKEN: &str = "1ab0000000000000000000000000000000000000";

/// Where people see it.
pub const URL: &str = "https://forgejo.example.com";

/// What there is, and which scope of a token is about it.
const PLACES: [(&str, &str); 4] =
    [("admin", "admin"), ("orgs/macs", "organization"), ("repos/macs/app", "repository"), ("user", "user")];

const PAGING: Paging = Paging { size: "limit", usual: 30, most: 50 };

/// Forgejo.
#[derive(Clone, Debug)]
pub struct Forgejo {
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug)]
struct Inside {
    tokens: Vec<Personal>,
    runners: Vec<Runner>,
    made: u64,
    jobs_lost: u64,
    secrets: Vec<String>,
    /// How often an agent comes right after a list was shown.
    restless: u32,
}

/// A token of somebody.
#[derive(Clone, Debug)]
pub struct Personal {
    /// What is sent.
    pub token: String,
    /// Whose it is.
    pub login: String,
    /// What it may do, such as `write:organization`; `all` is everything.
    pub scopes: Vec<String>,
}

/// A runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Runner {
    /// Its number.
    pub id: u64,
    /// What its agent says it is.
    pub uuid: String,
    /// Where it belongs, by its path.
    pub place: String,
    /// Its name.
    pub name: String,
    /// The labels that its agent says it has.
    pub labels: Vec<String>,
    /// Whether its agent asks for jobs.
    pub online: bool,
    /// Whether it runs a job.
    pub busy: bool,
    /// What its agent proves by that it is this one.
    #[serde(skip)]
    pub token: String,
}

impl Default for Forgejo {
    fn default() -> Forgejo {
        let own = Personal { token: TOKEN.into(), login: "lab".into(), scopes: vec!["all".into()] };
        let inside = Inside {
            tokens: vec![own],
            runners: Vec::new(),
            made: 0,
            jobs_lost: 0,
            secrets: Vec::new(),
            restless: 0,
        };
        Forgejo { inside: Arc::new(Mutex::new(inside)) }
    }
}

impl Forgejo {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets somebody else ask.
    pub fn add_token(&self, token: Personal) {
        self.inside().tokens.push(token);
    }

    /// All runners.
    #[must_use]
    pub fn runners(&self) -> Vec<Runner> {
        self.inside().runners.clone()
    }

    /// Makes a runner of a place such as `orgs/macs`; what its agent is configured with.
    pub fn add_runner(&self, name: &str, place: &str) -> String {
        self.inside().create(place, name).to_string()
    }

    /// So many times an agent comes right after a page of a list was shown: the one that stood last, which is the first then.
    pub fn disturb_lists(&self, times: u32) {
        self.inside().restless = times;
    }

    /// Changes what is known of a runner.
    pub fn change(&self, id: u64, change: impl FnOnce(&mut Runner)) {
        if let Some(runner) = self.inside().runners.iter_mut().find(|runner| runner.id == id) {
            change(runner);
        }
    }

    /// An agent asks for jobs with what it was configured with, and says its labels. False if no runner has it.
    pub fn contact(&self, configuration: &str, labels: &[&str]) -> bool {
        let said: Value = serde_json::from_str(configuration).unwrap_or_default();
        let mut inside = self.inside();
        let is_it = |runner: &Runner| said["uuid"] == *runner.uuid && said["token"] == *runner.token;
        let Some(at) = inside.runners.iter().position(is_it) else { return false };
        let mut runner = inside.runners.remove(at);
        runner.online = true;
        runner.labels = labels.iter().map(|label| (*label).to_owned()).collect();
        inside.runners.push(runner);
        true
    }

    /// How many jobs were cut short because their runner was removed.
    #[must_use]
    pub fn jobs_lost(&self) -> u64 {
        self.inside().jobs_lost
    }

    /// Every token that agents were given: what nobody may see.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        self.inside().secrets.clone()
    }
}

impl Inside {
    /// Names are not unique.
    fn create(&mut self, place: &str, name: &str) -> Value {
        self.made += 1;
        let random = || uuid::Uuid::new_v4().simple().to_string();
        let mut token = random() + &random();
        token.truncate(40);
        let runner = Runner {
            id: self.made,
            uuid: uuid::Uuid::new_v4().to_string(),
            place: place.to_owned(),
            name: name.to_owned(),
            labels: Vec::new(),
            online: false,
            busy: false,
            token,
        };
        let told = json!({ "id": runner.id, "uuid": runner.uuid, "token": runner.token });
        self.secrets.push(runner.token.clone());
        self.runners.push(runner);
        told
    }
}

fn refuse(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "message": message, "url": "https://lab/api/swagger" }))
}

fn shown(runner: &Runner) -> Value {
    let status = match (runner.online, runner.busy) {
        (false, _) => "offline",
        (true, false) => "idle",
        (true, true) => "active",
    };
    json!({
        "id": runner.id, "uuid": runner.uuid, "name": runner.name, "labels": runner.labels, "status": status,
        "version": if runner.online { "12.8.0" } else { "" }, "ephemeral": false, "owner_id": 0, "repo_id": 0, "description": "",
    })
}

/// A place, and what stands behind its runners in a path.
fn place<'a>(path: &'a [&'a str]) -> Option<(String, &'a [&'a str])> {
    let at = path.windows(2).position(|pair| pair == ["actions", "runners"])?;
    Some((path[..at].join("/"), &path[at + 2..]))
}

impl Books for Forgejo {
    fn operation(&self, ask: &Ask) -> Option<&'static str> {
        let segments = ask.segments();
        let path = segments.strip_prefix(&["api", "v1"])?;
        if (&*ask.method, path) == ("GET", &["user"]) {
            return Some("get_user");
        }
        let (_, rest) = place(path)?;
        match (&*ask.method, rest) {
            ("GET", []) => Some("list_runners"),
            ("POST", []) => Some("create_runner"),
            ("GET", [_]) => Some("get_runner"),
            ("DELETE", [_]) => Some("delete_runner"),
            _ => None,
        }
    }

    fn answer(&self, operation: &'static str, ask: &Ask, _: Time) -> Reply {
        let mut inside = self.inside();
        let sent = ask.header("authorization").and_then(|it| it.strip_prefix("token ")).unwrap_or_default();
        let Some(token) = inside.tokens.iter().find(|token| token.token == sent).cloned() else {
            return refuse(401, "token is required");
        };
        let segments = ask.segments();
        let path = &segments[2..];
        let (name, rest) = place(path).unwrap_or_else(|| (path.join("/"), &[]));
        let Some((_, category)) = PLACES.iter().find(|(known, _)| **known == *name) else {
            return refuse(404, "The target couldn't be found.");
        };
        let level = if ask.method == "GET" { "read" } else { "write" };
        let has = |scope: &String| {
            *scope == "all"
                || scope.split_once(':').is_some_and(|(its_level, its)| {
                    its == *category && (its_level == level || its_level == "write")
                })
        };
        if !token.scopes.iter().any(has) {
            let needed = format!("[{level}:{category}]");
            return refuse(403, &format!("token does not have at least one of required scope(s): {needed}"));
        }
        match operation {
            "get_user" => return Reply::json(200, &json!({ "id": 1, "login": token.login })),
            "list_runners" => {
                let own = inside.runners.iter().rev().filter(|runner| runner.place == name);
                let page = PAGING.cut(ask, own.map(shown).collect(), |page, total| {
                    Reply::json(200, &json!(page)).with("x-total-count", total.to_string())
                });
                if inside.restless > 0 && !inside.runners.is_empty() {
                    inside.restless -= 1;
                    inside.runners.rotate_left(1);
                }
                return page;
            }
            "create_runner" => {
                return match ask.json()["name"].as_str().filter(|name| !name.is_empty()) {
                    Some(wished) => Reply::json(201, &inside.create(&name, wished)),
                    None => refuse(422, "[Name]: Required"),
                };
            }
            _ => {}
        }
        let id: Option<u64> = rest.first().and_then(|id| id.parse().ok());
        let is_it = |runner: &Runner| Some(runner.id) == id && runner.place == name;
        let Some(at) = inside.runners.iter().position(is_it) else {
            return refuse(404, "resource does not exist");
        };
        if operation == "get_runner" {
            return Reply::json(200, &shown(&inside.runners[at]));
        }
        inside.jobs_lost += u64::from(inside.runners[at].busy);
        inside.runners.remove(at);
        Reply::empty(204)
    }

    fn refusal(&self, status: u16) -> Reply {
        refuse(status, &format!("{status} refused on purpose"))
    }
}
