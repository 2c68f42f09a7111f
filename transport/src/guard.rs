//! Changes that could cut a host off: the host undoes one by itself, unless a connection that was made after it confirms
//! that the host can still be reached.
//!
//! 1. *arm*: what undoes the change is kept on the host, and somebody is left there who will
//! 2. the steps
//! 3. *confirm*, by a connection of its own, because one that is up may outlive the rule that lets nobody in any more
//! 4. read back
//!
//! Whatever fails in between, the host is as it was before: at once where it can still be told so, by itself where it
//! cannot.

use std::time::Duration;

use fleet_engine::host::{Act, Bytes, Holder, Ledger, Listed, Reply, Revert, Work};
use fleet_engine::resource::Error;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::batch::{Doing, hold, together};
use crate::chance;
use crate::failure::{cut, not_held, of_step, short};
use crate::script::work::{Outcome, Task, With};
use crate::script::{GUARD, Guarded, Job, Section};
use crate::session::{Round, Session, Sided, sound_path};

/// This attempt was undone.
const UNDONE: &str = "96";
/// How long somebody may be at it to undo a change, and how much longer than promised that is waited for.
const UNDOING: Duration = Duration::from_secs(60);
/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_secs(1);

/// One change that the host may undo.
struct Guard<'g> {
    revert: &'g Revert,
    holder: &'g Holder,
    /// Whether root made it, who then undoes it.
    root: bool,
    /// The name of the change and that of this attempt.
    name: String,
    /// How long the host waits.
    patience: Duration,
}

/// What became of it on the host.
enum Fate {
    /// It stays.
    Confirmed,
    /// The host undid it; what went wrong in that, if something did.
    Undone(String),
    /// Nobody knows.
    Lost(Error),
}

/// Why it may not stay.
enum Why {
    /// A step failed.
    Step(Error),
    /// No new connection confirmed it.
    Unconfirmed(Error),
}

/// Does a work that could cut the host off.
pub(crate) async fn guarded(session: &mut Session, work: Work, holder: Holder) -> Result<Reply, Error> {
    let Work { listed, steps, read_back, revert } = work;
    let (mut revert, ledger) = (revert.unwrap_or_default(), session.reach.ledger.clone());
    // The inventory knows of it before anything is done, and forgets it after all is. What is undone is listed as before.
    let is_made = listed.as_ref().is_some_and(|listed| listed.line.is_some());
    let (before, after): (Option<Listed>, _) = if is_made { (listed, None) } else { (None, listed) };
    if let Some(Listed { name, .. }) = &before {
        revert.paths.push(format!("{}/{name}", Ledger::inventory(&ledger)));
    }
    revert.paths.iter().try_for_each(|path| sound_path(path))?;
    let name = before.as_ref().or(after.as_ref()).map_or_else(chance::name, |listed| listed.name.clone());
    let guard = Guard {
        revert: &revert,
        holder: &holder,
        root: steps.iter().any(|step| step.root),
        name: format!("{name}\t{}", chance::name()),
        patience: session.reach.confirm_within + revert.takes,
    };
    session.connect().await?;
    let arm = guard.words(&ledger).arm(guard.patience.as_secs());
    match guard.tell(session, arm).await? {
        Outcome::Done => {}
        other => return Err(failed(session, other)),
    }
    let armed = Instant::now();
    let done = alone(session, Work { listed: before, steps, ..Work::default() }, &holder).await;
    let (why, fate) = match done {
        Ok(_) => guard.confirm(session, armed).await,
        Err(error) => {
            let fate = guard.undo(session, armed).await;
            (Some(Why::Step(error)), fate)
        }
    };
    match (fate, why) {
        // Where it was not heard of, the answer to a confirmation got lost, and not the confirmation.
        (Fate::Confirmed, None | Some(Why::Unconfirmed(_))) => {}
        (Fate::Confirmed, Some(Why::Step(error))) => return Err(error),
        (Fate::Undone(wrong), why) => return Err(undone(&wrong, why)),
        (Fate::Lost(error), why) => return Err(guard.lost(&error, why)),
    }
    alone(session, Work { listed: after, read_back, ..Work::default() }, &holder).await
}

/// Does a work that travels with no other.
async fn alone(session: &mut Session, work: Work, holder: &Holder) -> Result<Reply, Error> {
    let (answer, mut answered) = oneshot::channel();
    together(session, Vec::new(), vec![Doing::new(work, holder.clone(), answer)]).await;
    answered.try_recv().unwrap_or_else(|_| Err(cut("")))
}

