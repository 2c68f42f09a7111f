//! The API of GitLab, as far as runners need it: who asks, runners, and their jobs.
//!
//! | addresses, below `/api/v4` | |
//! |---|---|
//! | `GET personal_access_tokens/self` | who asks |
//! | `GET groups/PATH`, `GET projects/PATH`, `GET …/runners`, `GET runners/all` | where runners belong |
//! | `POST user/runners`, `GET`/`PUT`/`DELETE runners/ID`, `GET runners/ID/jobs` | runners |
//!
//! It has the group `macs` and the project `macs/app`. A list of runners has neither their tags nor their jobs; one that
//! runs a job is removed like any other, and its job is lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use crate::clock::Time;
use crate::desk::{Ask, Books, Paging, Reply};

/// The token that it knows from the beginning, and that may do everything.
pub const TOKEN: &str = "glpat-lab0000000000000000";

/// Where people see it.
pub const URL: &str = "https://gitlab.example.com";

/// What there is: its kind, its path and its number.
const PLACES: [(&str, &str, u64); 2] = [("groups", "macs", 7), ("projects", "macs/app", 8)];

const PAGING: Paging = Paging { size: "per_page", usual: 20, most: 100 };

/// GitLab.
#[derive(Clone, Debug)]
pub struct Gitlab {
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug)]
struct Inside {
    tokens: Vec<Personal>,
    runners: Vec<Runner>,
    made: u64,
    jobs_lost: u64,
    secrets: Vec<String>,
}

/// A token of somebody.
#[derive(Clone, Debug)]
pub struct Personal {
    /// What is sent.
    pub token: String,
    /// Its name.
    pub name: String,
    /// The day on which it is good no more.
    pub expires_at: Option<String>,
    /// Whether it may change runners.
    pub may_change: bool,
}

/// A runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Runner {
    /// Its number.
    pub id: u64,
    /// Where it belongs: `instance_type`, `group_type` or `project_type`.
    pub runner_type: String,
    /// The number of its group or project.
    pub place: Option<u64>,
    /// Its name.
    pub description: String,
    /// Its tags.
    pub tag_list: Vec<String>,
    /// Whether it gets no new jobs.
    pub paused: bool,
    /// Whether its agent asks for jobs; none as long as no agent ever did.
    pub online: Option<bool>,
    /// Whether it runs a job.
    pub busy: bool,
    /// What its agent proves by that it is this one.
    #[serde(skip)]
    pub token: String,
}

impl Default for Gitlab {
    fn default() -> Gitlab {
        let own = Personal { token: TOKEN.into(), name: "lab".into(), expires_at: None, may_change: true };
        let inside =
            Inside { tokens: vec![own], runners: Vec::new(), made: 0, jobs_lost: 0, secrets: Vec::new() };
        Gitlab { inside: Arc::new(Mutex::new(inside)) }
    }
}

impl Gitlab {
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

    /// Makes a runner of the whole server, or of the group `macs`; its token.
    pub fn add_runner(&self, name: &str, group: Option<&str>) -> String {
        let number = PLACES.iter().find(|(_, path, _)| Some(*path) == group).map(|(_, _, id)| *id);
        let kind = if number.is_some() { "group_type" } else { "instance_type" };
        let mut inside = self.inside();
        let _made = inside.create(&json!({ "runner_type": kind, "group_id": number, "description": name }));
        inside.secrets.last().cloned().unwrap_or_default()
    }

    /// Changes what is known of a runner.
    pub fn change(&self, id: u64, change: impl FnOnce(&mut Runner)) {
        if let Some(runner) = self.inside().runners.iter_mut().find(|runner| runner.id == id) {
            change(runner);
        }
    }

    /// An agent asks for jobs with its token. False if no runner has it.
    pub fn contact(&self, token: &str) -> bool {
        let mut inside = self.inside();
        let found = inside.runners.iter_mut().find(|runner| runner.token == token);
        found.map(|runner| runner.online = Some(true)).is_some()
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
    fn create(&mut self, wish: &Value) -> Reply {
        let kind = wish["runner_type"].as_str().unwrap_or_default();
        let place = match kind {
            "instance_type" => None,
            "group_type" => wish["group_id"].as_u64(),
            "project_type" => wish["project_id"].as_u64(),
            _ => return refuse(400, "runner_type does not have a valid value"),
        };
        if kind != "instance_type" && !PLACES.iter().any(|(_, _, id)| Some(*id) == place) {
            return refuse(404, "404 Not found");
        }
        self.made += 1;
        let token = format!("glrt-lab{:04}{}", self.made, uuid::Uuid::new_v4().simple());
        let runner = Runner {
            id: self.made,
            runner_type: kind.to_owned(),
            place,
            description: wish["description"].as_str().unwrap_or_default().to_owned(),
            tag_list: texts(&wish["tag_list"]),
            paused: false,
            online: None,
            busy: false,
            token: token.clone(),
        };
        self.secrets.push(token.clone());
        self.runners.push(runner);
        Reply::json(201, &json!({ "id": self.made, "token": token, "token_expires_at": null }))
    }
}

fn refuse(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "message": message }))
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A runner as lists have it.
fn brief(runner: &Runner) -> Value {
    let status = match runner.online {
        None => "never_contacted",
        Some(true) => "online",
        Some(false) => "offline",
    };
    json!({
        "id": runner.id, "description": runner.description, "runner_type": runner.runner_type, "paused": runner.paused,
        "active": !runner.paused, "is_shared": runner.runner_type == "instance_type", "name": null,
        "online": runner.online, "status": status, "ip_address": "",
    })
}

