//! `macos_vm_nat`: the way of VMs to other networks.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known};
use fleet_engine::host::{HostKind, Probe, Reply, Step};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::pf_parts::{APPLES, Anchor, DETECTS, arm, check_name, findings, normal_net, only_wish};
use crate::host::common::{is_another, named};

/// The way of VMs to other networks: translation of their addresses, by the interfaces that a Mac has at the moment.
///
/// The translation of macOS itself is lost without a word after many VMs have come and gone, and knows nothing of tunnels and
/// VLANs. This one is in an anchor below `com.apple/`, which Apple's own ruleset calls. A daemon of launchd,
/// `dev.fleet.pf.NAME`, writes its rules at every start and every minute, because interfaces come and go:
///
/// - to `service_network` through the tunnel that leads there, if one does, with small segments;
/// - to `private_network` over every VLAN, also over one that has no address yet;
/// - to everywhere else over the interface of the default route.
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
///   resource "macos_vm_nat" "this" {
///     service_network = "10.128.0.0/16"
///     private_network = "172.16.0.0/22"
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct VmNat {
    /// The name of the anchor below `com.apple/`.
    #[fleet(replace, default = "fleet.vmnat")]
    name: String,
    /// The network of the VMs.
    #[fleet(default = "192.168.64.0/22")]
    vms: String,
    /// A network of services behind a tunnel.
    service_network: Option<String>,
    /// A network behind a VLAN.
    private_network: Option<String>,
    /// Whether exactly what the daemon wrote is in force, and something is. It is there to be observed.
    #[fleet(default = true)]
    intact: bool,
    /// Whether the filter is on by a token of ours. It is there to be observed.
    #[fleet(default = true)]
    enabled: bool,
    /// Whether the main ruleset in force calls it, so that it counts. It is there to be observed.
    #[fleet(default = true)]
    evaluated: bool,
    /// Whether a daemon is there that keeps it so, also after the next start. It is there to be observed.
    #[fleet(default = true)]
    at_boot: bool,
}

const WRITE: &str = include_str!("vm_nat.sh");

impl Resource for VmNat {
    const NAME: &'static str = "macos_vm_nat";
    const DETECTS: &'static [&'static Known] = &DETECTS;

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_name("name", &self.name, 60)?;
        let normal = |attribute: &str, net: &str| {
            let net = normal_net(net).map_err(|message| Misfit::new(attribute, message))?;
            let message = "a network of IPv4 is needed, as VMs have";
            if net.contains(':') { Err(Misfit::new(attribute, message)) } else { Ok(net) }
        };
        self.vms = normal("vms", &self.vms)?;
        for (attribute, net) in
            [("service_network", &mut self.service_network), ("private_network", &mut self.private_network)]
        {
            *net = net.as_deref().map(|net| normal(attribute, net)).transpose()?;
        }
        only_wish(&[
            ("intact", self.intact),
            ("enabled", self.enabled),
            ("evaluated", self.evaluated),
            ("at_boot", self.at_boot),
        ])
    }

    fn findings(&self) -> Vec<Finding> {
        findings(&self.path(), self.intact, self.evaluated, self.enabled)
    }

    fn edges() -> &'static [Edge] {
        &[
            Edge::After("macos_sudoers"),
            Edge::After("macos_pf_anchor"),
            Edge::After("macos_vlan"),
            Edge::After("tailscale_device"),
            Edge::Before("macos_launchd_service"),
        ]
    }
}

impl HostKind for VmNat {
    fn probe(at: &At<VmNat>) -> Result<Probe, Error> {
        Anchor(&named(at)?.path()).ask([].iter())
    }

    fn parse(at: &At<VmNat>, reply: &Reply) -> Result<Option<VmNat>, Error> {
        let asked = named(at)?;
        if is_another(at, |a, b| a.name == b.name) {
            return Ok(None);
        }
        let path = asked.path();
        let seen = Anchor(&path).see(reply, [].iter())?;
        if seen.is_nothing() {
            return Ok(None);
        }
        let script = seen.script.as_deref().unwrap_or_default();
        let value = |name: &str| {
            let line = script.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("='"));
            line.and_then(|rest| rest.strip_suffix('\'')).filter(|net| !net.is_empty()).map(str::to_owned)
        };
        let translates = seen.rules.iter().any(|rule| rule.starts_with("nat on "));
        let mut found = VmNat {
            vms: value("vms").unwrap_or_default(),
            service_network: value("service"),
            private_network: value("private"),
            intact: seen.loaded.is_some() && translates,
            enabled: seen.enabled,
            evaluated: seen.called.1,
            ..asked.clone()
        };
        found.at_boot = seen.comes_back(&found.script());
        Ok(Some(found))
    }

    fn steps(self, change: Change<VmNat>) -> Result<Vec<Step>, Error> {
        let is_same = |from: &VmNat| from.at_boot && from.script() == self.script();
        let is_kept = matches!(&change, Change::Update { from } if is_same(from));
        Ok(Anchor(&self.path()).arm(&self.script(), is_kept, [].iter()))
    }

    fn remove(observed: VmNat) -> Result<Vec<Step>, Error> {
        Ok(Anchor(&observed.path()).disarm([].iter()))
    }
}

impl VmNat {
    fn path(&self) -> String {
        format!("{APPLES}{}", self.name)
    }

    /// What the daemon runs: it writes the rules, then brings them into force.
    fn script(&self) -> String {
        let net = |net: &Option<String>| net.clone().unwrap_or_default();
        format!(
            "#!/bin/sh\nvms='{}'\nservice='{}'\nprivate='{}'\n{WRITE}\n{}",
            self.vms,
            net(&self.service_network),
            net(&self.private_network),
            arm()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> VmNat {
        VmNat {
            name: "fleet.vmnat".into(),
            vms: "192.168.64.0/22".into(),
            service_network: Some("10.128.0.0/16".into()),
            private_network: None,
            intact: true,
            enabled: true,
            evaluated: true,
            at_boot: true,
        }
    }

    #[test]
    fn networks_are_those_of_vms() {
        let check = |change: fn(&mut VmNat), attribute: Option<&str>| {
            let mut nat = sample();
            change(&mut nat);
            assert_eq!(nat.normalize().err().map(|misfit| misfit.attribute).as_deref(), attribute);
        };
        check(|_| {}, None);
        check(|nat| nat.vms = "fd00::/64".into(), Some("vms"));
        check(|nat| nat.service_network = Some("10.128.0.1/16".into()), Some("service_network"));
        check(|nat| nat.private_network = Some("'; reboot; '".into()), Some("private_network"));
        check(|nat| nat.name = "a/b".into(), Some("name"));
        check(|nat| nat.evaluated = false, Some("evaluated"));
    }
}
