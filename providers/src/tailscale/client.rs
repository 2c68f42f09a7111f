//! The two sides of a tailnet's API: [`Looking`] asks, [`Acting`] changes. Both may have to log in first, which changes nothing.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fleet_engine::finding::table;
use fleet_engine::host::reach::Secret;
use fleet_engine::provider::Standing;
use fleet_engine::resource::Error;
use fleet_transport::http::{self, Answer, Body, Class, Outcome, Parcel, Reader, Verb, Writer};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::sync::Mutex;

use super::settings::{Account, Credentials};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// A token that ends within so long is not begun with.
const MARGIN: Duration = Duration::from_secs(120);
/// The most of a text that is repeated.
const LONGEST: usize = 600;

/// Looks at a tailnet. It has no way to change anything.
#[derive(Clone, Debug)]
pub struct Looking(Arc<Access>);

/// Changes a tailnet.
#[derive(Clone, Debug)]
pub struct Acting(Looking);

#[derive(Debug)]
struct Access {
    account: Account,
    session: Mutex<Option<Session>>,
    /// What somebody should know of what was seen.
    warnings: std::sync::Mutex<BTreeSet<String>>,
}

/// The way to the API with one credential.
#[derive(Clone, Debug)]
struct Session {
    reader: Reader,
    writer: Writer,
    until: Option<SystemTime>,
}

/// Why something was not answered, or not done.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The credential is of no use (any more).
    Credential(Error),
    /// It is not there.
    NotFound(Error),
    /// Somebody else changed it meanwhile.
    Changed(Error),
    /// Anything else, tried again where that may help.
    Other(Error),
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Told {
    pub(super) message: String,
    data: Vec<Json>,
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
    #[serde(default)]
    expires_in: Option<u64>,
}

/// A device, as far as it is used.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Device {
    #[serde(default)]
    pub(super) node_id: String,
    pub(super) name: String,
    pub(super) hostname: String,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) created: String,
    #[serde(default)]
    pub(super) connected_to_control: bool,
    #[serde(default)]
    pub(super) is_external: bool,
}

/// Connects; nothing is sent yet.
pub(super) fn connect(account: Account) -> Acting {
    Acting(Looking(Arc::new(Access { account, session: Mutex::default(), warnings: Default::default() })))
}

impl Session {
    fn new(account: &Account, credential: String, until: Option<SystemTime>) -> Result<Session, Error> {
        let (reader, writer) = http::connect(&http::Options {
            name: "Tailscale",
            url: &account.base_url,
            header: "authorization",
            credential: &Secret(credential),
            headers: &[],
            request_id: "x-request-id",
            timeout: PATIENCE,
        })?;
        Ok(Session { reader, writer, until })
    }
}

impl Access {
    /// The way to the API. With `anew` what was used before is of no use any more.
    async fn session(&self, anew: bool) -> Result<Session, Error> {
        let (id, secret) = match &self.account.credentials {
            Credentials::Key(key) => return Session::new(&self.account, format!("Bearer {}", key.0), None),
            Credentials::Client { id, secret } => (id, secret),
        };
        let mut session = self.session.lock().await;
        let is_good = |known: &&Session| known.until.is_none_or(|until| SystemTime::now() + MARGIN < until);
        if let Some(known) = session.as_ref().filter(is_good).filter(|_| !anew) {
            return Ok(known.clone());
        }
        let doing = "cannot log in as the OAuth client";
        let login = BASE64_STANDARD.encode(format!("{id}:{}", secret.0));
        let client = Session::new(&self.account, format!("Basic {login}"), None)?;
        let body = Body::Text("application/x-www-form-urlencoded", "grant_type=client_credentials");
        let parcel = Parcel { path: &["api", "v2", "oauth", "token"], body, ..Parcel::default() };
        let answer = settle(doing, client.writer.submit(doing, Verb::Post, &parcel).await);
        let answer = answer.map_err(|refusal| match refusal {
            Refusal::Credential(error) => {
                error.help("check `oauth_client_id` and `oauth_client_secret` of the provider: nobody has them, or they were revoked")
            }
            refusal => refusal.into(),
        })?;
        let given: Token = json_of(doing, &answer)?;
        let until = given.expires_in.map(|seconds| SystemTime::now() + Duration::from_secs(seconds));
        Ok(session
            .insert(Session::new(&self.account, format!("Bearer {}", given.access_token), until)?)
            .clone())
    }

