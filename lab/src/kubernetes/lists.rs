//! How lists of the known kinds are merged: by keys, as sets, or as a whole. Maps are merged by their names, everywhere.

use serde_json::{Map, Value};

/// How a list is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Items with the same values of these fields are one; what a field is where it is left out, is beside it.
    Keyed(&'static [(&'static str, Option<&'static str>)]),
    /// Every value once.
    Set,
    /// It has one owner.
    Whole,
}

const NAME: List = List::Keyed(&[("name", None)]);
const TYPE: List = List::Keyed(&[("type", None)]);
const UID: List = List::Keyed(&[("uid", None)]);
const PORT: List = List::Keyed(&[("port", None), ("protocol", Some("TCP"))]);
const CONTAINER_PORT: List = List::Keyed(&[("containerPort", None), ("protocol", Some("TCP"))]);
const MOUNT: List = List::Keyed(&[("mountPath", None)]);

/// Lists of all kinds, then those of single ones; in a path, `*` is an item of a list.
const LISTS: &[(&str, &str, List)] = &[
    ("", "metadata.finalizers", List::Set),
    ("", "metadata.ownerReferences", UID),
    ("", "status.conditions", TYPE),
    ("Node", "spec.podCIDRs", List::Set),
    ("Node", "status.addresses", TYPE),
    ("Service", "spec.ports", PORT),
    ("ServiceAccount", "secrets", NAME),
];

/// Lists in the description of a pod, wherever that stands.
const IN_POD: &[(&str, List)] = &[
    ("containers", NAME),
    ("containers.*.env", NAME),
    ("containers.*.ports", CONTAINER_PORT),
    ("containers.*.volumeMounts", MOUNT),
    ("imagePullSecrets", NAME),
    ("initContainers", NAME),
    ("initContainers.*.env", NAME),
    ("initContainers.*.volumeMounts", MOUNT),
    ("volumes", NAME),
];

/// Where the description of a pod stands.
const PODS: &[(&str, &str)] =
    &[("Pod", "spec."), ("Deployment", "spec.template.spec."), ("DaemonSet", "spec.template.spec.")];

/// How the list at a path of a kind is merged; the path has `*` for items of lists.
pub(super) fn list_at(kind: &str, path: &str) -> List {
    let known = LISTS.iter().find(|(of, at, _)| (of.is_empty() || *of == kind) && *at == path);
    if let Some((_, _, list)) = known {
        return *list;
    }
    let inner = PODS.iter().find_map(|(of, prefix)| (*of == kind).then(|| path.strip_prefix(prefix))?);
    let inner = inner.and_then(|inner| IN_POD.iter().find(|(at, _)| *at == inner));
    inner.map_or(List::Whole, |(_, list)| *list)
}

/// The values by which an item of a keyed list is known; none if it lacks one.
pub(super) fn keys_of(
    item: &Value,
    keys: &[(&'static str, Option<&'static str>)],
) -> Option<Map<String, Value>> {
    let item = item.as_object()?;
    keys.iter()
        .map(|(name, default)| {
            let value =
                item.get(*name).cloned().or_else(|| default.map(|text| Value::String(text.to_owned())))?;
            Some(((*name).to_owned(), value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_lists() {
        assert_eq!(list_at("Service", "spec.ports"), PORT);
        assert_eq!(list_at("Machine", "spec.ports"), List::Whole);
        assert_eq!(list_at("Machine", "metadata.finalizers"), List::Set);
        assert_eq!(list_at("Deployment", "spec.template.spec.containers.*.env"), NAME);
        assert_eq!(list_at("Pod", "spec.containers.*.args"), List::Whole);
        assert_eq!(list_at("Node", "spec.taints"), List::Whole);
    }
}
