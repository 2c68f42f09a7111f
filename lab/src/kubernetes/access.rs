//! Who asks, and what they may do: bearer tokens, and roles that are bound to whoever has them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::books::Books;
use super::kinds::Kind;
use super::refusal::{Place, Refusal};
use super::route::Call;
use crate::clock::Time;

/// Whoever is in this group may do everything.
pub(super) const MASTERS: &str = "system:masters";

/// A token that somebody may show.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Bearer {
    pub(super) user: String,
    pub(super) groups: Vec<String>,
    /// The object that it is good with: namespace and name of the account, and its uid.
    pub(super) account: Option<(String, String, String)>,
    /// The Secret that holds it, beside its account: it is good as long as that is there.
    pub(super) secret: Option<String>,
    pub(super) expires_at: Option<Time>,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) groups: Vec<String>,
}

impl Books {
    /// Finds out who asks.
    pub(super) fn authenticate(&self, bearer: Option<&str>, now: Time) -> Result<User, Refusal> {
        let bearer = bearer.ok_or_else(Refusal::unauthorized)?;
        let known = self.bearers.get(bearer).filter(|known| self.is_good(bearer, known, now));
        let known = known.map(|known| User { name: known.user.clone(), groups: known.groups.clone() });
        known.or_else(|| self.joining(bearer, now)).ok_or_else(Refusal::unauthorized)
    }

    fn is_good(&self, token: &str, bearer: &Bearer, now: Time) -> bool {
        let account = bearer.account.as_ref().is_none_or(|(namespace, name, uid)| {
            let account =
                Kind::named("ServiceAccount").and_then(|kind| self.get(kind, Some(namespace), name));
            // Another Secret of the same name has another token.
            let kept = bearer.secret.as_ref().is_none_or(|name| {
                let secret = Kind::named("Secret").and_then(|kind| self.get(kind, Some(namespace), name));
                let holds = |secret: &Value| super::controllers::decoded(&secret["data"]["token"]);
                secret.and_then(holds).as_deref() == Some(token)
            });
            kept && account.is_some_and(|account| account["metadata"]["uid"] == **uid)
        });
        account && bearer.expires_at.is_none_or(|end| now < end)
    }

    /// Whoever shows a token for joining is in the group of those who join.
    fn joining(&self, bearer: &str, now: Time) -> Option<User> {
        let (id, secret) = bearer.split_once('.')?;
        let kind = Kind::named("Secret")?;
        let object = self.get(kind, Some("kube-system"), &format!("bootstrap-token-{id}"))?;
        let field = |name: &str| super::controllers::decoded(&object["data"][name]);
        let is_good = object["type"] == "bootstrap.kubernetes.io/token"
            && field("token-secret")? == secret
            && field("usage-bootstrap-authentication").as_deref() == Some("true")
            && field("expiration").and_then(|end| end.parse::<Time>().ok()).is_none_or(|end| now < end);
        let extra = field("auth-extra-groups").unwrap_or_default();
        let groups = extra.split(',').filter(|group| !group.is_empty()).map(str::to_owned);
        let groups = groups.chain(["system:bootstrappers".to_owned()]).collect();
        is_good.then(|| User { name: format!("system:bootstrap:{id}"), groups })
    }

    /// Whether somebody may do this.
    pub(super) fn authorize(&self, user: &User, call: &Call) -> Result<(), Refusal> {
        self.authorize_verb(user, call, call.verb)
    }

    /// Whether somebody may do this to the same object.
    pub(super) fn authorize_verb(&self, user: &User, call: &Call, verb: &str) -> Result<(), Refusal> {
        let resource =
            call.sub.map_or(call.kind.plural.to_owned(), |sub| format!("{}/{}", call.kind.plural, sub.name));
        let wanted = Wanted {
            verb,
            group: call.kind.group,
            resource: &resource,
            name: &call.name,
            namespace: call.namespace.as_deref(),
        };
        if self.may(user, &wanted) {
            return Ok(());
        }
        let place = Place { namespace: call.namespace.as_deref(), name: &call.name };
        Err(Refusal::denied(&user.name, verb, call.kind, call.sub.map(|sub| sub.name), place))
    }

