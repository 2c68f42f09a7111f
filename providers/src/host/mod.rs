//! Provider `host`: things on the hosts of fleets.
//!
//! Kinds here talk to nobody: they say what to ask of a host, what the answer means and what to do, and a transport
//! does the rest. What they have in common stands in [`common`] and [`boot`]; [`reach`] has what connections and pools
//! take.

use fleet_derive::Schema;
use fleet_engine::host::{DataOnHost, HostDatum, HostThing, OnHost};
use fleet_engine::kind::Kind;
use fleet_engine::provider::Provider;
use fleet_engine::resource::Error;

mod archive;
mod binary;
mod block;
mod boot;
mod command;
pub(crate) mod common;
mod directory;
mod facts;
mod file;
mod line;
mod link;
pub mod reach;
mod reboot;
mod slot;
#[cfg(test)]
mod tests;

/// The provider of what lies on hosts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

/// The provider of hosts that are listed in the configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Static;

/// Things on the hosts of fleets: files, links, blocks in other people's files, and whatever a script can read and
/// change.
///
/// Its kinds stand in a `fleet`, or in a module that is called from one. Hosts are reached as the `connection` of the
/// fleet says, so that it has no settings and needs no `provider` block.
///
/// ```hcl
/// provider "host" {}
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct Settings {}

/// Hosts that are there already, and are listed in the configuration.
///
/// It has no settings, and needs no `provider` block.
///
/// ```hcl
/// provider "static" {}
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct StaticSettings {}

impl Provider for Host {
    const NAME: &'static str = "host";
    type Settings = Settings;
    type Reader = ();
    type Writer = ();
    const KINDS: &'static [&'static dyn Kind<(), ()>] = &[];
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[
        &OnHost::<archive::Archive>::KIND,
        &OnHost::<binary::Binary>::KIND,
        &OnHost::<block::Block>::KIND,
        &OnHost::<command::Command>::KIND,
        &OnHost::<directory::Directory>::KIND,
        &OnHost::<file::File>::KIND,
        &OnHost::<line::Line>::KIND,
        &OnHost::<link::Link>::KIND,
        &OnHost::<reboot::Reboot>::KIND,
    ];
    const DATA_ON_HOSTS: &'static [&'static dyn HostDatum] = &[&DataOnHost::<facts::Facts>::KIND];

    async fn reader(&self, _: Settings) -> Result<(), Error> {
        Ok(())
    }

    async fn writer(&self, _: Settings) -> Result<(), Error> {
        Ok(())
    }
}

impl Provider for Static {
    const NAME: &'static str = "static";
    type Settings = StaticSettings;
    type Reader = ();
    type Writer = ();
    const KINDS: &'static [&'static dyn Kind<(), ()>] = &[];
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[&OnHost::<slot::StaticHost>::KIND];

    async fn reader(&self, _: StaticSettings) -> Result<(), Error> {
        Ok(())
    }

    async fn writer(&self, _: StaticSettings) -> Result<(), Error> {
        Ok(())
    }
}
