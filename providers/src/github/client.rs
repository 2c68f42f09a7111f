//! The two sides of GitHub's API: [`Looking`] asks, [`Acting`] changes. Both may have to log in first, which changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fleet_engine::host::reach::Secret;
use fleet_engine::provider::Standing;
use fleet_engine::resource::Error;
use fleet_transport::http::{self, Answer, Parcel, Reader, Verb, Writer};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tokio::sync::Mutex;

use super::refusal::{Refusal, settle, understand};
use super::scope::Scope;
use super::settings::{Account, Credentials};
use crate::registrar::{Prepared, Registered, Registrar, Removed, Roster, find};

/// How long a request may take: GitHub itself ends those that take more than ten seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// As much of a list as GitHub gives at once.
const PAGE: usize = 100;
/// The version of the API that is spoken.
const HEADERS: [(&str, &str); 2] =
    [("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")];
/// What an App says of itself begins before now, because clocks differ, and ends soon.
const BEFORE: u64 = 60;
const LIFETIME: u64 = 9 * 60;
/// A token that ends within so long is not begun with.
const MARGIN: Duration = Duration::from_secs(120);

/// The number of the group that everybody has.
const DEFAULT_GROUP: i64 = 1;

/// The system of a runner that was prepared and that no agent has been yet.
const NEVER_CONNECTED: &str = "unknown";

/// Looks. It has no way to change anything.
#[derive(Clone, Debug)]
pub struct Looking(Arc<Access>);

/// Changes runners.
#[derive(Clone, Debug)]
pub struct Acting(Looking);

/// As whom GitHub is asked, and the way there.
#[derive(Debug)]
struct Access {
    account: Account,
    /// What installations were given, by where they are.
    sessions: Mutex<BTreeMap<Option<Scope>, Session>>,
}

/// The way to GitHub with one credential.
#[derive(Clone, Debug)]
struct Session {
    reader: Reader,
    writer: Writer,
    until: Option<SystemTime>,
}

#[derive(Serialize)]
struct Claims<'a> {
    iat: u64,
    exp: u64,
    iss: &'a str,
}

#[derive(Deserialize)]
struct Token {
    token: String,
    expires_at: Option<String>,
}

#[derive(Deserialize)]
struct Configuration {
    encoded_jit_config: String,
}

#[derive(Deserialize)]
struct Numbered {
    id: i64,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Runner {
    id: i64,
    name: String,
    #[serde(default)]
    os: String,
    status: String,
    #[serde(default)]
    busy: bool,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    runner_group_id: Option<i64>,
}

#[derive(Deserialize)]
struct Label {
    name: String,
    #[serde(rename = "type", default)]
    kind: String,
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// An agent registers itself.
    Register,
    /// An agent removes itself.
    Remove,
}

/// Connects; nothing is sent yet.
pub(super) fn connect(account: Account) -> Acting {
    Acting(Looking(Arc::new(Access { account, sessions: Mutex::default() })))
}

impl Session {
    fn new(account: &Account, credential: &str, until: Option<SystemTime>) -> Result<Session, Error> {
        let (reader, writer) = http::connect(&http::Options {
            name: "GitHub",
            url: &account.api_url,
            header: "authorization",
            credential: &Secret(format!("Bearer {credential}")),
            headers: &HEADERS,
            request_id: "x-github-request-id",
            timeout: PATIENCE,
        })?;
        Ok(Session { reader, writer, until })
    }

    fn is_good(&self) -> bool {
        self.until.is_none_or(|until| SystemTime::now() + MARGIN < until)
    }
}

impl Access {
    /// The way to what belongs to a scope. With `anew` what was used before is of no use any more.
    async fn session(&self, scope: &Scope, anew: bool) -> Result<Session, Error> {
        let (id, installation, private_key) = match &self.account.credentials {
            Credentials::Token(token) => return Session::new(&self.account, &token.0, None),
            Credentials::App { id, installation, private_key } => (id, installation, private_key),
        };
        let key = installation.is_none().then(|| scope.clone());
        let mut sessions = self.sessions.lock().await;
        if let Some(known) = sessions.get(&key).filter(|known| !anew && known.is_good()) {
            return Ok(known.clone());
        }
        let app = Session::new(&self.account, &signed(id, private_key)?, None)?;
        let number = match installation {
            Some(number) => number.clone(),
            None => {
                let doing = "cannot find where the App is installed";
                let answer = app.reader.get(doing, &scope.path(&["installation"]), &[]).await?;
                let found: Numbered = json_of(doing, &self.as_app(understand(doing, answer))?)?;
                found.id.to_string()
            }
        };
        let doing = "cannot log in as the App";
        let path = ["app", "installations", &*number, "access_tokens"];
        let outcome = app.writer.send(doing, Verb::Post, &path, None).await;
        let given: Token = json_of(doing, &self.as_app(settle(doing, outcome))?)?;
        let until = given.expires_at.and_then(|end| humantime::parse_rfc3339(&end).ok());
        let session = Session::new(&self.account, &given.token, until)?;
        sessions.insert(key, session.clone());
        Ok(session)
    }

