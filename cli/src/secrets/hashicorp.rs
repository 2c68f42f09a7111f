//! Secrets of HashiCorp Vault, in its KV engine of version 2, by its HTTP API.
//!
//! Where and as whom is said as to Vault's own program: `VAULT_ADDR`, `VAULT_TOKEN` (or the file `~/.vault-token`, which
//! `vault login` writes) and, if need be, `VAULT_NAMESPACE`.

use std::time::SystemTime;

use fleet_engine::host::reach::Secret;
use fleet_engine::plan::chain;
use fleet_engine::secret::InVault;
use fleet_transport::http::Answer;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::keeper::{self, Keeper};
use super::place::Surroundings;
use super::{Got, Missing, wait_for};

/// A Vault, and who asks.
struct Server(Keeper);

/// Where an engine is, and what it is.
#[derive(Deserialize)]
struct Mount {
    path: String,
    #[serde(default)]
    options: Option<Map<String, Json>>,
    #[serde(rename = "type", default)]
    kind: String,
}

/// A version of a secret.
#[derive(Deserialize)]
struct Version {
    data: Option<Map<String, Json>>,
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    deletion_time: String,
    destroyed: bool,
    version: u64,
}

#[derive(Deserialize)]
struct Wrapped<T> {
    data: T,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    errors: Vec<String>,
}

/// What Vault says of the token that is sent to it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Token {
    expire_time: Option<String>,
}

/// Reads a secret.
pub(super) fn read(around: &Surroundings, place: &InVault) -> Result<Got, Missing> {
    let server = Server::find(around)?;
    wait_for(server.read(place))
}

/// Until when Vault takes the token of the surroundings; none if it does not end.
pub(super) fn standing(around: &Surroundings) -> Result<Option<SystemTime>, Missing> {
    let server = Server::find(around)?;
    wait_for(async {
        let token = server.token().await?.ok_or_else(not_taken)?;
        Ok(token.expire_time.as_deref().and_then(time))
    })
}

