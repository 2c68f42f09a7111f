//! Where secrets come from: what `from` of a `secret` block says, understood before anybody is asked.
//!
//! | written | asked |
//! |---|---|
//! | `env:NAME` | an environment variable |
//! | `file:PATH` | a file on this machine; `~/` is the home directory |
//! | `exec:COMMAND` | what a command of the shell prints |
//! | `op://VAULT/ITEM/[SECTION/]FIELD` | 1Password, by its own program `op` or over a Connect server |
//! | `vault:PATH#KEY` | HashiCorp Vault: a key of a secret of its KV engine, version 2 |
//! | `k8s:NAMESPACE/NAME#KEY` | a Secret of the Kubernetes cluster that the kubeconfig leads to |
//!
//! A `secret` block with `provider` is another matter: there the provider is asked, and knows what `from` may say.

use std::fmt;
use std::str::FromStr;

/// A place that a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An environment variable.
    Env(String),
    /// A file on this machine.
    File(String),
    /// A command of the shell.
    Exec(String),
    /// A field of 1Password.
    OnePassword(InItem),
    /// A secret of HashiCorp Vault.
    Vault(InVault),
    /// A Secret of Kubernetes.
    Kubernetes(InCluster),
}

/// A place in 1Password. Each part is a name or an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InItem {
    /// The vault.
    pub vault: String,
    /// The item.
    pub item: String,
    /// The section of the item, where one is named.
    pub section: Option<String>,
    /// The field, or the name of a file.
    pub field: String,
    /// What stands behind the `?`, such as `attribute=otp`.
    pub query: Vec<(String, String)>,
}

/// A place in HashiCorp Vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InVault {
    /// The path, with the mount of its engine, segment by segment.
    pub path: Vec<String>,
    /// Which version, if not the newest.
    pub version: Option<u64>,
    /// Which of the values there.
    pub key: String,
}

/// A place in a Kubernetes cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InCluster {
    /// The namespace.
    pub namespace: String,
    /// The name of the Secret.
    pub name: String,
    /// Which of the values there.
    pub key: String,
}

/// What is wrong with a source, as a diagnostic says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// In a few words.
    pub summary: &'static str,
    /// What was expected.
    pub detail: String,
    /// What to write.
    pub help: String,
}

/// How sources start, and how one of each looks.
const SOURCES: [(&str, &str); 6] = [
    ("env:", "env:NAME"),
    ("file:", "file:PATH"),
    ("exec:", "exec:COMMAND"),
    ("op://", "op://VAULT/ITEM/FIELD"),
    ("vault:", "vault:MOUNT/PATH#KEY"),
    ("k8s:", "k8s:NAMESPACE/NAME#KEY"),
];

impl FromStr for Source {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Source, Malformed> {
        let found = SOURCES.iter().find_map(|(start, form)| Some((*start, *form, text.strip_prefix(start)?)));
        let Some((start, form, rest)) = found else { return Err(unknown(text)) };
        let wrong = |detail: &str| Malformed {
            summary: "malformed source of a secret",
            detail: detail.to_owned(),
            help: format!("write `\"{form}\"`"),
        };
        if rest.trim().is_empty() {
            return Err(Malformed {
                summary: "incomplete source of a secret",
                detail: format!("`{start}` alone does not say which one."),
                ..wrong("")
            });
        }
        match start {
            "env:" => of_env(rest).map_err(wrong).map(Source::Env),
            "file:" if rest.starts_with("//") => {
                Err(wrong("A file is named by its path, and not by a URL with `//`."))
            }
            "file:" => Ok(Source::File(rest.to_owned())),
            "exec:" => Ok(Source::Exec(rest.to_owned())),
            "op://" => of_one_password(rest).map_err(wrong).map(Source::OnePassword),
            "vault:" => of_vault(rest).map_err(wrong).map(Source::Vault),
            _ => of_cluster(rest).map_err(wrong).map(Source::Kubernetes),
        }
    }
}

/// As it is written.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Env(name) => write!(f, "env:{name}"),
            Source::File(path) => write!(f, "file:{path}"),
            Source::Exec(command) => write!(f, "exec:{command}"),
            Source::OnePassword(place) => write!(f, "{place}"),
            Source::Vault(InVault { path, version, key }) => {
                write!(f, "vault:{}", path.join("/"))?;
                version.map_or(Ok(()), |version| write!(f, "?version={version}"))?;
                write!(f, "#{key}")
            }
            Source::Kubernetes(InCluster { namespace, name, key }) => {
                write!(f, "k8s:{namespace}/{name}#{key}")
            }
        }
    }
}

