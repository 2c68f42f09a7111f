//! The API of a tailnet: who may ask, its devices, its keys and its policy.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::policy::{self, etag, failing_tests, formatted, parse};
use super::{CLIENT_SECRET, Device, Key, Tailnet};
use crate::clock::Time;
use crate::desk::{Ask, Books, Reply};

/// How long what a client is given is good for.
const GOOD_FOR: Duration = Duration::from_secs(3600);
/// An API key that the tailnet takes from the beginning.
pub const API_KEY: &str = "tskey-api-lab";
/// The id of the OAuth client whose secret is [`CLIENT_SECRET`].
pub const CLIENT_ID: &str = "kLabCNTRL";

/// A tailnet as its API has it.
#[derive(Clone, Debug)]
pub struct Console {
    /// What it is about.
    pub tailnet: Tailnet,
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug)]
struct Inside {
    policy: String,
    /// What clients were given, and until when.
    tokens: Vec<(String, Time)>,
    /// When each API key ends.
    keys: BTreeMap<String, Option<Time>>,
    /// What was said of keys when they were made, when that was, and for how many seconds.
    described: BTreeMap<String, (String, Time, u64)>,
    made: u64,
    /// What somebody makes of the policy just before the next one is set.
    meanwhile: Option<String>,
}

impl Console {
    /// The API of a tailnet.
    #[must_use]
    pub fn new(tailnet: Tailnet) -> Console {
        let inside = Inside {
            policy: policy::DEFAULT.to_owned(),
            tokens: Vec::new(),
            keys: [(API_KEY.to_owned(), None)].into(),
            described: BTreeMap::new(),
            made: 0,
            meanwhile: None,
        };
        Console { tailnet, inside: Arc::new(Mutex::new(inside)) }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The policy as it is.
    #[must_use]
    pub fn policy(&self) -> String {
        self.inside().policy.clone()
    }

    /// Somebody edits the policy in the console.
    pub fn set_policy(&self, text: &str) {
        self.inside().policy = formatted(text);
    }

    /// Lets somebody in the console be faster: just before the next request that sets a policy, it becomes this one.
    pub fn set_policy_meanwhile(&self, text: &str) {
        self.inside().meanwhile = Some(formatted(text));
    }

    /// Adds an API key, which ends then.
    pub fn add_api_key(&self, key: &str, expires: Option<Time>) {
        self.inside().keys.insert(key.to_owned(), expires);
    }

    /// Everything that was given to clients, and every key: what nobody may see.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let keys = self.tailnet.book().keys.into_iter().map(|key| key.secret);
        self.inside().tokens.iter().map(|(token, _)| token.clone()).chain(keys).collect()
    }

    /// Who asks: whether with a token of a client.
    fn caller(&self, ask: &Ask, now: Time) -> Result<bool, Reply> {
        let header = ask.header("authorization").unwrap_or_default();
        let inside = self.inside();
        let sent = header.strip_prefix("Bearer ").unwrap_or_default();
        if inside.tokens.iter().any(|(token, end)| token == sent && now < *end) {
            return Ok(true);
        }
        match inside.keys.get(sent) {
            Some(end) if end.is_none_or(|end| now < end) => Ok(false),
            _ => Err(refuse(401, "API token invalid")),
        }
    }

    fn token(&self, ask: &Ask, now: Time) -> Reply {
        let basic = ask.header("authorization").and_then(|header| header.strip_prefix("Basic "));
        let basic = basic.and_then(|encoded| BASE64_STANDARD.decode(encoded).ok());
        let login = basic.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        if login != format!("{CLIENT_ID}:{CLIENT_SECRET}") {
            return refuse(401, "API token invalid");
        }
        let mut inside = self.inside();
        inside.made += 1;
        let token = format!("tskey-api-kOAuth{}-{}", inside.made, uuid::Uuid::new_v4().simple());
        inside.tokens.push((token.clone(), now.after(GOOD_FOR)));
        Reply::json(
            200,
            &json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": "all" }),
        )
    }