impl Server {
    fn find(around: &Surroundings) -> Result<Server, Missing> {
        let address = around.var("VAULT_ADDR").map(str::trim).ok_or_else(|| {
            Missing::new("nobody says where Vault is: `VAULT_ADDR` is not set")
                .help("set it to the address of Vault, such as `https://vault.example.com:8200`")
        })?;
        let kept = || {
            let text = std::fs::read_to_string(around.home.as_ref()?.join(".vault-token")).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let token = around.var("VAULT_TOKEN").map(|token| token.trim().to_owned()).or_else(kept);
        let token = token.ok_or_else(|| {
            Missing::new(
                "there is no token for Vault: `VAULT_TOKEN` is not set, and there is no `~/.vault-token`",
            )
            .help("log in with `vault login`, or set `VAULT_TOKEN`")
        })?;
        let namespace = around.var("VAULT_NAMESPACE").map(|namespace| ("x-vault-namespace", namespace));
        let headers: Vec<(&'static str, &str)> =
            [("x-vault-request", "true")].into_iter().chain(namespace).collect();
        let keeper = Keeper::open(&keeper::Options {
            name: "Vault",
            address: ("VAULT_ADDR", address),
            credential: ("VAULT_TOKEN", "x-vault-token", Secret(token)),
            headers: &headers,
            request_id: "x-vault-request-id",
        })?;
        Ok(Server(keeper))
    }

    async fn read(&self, place: &InVault) -> Result<Got, Missing> {
        let whole = place.path.join("/");
        let mount = self.mount(place, &whole).await?;
        let mount_path: Vec<&str> = mount.split('/').filter(|part| !part.is_empty()).collect();
        let rest = &place.path[mount_path.len().min(place.path.len())..];
        if rest.is_empty() {
            let why = format!("`{whole}` is an engine of Vault, and not a secret in it");
            return Err(Missing::new(why).help("write the path of a secret behind it"));
        }
        let mut path = vec!["v1"];
        path.extend(&mount_path);
        path.push("data");
        path.extend(rest.iter().map(String::as_str));
        let version = place.version.map(|version| version.to_string());
        let query: Vec<(&str, &str)> =
            version.as_deref().map(|version| ("version", version)).into_iter().collect();
        let answer = self.0.get(&path, &query).await?;
        // A version that was deleted is answered with 404, and with what is known of it.
        let found: Option<Wrapped<Version>> = match answer.status {
            200 | 404 => answer.told(),
            _ => return Err(self.refused(&answer, &whole).await),
        };
        let Some(Wrapped { data: Version { data, metadata } }) = found else {
            let which = place.version.map(|version| format!(" of version {version}")).unwrap_or_default();
            let why = format!("Vault has nothing{which} at `{whole}`");
            return Err(
                Missing::new(why).help(format!("see `vault kv get {whole}`; policies can also hide it"))
            );
        };
        let Some(data) = data else {
            let version = metadata.version;
            let what = if metadata.destroyed { "was destroyed" } else { "was deleted" };
            let help = if metadata.destroyed {
                format!("write a new version: `vault kv put {whole} …`")
            } else {
                format!(
                    "bring it back with `vault kv undelete -versions={version} {whole}`, or write a new one"
                )
            };
            return Err(Missing::new(format!("version {version} of `{whole}` {what}")).help(help));
        };
        let value = match data.get(&place.key) {
            Some(Json::String(text)) if text.is_empty() => {
                return Err(Missing::new(format!("`{}` of `{whole}` is empty", place.key)));
            }
            Some(Json::String(text)) => text.clone(),
            Some(value @ (Json::Number(_) | Json::Bool(_))) => value.to_string(),
            Some(_) => return Err(Missing::new(format!("`{}` of `{whole}` holds no text", place.key))),
            None => {
                let known: Vec<&str> = data.keys().map(String::as_str).collect();
                let why = format!("`{whole}` in Vault has no `{}`", place.key);
                return Err(Missing::new(why).help(keeper::instead(&place.key, &known, "#")));
            }
        };
        Ok(Got { value, until: time(&metadata.deletion_time) })
    }

    /// The engine that a path leads to: only Vault knows how much of a path is its mount.
    async fn mount(&self, place: &InVault, whole: &str) -> Result<String, Missing> {
        let mut path = vec!["v1", "sys", "internal", "ui", "mounts"];
        path.extend(place.path.iter().map(String::as_str));
        let answer = self.0.get(&path, &[]).await?;
        if answer.status != 200 {
            return Err(self.refused(&answer, whole).await);
        }
        let Wrapped { data } =
            answer.json::<Wrapped<Mount>>().map_err(|error| Missing::new(chain(&error)))?;
        let version = data.options.as_ref().and_then(|options| options.get("version")?.as_str());
        if data.kind == "kv" && version == Some("2") {
            return Ok(data.path);
        }
        let Mount { path, kind, .. } = data;
        let what = if kind == "kv" {
            "an engine of version 1".into()
        } else {
            format!("an engine of type `{kind}`")
        };
        Err(Missing::new(format!("`{path}` in Vault is {what}, and only KV of version 2 can be read"))
            .help("use `exec:vault …` for other engines"))
    }

    /// The token that is sent; none if Vault does not take it.
    async fn token(&self) -> Result<Option<Token>, Missing> {
        let answer = self.0.get(&["v1", "auth", "token", "lookup-self"], &[]).await?;
        match answer.status {
            200 => Ok(answer.told().map(|Wrapped { data }| data)),
            _ => Ok(None),
        }
    }

    /// Vault says "permission denied" of a token that is of no use and of one that may not do this alike: it is asked which.
    async fn refused(&self, answer: &Answer, whole: &str) -> Missing {
        let said = answer.told::<Refusal>().unwrap_or_default().errors.join(", ");
        let said = keeper::said(answer, &said);
        match answer.status {
            403 => match self.token().await {
                Ok(Some(_)) => Missing::new(format!("Vault does not let this token read `{whole}`{said}"))
                    .help("give the policy of the token `read` there, or use another token"),
                Ok(None) => not_taken(),
                Err(missing) => missing,
            },
            503 => Missing::new(format!("Vault is sealed or being maintained{said}"))
                .help("unseal it, and run again"),
            501 => Missing::new("Vault is not initialised").help("check `VAULT_ADDR`"),
            status => Missing::new(format!("Vault answered {status}{said}"))
                .help("check `VAULT_ADDR`, and run again"),
        }
    }
}

fn not_taken() -> Missing {
    Missing::new("Vault does not take the token: it is wrong, expired or revoked")
        .help("log in again with `vault login`, or renew `VAULT_TOKEN`")
}

/// A time as Vault writes it, with any number of digits behind the second; none where it writes nothing.
fn time(text: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(text).ok()
}
