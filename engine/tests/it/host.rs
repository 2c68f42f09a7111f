//! A kind on a host, through its whole life in a host of memory.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use fleet_derive::Schema;
use fleet_engine::attributes::{Attributes, Misfit};
use fleet_engine::host::probe::{File, Found, Output, What};
use fleet_engine::host::{
    Act, Answer, Bytes, Content, HostKind, HostReader, HostWriter, OnHost, Operand, Probe, Read, Reply, Step,
    Tool,
};
use fleet_engine::kind::Kind;
use fleet_engine::resource::{At, BoxFuture, Change, Error, Resource};
use fleet_engine::schema::Place;
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
        let content = Bytes(self.text.unwrap_or_default().into_bytes());
        let mode = u32::try_from(self.mode).map_err(|_| Misfit::new("mode", "permission bits are needed"))?;
        Ok(vec![Step::new(Act::Write { path: self.path, content, mode, owner: None })])
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
    fn work(&self, steps: Vec<Step>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let mut files = self.files.lock().unwrap();
            for step in steps {
                match step.act {
                    Act::Write { path, content, mode, .. } => _ = files.insert(path, (content.0, mode)),
                    Act::Remove { path } => _ = files.remove(&path),
                    other => panic!("{other:?} is not done here"),
                }
            }
            Ok(())
        })
    }
}

type OnMemory = dyn Kind<Arc<dyn HostReader>, Arc<dyn HostWriter>>;
const NOTE: &OnMemory = &OnHost::<Note>::KIND;

/// Nothing in memory keeps anybody waiting.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

struct Host(Arc<Memory>, Arc<dyn HostReader>, Arc<dyn HostWriter>);

impl Host {
    fn new() -> Host {
        let memory = Arc::new(Memory::default());
        Host(memory.clone(), memory.clone(), memory)
    }

    fn see(&self, at: At<Value>) -> Result<Option<Value>, Error> {
        now(NOTE.observe(&self.1, vec![at])).remove(0)
    }

    fn make(&self, wish: &Note, change: Change<Value>) {
        now(NOTE.apply(&self.2, wish.to_value(), change)).unwrap();
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
        now(NOTE.destroy(&host.2, there(&second))).unwrap();
        assert_eq!(host.see(At::Recorded(there(&second))).unwrap(), None);
    }
}

#[test]
fn a_batch_is_one_round_trip_and_each_question_has_its_answer() {
    let host = Host::new();
    host.make(&note("/b", "x", 0o644), Change::Create);
    let unreadable = Value::object([("path".into(), 1.into())].into());
    let ask = |path: &str| At::Declared(note(path, "", 0).to_value());
    let answers = now(NOTE.observe(&host.1, vec![ask("/a"), At::Recorded(unreadable), ask("/b")]));
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
    let entry = NOTE.entry("host");
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
