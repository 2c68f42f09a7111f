//! A kind on a host, through its whole life in a host of memory.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use fleet_derive::Schema;
use fleet_engine::address::ScopePath;
use fleet_engine::attributes::{Attributes, Misfit};
use fleet_engine::event::Wait;
use fleet_engine::host::probe::{File, Found, Output, What};
use fleet_engine::host::step::{self, Keep};
use fleet_engine::host::{
    Act, Answer, Bytes, Content, Holder, HostKind, HostReader, HostThing, HostWriter, Hosts, OnHost, Operand,
    Probe, Reach, Read, Reply, Step, Tool, Work,
};
use fleet_engine::kind::Kind;
use fleet_engine::provider::{Ask, Journal, Provider, ReadBack, Reader, Readers, Session, Writer, Writers};
use fleet_engine::registry::Registry;
use fleet_engine::resource::{At, BoxFuture, Change, Error, Resource};
use fleet_engine::schema::{Catalog, Place, Sort};
use fleet_lang::Value;
use proptest::prelude::*;

/// A note for those who log in.
#[derive(Clone, Debug, PartialEq, Schema)]
struct Note {
    /// Where it lies.
    #[fleet(replace)]
    path: String,
    /// What it says.
    text: Option<String>,
    /// The permission bits.
    #[fleet(default = 0o644)]
    mode: i64,
    /// The name of the host it lies on.
    #[fleet(computed)]
    host: Option<String>,
}

impl Resource for Note {
    const NAME: &'static str = "host_note";
    const ID: Option<&'static str> = Some("the path");

    fn normalize(&mut self) -> Result<(), Misfit> {
        if self.path.starts_with('/') { Ok(()) } else { Err(Misfit::new("path", "a whole path is needed")) }
    }
}

impl HostKind for Note {
    fn probe(at: &At<Note>) -> Result<Probe, Error> {
        Ok(Probe::new()
            .content(path_of(at), Content::Whole)
            .tool(Tool::Sysctl, [Operand::new("kern.hostname")?]))
    }

    fn parse(at: &At<Note>, reply: &Reply) -> Result<Option<Note>, Error> {
        let Some(found) = reply.path(0)? else { return Ok(None) };
        let What::File(file) = &found.what else { return Err(Error::permanent("it is no file")) };
        let host = String::from_utf8_lossy(&reply.output(1)?.stdout).trim().to_owned();
        Ok(Some(Note {
            path: path_of(at).to_owned(),
            text: file.content.clone().and_then(|content| String::from_utf8(content).ok()),
            mode: found.mode.into(),
            host: Some(host),
        }))
    }

    fn steps(self, _: Change<Note>) -> Result<Vec<Step>, Error> {
        let content = step::Content::Bytes(Bytes(self.text.unwrap_or_default().into_bytes()));
        let mode = u32::try_from(self.mode).map_err(|_| Misfit::new("mode", "permission bits are needed"))?;
        let keep = Keep { mode: Some(mode), ..Keep::default() };
        Ok(vec![Step::new(Act::Write { path: self.path, content, keep, validate: None })])
    }

    fn remove(observed: Note) -> Result<Vec<Step>, Error> {
        Ok(vec![Step::new(Act::Remove { path: observed.path })])
    }
}

fn path_of(at: &At<Note>) -> &str {
    match at {
        At::Recorded(note) | At::Declared(note) | At::Begun { wish: note, .. } => &note.path,
        At::Id(path) => path,
    }
}

/// A host that is a map of files.
#[derive(Default)]
struct Memory {
    files: Mutex<BTreeMap<String, (Vec<u8>, u32)>>,
    round_trips: Mutex<usize>,
}

impl Memory {
    fn read(&self, read: &Read) -> Answer {
        match read {
            Read::Path(path, _) => {
                Answer::Path(self.files.lock().unwrap().get(path).map(|(content, mode)| {
                    let (size, content) = (content.len() as u64, Some(content.clone()));
                    let what = What::File(File { size, digest: None, content });
                    Found { what, mode: *mode, owner: "m1".into(), group: "staff".into() }
                }))
            }
            Read::Tool(Tool::Sysctl, _) => {
                Answer::Output(Output { stdout: b"mini-a\n".to_vec(), ..Output::default() })
            }
            other => panic!("{other:?} is not asked here"),
        }
    }
}

