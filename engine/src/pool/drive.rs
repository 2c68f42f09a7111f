//! The driver: does what the [protocol](super::protocol) asks for, over a vendor, a host and a clock.

use std::sync::{Arc, Mutex, PoisonError};

use super::books::{Found, Remedy};
use super::ground::Ground;
use super::host::{Met, PoolHost};
use super::protocol::{
    Answer, Command, End, Identity, Loss, Names, Now, Page, Process, Record, Seen, Shown, Stage, Why, Write,
    Wrote,
};
use super::vendor::{Sent, Server, Vendor};
use crate::attributes::Attributes;
use crate::event::Wait;
use crate::host::session::OnHosts;
use crate::host::step::{Claim, Mark};
use crate::host::{Act, Holder, Holding, Ledger, Step, Work};
use crate::provider::Journal;
use crate::resource::{Change, Error};

/// So often in a row something may be refused for good before that is believed.
const REFUSALS: u32 = 3;

/// The writing side of a pool, for one slot.
pub(crate) struct PoolWriting {
    pub(crate) ground: Ground,
    pub(crate) vendor: Arc<dyn Vendor>,
    pub(crate) holder: Holder,
    /// The servers that this run is taking, or has taken.
    pub(crate) taken: Arc<Mutex<Vec<String>>>,
    /// The server that the plan showed as the first choice.
    pub(crate) first: Option<String>,
    /// All that can be on a host.
    pub(crate) kinds: Arc<OnHosts>,
}

/// How a process ended, and what went wrong last on its way.
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) record: Record,
    pub(super) trouble: Option<Error>,
}

/// One process under way: what it is about, and what went wrong last.
pub(super) struct Run<'a> {
    pub(super) pool: &'a PoolWriting,
    journal: &'a dyn Journal,
    pub(super) host: PoolHost,
    pub(super) identity: Identity,
    pub(super) addresses: Vec<String>,
    refusals: u32,
    pub(super) trouble: Option<Error>,
    /// What was done so far, for people, and how often.
    done: Vec<(String, u32)>,
}

impl PoolWriting {
    /// Claims a host, or goes on with one that is claimed already.
    pub(crate) async fn make(
        &self,
        wish: PoolHost,
        change: Change<PoolHost>,
        journal: &dyn Journal,
    ) -> Result<(PoolHost, Option<PoolHost>), Error> {
        let Change::Update { from } = change else { return self.claim(wish, journal).await };
        let Some(mut record) = from.record()? else { return self.claim(wish, journal).await };
        let host = PoolHost { journal: from.journal.clone(), ..complete(&wish, &from) };
        if let Some(names) = &mut record.identity.names {
            names.own.clone_from(&wish.name);
        }
        let was_owned = record.progress.stage == Stage::Owned;
        let process = Process::resume(record, Arc::new(self.ground.rule.times.clone()), now(journal));
        let Ended { end, record, .. } = self.run(process, &host, journal).await?;
        match end {
            End::Owned { .. } => self.read_back(host, &record, journal).await,
            // A host that was ours is not replaced behind anybody's back.
            End::Lost(loss) if was_owned => {
                let machine = &record.identity.server;
                Err(Error::permanent(format!("`{machine}` is not ours any more: {loss}"))
                    .help(format!("give the slot another host with `--replace '{}.host'`", wish.slot)))
            }
            End::Gone if was_owned => Err(Error::permanent("the vendor does not have the server any more")
                .help("plan again: the slot gets another host")),
            End::Lost(_) | End::Gone | End::Returned { .. } => self.claim(wish, journal).await,
            End::Quarantined(_) => Err(unended()),
        }
    }

    /// Gives a host back; what is left of it then.
    pub(crate) async fn give_back(
        &self,
        observed: PoolHost,
        journal: &dyn Journal,
    ) -> Result<Option<PoolHost>, Error> {
        let Some(record) = observed.record()? else { return Ok(None) };
        let rule = &self.ground.rule;
        let process = Process::give_back(record, rule.method, Arc::new(rule.times.clone()), now(journal));
        let Ended { end, record, .. } = self.run(process, &observed, journal).await?;
        if let End::Returned { gap: Some(gap) } = end
            && let Some(warning) = rule.times.about_gap(gap)
        {
            journal.warn(warning);
        }
        let server = self.vendor.get(&record.identity.server).await?;
        let Some(server) = server else { return Ok(None) };
        let met = self.ground.meet(&server.id, &server.addresses, record.progress.epoch.as_deref()).await;
        observed.seen(&record, &server, met)
    }

