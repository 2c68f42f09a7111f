//! Where runners are registered: the address that people see, and the one of the API.

use fleet_engine::resource::Error;

use crate::registrar::address;

/// An organisation, a repository or an enterprise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Scope(Vec<String>);

impl Scope {
    /// Reads `https://github.com/ORG`, `…/OWNER/REPO` or `…/enterprises/NAME`.
    pub(super) fn of(url: &str) -> Result<Scope, Error> {
        let wrong = || {
            Error::permanent(format!("`{url}` is no place where runners are registered")).help(
                "write `https://github.com/ORG`, `https://github.com/OWNER/REPO` or `https://github.com/enterprises/NAME`",
            )
        };
        let (_, parts) = address(url).ok_or_else(wrong)?;
        let path = match parts[..] {
            ["enterprises", name] => vec!["enterprises", name],
            [org] => vec!["orgs", org],
            [owner, repository] => vec!["repos", owner, repository],
            _ => return Err(wrong()),
        };
        Ok(Scope(path.into_iter().map(str::to_owned).collect()))
    }

    /// The path of something that belongs to it.
    pub(super) fn path<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        self.0.iter().map(String::as_str).chain(rest.iter().copied()).collect()
    }

    /// Whether it has groups of runners.
    pub(super) fn has_groups(&self) -> bool {
        self.0.first().is_some_and(|kind| kind != "repos")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_a_path() {
        for (url, expected) in [
            ("https://github.com/example", "orgs/example/x"),
            ("https://github.com/example/app/", "repos/example/app/x"),
            ("https://git.example.com/enterprises/big", "enterprises/big/x"),
        ] {
            assert_eq!(Scope::of(url).unwrap().path(&["x"]).join("/"), expected);
        }
        for url in [
            "",
            "https://github.com",
            "http://github.com/a",
            "https://github.com/a/b/c",
            "https://github.com/a/..",
            "https://github.com/a?b",
        ] {
            assert!(Scope::of(url).unwrap_err().help.is_some(), "{url}");
        }
    }
}
