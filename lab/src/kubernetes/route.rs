//! From an HTTP request to what it asks for.

use super::kinds::{Kind, Sub};
use super::refusal::Refusal;

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) bearer: Option<String>,
    pub(crate) content_type: String,
    pub(crate) accept: String,
    pub(crate) user_agent: String,
    pub(crate) body: Vec<u8>,
}

/// What a request asks for.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// Something about objects.
    Object(Call),
    /// Whether whoever asks may do something.
    Review,
    /// A path that is no object's.
    Path(String),
}

/// Something is asked about objects.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// What permissions call it.
    pub(super) verb: &'static str,
    pub(super) kind: &'static Kind,
    pub(super) namespace: Option<String>,
    /// Empty for all objects.
    pub(super) name: String,
    pub(super) sub: Option<&'static Sub>,
    pub(super) query: Vec<(String, String)>,
}

impl Call {
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.parameter(name).is_some_and(|value| matches!(value, "1" | "true" | "True"))
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.parameter("dryRun") == Some("All")
    }

    pub(super) fn writes(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }
}

pub(super) fn understand(request: &Request) -> Result<Asked, Refusal> {
    let words: Vec<String> =
        request.path.split('/').filter(|word| !word.is_empty()).map(|word| decode(word, false)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if request.method == "POST" && request.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" {
        return Ok(Asked::Review);
    }
    let (group, version, rest) = match *words.as_slice() {
        ["api", version, ref rest @ ..] if !rest.is_empty() => ("", version, rest),
        ["apis", group, version, ref rest @ ..] if !rest.is_empty() => (group, version, rest),
        _ => return Ok(Asked::Path(request.path.clone())),
    };
    let find = |plural: &str| Kind::find(group, version, plural).ok_or_else(Refusal::no_such_path);
    let (kind, namespace, rest) = match *rest {
        // A namespace is an object itself, and has subresources.
        ["namespaces", name, "status"] => (find("namespaces")?, None, vec![name, "status"]),
        ["namespaces", namespace, plural, ref rest @ ..] => (find(plural)?, Some(namespace), rest.to_vec()),
        [plural, ref rest @ ..] => (find(plural)?, None, rest.to_vec()),
        [] => return Err(Refusal::no_such_path()),
    };
    if namespace.is_some() && !kind.namespaced {
        return Err(Refusal::no_such_path());
    }
    let (name, sub) = match *rest.as_slice() {
        [] => ("", None),
        [name] => (name, None),
        [name, sub] => (name, Some(kind.sub(sub).ok_or_else(Refusal::no_such_path)?)),
        _ => return Err(Refusal::no_such_path()),
    };
    if kind.namespaced && namespace.is_none() && !name.is_empty() {
        return Err(Refusal::no_such_path());
    }
    let query = read_query(request.query.as_deref().unwrap_or_default());
    let watches = query.iter().any(|(name, value)| name == "watch" && matches!(&**value, "1" | "true"));
    let verb = match (&*request.method, name.is_empty()) {
        ("GET", true) if watches => "watch",
        ("GET", true) => "list",
        ("GET", false) => "get",
        ("POST", _) if name.is_empty() != sub.is_some() => "create",
        ("PUT", false) => "update",
        ("PATCH", false) => "patch",
        ("DELETE", false) => "delete",
        ("DELETE", true) => "deletecollection",
        _ => return Err(Refusal::no_such_verb()),
    };
    let allowed = sub.map_or(kind.verbs, |sub| sub.verbs);
    if !allowed.contains(&verb) {
        return Err(Refusal::no_such_verb());
    }
    let (namespace, name) = (namespace.map(str::to_owned), name.to_owned());
    Ok(Asked::Object(Call { verb, kind, namespace, name, sub, query }))
}

fn read_query(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name, true), decode(value, true))
    };
    pairs.map(pair).collect()
}

fn decode(text: &str, is_query: bool) -> String {
    let text = if is_query { text.replace('+', " ") } else { text.to_owned() };
    percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_objects() {
        let asked = |method: &str, path: &str, query: Option<&str>| {
            let request = Request {
                method: method.to_owned(),
                path: path.to_owned(),
                query: query.map(str::to_owned),
                ..Request::default()
            };
            match understand(&request) {
                Ok(Asked::Object(call)) => format!(
                    "{} {} {}/{} {}",
                    call.verb,
                    call.kind.kind,
                    call.namespace.unwrap_or_default(),
                    call.name,
                    call.sub.map_or("", |sub| sub.name)
                ),
                Ok(Asked::Review) => "review".to_owned(),
                Ok(Asked::Path(path)) => path,
                Err(refusal) => refusal.code.to_string(),
            }
        };
        for (method, path, expected) in [
            ("GET", "/api/v1/nodes", "list Node / "),
            ("GET", "/api/v1/nodes/a", "get Node /a "),
            ("PATCH", "/api/v1/nodes/a/status", "patch Node /a status"),
            ("GET", "/api/v1/namespaces/x", "get Namespace /x "),
            ("POST", "/api/v1/namespaces/x/pods", "create Pod x/ "),
            ("POST", "/api/v1/namespaces/x/pods/p/eviction", "create Pod x/p eviction"),
            ("GET", "/api/v1/pods", "list Pod / "),
            ("DELETE", "/apis/apps/v1/namespaces/x/deployments/d", "delete Deployment x/d "),
            ("GET", "/api/v1/pods/p", "404"),
            ("GET", "/api/v1/things", "404"),
            ("GET", "/apis/apps/v1beta1/deployments", "404"),
            ("GET", "/api/v1/namespaces/x/nodes", "404"),
            ("POST", "/api/v1/nodes/a", "405"),
            ("GET", "/api/v1/namespaces/x/pods/p/eviction", "405"),
            ("GET", "/api/v1", "/api/v1"),
            ("GET", "/version", "/version"),
            ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "review"),
            ("GET", "/", "/"),
        ] {
            assert_eq!(asked(method, path, None), expected, "{method} {path}");
        }
        assert_eq!(asked("GET", "/api/v1/nodes", Some("watch=true")), "watch Node / ");
    }
}
