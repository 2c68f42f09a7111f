//! The vendors of a run: each is connected to once, and what many ask at once is asked once.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use async_lock::Mutex as Turn;
use fleet_lang::Value;
use futures_util::FutureExt;
use futures_util::future::Shared;

use super::vendor::{Credentials, Server, Vendor, VendorReader};
use crate::resource::{BoxFuture, Error};

/// The vendors of a run.
#[derive(Default)]
pub(crate) struct Vendors {
    readers: Turn<Vec<(Key, Arc<Listing>)>>,
    writers: Turn<Vec<(Key, Arc<dyn Vendor>)>>,
    /// How to log in to servers, where that was asked.
    pub(crate) logins: Turn<BTreeMap<String, Credentials>>,
    /// The servers that this run is taking, or has taken: no two of its slots try one.
    pub(crate) taken: Arc<Mutex<Vec<String>>>,
}

/// Which vendor: the provider, its settings, and what the pool says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) provider: String,
    pub(crate) settings: Value,
    pub(crate) pool: Value,
}

/// All servers of a vendor, asked for once for all who ask at the same time.
pub(crate) struct Listing {
    pub(crate) vendor: Arc<dyn VendorReader>,
    under_way: Mutex<Option<Asking>>,
}

type Asking = Shared<BoxFuture<'static, Result<Arc<Vec<Server>>, Error>>>;

impl Vendors {
    pub(crate) async fn reader(
        &self,
        key: &Key,
        connect: impl Future<Output = Result<Arc<dyn VendorReader>, Error>>,
    ) -> Result<Arc<Listing>, Error> {
        let mut known = self.readers.lock().await;
        if let Some((_, listing)) = known.iter().find(|(other, _)| other == key) {
            return Ok(listing.clone());
        }
        let listing = Arc::new(Listing { vendor: connect.await?, under_way: Mutex::default() });
        known.push((key.clone(), listing.clone()));
        Ok(listing)
    }

    pub(crate) async fn writer(
        &self,
        key: &Key,
        connect: impl Future<Output = Result<Arc<dyn Vendor>, Error>>,
    ) -> Result<Arc<dyn Vendor>, Error> {
        let mut known = self.writers.lock().await;
        if let Some((_, vendor)) = known.iter().find(|(other, _)| other == key) {
            return Ok(vendor.clone());
        }
        let vendor = connect.await?;
        known.push((key.clone(), vendor.clone()));
        Ok(vendor)
    }
}

impl Listing {
    /// Asks, or waits for what somebody else is asking.
    pub(crate) async fn list(&self) -> Result<Arc<Vec<Server>>, Error> {
        let asking = {
            let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
            match &*under_way {
                Some(asking) if asking.peek().is_none() => asking.clone(),
                _ => {
                    let vendor = self.vendor.clone();
                    let ask: BoxFuture<'static, _> =
                        Box::pin(async move { vendor.list().await.map(Arc::new) });
                    under_way.insert(ask.shared()).clone()
                }
            }
        };
        asking.await
    }
}