/// As 1Password reads it.
impl fmt::Display for InItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InItem { vault, item, section, field, query } = self;
        write!(f, "op://{vault}/{item}/")?;
        section.as_ref().map_or(Ok(()), |section| write!(f, "{section}/"))?;
        f.write_str(field)?;
        query
            .iter()
            .zip(std::iter::once('?').chain(std::iter::repeat('&')))
            .try_for_each(|((name, value), mark)| write!(f, "{mark}{name}={value}"))
    }
}

fn unknown(text: &str) -> Malformed {
    let starts = SOURCES.map(|(start, _)| start).join("`, `");
    // `op:vault/item/field` is meant well.
    let meant = SOURCES.iter().find(|(start, _)| {
        let name = start.trim_end_matches(['/', ':']);
        text.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'))
    });
    Malformed {
        summary: "unknown source of a secret",
        detail: format!("A source starts with one of `{starts}`."),
        help: match meant {
            Some((_, form)) => format!("write `\"{form}\"`"),
            None => "for an environment variable write `\"env:NAME\"`, for a file `\"file:PATH\"`".into(),
        },
    }
}

fn of_env(name: &str) -> Result<String, &'static str> {
    if name.starts_with('$') {
        return Err("The name of the variable stands there as it is, without `$`.");
    }
    let is_name = !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '=');
    if is_name { Ok(name.to_owned()) } else { Err("This is no name of an environment variable.") }
}

fn of_one_password(rest: &str) -> Result<InItem, &'static str> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let incomplete = "A reference of 1Password names a vault, an item, perhaps a section, and a field.";
    let parts: Vec<&str> = path.split('/').collect();
    let (vault, item, section, field) = match *parts {
        [vault, item, field] => (vault, item, None, field),
        [vault, item, section, field] => (vault, item, Some(section.to_owned()), field),
        _ => return Err(incomplete),
    };
    if parts.iter().any(|part| part.trim().is_empty()) {
        return Err(incomplete);
    }
    let is_plain = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
    if !path.chars().all(|c| is_plain(c) || c == '/') {
        return Err(
            "Names in a reference have letters, digits, `-`, `_`, `.` and spaces; what is called otherwise \
                    is named by its id.",
        );
    }
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('='));
    let query = pairs
        .map(|pair| pair.map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect::<Option<_>>()
        .ok_or("What follows the `?` is written as `attribute=otp`.")?;
    Ok(InItem { vault: vault.into(), item: item.into(), section, field: field.into(), query })
}

/// `PATH#KEY`: what is before and behind the `#`.
fn keyed(rest: &str) -> Result<(&str, &str), &'static str> {
    match rest.rsplit_once('#') {
        Some((path, key)) if !path.is_empty() && !key.is_empty() => Ok((path, key)),
        _ => Err("Which of the values is meant stands behind a `#`."),
    }
}

fn of_vault(rest: &str) -> Result<InVault, &'static str> {
    let (path, key) = keyed(rest)?;
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let version = match query.split_once('=') {
        None if query.is_empty() => None,
        Some(("version", number)) => {
            let number = number.parse().ok().filter(|number| *number > 0);
            Some(number.ok_or("A version is a number above 0, such as `?version=3`.")?)
        }
        _ => return Err("What follows the `?` can only be a version, such as `?version=3`."),
    };
    let path: Vec<String> = path.split('/').map(str::to_owned).collect();
    if path.len() < 2 || path.iter().any(|part| part.is_empty() || part.chars().all(|c| c == '.')) {
        return Err(
            "A path has the mount of an engine and the path of a secret in it, as `vault kv get` takes it.",
        );
    }
    Ok(InVault { path, version, key: key.to_owned() })
}

