//! Secrets of 1Password over a Connect server, by its HTTP API: no program of 1Password is needed.
//!
//! Where and as whom is said as to `op`, which prefers a Connect server to everything else too: `OP_CONNECT_HOST` and
//! `OP_CONNECT_TOKEN`.
//!
//! 1. `mod.rs`: what is asked, and what the answers mean
//! 2. `item.rs`: which vault, item, section and field names mean

mod item;

use std::collections::BTreeMap;

use fleet_engine::host::reach::Secret;
use fleet_engine::plan::chain;
use fleet_engine::secret::InItem;
use fleet_transport::http::{Answer, Class};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::keeper::{self, Keeper};
use super::place::Surroundings;
use super::{Missing, wait_for};
use item::{File, Item, Part, Summary, Vault, meant, only};

/// The variables that say where it is, and as whom it is asked.
const HOST: &str = "OP_CONNECT_HOST";
const TOKEN: &str = "OP_CONNECT_TOKEN";

/// A Connect server, and who asks.
struct Server(Keeper);

/// What the server said so far in this run: many secrets are fields of one item, and items lie in few vaults.
#[derive(Default)]
pub(super) struct Known {
    vaults: Option<Vec<Vault>>,
    /// By their vault and themselves, as references name them.
    items: BTreeMap<(String, String), Item>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    message: String,
}

/// Whether a Connect server is to be asked. One variable alone is a mistake, and no reason to ask somebody else.
pub(super) fn is_meant(around: &Surroundings) -> bool {
    around.var(HOST).is_some() || around.var(TOKEN).is_some()
}

/// Reads a secret.
pub(super) fn read(around: &Surroundings, known: &mut Known, place: &InItem) -> Result<String, Missing> {
    let server = Server::find(around)?;
    wait_for(server.read(known, place))
}

/// Whether the server takes the token of the surroundings.
pub(super) fn standing(around: &Surroundings) -> Result<(), Missing> {
    let server = Server::find(around)?;
    wait_for(async { server.vaults().await.map(drop) })
}

impl Server {
    fn find(around: &Surroundings) -> Result<Server, Missing> {
        let alone = |set, unset| {
            Missing::new(format!("`{set}` is set, and `{unset}` is not"))
                .help("set both to ask a Connect server of 1Password, or neither to ask `op`")
        };
        let host = around.var(HOST).map(str::trim).ok_or_else(|| alone(TOKEN, HOST))?;
        let token = around.var(TOKEN).map(str::trim).ok_or_else(|| alone(HOST, TOKEN))?;
        let keeper = Keeper::open(&keeper::Options {
            name: "1Password Connect",
            address: (HOST, host),
            credential: (TOKEN, "authorization", Secret(format!("Bearer {token}"))),
            headers: &[],
            request_id: "x-request-id",
        })?;
        Ok(Server(keeper))
    }

    async fn read(&self, known: &mut Known, place: &InItem) -> Result<String, Missing> {
        let is_otp = |(name, value): &(String, String)| name == "attribute" && value == "otp";
        if let Some((name, value)) = place.query.iter().find(|pair| !is_otp(pair)) {
            let help = format!(
                "of attributes it has `attribute=otp` alone; without `{HOST}` and `{TOKEN}`, `op` is asked"
            );
            return Err(Missing::new(format!("1Password Connect cannot give `{name}={value}`")).help(help));
        }
        let names = (place.vault.clone(), place.item.clone());
        if !known.items.contains_key(&names) {
            let item = self.item(known, place).await?;
            known.items.insert(names.clone(), item);
        }
        let item = &known.items[&names];
        let which = format!("`{}` of `{}`", place.field, place.item);
        let value = match (item.part(place)?, place.query.is_empty()) {
            (Part::Field(field), true) => field.value.clone().unwrap_or_default(),
            (Part::File(file), true) => self.content(item, file, &which).await?,
            (part, false) => {
                let totp = if let Part::Field(field) = part { field.totp.clone() } else { None };
                totp.ok_or_else(|| {
                    Missing::new(format!("{which} makes no one-time passwords"))
                        .help("leave `?attribute=otp` out, or name the field that makes them")
                })?
            }
        };
        if value.is_empty() { Err(Missing::new(format!("{which} is empty"))) } else { Ok(value) }
    }

    /// What is in a file.
    async fn content(&self, item: &Item, file: &File, which: &str) -> Result<String, Missing> {
        let path = ["v1", "vaults", &item.vault.id, "items", &item.id, "files", &file.id, "content"];
        let answer = self.ask(&path, &[], which).await?;
        let no_text = |_| {
            Missing::new(format!("{which} holds no text"))
                .help("keep it as base64, and decode it where it is used")
        };
        answer.text().map(str::to_owned).map_err(no_text)
    }

