//! `kubernetes_bootstrap_token`: a short-lived token by which a machine may join a cluster.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use futures_util::future::join_all;
use serde_json::{Map, Value as Json, json};
use uuid::Uuid;

use super::account::{decoded, secrets};
use super::client::{Acting, Looking};
use super::json::text;
use super::wait::{PATIENCE, gone};

/// Where the cluster looks for these tokens.
const NAMESPACE: &str = "kube-system";

/// The label by which a token is found again.
const LABEL: &str = "fleet.dev/bootstrap-token";

/// How every group begins that a token may give.
const GROUPS: &str = "system:bootstrappers:";

/// The fields that are left out where nothing is wished.
const MAY_BE_EMPTY: [&str; 2] = ["description", "auth-extra-groups"];

/// A token by which a machine joins a cluster, good for a while.
///
/// It is a Secret in `kube-system`, which the cluster itself removes some time after the token expires. One that has expired
/// is as good as gone: a plan makes a new one. The token is a secret: it is read when it is needed, and kept nowhere. The cluster has to accept such tokens, and give the
/// groups something to do.
///
/// ```hcl
/// resource "kubernetes_bootstrap_token" "join" {
///   name   = "join"
///   ttl    = "24h"
///   groups = ["system:bootstrappers:macs"]
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct BootstrapToken {
    /// What it is called here: it is found again by a label of this value.
    #[fleet(replace)]
    name: String,
    /// For how long it is good.
    #[fleet(replace, default = "24h")]
    ttl: String,
    /// The groups that whoever shows it is in.
    #[fleet(default = Vec::new())]
    groups: Vec<String>,
    /// What it is for.
    #[fleet(default = "")]
    description: String,
    /// When it expires.
    #[fleet(computed)]
    expires_at: Option<String>,
    /// The part of it that is no secret.
    #[fleet(computed)]
    id: Option<String>,
    /// The token: `id.secret`.
    #[fleet(computed, secret)]
    token: Option<String>,
}

impl Resource for BootstrapToken {
    const NAME: &'static str = "kubernetes_bootstrap_token";

    fn normalize(&mut self) -> Result<(), Misfit> {
        let is_label = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.name.is_empty() || self.name.len() > 63 || !self.name.chars().all(is_label) {
            return Err(Misfit::new("name", "at most 63 letters, digits, `-`, `_` and `.` are needed"));
        }
        if humantime::parse_duration(&self.ttl).is_err() {
            return Err(Misfit::new("ttl", "a duration is a text with a unit, such as `24h`"));
        }
        if let Some(group) = self.groups.iter().find(|group| !group.starts_with(GROUPS)) {
            return Err(Misfit::new("groups", format!("`{group}` does not begin with `{GROUPS}`")));
        }
        self.groups.sort();
        self.groups.dedup();
        Ok(())
    }
}

impl BootstrapToken {
    fn secret(&self, id: &str, secret: &str, expires: &str) -> Json {
        let mut object = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
            "metadata": { "name": secret_name(id), "labels": { LABEL: self.name } },
        });
        let groups = self.groups.join(",");
        let fields = [
            ("token-id", id),
            ("token-secret", secret),
            ("expiration", expires),
            ("description", &self.description),
            ("usage-bootstrap-authentication", "true"),
            ("usage-bootstrap-signing", "true"),
            ("auth-extra-groups", &groups),
        ];
        // Of fields in `stringData`, the server forgets whose they are.
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            object["data"][name] = json!(BASE64_STANDARD.encode(value));
        }
        object
    }

    /// What a Secret says.
    fn read(&self, secret: &Json) -> BootstrapToken {
        let field = |name: &str| decoded(text(secret, &["data", name])).unwrap_or_default();
        let (id, word) = (field("token-id"), field("token-secret"));
        let groups = field("auth-extra-groups");
        let mut groups: Vec<String> =
            groups.split(',').filter(|group| !group.is_empty()).map(str::to_owned).collect();
        groups.sort();
        BootstrapToken {
            groups,
            description: field("description"),
            expires_at: Some(field("expiration")),
            token: Some(format!("{id}.{word}")),
            id: Some(id),
            ..self.clone()
        }
    }
}

impl BootstrapToken {
    /// Whether it has not expired: a cluster may take a while to remove one that has.
    fn is_good(&self, now: SystemTime) -> bool {
        let end = self.expires_at.as_deref().and_then(|end| humantime::parse_rfc3339(end).ok());
        end.is_none_or(|end| now < end)
    }

    /// All that have its name.
    async fn all(&self, looking: &Looking) -> Result<Vec<BootstrapToken>, Error> {
        let selector = format!("{LABEL}={}", self.name);
        let all = looking.list(&secrets().all(Some(NAMESPACE)), &[("labelSelector", &selector)]).await?;
        Ok(all.iter().map(|secret| self.read(secret)).collect())
    }
}

