//! Accounts of the cluster with a token that lasts: what several kinds give away as a kubeconfig.
//!
//! An account comes first, then its token, and its authority last. On the way out it is the other way round: authority
//! goes first, so that whoever kept the token can do nothing with it.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fleet_engine::resource::Error;
use serde_json::{Value as Json, json};

use super::client::{Acting, Looking, Resource};
use super::json::{metadata, text};
use super::owned::owned;
use super::wait::{PATIENCE, gone};

/// How often it is looked whether the token is there, and with which pause.
const LOOKS: usize = 60;
const PAUSE: Duration = Duration::from_millis(500);

/// An account with everything that belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) namespace: String,
    /// What the account and its binding are called; its Secret has `-token` behind it.
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
}

/// What is there of an account.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The account itself.
    pub(super) account: Option<Json>,
    /// The Secret of its token.
    pub(super) secret: Option<Json>,
    /// What binds it to a role.
    pub(super) binding: Option<Json>,
}

/// What it takes to be somebody.
#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) token: String,
    /// What proves that the server is it, as base64 of PEM.
    authority: Option<String>,
    /// The name that its certificate is for, if that is not how it is reached.
    certified_name: Option<String>,
    /// The server that is believed without proof.
    unproven: Option<String>,
}

pub(super) fn accounts() -> Resource {
    Resource::core("ServiceAccount", "serviceaccounts", true)
}

pub(super) fn secrets() -> Resource {
    Resource::core("Secret", "secrets", true)
}

pub(super) fn bindings() -> Resource {
    Resource::of("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false)
}

pub(super) fn roles() -> Resource {
    Resource::of("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false)
}

impl Account {
    fn secret_name(&self) -> String {
        format!("{}-token", self.name)
    }

    /// Looks at all of it.
    pub(super) async fn find(&self, looking: &Looking) -> Result<Found, Error> {
        let secret = self.secret_name();
        Ok(Found {
            account: looking.get(&accounts().one(&self.namespace, &self.name)).await?,
            secret: looking.get(&secrets().one(&self.namespace, &secret)).await?,
            binding: looking.get(&bindings().one("", &self.name)).await?,
        })
    }

    /// Makes the account and its token, and waits until that is there.
    pub(super) async fn make(&self, acting: &Acting) -> Result<Credentials, Error> {
        let mut account = json!({ "apiVersion": "v1", "kind": "ServiceAccount" });
        account["metadata"] = metadata(&self.name, &self.labels);
        let place = accounts().one(&self.namespace, &self.name);
        let account = acting.apply(&place, &account, true).await.map_err(Error::from)?;
        let name = self.secret_name();
        let mut wish =
            json!({ "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token" });
        wish["metadata"] = metadata(&name, &self.labels);
        wish["metadata"]["annotations"] = json!({ "kubernetes.io/service-account.name": self.name });
        let place = secrets().one(&self.namespace, &name);
        if let Some(old) = acting.looking.get(&place).await?
            && is_dead(&old, &account)
        {
            let uid = text(&old, &["metadata", "uid"]);
            acting.delete(&place, uid).await?;
            gone(&acting.looking, &place, uid, PATIENCE).await?;
        }
        let mut made = acting.apply(&place, &wish, true).await.map_err(Error::from)?;
        for _ in 0..LOOKS {
            // That of an account that is gone goes soon.
            if let Some(credentials) =
                credentials(&made, &acting.looking).filter(|_| !is_dead(&made, &account))
            {
                return Ok(credentials);
            }
            tokio::time::sleep(PAUSE).await;
            made = match acting.looking.get(&place).await? {
                Some(made) => made,
                // It went with an account that was another.
                None => acting.apply(&place, &wish, true).await.map_err(Error::from)?,
            };
        }
        let error = Error::transient(format!("{place} holds no token yet"));
        Err(error.help("the controller of the cluster that fills it does not run, or has much to do"))
    }

    /// Binds the account to a role. A binding to another role is made anew: it cannot be changed.
    pub(super) async fn bind(
        &self,
        acting: &Acting,
        role: &str,
        binding: Option<&Json>,
    ) -> Result<(), Error> {
        let place = bindings().one("", &self.name);
        if let Some(binding) = binding.filter(|binding| text(binding, &["roleRef", "name"]) != role) {
            let uid = text(binding, &["metadata", "uid"]);
            acting.delete(&place, uid).await?;
            gone(&acting.looking, &place, uid, PATIENCE).await?;
        }
        let wish = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": metadata(&self.name, &self.labels),
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": self.name, "namespace": self.namespace }],
        });
        acting.apply(&place, &wish, true).await.map_err(Error::from)?;
        Ok(())
    }

    /// Removes all of it, authority first; what stays, in words.
    pub(super) async fn remove(&self, acting: &Acting) -> Result<Option<String>, Error> {
        let stays = revoke(acting, &self.name, Some(&self.namespace)).await?;
        let secret = self.secret_name();
        for place in [secrets().one(&self.namespace, &secret), accounts().one(&self.namespace, &self.name)] {
            acting.delete(&place, "").await?;
            gone(&acting.looking, &place, "", PATIENCE).await?;
        }
        Ok(stays)
    }
}

