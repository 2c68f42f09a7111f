//! What the server knows: every kind, with its verbs and subresources. Nothing else is served.
//!
//! The table is all there is: discovery, routes and permissions are made of it.

/// Everything that can be done to a kind whose objects are kept.
const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// What can be done to the status of an object.
const STATUS: Sub = Sub { name: "status", kind: None, verbs: &["get", "patch", "update"] };

/// A kind of object.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// The group of its API; empty for the core.
    pub group: &'static str,
    /// The version of that group.
    pub version: &'static str,
    /// What it is called in paths.
    pub plural: &'static str,
    /// What one is called.
    pub singular: &'static str,
    /// What its objects say they are.
    pub kind: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What people write for it.
    pub short: &'static [&'static str],
    /// What can be done to its objects.
    pub verbs: &'static [&'static str],
    /// What else is at the path of an object.
    pub subs: &'static [Sub],
}

/// Something at the path of an object.
#[derive(Debug, PartialEq, Eq)]
pub struct Sub {
    /// The last word of the path.
    pub name: &'static str,
    /// The kind that is sent there, with its group and version; the kind of the object if this is none.
    pub kind: Option<(&'static str, &'static str, &'static str)>,
    /// What can be done there.
    pub verbs: &'static [&'static str],
}

const fn kind(
    (group, version): (&'static str, &'static str),
    (plural, singular, kind): (&'static str, &'static str, &'static str),
    namespaced: bool,
    short: &'static [&'static str],
    subs: &'static [Sub],
) -> Kind {
    Kind { group, version, plural, singular, kind, namespaced, short, verbs: ALL, subs }
}

const CORE: (&str, &str) = ("", "v1");
const APPS: (&str, &str) = ("apps", "v1");
const RBAC: (&str, &str) = ("rbac.authorization.k8s.io", "v1");
const LEASES: (&str, &str) = ("coordination.k8s.io", "v1");
const NODE: (&str, &str) = ("node.k8s.io", "v1");
const POLICY: (&str, &str) = ("policy", "v1");
const CAPI: (&str, &str) = ("cluster.x-k8s.io", "v1beta1");
const TAILSCALE: (&str, &str) = ("tailscale.com", "v1alpha1");

/// Who somebody is: asked, and kept nowhere.
const WHO_ASKS: Kind = Kind {
    verbs: &["create"],
    ..kind(
        ("authentication.k8s.io", "v1"),
        ("selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview"),
        false,
        &[],
        &[],
    )
};

/// All of them.
pub const KINDS: &[Kind] = &[
    kind(CORE, ("configmaps", "configmap", "ConfigMap"), true, &["cm"], &[]),
    kind(CORE, ("events", "event", "Event"), true, &["ev"], &[]),
    kind(CORE, ("namespaces", "namespace", "Namespace"), false, &["ns"], &[STATUS]),
    kind(CORE, ("nodes", "node", "Node"), false, &["no"], &[STATUS]),
    kind(
        CORE,
        ("pods", "pod", "Pod"),
        true,
        &["po"],
        &[STATUS, Sub { name: "eviction", kind: Some(("policy", "v1", "Eviction")), verbs: &["create"] }],
    ),
    kind(CORE, ("secrets", "secret", "Secret"), true, &[], &[]),
    kind(
        CORE,
        ("serviceaccounts", "serviceaccount", "ServiceAccount"),
        true,
        &["sa"],
        &[Sub {
            name: "token",
            kind: Some(("authentication.k8s.io", "v1", "TokenRequest")),
            verbs: &["create"],
        }],
    ),
    kind(CORE, ("services", "service", "Service"), true, &["svc"], &[STATUS]),
    kind(APPS, ("daemonsets", "daemonset", "DaemonSet"), true, &["ds"], &[STATUS]),
    kind(APPS, ("deployments", "deployment", "Deployment"), true, &["deploy"], &[STATUS]),
    WHO_ASKS,
    kind(LEASES, ("leases", "lease", "Lease"), true, &[], &[]),
    kind(
        POLICY,
        ("poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget"),
        true,
        &["pdb"],
        &[STATUS],
    ),
    kind(NODE, ("runtimeclasses", "runtimeclass", "RuntimeClass"), false, &[], &[]),
    kind(RBAC, ("clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding"), false, &[], &[]),
    kind(RBAC, ("clusterroles", "clusterrole", "ClusterRole"), false, &[], &[]),
    kind(RBAC, ("rolebindings", "rolebinding", "RoleBinding"), true, &[], &[]),
    kind(RBAC, ("roles", "role", "Role"), true, &[], &[]),
    kind(CAPI, ("clusters", "cluster", "Cluster"), true, &["cl"], &[STATUS]),
    kind(CAPI, ("machines", "machine", "Machine"), true, &["ma"], &[STATUS]),
    kind(TAILSCALE, ("proxygroups", "proxygroup", "ProxyGroup"), false, &["pg"], &[STATUS]),
];

impl Kind {
    /// The kind of a plural in a group.
    #[must_use]
    pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| (kind.group, kind.version, kind.plural) == (group, version, plural))
    }

    /// The kind whose objects call themselves so.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.kind == name)
    }

    /// What its objects have as `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> String {
        api_version(self.group, self.version)
    }

    /// What is at the path of an object under a word.
    #[must_use]
    pub fn sub(&self, name: &str) -> Option<&'static Sub> {
        self.subs.iter().find(|sub| sub.name == name)
    }

    /// Whether its status is changed at a path of its own.
    #[must_use]
    pub fn has_status(&self) -> bool {
        self.sub("status").is_some()
    }

    /// Its plural and group, as messages have them.
    #[must_use]
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }
}

/// A group and a version, as objects have them.
#[must_use]
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// All groups with their versions, the core first.
pub(super) fn groups() -> Vec<(&'static str, &'static str)> {
    let mut groups: Vec<_> = KINDS.iter().map(|kind| (kind.group, kind.version)).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_are_in_one_place() {
        for (at, kind) in KINDS.iter().enumerate() {
            for other in &KINDS[at + 1..] {
                assert_ne!((kind.group, kind.plural), (other.group, other.plural));
                assert_ne!(kind.kind, other.kind);
            }
            assert_eq!(Kind::find(kind.group, kind.version, kind.plural), Some(kind));
        }
        assert_eq!(groups()[0], ("", "v1"));
    }
}