    /// What an answer to an App means, with what to do if it is not known there.
    fn as_app(&self, answer: Result<Answer, Refusal>) -> Result<Answer, Error> {
        answer.map_err(|refusal| match refusal {
            Refusal::Credential(error) => error.help(
                "check `app_id` and `private_key` of the provider: GitHub knows no App that signs like this",
            ),
            Refusal::NotFound(error) => {
                error.help("see that the App is installed there, and check `installation_id`")
            }
            refusal => refusal.into(),
        })
    }

    /// What to do about a credential that is not taken.
    fn unknown(&self, error: Error) -> Error {
        error.help(match &self.account.credentials {
            Credentials::Token(_) => {
                "check `token` of the provider, or `GITHUB_TOKEN`: it is wrong, expired or revoked"
            }
            Credentials::App { .. } => "see whether the App was suspended or removed there",
        })
    }

    /// Asks, and once more with a new token where the old one is not taken any more.
    async fn call(&self, scope: &Scope, doing: &str, request: Request<'_>) -> Result<Answer, Refusal> {
        for anew in [false, true] {
            let session = self.session(scope, anew).await.map_err(Refusal::Other)?;
            let answer = match &request {
                Request::Ask(parcel) => {
                    understand(doing, session.reader.ask(doing, parcel).await.map_err(Refusal::Other)?)
                }
                Request::Send(verb, path, body) => {
                    settle(doing, session.writer.send(doing, *verb, path, *body).await)
                }
            };
            match answer {
                // Whoever does not know us has done nothing.
                Err(Refusal::Credential(_)) if !anew && self.is_app() => {}
                Err(Refusal::Credential(error)) => return Err(Refusal::Credential(self.unknown(error))),
                answer => return answer,
            }
        }
        Err(Refusal::Other(Error::permanent(format!("{doing}: no credential is taken"))))
    }

