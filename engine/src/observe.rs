//! Stage 3, observe: what is really there, batched per session. Looks and never writes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fleet_lang::Value;
use foldhash::fast::FixedState;
use futures_util::future::join_all;
use indexmap::{Equivalent, IndexMap};
use tracing::Instrument;

use crate::address::Address;
use crate::apply::retry::{Attempt, Retry, seed};
use crate::clock::Clock;
use crate::event::{Event, Listener};
use crate::plan::chain;
use crate::provider::{Readers, Session};
use crate::resource::{At, Error};

pub use crate::provider::Ask;

/// Something that is looked at: one address can have several objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// Whose.
    pub address: Address,
    /// Which of its objects.
    pub which: Which,
}

/// A subject whose address stands elsewhere.
#[derive(Clone, Copy, Debug, Hash)]
pub struct SubjectOf<'a> {
    /// Whose.
    pub address: &'a Address,
    /// Which of its objects.
    pub which: Which,
}

impl Equivalent<Subject> for SubjectOf<'_> {
    fn equivalent(&self, subject: &Subject) -> bool {
        self.which == subject.which && *self.address == subject.address
    }
}

/// One of the objects that an address may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// The one that is recorded.
    Recorded,
    /// One whose creation was begun and never recorded.
    Begun,
    /// One that is as the configuration wishes.
    Declared,
    /// One that is taken in.
    Imported,
    /// An older one that still has to go.
    Deposed(u32),
    /// None: it is data that is read.
    Data,
    /// None: it is what a host lists as managed, and who it proved to be.
    Inventory,
    /// None: the same of the machine that takes the place of the one that is recorded.
    Successor,
    /// None: it is which machines a slot may get.
    Candidates,
}

/// What to look at.
pub type Questions = IndexMap<Subject, Question, FixedState>;

/// What was seen.
pub type Observed = IndexMap<Subject, Sight, FixedState>;

/// One thing to look at.
#[derive(Clone, Debug)]
pub struct Question {
    /// Through which session.
    pub session: Session,
    /// The settings of that; wholly known.
    pub settings: Value,
    /// Its kind.
    pub kind: Arc<str>,
    /// Where.
    pub ask: Ask,
}

/// What was seen of one thing.
#[derive(Clone, Debug)]
pub struct Sight {
    /// What was asked.
    pub ask: Ask,
    /// What was found; `None` means that nothing is there.
    pub found: Result<Option<Value>, Error>,
}

/// What is asked of one session in one go.
type Batch = Vec<(Subject, Arc<str>, Ask)>;

/// How patient a look is: as apply is, but not for as long, because somebody waits for the plan.
fn patience() -> Retry {
    Retry { attempts: 5, within: Duration::from_secs(60), ..Retry::default() }
}

/// Looks at everything that is asked for: one connection and one batch for each session, all sessions side by side. What
/// could not be answered for now is asked again, which is told beside; who does not answer at all is not waited for.
pub async fn observe(
    readers: &dyn Readers,
    clock: &dyn Clock,
    listener: &dyn Listener,
    questions: Questions,
) -> (Observed, Vec<String>) {
    let n_asked = questions.len();
    let mut sessions: BTreeMap<Session, (Value, Batch)> = BTreeMap::new();
    for (subject, Question { session, settings, kind, ask }) in questions {
        let (_, batch) = sessions.entry(session).or_insert_with(|| (settings, Vec::new()));
        batch.push((subject, kind, ask));
    }
    let look = sessions.into_iter().map(|(session, (settings, batch))| async move {
        let started = clock.now();
        listener.hear(&Event::Observing { session: &session, questions: batch.len() });
        let span = tracing::info_span!("session", %session);
        let (seen, again) = look_patiently(readers, clock, &session, &settings, batch).instrument(span).await;
        let failed = seen.iter().filter(|(_, sight)| sight.found.is_err()).count();
        listener.hear(&Event::Observed {
            session: &session,
            failed,
            elapsed: clock.now().saturating_sub(started),
        });
        (seen, again)
    });
    let (seen, again): (Vec<_>, Vec<_>) = join_all(look).await.into_iter().unzip();
    let mut observed = Observed::with_capacity_and_hasher(n_asked, FixedState::default());
    observed.extend(seen.into_iter().flatten());
    (observed, again.into_iter().flatten().collect())
}

