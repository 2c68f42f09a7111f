//! Provider `github`: runners of GitHub Actions.
//!
//! What is here lives on hosts, and talks to GitHub through the agent there alone.

use fleet_derive::Schema;
use fleet_engine::host::{HostThing, OnHost};
use fleet_engine::kind::Kind;
use fleet_engine::provider::Provider;
use fleet_engine::resource::Error;

mod registration;
mod runner;

/// The provider of what belongs to GitHub.
#[derive(Clone, Copy, Debug, Default)]
pub struct Github;

/// Runners of GitHub Actions on hosts of a fleet.
///
/// Hosts are reached as the `connection` of the fleet says, so that it has no settings and needs no `provider` block.
///
/// ```hcl
/// provider "github" {}
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct Settings {}

impl Provider for Github {
    const NAME: &'static str = "github";
    type Settings = Settings;
    type Reader = ();
    type Writer = ();
    const KINDS: &'static [&'static dyn Kind<(), ()>] = &[];
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[&OnHost::<runner::Runner>::KIND];

    async fn reader(&self, _: Settings) -> Result<(), Error> {
        Ok(())
    }

    async fn writer(&self, _: Settings) -> Result<(), Error> {
        Ok(())
    }
}