impl HostReader for Memory {
    fn ask(&self, probes: Vec<Probe>) -> BoxFuture<'_, Vec<Result<Reply, Error>>> {
        *self.round_trips.lock().unwrap() += 1;
        let reply = |probe: &Probe| Ok(Reply(probe.reads().iter().map(|read| self.read(read)).collect()));
        Box::pin(async move { probes.iter().map(reply).collect() })
    }
}

impl HostWriter for Memory {
    fn work(&self, work: Work) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move {
            let mut files = self.files.lock().unwrap();
            for step in work.steps {
                match step.act {
                    Act::Write { path, content: step::Content::Bytes(content), keep, .. } => {
                        _ = files.insert(path, (content.0, keep.mode.unwrap_or(0o644)));
                    }
                    Act::Remove { path } => _ = files.remove(&path),
                    other => panic!("{other:?} is not done here"),
                }
            }
            drop(files);
            *self.round_trips.lock().unwrap() += 1;
            Ok(Reply(work.read_back.reads().iter().map(|read| self.read(read)).collect()))
        })
    }
}

/// The way to the one host there is.
struct ToMemory(Arc<Memory>);

impl Hosts for ToMemory {
    fn reader(&self, _: &Reach) -> Arc<dyn HostReader> {
        self.0.clone()
    }

    fn meet(&self, _: &Reach) -> Arc<dyn HostReader> {
        self.0.clone()
    }

    fn writer(&self, _: &Reach, _: &Holder) -> Arc<dyn HostWriter> {
        self.0.clone()
    }
}

/// A provider with a kind that lives on hosts.
pub(crate) struct Notes;

/// Nothing to say.
#[derive(Clone, Debug, PartialEq, Schema)]
pub(crate) struct NoSettings {}

impl Provider for Notes {
    const NAME: &'static str = "host";
    type Settings = NoSettings;
    type Reader = ();
    type Writer = ();
    const KINDS: &'static [&'static dyn Kind<(), ()>] = &[];
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[&OnHost::<Note>::KIND];

    async fn reader(&self, _: NoSettings) -> Result<(), Error> {
        Ok(())
    }

    async fn writer(&self, _: NoSettings) -> Result<(), Error> {
        Ok(())
    }
}

/// Nobody notes anything here, or waits.
struct Unused;

impl Journal for Unused {
    fn note(&self, _: Value) -> BoxFuture<'_, Result<(), Error>> {
        unreachable!("nothing is noted")
    }

    fn now(&self) -> Duration {
        unreachable!("nobody asks for the time")
    }

    fn wait(&self, _: Duration, _: Wait) -> BoxFuture<'_, ()> {
        unreachable!("nobody waits")
    }

    fn warn(&self, message: String) {
        panic!("{message}")
    }

    fn date(&self) -> u64 {
        unreachable!("nobody asks for the date")
    }

    fn random(&self) -> String {
        unreachable!("nobody asks for a name")
    }
}

/// Nothing in memory keeps anybody waiting.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

struct Host(Arc<Memory>, Arc<dyn Reader>, Arc<dyn Writer>);

impl Host {
    fn new() -> Host {
        let memory = Arc::new(Memory::default());
        let registry = Registry::new().with(Notes).with_hosts(Arc::new(ToMemory(memory.clone())));
        let session = Session::on_host(ScopePath::parse("fleet.desk[0]").unwrap(), None);
        let settings = [("kind", "local"), ("slot", "fleet.desk[0]"), ("ledger", "/ledger")];
        let settings = settings.map(|(name, text)| (name.into(), Value::from(text)));
        let settings = Value::object(settings.into_iter().collect());
        let holder = Holder { lineage: "l".into(), fence: 1, by: "me".into() };
        let reader = now(registry.reader(&session, &settings)).unwrap();
        Host(memory, reader, now(registry.writer(&session, &settings, &holder)).unwrap())
    }