    /// Asks or sends, and once more with a new token where the old one is not taken any more.
    async fn call(&self, doing: &str, verb: Option<Verb>, parcel: &Parcel<'_>) -> Result<Answer, Refusal> {
        for anew in [false, true] {
            let session = self.session(anew).await.map_err(Refusal::Other)?;
            let answer = match verb {
                None => understand(doing, session.reader.ask(doing, parcel).await.map_err(Refusal::Other)?),
                Some(verb) => settle(doing, session.writer.submit(doing, verb, parcel).await),
            };
            let is_client = matches!(self.account.credentials, Credentials::Client { .. });
            match answer {
                // Whoever does not know us has done nothing.
                Err(Refusal::Credential(_)) if !anew && is_client => {}
                Err(Refusal::Credential(error)) => {
                    let help = "check `api_key` of the provider, or `TAILSCALE_API_KEY`: it is wrong, revoked or expired";
                    return Err(Refusal::Credential(error.help(help)));
                }
                answer => return answer,
            }
        }
        Err(Refusal::Other(Error::permanent(format!("{doing}: no credential is taken"))))
    }

    fn path<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        ["api", "v2", "tailnet", &*self.account.tailnet].into_iter().chain(rest.iter().copied()).collect()
    }
}

impl Looking {
    /// Something of the tailnet, with all that is answered.
    pub(super) async fn get(
        &self,
        doing: &str,
        rest: &[&str],
        headers: &[(&'static str, &str)],
    ) -> Result<Answer, Refusal> {
        let path = self.0.path(rest);
        self.0.call(doing, None, &Parcel { path: &path, headers, ..Parcel::default() }).await
    }

    /// All devices. Those that are too many are told.
    pub(super) async fn devices(&self) -> Result<Vec<Device>, Error> {
        #[derive(Deserialize)]
        struct All {
            devices: Vec<Device>,
        }
        let doing = "cannot list the devices of the tailnet";
        let All { devices } = json_of(doing, &self.get(doing, &["devices"], &[]).await?)?;
        if let Some(cap) = self.0.account.device_cap {
            let tagged =
                devices.iter().filter(|device| !device.tags.is_empty() && !device.is_external).count() as i64;
            if tagged * 10 >= cap * 9 {
                let more = if tagged > cap {
                    "which is more than it may have"
                } else {
                    "which is nearly all that it may have"
                };
                self.warn(format!("the tailnet has {tagged} tagged devices of {cap}, {more}"));
            }
        }
        Ok(devices)
    }

    /// Somebody should know of this.
    pub(super) fn warn(&self, warning: String) {
        self.0.warnings.lock().unwrap_or_else(PoisonError::into_inner).insert(warning);
    }

    /// What somebody should know.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.0.warnings.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// What the tailnet says of the credentials. Of an API key its end is known to whoever may list keys.
    pub(super) async fn standing(&self) -> Result<Standing, Error> {
        let doing = "cannot ask the tailnet";
        let answer = self.get(doing, &["keys"], &[]).await?;
        let keys: Json = json_of(doing, &answer)?;
        let (who, until) = match &self.0.account.credentials {
            Credentials::Client { id, .. } => (format!("the OAuth client {id}"), None),
            Credentials::Key(key) => {
                // `tskey-api-ID-…`
                let id = key.0.split('-').nth(2).unwrap_or_default();
                let all = keys["keys"].as_array().into_iter().flatten();
                let own = all.into_iter().find(|known| known["id"].as_str() == Some(id));
                let until = own.and_then(|own| humantime::parse_rfc3339(own["expires"].as_str()?).ok());
                ("an API key".to_owned(), until)
            }
        };
        Ok(Standing { who, until, warnings: Vec::new() })
    }
}

impl Acting {
    /// The side that only looks.
    pub(super) fn looking(&self) -> &Looking {
        &self.0
    }

    /// Changes something of the tailnet, once.
    pub(super) async fn send(
        &self,
        doing: &str,
        verb: Verb,
        rest: &[&str],
        headers: &[(&'static str, &str)],
        body: Body<'_>,
    ) -> Result<Answer, Refusal> {
        let access = &self.0.0;
        let path = access.path(rest);
        access.call(doing, Some(verb), &Parcel { path: &path, headers, body, ..Parcel::default() }).await
    }

    /// Removes a device; that it is gone already is success.
    pub(super) async fn remove_device(&self, id: &str) -> Result<(), Error> {
        let doing = format!("cannot remove the device `{id}` from the tailnet");
        let parcel = Parcel { path: &["api", "v2", "device", id], ..Parcel::default() };
        match self.0.0.call(&doing, Some(Verb::Delete), &parcel).await {
            Ok(_) | Err(Refusal::NotFound(_)) => Ok(()),
            Err(refusal) => Err(refusal.into()),
        }
    }
}

/// What an answer means; `Ok` if it has what was asked for.
fn understand(doing: &str, answer: Answer) -> Result<Answer, Refusal> {
    if answer.class() == Class::Done {
        return Ok(answer);
    }
    let said = answer.clean(&answer.told::<Told>().unwrap_or_default().words());
    let said = if said.is_empty() { format!("it answered {}", answer.status) } else { said };
    let message = format!("{doing}: {said}{}", answer.request());
    Err(match (answer.status, answer.class()) {
        (401, _) => Refusal::Credential(Error::permanent(message).known(&table::EXPIRED_CREDENTIAL)),
        (403, _) => Refusal::Other(Error::permanent(message).help(
            "the credentials may not do this: a client needs the scopes `auth_keys`, `devices:core` or `policy_file`, and tags",
        )),
        (404, _) => Refusal::NotFound(Error::permanent(message).help("check `tailnet` of the provider")),
        (412, _) => Refusal::Changed(Error::permanent(message)),
        (400, _) => Refusal::Other(Error::permanent(message)),
        (_, Class::Later(after)) => {
            Refusal::Other(after.into_iter().fold(Error::transient(message), Error::after))
        }
        _ => Refusal::Other(Error::permanent(message).help("check `base_url` of the provider")),
    })
}

fn settle(doing: &str, outcome: Outcome) -> Result<Answer, Refusal> {
    match outcome {
        Outcome::Answered(answer) => understand(doing, answer),
        Outcome::NotSent(error) | Outcome::Unsettled(error) => Err(Refusal::Other(error)),
    }
}

pub(super) fn json_of<T: DeserializeOwned>(doing: &str, answer: &Answer) -> Result<T, Error> {
    answer.json().map_err(|mut error| {
        error.message = format!("{doing}: {}", error.message);
        error
    })
}

impl Told {
    /// What the API says, in one line.
    pub(super) fn words(&self) -> String {
        let detail = |of: &Json| {
            let errors = of["errors"].as_array().into_iter().chain(of["warnings"].as_array()).flatten();
            let errors: Vec<&str> = errors.filter_map(Json::as_str).collect();
            let user = of["user"].as_str().unwrap_or_default();
            (!errors.is_empty()).then(|| format!("{user}: {}", errors.join(", ")))
        };
        let details: Vec<String> = self.data.iter().filter_map(detail).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join("; ")) };
        let words = format!("{}{details}", self.message);
        words.trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect()
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::Credential(error)
            | Refusal::NotFound(error)
            | Refusal::Changed(error)
            | Refusal::Other(error) => error,
        }
    }
}
