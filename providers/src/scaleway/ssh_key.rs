//! `scaleway_ssh_key`: a public key that comes with every server of a project.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use fleet_transport::http::Verb;
use futures_util::future::join_all;
use serde_json::json;

use super::client::{Acting, Looking, SSH_KEYS, join};
use super::refusal::Unread;
use super::wire;

/// The zones that have Macs.
const ZONES: [&str; 2] = ["fr-par-1", "fr-par-3"];

/// The kinds of keys that the vendor takes.
const TYPES: [&str; 6] = [
    "ssh-ed25519",
    "ssh-rsa",
    "ssh-dss",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
];

/// The longest name that the vendor takes.
const LONGEST_NAME: usize = 1000;

/// How long to wait before it is seen again whether a server is still being installed.
const INSTALLING: Duration = Duration::from_secs(30);

/// A public key that the vendor puts on the servers of a project when it installs them.
///
/// A server that was installed before does not get it: the key has to be there before hosts are ordered or installed
/// anew. So another `public_key` is registered before the old one goes, and no key is removed while a server of the
/// project is being installed. The key itself is what counts, without its comment: a key that is there already is used,
/// and renamed if need be.
///
/// ```hcl
/// resource "scaleway_ssh_key" "fleet" {
///   name       = "fleet"
///   public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct SshKey {
    /// What it is called.
    name: String,
    /// The key, as `type base64`. A comment is dropped, as the vendor does.
    #[fleet(replace)]
    public_key: String,
    /// Whether new servers do not get it.
    #[fleet(default = false)]
    disabled: bool,
    /// The project whose servers get it; that of the provider if it is left out.
    #[fleet(replace, optional_computed)]
    project_id: Option<String>,
    /// Given by the vendor.
    #[fleet(computed)]
    id: Option<String>,
    /// What the vendor shows of it to people.
    #[fleet(computed)]
    fingerprint: Option<String>,
}

impl Resource for SshKey {
    const NAME: &'static str = "scaleway_ssh_key";
    const ID: Option<&'static str> = Some("the id of the key");
    const REPLACED_FIRST: bool = true;

    fn normalize(&mut self) -> Result<(), Misfit> {
        if self.name.is_empty() || self.name.chars().count() > LONGEST_NAME {
            return Err(Misfit::new(
                "name",
                format!("a name of at most {LONGEST_NAME} characters is needed"),
            ));
        }
        self.public_key = normal(&self.public_key).map_err(|why| Misfit::new("public_key", why))?;
        Ok(())
    }
}

impl ApiKind for SshKey {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(reader: &Looking, batch: Vec<At<SshKey>>) -> Vec<Result<Option<SshKey>, Error>> {
        let projects: BTreeSet<String> = batch.iter().filter_map(|at| project_of(reader, at)).collect();
        let listed = projects.into_iter().map(|project| async move {
            let keys = keys_of(reader, &project).await;
            (project, keys)
        });
        let listed: BTreeMap<String, Result<Vec<SshKey>, Error>> =
            join_all(listed).await.into_iter().collect();
        let answer = |at: At<SshKey>| {
            let keys = project_of(reader, &at).and_then(|project| listed.get(&project));
            async move {
                match (keys, at) {
                    (_, At::Id(id)) => by_id(reader, &id).await,
                    (Some(Ok(keys)), at) => Ok(find(keys, &at)),
                    (Some(Err(error)), _) => Err(error.clone()),
                    (None, _) => Err(Error::permanent("the key has no project")),
                }
            }
        };
        join_all(batch.into_iter().map(answer)).await
    }

    async fn apply(self, writer: &Acting, change: Change<SshKey>) -> Result<SshKey, Error> {
        let project = self.project_id.clone().unwrap_or_else(|| writer.looking.account.project_id.clone());
        let doing = format!("cannot register the key `{}`", self.name);
        let (id, is_disabled) = match change {
            Change::Create => {
                let wish = json!({ "name": self.name, "public_key": self.public_key, "project_id": project });
                let made: wire::SshKey = writer.make(&doing, &SSH_KEYS, &wish).await?;
                (made.id, made.disabled)
            }
            Change::Update { from } => {
                let (id, is_disabled) = (known_id(&from)?, from.disabled);
                if from.name != self.name {
                    change_key(writer, &id, &json!({ "name": self.name })).await?;
                }
                (id, is_disabled)
            }
        };
        if is_disabled != self.disabled {
            change_key(writer, &id, &json!({ "disabled": self.disabled })).await?;
        }
        Ok(SshKey { id: Some(id), project_id: Some(project), ..self })
    }

