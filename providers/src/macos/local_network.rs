//! `macos_local_network`: local networks that programs may reach without anybody clicking.

use std::net::Ipv4Addr;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::host::{Act, Bytes, HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::preferences::{Domain, changed_since_boot};
use crate::cure;
use crate::host::common::named;

/// Local networks that programs may reach without somebody at the screen who clicks on Allow.
///
/// macOS reads the list when it starts and never again, so that a new list is written but not yet in effect: `reboot_required` says so,
/// for as long as it is true. A `host_reboot` that follows it puts the list into effect.
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
///   resource "macos_local_network" "vms" {}
///
///   resource "host_reboot" "vms" {
///     when = macos_local_network.vms.reboot_required
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct LocalNetwork {
    /// Networks such as `192.168.64.0/22`, for interfaces with and without a cable. Without it, all that are private.
    #[fleet(default = PRIVATE.map(str::to_owned).to_vec())]
    addresses: Vec<String>,
    /// Whether the list was changed in this boot, and is not in effect before the next.
    #[fleet(computed, follows = "addresses")]
    reboot_required: Option<bool>,
}

const APPLY: &str = include_str!("local_network.sh");
const REMOVE: &str = concat!(include_str!("before.sh"), include_str!("local_network_before.sh"));

const PRIVATE: [&str; 3] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];
const DOMAIN: &str = "com.apple.network.local-network";
/// Where the domain is kept: it is root's.
const FILE: &str = "/private/var/root/Library/Preferences/com.apple.network.local-network.plist";
const KEYS: [&str; 2] = ["AllowedEthernetLocalNetworkAddresses", "AllowedWiFiLocalNetworkAddresses"];

impl Resource for LocalNetwork {
    const NAME: &'static str = "macos_local_network";
    const DETECTS: &'static [&'static Known] = &[&table::REBOOT_PENDING];

    fn normalize(&mut self) -> Result<(), Misfit> {
        let is_network = |text: &String| {
            let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
            address.parse::<Ipv4Addr>().is_ok() && bits.parse::<u8>().is_ok_and(|bits| bits <= 32)
        };
        match self.addresses.iter().find(|text| !is_network(text)) {
            Some(wrong) => {
                Err(Misfit::new("addresses", format!("`{wrong}` is no network such as `192.168.64.0/22`")))
            }
            None if self.addresses.is_empty() => Err(Misfit::new(
                "addresses",
                "at least one network is needed; leave the resource out for none",
            )),
            None => Ok(()),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let is_pending = self.reboot_required == Some(true);
        let evidence = || format!("{FILE} was changed in this boot, and macOS reads it when it starts");
        is_pending.then(|| table::REBOOT_PENDING.seen_by(evidence())).into_iter().collect()
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers"), Edge::Before("host_reboot")]
    }
}

impl HostKind for LocalNetwork {
    fn probe(_: &At<LocalNetwork>) -> Result<Probe, Error> {
        let operand = |text: &str| Ok::<_, Misfit>([Operand::new(text)?]);
        let probe = Probe::new().tool(Tool::Defaults, operand(DOMAIN)?);
        let probe = probe.tool(Tool::Modified, operand(FILE)?);
        Ok(probe.tool(Tool::Sysctl, operand("kern.boottime")?).as_root())
    }

    fn parse(at: &At<LocalNetwork>, reply: &Reply) -> Result<Option<LocalNetwork>, Error> {
        let asked = named(at)?;
        let domain = Domain::read(reply.output(0)?)?;
        let lists = KEYS.map(|key| domain.texts(key));
        if lists.iter().all(Option::is_none) {
            return Ok(None);
        }
        let lists = lists.map(Option::unwrap_or_default);
        // Of two lists, the one that differs.
        let other = lists.iter().find(|list| **list != asked.addresses);
        let addresses = other.unwrap_or(&asked.addresses).clone();
        let is_pending = changed_since_boot(reply.output(1)?, reply.output(2)?)?;
        let reboot_required = Some(is_pending && cure::is_there("see-pending-reboot"));
        Ok(Some(LocalNetwork { addresses, reboot_required }))
    }

    fn steps(self, _: Change<LocalNetwork>) -> Result<Vec<Step>, Error> {
        let procedure = Act::Procedure { script: APPLY, arguments: self.addresses, input: Bytes::default() };
        Ok(vec![Step::new(procedure).as_root()])
    }

    fn remove(_: LocalNetwork) -> Result<Vec<Step>, Error> {
        let (arguments, input) = (Vec::new(), Bytes::default());
        Ok(vec![Step::new(Act::Procedure { script: REMOVE, arguments, input }).as_root()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_networks() {
        let normal = |addresses: &[&str]| {
            let addresses = addresses.iter().map(|text| (*text).to_owned()).collect();
            LocalNetwork { addresses, reboot_required: None }.normalize().is_ok()
        };
        assert!(normal(&PRIVATE) && normal(&["10.0.0.1"]));
        assert!(!normal(&[]) && !normal(&["10.0.0.0/33"]) && !normal(&["-x"]) && !normal(&["localhost"]));
    }
}
