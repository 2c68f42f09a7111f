//! A machine of a pool that a lost state held, from what its vendor and the machine itself know.

use std::sync::Arc;

use fleet_lang::Value;
use futures_util::stream::{self, StreamExt as _};

use super::books::Found;
use super::ground::Ground;
use super::host::{Met, PoolHost, look_at};
use super::protocol::{Identity, Method, Names, Progress, Record, Stage};
use super::survey::AT_ONCE;
use super::vendor::Server;
use crate::attributes::{Attributes, Misfit};
use crate::host::inventory::{self, Known};
use crate::host::{Holding, Ledger, Read};
use crate::resource::Error;

/// A machine that somebody holds.
#[derive(Clone, Debug)]
pub struct HeldServer {
    server: Server,
    met: Met,
    prefix: String,
    method: Method,
    /// Its ledger.
    pub ledger: Ledger,
    /// What is managed there.
    pub inventory: Vec<Known>,
}

/// A machine, and who holds it, if anybody does.
pub type Looked = (Arc<str>, Result<Option<HeldServer>, Error>);

impl Ground {
    /// Every server with its holder.
    pub(crate) async fn held(&self, servers: &[Server]) -> Vec<Looked> {
        let look = async |server: &Server| (Arc::from(&*server.id), self.held_server(server).await);
        stream::iter(servers).map(look).buffered(AT_ONCE).collect().await
    }

    async fn held_server(&self, server: &Server) -> Result<Option<HeldServer>, Error> {
        let path = &self.reach.ledger;
        let probe = look_at(path).and(Read::Inside(Ledger::inventory(path)));
        let mut replies = self.ask_anybody(&server.id, &server.addresses, vec![probe]).await?;
        let reply = replies.pop().unwrap_or_else(|| Err(Error::transient("the host did not answer")))?;
        let met = Met::of(&reply)?;
        let ledger = match &met.page {
            Found::Nothing => return Ok(None),
            Found::Ledger(ledger) if ledger.is_of(&met.epoch()) => ledger.clone(),
            _ => {
                let wrong = format!("`{path}` is no ledger of this installation that this fleet can read");
                return Err(Error::permanent(wrong));
            }
        };
        Ok(Some(HeldServer {
            server: server.clone(),
            prefix: self.rule.choice.prefix.clone(),
            method: self.rule.method,
            inventory: inventory::known(reply.inside(2)?),
            ledger,
            met,
        }))
    }
}

impl HeldServer {
    /// The record of the slot that it is held by, given what is declared there.
    pub(crate) fn recorded(&self, declared: &Value) -> Result<Value, Misfit> {
        let HeldServer { server, met, prefix, method, ledger, .. } = self;
        let host = PoolHost::from_value(declared)?;
        let Ledger { lineage, claim, slot, .. } = ledger;
        let record = Record {
            identity: Identity {
                server: server.id.clone(),
                lineage: lineage.clone(),
                slot: slot.clone(),
                claim: claim.clone(),
                names: Some(Names::new(prefix, &host.name, lineage, claim)),
            },
            progress: Progress {
                stage: match ledger.state {
                    Holding::Claiming => Stage::Claiming,
                    Holding::Owned => Stage::Owned,
                    Holding::Returning => Stage::Leaving,
                },
                epoch: Some(met.epoch()),
                method: *method,
                open: Vec::new(),
                overdue: false,
            },
        };
        let host = host.noting(&record).shown(server).met(met);
        let (state, since) = (ledger.state.word().to_owned(), Some(ledger.since.clone()));
        Ok(PoolHost { state, since, ..host }.to_value())
    }
}
