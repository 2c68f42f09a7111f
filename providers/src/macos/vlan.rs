//! `macos_vlan`: a VLAN on a Mac, such as that of a private network of the vendor.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::host::{Act, Bytes, HostKind, Operand, Output, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Disruption, Edge, Error, Resource, Touch};

use super::{no_wish_for_trouble, succeeded};
use crate::cure;
use crate::host::common::{is_another, named};

/// A VLAN on a Mac, with an address from the network. One that got lost is made again, and one that lost its address asks
/// for one again.
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
///   resource "macos_vlan" "private" {
///     name = "pn"
///     tag  = 1234
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Vlan {
    /// What it is called.
    #[fleet(replace)]
    name: String,
    /// The tag, from 1 to 4094.
    tag: i64,
    /// The device it is on.
    #[fleet(default = "en0")]
    parent: String,
    /// Whether it asks the network for an address.
    #[fleet(default = true)]
    dhcp: bool,
    /// What is wrong with it: that it asks for an address and has none. It is found out and mended, and cannot be wished for.
    trouble: Option<String>,
    /// The device that it is.
    #[fleet(computed, follows = "tag", follows = "parent")]
    device: Option<String>,
    /// The address that the network gave it; null while it has none.
    #[fleet(computed, follows = "tag", follows = "parent", follows = "dhcp", follows = "trouble")]
    address: Option<String>,
}

const APPLY: &str = include_str!("vlan.sh");
/// So many seconds macOS takes to notice.
const SETTLES: &str = "3";

impl Resource for Vlan {
    const NAME: &'static str = "macos_vlan";
    const DETECTS: &'static [&'static Known] = &[&table::VLAN_WITHOUT_ADDRESS];

    fn normalize(&mut self) -> Result<(), Misfit> {
        for (name, text) in [("name", &self.name), ("parent", &self.parent)] {
            Operand::new(text.as_str()).map_err(|misfit| Misfit { attribute: name.into(), ..misfit })?;
        }
        if !(1..=4094).contains(&self.tag) {
            return Err(Misfit::new("tag", "1 to 4094 are possible"));
        }
        no_wish_for_trouble(self.trouble.as_ref())
    }

    fn findings(&self) -> Vec<Finding> {
        self.trouble.iter().map(|trouble| table::VLAN_WITHOUT_ADDRESS.seen_by(trouble)).collect()
    }

    fn disrupts(touch: Touch<'_>) -> Disruption {
        match touch {
            Touch::Create => Disruption::Nothing,
            Touch::Update(_) | Touch::Destroy => Disruption::Thing,
        }
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers"), Edge::Before("macos_pf_anchor"), Edge::Before("macos_vm_nat")]
    }
}

impl HostKind for Vlan {
    fn probe(at: &At<Vlan>) -> Result<Probe, Error> {
        let name = &named(at)?.name;
        let operand = |text: String| Ok::<_, Misfit>([Operand::new(text)?]);
        let probe = Probe::new().tool(Tool::Vlans, []);
        let probe = probe.tool(Tool::NetworkService, operand(format!("{name} Configuration"))?);
        Ok(probe.tool(Tool::NetworkService, operand(name.clone())?))
    }

    fn parse(at: &At<Vlan>, reply: &Reply) -> Result<Option<Vlan>, Error> {
        let asked = named(at)?;
        let listed = succeeded("networksetup", reply.output(0)?)?;
        if !cure::is_there("see-vlans") {
            return Ok(Some(asked.clone()));
        }
        let found = listed_vlans(&listed).into_iter().find(|found| found.name == asked.name);
        let Some(found) = found.filter(|_| !is_another(at, |a, b| a.name == b.name)) else { return Ok(None) };
        let service = [reply.output(1)?, reply.output(2)?].into_iter().find(|output| output.status == 0);
        let (dhcp, address) = service.map(service_of).unwrap_or_default();
        let lacks_one = dhcp && asked.dhcp && address.is_none() && cure::is_there("see-address");
        let trouble = lacks_one.then(|| "it asks the network for an address, and has no address".to_owned());
        Ok(Some(Vlan { dhcp, trouble, address, ..found }))
    }

    fn steps(self, change: Change<Vlan>) -> Result<Vec<Step>, Error> {
        let (parent, tag) = match change {
            Change::Update { from } => (from.parent, from.tag.to_string()),
            Change::Create => (String::new(), String::new()),
        };
        let wish = [self.name, self.parent, self.tag.to_string(), self.dhcp.to_string()];
        let arguments = wish.into_iter().chain([parent, tag, SETTLES.to_owned()]).collect();
        let script = cure::procedure(APPLY);
        Ok(vec![Step::new(Act::Procedure { script, arguments, input: Bytes::default() }).as_root()])
    }

    fn remove(observed: Vlan) -> Result<Vec<Step>, Error> {
        let Vlan { name, parent, tag, .. } = observed;
        let arguments = vec!["-deleteVLAN".to_owned(), name, parent, tag.to_string()];
        let run = Act::Run { program: "networksetup".into(), arguments, input: Bytes::default() };
        Ok(vec![Step::new(run).as_root()])
    }

    /// It is there, or it is not.
    fn clear(_: Vlan) -> Result<Vec<Step>, Error> {
        Ok(Vec::new())
    }
}

/// The VLANs that `networksetup` lists.
fn listed_vlans(listed: &str) -> Vec<Vlan> {
    let mut all: Vec<Vlan> = Vec::new();
    for line in listed.lines() {
        let Some((key, value)) = line.split_once(": ") else { continue };
        let value = value.trim().to_owned();
        match (key.trim(), all.last_mut()) {
            ("VLAN User Defined Name", _) => {
                let (parent, dhcp) = (String::new(), false);
                let (trouble, device, address) = (None, None, None);
                all.push(Vlan { name: value, tag: 0, parent, dhcp, trouble, device, address });
            }
            ("Parent Device", Some(vlan)) => vlan.parent = value,
            ("Device (\"Hardware\" Port)", Some(vlan)) => vlan.device = Some(value),
            ("Tag", Some(vlan)) => vlan.tag = value.parse().unwrap_or_default(),
            _ => {}
        }
    }
    all
}

/// Whether a service asks the network for an address, and which it has.
fn service_of(output: &Output) -> (bool, Option<String>) {
    let text = String::from_utf8_lossy(&output.stdout);
    let address = text.lines().find_map(|line| line.strip_prefix("IP address: "));
    let address = address.map(|address| address.trim().to_owned()).filter(|address| address != "none");
    (text.contains("DHCP Configuration"), address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vlans_are_listed() {
        let said = "VLAN User Defined Name: pn\nParent Device: en0\nDevice (\"Hardware\" Port): vlan0\nTag: 1234\n\n\
                    VLAN User Defined Name: other one\nParent Device: en1\nDevice (\"Hardware\" Port): vlan1\nTag: 7\n";
        let found = listed_vlans(said);
        assert_eq!((found.len(), &*found[0].name, &*found[0].parent, found[0].tag), (2, "pn", "en0", 1234));
        assert_eq!(
            (&*found[1].name, found[1].device.as_deref(), found[1].tag),
            ("other one", Some("vlan1"), 7)
        );
        assert!(listed_vlans("There are no VLANs currently configured on this system.\n").is_empty());
    }
}
