//! Where runners belong: the address that people see, and the one of the API.

use fleet_engine::resource::Error;

use crate::registrar::address;

/// A project, a group or a whole server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// By its path.
    Project(String),
    /// By its path.
    Group(String),
    /// Every project of it.
    Instance,
}

impl Scope {
    /// Reads `https://gitlab.com/GROUP/PROJECT`, `…/groups/GROUP` or the address of a server alone.
    pub(super) fn of(url: &str) -> Result<Scope, Error> {
        let wrong = || {
            Error::permanent(format!("`{url}` is no place where runners belong")).help(
                "write `https://gitlab.com/GROUP/PROJECT`, `https://gitlab.com/groups/GROUP`, or the address of a whole server",
            )
        };
        let (_, path) = address(url).ok_or_else(wrong)?;
        match &path[..] {
            [] => Ok(Scope::Instance),
            ["groups", group @ ..] if !group.is_empty() => Ok(Scope::Group(group.join("/"))),
            project @ [_, _, ..] if project[0] != "groups" => Ok(Scope::Project(project.join("/"))),
            _ => Err(wrong()),
        }
    }

    /// What GitLab calls runners of this kind.
    pub(super) fn runner_type(&self) -> &'static str {
        match self {
            Scope::Project(_) => "project_type",
            Scope::Group(_) => "group_type",
            Scope::Instance => "instance_type",
        }
    }

    /// The path of its runners.
    pub(super) fn runners(&self) -> Vec<&str> {
        match self {
            Scope::Project(path) => vec!["projects", path, "runners"],
            Scope::Group(path) => vec!["groups", path, "runners"],
            Scope::Instance => vec!["runners", "all"],
        }
    }

    /// The path of itself, and by which name its number is asked for; none of a whole server.
    pub(super) fn itself(&self) -> Option<([&str; 2], &'static str)> {
        match self {
            Scope::Project(path) => Some((["projects", path], "project_id")),
            Scope::Group(path) => Some((["groups", path], "group_id")),
            Scope::Instance => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_a_path() {
        for (url, expected) in [
            ("https://gitlab.com/example/app/", Scope::Project("example/app".into())),
            ("https://gitlab.com/example/deep/app", Scope::Project("example/deep/app".into())),
            ("https://gitlab.com/groups/example/deep", Scope::Group("example/deep".into())),
            ("https://git.example.com", Scope::Instance),
        ] {
            assert_eq!(Scope::of(url).unwrap(), expected, "{url}");
        }
        for url in [
            "",
            "gitlab.com/a/b",
            "https://gitlab.com/groups",
            "https://gitlab.com/a",
            "https://gitlab.com/a/..",
            "https://gitlab.com/a/b?c",
        ] {
            assert!(Scope::of(url).unwrap_err().help.is_some(), "{url}");
        }
    }
}
