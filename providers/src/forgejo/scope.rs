//! Where runners belong: the address that people see, and the one of the API.

use fleet_engine::resource::Error;

use crate::registrar::address;

/// An organisation, a repository, whose the token is, or a whole server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    /// The address of the server.
    pub(super) server: String,
    /// The path of the place in the API.
    path: Vec<String>,
}

impl Scope {
    /// Reads `https://HOST/ORG`, `…/OWNER/REPO`, `…/user` (nobody at Forgejo can have this name) or the address of a server alone.
    pub(super) fn of(url: &str) -> Result<Scope, Error> {
        let wrong = || {
            Error::permanent(format!("`{url}` is no place where runners belong")).help(
                "write `https://HOST/ORG`, `https://HOST/OWNER/REPO`, `https://HOST/user`, or the address of a whole server",
            )
        };
        let (server, place) = address(url).ok_or_else(wrong)?;
        let path = match place[..] {
            [] => vec!["admin"],
            ["user"] => vec!["user"],
            [org] => vec!["orgs", org],
            [owner, repository] => vec!["repos", owner, repository],
            _ => return Err(wrong()),
        };
        let path = path.into_iter().map(str::to_owned).collect();
        Ok(Scope { server: format!("https://{server}/"), path })
    }

    /// The path of its runners, or of one of them.
    pub(super) fn runners<'a>(&'a self, number: Option<&'a str>) -> Vec<&'a str> {
        let place = self.path.iter().map(String::as_str);
        place.chain(["actions", "runners"]).chain(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_a_path() {
        for (url, expected) in [
            ("https://git.example.com", "admin/actions/runners"),
            ("https://git.example.com/user", "user/actions/runners"),
            ("https://git.example.com/example/", "orgs/example/actions/runners"),
            ("https://git.example.com/example/app", "repos/example/app/actions/runners"),
        ] {
            let scope = Scope::of(url).unwrap();
            assert_eq!(scope.runners(None).join("/"), expected);
            assert_eq!(scope.runners(Some("7")).join("/"), format!("{expected}/7"));
            assert_eq!(scope.server, "https://git.example.com/");
        }
        for url in ["", "git.example.com/a", "https://a/b/c/d", "https://a/..", "https://a/b?c"] {
            assert!(Scope::of(url).unwrap_err().help.is_some(), "{url}");
        }
    }
}
