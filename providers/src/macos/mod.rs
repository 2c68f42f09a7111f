//! Provider `macos`: what has to be true on a Mac, as the kernel, launchd and the running processes see it.
//!
//! Kinds here talk to nobody, as those of [`host`](crate::host) do. What takes several programs in a certain order is a
//! procedure: a script beside its kind, the same for all hosts.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::{HostThing, OnHost, Output};
use fleet_engine::kind::Kind;
use fleet_engine::provider::Provider;
use fleet_engine::resource::Error;

mod apfs_volume;
mod auto_login;
mod brew;
pub(crate) mod daemon;
mod defaults;
mod hardening;
mod hostname;
mod job;
mod launchd_service;
mod local_network;
mod node_exporter;
mod pf_anchor;
mod pf_parts;
mod pf_ssh_guard;
pub(crate) mod place;
mod power;
mod preferences;
mod resolver;
mod service_state;
mod settings;
mod signed_binary;
mod software_update;
mod sudoers;
mod tart;
#[cfg(test)]
mod tests;
mod vlan;
mod vm_nat;
mod xcode;

/// The provider of what is on Macs alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Macos;

/// What has to be true on a Mac: its services, its packet filter, who is logged in, how it is hardened.
///
/// Its kinds stand in a `fleet`, or in a module that is called from one. Hosts are reached as the `connection` of the
/// fleet says, so that it has no settings and needs no `provider` block.
///
/// ```hcl
/// provider "macos" {}
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct Settings {}

impl Provider for Macos {
    const NAME: &'static str = "macos";
    type Settings = Settings;
    type Reader = ();
    type Writer = ();
    const KINDS: &'static [&'static dyn Kind<(), ()>] = &[];
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[
        &OnHost::<apfs_volume::ApfsVolume>::KIND,
        &OnHost::<auto_login::AutoLogin>::KIND,
        &OnHost::<brew::Brew>::KIND,
        &OnHost::<defaults::Defaults>::KIND,
        &OnHost::<hardening::Hardening>::KIND,
        &OnHost::<hostname::Hostname>::KIND,
        &OnHost::<launchd_service::Service>::KIND,
        &OnHost::<local_network::LocalNetwork>::KIND,
        &OnHost::<node_exporter::NodeExporter>::KIND,
        &OnHost::<pf_anchor::PfAnchor>::KIND,
        &OnHost::<pf_ssh_guard::PfSshGuard>::KIND,
        &OnHost::<power::Power>::KIND,
        &OnHost::<resolver::Resolver>::KIND,
        &OnHost::<signed_binary::SignedBinary>::KIND,
        &OnHost::<software_update::SoftwareUpdate>::KIND,
        &OnHost::<sudoers::Sudoers>::KIND,
        &OnHost::<tart::Tart>::KIND,
        &OnHost::<vlan::Vlan>::KIND,
        &OnHost::<vm_nat::VmNat>::KIND,
        &OnHost::<xcode::Xcode>::KIND,
    ];

    async fn reader(&self, _: Settings) -> Result<(), Error> {
        Ok(())
    }

    async fn writer(&self, _: Settings) -> Result<(), Error> {
        Ok(())
    }
}

/// What a tool said, without what surrounds it; nothing if it failed.
fn text_of(output: &Output) -> Option<String> {
    let said = || String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status == 0).then(said).filter(|text| !text.is_empty())
}

/// All that a tool said, which must not fail.
fn succeeded(program: &str, output: &Output) -> Result<String, Error> {
    if output.status == 0 {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let first = complaint.trim().lines().next().unwrap_or("it does not say why").to_owned();
    let error = Error::permanent(format!("`{program}` failed: {first}"));
    Err(error.help("this is for Macs; `macos_` kinds cannot be used on other hosts"))
}

/// `trouble` is what is found to be wrong. A wish for it is a mistake.
fn no_wish_for_trouble(trouble: Option<&String>) -> Result<(), Misfit> {
    match trouble {
        Some(_) => Err(Misfit::new("trouble", "what is wrong is found out and mended; leave it out")),
        None => Ok(()),
    }
}
