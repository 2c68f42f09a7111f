//! The API of GitHub, as far as self-hosted runners need it: who asks, and what is known of [runners](crate::runners).
//!
//! 1. [`access`]: personal tokens, Apps with their installations, and the tokens of these
//! 2. [`api`]: runners, their labels and groups; registration tokens are those that `config.sh` on a Mac takes
//!
//! | addresses, below `/`, or below `/api/v3` as on GitHub Enterprise | |
//! |---|---|
//! | `GET app`, `GET user`, `GET SCOPE/installation`, `POST app/installations/ID/access_tokens` | who asks |
//! | `GET SCOPE/actions/runners`, `GET`/`DELETE …/ID`, `GET`/`PUT …/ID/labels` | runners |
//! | `POST …/registration-token`, `POST …/remove-token`, `POST …/generate-jitconfig` | how they come and go |
//! | `GET SCOPE/actions/runner-groups`, `PUT …/runner-groups/GROUP/runners/ID` | groups |
//!
//! A `SCOPE` is `orgs/ORG`, `repos/OWNER/REPO` or `enterprises/NAME`.

mod access;
mod api;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::clock::Time;
use crate::desk::{Ask, Books, Paging, Reply};
use crate::runners::Runners;

pub use access::{App, Personal};

/// Where people see it.
const WEB: &str = "https://github.com";

const PAGING: Paging = Paging { size: "per_page", usual: 30, most: 100 };

/// The personal token that it knows from the beginning.
pub const TOKEN: &str = "ghp_lab0000000000000000000000000000000000";

/// GitHub.
#[derive(Clone, Debug)]
pub struct Github {
    books: Arc<Mutex<access::Books>>,
    runners: Runners,
}

impl Github {
    /// It keeps these runners.
    #[must_use]
    pub fn new(runners: Runners) -> Github {
        Github { books: Arc::new(Mutex::new(access::Books::default())), runners }
    }

    fn books(&self) -> MutexGuard<'_, access::Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The runners that it keeps.
    #[must_use]
    pub fn runners(&self) -> &Runners {
        &self.runners
    }
}

/// What is asked about: where runners are registered, and what follows in the path.
fn scope<'a>(path: &[&'a str]) -> Option<(String, Vec<&'a str>)> {
    let (words, rest) = match path {
        ["orgs", org, rest @ ..] => ((*org).to_owned(), rest),
        ["repos", owner, repo, rest @ ..] => (format!("{owner}/{repo}"), rest),
        ["enterprises", name, rest @ ..] => (format!("enterprises/{name}"), rest),
        _ => return None,
    };
    Some((format!("{WEB}/{words}"), rest.to_vec()))
}

/// The path without what stands before it on GitHub Enterprise.
fn inside<'a>(segments: &'a [&'a str]) -> &'a [&'a str] {
    segments.strip_prefix(&["api", "v3"]).unwrap_or(segments)
}

fn refuse(status: u16, message: &str) -> Reply {
    let body = json!({
        "message": message, "documentation_url": "https://docs.github.com/rest", "status": status.to_string(),
    });
    Reply::json(status, &body)
}

impl Books for Github {
    fn operation(&self, ask: &Ask) -> Option<&'static str> {
        let segments = ask.segments();
        let path = inside(&segments);
        let method = &*ask.method;
        match (method, path) {
            ("GET", ["app"]) => return Some("get_app"),
            ("GET", ["user"]) => return Some("get_user"),
            ("POST", ["app", "installations", _, "access_tokens"]) => return Some("create_token"),
            _ => {}
        }
        let (_, rest) = scope(path)?;
        match (method, &rest[..]) {
            ("GET", ["installation"]) => Some("get_installation"),
            ("GET", ["actions", "runners"]) => Some("list_runners"),
            ("POST", ["actions", "runners", "registration-token"]) => Some("registration_token"),
            ("POST", ["actions", "runners", "remove-token"]) => Some("remove_token"),
            ("POST", ["actions", "runners", "generate-jitconfig"]) => Some("jit_config"),
            ("GET", ["actions", "runners", _]) => Some("get_runner"),
            ("DELETE", ["actions", "runners", _]) => Some("delete_runner"),
            ("GET", ["actions", "runners", _, "labels"]) => Some("get_labels"),
            ("PUT", ["actions", "runners", _, "labels"]) => Some("set_labels"),
            ("GET", ["actions", "runner-groups"]) => Some("list_groups"),
            ("PUT", ["actions", "runner-groups", _, "runners", _]) => Some("join_group"),
            _ => None,
        }
    }

    fn answer(&self, operation: &'static str, ask: &Ask, now: Time) -> Reply {
        if ask.header("user-agent").is_none() {
            return refuse(
                403,
                "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
            );
        }
        let answered = match operation {
            "get_app" | "get_installation" | "create_token" => self.as_app(operation, ask, now),
            "get_user" => self.as_user(ask, now),
            _ => self.about_runners(operation, ask, now),
        };
        answered.unwrap_or_else(|refused| refused)
    }

    fn refusal(&self, status: u16) -> Reply {
        let message = match status {
            401 => "Bad credentials",
            403 => "Resource not accessible by integration",
            404 => "Not Found",
            409 => "Already exists",
            422 => "Validation Failed",
            429 => "You have exceeded a secondary rate limit",
            _ => "Server Error",
        };
        let reply = refuse(status, message);
        if status == 403 {
            reply.with("x-accepted-github-permissions", access::PERMISSION_SHOWN)
        } else {
            reply
        }
    }
}

/// JSON of a list, and the page of it that is asked for.
fn page(ask: &Ask, name: &str, all: Vec<Value>) -> Reply {
    PAGING.cut(ask, all, |shown, total| Reply::json(200, &json!({ "total_count": total, name: shown })))
}