    fn ask(&self, batch: Vec<At<Value>>) -> Vec<Result<Option<Value>, Error>> {
        now(self.1.look(batch.into_iter().map(|at| ("host_note".into(), Ask::Object(at))).collect()))
    }

    fn see(&self, at: At<Value>) -> Result<Option<Value>, Error> {
        self.ask(vec![at]).remove(0)
    }

    fn make(&self, wish: &Note, change: Change<Value>) {
        let (_, read_back) = now(self.2.apply("host_note", wish.to_value(), change, None, &Unused)).unwrap();
        let seen = self.see(At::Recorded(wish.to_value())).unwrap();
        assert_eq!(read_back, ReadBack::Found(seen));
    }

    fn remove(&self, observed: Value) -> ReadBack {
        now(self.2.destroy("host_note", observed, None, &Unused)).unwrap()
    }
}

fn note(path: &str, text: &str, mode: i64) -> Note {
    Note { path: path.into(), text: Some(text.into()), mode, host: None }
}

#[test]
fn a_kind_lives_and_dies_on_a_host() {
    let host = Host::new();
    let first = note("/etc/motd", "one", 0o640);
    assert_eq!(host.see(At::Declared(first.to_value())).unwrap(), None);
    host.make(&first, Change::Create);
    let there = |note: &Note| Note { host: Some("mini-a".into()), ..note.clone() }.to_value();
    assert_eq!(host.see(At::Id("/etc/motd".into())).unwrap(), Some(there(&first)));

    let second = note("/etc/motd", "two", 0o644);
    host.make(&second, Change::Update { from: there(&first) });
    assert_eq!(host.see(At::Recorded(there(&first))).unwrap(), Some(there(&second)));

    for _ in 0..2 {
        assert_eq!(host.remove(there(&second)), ReadBack::Found(None));
        assert_eq!(host.see(At::Recorded(there(&second))).unwrap(), None);
    }
}

#[test]
fn a_batch_is_one_round_trip_and_each_question_has_its_answer() {
    let host = Host::new();
    host.make(&note("/b", "x", 0o644), Change::Create);
    let unreadable = Value::object([("path".into(), 1.into())].into());
    let ask = |path: &str| At::Declared(note(path, "", 0).to_value());
    *host.0.round_trips.lock().unwrap() = 0;
    let answers = host.ask(vec![ask("/a"), At::Recorded(unreadable), ask("/b")]);
    let tell = |answer: &Result<Option<Value>, Error>| match answer {
        Ok(found) => found.is_some().to_string(),
        Err(error) => error.to_string(),
    };
    let told: Vec<String> = answers.iter().map(tell).collect();
    assert_eq!(told, ["false", "path: a string is needed, not another type", "true"]);
    assert_eq!(*host.0.round_trips.lock().unwrap(), 1);
}

#[test]
fn the_catalogue_knows_that_it_lives_on_a_host() {
    let registry = Registry::new().with(Notes);
    let entry = registry.find(Sort::Resource, "host_note").unwrap();
    assert_eq!((entry.place, entry.id, &*entry.provider), (Place::Host, Some("the path"), "host"));
}

proptest! {
    /// Whatever was there, what is found after the steps is the wish.
    #[test]
    fn steps_make_what_is_wished(
        wishes in prop::collection::vec(("/[ab]", any::<String>(), 0_i64..0o10000), 1..8),
    ) {
        let host = Host::new();
        for (path, text, mode) in wishes {
            let wish = note(&path, &text, mode);
            let change = match host.see(At::Declared(wish.to_value())).unwrap() {
                Some(from) => Change::Update { from },
                None => Change::Create,
            };
            host.make(&wish, change);
            let found = host.see(At::Declared(wish.to_value())).unwrap().unwrap();
            prop_assert_eq!(Note { host: None, ..Note::from_value(&found).unwrap() }, wish);
        }
    }
}
