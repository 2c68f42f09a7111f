//! Stage 6, apply: makes reality equal to the plan, one step after the other.
//!
//! The configuration is walked once more, because what one step makes decides what the next one wishes. Of every step
//! the intent is on disk before anything is touched, and the thing is read back before it is recorded.

pub mod retry;
pub mod schedule;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use fleet_lang::Value;

use crate::address::{Address, Target};
use crate::diff::{diff, get};
use crate::expand::{ArgumentsOnly, Instance, Settle};
use crate::plan::{Action, Plan, Step, normal, removal_order};
use crate::provider::{Reader, Readers, Session, Writer, Writers};
use crate::render::brief;
use crate::resource::{At, Change, Error};
use crate::schema::{Entry, Schema};
use crate::state::{Intent, Object, Operation, Recorded, Store, StoreError, Write};

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done, read back and recorded.
    Done,
    /// It failed; what is there now will be seen by the next plan.
    Failed(String),
    /// It was not tried, because this one had not been done.
    Skipped(Address),
}

/// A step under way.
pub type Doing<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + 'a>>;

/// What apply works with, and nobody else is given.
pub struct Hands<'a> {
    /// To look again.
    pub readers: &'a dyn Readers,
    /// To change things.
    pub writers: &'a dyn Writers,
    /// To write down what is begun and what is done.
    pub store: &'a dyn Store,
    /// Waits for a step. Its home is the runtime, of which the engine knows nothing.
    pub wait: &'a dyn Fn(Doing<'_>) -> Result<Value, String>,
    /// Hears of every step that was begun and ended.
    pub report: &'a mut dyn FnMut(&Address, &Step, Option<&Outcome>),
}

/// Third walk: does what the plan says.
pub struct Applier<'a> {
    plan: &'a Plan,
    hands: Hands<'a>,
    sessions: BTreeMap<Session, Connected>,
    outcomes: BTreeMap<Address, Outcome>,
    /// What must stay, because one that depended on it could not be changed or removed.
    needed_by: BTreeMap<Address, Address>,
}

/// Both sides of a session.
struct Connected {
    reader: Arc<dyn Reader>,
    writer: Arc<dyn Writer>,
}

impl<'a> Applier<'a> {
    /// Does what the plan says.
    pub fn new(plan: &'a Plan, hands: Hands<'a>) -> Applier<'a> {
        Applier {
            plan,
            hands,
            sessions: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            needed_by: BTreeMap::new(),
        }
    }

    /// Removes what the plan removes; the last part, once the configuration was walked. Says how every step ended
    /// that had something to do.
    #[must_use]
    pub fn finish(mut self) -> BTreeMap<Address, Outcome> {
        let plan = self.plan;
        for address in &removal_order(&plan.steps) {
            let blocker = self.needed_by.get(address).cloned();
            self.step(address, &plan.steps[address], blocker, None);
        }
        self.outcomes
    }

    /// Whether there was something to do at an address, and it was not done.
    fn is_undone(&self, address: &Address) -> bool {
        let step = self.plan.steps.get(address);
        step.is_some_and(|step| step.action != Action::Keep)
            && self.outcomes.get(address) != Some(&Outcome::Done)
    }

    fn end(&mut self, address: &Address, step: &Step, outcome: Outcome) {
        (self.hands.report)(address, step, Some(&outcome));
        if outcome != Outcome::Done {
            let needed =
                step.record.depends_on.iter().filter_map(instance_of).map(|on| (on, address.clone()));
            self.needed_by.extend(needed);
        }
        self.outcomes.insert(address.clone(), outcome);
    }

    /// Does one step and says what is there now.
    fn step(
        &mut self,
        address: &Address,
        step: &Step,
        blocker: Option<Address>,
        wish: Option<Wish<'_>>,
    ) -> Option<Value> {
        if let Some(blocker) = blocker {
            self.end(address, step, Outcome::Skipped(blocker));
            return None;
        }
        (self.hands.report)(address, step, None);
        let Applier { hands, sessions, .. } = self;
        let work = Work { readers: hands.readers, writers: hands.writers, store: hands.store, sessions };
        match (hands.wait)(Box::pin(work.run(address, step, wish))) {
            Ok(value) => {
                self.end(address, step, Outcome::Done);
                Some(value)
            }
            Err(message) => {
                self.end(address, step, Outcome::Failed(message));
                None
            }
        }
    }
}

impl Settle for Applier<'_> {
    fn settle(&mut self, instance: &Instance, entry: &Entry, declared: &Value) -> Value {
        let address = &instance.address;
        let nobody_knows = || ArgumentsOnly.settle(instance, entry, declared);
        // An instance that only showed up now was not in the plan; it is left for the next one.
        let Some(step) = self.plan.steps.get(address) else { return nobody_knows() };
        if step.action == Action::Keep {
            return step.record.value.clone();
        }
        let blocker = step.record.depends_on.iter().filter_map(instance_of).find(|on| self.is_undone(on));
        let wish =
            normal(self.hands.readers, &step.record.kind, declared).unwrap_or_else(|_| declared.clone());
        let wish = Wish { value: wish, schema: &entry.schema };
        self.step(address, step, blocker, Some(wish)).unwrap_or_else(nobody_knows)
    }
}

/// What is to be made, and of which schema.
struct Wish<'a> {
    value: Value,
    schema: &'a Schema,
}