/// Takes the role of an account away; of any account of that name if no namespace is said. A binding of that name that is for
/// others, or for others, too, is theirs and stays: then it is told, in words.
pub(super) async fn revoke(
    acting: &Acting,
    name: &str,
    namespace: Option<&str>,
) -> Result<Option<String>, Error> {
    let place = bindings().one("", name);
    let Some(binding) = acting.looking.get(&place).await? else { return Ok(None) };
    if !is_alone(&binding, name, namespace) {
        let role = text(&binding, &["roleRef", "name"]);
        return Ok(Some(format!(
            "{place} is not for the account `{name}` alone, and stays: it lets {} do what `{role}` may",
            told(&binding)
        )));
    }
    let uid = text(&binding, &["metadata", "uid"]);
    acting.delete(&place, uid).await?;
    gone(&acting.looking, &place, uid, PATIENCE).await?;
    Ok(None)
}

/// Whom a binding is for, in words.
fn told(binding: &Json) -> String {
    let subjects = binding["subjects"].as_array().into_iter().flatten();
    let named = |subject: &Json| {
        let (kind, name) = (text(subject, &["kind"]), text(subject, &["name"]));
        let namespace = subject["namespace"].as_str().map(|namespace| format!("{namespace}/"));
        format!("{kind} `{}{name}`", namespace.unwrap_or_default())
    };
    subjects.map(named).collect::<Vec<_>>().join(", ")
}

/// Whether a binding was applied by us, and somebody else has said since whom it is for.
fn is_changed(binding: &Json, manager: &str) -> bool {
    owned(binding, manager).is_some_and(|owned| owned["subjects"].is_null())
}

/// Whether a binding is for one account and nobody else.
fn is_alone(binding: &Json, name: &str, namespace: Option<&str>) -> bool {
    let subjects = binding["subjects"].as_array().map_or(&[][..], Vec::as_slice);
    let is_it = |subject: &Json| {
        subject["kind"] == "ServiceAccount"
            && subject["name"] == *name
            && namespace.is_none_or(|namespace| subject["namespace"] == *namespace)
    };
    // One for nobody grants nothing.
    subjects.len() <= 1 && subjects.iter().all(is_it)
}

impl Found {
    /// Whether nothing is there. A binding of that name that is for others is not the account's.
    pub(super) fn is_nothing(&self, account: &Account) -> bool {
        let binding = self.binding.as_ref();
        let is_bound =
            binding.is_some_and(|binding| is_alone(binding, &account.name, Some(&account.namespace)));
        self.account.is_none() && self.secret.is_none() && !is_bound
    }

    /// Refuses to bind the account where a binding of that name is somebody else's: whoever is in it would lose what it grants.
    pub(super) fn check_binding(&self, account: &Account, manager: &str) -> Result<(), Error> {
        let Some(binding) = &self.binding else { return Ok(()) };
        if is_alone(binding, &account.name, Some(&account.namespace)) || is_changed(binding, manager) {
            return Ok(());
        }
        let place = format!("{}", bindings().one("", &account.name));
        let error = Error::permanent(format!("{place} is somebody else's: it is for {}", told(binding)));
        Err(error.help("choose another name, or remove that binding if nobody needs it"))
    }

    /// The role that the account is bound to; none if it is not, or if somebody else is.
    pub(super) fn role(&self, account: &Account) -> Option<String> {
        let binding = self.binding.as_ref()?;
        let is_bound = binding["subjects"].as_array().is_some_and(|subjects| !subjects.is_empty());
        let is_ours = is_bound && is_alone(binding, &account.name, Some(&account.namespace));
        is_ours.then(|| text(binding, &["roleRef", "name"]).to_owned())
    }

    /// Its token, if it is good and the account is there that it is for.
    pub(super) fn credentials(&self, looking: &Looking) -> Option<Credentials> {
        let (account, secret) = (self.account.as_ref()?, self.secret.as_ref()?);
        (!is_dead(secret, account)).then(|| credentials(secret, looking))?
    }
}

/// Whether the token in a Secret is no good for an account: it is for another of the same name, or the cluster has given it up
/// because nobody used it for long.
fn is_dead(secret: &Json, account: &Json) -> bool {
    let uid = text(secret, &["metadata", "annotations", "kubernetes.io/service-account.uid"]);
    let is_others = !uid.is_empty() && uid != text(account, &["metadata", "uid"]);
    let is_given_up = !secret["metadata"]["labels"]["kubernetes.io/legacy-token-invalid-since"].is_null();
    is_others || is_given_up || !secret["metadata"]["deletionTimestamp"].is_null()
}

