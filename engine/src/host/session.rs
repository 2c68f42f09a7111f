//! A session with a host as the engine sees it: kinds of all providers, in one conversation.

use std::collections::HashMap;
use std::sync::Arc;

use fleet_lang::Value;

use super::{HostDatum, HostReader, HostThing, HostWriter, Listed, Probe, Reply, Work, inventory};
use crate::attributes::Attributes;
use crate::kind::answer;
use crate::pool::PoolHost;
use crate::pool::drive::PoolWriting;
use crate::pool::host::without_vendor;
use crate::pool::look::PoolReading;
use crate::provider::{Ask, Journal, ReadBack, Reader, Writer};
use crate::resource::{At, BoxFuture, Change, Error};

/// All kinds that live on hosts, whosever they are.
#[derive(Clone)]
pub(crate) struct OnHosts {
    pub(crate) things: HashMap<&'static str, &'static dyn HostThing>,
    pub(crate) data: HashMap<&'static str, &'static dyn HostDatum>,
}

/// The reading side.
pub(crate) struct HostReading {
    pub(crate) kinds: Arc<OnHosts>,
    pub(crate) host: Arc<dyn HostReader>,
    /// Whether scripts of the user are not run, because nobody knows what they do.
    pub(crate) read_only: bool,
    /// The pool that the host comes from, if a vendor stands behind it.
    pub(crate) pool: Option<PoolReading>,
}

/// The writing side.
pub(crate) struct HostWriting {
    pub(crate) kinds: Arc<OnHosts>,
    pub(crate) host: Arc<dyn HostWriter>,
    /// The pool that the host comes from, if a vendor stands behind it.
    pub(crate) pool: Option<PoolWriting>,
}

impl Default for OnHosts {
    fn default() -> OnHosts {
        OnHosts { things: HashMap::new(), data: [(inventory::KIND, &inventory::Reading as _)].into() }
    }
}

impl OnHosts {
    pub(crate) fn thing(&self, kind: &str) -> Result<&'static dyn HostThing, Error> {
        self.things.get(kind).copied().ok_or_else(|| unknown(kind))
    }

    pub(crate) fn probe(&self, kind: &str, ask: &Ask) -> Result<Probe, Error> {
        match ask {
            Ask::Object(at) => self.thing(kind)?.probe(at),
            Ask::Data(arguments) => self.data.get(kind).ok_or_else(|| unknown(kind))?.probe(arguments),
        }
    }

    /// Whether a kind is that of the machines of a vendor.
    pub(crate) fn is_machine(&self, kind: &str) -> bool {
        self.things.get(kind).is_some_and(|thing| thing.is_machine())
    }

    pub(crate) fn parse(&self, kind: &str, ask: &Ask, reply: &Reply) -> Result<Option<Value>, Error> {
        match ask {
            Ask::Object(at) => self.thing(kind)?.parse(at, reply),
            Ask::Data(arguments) => {
                self.data.get(kind).ok_or_else(|| unknown(kind))?.parse(arguments, reply).map(Some)
            }
        }
    }
}

impl HostReading {
    /// What is asked to answer a question.
    pub(crate) fn question(&self, kind: &str, ask: &Ask) -> Result<Probe, Error> {
        let probe = self.kinds.probe(kind, ask)?;
        if self.read_only && probe.runs_user_code() {
            let error = Error::permanent("a script of yours would have to be run to look at it");
            return Err(error.help("leave out `--read-only`, or `--exclude` it"));
        }
        Ok(probe)
    }
}

impl Reader for HostReading {
    fn look(&self, batch: Vec<(Arc<str>, Ask)>) -> BoxFuture<'_, Vec<Result<Option<Value>, Error>>> {
        Box::pin(async move {
            if let Some(pool) = &self.pool {
                return pool.look(self, batch).await;
            }
            let question = |(kind, ask): (Arc<str>, Ask)| {
                let probe = self.question(&kind, &ask)?;
                Ok(((kind, ask), probe))
            };
            answer(batch.into_iter().map(question).collect(), |questions| async {
                let (asked, probes): (Vec<_>, Vec<_>) = questions.into_iter().unzip();
                let replies = self.host.ask(probes).await;
                let parse = |((kind, ask), reply): ((Arc<str>, Ask), Result<Reply, Error>)| {
                    self.kinds.parse(&kind, &ask, &reply?)
                };
                asked.into_iter().zip(replies).map(parse).collect()
            })
            .await
        })
    }

    fn root(&self) -> String {
        self.host.root()
    }
}

impl Writer for HostWriting {
    /// What is on a host is found by what was declared, so the wish is what there is to return.
    fn apply<'a>(
        &'a self,
        kind: &'a str,
        wish: Value,
        change: Change<Value>,
        listed: Option<Listed>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<(Value, ReadBack), Error>> {
        Box::pin(async move {
            if self.kinds.is_machine(kind) {
                let pool = self.pool.as_ref().ok_or_else(without_vendor)?;
                let change = change.try_map(|from| PoolHost::from_value(&from))?;
                let (made, found) = pool.make(PoolHost::from_value(&wish)?, change, journal).await?;
                return Ok((made.to_value(), ReadBack::Found(found.map(|found| found.to_value()))));
            }
            let thing = self.kinds.thing(kind)?;
            let at = At::Recorded(wish);
            let At::Recorded(wish) = &at else { unreachable!("it was just made") };
            let (steps, read_back) = (thing.steps(wish, change)?, thing.probe(&at)?);
            let work = Work { listed, steps, read_back, revert: thing.cuts_access(wish, false)? };
            let reply = self.host.work(work).await?;
            let found = thing.parse(&at, &reply)?;
            Ok((wish.clone(), ReadBack::Found(found)))
        })
    }

    fn destroy<'a>(
        &'a self,
        kind: &'a str,
        observed: Value,
        listed: Option<Listed>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<ReadBack, Error>> {
        Box::pin(async move {
            if self.kinds.is_machine(kind) {
                let pool = self.pool.as_ref().ok_or_else(without_vendor)?;
                let left = pool.give_back(PoolHost::from_value(&observed)?, journal).await?;
                return Ok(ReadBack::Found(left.map(|left| left.to_value())));
            }
            let thing = self.kinds.thing(kind)?;
            let steps = thing.remove(&observed)?;
            let read_back = thing.probe(&At::Recorded(observed.clone()))?;
            let revert = thing.cuts_access(&observed, true)?;
            let reply = self.host.work(Work { listed, steps, read_back, revert }).await?;
            Ok(ReadBack::Found(thing.left(&observed, &reply)?))
        })
    }

    fn clear<'a>(
        &'a self,
        kind: &'a str,
        wish: Value,
        listed: Option<Listed>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let thing = self.kinds.thing(kind)?;
            let (steps, revert) = (thing.clear(&wish)?, thing.cuts_access(&wish, true)?);
            self.host.work(Work { listed, steps, revert, ..Work::default() }).await.map(|_| ())
        })
    }

    fn release(&self, listed: Option<Listed>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.host.work(Work { listed, ..Work::default() }).await.map(|_| ()) })
    }
}

fn unknown(kind: &str) -> Error {
    Error::permanent(format!("this fleet has no kind `{kind}` on hosts"))
}
