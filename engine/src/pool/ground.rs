//! The way to the machines of a pool: from what a vendor says of one to a connection with it.

use std::sync::Arc;

use super::host::{Met, look_at};
use super::rule::Rule;
use super::vendor::VendorReader;
use crate::host::reach::{Over, Ssh};
use crate::host::{HostReader, Hosts, Probe, Reach};
use crate::resource::Error;

/// The way to the machines of a pool, for one slot.
pub(crate) struct Ground {
    pub(crate) hosts: Arc<dyn Hosts>,
    pub(crate) vendor: Arc<dyn VendorReader>,
    /// What the connection of the fleet says; the rest depends on the machine.
    pub(crate) reach: Reach,
    pub(crate) rule: Rule,
}

impl Ground {
    /// The way to one machine, which proves by this key who it is; whoever it is, if there is none.
    pub(crate) async fn way(
        &self,
        machine: &str,
        addresses: &[String],
        pin: Option<&str>,
    ) -> Result<Reach, Error> {
        let mut reach = self.reach.clone();
        if let Over::Ssh(Ssh { addresses: to, host_key, user, .. }) = &mut reach.over {
            to.clone_from(&addresses.to_vec());
            *host_key = pin.filter(|pin| !pin.is_empty()).map(str::to_owned);
            if user.is_none() {
                *user = self.vendor.credentials(machine).await?.user;
            }
        }
        Ok(reach)
    }

    /// Looks whose a machine is. One that is expected to prove who it is by a key may have been installed anew since.
    pub(crate) async fn meet(
        &self,
        machine: &str,
        addresses: &[String],
        pin: Option<&str>,
    ) -> Result<Met, Error> {
        let look = async |reader: Arc<dyn HostReader>| {
            let mut replies = reader.ask(vec![look_at(&self.reach.ledger)]).await;
            let silent = || Err(Error::transient("the host did not answer"));
            Met::of(&replies.pop().unwrap_or_else(silent)?)
        };
        if let Some(pin) = pin.filter(|pin| !pin.is_empty()) {
            let known = self.hosts.reader(&self.way(machine, addresses, Some(pin)).await?);
            if let Ok(met) = look(known).await {
                return Ok(met);
            }
        }
        look(self.hosts.meet(&self.way(machine, addresses, None).await?)).await
    }

    /// Asks whoever answers at these addresses now.
    pub(crate) async fn ask_anybody(
        &self,
        machine: &str,
        addresses: &[String],
        probes: Vec<Probe>,
    ) -> Result<Vec<Result<crate::host::Reply, Error>>, Error> {
        Ok(self.hosts.meet(&self.way(machine, addresses, None).await?).ask(probes).await)
    }
}