    /// Whether somebody may see a path that is no object's. Discovery is for everybody who is known.
    pub(super) fn authorize_path(&self, user: &User, path: &str) -> Result<(), Refusal> {
        let open = ["/api", "/apis", "/version", "/healthz", "/livez", "/readyz", "/openapi"];
        let is_open = open.iter().any(|start| path == *start || path.starts_with(&format!("{start}/")));
        let sees = |rule: &Value| {
            has(&rule["verbs"], "get")
                && items(&rule["nonResourceURLs"]).any(|known| known == "*" || known == path)
        };
        let is_master = user.groups.iter().any(|group| group == MASTERS);
        if is_open || is_master || self.rules(user, None).iter().any(sees) {
            return Ok(());
        }
        Err(Refusal::denied_path(&user.name, path))
    }

    /// Answers somebody who asks what they may do.
    pub(super) fn review(&self, user: &User, mut asked: Value) -> Value {
        let about = asked["spec"]["resourceAttributes"].clone();
        let part = |name: &str| about[name].as_str().unwrap_or_default();
        let namespace = Some(part("namespace")).filter(|namespace| !namespace.is_empty());
        let resource = match part("subresource") {
            "" => part("resource").to_owned(),
            sub => format!("{}/{sub}", part("resource")),
        };
        let (verb, group, name) = (part("verb"), part("group"), part("name"));
        let wanted = Wanted { verb, group, resource: &resource, name, namespace };
        let allowed = self.may(user, &wanted);
        asked["status"] = serde_json::json!({ "allowed": allowed });
        asked
    }

    /// Whoever binds a role must be allowed to bind it: nobody gives away what they do not have.
    pub(super) fn may_bind(&self, user: &User, object: &Value, namespace: Option<&str>) -> bool {
        let role = &object["roleRef"];
        let resource = if role["kind"] == "ClusterRole" { "clusterroles" } else { "roles" };
        self.may(
            user,
            &Wanted {
                verb: "bind",
                group: "rbac.authorization.k8s.io",
                resource,
                name: role["name"].as_str().unwrap_or_default(),
                namespace,
            },
        )
    }

    fn may(&self, user: &User, wanted: &Wanted<'_>) -> bool {
        let is_master = user.groups.iter().any(|group| group == MASTERS);
        // Everybody may ask who they are.
        is_master
            || wanted.resource == "selfsubjectreviews"
            || self.rules(user, wanted.namespace).iter().any(|rule| wanted.is_allowed_by(rule))
    }

    /// The rules that hold for somebody in a namespace.
    fn rules(&self, user: &User, namespace: Option<&str>) -> Vec<Value> {
        let mut rules = Vec::new();
        for (kind, within) in [("ClusterRoleBinding", None), ("RoleBinding", namespace)] {
            if kind == "RoleBinding" && within.is_none() {
                continue;
            }
            let Some(bindings) = Kind::named(kind) else { continue };
            for binding in self.all(bindings, within) {
                if !items(&binding["subjects"]).any(|subject| user.is(subject)) {
                    continue;
                }
                let role = &binding["roleRef"];
                let found = role["kind"].as_str().and_then(Kind::named).and_then(|kind| {
                    let within = if kind.namespaced { within } else { None };
                    self.get(kind, within, role["name"].as_str().unwrap_or_default())
                });
                rules.extend(
                    found.into_iter().flat_map(|role| items(&role["rules"]).cloned().collect::<Vec<_>>()),
                );
            }
        }
        rules
    }
}

impl User {
    fn is(&self, subject: &Value) -> bool {
        let name = subject["name"].as_str().unwrap_or_default();
        match subject["kind"].as_str() {
            Some("User") => self.name == name,
            Some("Group") => self.groups.iter().any(|group| group == name),
            Some("ServiceAccount") => {
                let namespace = subject["namespace"].as_str().unwrap_or_default();
                self.name == account_name(namespace, name)
            }
            _ => false,
        }
    }
}

/// What an account is called as a user.
pub(super) fn account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// What somebody wants to do.
struct Wanted<'a> {
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    name: &'a str,
    namespace: Option<&'a str>,
}

impl Wanted<'_> {
    fn is_allowed_by(&self, rule: &Value) -> bool {
        let names: Vec<&Value> = items(&rule["resourceNames"]).collect();
        has(&rule["verbs"], self.verb)
            && has(&rule["apiGroups"], self.group)
            && has(&rule["resources"], self.resource)
            && (names.is_empty() || names.iter().any(|name| *name == self.name))
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn has(list: &Value, wanted: &str) -> bool {
    items(list).any(|item| item == "*" || item == wanted)
}
