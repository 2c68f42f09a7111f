//! `macos_pf_ssh_guard`: who may log in to a Mac by SSH.

use std::net::Ipv4Addr;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known};
use fleet_engine::host::{Act, Bytes, HostKind, Probe, Reply, Revert, Step};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::pf_parts::{
    APPLES, Anchor, DETECTS, arm, check_name, findings, normal_net, normal_nets, only_wish,
};
use crate::cure;
use crate::host::common::{is_another, named};

/// Who may log in to a Mac by SSH: those of the tailnet, of some networks, and whoever was logged in when it was made.
///
/// It is refused, before anything is changed, if nobody could log in once the sessions of this moment are gone: if the Mac
/// has no address in the tailnet and no other network is allowed. All who are logged in at that moment are let in by
/// their addresses from then on.
///
/// VMs may use SSH to other machines, whose packets arrive on this one, but not to each other.
///
/// Its rules are in an anchor below `com.apple/`, which Apple's own ruleset calls, so that `/etc/pf.conf` is not touched. A
/// daemon of launchd, `dev.fleet.pf.NAME`, brings them into force at every start, and every minute if something took them
/// away.
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
///   resource "macos_pf_ssh_guard" "this" {
///     allowed = ["198.51.100.0/24"]
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct PfSshGuard {
    /// The name of the anchor below `com.apple/`.
    #[fleet(replace, default = "fleet.sshguard")]
    name: String,
    /// The network of the tailnet. It is observed as empty if it may not log in.
    #[fleet(default = "100.64.0.0/10")]
    tailnet: String,
    /// Other networks and addresses that may log in.
    #[fleet(default = Vec::new())]
    allowed: Vec<String>,
    /// The networks of VMs.
    #[fleet(default = vec!["192.168.64.0/22".to_owned()])]
    vms: Vec<String>,
    /// The addresses that were logged in when it was made.
    #[fleet(
        computed,
        follows = "allowed",
        follows = "tailnet",
        follows = "vms",
        follows = "intact",
        follows = "at_boot"
    )]
    session: Option<Vec<String>>,
    /// Whether exactly its rules are in force, in their order. It is there to be observed.
    #[fleet(default = true)]
    intact: bool,
    /// Whether the filter is on by a token of ours. It is there to be observed.
    #[fleet(default = true)]
    enabled: bool,
    /// Whether the main ruleset in force calls it, so that its rules count. It is there to be observed.
    #[fleet(default = true)]
    evaluated: bool,
    /// Whether the next start of the Mac brings exactly this back. It is there to be observed.
    #[fleet(default = true)]
    at_boot: bool,
}

const GUARD: &str = include_str!("pf_guard.sh");
const ALLOWED: &str = "ssh_allowed";
const VMS: &str = "vm_ssh_sources";
/// In which line the file says who was logged in.
const SESSION: &str = "# Logged in when this was made: ";

/// Their order matters. The first two keep whoever works here; the fourth lets VMs call others, because their packets
/// arrive on the bridge like those of anybody else.
const RULES: [&str; 5] = [
    "pass in quick on lo0 proto tcp from any to any port 22",
    "pass in quick proto tcp from <ssh_allowed> to any port 22",
    "block drop in quick proto tcp from <vm_ssh_sources> to <vm_ssh_sources> port 22",
    "pass in quick proto tcp from <vm_ssh_sources> to any port 22",
    "block drop in quick proto tcp from any to any port 22",
];

impl Resource for PfSshGuard {
    const NAME: &'static str = "macos_pf_ssh_guard";
    const DETECTS: &'static [&'static Known] = &DETECTS;

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_name("name", &self.name, 60)?;
        self.tailnet = normal_net(&self.tailnet).map_err(|message| Misfit::new("tailnet", message))?;
        if ends(&self.tailnet).is_none() {
            return Err(Misfit::new("tailnet", "a network of IPv4 is needed, such as \"100.64.0.0/10\""));
        }
        normal_nets("allowed", &mut self.allowed)?;
        normal_nets("vms", &mut self.vms)?;
        if self.allowed.contains(&self.tailnet) {
            return Err(Misfit::new("allowed", "the tailnet may log in anyway; leave it out"));
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
        &[Edge::After("macos_sudoers"), Edge::After("tailscale_device")]
    }
}

impl HostKind for PfSshGuard {
    fn probe(at: &At<PfSshGuard>) -> Result<Probe, Error> {
        Anchor(&named(at)?.path()).ask(tables().iter())
    }

    fn parse(at: &At<PfSshGuard>, reply: &Reply) -> Result<Option<PfSshGuard>, Error> {
        let asked = named(at)?;
        if is_another(at, |a, b| a.name == b.name) {
            return Ok(None);
        }
        let path = asked.path();
        let seen = Anchor(&path).see(reply, tables().iter())?;
        if seen.is_nothing() {
            return Ok(None);
        }
        let rules = |file: &str| {
            file.lines().filter(|line| RULES.contains(line)).map(str::to_owned).collect::<Vec<_>>()
        };
        let session = session_of(seen.file.as_deref().unwrap_or_default());
        let inside = |table: &str| seen.tables.get(table).cloned().unwrap_or_default();
        let mut allowed = inside(ALLOWED);
        let has_tailnet = allowed.contains(&asked.tailnet);
        allowed
            .retain(|net| *net != asked.tailnet && (asked.allowed.contains(net) || !session.contains(net)));
        Ok(Some(PfSshGuard {
            name: asked.name.clone(),
            tailnet: if has_tailnet { asked.tailnet.clone() } else { String::new() },
            allowed,
            vms: inside(VMS),
            session: Some(session),
            intact: seen.loaded.as_deref().is_some_and(|file| rules(file) == wanted()),
            enabled: seen.enabled,
            evaluated: seen.called.0,
            at_boot: seen.comes_back(arm()),
        }))
    }

