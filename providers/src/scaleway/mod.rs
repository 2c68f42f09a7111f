//! Provider `scaleway`: Macs that are rented, and what belongs to them at their vendor.
//!
//! 1. [`settings`]: which account; [`client`]: the two sides of its API; [`wire`]: what the vendor sends
//! 2. [`refusal`]: what its errors mean
//! 3. [`vendor`]: the vendor as pools see it; [`os`]: families of systems; [`pool`]: what a pool takes
//! 4. kinds and data, one file each

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use fleet_engine::host::HostThing;
use fleet_engine::kind::{Data, Kind, Of};
use fleet_engine::pool::{Machines, Rule, Vendor, VendorReader};
use fleet_engine::provider::Provider;
use fleet_engine::resource::Error;
use futures_util::future::join_all;

mod attachment;
mod client;
mod credentials;
mod os;
mod os_images;
pub mod pool;
mod private_network;
mod refusal;
mod server_types;
mod servers;
mod settings;
mod ssh_key;
#[cfg(test)]
mod tests;
mod vendor;
mod wire;

pub use client::{Acting, Looking};
pub use settings::{Account, Settings};
pub use vendor::{Zone, ZoneReader};

/// The name of the provider.
const NAME: &str = "scaleway";

/// What the names start with by which Kubernetes knows servers; their zone and their id follow.
const PROVIDER_ID: &str = "scw-applesilicon://";

/// The provider.
#[derive(Clone)]
pub struct Scaleway {
    /// The vendor's own variables.
    environment: BTreeMap<String, String>,
}

impl Scaleway {
    /// Takes what its settings leave out from these environment variables.
    #[must_use]
    pub fn new(environment: &BTreeMap<String, String>) -> Scaleway {
        let own = environment.iter().filter(|(name, _)| name.starts_with("SCW_"));
        Scaleway { environment: own.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    /// Connects to the account that the settings name.
    pub fn connect(&self, settings: Settings) -> Result<Acting, Error> {
        client::connect(settings.complete(&self.environment)?)
    }
}

impl Provider for Scaleway {
    const NAME: &'static str = NAME;
    const LIMIT: usize = 8;
    type Settings = Settings;
    type Reader = Looking;
    type Writer = Acting;
    const KINDS: &'static [&'static dyn Kind<Looking, Acting>] = &[
        &Of::<attachment::Attachment>::KIND,
        &Of::<private_network::PrivateNetwork>::KIND,
        &Of::<ssh_key::SshKey>::KIND,
    ];
    const DATA: &'static [&'static dyn Data<Looking>] = &[
        &Of::<credentials::Credentials>::KIND,
        &Of::<os_images::OsImages>::KIND,
        &Of::<server_types::ServerTypes>::KIND,
        &Of::<servers::Servers>::KIND,
    ];

    const ON_HOSTS: &'static [&'static dyn HostThing] = &[&Machines("scaleway_host")];

    async fn reader(&self, settings: Settings) -> Result<Looking, Error> {
        Ok(self.connect(settings)?.looking)
    }

    async fn writer(&self, settings: Settings) -> Result<Acting, Error> {
        self.connect(settings)
    }

    async fn vendor_reader(&self, settings: Settings, rule: &Rule) -> Result<Arc<dyn VendorReader>, Error> {
        let looking = self.connect(settings)?.looking;
        Ok(Arc::new(ZoneReader::new(looking, rule.choice.zone.as_deref(), rule.choice.os_family.as_deref())))
    }

    async fn vendor(&self, settings: Settings, rule: &Rule) -> Result<Arc<dyn Vendor>, Error> {
        let acting = self.connect(settings)?;
        Ok(Arc::new(Zone::new(acting, rule.choice.zone.as_deref(), rule.choice.os_family.as_deref())))
    }
}

/// One of the variables is secret.
impl fmt::Debug for Scaleway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scaleway").finish_non_exhaustive()
    }
}

/// Answers questions about places, each of which is asked once.
async fn each<Q, T, F: Future<Output = Result<Vec<T>, Error>>>(
    batch: Vec<Q>,
    place_of: impl Fn(&Q) -> String,
    list: impl Fn(String) -> F,
    describe: impl Fn(Q, &[T]) -> Q,
) -> Vec<Result<Q, Error>> {
    let places: BTreeSet<String> = batch.iter().map(&place_of).collect();
    let listed = join_all(places.iter().cloned().map(list)).await;
    let listed: BTreeMap<&String, Result<Vec<T>, Error>> = places.iter().zip(listed).collect();
    let answer = |asked: Q| match listed.get(&place_of(&asked)) {
        Some(Ok(all)) => Ok(describe(asked, all)),
        Some(Err(error)) => Err(error.clone()),
        None => Err(Error::permanent("it was not asked")),
    };
    batch.into_iter().map(answer).collect()
}
