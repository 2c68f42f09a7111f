//! Who does steps, many at once: sessions, turns, and how long a step may take.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_lock::{Mutex, Semaphore, SemaphoreGuard, SemaphoreGuardArc};
use fleet_lang::{Outside, Value};
use fleet_syntax::{Diagnostic, Severity};
use futures_util::future::{Either, select};
use tracing::Instrument;

use super::Hands;
use super::retry::{self, Attempt, Retry};
use super::step::{Removal, Wish, failed};
use crate::address::{Address, Item};
use crate::event::{Failure, Outcome};
use crate::host::{Listed, inventory};
use crate::interrupt::Urgency;
use crate::plan::{Action, Goal, chain};
use crate::pool::Rule;
use crate::provider::{Ask, Reader, Session, Writer};
use crate::resource::{At, Error};
use crate::state::{Object, Recorded, State, StoreError, Write};

/// Does steps, many at once.
pub(super) struct Worker<'a> {
    pub(super) hands: &'a Hands<'a>,
    /// Chance, and the date.
    pub(super) outside: &'a dyn Outside,
    /// What the plan is for.
    pub(super) goal: Goal,
    /// How many may touch the world, all together; what is done on one host counts as one.
    all: Arc<Semaphore>,
    sessions: BTreeMap<Session, Line>,
    /// Hosts that did not answer when they were looked at: they are tried once more, and not waited for.
    silent: BTreeSet<Session>,
    /// Those whose intent is written.
    turns: std::sync::Mutex<BTreeMap<Object, Turn>>,
    /// Whether the state can no longer be written.
    pub(super) lost: AtomicBool,
    /// What went otherwise than wished, and is no failure.
    warnings: std::sync::Mutex<Vec<(Address, String)>>,
}

/// How far a step is whose intent is written.
#[derive(Clone, Copy)]
enum Turn {
    /// It waits for room.
    Waiting,
    /// It has been touching the world since then.
    Since(Duration),
}

/// The way to one session.
struct Line {
    /// How many may touch the world through it.
    room: Semaphore,
    /// What those share that are at work on one host: they travel together.
    turn: Mutex<Weak<SemaphoreGuardArc>>,
    /// Of a host that goes: whether it may, or who was told first that it may not.
    idle: Mutex<Option<Result<(), Address>>>,
    /// With the settings that it was made with: these may change while a plan is applied.
    connected: Mutex<Option<(Value, Connected)>>,
}

/// The right to touch the world, as long as it is kept.
pub(super) struct Room<'a> {
    _here: SemaphoreGuard<'a>,
    _turn: Arc<SemaphoreGuardArc>,
}

/// Both sides of a session.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) reader: Arc<dyn Reader>,
    pub(super) writer: Arc<dyn Writer>,
    pub(super) on_host: bool,
    /// When failed attempts are tried again.
    pub(super) retry: Retry,
}

/// How a step ended.
pub(super) struct Ended {
    pub(super) object: Object,
    pub(super) action: Action,
    /// Which part of a replacement it was.
    pub(super) part: Action,
    pub(super) outcome: Outcome,
    /// What is there now, if it is what was wished.
    pub(super) value: Option<Value>,
    pub(super) elapsed: Duration,
    /// Why the state cannot be written any more.
    pub(super) lost: Option<StoreError>,
}

/// Why a step was not done.
pub(super) enum Stop {
    /// The run is to end, and nothing was touched yet.
    NotStarted,
    /// This one was refused, and it would be for the same reason.
    Skipped(Address),
    Failed(Failure),
    Unknown(String),
    Lost {
        error: StoreError,
        touched: bool,
    },
}