    async fn destroy(writer: &Acting, observed: SshKey) -> Result<(), Error> {
        let id = known_id(&observed)?;
        let doing = format!("cannot remove the key `{}`", observed.name);
        if !observed.disabled {
            let zones: BTreeSet<&str> = ZONES.into_iter().chain([&*writer.looking.account.zone]).collect();
            for zone in zones {
                let servers = writer.looking.servers(&doing, zone).await?;
                let is_installed =
                    |server: &&wire::Server| matches!(&*server.status, "reinstalling" | "starting");
                if let Some(server) = servers.iter().find(is_installed) {
                    let message =
                        format!("{doing}: server `{}` is being installed and needs it", server.name);
                    let error = Error::transient(message).after(INSTALLING);
                    return Err(error.help("run it again when the server is ready"));
                }
            }
        }
        writer.remove(&doing, &join(&SSH_KEYS, &[&id])).await
    }
}

impl From<wire::SshKey> for SshKey {
    fn from(key: wire::SshKey) -> SshKey {
        SshKey {
            name: key.name,
            // One that we do not understand is shown as it is.
            public_key: normal(&key.public_key).unwrap_or(key.public_key),
            disabled: key.disabled,
            project_id: Some(key.project_id),
            id: Some(key.id),
            fingerprint: key.fingerprint,
        }
    }
}

async fn change_key(writer: &Acting, id: &str, wish: &serde_json::Value) -> Result<(), Error> {
    let doing = format!("cannot change the key `{id}`");
    writer.send(&doing, Verb::Patch, &join(&SSH_KEYS, &[id]), Some(wish)).await?;
    Ok(())
}

/// All keys of a project, the oldest first. Nobody knows whether disabled ones are in a list that does not ask for them.
async fn keys_of(reader: &Looking, project: &str) -> Result<Vec<SshKey>, Error> {
    let mut keys: Vec<wire::SshKey> = Vec::new();
    for disabled in ["false", "true"] {
        let query = [("project_id", project), ("disabled", disabled)];
        keys.extend(reader.all("cannot list the keys", &SSH_KEYS, &query, "ssh_keys").await?);
    }
    keys.retain(|key| key.project_id == project);
    keys.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
    keys.dedup_by(|a, b| a.id == b.id);
    Ok(keys.into_iter().map(SshKey::from).collect())
}

/// The key with an id, in whatever project.
async fn by_id(reader: &Looking, id: &str) -> Result<Option<SshKey>, Error> {
    match reader.one::<wire::SshKey>(&format!("cannot look at the key `{id}`"), &join(&SSH_KEYS, &[id])).await
    {
        Ok(key) => Ok(Some(key.into())),
        Err(Unread::Gone(_)) => Ok(None),
        Err(unread) => Err(unread.into()),
    }
}

fn project_of(reader: &Looking, at: &At<SshKey>) -> Option<String> {
    match at {
        At::Recorded(key) | At::Declared(key) | At::Begun { wish: key, .. } => {
            Some(key.project_id.clone().unwrap_or_else(|| reader.account.project_id.clone()))
        }
        At::Id(_) => None,
    }
}

/// Finds a key: by its id; without one, the same key, rather of the same name; and where a key is declared, also another
/// key of that name, which is in its place.
fn find(keys: &[SshKey], at: &At<SshKey>) -> Option<SshKey> {
    let same = |wish: &SshKey, except: &[SshKey]| {
        let others = || keys.iter().filter(|key| !except.iter().any(|known| known.id == key.id));
        let same_key = || others().filter(|key| key.public_key == wish.public_key);
        same_key().find(|key| key.name == wish.name).or_else(|| same_key().next()).cloned()
    };
    match at {
        At::Recorded(key) if key.id.is_some() => keys.iter().find(|found| found.id == key.id).cloned(),
        At::Begun { wish, except } => same(wish, except),
        At::Recorded(wish) | At::Declared(wish) => {
            same(wish, &[]).or_else(|| keys.iter().find(|key| key.name == wish.name).cloned())
        }
        At::Id(_) => None,
    }
}