/// What one step works with.
struct Work<'a> {
    readers: &'a dyn Readers,
    writers: &'a dyn Writers,
    store: &'a dyn Store,
    sessions: &'a mut BTreeMap<Session, Connected>,
}

impl Work<'_> {
    async fn run(mut self, address: &Address, step: &Step, wish: Option<Wish<'_>>) -> Result<Value, String> {
        match step.action {
            Action::Keep => Ok(step.record.value.clone()),
            Action::Record => {
                self.record(address, Some(&step.record)).await.map(|()| step.record.value.clone())
            }
            Action::Forget => self.record(address, None).await.map(|()| Value::null()),
            Action::Destroy => self.destroy(address, step).await.map(|()| Value::null()),
            Action::Read => Err("cannot be read yet".into()),
            Action::Create | Action::Update | Action::Replace { .. } => {
                let wish = wish.ok_or("nothing is declared here")?;
                completes(wish.schema, &step.record.value, &wish.value)?;
                if matches!(step.action, Action::Replace { .. }) {
                    self.destroy(address, step).await?;
                }
                self.make(address, step, wish).await
            }
        }
    }

    async fn connect(&mut self, session: &Session) -> Result<(), Error> {
        if !self.sessions.contains_key(session) {
            let settings = Value::null();
            let reader = self.readers.reader(session, &settings).await?;
            let writer = self.writers.writer(session, &settings).await?;
            self.sessions.insert(session.clone(), Connected { reader, writer });
        }
        Ok(())
    }

    async fn make(&mut self, address: &Address, step: &Step, wish: Wish<'_>) -> Result<Value, String> {
        let Wish { value: wish, schema } = wish;
        self.connect(&step.record.session).await.map_err(|e| chain(&e))?;
        let (operation, change) = match (&step.before, step.action) {
            (Some(before), Action::Update) => (Operation::Update, Change::Update { from: before.clone() }),
            _ => (Operation::Create, Change::Create),
        };
        self.begin(address, operation, Recorded { value: wish.clone(), ..step.record.clone() }).await?;
        let writer = &self.sessions[&step.record.session].writer;
        let made = writer.apply(&step.record.kind, wish.clone(), change).await.map_err(|e| chain(&e))?;
        let found = self.look(step, At::Recorded(made)).await?.ok_or("it was made, but is not there")?;
        if let Some(left) = diff(schema, &found, &wish).first() {
            let (wanted, found) = (brief(&left.after), brief(&left.before));
            return Err(format!("did not converge: `{}` should be {wanted} and is {found}", left.name));
        }
        self.record(address, Some(&Recorded { value: found.clone(), ..step.record.clone() })).await?;
        Ok(found)
    }

    async fn destroy(&mut self, address: &Address, step: &Step) -> Result<(), String> {
        let Some(before) = &step.before else { return self.record(address, None).await };
        self.connect(&step.record.session).await.map_err(|e| chain(&e))?;
        self.begin(address, Operation::Destroy, Recorded { value: before.clone(), ..step.record.clone() })
            .await?;
        let writer = &self.sessions[&step.record.session].writer;
        writer.destroy(&step.record.kind, before.clone()).await.map_err(|e| chain(&e))?;
        // As if it had never been recorded: what lives in state alone is gone with its record.
        if self.look(step, At::Declared(before.clone())).await?.is_some() {
            return Err("it was removed, but is still there".into());
        }
        self.record(address, None).await
    }

    async fn look(&self, step: &Step, at: At<Value>) -> Result<Option<Value>, String> {
        let reader = &self.sessions[&step.record.session].reader;
        let mut found = reader.observe(&step.record.kind, vec![at]).await;
        found.pop().ok_or("the provider did not answer")?.map_err(|e| chain(&e))
    }

    async fn begin(
        &mut self,
        address: &Address,
        operation: Operation,
        record: Recorded,
    ) -> Result<(), String> {
        let intent = Intent { operation, record };
        self.store
            .write(Write::Begin { object: Object::current(address.clone()), intent })
            .await
            .map_err(|e: StoreError| chain(&e))
    }

    async fn record(&mut self, address: &Address, recorded: Option<&Recorded>) -> Result<(), String> {
        self.store
            .write(Write::Settle { object: Object::current(address.clone()), recorded: recorded.cloned() })
            .await
            .map_err(|e: StoreError| chain(&e))
    }
}

/// A wish may fill in what the plan left unknown. It must not differ from what was planned and approved.
fn completes(schema: &Schema, planned: &Value, wish: &Value) -> Result<(), String> {
    for (name, attribute) in &schema.attributes {
        let (planned, wish) = (get(planned, name), get(wish, name));
        if !attribute.presence.is_configurable() || (attribute.presence.is_computed() && wish.is_null()) {
            continue;
        }
        if !wish.is_wholly_known() {
            return Err(format!("`{name}` is still not known"));
        }
        if planned.is_wholly_known() && planned != wish {
            let (planned, wish) = (brief(&planned), brief(&wish));
            return Err(format!("`{name}` was planned as {planned} and became {wish}: plan again"));
        }
    }
    Ok(())
}

/// An error with all its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn instance_of(target: &Target) -> Option<Address> {
    Some(Address { scope: target.scope.clone(), item: target.item.clone()?, key: target.key.clone() })
}
