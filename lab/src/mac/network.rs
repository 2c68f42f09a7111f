//! The interfaces and routes of a Mac that is on.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use serde::Serialize;

use super::pf::Net;

/// The network as the kernel has it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Network {
    /// The address of each interface with its network; none for one that has no address yet.
    pub(super) interfaces: BTreeMap<String, Option<(IpAddr, Net)>>,
    /// Where networks are reached, besides those of the interfaces themselves.
    pub(super) routes: Vec<(Net, String)>,
    /// Where whoever connects pretends to come from: really all come from this machine.
    pub(super) ssh_peer: IpAddr,
}

/// Addresses that a tailnet gives.
const TAILNET: &str = "100.64.0.0/10";

impl Network {
    /// That of a Mac with one cable, at its public address.
    pub(super) fn at_boot(ip: Ipv4Addr, ssh_peer: IpAddr) -> Network {
        let mut network =
            Network { interfaces: BTreeMap::new(), routes: vec![(net("0.0.0.0/0"), "en0".into())], ssh_peer };
        network.set("lo0", Some(("127.0.0.1".parse().expect("it is an address"), 8)));
        network.set("en0", Some((ip.into(), 24)));
        network
    }

    /// Gives an interface an address and the bits of its network, or makes one without.
    pub(super) fn set(&mut self, interface: &str, address: Option<(IpAddr, u8)>) {
        let address = address.map(|(address, bits)| (address, net(&format!("{address}/{bits}"))));
        self.interfaces.insert(interface.to_owned(), address);
    }

    /// The addresses of an interface.
    pub(super) fn addresses(&self, interface: &str) -> Vec<IpAddr> {
        self.interfaces.get(interface).into_iter().flatten().map(|(address, _)| *address).collect()
    }

    /// The interface by which an address is reached: the nearest network counts.
    pub(super) fn way(&self, to: IpAddr) -> Option<&str> {
        let own = self.interfaces.iter().filter_map(|(name, address)| Some((address.as_ref()?.1, name)));
        let all = own.chain(self.routes.iter().map(|(net, name)| (*net, name)));
        let nearest = all.filter(|(net, _)| net.contains(to)).max_by_key(|(net, _)| net.bits());
        nearest.map(|(_, name)| name.as_str())
    }

    /// Where somebody who connects arrives: the interface and the address.
    pub(super) fn arrival(&self) -> (&str, IpAddr) {
        let tailnet = self
            .interfaces
            .iter()
            .filter_map(|(name, address)| Some((name.as_str(), address.as_ref()?.0)))
            .find(|(_, address)| is_of_tailnet(*address) && is_of_tailnet(self.ssh_peer));
        let cable =
            || ("en0", self.addresses("en0").first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED.into()));
        tailnet.unwrap_or_else(cable)
    }
}

/// Whether a tailnet gave an address.
pub(super) fn is_of_tailnet(address: IpAddr) -> bool {
    net(TAILNET).contains(address)
}

fn net(text: &str) -> Net {
    text.parse().expect("it is a network")
}
