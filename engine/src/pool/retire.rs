//! Deleting a server of a pool for good, because somebody asked for that.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::books::seconds;
use super::drive::{Ended, PoolWriting, now};
use super::host::PoolHost;
use super::protocol::{End, Loss, Process, Record, Stage};
use super::vendor::Server;
use crate::provider::Journal;
use crate::resource::Error;

/// What became of a server that was to be deleted.
#[derive(Clone, Debug)]
pub enum Retired {
    /// The vendor does not have it any more.
    Deleted,
    /// It is there still, and nothing of ours is left on it; why.
    Kept(Error),
}

/// Why a server cannot be deleted yet, if it cannot: the vendor keeps what it rented out for a while.
#[must_use]
pub fn too_early(server: &str, deletable_at: Option<&str>, date: u64) -> Option<Error> {
    let Some(at) = deletable_at else {
        let unknown = format!("the vendor does not say from when on `{server}` can be deleted");
        return Some(Error::permanent(unknown).help("look at it in the vendor's console"));
    };
    let Some(from) = seconds(at) else {
        return Some(Error::permanent(format!(
            "`{at}` is no time from which on `{server}` could be deleted"
        )));
    };
    let left = from.checked_sub(date).filter(|left| *left > 0)?;
    let from = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(from));
    let left = humantime::format_duration(Duration::from_secs(left));
    let message = format!("`{server}` cannot be deleted before {from}, which is in {left}");
    Some(
        Error::permanent(message)
            .help(format!("ask again from {from} on; until then it is of use in the pool")),
    )
}

impl PoolWriting {
    /// Deletes a server that is free, or goes on with that. It counts as deleted only when the vendor certainly has it no more.
    pub(crate) async fn retire(
        &self,
        wish: PoolHost,
        server: &Server,
        begun: Option<Record>,
        journal: &dyn Journal,
    ) -> Result<Retired, Error> {
        let times = Arc::new(self.ground.rule.times.clone());
        let process = match begun {
            Some(record) if record.progress.stage == Stage::Retiring => {
                Process::resume(record, times, now(journal))
            }
            Some(_) => return Err(Error::permanent("something else is done with it")),
            None => match too_early(&server.name, server.deletable_at.as_deref(), journal.date()) {
                Some(early) => return Ok(Retired::Kept(early)),
                None => Process::retire(self.identity(&wish, server, journal), times, now(journal)),
            },
        };
        let host = wish.shown(server);
        let Ended { end, record, trouble } = self.run(process, &host, journal).await?;
        if end == End::Gone {
            return Ok(Retired::Deleted);
        }
        let Some(left) = self.vendor.get(&server.id).await? else { return Ok(Retired::Deleted) };
        let met = self.ground.meet(&left.id, &left.addresses, record.progress.epoch.as_deref()).await;
        match (end, host.seen(&record, &left, met)?) {
            (_, Some(_)) => Err(Error::permanent("something of ours is still there")
                .help("`fleet apply` finds out what became of it, and lets it go where it was not deleted")),
            (End::Lost(Loss::Refused), None) => Ok(Retired::Kept(trouble.unwrap_or_else(refused))),
            (End::Lost(loss), None) => Ok(Retired::Kept(Error::permanent(loss.to_string()))),
            (end, None) => {
                Err(Error::permanent(format!("it ended as nothing that is deleted does: {end:?}")))
            }
        }
    }
}

fn refused() -> Error {
    Error::permanent(Loss::Refused.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_its_time_a_server_is_not_deleted() {
        let at = Some("1970-01-02T00:00:00Z");
        let early = too_early("pool-1", at, 86_400 - 90).unwrap();
        assert_eq!(
            early.message,
            "`pool-1` cannot be deleted before 1970-01-02T00:00:00Z, which is in 1m 30s"
        );
        assert!(early.help.unwrap().contains("from 1970-01-02T00:00:00Z on"));
        assert!(too_early("pool-1", at, 86_400).is_none());
        assert!(too_early("pool-1", Some("1970-01-02T00:00:00.5Z"), 86_401).is_none());
        // What nobody knows is no leave.
        assert!(too_early("pool-1", None, u64::MAX).is_some());
        assert!(too_early("pool-1", Some("tomorrow"), u64::MAX).is_some());
    }
}
