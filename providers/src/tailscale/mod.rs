//! Provider `tailscale`: a tailnet, and the hosts that are devices in it.
//!
//! 1. [`device`]: a Mac that is in a tailnet, as its own `tailscaled` sees it
//! 2. [`programs`] and [`status`]: the programs that it runs, and what `tailscale` says
//!
//! What is on hosts talks to nobody, as kinds of [`host`](crate::host) do: it needs no access to the tailnet's own API.

use fleet_derive::Schema;
use fleet_engine::host::{HostThing, OnHost};
use fleet_engine::kind::Kind;
use fleet_engine::provider::Provider;
use fleet_engine::resource::Error;

mod device;
mod programs;
mod status;
#[cfg(test)]
mod tests;

/// The provider of tailnets and their devices.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tailscale;

/// Hosts that are devices in a tailnet.
///
/// `tailscale_device` stands in a `fleet`, or in a module that is called from one. The host itself joins the tailnet, with a
/// key that the configuration gives, so that there are no settings and no `provider` block is needed.
///
/// ```hcl
/// provider "tailscale" {}
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct Settings {}

impl Provider for Tailscale {
    const NAME: &'static str = "tailscale";
    type Settings = Settings;
    type Reader = ();
    type Writer = ();
    const KINDS: &'static [&'static dyn Kind<(), ()>] = &[];
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[&OnHost::<device::Device>::KIND];

    async fn reader(&self, _: Settings) -> Result<(), Error> {
        Ok(())
    }

    async fn writer(&self, _: Settings) -> Result<(), Error> {
        Ok(())
    }
}