/// A runner as it is shown alone.
fn whole(runner: &Runner) -> Value {
    let mut shown = brief(runner);
    shown["tag_list"] = json!(runner.tag_list);
    shown["platform"] = runner.online.map_or(Value::Null, |_| json!("darwin"));
    shown["run_untagged"] = json!(true);
    shown
}

/// The page of a list that is asked for.
fn page(ask: &Ask, all: Vec<Value>) -> Reply {
    PAGING.cut(ask, all, |shown, total| Reply::json(200, &json!(shown)).with("x-total", total.to_string()))
}

impl Books for Gitlab {
    fn operation(&self, ask: &Ask) -> Option<&'static str> {
        let segments = ask.segments();
        match (&*ask.method, segments.strip_prefix(&["api", "v4"])?) {
            ("GET", ["personal_access_tokens", "self"]) => Some("get_token"),
            ("GET", ["groups" | "projects", _]) => Some("get_place"),
            ("GET", ["groups" | "projects", _, "runners"] | ["runners", "all"]) => Some("list_runners"),
            ("POST", ["user", "runners"]) => Some("create_runner"),
            ("GET", ["runners", _]) => Some("get_runner"),
            ("PUT", ["runners", _]) => Some("update_runner"),
            ("DELETE", ["runners", _]) => Some("delete_runner"),
            ("GET", ["runners", _, "jobs"]) => Some("list_jobs"),
            _ => None,
        }
    }

    fn answer(&self, operation: &'static str, ask: &Ask, _: Time) -> Reply {
        let mut inside = self.inside();
        let sent = ask.header("private-token").unwrap_or_default();
        let Some(token) = inside.tokens.iter().find(|token| token.token == sent).cloned() else {
            return refuse(401, "401 Unauthorized");
        };
        if ask.method != "GET" && !token.may_change {
            let body = json!({
                "error": "insufficient_scope", "scope": "api create_runner manage_runner",
                "error_description": "The request requires higher privileges than provided by the access token.",
            });
            return Reply::json(403, &body);
        }
        let segments = ask.segments();
        let path = &segments[2..];
        let place = PLACES.iter().find(|(kind, name, _)| path[0] == *kind && path.get(1) == Some(name));
        match operation {
            "get_token" => {
                let shown =
                    json!({ "id": 1, "name": token.name, "expires_at": token.expires_at, "active": true });
                return Reply::json(200, &shown);
            }
            "get_place" | "list_runners" if path[0] != "runners" && place.is_none() => {
                return refuse(
                    404,
                    &format!("404 {} Not Found", if path[0] == "groups" { "Group" } else { "Project" }),
                );
            }
            "get_place" => {
                return Reply::json(200, &json!({ "id": place.map(|(_, _, id)| id), "full_path": path[1] }));
            }
            "list_runners" => {
                let number = place.map(|(_, _, id)| *id);
                let kind = ask.parameter("type");
                let is_meant = |runner: &&Runner| {
                    number.is_none_or(|number| runner.place == Some(number))
                        && kind.is_none_or(|kind| runner.runner_type == kind)
                };
                return page(ask, inside.runners.iter().filter(is_meant).map(brief).collect());
            }
            "create_runner" => return inside.create(&ask.json()),
            _ => {}
        }
        let id: Option<u64> = path[1].parse().ok();
        let Some(at) = inside.runners.iter().position(|runner| Some(runner.id) == id) else {
            return refuse(404, "404 Not found");
        };
        let runner = &mut inside.runners[at];
        match operation {
            "list_jobs" => {
                let jobs = runner.busy.then(|| json!({ "id": 1, "status": "running", "name": "build" }));
                page(ask, jobs.into_iter().collect())
            }
            "update_runner" => {
                let wish = ask.json();
                if wish["tag_list"].is_array() {
                    runner.tag_list = texts(&wish["tag_list"]);
                }
                runner.paused = wish["paused"].as_bool().unwrap_or(runner.paused);
                Reply::json(200, &whole(runner))
            }
            "delete_runner" => {
                inside.jobs_lost += u64::from(inside.runners[at].busy);
                inside.runners.remove(at);
                Reply::empty(204)
            }
            _ => Reply::json(200, &whole(runner)),
        }
    }

    fn refusal(&self, status: u16) -> Reply {
        refuse(status, &format!("{status} refused on purpose"))
    }
}