    /// Frees a server that somebody left behind, as the books say how; false if there was nothing to free any more. Ends in an
    /// error where a human has to decide.
    pub(crate) async fn reclaim(
        &self,
        wish: PoolHost,
        server: &Server,
        remedy: &Remedy,
        journal: &dyn Journal,
    ) -> Result<bool, Error> {
        let identity = self.identity(&wish, server, journal);
        let times = Arc::new(self.ground.rule.times.clone());
        let process = match remedy {
            Remedy::Reclaim(from) => Process::reclaim(identity, from.clone(), times, now(journal)),
            Remedy::Finish(left) => Process::finish(identity, left, times, now(journal)),
            Remedy::Decide => return Err(Error::permanent("the books do not say that it may be freed")),
        };
        let host = wish.shown(server);
        let Ended { end, record, .. } = self.run(process, &host, journal).await?;
        let Some(server) = self.vendor.get(&server.id).await? else { return Ok(true) };
        let met = self.ground.meet(&server.id, &server.addresses, record.progress.epoch.as_deref()).await;
        match (end, host.seen(&record, &server, met)?) {
            (_, Some(_)) => {
                Err(Error::permanent("something of ours is still there")
                    .help("`fleet apply` goes on with it"))
            }
            (End::Returned { .. } | End::Gone, None) => Ok(true),
            (_, None) => Ok(false),
        }
    }

    /// A claim that nobody made before.
    pub(super) fn identity(&self, wish: &PoolHost, server: &Server, journal: &dyn Journal) -> Identity {
        let (claim, lineage) = (journal.random(), self.holder.lineage.clone());
        let names = Names::new(&self.ground.rule.choice.prefix, &wish.name, &lineage, &claim);
        Identity { server: server.id.clone(), slot: wish.slot.clone(), names: Some(names), lineage, claim }
    }

    /// Takes the first free host that can be had.
    async fn claim(
        &self,
        wish: PoolHost,
        journal: &dyn Journal,
    ) -> Result<(PoolHost, Option<PoolHost>), Error> {
        let servers = self.vendor.list().await?;
        let mut candidates = self.ground.rule.candidates(&servers);
        candidates.sort_by_key(|server| self.first.as_ref() != Some(&server.id));
        let mut tried: Vec<(String, Loss)> = Vec::new();
        for server in candidates {
            let Some(_taken) = Taken::new(&self.taken, &server.id) else { continue };
            let identity = self.identity(&wish, &server, journal);
            let process = Process::claim(identity, Arc::new(self.ground.rule.times.clone()), now(journal));
            let host = PoolHost { name: wish.name.clone(), ..wish.clone().shown(&server) };
            let Ended { end, record, .. } = self.run(process, &host, journal).await?;
            match end {
                End::Owned { .. } => return self.read_back(host, &record, journal).await,
                End::Lost(loss) => tried.push((server.name, loss)),
                End::Gone | End::Returned { .. } => {}
                End::Quarantined(_) => return Err(unended()),
            }
        }
        let mut error = self.ground.rule.nothing_free(&servers);
        if tried.is_empty() {
            return Err(error);
        }
        let tried: Vec<String> = tried.iter().map(|(name, loss)| format!("`{name}`: {loss}")).collect();
        error.message = format!("{}; tried {}", error.message, tried.join(", "));
        Err(error)
    }

    /// What is there now, as the vendor and the machine say.
    async fn read_back(
        &self,
        host: PoolHost,
        record: &Record,
        journal: &dyn Journal,
    ) -> Result<(PoolHost, Option<PoolHost>), Error> {
        let made = host.noting(record);
        let Some(server) = self.vendor.get(&record.identity.server).await? else { return Ok((made, None)) };
        let met = self.ground.meet(&server.id, &server.addresses, record.progress.epoch.as_deref()).await;
        let found = made.clone().seen(record, &server, met)?;
        let made = found.clone().unwrap_or(made);
        // Where the answer to this step gets lost, it is found by what is noted.
        journal.note(made.to_value()).await?;
        Ok((made, found))
    }