    fn is_app(&self) -> bool {
        matches!(self.account.credentials, Credentials::App { .. })
    }
}

/// What is asked of GitHub.
enum Request<'a> {
    Ask(Parcel<'a>),
    Send(Verb, &'a [&'a str], Option<&'a Json>),
}

impl Looking {
    /// A whole list, page after page.
    async fn all<T: DeserializeOwned>(
        &self,
        scope: &Scope,
        doing: &str,
        path: &[&str],
        name: &str,
    ) -> Result<Vec<T>, Error> {
        let size = PAGE.to_string();
        let mut all = Vec::new();
        for page in 1_usize.. {
            let number = page.to_string();
            let query = [("per_page", &*size), ("page", &*number)];
            let parcel = Parcel { path, query: &query, ..Parcel::default() };
            let answer = self.0.call(scope, doing, Request::Ask(parcel)).await?;
            let mut body: Json = json_of(doing, &answer)?;
            let Json::Array(items) = body[name].take() else { return Err(odd(doing)) };
            let is_last =
                items.is_empty() || answer.header("link").is_none_or(|link| !link.contains("rel=\"next\""));
            for item in items {
                all.push(serde_json::from_value(item).map_err(|_| odd(doing))?);
            }
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    /// The names of the groups of a scope, by their numbers.
    pub(super) async fn groups(&self, url: &str) -> Result<BTreeMap<i64, String>, Error> {
        let scope = Scope::of(url)?;
        if !scope.has_groups() {
            return Ok(BTreeMap::new());
        }
        let doing = format!("cannot list the groups of runners at {url}");
        let groups: Vec<Numbered> =
            self.all(&scope, &doing, &scope.path(&["actions", "runner-groups"]), "runner_groups").await?;
        Ok(groups.into_iter().map(|group| (group.id, group.name)).collect())
    }

    /// What GitHub says of the credentials.
    pub(super) async fn standing(&self) -> Result<Standing, Error> {
        let account = &self.0.account;
        match &account.credentials {
            Credentials::Token(token) => {
                let doing = "cannot ask GitHub whose the token is";
                let session = Session::new(account, &token.0, None)?;
                let answer = session.reader.get(doing, &["user"], &[]).await?;
                let answer = understand(doing, answer).map_err(|refusal| match refusal {
                    Refusal::Credential(error) => self.0.unknown(error),
                    refusal => refusal.into(),
                })?;
                let user: Json = json_of(doing, &answer)?;
                let until = answer.header("github-authentication-token-expiration");
                Ok(Standing {
                    who: format!("a token of {}", user["login"].as_str().unwrap_or("somebody")),
                    until: until.and_then(|until| end_of(&until)),
                    warnings: Vec::new(),
                })
            }
            Credentials::App { id, private_key, .. } => {
                let doing = "cannot ask GitHub about the App";
                let session = Session::new(account, &signed(id, private_key)?, None)?;
                let answer = session.reader.get(doing, &["app"], &[]).await?;
                let app: Json = json_of(doing, &self.0.as_app(understand(doing, answer))?)?;
                let who = format!("the App {}", app["slug"].as_str().unwrap_or(id));
                Ok(Standing { who, until: None, warnings: Vec::new() })
            }
        }
    }
}

impl Roster for Looking {
    async fn list(&self, url: &str) -> Result<Vec<Registered>, Error> {
        let scope = Scope::of(url)?;
        let doing = format!("cannot list the runners at {url}");
        let runners: Vec<Runner> =
            self.all(&scope, &doing, &scope.path(&["actions", "runners"]), "runners").await?;
        Ok(runners.into_iter().map(Registered::from).collect())
    }
}

impl Acting {
    /// The side that only looks.
    pub(super) fn looking(&self) -> &Looking {
        &self.0
    }

    /// A token by which an agent may come or go.
    pub(super) async fn token(&self, url: &str, purpose: Purpose) -> Result<Secret, Error> {
        let scope = Scope::of(url)?;
        let (what, name) = match purpose {
            Purpose::Register => ("registered", "registration-token"),
            Purpose::Remove => ("removed", "remove-token"),
        };
        let doing = format!("cannot get the token by which runners are {what} at {url}");
        let path = scope.path(&["actions", "runners", name]);
        let answer = self.send(&scope, &doing, Verb::Post, &path, None).await?;
        Ok(Secret(json_of::<Token>(&doing, &answer)?.token))
    }

    /// Gives a runner these labels, in the place of those that somebody gave it before.
    pub(super) async fn set_labels(&self, url: &str, id: i64, labels: &[String]) -> Result<(), Error> {
        let scope = Scope::of(url)?;
        let number = id.to_string();
        let doing = format!("cannot set the labels of runner {id}");
        let path = scope.path(&["actions", "runners", &number, "labels"]);
        self.send(&scope, &doing, Verb::Put, &path, Some(&json!({ "labels": labels }))).await?;
        Ok(())
    }

    /// Puts a runner into a group, by its name.
    pub(super) async fn set_group(&self, url: &str, id: i64, group: &str) -> Result<(), Error> {
        let doing = format!("cannot put runner {id} into the group `{group}`");
        let scope = Scope::of(url)?;
        let (known, number) = (self.group(&doing, url, group).await?.to_string(), id.to_string());
        let path = scope.path(&["actions", "runner-groups", &known, "runners", &number]);
        self.send(&scope, &doing, Verb::Put, &path, None).await?;
        Ok(())
    }

    /// The number of a group.
    async fn group(&self, doing: &str, url: &str, group: &str) -> Result<i64, Error> {
        let groups = self.0.groups(url).await?;
        if let Some((known, _)) = groups.iter().find(|(_, name)| *name == group) {
            return Ok(*known);
        }
        let names: Vec<&str> = groups.values().map(String::as_str).collect();
        let error = Error::permanent(format!("{doing}: there is no group `{group}` at {url}"));
        Err(error.help(match names.is_empty() {
            true => "repositories have no groups: leave `group` out".to_owned(),
            false => format!("it has `{}`", names.join("`, `")),
        }))
    }

    async fn send(
        &self,
        scope: &Scope,
        doing: &str,
        verb: Verb,
        path: &[&str],
        body: Option<&Json>,
    ) -> Result<Answer, Refusal> {
        self.0.0.call(scope, doing, Request::Send(verb, path, body)).await
    }
}

impl Roster for Acting {
    async fn list(&self, url: &str) -> Result<Vec<Registered>, Error> {
        self.0.list(url).await
    }
}

impl Registrar for Acting {
    async fn prepare(&self, url: &str, wish: &Prepared) -> Result<Secret, Error> {
        let scope = Scope::of(url)?;
        let doing = format!("cannot prepare the runner `{}` at {url}", wish.name);
        let group = match &wish.group {
            Some(group) => self.group(&doing, url, group).await?,
            None => DEFAULT_GROUP,
        };
        let path = scope.path(&["actions", "runners", "generate-jitconfig"]);
        let body = json!({ "name": wish.name, "runner_group_id": group, "labels": wish.labels });
        let prepare = || self.send(&scope, &doing, Verb::Post, &path, Some(&body));
        let answer = match prepare().await {
            // What was given out before is lost with whoever asked for it, and only one that no agent ever had may be taken away.
            Err(Refusal::Exists(error)) => match find(self, url, &wish.name).await? {
                Some(left) if !left.was_seen && !left.online => {
                    self.remove(url, left.id).await?;
                    prepare().await?
                }
                _ => return Err(error),
            },
            answer => answer?,
        };
        Ok(Secret(json_of::<Configuration>(&doing, &answer)?.encoded_jit_config))
    }

    async fn remove(&self, url: &str, id: i64) -> Result<Removed, Error> {
        let scope = Scope::of(url)?;
        let number = id.to_string();
        let doing = format!("cannot deregister runner {id}");
        let path = scope.path(&["actions", "runners", &number]);
        match self.send(&scope, &doing, Verb::Delete, &path, None).await {
            Ok(_) | Err(Refusal::NotFound(_)) => Ok(Removed::Gone),
            // It runs a job by now.
            Err(Refusal::Invalid(_)) => Ok(Removed::Busy),
            Err(refusal) => Err(refusal.into()),
        }
    }
}

impl From<Runner> for Registered {
    fn from(runner: Runner) -> Registered {
        let mut labels: Vec<String> = runner
            .labels
            .into_iter()
            .filter(|label| label.kind != "read-only")
            .map(|label| label.name)
            .collect();
        labels.sort();
        Registered {
            id: runner.id,
            name: runner.name,
            paused: false,
            was_seen: runner.os != NEVER_CONNECTED,
            os: runner.os,
            online: runner.status == "online",
            busy: runner.busy,
            labels,
            group: runner.runner_group_id,
        }
    }
}

/// What an App says of itself, signed.
fn signed(id: &str, private_key: &Secret) -> Result<String, Error> {
    let wrong = || {
        Error::permanent("`private_key` of provider `github` is no private key of an App")
            .help("it is the whole file that GitHub gave when the key was made, from `-----BEGIN` on")
    };
    // A key that went through a variable may have lost the ends of its lines.
    let text = private_key.0.replace("\\n", "\n");
    let key = EncodingKey::from_rsa_pem(text.as_bytes()).map_err(|_| wrong())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let claims = Claims { iat: now.saturating_sub(BEFORE), exp: now + LIFETIME, iss: id };
    jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &key).map_err(|_| wrong())
}

/// A time as `2026-12-01 10:00:00 UTC`.
fn end_of(text: &str) -> Option<SystemTime> {
    let (date, time) = text.trim().trim_end_matches(" UTC").split_once(' ')?;
    humantime::parse_rfc3339(&format!("{date}T{time}Z")).ok()
}

fn json_of<T: DeserializeOwned>(doing: &str, answer: &Answer) -> Result<T, Error> {
    answer.json().map_err(|mut error| {
        error.message = format!("{doing}: {}", error.message);
        error
    })
}

/// An answer that holds something else. What it holds is not repeated: it may be secret.
fn odd(doing: &str) -> Error {
    let error = Error::permanent(format!("{doing}: the answer cannot be understood"));
    error.help("check `api_url` of the provider")
}
