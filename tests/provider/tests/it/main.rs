//! The test world through the eyes of the engine.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Arc;
use std::time::Duration;

use fleet_engine::attributes::Attributes;
use fleet_engine::event::Wait;
use fleet_engine::host::Holder;
use fleet_engine::provider::{Ask, Journal, Reader, Readers, Session, Writer, Writers};
use fleet_engine::registry::Registry;
use fleet_engine::resource::{At, BoxFuture, Change, Error};
use fleet_engine::schema::{Catalog, Sort};
use fleet_lang::Value;
use fleet_test_provider::world::TOKEN;
use fleet_test_provider::{Fault, Operation, Server, Test, World};

const KIND: &str = "test_server";

/// Nothing here is noted in the middle of a step.
struct Unused;

impl Journal for Unused {
    fn note(&self, _: Value) -> BoxFuture<'_, Result<(), Error>> {
        unreachable!("nothing is noted")
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn wait(&self, _: Duration, _: Wait) -> BoxFuture<'_, ()> {
        unreachable!("nobody waits")
    }

    fn warn(&self, message: String) {
        panic!("{message}")
    }

    fn date(&self) -> u64 {
        0
    }

    fn random(&self) -> String {
        String::new()
    }
}

fn registry() -> Registry {
    Registry::new().with(Test)
}

fn settings(world: &World, token: &str, timeout: i64) -> Value {
    let settings =
        [("url", world.url().as_str().into()), ("token", token.into()), ("timeout", timeout.into())];
    Value::object(settings.map(|(name, value): (&str, Value)| (name.into(), value)).into())
}

async fn connect(settings: &Value) -> (Arc<dyn Reader>, Arc<dyn Writer>) {
    let (registry, session) = (registry(), Session::of("test"));
    let holder = Holder { lineage: "l".into(), fence: 1, by: "me".into() };
    let reader = registry.reader(&session, settings).await.unwrap();
    (reader, registry.writer(&session, settings, &holder).await.unwrap())
}

async fn connected(world: &World) -> (Arc<dyn Reader>, Arc<dyn Writer>) {
    connect(&settings(world, TOKEN, 60_000)).await
}

fn wish(name: &str) -> Value {
    let server = Server { name: name.into(), zone: "a".into(), size: 1, ..Server::default() };
    server.to_value()
}

async fn apply(writer: &dyn Writer, wish: Value, change: Change<Value>) -> Result<Value, Error> {
    writer.apply(KIND, wish, change, None, &Unused).await.map(|(made, _)| made)
}

async fn look(reader: &dyn Reader, places: Vec<At<Value>>) -> Vec<Result<Option<Value>, Error>> {
    reader.look(places.into_iter().map(|at| (KIND.into(), Ask::Object(at))).collect()).await
}

async fn see(reader: &dyn Reader, at: At<Value>) -> Result<Option<Server>, Error> {
    let found = look(reader, vec![at]).await.remove(0)?;
    Ok(found.map(|value| Server::from_value(&value).unwrap()))
}

#[tokio::test]
async fn a_server_is_made_found_changed_and_removed() {
    let world = World::start();
    let (reader, writer) = connected(&world).await;
    assert_eq!(see(&*reader, At::Declared(wish("a"))).await.unwrap(), None);
    let made = apply(&*writer, wish("a"), Change::Create).await.unwrap();
    let server = see(&*reader, At::Recorded(made.clone())).await.unwrap().unwrap();
    assert_eq!(see(&*reader, At::Declared(wish("a"))).await.unwrap().as_ref(), Some(&server));
    let id = server.id.clone().unwrap();
    assert_eq!(see(&*reader, At::Id(id.into())).await.unwrap().as_ref(), Some(&server));

    let larger = Server { size: 3, join_token: Some("t".into()), ..server.clone() };
    apply(&*writer, larger.to_value(), Change::Update { from: made.clone() }).await.unwrap();
    let seen = see(&*reader, At::Recorded(made.clone())).await.unwrap().unwrap();
    assert_eq!((seen.size, &seen.join_token, &seen.console_key), (3, &None, &server.console_key));
    assert_ne!(seen.address, server.address);
    assert_eq!(world.server("a").join_token.as_deref(), Some("t"));

    writer.destroy(KIND, made.clone(), None, &Unused).await.unwrap();
    writer.destroy(KIND, made.clone(), None, &Unused).await.unwrap();
    assert_eq!(see(&*reader, At::Recorded(made)).await.unwrap(), None);
    assert_eq!(world.servers(), []);
}

