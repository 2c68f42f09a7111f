//! One step: intent on disk, act, read back, record.
//!
//! However an attempt ends, reality is asked before anything else is done: an answer that got lost is not an act that
//! was not done. What is found is recorded, also when it is not what was wished. Only where reality does not answer
//! either, the intent stays open for the next run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fleet_lang::{Marks, Value};

use super::busy::Disturbed;
use super::note::{Notes, session_of};
use super::retry::{self, Attempt};
use super::worker::{Connected, Stop, Worker};
use crate::address::{Address, Item};
use crate::diff::{diff, get};
use crate::event::{Effect, Event, Failure};
use crate::plan::{Action, Goal, Step, Why, begun, chain, next_number, wished, with_marks};
use crate::provider::{Ask, ReadBack, Session};
use crate::render::brief;
use crate::resource::{At, Change, Error};
use crate::schema::Schema;
use crate::seal::{Recipes, Seals, sent_before};
use crate::state::{Intent, Object, Operation, Recorded, Sealed, State, Write};

/// What is to be made.
pub(super) struct Wish<'a> {
    pub(super) address: Address,
    pub(super) step: &'a Step,
    pub(super) schema: &'a Schema,
    pub(super) value: Value,
    /// The same as it is written, before it was brought to its normal form.
    pub(super) declared: Value,
    /// How its sensitive parts are made.
    pub(super) recipes: Recipes,
    pub(super) settings: Option<Value>,
    /// Where it is made, by now: a slot may have got its machine since the plan.
    pub(super) session: Session,
    /// The installation of the host it is made on.
    pub(super) epoch: Option<Arc<str>>,
    /// The host that it disturbs.
    pub(super) disturbs: Option<Disturbed>,
    pub(super) state: &'a State,
}

/// What is to go.
pub(super) struct Removal<'a> {
    pub(super) object: Object,
    pub(super) step: &'a Step,
    /// Where it is.
    pub(super) session: &'a Session,
    pub(super) settings: Option<Value>,
    /// What took the place of an older object.
    pub(super) successor: Option<Value>,
    /// The host that it disturbs.
    pub(super) disturbs: Option<Disturbed>,
    pub(super) state: &'a State,
}

