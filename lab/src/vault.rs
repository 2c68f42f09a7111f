//! HashiCorp Vault, as far as secrets are read from it: its KV engine of version 2, and tokens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use crate::clock::Time;
use crate::desk::{Ask, Books, Reply};

/// A Vault.
#[derive(Clone, Debug)]
pub struct Vault {
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug)]
struct Inside {
    is_sealed: bool,
    /// The engines: where each is mounted, its type and its version.
    mounts: BTreeMap<String, (&'static str, &'static str)>,
    tokens: Vec<Token>,
    /// The versions of each secret, by its path with the mount.
    secrets: BTreeMap<String, Vec<Version>>,
}

/// Who may ask.
#[derive(Clone, Debug)]
pub struct Token {
    /// What is sent.
    pub secret: String,
    /// When it is good no more.
    pub expires_at: Option<Time>,
    /// What it may read: paths that start so.
    pub reads: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct Version {
    data: Option<Map<String, Value>>,
    deletion_time: Option<Time>,
    is_destroyed: bool,
}

/// The token that a Vault has from the beginning, and that may read everything.
pub const ROOT_TOKEN: &str = "hvs.lab-root";

impl Default for Vault {
    fn default() -> Vault {
        let root = Token { secret: ROOT_TOKEN.into(), expires_at: None, reads: vec![String::new()] };
        let mounts = [
            ("secret/", ("kv", "2")),
            ("team/kv/", ("kv", "2")),
            ("old/", ("kv", "1")),
            ("pki/", ("pki", "")),
        ];
        let inside = Inside {
            is_sealed: false,
            mounts: mounts.map(|(path, what)| (path.to_owned(), what)).into(),
            tokens: vec![root],
            secrets: BTreeMap::new(),
        };
        Vault { inside: Arc::new(Mutex::new(inside)) }
    }
}

impl Vault {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a new version of a secret, such as `secret/ci/github`.
    pub fn put(&self, path: &str, data: &Value) {
        let data = data.as_object().cloned();
        let version = Version { data, ..Version::default() };
        self.inside().secrets.entry(path.to_owned()).or_default().push(version);
    }

    /// The newest version of a secret ends then: it is deleted from that moment on.
    pub fn delete_at(&self, path: &str, time: Time) {
        if let Some(version) = self.inside().secrets.get_mut(path).and_then(|versions| versions.last_mut()) {
            version.deletion_time = Some(time);
        }
    }

    /// The newest version of a secret is gone for good.
    pub fn destroy(&self, path: &str) {
        if let Some(version) = self.inside().secrets.get_mut(path).and_then(|versions| versions.last_mut()) {
            *version = Version { is_destroyed: true, ..Version::default() };
        }
    }

    /// Lets somebody else ask.
    pub fn add_token(&self, token: Token) {
        self.inside().tokens.push(token);
    }

    /// Seals it, or unseals it.
    pub fn seal(&self, is_sealed: bool) {
        self.inside().is_sealed = is_sealed;
    }
}

fn refuse(status: u16, errors: &[&str]) -> Reply {
    Reply::json(status, &json!({ "errors": errors }))
}

fn shown(time: Option<Time>) -> String {
    time.map(|time| time.to_string()).unwrap_or_default()
}

impl Books for Vault {
    fn operation(&self, ask: &Ask) -> Option<&'static str> {
        match (&*ask.method, &ask.segments()[..]) {
            ("GET", ["v1", "auth", "token", "lookup-self"]) => Some("lookup_self"),
            ("GET", ["v1", "sys", "internal", "ui", "mounts", _, ..]) => Some("get_mount"),
            ("GET", ["v1", _, _, ..]) => Some("read"),
            _ => None,
        }
    }

    fn answer(&self, operation: &'static str, ask: &Ask, now: Time) -> Reply {
        let inside = self.inside();
        if inside.is_sealed {
            return refuse(503, &["Vault is sealed"]);
        }
        let secret = ask.header("x-vault-token").unwrap_or_default();
        let denied = || refuse(403, &["permission denied"]);
        let is_good = |token: &&Token| token.secret == secret && token.expires_at.is_none_or(|end| now < end);
        let Some(token) = inside.tokens.iter().find(is_good) else {
            return refuse(403, &["permission denied", "invalid token"]);
        };
        let may_read = |path: &str| token.reads.iter().any(|start| path.starts_with(start));
        let mount_of =
            |path: &str| inside.mounts.iter().find(|(mount, _)| format!("{path}/").starts_with(*mount));
        match operation {
            "lookup_self" => {
                let expire_time = token.expires_at.map(|end| end.to_string());
                Reply::json(200, &json!({ "data": { "expire_time": expire_time, "renewable": false } }))
            }
            "get_mount" => {
                let path = ask.path[5..].join("/");
                let Some((mount, (kind, version))) = mount_of(&path).filter(|_| may_read(&path)) else {
                    return refuse(
                        403,
                        &[
                            "preflight capability check returned 403, please ensure client's policies grant access",
                        ],
                    );
                };
                let options = if version.is_empty() { Value::Null } else { json!({ "version": version }) };
                Reply::json(200, &json!({ "data": { "path": mount, "type": kind, "options": options } }))
            }
            _ => {
                let path = ask.path[1..].join("/");
                let Some((mount, _)) = mount_of(&path) else { return refuse(404, &["no handler for route"]) };
                let Some(rest) = path.strip_prefix(mount).and_then(|rest| rest.strip_prefix("data/")) else {
                    return refuse(404, &[]);
                };
                let path = format!("{mount}{rest}");
                if !may_read(&path) {
                    return denied();
                }
                let versions = inside.secrets.get(&path).map(Vec::as_slice).unwrap_or_default();
                let number = ask.parameter("version").and_then(|number| number.parse().ok());
                let number: usize = number.unwrap_or(versions.len());
                let Some(version) = number.checked_sub(1).and_then(|at| versions.get(at)) else {
                    return refuse(404, &[]);
                };
                let is_deleted = version.is_destroyed || version.deletion_time.is_some_and(|end| end <= now);
                let data = if is_deleted { None } else { version.data.clone() };
                let status = if is_deleted { 404 } else { 200 };
                let metadata = json!({
                    "version": number, "destroyed": version.is_destroyed, "deletion_time": shown(version.deletion_time),
                    "created_time": "2026-01-01T00:00:00.000000000Z", "custom_metadata": null,
                });
                Reply::json(
                    status,
                    &json!({ "data": { "data": data, "metadata": metadata }, "warnings": null }),
                )
            }
        }
    }

    fn refusal(&self, status: u16) -> Reply {
        refuse(status, if status == 404 { &[] } else { &["it went wrong on purpose"] })
    }
}
