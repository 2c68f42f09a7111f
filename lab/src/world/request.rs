//! A request, from its coming to its answer.

use std::sync::Arc;

use serde_json::Value;

use super::World;
use crate::clock::Time;
use crate::fault::{Answer as FaultAnswer, Effect as FaultEffect, Fault, Subject};
use crate::log::Entry;
use crate::scaleway::route::route;
use crate::scaleway::{Answer, Call, ErrorType, Event, Outcome, Scaleway, Token};

/// A request as it came.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) secret: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// What is sent back.
pub(crate) enum Reply {
    Answer {
        answer: Answer,
        request_id: String,
    },
    /// A status, and words.
    Plain {
        status: u16,
        request_id: String,
    },
    Cut,
    Never,
}

/// A request in the log.
struct Noted {
    number: u64,
    request_id: String,
    /// What goes wrong with it, and the number of that.
    fault: Option<(u64, Fault)>,
    /// Who asks.
    caller: Result<Token, Outcome>,
}

impl World {
    /// A request, from its coming to its answer.
    pub(crate) async fn call(self: &Arc<World>, request: Request) -> Reply {
        let busy = self.clock.busy();
        let now = self.clock.time();
        let understood = understand(&request);
        let Noted { number, request_id, fault, caller } = self.note(&request, understood.as_ref(), now);
        let Some(call) = understood else {
            self.answered(number, Some(404), None);
            return Reply::Plain { status: 404, request_id };
        };
        let (fault_id, fault) = fault.map_or((None, Fault::new()), |(id, fault)| (Some(id), fault));
        let admitted = caller.and_then(|caller| {
            self.state().scaleway.admit(&caller, &call, now)?;
            Ok(caller)
        });
        let right = match admitted {
            Ok(caller) => self.carry_out(&call, &caller, &fault, number).await,
            Err(outcome) => (outcome.answer, outcome.refused),
        };
        self.state().log.change(number, |entry| entry.fault = fault_id);
        drop(busy);
        if !fault.answer_after.0.is_zero() {
            self.clock.until(now.after(fault.answer_after.0)).await;
        }
        let (answer, refused) = match fault.answer {
            FaultAnswer::Normal => right,
            FaultAnswer::Error(kind) => {
                let outcome = Scaleway::sample(kind, &call, now);
                (outcome.answer, outcome.refused)
            }
            FaultAnswer::Status(status) => {
                self.answered(number, Some(status), None);
                return Reply::Plain { status, request_id };
            }
            FaultAnswer::Cut => return Reply::Cut,
            FaultAnswer::Never => return Reply::Never,
        };
        self.answered(number, Some(answer.status), refused);
        Reply::Answer { answer, request_id }
    }

    /// Writes a request into the log, and finds out who asks and what goes wrong.
    fn note(&self, request: &Request, call: Option<&Call>, now: Time) -> Noted {
        let mut state = self.state();
        // Not by chance: how often somebody looks must not change what the world will be like.
        let name = format!("{}/{}", state.seed, state.log.after(0).len());
        let request_id = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, name.as_bytes()).to_string();
        let caller = state.scaleway.authenticate(request.secret.as_deref(), now).cloned();
        let token = caller.as_ref().ok().map(|token| token.id.clone());
        let fault = call.and_then(|call| {
            state.faults.strike(&Subject {
                method: &request.method,
                path: &request.path,
                operation: call.operation,
                server: call.server(),
                token: token.as_deref(),
            })
        });
        let shown = call.filter(|call| call.operation.resource() != "runner");
        let number = state.log.add(Entry {
            number: 0,
            request_id: request_id.clone(),
            at: now,
            token,
            method: request.method.clone(),
            path: match &request.query {
                Some(query) => format!("{}?{query}", request.path),
                None => request.path.clone(),
            },
            operation: call.map(|call| call.operation),
            server: call.and_then(Call::server).map(str::to_owned),
            body: shown.map_or(Value::Null, |call| call.body.clone()),
            status: None,
            error: None,
            effect_at: None,
            fault: None,
        });
        Noted { number, request_id, fault, caller }
    }

    fn answered(&self, number: u64, status: Option<u16>, error: Option<ErrorType>) {
        self.state().log.change(number, |entry| {
            entry.status = status;
            entry.error = error;
        });
        self.save_log();
    }

    /// Lets a request take effect when its fault says so; what is right to answer now.
    async fn carry_out(
        self: &Arc<World>,
        call: &Call,
        caller: &Token,
        fault: &Fault,
        number: u64,
    ) -> (Answer, Option<ErrorType>) {
        let now = self.clock.time();
        let seen = fault.stale.map_or(now, |age| now.before(age.0));
        if call.operation.reads() {
            let outcome = self.state().scaleway.perform(call, caller, now, seen);
            return (outcome.answer, outcome.refused);
        }
        let _turn = self.turn.lock().await;
        let outcome = match fault.effect {
            FaultEffect::Now => self.take_effect(call, caller, number).await,
            // What would be answered is found out in a copy of the books.
            FaultEffect::Never | FaultEffect::After(_) => {
                let mut copy = self.state().scaleway.clone();
                copy.perform(call, caller, now, seen)
            }
        };
        if let FaultEffect::After(delay) = fault.effect {
            let (caller, call) = (caller.id.clone(), Box::new(call.clone()));
            let late = Event::Late { entry: number, caller, call };
            self.state().scaleway.agenda.add(now.after(delay.0), late);
            self.settle();
        }
        (outcome.answer, outcome.refused)
    }
}

fn understand(request: &Request) -> Option<Call> {
    let mut call = route(&request.method, &request.path)?;
    let decode = |text: &str| {
        percent_encoding::percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
    };
    let query = request.query.as_deref().unwrap_or_default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        call.query.push((decode(name), decode(value)));
    }
    if !request.body.is_empty() {
        // What is no JSON is refused by whoever reads it, as anything that is no object.
        call.body = serde_json::from_slice(&request.body).unwrap_or(Value::Bool(false));
    }
    Some(call)
}