fn secret_name(id: &str) -> String {
    format!("bootstrap-token-{id}")
}

async fn remove(writer: &Acting, id: &str) -> Result<(), Error> {
    let name = secret_name(id);
    let place = secrets().one(NAMESPACE, &name);
    writer.delete(&place, "").await?;
    gone(&writer.looking, &place, "", PATIENCE).await
}

impl ApiKind for BootstrapToken {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(
        reader: &Looking,
        batch: Vec<At<BootstrapToken>>,
    ) -> Vec<Result<Option<BootstrapToken>, Error>> {
        join_all(batch.into_iter().map(|at| observe(reader, at))).await
    }

    async fn apply(self, writer: &Acting, change: Change<BootstrapToken>) -> Result<BootstrapToken, Error> {
        let before = match change {
            Change::Create => None,
            Change::Update { from } => from.token.zip(from.expires_at),
        };
        let (token, expires) = match before {
            Some(known) => known,
            None => {
                let now = writer.looking.now().await?;
                for old in self.all(&writer.looking).await?.iter().filter(|old| !old.is_good(now)) {
                    remove(writer, old.id.as_deref().unwrap_or_default()).await?;
                }
                let ttl = humantime::parse_duration(&self.ttl).unwrap_or(Duration::from_secs(86400));
                let expires = humantime::format_rfc3339_seconds(now + ttl).to_string();
                let word = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
                (format!("{}.{}", &word[..6], &word[32..48]), expires)
            }
        };
        let (id, secret) = token.split_once('.').unwrap_or_default();
        let name = secret_name(id);
        let place = secrets().one(NAMESPACE, &name);
        let wish = self.secret(id, secret, &expires);
        let made = writer.apply(&place, &wish, true).await.map_err(Error::from)?;
        // What somebody else said where nothing is wished would stay theirs.
        let is_odd = |name: &&str| wish["data"][*name].is_null() && !made["data"][*name].is_null();
        let odd: Map<String, Json> = MAY_BE_EMPTY
            .iter()
            .filter(|name| is_odd(name))
            .map(|name| ((*name).to_owned(), Json::Null))
            .collect();
        if !odd.is_empty() {
            writer.merge(&place, &json!({ "data": odd })).await.map_err(Error::from)?;
        }
        let id = Some(id.to_owned());
        Ok(BootstrapToken { expires_at: Some(expires), id, token: Some(token), ..self })
    }

    async fn destroy(writer: &Acting, observed: BootstrapToken) -> Result<(), Error> {
        remove(writer, &observed.id.unwrap_or_default()).await
    }
}

async fn observe(reader: &Looking, at: At<BootstrapToken>) -> Result<Option<BootstrapToken>, Error> {
    let (asked, except) = match at {
        At::Recorded(asked) => {
            let Some(id) = asked.id.clone() else { return Ok(None) };
            let name = secret_name(&id);
            let found = reader.get_now(&secrets().one(NAMESPACE, &name)).await?;
            let found = found.map(|(found, now)| (asked.read(&found), now));
            return Ok(found.filter(|(found, now)| found.is_good(*now)).map(|(found, _)| found));
        }
        At::Declared(asked) => (asked, Vec::new()),
        At::Begun { wish, except } => (wish, except),
        At::Id(_) => return Ok(None),
    };
    let (all, now) = (asked.all(reader).await?, reader.now().await?);
    let is_it =
        |found: &BootstrapToken| found.is_good(now) && !except.iter().any(|known| known.id == found.id);
    Ok(all.into_iter().find(is_it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let mut wish = BootstrapToken {
            name: "join".into(),
            ttl: "24h".into(),
            groups: vec!["system:bootstrappers:b".into(), "system:bootstrappers:a".into()],
            description: "macs".into(),
            expires_at: None,
            id: None,
            token: None,
        };
        wish.normalize().unwrap();
        let secret = wish.secret("abcdef", "0123456789abcdef", "2026-01-01T00:00:00Z");
        let read = wish.read(&secret);
        assert_eq!(read.token.as_deref(), Some("abcdef.0123456789abcdef"));
        let at = |text: &str| humantime::parse_rfc3339(text).unwrap();
        assert!(read.is_good(at("2025-12-31T23:59:59Z")) && !read.is_good(at("2026-01-01T00:00:00Z")));
        assert_eq!((read.groups, read.description), (wish.groups.clone(), wish.description.clone()));
        for (name, ttl, group, attribute) in
            [("", "1h", GROUPS, "name"), ("a", "soon", GROUPS, "ttl"), ("a", "1h", "masters", "groups")]
        {
            let mut odd = BootstrapToken {
                name: name.into(),
                ttl: ttl.into(),
                groups: vec![group.into()],
                ..wish.clone()
            };
            assert_eq!(odd.normalize().unwrap_err().attribute, attribute);
        }
    }
}