    fn create_key(&self, wish: &Value, by_client: bool, now: Time) -> Reply {
        let create = &wish["capabilities"]["devices"]["create"];
        let tags: Vec<String> = create["tags"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let known = super::TAGS;
        if (by_client && tags.is_empty()) || tags.iter().any(|tag| !known.contains(&tag.as_str())) {
            return refuse(400, &format!("requested tags [{}] are invalid or not permitted", tags.join(" ")));
        }
        let description = wish["description"].as_str().unwrap_or_default().to_owned();
        if description.len() > 50
            || description.contains(|c: char| !c.is_ascii_alphanumeric() && !"-_ ".contains(c))
        {
            return refuse(400, "invalid description");
        }
        let seconds = wish["expirySeconds"].as_u64().unwrap_or(7_776_000);
        let id = {
            let mut inside = self.inside();
            inside.made += 1;
            let id = format!("k{:04}CNTRL", inside.made);
            inside.described.insert(id.clone(), (description, now, seconds));
            id
        };
        let is = |name: &str| create[name].as_bool().unwrap_or_default();
        let key = Key {
            is_reusable: is("reusable"),
            is_ephemeral: is("ephemeral"),
            expires: Some(now.after(Duration::from_secs(seconds))),
            ..Key::auth(&format!("tskey-auth-{id}-{}", uuid::Uuid::new_v4().simple()), tags)
        };
        self.tailnet.edit(|book| book.keys.push(key.clone()));
        let mut shown = self.shown_key(&key, now);
        shown["key"] = key.secret.into();
        Reply::json(200, &shown)
    }

    fn shown_key(&self, key: &Key, now: Time) -> Value {
        let id = id_of(key);
        let described = self.inside().described.get(&id).cloned();
        let seconds = described.as_ref().map(|(_, _, seconds)| *seconds);
        let (description, created, _) = described.unwrap_or((String::new(), now, 0));
        let is_over = key.is_revoked || key.expires.is_some_and(|end| end <= now);
        json!({
            "id": id, "keyType": "auth", "description": description, "created": created, "expires": key.expires,
            "expirySeconds": seconds, "invalid": is_over,
            "capabilities": { "devices": { "create": {
                "reusable": key.is_reusable, "ephemeral": key.is_ephemeral, "preauthorized": true, "tags": key.tags,
            } } },
        })
    }

    fn set_acl(&self, ask: &Ask) -> Reply {
        let text = ask.text();
        let mut inside = self.inside();
        if let Some(meanwhile) = inside.meanwhile.take() {
            inside.policy = meanwhile;
        }
        if let Some(expected) = ask.header("if-match")
            && expected != etag(&inside.policy)
        {
            return refuse(412, "precondition failed, invalid old hash");
        }
        let policy = match parse(&text) {
            Ok(policy) => policy,
            Err(why) => return refuse(400, &why),
        };
        if let Some(reply) = tests_failed(400, &policy) {
            return reply;
        }
        inside.policy = formatted(&text);
        Reply::text(200, "application/hujson", inside.policy.clone()).with("etag", etag(&inside.policy))
    }
}

fn id_of(key: &Key) -> String {
    key.secret.split('-').nth(2).unwrap_or_default().to_owned()
}

fn refuse(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "message": message }))
}

fn tests_failed(status: u16, policy: &Value) -> Option<Reply> {
    let failing = failing_tests(policy);
    let data: Vec<Value> =
        failing.iter().map(|(user, errors)| json!({ "user": user, "errors": errors })).collect();
    (!failing.is_empty()).then(|| Reply::json(status, &json!({ "message": "test(s) failed", "data": data })))
}

fn shown_device(device: &Device, fqdn: &str, now: Time) -> Value {
    let online = device.online_since.is_some();
    json!({
        "id": device.node_id, "nodeId": device.node_id, "name": fqdn, "hostname": device.hostname,
        "addresses": [device.address], "tags": device.tags, "created": device.joined, "isEphemeral": device.is_ephemeral,
        "isExternal": false, "authorized": true, "keyExpiryDisabled": device.expires.is_none(),
        "expires": device.expires.map_or_else(|| json!("0001-01-01T00:00:00Z"), |end| json!(end)), "connectedToControl": online, "os": "macOS", "user": "lab",
        "lastSeen": if online { Value::Null } else { json!(device.last_seen.min(now)) },
    })
}

