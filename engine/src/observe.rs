//! Stage 3, observe: what is really there, batched per session. Looks and never writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::Value;
use foldhash::fast::FixedState;
use futures_util::future::join_all;
use indexmap::{Equivalent, IndexMap};
use tracing::Instrument;

use crate::address::Address;
use crate::clock::Clock;
use crate::event::{Event, Listener};
use crate::provider::{Reader, Readers, Session};
use crate::resource::{At, Error};

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

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Where a thing is, and what it is like.
    Object(At<Value>),
    /// What data with these arguments says.
    Data(Value),
}

/// What was seen of one thing.
#[derive(Clone, Debug)]
pub struct Sight {
    /// What was asked.
    pub ask: Ask,
    /// What was found; `None` means that nothing is there.
    pub found: Result<Option<Value>, Error>,
}

/// What is asked of one kind in one go.
type Batch = Vec<(Subject, Ask)>;

/// The batches of a session, by kind and by whether it is data.
type Batches = BTreeMap<(Arc<str>, bool), Batch>;

/// Looks at everything that is asked for: one connection for each session, one batch for each of its kinds, all sessions
/// side by side.
pub async fn observe(
    readers: &dyn Readers,
    clock: &dyn Clock,
    listener: &dyn Listener,
    questions: Questions,
) -> Observed {
    let mut sessions: BTreeMap<Session, (Value, Batches)> = BTreeMap::new();
    for (subject, Question { session, settings, kind, ask }) in questions {
        let (_, kinds) = sessions.entry(session).or_insert_with(|| (settings, BTreeMap::new()));
        let is_data = matches!(ask, Ask::Data(_));
        kinds.entry((kind, is_data)).or_default().push((subject, ask));
    }
    let look = sessions.into_iter().map(|(session, (settings, kinds))| async move {
        let started = clock.now();
        listener.hear(&Event::Observing { session: &session, questions: kinds.values().map(Vec::len).sum() });
        let span = tracing::info_span!("session", %session);
        let seen = look_at(readers, &session, &settings, kinds).instrument(span).await;
        let failed = seen.iter().filter(|(_, sight)| sight.found.is_err()).count();
        listener.hear(&Event::Observed {
            session: &session,
            failed,
            elapsed: clock.now().saturating_sub(started),
        });
        seen
    });
    join_all(look).await.into_iter().flatten().collect()
}

async fn look_at(
    readers: &dyn Readers,
    session: &Session,
    settings: &Value,
    kinds: Batches,
) -> Vec<(Subject, Sight)> {
    match readers.reader(session, settings).await {
        Ok(reader) => {
            let reader = &*reader;
            let batches = kinds.into_iter().map(|((kind, _), batch)| ask(reader, kind, batch));
            join_all(batches).await.into_iter().flatten().collect()
        }
        Err(error) => {
            let failed = |(subject, ask)| (subject, Sight { ask, found: Err(error.clone()) });
            kinds.into_values().flatten().map(failed).collect()
        }
    }
}

async fn ask(reader: &dyn Reader, kind: Arc<str>, batch: Batch) -> Vec<(Subject, Sight)> {
    let mut objects = Vec::new();
    let mut data = Vec::new();
    for (_, ask) in &batch {
        match ask {
            Ask::Object(at) => objects.push(at.clone()),
            Ask::Data(arguments) => data.push(arguments.clone()),
        }
    }
    // A batch is of one sort, so that one of the two is empty and costs nothing.
    let mut answers = Vec::with_capacity(batch.len());
    if !objects.is_empty() {
        answers = reader.observe(&kind, objects).await;
    }
    if !data.is_empty() {
        let read = reader.read(&kind, data).await;
        answers.extend(read.into_iter().map(|answer| answer.map(Some)));
    }
    let mut answers = answers.into_iter();
    let mut next = || answers.next().unwrap_or_else(|| Err(Error::permanent("the provider did not answer")));
    let sight = |(subject, ask)| {
        let found = match (next(), &ask) {
            // What is as it was is shared.
            (Ok(Some(found)), Ask::Object(At::Recorded(recorded))) if found == *recorded => {
                Ok(Some(recorded.clone()))
            }
            (found, _) => found,
        };
        (subject, Sight { ask, found })
    };
    batch.into_iter().map(sight).collect()
}