    /// Does what a process asks for until it ends.
    pub(super) async fn run(
        &self,
        mut process: Process,
        host: &PoolHost,
        journal: &dyn Journal,
    ) -> Result<Ended, Error> {
        let mut run = Run {
            pool: self,
            journal,
            identity: process.record().identity,
            addresses: host.addresses.clone().unwrap_or_default(),
            host: host.clone(),
            refusals: 0,
            trouble: None,
            done: Vec::new(),
        };
        loop {
            let command = process.command(now(journal));
            let answer = match command {
                Command::Done(End::Quarantined(why)) => return Err(run.over(&process.record(), why)),
                Command::Done(end) => {
                    return Ok(Ended { end, record: process.record(), trouble: run.trouble });
                }
                command => run.obey(command).await?,
            };
            process.answer(answer, now(journal));
        }
    }
}

impl Run<'_> {
    async fn obey(&mut self, command: Command) -> Result<Answer, Error> {
        Ok(match command {
            Command::Journal(record) => {
                self.journal.note(self.host.clone().noting(&record).to_value()).await?;
                Answer::Kept
            }
            Command::Look { pin } => Answer::Looked(self.look(pin.as_deref()).await),
            Command::Create { epoch, state } => {
                let claim = self.claim(&epoch, state);
                Answer::Wrote(self.write(&epoch, Act::Claim(claim)).await?)
            }
            Command::Mark { epoch, state } => {
                let claim = self.claim(&epoch, state);
                Answer::Wrote(self.write(&epoch, Act::Mark(claim)).await?)
            }
            Command::Remove { epoch } => {
                let claim = self.claim(&epoch, Holding::Returning);
                Answer::Wrote(self.write(&epoch, Act::Release(claim)).await?)
            }
            Command::Take { epoch, from } => {
                let claim = self.claim(&epoch, Holding::Returning);
                Answer::Wrote(self.write(&epoch, Act::TakeOver { claim, from }).await?)
            }
            Command::Read => Answer::Read(self.read().await),
            Command::Send(write) => Answer::Sent(self.send(&write).await?),
            Command::Scrub => Answer::Scrubbed(self.scrub().await),
            Command::Wait { until, why } => {
                self.journal.wait(until, wait(why)).await;
                Answer::Waited
            }
            Command::Done(_) => Answer::Waited,
        })
    }

    async fn look(&mut self, pin: Option<&str>) -> Seen {
        match self.pool.ground.meet(&self.identity.server, &self.addresses, pin).await {
            Ok(met) => Seen::Host { epoch: met.epoch(), ledger: page(met) },
            Err(error) => {
                self.trouble = Some(error);
                Seen::Unreachable
            }
        }
    }

    fn claim(&self, epoch: &str, state: Holding) -> Claim {
        let mark = Mark { claim: self.identity.claim.clone(), epoch: epoch.to_owned(), state };
        Claim { ledger: self.host.ledger.clone(), slot: self.identity.slot.clone(), mark: Some(mark) }
    }

    /// Changes the ledger, in this installation only: the connection takes no other.
    async fn write(&mut self, epoch: &str, act: Act) -> Result<Wrote, Error> {
        let way = self.pool.ground.way(&self.identity.server, &self.addresses, Some(epoch)).await;
        let done = match way {
            Ok(way) => {
                let writer = self.pool.ground.hosts.writer(&way, &self.pool.holder);
                writer.work(Work { steps: vec![Step::new(act)], ..Work::default() }).await
            }
            Err(error) => Err(error),
        };
        match done {
            Ok(_) => {
                self.refusals = 0;
                Ok(Wrote::Done)
            }
            Err(error) if error.transient => {
                self.trouble = Some(error);
                Ok(Wrote::Unknown)
            }
            Err(error) => {
                self.refused(error)?;
                Ok(Wrote::Not)
            }
        }
    }

    /// Somebody else may have been faster; what is refused again and again is refused for good.
    fn refused(&mut self, error: Error) -> Result<(), Error> {
        self.refusals += 1;
        if self.refusals >= REFUSALS {
            return Err(error);
        }
        self.trouble = Some(error);
        Ok(())
    }

    async fn read(&mut self) -> Shown {
        match self.pool.vendor.get(&self.identity.server).await {
            Ok(None) => Shown::Gone,
            Ok(Some(Server { name, status, addresses, .. })) => {
                self.addresses = addresses;
                Shown::Server { name, status }
            }
            Err(error) => {
                self.trouble = Some(error);
                Shown::Nothing
            }
        }
    }

    async fn send(&mut self, write: &Write) -> Result<Sent, Error> {
        let (vendor, id) = (&self.pool.vendor, &self.identity.server);
        let sent = match write {
            Write::Rename(name) => vendor.rename(id, name).await,
            Write::Reboot => vendor.reboot(id).await,
            Write::Reinstall => {
                let family = self.pool.ground.rule.choice.os_family.as_deref();
                let (sent, told) = vendor.reinstall(id, family).await;
                if let (Sent::Taken | Sent::Unsettled(_), Some(told)) = (&sent, told) {
                    self.journal.warn(told);
                }
                sent
            }
            Write::Delete => vendor.delete(id).await,
        };
        self.note(write, &sent);
        match &sent {
            Sent::Refused(error) if !error.transient => self.refused(error.clone())?,
            Sent::Refused(error) | Sent::Busy(error) | Sent::Unsettled(error) => {
                self.trouble = Some(error.clone());
            }
            Sent::Taken => self.refusals = 0,
            Sent::Gone => {}
        }
        Ok(sent)
    }

    /// Keeps in mind what was done, in words.
    fn note(&mut self, write: &Write, sent: &Sent) {
        let answer = match sent {
            Sent::Taken => "",
            Sent::Unsettled(_) => ", without an answer",
            Sent::Refused(_) | Sent::Busy(_) | Sent::Gone => return,
        };
        let did = match write {
            Write::Rename(name) => format!("named `{name}`{answer}"),
            Write::Reboot => format!("told to restart{answer}"),
            Write::Reinstall => format!("told to install itself anew{answer}"),
            Write::Delete => format!("told to go for good{answer}"),
        };
        match self.done.iter_mut().find(|(known, _)| *known == did) {
            Some((_, times)) => *times += 1,
            None => self.done.push((did, 1)),
        }
    }

    /// The deadline passed: what was done, what was not, and what to do.
    fn over(&self, record: &Record, why: Why) -> Error {
        let deadline = humantime::format_duration(self.pool.ground.rule.times.deadline);
        let trouble = self.trouble.as_ref().map(|trouble| format!(" ({trouble})")).unwrap_or_default();
        let times = |(did, times): &(String, u32)| match times {
            1 => did.clone(),
            times => format!("{did} {times} times"),
        };
        let done: Vec<String> = self.done.iter().map(times).collect();
        let done = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
        let (left, goes_back) = match record.progress.stage {
            Stage::Leaving => ("it was not seen clean, and not named free", true),
            Stage::Freeing => ("it was not seen with a free name", true),
            Stage::Taking { .. } | Stage::Abandoning => ("it was not let go", true),
            Stage::Retiring => ("it was not seen to be gone", false),
            Stage::Claiming | Stage::Owned | Stage::Closed => ("it was not seen to be ours", false),
        };
        let server = &record.identity.server;
        let message = format!(
            "`{server}` did not get there within its deadline of {deadline}, and is quarantined; it waited for \
             {why}{trouble}; done: {done}; not done: {left}"
        );
        Error::permanent(message).help(if goes_back {
            "run it again: it goes on where it stopped, and `fleet pool audit` shows it until then; if the host never \
             answers again, look at it in the vendor's console: once it is deleted there, the next run forgets it"
        } else {
            "run it again: it goes on where it stopped; until then the host stays where it is in the books"
        })
    }
}

