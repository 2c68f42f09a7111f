//! `macos_resolver`: which servers are asked for the names of a domain.

use std::net::IpAddr;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::step::{self, Keep};
use fleet_engine::host::{Act, Bytes, Content, HostKind, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::succeeded;
use crate::cure;
use crate::host::common::{is_another, named, regular};

/// Which servers a Mac asks for the names of a domain, and of all below it.
///
/// It is a file in `/etc/resolver`; whether macOS goes by it is looked at, too. A change forgets what was looked up before, so that a
/// name that was not there a moment ago is found.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "macos_resolver" "tailnet" {
///     domain      = "ts.net"
///     nameservers = ["100.100.100.100"]
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Resolver {
    /// The domain.
    #[fleet(replace)]
    domain: String,
    /// The addresses of the servers. Observed is what the file says, or what macOS goes by if that is something else.
    nameservers: Vec<String>,
}

const FLUSH: &str = include_str!("resolver.sh");
const DIRECTORY: &str = "/private/etc/resolver";

impl Resource for Resolver {
    const NAME: &'static str = "macos_resolver";

    fn normalize(&mut self) -> Result<(), Misfit> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_sound = !self.domain.is_empty() && self.domain.bytes().all(is_name);
        if !is_sound || self.domain.starts_with('.') || self.domain.ends_with('.') {
            return Err(Misfit::new("domain", "the name of a domain is needed, without a dot at its ends"));
        }
        let wrong = self.nameservers.iter().find(|server| server.parse::<IpAddr>().is_err());
        match wrong {
            Some(wrong) => Err(Misfit::new("nameservers", format!("`{wrong}` is no address"))),
            None if self.nameservers.is_empty() => Err(Misfit::new("nameservers", "at least one is needed")),
            None => Ok(()),
        }
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers"), Edge::After("tailscale_device")]
    }
}

impl HostKind for Resolver {
    fn probe(at: &At<Resolver>) -> Result<Probe, Error> {
        Ok(Probe::new().content(named(at)?.file(), Content::Whole).tool(Tool::Dns, []))
    }

    fn parse(at: &At<Resolver>, reply: &Reply) -> Result<Option<Resolver>, Error> {
        let asked = named(at)?;
        let path = asked.file();
        let Some(found) = reply.path(0)?.filter(|_| !is_another(at, |a, b| a.domain == b.domain)) else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(regular(&path, found)?.content.as_deref().unwrap_or_default())
            .into_owned();
        let written: Vec<String> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| line.strip_prefix("nameserver ").unwrap_or(line).trim().to_owned())
            .collect();
        let effective = effective(&succeeded("scutil", reply.output(1)?)?, &asked.domain);
        let nameservers = if written == asked.nameservers { effective } else { written };
        Ok(Some(Resolver { domain: asked.domain.clone(), nameservers }))
    }

    fn steps(self, _: Change<Resolver>) -> Result<Vec<Step>, Error> {
        let lines: String = self.nameservers.iter().map(|server| format!("nameserver {server}\n")).collect();
        let keep =
            |mode: u32| Keep { mode: Some(mode), owner: Some("root".into()), group: Some("wheel".into()) };
        let content = step::Content::Bytes(Bytes(lines.into_bytes()));
        let steps = [
            Step::new(Act::Directory { path: DIRECTORY.into(), keep: keep(0o755) }),
            Step::new(Act::Write { path: self.file(), content, keep: keep(0o644), validate: None }),
            flush(),
        ];
        Ok(steps.map(Step::as_root).into())
    }

    fn remove(observed: Resolver) -> Result<Vec<Step>, Error> {
        let steps = [Step::new(Act::Remove { path: observed.file() }), flush()];
        Ok(steps.map(Step::as_root).into())
    }
}

impl Resolver {
    fn file(&self) -> String {
        format!("{DIRECTORY}/{}", self.domain)
    }
}

fn flush() -> Step {
    Step::new(Act::Procedure {
        script: cure::procedure(FLUSH),
        arguments: Vec::new(),
        input: Bytes::default(),
    })
}

/// The servers that macOS asks for a domain.
fn effective(dns: &str, domain: &str) -> Vec<String> {
    let of_domain = |block: &&str| {
        let mut lines = block.lines().map(str::trim);
        lines.any(|line| {
            line.split_once(':').is_some_and(|(key, value)| key.trim() == "domain" && value.trim() == domain)
        })
    };
    let block = dns.split("resolver #").find(of_domain).unwrap_or_default();
    let servers = block.lines().filter_map(|line| line.trim().strip_prefix("nameserver[")?.split_once(" : "));
    servers.map(|(_, server)| server.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_of_a_domain_are_found() {
        let said = "DNS configuration\n\nresolver #1\n  nameserver[0] : 1.1.1.1\n  if_index : 4 (en0)\n\nresolver #2\n  domain   : \
                    local\n  options  : mdns\n\nresolver #8\n  domain   : ts.net\n  nameserver[0] : 100.100.100.100\n  \
                    nameserver[1] : fd7a:115c:a1e0::53\n";
        assert_eq!(effective(said, "ts.net"), ["100.100.100.100", "fd7a:115c:a1e0::53"]);
        assert_eq!(effective(said, "local"), [""; 0]);
        assert_eq!(effective(said, "net"), [""; 0]);
    }
}
