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
use crate::script::{GUARD, Job, Section, WATCH};
use crate::session::{Round, Session, Sided, sound_path};

/// This attempt was undone.
const UNDONE: &str = "96";
/// How long somebody may be at it to undo a change, and how much longer than promised that is waited for.
const UNDOING: Duration = Duration::from_secs(60);
/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(500);

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
    let revert = revert.unwrap_or_default();
    revert.paths.iter().try_for_each(|path| sound_path(path))?;
    let name = listed.as_ref().map_or_else(chance::name, |listed| listed.name.clone());
    let guard = Guard {
        revert: &revert,
        holder: &holder,
        root: steps.iter().any(|step| step.root),
        name: format!("{name}\t{}", chance::name()),
        patience: session.reach.confirm_within + revert.takes,
    };
    session.connect().await?;
    let arm = guard.arm(&session.reach.ledger);
    match guard.tell(session, arm).await? {
        Outcome::Done => {}
        other => return Err(failed(session, other)),
    }
    let armed = Instant::now();
    // The inventory knows of it before anything is done, and forgets it after all is.
    let is_made = listed.as_ref().is_some_and(|listed| listed.line.is_some());
    let (before, after): (Option<Listed>, _) = if is_made { (listed, None) } else { (None, listed) };
    let steps = Work { listed: before, steps, ..Work::default() };
    let done = alone(session, steps, &holder).await;
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
        // The other half is for a host that has to be told to undo it.
        let deadline = armed + self.patience / 2;
        let error = loop {
            let error = match self.tell_by(&mut fresh, "confirm").await {
                Ok(fate) => {
                    fresh.disconnect().await;
                    return (None, fate);
                }
                Err(error) => error,
            };
            if !error.transient || Instant::now() > deadline {
                break error;
            }
            sleep(PAUSE).await;
        };
        fresh.disconnect().await;
        (Some(Why::Unconfirmed(error)), self.undo(session, armed).await)
    }

    /// Lets the host undo it at once, if it can be told so by whichever connection, or waits until it did.
    async fn undo(&self, session: &mut Session, armed: Instant) -> Fate {
        let deadline = armed + self.patience + UNDOING;
        if session.is_connected() {
            match self.tell_connected(session, "undo").await {
                Ok(fate) => return fate,
                Err(error) if !error.transient => return Fate::Lost(error),
                Err(_) => {}
            }
        }
        let mut fresh = session.fresh();
        let fate = loop {
            match self.tell_by(&mut fresh, "undo").await {
                Ok(fate) => break fate,
                Err(error) if Instant::now() > deadline => break Fate::Lost(error),
                // Where root cannot be had, that may be what is undone.
                Err(_) => fresh = session.fresh(),
            }
            sleep(PAUSE).await;
        };
        fresh.disconnect().await;
        fate
    }

    async fn tell_by(&self, session: &mut Session, verb: &str) -> Result<Fate, Error> {
        session.connect().await?;
        self.tell_connected(session, verb).await
    }

    async fn tell_connected(&self, session: &mut Session, verb: &str) -> Result<Fate, Error> {
        let arguments = self.arguments(verb, &session.reach.ledger);
        match self.tell(session, arguments).await? {
            Outcome::Done => Ok(Fate::Confirmed),
            Outcome::Failed(_, Section { word, complaint, .. }) if word == UNDONE => {
                let line = String::from_utf8_lossy(&complaint);
                let wrong = line.trim_end_matches('\n').lines().last().unwrap_or_default().split('\t').nth(3);
                Ok(Fate::Undone(wrong.unwrap_or_default().trim().to_owned()))
            }
            other => Err(failed(session, other)),
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

    fn arguments(&self, verb: &str, ledger: &str) -> Vec<String> {
        let seconds = if verb == "arm" { self.patience } else { UNDOING };
        let seconds = seconds.as_secs().max(1).to_string();
        let (guard, notes) = (format!("{ledger}.guard"), Ledger::undone(ledger));
        vec![verb.to_owned(), guard, seconds, self.name.clone(), notes]
    }

    fn arm(&self, ledger: &str) -> Vec<String> {
        let Revert { paths, keep, undo, arguments, .. } = self.revert;
        let mut words = self.arguments("arm", ledger);
        words.extend([WATCH, *keep, *undo].map(str::to_owned));
        words.push(paths.len().to_string());
        words.extend(paths.iter().chain(arguments).cloned());
        words
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
    match why {
        Some(Why::Step(error)) => {
            let help = error.help.clone();
            let error = Error::permanent(format!("{error}; {how}"));
            match help {
                Some(help) => error.help(help),
                None => error,
            }
        }
        Some(Why::Unconfirmed(error)) => unreachable_since(&error, &how),
        None => unreachable_since(&Error::permanent("nobody confirmed it in time"), &how),
    }
}

fn unreachable_since(error: &Error, how: &str) -> Error {
    Error::permanent(format!("after this change nobody could log in any more by a new connection ({error}), so {how} by itself"))
        .help(
            "see that the change lets in whoever runs fleet; it is planned again, and `confirm_within` of the connection \
             is how long the host waits",
        )
}