impl Worker<'_> {
    pub(super) async fn try_to_make(&self, object: &Object, wish: &Wish<'_>) -> Result<Value, Stop> {
        let Wish { step, schema, state, .. } = wish;
        match step.action {
            Action::Record => return self.record_as_is(object, wish).await,
            Action::Read => return self.read(wish).await,
            _ => {}
        }
        completes(schema, &step.record.value, wish)?;
        if let Some(host) = &wish.disturbs {
            self.may_disturb(object, host).await?;
        }
        let line = self.connect(&step.record.session, wish.settings.as_ref()).await?;
        let kind = &step.record.kind;
        let plain = wish.value.clone().unmark_deep().0;
        let mut change = match (&step.before, step.action) {
            (Some(before), Action::Update) => Change::Update { from: before.clone() },
            _ => Change::Create,
        };
        if !step.looked && change == Change::Create {
            // What was not known when the plan was made may be there already. It is never removed for that.
            let at = wished(state, &wish.address, plain.clone());
            if let Some(found) = self.look(&line, kind, at).await.map_err(failed)? {
                let changes = diff(schema, &found, &wish.value, Some(self.seals(wish)));
                if changes.iter().any(|change| change.forces_replace) {
                    let message = "something is in its place that would have to be replaced";
                    return Err(Stop::Failed(
                        Failure::new(message).help("plan again, now that it can be seen"),
                    ));
                }
                if changes.is_empty() {
                    self.list(wish, &found).await?;
                    self.settle(object, wish, Some(&found), false).await?;
                    return Ok(with_marks(schema, &found, &wish.value));
                }
                change = Change::Update { from: found };
            }
        }
        if let (Change::Update { from }, false) = (&change, step.looked) {
            // The record was believed; what is changed has to be seen.
            let Some(found) = self.look(&line, kind, At::Recorded(from.clone())).await.map_err(failed)?
            else {
                let failure = Failure::new("it is not there any more").help("plan again, and look");
                return Err(Stop::Failed(failure));
            };
            change = Change::Update { from: found };
        }
        if let Change::Update { from } = &change
            && !state.recorded.contains_key(&wish.address)
        {
            // Whatever becomes of the change, the thing is known from now on.
            let recorded = Some(self.record(wish, from, false));
            self.write(Write::Settle { object: object.clone(), recorded }, false).await?;
        }
        let operation = if change == Change::Create { Operation::Create } else { Operation::Update };
        let part = if change == Change::Create { Action::Create } else { Action::Update };
        let record = self.record(wish, &wish.value, true);
        let intent = Intent { operation, record: record.clone() };
        self.write(Write::Begin { object: object.clone(), intent: intent.clone() }, false).await?;
        let _room = self.touch(object, &step.record.session, state).await?;
        self.hands.listener.hear(&Event::StepStarted { object, action: part });
        let notes = Notes::new(self, object, intent);
        let begun =
            |plain: &Value| begun_again(state, object, step, &notes.last().unwrap_or_else(|| plain.clone()));
        let listed = line.listed(&wish.address, Some(&record));
        let mut attempt = Attempt { number: 1, elapsed: Duration::ZERO, seed: retry::seed(object) };
        let started = self.hands.clock.now();
        loop {
            let acted = line.writer.apply(kind, plain.clone(), change.clone(), listed.clone(), &notes).await;
            let at = match (&acted, &change) {
                (Ok((made, _)), _) => At::Recorded(made.clone()),
                (Err(_), Change::Create) => begun(&plain),
                (Err(_), Change::Update { from }) => {
                    At::Recorded(notes.last().unwrap_or_else(|| from.clone()))
                }
            };
            let found = match &acted {
                Ok((_, ReadBack::Found(found))) => Ok(found.clone()),
                _ => self.look(&line, kind, at).await,
            };
            let found = match found {
                Ok(found) => found,
                Err(unseen) => return Err(nobody_knows(acted.err(), &unseen)),
            };
            // What is never read back was sent if there was an answer; without one, nobody knows.
            let seals = acted.is_err().then(|| self.seals(wish));
            let left = found.as_ref().map(|found| diff(schema, found, &wish.value, seals));
            let converged = left.as_ref().is_some_and(Vec::is_empty);
            if let (Some(found), true) = (&found, converged) {
                self.delist(&line, step).await?;
                self.settle(object, wish, Some(found), acted.is_ok()).await?;
                keeps_promises(schema, &step.record.value, found)?;
                return Ok(with_marks(schema, found, &wish.value));
            }
            let Err(error) = acted else {
                self.settle(object, wish, found.as_ref(), true).await?;
                return Err(Stop::Failed(did_not_converge(left.as_deref())));
            };
            if !self.again(&line, object, &mut attempt, started, &error).await {
                self.settle(object, wish, found.as_ref(), false).await?;
                let effect =
                    if change == Change::Create && found.is_none() { Effect::None } else { Effect::Perhaps };
                return Err(Stop::Failed(of(&error).effect(effect)));
            }
            if let Some(found) = found {
                change = Change::Update { from: found };
            }
        }
    }

    pub(super) async fn try_to_remove(&self, object: &Object, removal: &Removal<'_>) -> Result<(), Stop> {
        let Removal { step, .. } = removal;
        if step.action == Action::Forget {
            if step.why == Why::CutOff {
                let line = self.connect(removal.session, removal.settings.as_ref()).await?;
                let _room = self.room(removal.session).await.ok_or(Stop::NotStarted)?;
                let (wish, listed) = (step.record.value.clone(), line.listed(&object.address, None));
                line.writer.clear(&step.record.kind, wish, listed).await.map_err(failed)?;
            }
            // A host that would go on listing it would have it removed by the next run. What is gone with its host, or
            // with the ledger there, is listed nowhere.
            let is_listed = matches!(step.why, Why::Released | Why::SameAs(_) | Why::Vanished);
            let is_current = object.deposed.is_none() && object.address.item != Item::Host;
            // A refresh leaves reality as it is, the lists of hosts included; the next apply puts them right.
            let may_write = self.goal != Goal::RefreshOnly && removal.session.is_on_host();
            if is_listed && is_current && may_write && removal.settings.is_some() {
                let line = self.connect(removal.session, removal.settings.as_ref()).await?;
                let _room = self.room(removal.session).await.ok_or(Stop::NotStarted)?;
                let released = line.writer.release(line.listed(&object.address, None)).await;
                if step.why == Why::Released {
                    released.map_err(failed)?;
                }
            }
            return self.write(Write::Settle { object: object.clone(), recorded: None }, false).await;
        }
        let Some(before) = &step.before else {
            return self.write(Write::Settle { object: object.clone(), recorded: None }, false).await;
        };
        if let Some(host) = &removal.disturbs {
            self.may_disturb(object, host).await?;
        }
        let line = self.connect(removal.session, removal.settings.as_ref()).await?;
        let kind = &step.record.kind;
        let mut before = before.clone();
        if object.deposed.is_some() {
            match self.look(&line, kind, At::Recorded(before.clone())).await.map_err(failed)? {
                None => {
                    return self.write(Write::Settle { object: object.clone(), recorded: None }, false).await;
                }
                // Both are one thing: it was changed where it stood, and nothing older is left.
                Some(found)
                    if removal.successor.as_ref().is_some_and(|s| s.clone().unmark_deep().0 == found) =>
                {
                    return self.write(Write::Settle { object: object.clone(), recorded: None }, false).await;
                }
                Some(found) => before = found,
            }
        }
        let (value, _) = (get_plain(&step.record, &before), ());
        let record = Recorded { value, session: removal.session.clone(), ..step.record.clone() };
        let intent = Intent { operation: Operation::Destroy, record };
        self.write(Write::Begin { object: object.clone(), intent: intent.clone() }, false).await?;
        let notes = Notes::new(self, object, intent);
        let listed = line.listed(&object.address, None);
        let _room = self.touch(object, removal.session, removal.state).await?;
        self.hands.listener.hear(&Event::StepStarted { object, action: Action::Destroy });
        let mut attempt = Attempt { number: 1, elapsed: Duration::ZERO, seed: retry::seed(object) };
        let started = self.hands.clock.now();
        loop {
            let acted = line.writer.destroy(kind, before.clone(), listed.clone(), &notes).await;
            if let Some(noted) = notes.last() {
                before = noted;
            }
            // As if it had never been recorded: what lives in state alone is gone with its record.
            let at = if removal.lives_in_state() {
                At::Declared(before.clone())
            } else {
                At::Recorded(before.clone())
            };
            let found = match &acted {
                Ok(ReadBack::Found(found)) => Ok(found.clone()),
                _ => self.look(&line, kind, at).await,
            };
            let found = match found {
                Ok(found) => found,
                Err(unseen) => return Err(nobody_knows(acted.err(), &unseen)),
            };
            if found.is_none() {
                return self.write(Write::Settle { object: object.clone(), recorded: None }, true).await;
            }
            let Err(error) = acted else {
                let failure = Failure::new("it was removed, but is still there").effect(Effect::Other);
                return Err(Stop::Failed(failure));
            };
            if !self.again(&line, object, &mut attempt, started, &error).await {
                return Err(Stop::Failed(of(&error).effect(Effect::Perhaps)));
            }
        }
    }

    /// Waits for another attempt; false if none is to be made.
    async fn again(
        &self,
        line: &Connected,
        object: &Object,
        attempt: &mut Attempt,
        started: Duration,
        error: &Error,
    ) -> bool {
        attempt.elapsed = self.hands.clock.now().saturating_sub(started);
        let Some(wait) = line.retry.wait(attempt, error) else { return false };
        self.hands.listener.hear(&Event::Retrying {
            object,
            attempt: attempt.number,
            after: wait,
            why: &chain(error),
        });
        self.hands.clock.sleep(wait).await;
        attempt.number += 1;
        // Without a state nobody could write down what comes of it, and somebody else may be at it.
        !self.lost.load(Ordering::Relaxed)
    }

    /// Nothing is touched: what was observed is written down.
    async fn record_as_is(&self, object: &Object, wish: &Wish<'_>) -> Result<Value, Stop> {
        let found = wish.step.before.clone().unwrap_or_else(|| wish.value.clone());
        self.list(wish, &found).await?;
        self.settle(object, wish, Some(&found), false).await?;
        Ok(wish.step.record.value.clone())
    }

    /// Has a host list what it did not list yet, or listed under another address.
    async fn list(&self, wish: &Wish<'_>, found: &Value) -> Result<(), Stop> {
        let Wish { address, step, state, .. } = wish;
        let is_listed = state.recorded.contains_key(address) && step.moved_from.is_none();
        let is_refresh = self.goal == Goal::RefreshOnly;
        if is_listed || is_refresh || !step.record.session.is_on_host() || address.item == Item::Host {
            return Ok(());
        }
        let line = self.connect(&step.record.session, wish.settings.as_ref()).await?;
        let _room = self.room(&step.record.session).await.ok_or(Stop::NotStarted)?;
        let record = self.record(wish, found, false);
        line.writer.release(line.listed(address, Some(&record))).await.map_err(failed)?;
        self.delist(&line, step).await
    }

    /// What moved is not listed any more under the address that it had.
    async fn delist(&self, line: &Connected, step: &Step) -> Result<(), Stop> {
        let Some(from) = step.moved_from.as_ref().filter(|_| line.on_host) else { return Ok(()) };
        line.writer.release(line.listed(from, None)).await.map_err(failed)
    }

    async fn read(&self, wish: &Wish<'_>) -> Result<Value, Stop> {
        let line = self.connect(&wish.step.record.session, wish.settings.as_ref()).await?;
        let _room = self.room(&wish.step.record.session).await.ok_or(Stop::NotStarted)?;
        let plain = wish.value.clone().unmark_deep().0;
        let answer = line.ask(&wish.step.record.kind, Ask::Data(plain)).await.map_err(failed)?;
        let answer = answer.ok_or_else(|| Stop::Failed(Failure::new("the provider did not answer")))?;
        Ok(with_marks(wish.schema, &answer, &wish.value))
    }

    /// What was sent before and cannot be read back.
    fn seals<'s>(&'s self, wish: &'s Wish<'_>) -> Seals<'s> {
        let recipes = Some(&wish.recipes);
        Seals { sealer: self.hands.sealer, recorded: sealed_before(wish.step), recipes, read_back: true }
    }

    /// Writes down what is there, and whether the wish was sent.
    async fn settle(
        &self,
        object: &Object,
        wish: &Wish<'_>,
        found: Option<&Value>,
        sent: bool,
    ) -> Result<(), Stop> {
        let recorded = found.map(|found| self.record(wish, found, sent));
        let step = wish.step;
        let deposes = match step.action {
            Action::Replace { create_first: true } => Some(next_number(wish.state, &wish.address)),
            _ => None,
        };
        let write = match (deposes, recorded) {
            (Some(number), Some(recorded)) => {
                Write::Depose { address: wish.address.clone(), number, recorded }
            }
            // The successor is not there; what was recorded still is.
            (Some(_), None) => {
                let old = wish.state.recorded.get(&wish.address).cloned();
                Write::Settle { object: object.clone(), recorded: old }
            }
            (None, recorded) => Write::Settle { object: object.clone(), recorded },
        };
        self.write(write, true).await
    }

    /// The record of something, without anything sensitive.
    fn record(&self, wish: &Wish<'_>, found: &Value, sent: bool) -> Recorded {
        let step = wish.step;
        let (value, mut sealed) = self.hands.sealer.seal(wish.schema, found, &wish.value, &wish.recipes);
        if step.action == Action::Record {
            sealed.clone_from(&step.record.sealed);
        } else if !sent {
            sealed.retain(|name, _| !wish.schema.attributes.get(name).is_some_and(|a| a.write_only));
            sealed.extend(sent_before(wish.schema, sealed_before(step)));
        }
        let session = session_of(&Object::current(wish.address.clone()), &wish.session, found);
        Recorded { value, sealed, session, epoch: wish.epoch.clone(), ..step.record.clone() }
    }
}