fn credentials(secret: &Json, looking: &Looking) -> Option<Credentials> {
    let field = |name: &str| Some(text(secret, &["data", name]).to_owned()).filter(|text| !text.is_empty());
    let token = decoded(&field("token")?)?;
    // Not every cluster tells what proves its server; then it is what we know it by.
    let authority = field("ca.crt").or_else(|| looking.authority.as_deref().map(str::to_owned));
    let certified_name = looking.certified_name.as_deref().map(str::to_owned);
    let unproven = looking.is_unproven.then(|| looking.server.to_string());
    Some(Credentials { token, authority, certified_name, unproven })
}

/// The text of base64.
pub(super) fn decoded(text: &str) -> Option<String> {
    String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok()
}

impl Credentials {
    /// A kubeconfig: the same text for the same credentials. Whoever gets it trusts the server as fleet does.
    pub(super) fn kubeconfig(&self, server: &str, user: &str) -> String {
        let mut cluster = json!({ "server": server });
        if self.unproven.as_deref() == Some(server) {
            // No client takes an authority beside this.
            cluster["insecure-skip-tls-verify"] = json!(true);
        } else if let Some(authority) = &self.authority {
            cluster["certificate-authority-data"] = json!(authority);
        }
        if let Some(name) = &self.certified_name {
            cluster["tls-server-name"] = json!(name);
        }
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "cluster", "cluster": cluster }],
            "users": [{ "name": user, "user": { "token": self.token } }],
            "contexts": [{ "name": user, "context": { "cluster": "cluster", "user": user } }],
            "current-context": user,
        });
        // JSON is YAML.
        format!("{config:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_that_is_given_away_trusts_the_server_as_fleet_does() {
        let cluster = |name: Option<&str>, unproven: Option<&str>| {
            let credentials = Credentials {
                token: "t".to_owned(),
                authority: Some("ca".to_owned()),
                certified_name: name.map(str::to_owned),
                unproven: unproven.map(str::to_owned),
            };
            let config: Json = serde_json::from_str(&credentials.kubeconfig("https://a", "u")).unwrap();
            config["clusters"][0]["cluster"].clone()
        };
        let known = json!({ "server": "https://a", "certificate-authority-data": "ca" });
        let named =
            json!({ "server": "https://a", "certificate-authority-data": "ca", "tls-server-name": "b" });
        let unproven = json!({ "server": "https://a", "insecure-skip-tls-verify": true });
        assert_eq!(cluster(None, None), known);
        assert_eq!(cluster(Some("b"), None), named);
        assert_eq!(cluster(None, Some("https://a")), unproven);
        assert_eq!(cluster(None, Some("https://elsewhere")), known, "another server can be proven");
    }

    #[test]
    fn a_binding_of_others_is_not_taken() {
        let account = Account { namespace: "ci".into(), name: "a".into(), labels: BTreeMap::new() };
        let applied =
            |fields: Json| json!([{ "manager": "fleet", "operation": "Apply", "fieldsV1": fields }]);
        let (role, both) = (json!({ "f:roleRef": {} }), json!({ "f:roleRef": {}, "f:subjects": {} }));
        let ours = json!([{ "kind": "ServiceAccount", "name": "a", "namespace": "ci" }]);
        let same_name = json!([{ "kind": "ServiceAccount", "name": "a", "namespace": "other" }]);
        let users = json!([{ "kind": "User", "name": "x" }]);
        for (subjects, managed, is_free) in [
            (&ours, Json::Null, true),
            (&users, Json::Null, false),
            (&users, applied(role.clone()), true),
            // We bound somebody else: the account of this name in another namespace.
            (&same_name, applied(both), false),
            (&same_name, applied(role), true),
        ] {
            let metadata = json!({ "managedFields": managed });
            let binding = json!({ "metadata": metadata, "roleRef": {}, "subjects": subjects });
            let found = Found { binding: Some(binding), ..Found::default() };
            let checked = found.check_binding(&account, "fleet");
            assert_eq!(checked.is_ok(), is_free, "{found:?}");
        }
    }

    #[test]
    fn a_binding_is_the_accounts_if_nobody_else_is_in_it() {
        let subject = |kind: &str, name: &str| json!({ "kind": kind, "name": name, "namespace": "ci" });
        let ours = subject("ServiceAccount", "a");
        for (subjects, expected) in [
            (json!([ours]), true),
            (Json::Null, true),
            (json!([ours, subject("ServiceAccount", "b")]), false),
            (json!([subject("ServiceAccount", "b")]), false),
            (json!([subject("User", "a")]), false),
        ] {
            let binding = json!({ "subjects": subjects });
            assert_eq!(is_alone(&binding, "a", Some("ci")), expected, "{binding}");
            assert_eq!(is_alone(&binding, "a", None), expected, "{binding}");
        }
        assert!(!is_alone(&json!({ "subjects": [ours] }), "a", Some("other")));
    }
}
