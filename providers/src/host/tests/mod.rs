//! Laws that hold for every kind on a host, whatever host it is.
//!
//! A [`Case`] is a kind with a wish, wishes that it is changed to, and what is done behind our back, with what must be
//! seen of that. [`laws`] goes through the life of the thing as the engine does.

mod cases;
mod local;
mod memory;

use std::fmt::Debug;

use fleet_engine::diff::diff;
use fleet_engine::host::{HostKind, Probe, Reply, Step};
use fleet_engine::resource::{At, Change, Error};
use fleet_lang::Value;

/// A host that tests can change behind our back.
pub(super) trait World {
    fn ask(&self, probe: &Probe) -> Result<Reply, Error>;
    fn work(&self, steps: Vec<Step>) -> Result<(), Error>;
    /// Writes a file; its mode stays.
    fn put(&self, path: &str, content: &[u8]);
    fn link(&self, path: &str, target: &str);
    fn mode(&self, path: &str, mode: u32);
    /// Gives something away; false if nobody can here.
    fn owner(&self, path: &str, owner: &str, group: &str) -> bool;
    fn delete(&self, path: &str);
    /// Where a path is for a script, which knows of no root.
    fn real(&self, path: &str) -> String;
    fn content(&self, path: &str) -> Option<Vec<u8>>;
    /// All there is, to tell one state from another.
    fn everything(&self) -> String;
    /// Makes a file on the machine that runs fleet, and says where.
    fn local(&self, name: &str, content: &[u8]) -> String;
    /// Makes an archive there, and says where, and its digest.
    fn archive(&self, name: &str, files: &[(&str, &str)]) -> (String, String);
}

/// What must be seen of a change behind our back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    /// These attributes differ, and no others.
    Changed(&'static [&'static str]),
    /// It is not there any more.
    Gone,
    /// Nothing, because it is somebody else's.
    Nothing,
}

type Tamper<'a> = (Box<dyn Fn() + 'a>, Seen);

/// The life of a thing.
pub(super) struct Case<'a, K> {
    pub(super) wish: K,
    /// It is changed to these in place, one after the other.
    pub(super) others: Vec<K>,
    /// What is done behind our back; each is mended.
    pub(super) tampers: Vec<Tamper<'a>>,
    /// Attributes that may be secret: a record has null there, and the thing is found all the same.
    pub(super) secret: &'static [&'static str],
    /// Whether it is there before it was made, because it is the state of something that always is.
    pub(super) always: bool,
}

pub(super) fn see<K: HostKind>(world: &dyn World, at: &At<K>) -> Result<Option<K>, Error> {
    K::parse(at, &world.ask(&K::probe(at)?)?)
}

fn changed<K: HostKind>(found: &K, wish: &K) -> Vec<String> {
    let changes = diff(&K::schema(), &found.to_value(), &wish.to_value(), None);
    changes.into_iter().map(|change| change.name.to_string()).collect()
}

/// Makes a wish come true as the engine does: look, act, read back. What was found is what is recorded.
pub(super) fn converge<K: HostKind>(world: &dyn World, wish: &K, at: &At<K>) -> Result<K, Error> {
    let change = match see(world, at)? {
        Some(from) => Change::Update { from },
        None => Change::Create,
    };
    world.work(wish.clone().steps(change)?)?;
    see(world, &At::Recorded(wish.clone()))?.ok_or_else(|| Error::permanent("it was made, but is not there"))
}