#[tokio::test]
async fn a_batch_costs_one_call() {
    let world = World::start();
    let (reader, _) = connected(&world).await;
    let id = world.put(Server { name: "b".into(), zone: "a".into(), ..Server::default() });
    let found = look(&*reader, vec![At::Declared(wish("a")), At::Id(id.into())]).await;
    assert_eq!(
        found.iter().map(|found| found.as_ref().unwrap().is_some()).collect::<Vec<_>>(),
        [false, true]
    );
    assert_eq!(world.seen().calls, [(Operation::List, 1)].into());
}

#[tokio::test]
async fn asking_twice_makes_two() {
    let world = World::start();
    let (reader, writer) = connected(&world).await;
    let first = apply(&*writer, wish("a"), Change::Create).await.unwrap();
    apply(&*writer, wish("a"), Change::Create).await.unwrap();
    assert_eq!(world.servers().len(), 2);
    assert!(see(&*reader, At::Recorded(first)).await.unwrap().is_some());
    let error = see(&*reader, At::Declared(wish("a"))).await.unwrap_err();
    assert_eq!(error.to_string(), "2 servers in zone `a` are named `a`");
}

#[tokio::test]
async fn faults_are_what_they_say() {
    let check = async |fault: Fault, transient: bool, made: usize| {
        let world = World::start();
        world.breaks(Operation::Create, 1..=1, fault);
        let timeout = if fault == Fault::Hangs { 200 } else { 60_000 };
        let (_, writer) = connect(&settings(&world, TOKEN, timeout)).await;
        let error = apply(&*writer, wish("a"), Change::Create).await.unwrap_err();
        assert_eq!((error.transient, world.servers().len()), (transient, made), "{fault:?}: {error:?}");
        assert!(!format!("{error:?}").contains(TOKEN), "{error:?}");
        apply(&*writer, wish("a"), Change::Create).await.unwrap();
        error
    };
    check(Fault::Unavailable, true, 0).await;
    check(Fault::Refused, false, 0).await;
    check(Fault::Dropped, true, 0).await;
    check(Fault::Lost, true, 1).await;
    check(Fault::Hangs, true, 1).await;
    let busy = check(Fault::Busy(7), true, 0).await;
    assert_eq!(busy.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn held_calls_wait_until_they_are_let_go() {
    let world = World::start();
    let (_, writer) = connected(&world).await;
    world.hold(Operation::Create);
    let calls = ["a", "b", "c"].map(|name| {
        let writer = writer.clone();
        tokio::spawn(async move { apply(&*writer, wish(name), Change::Create).await })
    });
    let world = tokio::task::spawn_blocking(move || {
        world.until(|seen| seen.in_flight == 3);
        world
    });
    let world = world.await.unwrap();
    assert_eq!(world.servers(), []);
    world.release();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!((world.servers().len(), world.seen().most_in_flight), (3, 3));
}

#[tokio::test]
async fn the_token_is_checked_and_never_told() {
    let world = World::start();
    let (reader, _) = connect(&settings(&world, "wrong-token", 60_000)).await;
    let error = see(&*reader, At::Declared(wish("a"))).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot list the servers: the world answered 401 Unauthorized");
    assert!(!error.transient && !format!("{error:?}").contains("wrong-token"));
}

#[tokio::test]
async fn settings_must_be_given() {
    let (registry, session) = (registry(), Session::of("test"));
    let error = registry.reader(&session, &Value::null()).await.err().unwrap();
    assert_eq!(error.to_string(), "provider `test` cannot be used: url: a string is needed, not null");
    assert_eq!(error.help.as_deref(), Some("configure it with `provider \"test\" { … }`"));
    assert!(registry.find(Sort::Provider, "test").unwrap().schema.attributes["token"].sensitive);
}

#[tokio::test]
async fn data_is_read() {
    let world = World::start();
    let (reader, _) = connected(&world).await;
    world.put(Server { name: "b".into(), zone: "a".into(), size: 4, ..Server::default() });
    let ask = |name: &str| Value::object([("name".into(), name.into()), ("zone".into(), "a".into())].into());
    let ask = |name: &str| (KIND.into(), Ask::Data(ask(name)));
    let read = reader.look(vec![ask("b"), ask("none")]).await;
    assert_eq!(read[0].as_ref().unwrap().as_ref().unwrap().entries().unwrap()["size"], 4.into());
    assert_eq!(read[1].as_ref().unwrap_err().to_string(), "there is no server `none` in zone `a`");
}