/// Looks, and asks again what was not answered for now; says so.
async fn look_patiently(
    readers: &dyn Readers,
    clock: &dyn Clock,
    session: &Session,
    settings: &Value,
    batch: Batch,
) -> (Vec<(Subject, Sight)>, Vec<String>) {
    let (mut seen, mut left) = (Vec::with_capacity(batch.len()), batch);
    let (started, mut again, mut warnings) = (clock.now(), None, Vec::new());
    for number in 1.. {
        let mut open: Vec<(Subject, Arc<str>, Sight)> = Vec::new();
        let (sights, told) = look_at(readers, session, settings, left).await;
        warnings = told;
        for (subject, kind, sight) in sights {
            let may_change = |error: &Error| error.transient && !error.unreachable;
            match sight.found.as_ref().is_err_and(may_change) {
                true => open.push((subject, kind, sight)),
                false => seen.push((subject, sight)),
            }
        }
        let failed = Attempt { number, elapsed: clock.now().saturating_sub(started), seed: seed(session) };
        let errors = open.iter().filter_map(|(_, _, sight)| sight.found.as_ref().err());
        // Whoever asks for the longest rest is waited for.
        let waits: Option<Vec<Duration>> = errors.map(|error| patience().wait(&failed, error)).collect();
        let (Some(wait), Some((_, _, first))) =
            (waits.and_then(|waits| waits.into_iter().max()), open.first())
        else {
            seen.extend(open.into_iter().map(|(subject, _, sight)| (subject, sight)));
            break;
        };
        let why = first.found.as_ref().err().map(|error| chain(error)).unwrap_or_default();
        tracing::warn!(attempt = number, ?wait, "asked again: {why}");
        let times = if number == 1 { "once".to_owned() } else { format!("{number} times") };
        again = Some(format!("{session} was asked again {times}: {why}."));
        clock.sleep(wait).await;
        left = open.into_iter().map(|(subject, kind, sight)| (subject, kind, sight.ask)).collect();
    }
    (seen, again.into_iter().chain(warnings).collect())
}

/// Looks once. What somebody should know of what was seen comes along.
async fn look_at(
    readers: &dyn Readers,
    session: &Session,
    settings: &Value,
    batch: Batch,
) -> (Vec<(Subject, Arc<str>, Sight)>, Vec<String>) {
    let reader = match readers.reader(session, settings).await {
        Ok(reader) => reader,
        Err(error) => {
            let failed = |(subject, kind, ask)| (subject, kind, Sight { ask, found: Err(error.clone()) });
            return (batch.into_iter().map(failed).collect(), Vec::new());
        }
    };
    let questions = batch.iter().map(|(_, kind, ask)| (kind.clone(), ask.clone())).collect();
    let mut answers = reader.look(questions).await.into_iter();
    let mut next = || answers.next().unwrap_or_else(|| Err(Error::permanent("the provider did not answer")));
    let sight = |(subject, kind, ask): (Subject, Arc<str>, Ask)| {
        let found = match (next(), &ask) {
            // What is as it was is shared.
            (Ok(Some(found)), Ask::Object(At::Recorded(recorded))) if found == *recorded => {
                Ok(Some(recorded.clone()))
            }
            (found, _) => found,
        };
        (subject, kind, Sight { ask, found })
    };
    let sights = batch.into_iter().map(sight).collect();
    let about = |warning: String| format!("{session}: {warning}.");
    (sights, reader.warnings().into_iter().map(about).collect())
}