    /// The item that is named, with what is in it.
    async fn item(&self, known: &mut Known, place: &InItem) -> Result<Item, Missing> {
        let InItem { vault, item, .. } = place;
        if known.vaults.is_none() {
            known.vaults = Some(self.vaults().await?);
        }
        let holder = "1Password Connect, as far as its token may see,";
        let found = only(known.vaults.iter().flatten(), vault, "vault", holder)?;
        let path = ["v1", "vaults", &found.id, "items"];
        let which = format!("`{item}` of the vault `{vault}`");
        if is_id(item) {
            let answer = self.0.get(&[&path[..], &[item.as_str()]].concat(), &[]).await?;
            // There is none of this id, and a title may look like one.
            if answer.status != 404 {
                return told(&taken(answer, &which)?);
            }
        }
        // Names are the same in capital letters, which the filter need not know: so all are looked at before there is none.
        let filter = equals("title", item);
        let mut items: Vec<Summary> = told(&self.ask(&path, &[("filter", &filter)], &which).await?)?;
        if meant(&items, item).is_empty() {
            items = told(&self.ask(&path, &[], &which).await?)?;
        }
        let found = only(&items, item, "item", &format!("the vault `{vault}`"))?;
        told(&self.ask(&[&path[..], &[found.id.as_str()]].concat(), &[], &which).await?)
    }

    /// The vaults that the token may read. They are few, so none is asked for by its name.
    async fn vaults(&self) -> Result<Vec<Vault>, Missing> {
        told(&self.ask(&["v1", "vaults"], &[], "its vaults").await?)
    }

    async fn ask(&self, path: &[&str], query: &[(&str, &str)], which: &str) -> Result<Answer, Missing> {
        taken(self.0.get(path, query).await?, which)
    }
}

/// Whether a name may be an id.
fn is_id(name: &str) -> bool {
    name.len() == 26 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// The filter for what is called so. Its texts are those of JSON (RFC 7644, 3.4.2.2), and are written by what writes JSON:
/// whatever stands in a name, it stays within its quotes.
fn equals(attribute: &str, name: &str) -> String {
    format!("{attribute} eq {}", Json::from(name))
}

fn told<T: DeserializeOwned>(answer: &Answer) -> Result<T, Missing> {
    answer.json().map_err(|error| {
        Missing::new(format!("1Password Connect cannot be understood: {}", chain(&error)))
            .help(format!("see that `{HOST}` is the address of a Connect server"))
    })
}

/// An answer that gives what was asked for.
fn taken(answer: Answer, which: &str) -> Result<Answer, Missing> {
    let class = answer.class();
    if class == Class::Done {
        return Ok(answer);
    }
    let said = keeper::said(&answer, &answer.told::<Refusal>().unwrap_or_default().message);
    let said = format!("{said}{}", answer.request());
    Err(match (answer.status, class) {
        (401, _) => Missing::new(format!("1Password Connect does not take the token{said}")).help(format!(
            "it is wrong, expired or revoked: make another with `op connect token create`, and set `{TOKEN}`"
        )),
        (403, _) => Missing::new(format!("1Password Connect does not let this token read {which}{said}"))
            .help("make a token that may read the vault, with `op connect token create … --vault VAULT`"),
        (404, _) => Missing::new(format!("1Password Connect does not have {which}{said}"))
            .help("it has what it synced: see in a moment whether it came, or was deleted"),
        (429, Class::Later(wait)) => {
            let wait = wait.map(|wait| format!(" in {} s", wait.as_secs())).unwrap_or_default();
            Missing::new(format!("1Password Connect was asked too often{said}"))
                .help(format!("run again{wait}"))
        }
        (status, Class::Later(_)) => {
            Missing::new(format!("1Password Connect cannot answer now ({status}){said}"))
                .help("see how its server is, such as by its `/health`, and run again")
        }
        (status, _) => Missing::new(format!("1Password Connect answered {status} for {which}{said}"))
            .help(format!("see that `{HOST}` is the address of a Connect server")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_breaks_out_of_a_filter() {
        let cases = [
            ("GITHUB", r#"title eq "GITHUB""#),
            (r#"a" or title eq "b"#, r#"title eq "a\" or title eq \"b""#),
            (r#"a\"#, r#"title eq "a\\""#),
            ("a\nb", r#"title eq "a\nb""#),
        ];
        for (name, expected) in cases {
            assert_eq!(equals("title", name), expected);
        }
    }
}
