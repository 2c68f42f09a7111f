//! Making a machine clean without installing it anew: everything that its inventory lists is stopped and removed, and read
//! again to see that it is gone.
//!
//! What stood in the slot was removed before by the steps of the plan. What is listed still is what nobody's state knew: what
//! a run that was cut off had begun, or what a lost state had made.

use std::sync::Arc;

use super::drive::Run;
use crate::host::inventory::{self, Known};
use crate::host::reach::Over;
use crate::host::{HostThing, HostWriter, Ledger, Probe, Read, Work};
use crate::plan::chain;
use crate::resource::{At, Error};

impl Run<'_> {
    /// Whether the machine is clean by now: nothing is listed any more, and all that was is gone.
    pub(super) async fn scrub(&mut self) -> bool {
        match self.try_to_scrub().await {
            Ok(()) => true,
            Err(error) => {
                self.trouble = Some(error);
                false
            }
        }
    }

    async fn try_to_scrub(&self) -> Result<(), Error> {
        let writer = self.writer_as_root().await?;
        let mut left = self.listed(&*writer).await?;
        // Some things stand in the way of others, such as a file of its directory: as long as something goes, more may.
        loop {
            let mut kept = Vec::new();
            let before = left.len();
            for known in left {
                if let Err(mut error) = self.remove(&*writer, &known).await {
                    error.message = format!("`{}` is still there: {}", known.address, chain(&error));
                    if error.transient {
                        return Err(error);
                    }
                    kept.push((known, error));
                }
            }
            match kept.len() {
                0 => break,
                n if n == before => {
                    return Err(kept
                        .pop()
                        .map_or_else(|| Error::permanent("it is not clean"), |(_, error)| error));
                }
                _ => left = kept.into_iter().map(|(known, _)| known).collect(),
            }
        }
        match self.listed(&*writer).await?.first() {
            None => Ok(()),
            Some(known) => Err(Error::permanent(format!("`{}` is still listed", known.address))),
        }
    }

    /// Removes one thing, and sees that it is gone. What was never whole is removed like what is there.
    async fn remove(&self, writer: &dyn HostWriter, known: &Known) -> Result<(), Error> {
        let Known { address, kind, version, value } = known;
        let thing: &dyn HostThing = self.pool.kinds.thing(kind)?;
        let recorded = thing.upgrade(*version, value.clone())?;
        let at = At::Recorded(recorded.clone());
        let looked = writer.work(Work { read_back: thing.probe(&at)?, ..Work::default() }).await?;
        let observed = thing.parse(&at, &looked)?.unwrap_or(recorded);
        let work = Work {
            listed: Some(inventory::listed(address, None)),
            steps: thing.remove(&observed)?,
            read_back: thing.probe(&At::Recorded(observed.clone()))?,
            revert: thing.cuts_access(&observed, true)?,
        };
        let reply = writer.work(work).await?;
        match thing.left(&observed, &reply)? {
            None => Ok(()),
            Some(_) => Err(Error::permanent("it was removed, and is there nevertheless")),
        }
    }

    /// What the machine says is managed there. A line that nobody can read is no thing that could be removed.
    async fn listed(&self, writer: &dyn HostWriter) -> Result<Vec<Known>, Error> {
        let read_back = Probe::new().and(Read::Inside(Ledger::inventory(&self.host.ledger)));
        let reply = writer.work(Work { read_back, ..Work::default() }).await?;
        let content = reply.inside(0)?;
        let known = inventory::known(content);
        let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        if known.len() < lines {
            return Err(Error::permanent("something is listed in the inventory that this fleet cannot read"));
        }
        Ok(known)
    }

    /// The side that changes the machine, in this installation only, where root is to be had too.
    async fn writer_as_root(&self) -> Result<Arc<dyn HostWriter>, Error> {
        let pin = self.host.host_key.as_deref();
        let mut way = self.pool.ground.way(&self.identity.server, &self.addresses, pin).await?;
        if matches!(way.over, Over::Ssh(_)) && way.sudo_password.is_none() {
            way.sudo_password = self.pool.vendor.credentials(&self.identity.server).await?.sudo_password;
        }
        Ok(self.pool.ground.hosts.writer(&way, &self.pool.holder))
    }
}