impl Guard<'_> {
    /// Confirms it by a new connection, for as long as that makes sense; what kept it from that, and what became of it.
    async fn confirm(&self, session: &mut Session, armed: Instant) -> (Option<Why>, Fate) {
        let mut fresh = session.fresh();
        let deadline = (Instant::now() + session.reach.confirm_within).min(armed + self.patience);
        let error = loop {
            let error = match self.confirm_once(&mut fresh).await {
                Ok(fate) => {
                    fresh.disconnect().await;
                    return (None, fate);
                }
                Err(error) => error,
            };
            if !error.transient || Instant::now() + PAUSE > deadline {
                break error;
            }
            sleep(PAUSE).await;
        };
        fresh.disconnect().await;
        (Some(Why::Unconfirmed(error)), self.undo(session, armed).await)
    }

    async fn confirm_once(&self, fresh: &mut Session) -> Result<Fate, Error> {
        fresh.connect().await?;
        let words = self.words(&fresh.reach.ledger).confirm(UNDOING.as_secs());
        self.fate(fresh, words).await
    }

    /// Lets the host undo it at once, if it can be told so by whichever connection, or waits until it did.
    async fn undo(&self, session: &mut Session, armed: Instant) -> Fate {
        let words = self.words(&session.reach.ledger).undo(UNDOING.as_secs());
        if session.is_connected()
            && let Ok(fate) = self.fate(session, words.clone()).await
        {
            return fate;
        }
        let deadline = armed + self.patience + UNDOING;
        let mut fresh = session.fresh();
        loop {
            let told = match fresh.connect().await {
                Ok(()) => self.fate(&mut fresh, words.clone()).await,
                Err(error) => Err(error),
            };
            fresh.disconnect().await;
            match told {
                Ok(fate) => return fate,
                Err(error) if Instant::now() > deadline => return Fate::Lost(error),
                // Where root cannot be had, that may be what is undone.
                Err(_) => fresh = fresh.fresh(),
            }
            sleep(PAUSE).await;
        }
    }

    /// What became of it, as whoever guards the host says. An error is that nobody could be asked.
    async fn fate(&self, session: &mut Session, words: Vec<String>) -> Result<Fate, Error> {
        match self.tell(session, words).await? {
            Outcome::Done => Ok(Fate::Confirmed),
            Outcome::Failed(_, Section { word, complaint, .. }) if word == UNDONE => {
                let line = String::from_utf8_lossy(&complaint);
                let wrong = line.trim_end_matches('\n').lines().last().unwrap_or_default().split('\t').nth(3);
                Ok(Fate::Undone(wrong.unwrap_or_default().trim().to_owned()))
            }
            Outcome::Unknown => Err(cut("")),
            other => Ok(Fate::Lost(failed(session, other))),
        }
    }

    /// One round trip with whoever guards the host.
    async fn tell(&self, session: &mut Session, arguments: Vec<String>) -> Result<Outcome, Error> {
        let act = Act::Procedure { script: GUARD, arguments, input: Bytes::default() };
        let job = Job {
            hold: Some(hold(self.holder, &session.reach.slot)),
            list: None,
            tasks: vec![Task { act, with: With::Nothing }],
            forget: None,
            ledger: session.reach.ledger.clone(),
        };
        let round = Round {
            jobs: vec![Sided { root: self.root, it: job }],
            patience: Some(self.patience + UNDOING),
            ..Round::default()
        };
        session.round(&round).await.outcomes.pop().unwrap_or_else(|| Err(cut("")))
    }

    fn words<'w>(&'w self, ledger: &'w str) -> Guarded<'w> {
        Guarded { ledger, name: &self.name, revert: self.revert }
    }

    /// Nobody knows how the host is.
    fn lost(&self, error: &Error, why: Option<Why>) -> Error {
        let seconds = self.patience.as_secs();
        let first = match why {
            Some(Why::Step(why) | Why::Unconfirmed(why)) => format!("{why}; "),
            None => String::new(),
        };
        Error::permanent(format!(
            "{first}the host was to undo the change by itself within {seconds} seconds, but whether it did is not known: {error}"
        ))
        .help("plan again in a while; if the host still cannot be reached, use its screen, or restart it by its vendor")
    }
}

/// Whoever guards the host could not do what it was told.
fn failed(session: &Session, outcome: Outcome) -> Error {
    let (slot, ledger) = (&session.reach.slot, &session.reach.ledger);
    match outcome {
        Outcome::NotHeld(whose, body) => not_held(whose, slot, ledger, &body),
        Outcome::Failed(_, section) | Outcome::NotListed(section) => {
            let act = Act::Procedure { script: GUARD, arguments: Vec::new(), input: Bytes::default() };
            of_step(&act, slot, &section)
        }
        Outcome::Done | Outcome::Unknown => cut(""),
    }
}

/// The host is as it was before.
fn undone(wrong: &str, why: Option<Why>) -> Error {
    let how = match wrong {
        "" => "the host undid the change".to_owned(),
        wrong => format!("the host undid the change, but not all of it: {}", short(wrong)),
    };
    let error = match why {
        Some(Why::Step(error)) => {
            let told = Error::permanent(format!("{error}; {how}"));
            return match error.help {
                Some(help) => told.help(help),
                None => told,
            };
        }
        Some(Why::Unconfirmed(error)) => format!(" ({error})"),
        None => String::new(),
    };
    Error::permanent(format!("no new connection could confirm that the host can still be reached{error}, so {how}")).help(
        "see that the change lets in whoever runs fleet; it is planned again, and `confirm_within` of the connection is how long \
         the host waits",
    )
}
