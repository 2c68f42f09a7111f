//! Provider `tailscale`: a tailnet, and the hosts that are devices in it.
//!
//! 1. [`device`]: a Mac that is in a tailnet, as its own `tailscaled` sees it; [`status`]: what `tailscale` says
//! 2. [`settings`]: as whom the tailnet's API is asked; [`client`]: its two sides
//! 3. [`name`]: a name that a host has; [`acl`]: the policy, which is [`hujson`]; [`auth_key`]: what lets devices in; [`expiry`]: when that ends
//!
//! What is on hosts talks to nobody, as kinds of [`host`](crate::host) do: it needs no access to the tailnet's own API.

use std::collections::BTreeMap;
use std::fmt;

use fleet_engine::host::reach::Secret;
use fleet_engine::host::{HostThing, OnHost};
use fleet_engine::kind::{Kind, Of};
use fleet_engine::provider::{Issued, Provider, Standing};
use fleet_engine::resource::Error;
use fleet_engine::schema::Requests;

mod acl;
mod auth_key;
mod client;
mod device;
mod expiry;
mod hujson;
mod name;
mod programs;
mod settings;
mod status;
#[cfg(test)]
mod tests;

pub use client::{Acting, Looking};
pub use settings::{Account, Settings};

/// The provider of tailnets and their devices.
#[derive(Clone)]
pub struct Tailscale {
    /// Tailscale's own variables.
    environment: BTreeMap<String, String>,
}

impl Tailscale {
    /// Takes what its settings leave out from these environment variables.
    #[must_use]
    pub fn new(environment: &BTreeMap<String, String>) -> Tailscale {
        let own = environment.iter().filter(|(name, _)| name.starts_with("TAILSCALE_"));
        Tailscale { environment: own.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    /// Connects as the settings say.
    pub fn connect(&self, settings: Settings) -> Result<Acting, Error> {
        Ok(client::connect(settings.complete(&self.environment)?))
    }
}

impl Provider for Tailscale {
    const NAME: &'static str = "tailscale";
    const LIMIT: usize = 8;
    type Settings = Settings;
    type Reader = Looking;
    type Writer = Acting;
    const KINDS: &'static [&'static dyn Kind<Looking, Acting>] =
        &[&Of::<acl::Acl>::KIND, &Of::<auth_key::AuthKey>::KIND, &Of::<name::Name>::KIND];
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[&OnHost::<device::Device>::KIND];
    const ISSUES: Option<Requests> = Some(|request| requested(request).map(|_| request.to_owned()));

    async fn reader(&self, settings: Settings) -> Result<Looking, Error> {
        Ok(self.connect(settings)?.looking().clone())
    }

    async fn writer(&self, settings: Settings) -> Result<Acting, Error> {
        self.connect(settings)
    }

    fn warnings(reader: &Looking) -> Vec<String> {
        reader.warnings()
    }

    async fn issue(&self, settings: Settings, request: &str) -> Result<Secret, Error> {
        let tags = requested(request).map_err(Error::permanent)?;
        auth_key::issue(&self.connect(settings)?, &tags).await.map(Secret)
    }

    async fn withdraw(&self, settings: Settings, issued: Issued<'_>) -> Result<(), Error> {
        auth_key::withdraw(&self.connect(settings)?, &issued.secret.0).await
    }

    async fn standing(&self, settings: Settings) -> Result<Option<Standing>, Error> {
        self.connect(settings)?.looking().standing().await.map(Some)
    }
}

/// The tags of a key that is asked for; or why none is.
fn requested(request: &str) -> Result<Vec<String>, String> {
    let tags = request.strip_prefix("auth-key:").unwrap_or_default();
    let tags: Vec<String> = tags.split(',').map(|tag| tag.trim().to_owned()).collect();
    auth_key::check_tags(&tags).map_err(|_| {
        "A tailnet issues `auth-key:tag:a,tag:b`: a key for devices with these tags.".to_owned()
    })?;
    Ok(tags)
}

/// Some of the variables are secret.
impl fmt::Debug for Tailscale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tailscale").finish_non_exhaustive()
    }
}