pub(super) fn laws<K: HostKind + Debug + PartialEq>(world: &dyn World, case: Case<'_, K>) {
    let Case { mut wish, others, tampers, secret, always } = case;
    wish.normalize().unwrap();
    let normal = wish.clone();
    wish.normalize().unwrap();
    assert_eq!(wish, normal, "what is normal stays as it is");

    let before = world.everything();
    let declared = At::Declared(wish.clone());
    let found = see(world, &declared).unwrap();
    assert_eq!(found.is_some(), always, "{found:?}");
    let record = converge(world, &wish, &declared).unwrap();
    assert_eq!(changed(&record, &wish), [""; 0], "what was made is what was wished: {record:?}");
    let made = world.everything();

    let again = see(world, &At::Recorded(record.clone())).unwrap().unwrap();
    assert_eq!(again, record, "the record finds it as it was");
    let begun = At::Begun { wish: wish.clone(), except: Vec::new() };
    assert!(see(world, &begun).unwrap().is_some(), "what was begun is found by the wish");
    let mut seen = record.clone();
    seen.normalize().unwrap();
    assert_eq!(seen, record, "what is seen is normal");

    let sealed = without(&record, secret);
    let again = see(world, &At::Recorded(sealed.clone())).unwrap().unwrap();
    assert_eq!(changed(&again, &wish), [""; 0], "it is found without its secrets: {sealed:?}");

    for change in [Change::Create, Change::Update { from: record.clone() }] {
        world.work(wish.clone().steps(change.clone()).unwrap()).unwrap();
        assert_eq!(world.everything(), made, "again {change:?} changes nothing");
    }
    let from_nothing = converge(world, &wish, &declared).unwrap();
    assert_eq!(changed(&from_nothing, &wish), [""; 0], "a lost record does no harm");
    assert_eq!(world.everything(), made);

    for (at, (tamper, expected)) in tampers.iter().enumerate() {
        tamper();
        let tampered = world.everything();
        let found = see(world, &At::Recorded(record.clone())).unwrap();
        assert_eq!(world.everything(), tampered, "looking changes nothing");
        match (expected, &found) {
            (Seen::Gone, None) => {}
            (Seen::Changed(names), Some(found)) => {
                assert_eq!(changed(found, &wish), *names, "tamper {at}: {found:?}");
            }
            (Seen::Nothing, Some(found)) => {
                assert_eq!(changed(found, &wish), [""; 0], "tamper {at}: {found:?}");
            }
            _ => panic!("tamper {at}: {expected:?} was expected, and seen was {found:?}"),
        }
        let mended = converge(world, &wish, &At::Recorded(record.clone())).unwrap();
        assert_eq!(changed(&mended, &wish), [""; 0], "tamper {at} is mended");
        if !matches!(expected, Seen::Nothing) {
            assert_eq!(world.everything(), made, "tamper {at} is mended");
        }
    }

    let mut record = see(world, &At::Recorded(record)).unwrap().unwrap();
    for other in others {
        let mut other = other;
        other.normalize().unwrap();
        assert_ne!(changed(&record, &other), [""; 0], "{other:?} is another wish");
        record = converge(world, &other, &At::Recorded(record)).unwrap();
        assert_eq!(changed(&record, &other), [""; 0], "{other:?}");
        let found = see(world, &At::Recorded(record.clone())).unwrap().unwrap();
        assert_eq!(changed(&found, &other), [""; 0], "{other:?} stays");
    }

    for _ in 0..2 {
        let probe = K::probe(&At::Recorded(record.clone())).unwrap();
        world.work(K::remove(record.clone()).unwrap()).unwrap();
        let left = K::left(record.clone(), &world.ask(&probe).unwrap()).unwrap();
        assert_eq!(left, None, "it is gone");
    }
    let is_left = tampers.iter().any(|(_, seen)| matches!(seen, Seen::Nothing));
    if !is_left && !always {
        assert_eq!(world.everything(), before, "nothing is left");
    }
}

/// The record of something, with null in the place of what is secret.
fn without<K: HostKind>(record: &K, secret: &[&str]) -> K {
    let value = record.to_value();
    let entries = value.entries().unwrap().iter().map(|(name, value)| {
        let value = if secret.contains(&&**name) { Value::null_of(value.ty()) } else { value.clone() };
        (name.clone(), value)
    });
    K::from_value(&Value::object(entries.collect())).unwrap()
}