fn known_id(key: &SshKey) -> Result<String, Error> {
    key.id.clone().ok_or_else(|| Error::permanent("the key has no id"))
}

/// A public key as `type base64`. What is wrong does not repeat it: it may be the wrong half of a pair.
fn normal(text: &str) -> Result<String, String> {
    if text.contains("PRIVATE KEY") {
        return Err("this is a private key; the public one stands in the file that ends in `.pub`".into());
    }
    let line = text.trim();
    if line.contains(['\n', '\r']) {
        return Err("one key on one line is needed".into());
    }
    let mut words = line.split_whitespace();
    let (Some(kind), Some(encoded)) = (words.next(), words.next()) else {
        return Err("a key is written as `type base64`".into());
    };
    if !TYPES.contains(&kind) {
        return Err(format!("the vendor takes no key of this type, only {}", TYPES.join(", ")));
    }
    let is_whole = BASE64_STANDARD.decode(encoded).is_ok_and(|bytes| {
        let length = u32::try_from(kind.len()).unwrap_or(u32::MAX).to_be_bytes();
        bytes.starts_with(&[&length, kind.as_bytes()].concat())
    });
    if !is_whole {
        return Err(format!("what follows `{kind}` is no such key"));
    }
    Ok(format!("{kind} {encoded}"))
}

#[cfg(test)]
impl SshKey {
    /// A key that somebody declares.
    pub(super) fn wish(name: &str, public_key: &str) -> SshKey {
        SshKey {
            name: name.into(),
            public_key: public_key.into(),
            disabled: false,
            project_id: None,
            id: None,
            fingerprint: None,
        }
    }

    pub(super) fn disabled(self) -> SshKey {
        SshKey { disabled: true, ..self }
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";

    fn key(name: &str, public_key: &str, id: Option<&str>) -> SshKey {
        SshKey { project_id: Some("p".into()), id: id.map(str::to_owned), ..SshKey::wish(name, public_key) }
    }

    #[test]
    fn only_type_and_base64_count() {
        for text in [A.to_owned(), format!("{A} me@here"), format!("  {A}\tcomment of words \r\n")] {
            assert_eq!(normal(&text).as_deref(), Ok(A));
        }
        let cases = [
            ("", "`type base64`"),
            ("ssh-ed25519", "`type base64`"),
            ("ssh-ed448 AAAA", "no key of this type"),
            ("ssh-ed25519 AAAA", "no such key"),
            (&A.replace("ssh-ed25519", "ssh-rsa"), "no such key"),
            (&format!("{A}\n{A}"), "one key"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n", "private key"),
        ];
        for (text, expected) in cases {
            let why = normal(text).unwrap_err();
            assert!(why.contains(expected) && !why.contains("c2VjcmV0"), "{text}: {why}");
        }
        let mut wish = key("", A, None);
        assert_eq!(wish.normalize().unwrap_err().attribute, "name");
        wish.name = "é".repeat(1000);
        assert_eq!(wish.normalize(), Ok(()));
    }

    #[test]
    fn a_key_is_found_by_what_it_is() {
        let keys = [
            key("old", "a", Some("1")),
            key("fleet", "a", Some("2")),
            key("fleet", "b", Some("3")),
            key("other", "c", Some("4")),
        ];
        let id = |at: &At<SshKey>| find(&keys, at).and_then(|key| key.id).unwrap_or_default();
        assert_eq!(id(&At::Recorded(key("fleet", "b", Some("1")))), "1", "by id");
        assert_eq!(id(&At::Recorded(key("fleet", "b", Some("9")))), "", "gone, whatever is in its place");
        assert_eq!(id(&At::Declared(key("fleet", "a", None))), "2", "rather of the same name");
        assert_eq!(id(&At::Declared(key("new", "a", None))), "1", "else the oldest");
        assert_eq!(id(&At::Declared(key("other", "z", None))), "4", "what is in its place");
        assert_eq!(id(&At::Declared(key("new", "z", None))), "");
        let begun = |wish, except: &[usize]| At::Begun {
            wish,
            except: except.iter().map(|at| keys[*at].clone()).collect(),
        };
        assert_eq!(id(&begun(key("fleet", "a", None), &[1])), "1");
        assert_eq!(id(&begun(key("fleet", "a", None), &[0, 1])), "");
        assert_eq!(id(&begun(key("other", "z", None), &[])), "", "another key was not begun");
    }
}
