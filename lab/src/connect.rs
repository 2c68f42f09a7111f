//! A Connect server of 1Password, as far as secrets are read from it.
//!
//! | addresses, below `/v1/vaults` | |
//! |---|---|
//! | `GET` nothing, `GET VAULT` | vaults; `filter=name eq "NAME"` |
//! | `GET VAULT/items`, `GET VAULT/items/ITEM` | items; `filter=title eq "TITLE"`. A list does not say what is in them |
//! | `GET VAULT/items/ITEM/files/FILE/content` | a file of an item |
//!
//! A filter compares letter by letter: who means a name in other capital letters has to find it another way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::clock::Time;
use crate::desk::{Ask, Books, Reply};

/// The token that it takes from the beginning, and that may read every vault.
pub const TOKEN: &str = "eyJhbGciOiJsYWIifQ.lab-connect";

/// A Connect server.
#[derive(Clone, Debug)]
pub struct Connect {
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug)]
struct Inside {
    tokens: Vec<Token>,
    /// As the API shows them.
    vaults: Vec<Value>,
    items: Vec<Value>,
    /// What is in the files of items, by their ids.
    files: Vec<(String, String)>,
    made: usize,
}

/// Who may ask.
#[derive(Clone, Debug)]
pub struct Token {
    /// What is sent.
    pub secret: String,
    /// The ids of the vaults that it may read; none if all.
    pub vaults: Option<Vec<String>>,
}

impl Default for Connect {
    fn default() -> Connect {
        let inside = Inside {
            tokens: vec![Token { secret: TOKEN.into(), vaults: None }],
            vaults: Vec::new(),
            items: Vec::new(),
            files: Vec::new(),
            made: 0,
        };
        Connect { inside: Arc::new(Mutex::new(inside)) }
    }
}

impl Connect {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a vault; its id.
    pub fn add_vault(&self, name: &str) -> String {
        let mut inside = self.inside();
        let id = inside.id();
        inside.vaults.push(json!({ "id": id, "name": name, "type": "USER_CREATED" }));
        id
    }

    /// Adds an item to a vault, with what the API shows of it beside its ids, such as `title` and `fields`; its id.
    pub fn add_item(&self, vault: &str, item: &Value) -> String {
        let mut inside = self.inside();
        let id = inside.id();
        let mut item = item.clone();
        item["id"] = json!(id);
        item["vault"] = json!({ "id": vault });
        inside.items.push(item);
        id
    }

    /// Attaches a file to an item; its id.
    pub fn add_file(&self, item: &str, name: &str, content: &str) -> String {
        let mut inside = self.inside();
        let id = inside.id();
        inside.files.push((id.clone(), content.to_owned()));
        if let Some(item) = inside.items.iter_mut().find(|known| known["id"] == item) {
            let mut files = item["files"].as_array().cloned().unwrap_or_default();
            files.push(json!({ "id": id, "name": name, "size": content.len() }));
            item["files"] = json!(files);
        }
        id
    }

    /// Lets somebody else ask.
    pub fn add_token(&self, token: Token) {
        self.inside().tokens.push(token);
    }
}

impl Inside {
    /// An id that nothing else has.
    fn id(&mut self) -> String {
        self.made += 1;
        format!("lab{:0>23}", self.made)
    }
}

fn refuse(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "status": status, "message": message }))
}

/// Those that a filter lets through, by the one attribute that it knows; none if it cannot be understood.
fn filtered<'a>(all: Vec<&'a Value>, ask: &Ask, attribute: &str) -> Option<Vec<&'a Value>> {
    let Some(filter) = ask.parameter("filter") else { return Some(all) };
    let text = filter.strip_prefix(attribute)?.strip_prefix(" eq ")?;
    let wanted: String = serde_json::from_str(text).ok()?;
    Some(all.into_iter().filter(|one| one[attribute] == *wanted).collect())
}

/// An item as a list shows it.
fn summary(item: &Value) -> Value {
    json!({ "id": item["id"], "title": item["title"], "vault": item["vault"], "category": item["category"] })
}

impl Books for Connect {
    fn operation(&self, ask: &Ask) -> Option<&'static str> {
        match (&*ask.method, &ask.segments()[..]) {
            ("GET", ["v1", "vaults"]) => Some("list_vaults"),
            ("GET", ["v1", "vaults", _]) => Some("get_vault"),
            ("GET", ["v1", "vaults", _, "items"]) => Some("list_items"),
            ("GET", ["v1", "vaults", _, "items", _]) => Some("get_item"),
            ("GET", ["v1", "vaults", _, "items", _, "files", _, "content"]) => Some("get_content"),
            _ => None,
        }
    }

    fn answer(&self, operation: &'static str, ask: &Ask, _now: Time) -> Reply {
        let inside = self.inside();
        let sent = ask.header("authorization").and_then(|sent| sent.strip_prefix("Bearer "));
        let Some(token) = inside.tokens.iter().find(|token| Some(token.secret.as_str()) == sent) else {
            return refuse(401, "Invalid bearer token");
        };
        let may_read = |vault: &str| token.vaults.as_ref().is_none_or(|ids| ids.iter().any(|id| id == vault));
        let path = ask.segments();
        let at = |place: usize| path.get(place).copied().unwrap_or_default();
        let malformed = || refuse(400, "Invalid filter");
        if operation == "list_vaults" {
            let readable = |vault: &&Value| vault["id"].as_str().is_some_and(may_read);
            let vaults = inside.vaults.iter().filter(readable).collect();
            return filtered(vaults, ask, "name").map_or_else(malformed, |all| Reply::json(200, &json!(all)));
        }
        if !may_read(at(2)) {
            return refuse(403, "The token may not read this vault");
        }
        let Some(vault) = inside.vaults.iter().find(|vault| vault["id"] == at(2)) else {
            return refuse(404, "Vault not found");
        };
        let items: Vec<&Value> = inside.items.iter().filter(|item| item["vault"]["id"] == at(2)).collect();
        let item = items.iter().find(|item| item["id"] == at(4));
        match (operation, item) {
            ("get_vault", _) => Reply::json(200, vault),
            ("list_items", _) => filtered(items, ask, "title")
                .map_or_else(malformed, |all| Reply::json(200, &all.into_iter().map(summary).collect())),
            (_, None) => refuse(404, "Item not found"),
            ("get_item", Some(item)) => Reply::json(200, item),
            (_, Some(_)) => match inside.files.iter().find(|(id, _)| id == at(6)) {
                Some((_, content)) => Reply::text(200, "application/octet-stream", content.clone()),
                None => refuse(404, "File not found"),
            },
        }
    }

    fn refusal(&self, status: u16) -> Reply {
        refuse(status, "it went wrong on purpose")
    }
}
