//! A run that never was, for the tests of those who listen.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fleet_engine::address::{Address, Item, Key};
use fleet_engine::clock::Clock;
use fleet_engine::event::{Effect, Entry, Event, Failure, Ledger, Listener, Outcome, Wait};
use fleet_engine::plan::Action;
use fleet_engine::provider::Session;
use fleet_engine::resource::BoxFuture;
use fleet_engine::state::Object;

/// A clock that stands until it is told to go.
#[derive(Default)]
pub(super) struct Stuck(Mutex<Duration>);

impl Stuck {
    pub(super) fn pass(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
    }
}

impl Clock for Stuck {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A writer whose text can be read afterwards.
#[derive(Clone, Default)]
pub(super) struct Text(Arc<Mutex<Vec<u8>>>);

impl Text {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tells a listener.
pub(super) struct Script<'a> {
    listener: &'a dyn Listener,
    clock: &'a Arc<Stuck>,
}

impl<'a> Script<'a> {
    pub(super) fn new(listener: &'a dyn Listener, clock: &'a Arc<Stuck>) -> Script<'a> {
        Script { listener, clock }
    }

    /// One of everything that can happen.
    pub(super) fn play(&self) {
        let hear = |event: Event<'_>| self.listener.hear(&event);
        let pass = |seconds| self.clock.pass(Duration::from_secs(seconds));
        let session = Session::of("core");
        let elapsed = Duration::from_secs(2);
        hear(Event::Observing { session: &session, questions: 5 });
        pass(2);
        hear(Event::Observed { session: &session, failed: 1, elapsed });
        hear(Event::WaveStarted { wave: 1, steps: 5 });
        let [done, failed, skipped, late, lost] = [0, 1, 2, 3, 4].map(object);
        let old = Object { deposed: Some(1), ..done.clone() };
        hear(Event::StepStarted { object: &done, action: Action::Create });
        hear(Event::StepStarted { object: &failed, action: Action::Update });
        hear(Event::StepStarted { object: &lost, action: Action::Destroy });
        hear(Event::StepWaiting { object: &failed, on: Wait::World });
        hear(Event::Retrying {
            object: &failed,
            attempt: 1,
            after: Duration::from_millis(1500),
            why: "the \u{1b}[31mAPI\u{9b} is busy",
        });
        pass(3);
        let failure = Failure::new("cannot write:\ndisk full").effect(Effect::Perhaps).help("make room");
        let mut ledger = Ledger { elapsed: Duration::from_secs(9), ..Ledger::default() };
        let mut end = |object: &Object, action, outcome, seconds| {
            let elapsed = Duration::from_secs(seconds);
            hear(Event::StepEnded { object, action, outcome: &outcome, elapsed });
            ledger.entries.insert(object.clone(), Entry { action, outcome, elapsed });
        };
        end(&done, Action::Create, Outcome::Done, 0);
        end(&old, Action::Destroy, Outcome::Done, 61);
        end(&failed, Action::Update, Outcome::Failed(failure), 3);
        let because = failed.address.clone();
        end(&skipped, Action::Replace { create_first: false }, Outcome::Skipped(because), 0);
        hear(Event::Interrupted { again: false });
        hear(Event::StoreLost { message: "the disk is full", recovery: None });
        hear(Event::StoreLost { message: "the disk is full", recovery: Some(".fleet/recovery.jsonl") });
        hear(Event::Interrupted { again: true });
        end(&lost, Action::Destroy, Outcome::Unknown("the connection was cut".into()), 4);
        end(&late, Action::Create, Outcome::NotStarted, 0);
        hear(Event::WaveStarted { wave: 2, steps: 1 });
        hear(Event::Finished { ledger: &ledger });
    }

    /// Many steps begin and none ends.
    pub(super) fn begin_many(&self, steps: usize) {
        self.listener.hear(&Event::WaveStarted { wave: 1, steps });
        for index in 0..steps {
            let object = object(index as u64);
            self.listener.hear(&Event::StepStarted { object: &object, action: Action::Create });
        }
    }
}

pub(super) fn object(index: u64) -> Object {
    let item = Item::Resource("core_file".into(), "a".into());
    Object {
        address: Address { scope: Default::default(), item, key: Some(Key::Index(index)) },
        deposed: None,
    }
}
