//! What a writer notes while it does a step: the intent is written again, completed with what it takes to go on.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fleet_lang::Value;

use super::worker::{Stop, Worker};
use crate::address::Item;
use crate::diff::get;
use crate::event::{Event, Wait};
use crate::plan::chain;
use crate::provider::{Journal, Session};
use crate::resource::{BoxFuture, Error};
use crate::state::{Intent, Object, Write};

/// The journal of one step.
pub(super) struct Notes<'a> {
    worker: &'a Worker<'a>,
    object: &'a Object,
    intent: Mutex<Intent>,
    noted: Mutex<Option<Value>>,
}

impl<'a> Notes<'a> {
    /// Of a step whose intent is written.
    pub(super) fn new(worker: &'a Worker<'a>, object: &'a Object, intent: Intent) -> Notes<'a> {
        Notes { worker, object, intent: Mutex::new(intent), noted: Mutex::default() }
    }

    /// What was noted last.
    pub(super) fn last(&self) -> Option<Value> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Journal for Notes<'_> {
    fn note(&self, value: Value) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let intent = {
                let mut intent = self.intent.lock().unwrap_or_else(PoisonError::into_inner);
                intent.record.session = session_of(self.object, &intent.record.session, &value);
                intent.record.value = value.clone();
                intent.clone()
            };
            let written = self.worker.write(Write::Begin { object: self.object.clone(), intent }, true).await;
            *self.noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            written.map_err(|stop| match stop {
                Stop::Lost { error, .. } => {
                    Error::permanent(format!("it cannot be noted: {}", chain(&error)))
                }
                _ => Error::permanent("it cannot be noted"),
            })
        })
    }

    fn now(&self) -> Duration {
        self.worker.hands.clock.now()
    }

    fn wait(&self, until: Duration, on: Wait) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.worker.hands.listener.hear(&Event::StepWaiting { object: self.object, on });
            let clock = self.worker.hands.clock;
            while let Some(left) = until.checked_sub(clock.now()).filter(|left| !left.is_zero()) {
                clock.sleep(left).await;
            }
        })
    }

    fn warn(&self, message: String) {
        self.worker.warn(&self.object.address, message);
    }

    fn date(&self) -> u64 {
        u64::try_from(self.worker.outside.now() / 1_000_000_000).unwrap_or_default()
    }

    fn random(&self) -> String {
        let mut bytes = [0_u8; 8];
        self.worker.outside.random(&mut bytes);
        hex::encode(bytes)
    }
}

/// The session of an object once it is made: which machine a slot got, its host says.
pub(super) fn session_of(object: &Object, session: &Session, value: &Value) -> Session {
    match get(value, "machine").as_str() {
        Some(machine) if object.address.item == Item::Host && session.is_on_host() => {
            Session { alias: Some(machine.into()), ..session.clone() }
        }
        _ => session.clone(),
    }
}