impl Books for Console {
    fn operation(&self, ask: &Ask) -> Option<&'static str> {
        let segments = ask.segments();
        let path = segments.strip_prefix(&["api", "v2"])?;
        match (&*ask.method, path) {
            ("POST", ["oauth", "token"]) => Some("create_token"),
            ("GET", ["tailnet", _, "devices"]) => Some("list_devices"),
            ("DELETE", ["device", _]) => Some("delete_device"),
            ("POST", ["device", _, "tags"]) => Some("set_tags"),
            ("POST", ["tailnet", _, "keys"]) => Some("create_key"),
            ("GET", ["tailnet", _, "keys"]) => Some("list_keys"),
            ("GET", ["tailnet", _, "keys", _]) => Some("get_key"),
            ("DELETE", ["tailnet", _, "keys", _]) => Some("delete_key"),
            ("GET", ["tailnet", _, "acl"]) => Some("get_acl"),
            ("POST", ["tailnet", _, "acl"]) => Some("set_acl"),
            ("POST", ["tailnet", _, "acl", "validate"]) => Some("validate_acl"),
            _ => None,
        }
    }

    fn answer(&self, operation: &'static str, ask: &Ask, now: Time) -> Reply {
        if operation == "create_token" {
            return self.token(ask, now);
        }
        let by_client = match self.caller(ask, now) {
            Ok(by_client) => by_client,
            Err(refused) => return refused,
        };
        let last = ask.path.last().cloned().unwrap_or_default();
        match operation {
            "list_devices" => {
                self.tailnet.edit(|book| book.sweep(now));
                let book = self.tailnet.book();
                let all: Vec<Value> = book
                    .devices
                    .values()
                    .map(|device| shown_device(device, &book.fqdn(device), now))
                    .collect();
                Reply::json(200, &json!({ "devices": all }))
            }
            "delete_device" => {
                let is_gone = self.tailnet.edit(|book| book.devices.remove(&last).is_some());
                if is_gone { Reply::empty(200) } else { refuse(404, "no such device") }
            }
            "set_tags" => {
                let id = ask.path[3].clone();
                let tags = ask.json()["tags"].as_array().cloned().unwrap_or_default();
                let tags: Vec<String> = tags.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                if tags.iter().any(|tag| !super::TAGS.contains(&tag.as_str())) {
                    return refuse(400, "requested tags are invalid or not permitted");
                }
                let found = self
                    .tailnet
                    .edit(|book| book.devices.get_mut(&id).map(|device| device.tags = tags).is_some());
                if found { Reply::json(200, &json!({})) } else { refuse(404, "no such device") }
            }
            "create_key" => self.create_key(&ask.json(), by_client, now),
            "list_keys" => {
                let keys: Vec<Value> =
                    self.tailnet.book().keys.iter().map(|key| self.shown_key(key, now)).collect();
                Reply::json(200, &json!({ "keys": keys }))
            }
            "get_key" => match self.tailnet.book().keys.iter().find(|key| id_of(key) == last) {
                Some(key) => Reply::json(200, &self.shown_key(key, now)),
                None => refuse(404, "key not found"),
            },
            "delete_key" => {
                let is_gone = self.tailnet.edit(|book| {
                    let before = book.keys.len();
                    book.keys.retain(|key| id_of(key) != last);
                    book.keys.len() < before
                });
                if is_gone { Reply::empty(200) } else { refuse(404, "key not found") }
            }
            "get_acl" => {
                let policy = self.policy();
                Reply::text(200, "application/hujson", policy.clone()).with("etag", etag(&policy))
            }
            "set_acl" => self.set_acl(ask),
            _ => match parse(&ask.text()) {
                Err(why) => refuse(200, &why),
                Ok(policy) => tests_failed(200, &policy).unwrap_or_else(|| Reply::json(200, &json!({}))),
            },
        }
    }

    fn refusal(&self, status: u16) -> Reply {
        refuse(status, &format!("refused on purpose with {status}"))
    }
}
