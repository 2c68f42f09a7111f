//! The vendor's books, the machines behind them, and what happens between them as requests come and time goes by.

mod machines;
mod request;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::{Clock, Time};
use crate::control::ServerEdit;
use crate::disk;
use crate::fault::Faults;
use crate::log::Log;
use crate::machine::{Factory, Failed, Machine};
use crate::scaleway::{Call, Effect, Event, Outcome, Scaleway, Token};
pub(crate) use request::{Reply, Request};

/// Everything that is remembered.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) seed: u64,
    pub(crate) scaleway: Scaleway,
    pub(crate) faults: Faults,
    #[serde(skip)]
    pub(crate) log: Log,
    /// What machines could not do.
    pub(crate) troubles: Vec<Trouble>,
}

/// A machine could not do what it was told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trouble {
    /// When.
    pub at: Time,
    /// Which.
    pub server: String,
    /// Why.
    pub message: String,
}

pub(crate) struct World {
    pub(crate) clock: Clock,
    pub(crate) directory: PathBuf,
    /// Whether what changes is written down.
    pub(crate) durable: bool,
    factory: Arc<dyn Factory>,
    state: Mutex<State>,
    machines: Mutex<BTreeMap<String, Arc<dyn Machine>>>,
    /// Changes happen one after the other, with what they do to machines.
    turn: tokio::sync::Mutex<()>,
    /// For which moments the clock is set.
    armed: Mutex<BTreeSet<Time>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(
        state: State,
        clock: Clock,
        directory: PathBuf,
        durable: bool,
        factory: Arc<dyn Factory>,
    ) -> Arc<World> {
        Arc::new(World {
            clock,
            directory,
            durable,
            factory,
            state: Mutex::new(state),
            machines: Mutex::default(),
            turn: tokio::sync::Mutex::new(()),
            armed: Mutex::default(),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    pub(crate) fn machine(&self, server: &str) -> Option<Arc<dyn Machine>> {
        locked(&self.machines).get(server).cloned()
    }

    /// Changes the books behind the API's back.
    pub(crate) async fn edit<T>(self: &Arc<World>, edit: impl FnOnce(&mut Scaleway, Time) -> T) -> T {
        let _turn = self.turn.lock().await;
        let result = edit(&mut self.state().scaleway, self.clock.time());
        self.settle();
        result
    }

    /// The id of a server of an id or a name.
    pub(crate) fn find(&self, server: &str) -> Option<String> {
        let state = self.state();
        let found = state.scaleway.servers.all().find(|one| one.id == server || one.name == server);
        found.map(|server| server.id.clone())
    }

    /// Changes a server behind the API's back.
    pub(crate) async fn edit_server(self: &Arc<World>, id: &str, edit: ServerEdit) {
        let (power, disturbance) = (edit.power, edit.disturb);
        self.edit(|scaleway, now| {
            if let Some(status) = edit.status {
                scaleway.set_status(id, status, now);
            }
            scaleway.servers.change(id, now, |server| {
                server.name = edit.name.unwrap_or_else(|| server.name.clone());
                server.tags = edit.tags.unwrap_or_else(|| server.tags.clone());
                server.secrets_sealed = edit.secrets_sealed.unwrap_or(server.secrets_sealed);
            });
        })
        .await;
        if let Some(on) = power {
            let _turn = self.turn.lock().await;
            let id = id.to_owned();
            let effect = if on { Effect::Boot(id, None) } else { Effect::Halt(id) };
            self.act(vec![effect]).await;
        }
        if let (Some(disturbance), Some(machine)) = (disturbance, self.machine(id))
            && let Err(Failed(message)) = machine.disturb(disturbance)
        {
            let (at, server) = (self.clock.time(), id.to_owned());
            self.state().troubles.push(Trouble { at, server, message });
        }
    }

    /// Changes the books as a request says, and the machines behind them.
    async fn take_effect(self: &Arc<World>, call: &Call, caller: &Token, number: u64) -> Outcome {
        let now = self.clock.time();
        let mut outcome = {
            let mut state = self.state();
            let outcome = state.scaleway.perform(call, caller, now, now);
            let done = outcome.answer.status < 300;
            let made = outcome.answer.body["id"].as_str().map(str::to_owned);
            state.log.change(number, |entry| {
                entry.effect_at = done.then_some(now);
                if done && call.operation.resource() == "server" && entry.server.is_none() {
                    entry.server = made;
                }
            });
            outcome
        };
        self.act(std::mem::take(&mut outcome.effects)).await;
        self.settle();
        outcome
    }

    /// Lets everything happen that is due.
    async fn run_due(self: &Arc<World>) {
        let _turn = self.turn.lock().await;
        let now = self.clock.time();
        loop {
            let next = self.state().scaleway.agenda.next(now);
            let effects = match next {
                None => break,
                Some(Event::Late { entry, caller, call }) => {
                    let token = self.state().scaleway.tokens.iter().find(|token| token.id == caller).cloned();
                    if let Some(token) = token {
                        self.take_effect(&call, &token, entry).await;
                    }
                    Vec::new()
                }
                Some(event) => {
                    let up = |server: &str| self.machine(server).is_some_and(|machine| machine.is_up());
                    self.state().scaleway.happen(&event, now, up)
                }
            };
            self.act(effects).await;
        }
        self.settle();
    }

    /// After each change: sets the clock for what comes, and writes down what is.
    pub(crate) fn settle(self: &Arc<World>) {
        let times: Vec<Time> = self.state().scaleway.agenda.times().collect();
        for time in times {
            if locked(&self.armed).insert(time) {
                let world: Weak<World> = Arc::downgrade(self);
                self.clock.at(time, async move {
                    if let Some(world) = world.upgrade() {
                        locked(&world.armed).remove(&time);
                        world.run_due().await;
                    }
                });
            }
        }
        self.save();
    }

    /// Writes down what is, if that is wanted.
    pub(crate) fn save(&self) {
        self.save_log();
        if self.durable {
            let mut state = self.state();
            let saved = disk::save(&self.directory, &state, &self.clock);
            self.report(&mut state, saved);
        }
    }

    fn save_log(&self) {
        if self.durable {
            let mut state = self.state();
            let saved = disk::append_log(&self.directory, &mut state.log);
            self.report(&mut state, saved);
        }
    }

    fn report(&self, state: &mut State, saved: std::io::Result<()>) {
        if let Err(error) = saved {
            let message = error.to_string();
            state.troubles.push(Trouble { at: self.clock.time(), server: String::new(), message });
        }
    }

    /// Everything about one server, by its id or its name.
    pub(crate) async fn inspect(&self, server: &str) -> Option<Value> {
        let id = self.find(server)?;
        let (found, history) = {
            let servers = &self.state().scaleway.servers;
            (servers.get(&id).cloned()?, servers.history(&id).to_vec())
        };
        let machine = match self.machine(&found.id) {
            Some(machine) => {
                json!({
                    "ssh_port": machine.ssh_port(), "is_up": machine.is_up(), "inside": machine.inspect().await,
                })
            }
            None => Value::Null,
        };
        Some(json!({ "server": found, "machine": machine, "history": history }))
    }
}