/// A server that nobody else in this run tries, until this goes; one that was taken stays so by its name.
struct Taken<'a>(&'a Mutex<Vec<String>>, String);

impl<'a> Taken<'a> {
    fn new(all: &'a Mutex<Vec<String>>, server: &str) -> Option<Taken<'a>> {
        let mut taken = all.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.iter().any(|other| other == server) {
            return None;
        }
        taken.push(server.to_owned());
        Some(Taken(all, server.to_owned()))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != self.1);
    }
}

pub(super) fn now(journal: &dyn Journal) -> Now {
    Now { clock: journal.now(), date: journal.date() }
}

fn wait(why: Why) -> Wait {
    match why {
        Why::Settle => Wait::Vendor,
        Why::Hold => Wait::Requests,
        Why::Poll => Wait::Host,
    }
}

fn page(met: Met) -> Page {
    match met.page {
        Found::Nothing => Page::Empty,
        Found::Ledger(Ledger { claim, epoch, state, .. }) => Page::Ledger { claim, epoch, state },
        Found::Unreadable => Page::Unreadable,
    }
}

/// The wish, with what is known of the host that it is about.
fn complete(wish: &PoolHost, from: &PoolHost) -> PoolHost {
    let PoolHost { slot, key, index, name, state, ledger, port, .. } = wish.clone();
    PoolHost { slot, key, index, name, state, ledger, port, ..from.clone() }
}

/// Nothing ends so that is driven to its end.
fn unended() -> Error {
    Error::permanent("it did not end")
}