impl Removal<'_> {
    fn lives_in_state(&self) -> bool {
        self.step.lives_in_state
    }
}

/// What was sealed of the very object that is changed; a new one was sent nothing before.
fn sealed_before(step: &Step) -> &BTreeMap<Arc<str>, Sealed> {
    static NOTHING: BTreeMap<Arc<str>, Sealed> = BTreeMap::new();
    if step.action == Action::Update { &step.record.sealed } else { &NOTHING }
}

/// Where to look for what was begun: it is none of those that were there before.
fn begun_again(state: &State, object: &Object, step: &Step, wish: &Value) -> At<Value> {
    match begun(state, &object.address, wish) {
        At::Begun { wish, mut except } if step.action == (Action::Replace { create_first: false }) => {
            // Its predecessor is gone.
            except.clear();
            At::Begun { wish, except }
        }
        at => at,
    }
}

fn get_plain(record: &Recorded, observed: &Value) -> Value {
    let Some(entries) = observed.entries() else { return observed.clone() };
    let plain = entries.iter().map(|(name, value)| {
        let sealed = record.sealed.contains_key(name);
        (name.clone(), if sealed { Value::null_of(value.ty()) } else { value.clone() })
    });
    Value::object(plain.collect())
}

fn of(error: &Error) -> Failure {
    let failure = Failure::new(chain(error));
    match &error.help {
        Some(help) => failure.help(help.clone()),
        None => failure,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
pub(super) fn failed(error: Error) -> Stop {
    Stop::Failed(of(&error))
}

fn nobody_knows(acted: Option<Error>, unseen: &Error) -> Stop {
    let unseen = chain(unseen);
    Stop::Unknown(match acted {
        Some(error) => format!("{}; and it cannot be looked at: {unseen}", chain(&error)),
        None => format!("it was done, but cannot be read back: {unseen}"),
    })
}

fn did_not_converge(left: Option<&[crate::diff::Change]>) -> Failure {
    let failure = match left.and_then(|left| left.first()) {
        Some(left) => {
            let (wanted, found) = (brief(&left.after), brief(&left.before));
            Failure::new(format!("did not converge: `{}` should be {wanted} and is {found}", left.name))
        }
        None => Failure::new("it was made, but is not there"),
    };
    failure.effect(Effect::Other)
}

/// A wish may fill in what the plan left unknown. It must not differ from what was planned and approved.
fn completes(schema: &Schema, planned: &Value, Wish { value, declared, .. }: &Wish<'_>) -> Result<(), Stop> {
    let refuse = |message: String| Err(Stop::Failed(Failure::new(message).help("plan again")));
    for (name, attribute) in &schema.attributes {
        let (planned, wish) = (get(planned, name), get(value, name));
        if !attribute.presence.is_configurable() || (attribute.presence.is_computed() && wish.is_null()) {
            continue;
        }
        if !wish.is_wholly_known() {
            return refuse(format!("`{name}` is still not known"));
        }
        // Something that is not wholly known has no normal form yet, and was planned as it is written.
        let is = |other: &Value| planned.clone().unmark_deep().0 == other.clone().unmark_deep().0;
        if planned.is_wholly_known() && !is(&wish) && !is(&get(declared, name)) {
            let (planned, wish) = (brief(&planned), brief(&wish));
            return refuse(format!("`{name}` was planned as {planned} and became {wish}"));
        }
    }
    Ok(())
}

/// What others were told before must be so: results that the plan said would stay.
fn keeps_promises(schema: &Schema, planned: &Value, found: &Value) -> Result<(), Stop> {
    for (name, attribute) in
        schema.attributes.iter().filter(|(_, attribute)| attribute.presence.is_computed())
    {
        let (planned, found) = (get(planned, name), get(found, name));
        if planned.is_wholly_known()
            && !attribute.write_only
            && planned.clone().unmark_deep().0 != found.clone().unmark_deep().0
        {
            let marks = if attribute.sensitive { Marks::SENSITIVE } else { planned.marks_deep() };
            let (planned, found) = (brief(&planned.mark(marks)), brief(&found.mark(marks)));
            let message = format!("`{name}` was planned to be {planned} and turned out to be {found}");
            let failure = Failure::new(message).effect(Effect::Other);
            return Err(Stop::Failed(
                failure.help("apply again: the next plan starts from what is there now"),
            ));
        }
    }
    Ok(())
}