impl<'a> Worker<'a> {
    pub(super) fn new<'s>(
        hands: &'a Hands<'a>,
        outside: &'a dyn Outside,
        goal: Goal,
        sessions: impl Iterator<Item = &'s Session>,
        silent: BTreeSet<Session>,
    ) -> Worker<'a> {
        let mut lines = BTreeMap::new();
        for session in sessions {
            if !lines.contains_key(session) {
                let room = Semaphore::new(hands.readers.limit(&session.provider).max(1));
                let turn = Mutex::new(Weak::new());
                let (idle, connected) = (Mutex::new(None), Mutex::new(None));
                lines.insert(session.clone(), Line { room, turn, idle, connected });
            }
        }
        Worker {
            hands,
            outside,
            goal,
            all: Arc::new(Semaphore::new(hands.pace.parallelism.max(1))),
            sessions: lines,
            silent,
            turns: Default::default(),
            lost: AtomicBool::new(false),
            warnings: Default::default(),
        }
    }

    /// Somebody should know of this, although nothing failed.
    pub(super) fn warn(&self, address: &Address, message: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push((address.clone(), message));
    }

    /// All that somebody should know.
    pub(super) fn warnings(&self) -> Vec<Diagnostic> {
        let warnings = std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner));
        let warning = |(address, detail): (Address, String)| Diagnostic {
            severity: Severity::Warning,
            summary: "it went otherwise than wished".into(),
            detail: format!("{detail}."),
            span: None,
            related: Vec::new(),
            address: Some(address.to_string()),
            help: None,
        };
        warnings.into_iter().map(warning).collect()
    }

    /// Whether a step is touching the world.
    pub(super) fn is_touching(&self, object: &Object) -> bool {
        matches!(self.turns().get(object), Some(Turn::Since(_)))
    }

    /// Makes, changes, reads or records one thing.
    pub(super) async fn make(&self, wish: Wish<'_>) -> Ended {
        let object = Object::current(wish.address.clone());
        let action = wish.step.action;
        let part = if matches!(action, Action::Replace { .. }) { Action::Create } else { action };
        let limit = self.limit(action, wish.settings.as_ref());
        self.timed(object, (action, part), limit, async |object| {
            self.try_to_make(object, &wish).await.map(Some)
        })
        .await
    }

    /// Removes or forgets one thing.
    pub(super) async fn remove(&self, removal: Removal<'_>) -> Ended {
        let action = removal.step.action;
        let part = if matches!(action, Action::Replace { .. }) { Action::Destroy } else { action };
        let limit = self.limit(action, removal.settings.as_ref());
        self.timed(removal.object.clone(), (action, part), limit, async |object| {
            self.try_to_remove(object, &removal).await.map(|()| None)
        })
        .await
    }

    /// How long a step may take: that of a machine, as long as its pool says.
    fn limit(&self, action: Action, settings: Option<&Value>) -> Duration {
        let usual = self.hands.pace.timeout.unwrap_or_else(|| retry::timeout(action));
        settings.and_then(Rule::in_settings).map_or(usual, |rule| usual.max(rule.patience()))
    }

    async fn timed(
        &self,
        object: Object,
        (action, part): (Action, Action),
        limit: Duration,
        work: impl AsyncFnOnce(&Object) -> Result<Option<Value>, Stop>,
    ) -> Ended {
        let started = self.hands.clock.now();
        let patience = async {
            let clock = self.hands.clock;
            loop {
                let since = match self.turns().get(&object) {
                    None => started,
                    // The wait for its turn takes nothing of a step's time.
                    Some(Turn::Waiting) => clock.now(),
                    Some(Turn::Since(then)) => *then,
                };
                let left = since.saturating_add(limit).saturating_sub(clock.now());
                if left.is_zero() {
                    return;
                }
                clock.sleep(left).await;
            }
        };
        let span = tracing::info_span!("step", %object, action = action.word());
        let ended = match select(Box::pin(work(&object).instrument(span)), pin!(patience)).await {
            Either::Left((ended, _)) => ended,
            Either::Right(_) => Err(Stop::Unknown(format!(
                "it took longer than {}; the next run will look what came of it",
                humantime::format_duration(limit)
            ))),
        };
        let since = match self.turns().remove(&object) {
            Some(Turn::Since(then)) => then,
            Some(Turn::Waiting) | None => started,
        };
        let elapsed = self.hands.clock.now().saturating_sub(since);
        let (outcome, value, lost) = match ended {
            Ok(value) => (Outcome::Done, value, None),
            Err(Stop::NotStarted) => (Outcome::NotStarted, None, None),
            Err(Stop::Skipped(because)) => (Outcome::Skipped(because), None, None),
            Err(Stop::Failed(failure)) => (Outcome::Failed(failure), None, None),
            Err(Stop::Unknown(why)) => (Outcome::Unknown(why), None, None),
            // Why is told once, and not by every step.
            Err(Stop::Lost { error, touched }) if error.is_final() => {
                let outcome = if touched {
                    Outcome::Unknown("what came of it could not be written down".into())
                } else {
                    Outcome::NotStarted
                };
                (outcome, None, Some(error))
            }
            Err(Stop::Lost { error, touched: true }) => {
                let why = format!("it was done, but could not be written down: {}", chain(&error));
                (Outcome::Unknown(why), None, None)
            }
            Err(Stop::Lost { error, touched: false }) => {
                let failure = Failure::new(chain(&error)).help("nothing was touched; apply again");
                (Outcome::Failed(failure), None, None)
            }
        };
        Ended { object, action, part, outcome, value, elapsed, lost }
    }

    pub(super) async fn connect(
        &self,
        session: &Session,
        settings: Option<&Value>,
    ) -> Result<Connected, Stop> {
        let Some(settings) = settings else {
            if session.is_on_host() {
                let message = format!("how `{}` is reached is not known", session.scope);
                return Err(Stop::Failed(Failure::new(message)));
            }
            let message = format!("the provider `{session}` is not configured, or not known well enough yet");
            let help = format!("declare `provider \"{}\" {{ … }}` in the root module", session.provider);
            return Err(Stop::Failed(Failure::new(message).help(help)));
        };
        let line = self.sessions.get(session).expect("every session of the plan has a line");
        let mut connected = line.connected.lock().await;
        if let Some((with, connected)) = &*connected
            && with == settings
        {
            return Ok(connected.clone());
        }
        // Whoever changes something may have to learn how to log in, and both sides share a connection.
        let writer =
            self.hands.writers.writer(session, settings, &self.hands.holder).await.map_err(failed)?;
        let reader = self.hands.readers.reader(session, settings).await.map_err(failed)?;
        let on_host = session.is_on_host();
        let patient = self.hands.pace.retry;
        let retry = if self.silent.contains(session) { Retry { attempts: 1, ..patient } } else { patient };
        Ok(connected.insert((settings.clone(), Connected { reader, writer, on_host, retry })).1.clone())
    }

    /// Waits until the world may be touched once more; `None` if the run is to end before that.
    pub(super) async fn room(&self, session: &Session) -> Option<Room<'_>> {
        let line = self.sessions.get(session).expect("every session of the plan has a line");
        let interrupt = self.hands.interrupt;
        let room = async {
            let here = line.room.acquire().await;
            if !session.is_on_host() {
                return Room { _here: here, _turn: Arc::new(self.all.acquire_arc().await) };
            }
            let mut turn = line.turn.lock().await;
            let shared = match turn.upgrade() {
                Some(shared) => shared,
                None => Arc::new(self.all.acquire_arc().await),
            };
            *turn = Arc::downgrade(&shared);
            Room { _here: here, _turn: shared }
        };
        let stop = interrupt.reached(Urgency::Stop);
        match select(pin!(stop), pin!(room)).await {
            Either::Left(_) => None,
            Either::Right((room, _)) => Some(room),
        }
    }

    /// Waits until a step whose intent is written may touch the world. If the run is to end, the intent is taken back.
    pub(super) async fn touch(
        &self,
        object: &Object,
        session: &Session,
        state: &State,
    ) -> Result<Room<'_>, Stop> {
        self.turns().insert(object.clone(), Turn::Waiting);
        let room = self.room(session).await;
        if self.lost.load(Ordering::Relaxed) {
            // Somebody else may have taken over. The intent cannot be taken back; the next run looks at it.
            return Err(Stop::NotStarted);
        }
        if let Some(room) = room {
            self.turns().insert(object.clone(), Turn::Since(self.hands.clock.now()));
            return Ok(room);
        }
        // An intent of an earlier run was replaced by this one, and what came of that may still have to be looked at.
        if !state.intents.contains_key(object) {
            self.write(Write::Withdraw { object: object.clone() }, false).await?;
        }
        Err(Stop::NotStarted)
    }

    /// A step waits before it is its turn.
    pub(super) fn wait_for_turn(&self, object: &Object) {
        self.turns().insert(object.clone(), Turn::Waiting);
    }

    /// It does not wait any more.
    pub(super) fn end_turn(&self, object: &Object) {
        self.turns().remove(object);
    }

    /// Whether a host that goes may go, as far as it was asked.
    pub(super) fn idle(&self, session: &Session) -> &Mutex<Option<Result<(), Address>>> {
        &self.sessions.get(session).expect("every session of the plan has a line").idle
    }

    fn turns(&self) -> MutexGuard<'_, BTreeMap<Object, Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn look(
        &self,
        line: &Connected,
        kind: &str,
        at: At<Value>,
    ) -> Result<Option<Value>, Error> {
        let mut attempt = Attempt { number: 1, elapsed: Duration::ZERO, seed: 0 };
        let started = self.hands.clock.now();
        loop {
            let found = line.ask(kind, Ask::Object(at.clone())).await;
            let Err(error) = found else { return found };
            attempt.elapsed = self.hands.clock.now().saturating_sub(started);
            let Some(wait) = line.retry.wait(&attempt, &error) else { return Err(error) };
            self.hands.clock.sleep(wait).await;
            attempt.number += 1;
        }
    }

    pub(super) async fn write(&self, write: Write, touched: bool) -> Result<(), Stop> {
        self.hands.store.write(write).await.map_err(|error| {
            self.lost.fetch_or(error.is_final(), Ordering::Relaxed);
            Stop::Lost { error, touched }
        })
    }
}

impl Connected {
    pub(super) async fn ask(&self, kind: &str, ask: Ask) -> Result<Option<Value>, Error> {
        let mut answers = self.reader.look(vec![(kind.into(), ask)]).await;
        answers.pop().unwrap_or_else(|| Err(Error::permanent("the provider did not answer")))
    }

    /// What the inventory of a host says of a thing, so that it is found where the state is lost.
    pub(super) fn listed(&self, address: &Address, record: Option<&Recorded>) -> Option<Listed> {
        (self.on_host && address.item != Item::Host).then(|| inventory::listed(address, record))
    }
}
