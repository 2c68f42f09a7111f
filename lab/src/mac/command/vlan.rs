//! `networksetup`, as far as VLANs are concerned.

use std::fmt::Write;

use plist::{Dictionary, Value};

use super::directory::ended;
use super::{Call, Failure, Outcome};
use crate::mac::login::preferences;

/// Where VLANs are kept.
const VLANS: &str = "Library/Preferences/SystemConfiguration/VirtualNetworkInterfaces.plist";

/// A VLAN: what it is called, on which device, and its number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Vlan {
    name: String,
    parent: String,
    tag: i64,
    /// Whether it asks for an address.
    dhcp: bool,
    /// Whether the network gave it one that it still has.
    has_lease: bool,
}

fn vlans(call: &Call) -> Vec<Vlan> {
    let kept = preferences::read(call.mac.root(), VLANS);
    let one = |(name, value): (&String, &Value)| {
        let list = value.as_dictionary()?;
        let text = |key: &str| Some(list.get(key)?.as_string()?.to_owned());
        let tag = list.get("Tag")?.as_signed_integer()?;
        let dhcp = list.get("DHCP").and_then(Value::as_boolean).unwrap_or(false);
        let has_lease = list.get("Lease").and_then(Value::as_boolean).unwrap_or(false);
        Some(Vlan { name: name.clone(), parent: text("Parent")?, tag, dhcp, has_lease })
    };
    kept.iter().filter_map(one).collect()
}

fn keep(call: &Call, vlans: &[Vlan]) -> Result<(), Failure> {
    let file = call.mac.root().join(VLANS);
    if vlans.is_empty() {
        return std::fs::remove_file(file).map_err(|error| call.failure(&error.to_string()));
    }
    let one = |vlan: &Vlan| {
        let mut list = Dictionary::new();
        list.insert("Parent".into(), vlan.parent.clone().into());
        list.insert("Tag".into(), vlan.tag.into());
        list.insert("DHCP".into(), vlan.dhcp.into());
        list.insert("Lease".into(), vlan.has_lease.into());
        (vlan.name.clone(), Value::Dictionary(list))
    };
    let all: Dictionary = vlans.iter().map(one).collect();
    let written = preferences::write(&file, all, 0o644, call.mac.clock().time());
    written.map_err(|error| call.failure(&error.to_string()))
}

/// A VLAN loses the address that the network gave it, and goes on asking in vain.
pub(super) fn lose_lease(call: &mut Call, name: &str) -> Outcome {
    let mut known = vlans(call);
    let Some(found) = known.iter_mut().find(|vlan| vlan.name == name && vlan.dhcp) else {
        return Err(call.failure("no VLAN of that name asks for an address"));
    };
    found.has_lease = false;
    keep(call, &known)?;
    ended(0)
}

pub(super) fn networksetup(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let wrong =
        |text: &str| Failure { text: format!("{text}\n** Error: The parameters were not valid."), status: 4 };
    let needs_root = || Failure {
        text: "You don't have permission to use this option with networksetup.".into(),
        status: 14,
    };
    let is_tahoe =
        call.mac.installation().is_some_and(|installation| installation.os_version.starts_with("26"));
    // What is made since Tahoe goes by a longer name.
    let service =
        |vlan: &Vlan| if is_tahoe { format!("{} Configuration", vlan.name) } else { vlan.name.clone() };
    let mut known = vlans(call);
    match words[..] {
        ["-listVLANs"] => {
            if known.is_empty() {
                return call.say("There are no VLANs currently configured on this system.\n");
            }
            let mut text = String::new();
            for (at, Vlan { name, parent, tag, .. }) in known.iter().enumerate() {
                let line = writeln!(
                    text,
                    "VLAN User Defined Name: {name}\nParent Device: {parent}\nDevice (\"Hardware\" Port): vlan{at}\nTag: {tag}\n"
                );
                line.map_err(|error| call.failure(&error.to_string()))?;
            }
            call.say(text)
        }
        ["-createVLAN", name, parent, tag] => {
            if !call.is_root() {
                return Err(needs_root());
            }
            let tag = tag.parse().ok().filter(|tag| (1..4095).contains(tag));
            let tag: i64 = tag.ok_or_else(|| wrong("The tag must be a number from 1 to 4094."))?;
            if known.iter().any(|vlan| vlan.name == name || (vlan.parent == parent && vlan.tag == tag)) {
                return Err(wrong("A VLAN with that name or tag already exists."));
            }
            if parent != "en0" {
                return Err(wrong(&format!("{parent} is not a valid parent device.")));
            }
            let (name, parent) = (name.to_owned(), parent.to_owned());
            known.push(Vlan { name, parent, tag, dhcp: false, has_lease: false });
            keep(call, &known)?;
            ended(0)
        }
        ["-deleteVLAN", name, parent, tag] => {
            if !call.is_root() {
                return Err(needs_root());
            }
            let is_it =
                |vlan: &Vlan| vlan.name == name && vlan.parent == parent && vlan.tag.to_string() == tag;
            if !known.iter().any(is_it) {
                return Err(wrong("The VLAN could not be found."));
            }
            known.retain(|vlan| !is_it(vlan));
            keep(call, &known)?;
            ended(0)
        }
        [verb @ ("-setdhcp" | "-setv4off"), wanted] => {
            if !call.is_root() {
                return Err(needs_root());
            }
            let Some(found) = known.iter_mut().find(|vlan| service(vlan) == wanted) else {
                return Err(wrong(&format!("{wanted} is not a recognized network service.")));
            };
            found.dhcp = verb == "-setdhcp";
            found.has_lease = found.dhcp;
            keep(call, &known)?;
            ended(0)
        }
        ["-getinfo", wanted] => {
            let Some(found) = known.iter().find(|vlan| service(vlan) == wanted) else {
                return Err(wrong(&format!("{wanted} is not a recognized network service.")));
            };
            if !found.dhcp {
                return call.say("IPv4 Configuration: Off\n");
            }
            if !found.has_lease {
                return call.say("DHCP Configuration\nSubnet mask: (null)\nRouter: (null)\n");
            }
            let last = found.tag.rem_euclid(250) + 2;
            call.say(format!(
                "DHCP Configuration\nIP address: 172.16.0.{last}\nSubnet mask: 255.255.252.0\nRouter: 172.16.0.1\n"
            ))
        }
        _ => Err(Failure { text: "networksetup Help Information".into(), status: 1 }),
    }
}