fn of_cluster(rest: &str) -> Result<InCluster, &'static str> {
    let (path, key) = keyed(rest)?;
    let is_name = |name: &str| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        !name.is_empty() && name.chars().all(is_plain)
    };
    let is_key = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match path.split_once('/') {
        Some((namespace, name)) if is_name(namespace) && is_name(name) && is_key(key) => {
            Ok(InCluster { namespace: namespace.into(), name: name.into(), key: key.into() })
        }
        _ => Err("A Secret is named by its namespace and its name, in lower case, and one of its keys."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_understood() {
        let vault = |path: &[&str], version, key: &str| {
            let path = path.iter().map(|part| (*part).to_owned()).collect();
            Source::Vault(InVault { path, version, key: key.into() })
        };
        let item = |vault: &str, item: &str, section: Option<&str>, field: &str, query: &[(&str, &str)]| {
            let query = query.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            let section = section.map(str::to_owned);
            Source::OnePassword(InItem {
                vault: vault.into(),
                item: item.into(),
                section,
                field: field.into(),
                query,
            })
        };
        let cluster =
            InCluster { namespace: "ci".into(), name: "gh-app".into(), key: "private_key.pem".into() };
        let cases = [
            ("env:TOKEN_2", Source::Env("TOKEN_2".into())),
            ("file:~/.ssh/a b", Source::File("~/.ssh/a b".into())),
            ("exec:pass show 'ci/token' | head -1", Source::Exec("pass show 'ci/token' | head -1".into())),
            ("op://k8s-staging/TAILSCALE/auth-key", item("k8s-staging", "TAILSCALE", None, "auth-key", &[])),
            (
                "op://v/i/a section/f?attribute=otp&x=y",
                item("v", "i", Some("a section"), "f", &[("attribute", "otp"), ("x", "y")]),
            ),
            ("vault:secret/ci/github#token", vault(&["secret", "ci", "github"], None, "token")),
            ("vault:kv/a?version=3#c", vault(&["kv", "a"], Some(3), "c")),
            ("k8s:ci/gh-app#private_key.pem", Source::Kubernetes(cluster)),
        ];
        for (text, expected) in cases {
            assert_eq!(expected.to_string(), text);
            assert_eq!(Source::from_str(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_malformed_is_told_with_what_to_write() {
        let cases = [
            ("", "unknown", "env:NAME"),
            ("TOKEN", "unknown", "env:NAME"),
            ("nowhere:TOKEN", "unknown", "env:NAME"),
            ("op:vault/item/field", "unknown", "op://VAULT/ITEM/FIELD"),
            ("env:", "incomplete", "env:NAME"),
            ("file: ", "incomplete", "file:PATH"),
            ("op://", "incomplete", "op://VAULT/ITEM/FIELD"),
            ("env:$TOKEN", "malformed", "env:NAME"),
            ("env:MY TOKEN", "malformed", "env:NAME"),
            ("env:TOKEN=x", "malformed", "env:NAME"),
            ("file://~/key", "malformed", "file:PATH"),
            ("op://vault/item", "malformed", "op://"),
            ("op://vault//field", "malformed", "op://"),
            ("op://a/b/c/d/e", "malformed", "op://"),
            ("op://vault/item/f!", "malformed", "op://"),
            ("op://vault/item/f?otp", "malformed", "op://"),
            ("vault:secret/ci", "malformed", "vault:MOUNT/PATH#KEY"),
            ("vault:secret#token", "malformed", "vault:MOUNT/PATH#KEY"),
            ("vault:secret/../x#token", "malformed", "vault:MOUNT/PATH#KEY"),
            ("vault:secret//x#token", "malformed", "vault:MOUNT/PATH#KEY"),
            ("vault:secret/x?version=0#token", "malformed", "vault:MOUNT/PATH#KEY"),
            ("vault:secret/x?v=1#token", "malformed", "vault:MOUNT/PATH#KEY"),
            ("k8s:ci/gh-app", "malformed", "k8s:NAMESPACE/NAME#KEY"),
            ("k8s:gh-app#key", "malformed", "k8s:NAMESPACE/NAME#KEY"),
            ("k8s:CI/gh-app#key", "malformed", "k8s:NAMESPACE/NAME#KEY"),
            ("k8s:ci/gh-app#a key", "malformed", "k8s:NAMESPACE/NAME#KEY"),
        ];
        for (text, summary, help) in cases {
            let wrong = Source::from_str(text).unwrap_err();
            assert!(wrong.summary.starts_with(summary), "{text}: {wrong:?}");
            assert!(wrong.help.contains(help), "{text}: {wrong:?}");
        }
    }
}