    fn steps(self, change: Change<PfSshGuard>) -> Result<Vec<Step>, Error> {
        let path = self.path();
        let is_kept = matches!(&change, Change::Update { from } if from.at_boot);
        let (first, last) =
            ends(&self.tailnet).ok_or_else(|| Error::permanent("the tailnet is no network of IPv4"))?;
        let others = self.allowed.len().to_string();
        let arguments = vec![path.clone(), first.to_string(), last.to_string(), others];
        let input = Bytes(self.file().into_bytes());
        let mut steps = vec![Step::new(Act::Procedure { script: GUARD, arguments, input }).as_root()];
        // Its tables persist on purpose, and are defined anew as they are.
        steps.extend(Anchor(&path).arm(arm(), is_kept, [].iter()));
        Ok(steps)
    }

    fn remove(observed: PfSshGuard) -> Result<Vec<Step>, Error> {
        Ok(Anchor(&observed.path()).disarm(tables().iter()))
    }

    fn cuts_access(&self, _: bool) -> Option<Revert> {
        Some(Anchor(&self.path()).revert(tables().iter()))
    }
}

impl PfSshGuard {
    fn path(&self) -> String {
        format!("{APPLES}{}", self.name)
    }

    /// What is loaded, but for the sessions of the moment.
    fn file(&self) -> String {
        let allowed: Vec<&str> =
            [&self.tailnet].into_iter().chain(&self.allowed).map(String::as_str).collect();
        format!(
            "{SESSION}@SESSION@\ntable <{ALLOWED}> persist {{ {} @SESSION@ }}\ntable <{VMS}> persist {{ {} }}\n{}\n",
            allowed.join(" "),
            self.vms.join(" "),
            wanted().join("\n")
        )
    }
}

/// The rules that are loaded. Without the fourth, VMs could fetch nothing from anywhere by SSH.
fn wanted() -> Vec<&'static str> {
    let is_wanted = |(at, _): &(usize, &str)| *at != 3 || cure::is_there("vms-may-call");
    RULES.into_iter().enumerate().filter(is_wanted).map(|(_, rule)| rule).collect()
}

fn tables() -> [String; 2] {
    [ALLOWED, VMS].map(str::to_owned)
}

/// Who was logged in, by a file of ours.
fn session_of(file: &str) -> Vec<String> {
    let line = file.lines().find_map(|line| line.strip_prefix(SESSION)).unwrap_or_default();
    line.split_whitespace().map(str::to_owned).collect()
}

/// The first and the last address of a network of IPv4.
fn ends(net: &str) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (address, bits) = net.split_once('/').unwrap_or((net, "32"));
    let (first, bits): (Ipv4Addr, u32) = (address.parse().ok()?, bits.parse().ok()?);
    let rest = u32::MAX.checked_shr(bits).unwrap_or(0);
    Some((first, Ipv4Addr::from_bits(first.to_bits() | rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> PfSshGuard {
        PfSshGuard {
            name: "fleet.sshguard".into(),
            tailnet: "100.64.0.0/10".into(),
            allowed: vec!["198.51.100.0/24".into()],
            vms: vec!["192.168.64.0/22".into()],
            session: None,
            intact: true,
            enabled: true,
            evaluated: true,
            at_boot: true,
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let check = |change: fn(&mut PfSshGuard), attribute: &str| {
            let mut guard = sample();
            guard.normalize().unwrap();
            change(&mut guard);
            assert_eq!(guard.normalize().unwrap_err().attribute, attribute);
        };
        check(|guard| guard.name = "com.apple/x".into(), "name");
        check(|guard| guard.tailnet = "fd7a:115c:a1e0::/48".into(), "tailnet");
        check(|guard| guard.tailnet = String::new(), "tailnet");
        check(|guard| guard.allowed.push("100.64.0.0/10".into()), "allowed");
        check(|guard| guard.vms.push("x".into()), "vms");
        check(|guard| guard.intact = false, "intact");
    }

    #[test]
    fn the_ends_of_a_network() {
        let shown = |net: &str| ends(net).map(|(first, last)| format!("{first} {last}"));
        assert_eq!(shown("100.64.0.0/10").as_deref(), Some("100.64.0.0 100.127.255.255"));
        assert_eq!(shown("1.2.3.4").as_deref(), Some("1.2.3.4 1.2.3.4"));
        assert_eq!(shown("0.0.0.0/0").as_deref(), Some("0.0.0.0 255.255.255.255"));
        assert_eq!(shown("::/0"), None);
    }

    #[test]
    fn the_file_says_who_was_logged_in() {
        let file = sample().file().replace("@SESSION@", "203.0.113.7 100.64.0.9");
        assert_eq!(session_of(&file), ["203.0.113.7", "100.64.0.9"]);
        assert!(file.contains(
            "table <ssh_allowed> persist { 100.64.0.0/10 198.51.100.0/24 203.0.113.7 100.64.0.9 }\n"
        ));
        // Whoever works here is let in before anybody is kept out.
        let first_block = file.find("block ").unwrap();
        assert!(file.find("from <ssh_allowed>").unwrap() < first_block);
    }
}
