//! Which servers of a pool may be claimed, and in which order they are tried.

use std::cmp::Ordering;

use super::{Server, Status};

/// What a server must be like to be claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What the name of a free server starts with.
    pub prefix: String,
    /// Where it must stand; none for anywhere.
    pub zone: Option<String>,
    /// What it must be, such as `M2-L`; none for anything.
    pub model: Option<String>,
    /// The family of its operating system, such as `Tahoe`; none for any.
    pub os_family: Option<String>,
    /// Which of those that will do are tried first.
    pub prefer: Prefer,
}

/// Which servers are tried first. Where it does not decide, names do, and then ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefer {
    /// By name.
    #[default]
    Name,
    /// Those that were ordered first.
    Oldest,
    /// Those that were ordered last.
    Newest,
}

impl Choice {
    /// What is wrong with it, and what to do, if anything is.
    pub fn check(&self) -> Result<(), (String, String)> {
        if self.prefix.is_empty() {
            return Err((
                "without a prefix every server of the project would be free".to_owned(),
                "say what the names of free servers start with, such as `pool-`".to_owned(),
            ));
        }
        match &self.os_family {
            Some(family) if family.chars().any(|c| c.is_ascii_digit()) => Err((
                format!(
                    "`{family}` names a version, and versions are withdrawn by the vendor without notice"
                ),
                "name a family, such as `Tahoe`: the newest version of it is installed".to_owned(),
            )),
            Some(family) if family_key(family).is_empty() => Err((
                format!("`{family}` names no family of systems"),
                "name a family, such as `Tahoe`, or leave it out".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Why a server cannot be claimed; none if it can.
    #[must_use]
    pub fn refuses(&self, server: &Server) -> Option<String> {
        let Server { name, zone, model, os_family, status, .. } = server;
        let other = |wanted: &Option<String>, found: &str, what: &str| {
            let wanted = wanted.as_ref().filter(|wanted| *wanted != found)?;
            Some(format!("its {what} is `{found}`, not `{wanted}`"))
        };
        if self.prefix.is_empty() || !name.starts_with(&self.prefix) {
            return Some(format!("it is called `{name}`, which is no free name"));
        }
        if *status != Status::Ready {
            return Some(format!("it is {status}"));
        }
        other(&self.zone, zone, "zone").or_else(|| other(&self.model, model, "type")).or_else(|| {
            let wanted = self.os_family.as_ref()?;
            (family_key(wanted) != family_key(os_family))
                .then(|| format!("its system is `{os_family}`, not of the family `{wanted}`"))
        })
    }

    /// The servers that may be claimed, in the order in which they are tried: the same for the same servers.
    #[must_use]
    pub fn among<'s>(&self, servers: &'s [Server]) -> Vec<&'s Server> {
        let mut chosen: Vec<&Server> =
            servers.iter().filter(|server| self.refuses(server).is_none()).collect();
        chosen.sort_by(|a, b| self.order(a, b));
        chosen
    }

    fn order(&self, a: &Server, b: &Server) -> Ordering {
        // The vendor writes dates so that they sort as text.
        let by_date = a.created_at.cmp(&b.created_at);
        let preferred = match self.prefer {
            Prefer::Name => Ordering::Equal,
            Prefer::Oldest => by_date,
            Prefer::Newest => by_date.reverse(),
        };
        preferred.then_with(|| a.name.cmp(&b.name)).then_with(|| a.id.cmp(&b.id))
    }
}

/// What two names of the same family have in common: `macos-tahoe-26.3`, `Tahoe` and `tahoe` are one, `devos-tahoe` is
/// another.
#[must_use]
pub fn family_key(name: &str) -> String {
    let name = name.trim().to_lowercase();
    let name = name.strip_prefix("macos-").unwrap_or(&name);
    let is_version = |(at, _): &(usize, &str)| name[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let end = name.match_indices('-').find(is_version).map_or(name.len(), |(at, _)| at);
    name[..end].chars().filter(|c| !matches!(c, ' ' | '-' | '_')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::sample::server;

    fn choice() -> Choice {
        Choice {
            prefix: "pool-".into(),
            zone: Some("z".into()),
            model: Some("M2-L".into()),
            os_family: Some("Tahoe".into()),
            prefer: Prefer::Name,
        }
    }

    #[test]
    fn families() {
        for (name, key) in [
            ("Tahoe", "tahoe"),
            ("macos-tahoe-26.3", "tahoe"),
            ("macOS-Golden Gate-1", "goldengate"),
            ("golden_gate", "goldengate"),
            ("devos-tahoe-26", "devostahoe"),
            ("macos-", ""),
            ("é-1", "é"),
            (" Sequoia ", "sequoia"),
            ("macos-golden-gate-27.0", "goldengate"),
            ("DevOS", "devos"),
            ("26", "26"),
            ("", ""),
        ] {
            assert_eq!(family_key(name), key, "{name}");
        }
    }

    #[test]
    fn a_version_or_no_prefix_is_refused() {
        assert_eq!(choice().check(), Ok(()));
        let version = Choice { os_family: Some("macos-tahoe-26.3".into()), ..choice() };
        assert!(version.check().unwrap_err().1.contains("`Tahoe`"));
        assert!(Choice { os_family: Some("macos-".into()), ..choice() }.check().is_err());
        let all = Choice { prefix: String::new(), ..choice() };
        assert!(all.check().is_err());
        assert_eq!(all.among(&[server("a", "pool-1")]), Vec::<&Server>::new());
    }

    #[test]
    fn what_is_claimed() {
        let good = || server("a", "pool-1");
        for (refused, why) in [
            (Server { name: "runner-0".into(), ..good() }, "no free name"),
            (Server { status: Status::Reinstalling, ..good() }, "it is reinstalling"),
            (Server { status: Status::Undelivered, ..good() }, "not delivered"),
            (Server { zone: "y".into(), ..good() }, "its zone is `y`, not `z`"),
            (Server { model: "M1-M".into(), ..good() }, "its type is `M1-M`"),
            (Server { os_family: "devos-tahoe-26".into(), ..good() }, "not of the family `Tahoe`"),
        ] {
            assert!(choice().refuses(&refused).unwrap().contains(why), "{refused:?}");
        }
        assert_eq!(choice().refuses(&good()), None);
        assert_eq!(choice().refuses(&Server { os_family: "macos-tahoe-26.3".into(), ..good() }), None);
    }

    #[test]
    fn the_order_does_not_depend_on_the_list() {
        let dated =
            |id: &str, name: &str, date: &str| Server { created_at: Some(date.into()), ..server(id, name) };
        let mut servers = vec![
            dated("c", "pool-1", "2026-02"),
            dated("a", "pool-2", "2026-01"),
            dated("b", "pool-1", "2026-02"),
        ];
        for (prefer, ids) in [(Prefer::Name, "bca"), (Prefer::Oldest, "abc"), (Prefer::Newest, "bca")] {
            let choice = Choice { prefer, ..choice() };
            for _ in 0..3 {
                servers.rotate_left(1);
                let found: String = choice.among(&servers).iter().map(|server| &*server.id).collect();
                assert_eq!(found, ids, "{prefer:?}");
            }
        }
    }
}
