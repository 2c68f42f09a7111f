//! The API, against a Forgejo in miniature, over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_engine::provider::Provider;
use fleet_engine::resource::{ApiKind, At, Change};
use fleet_lab::desk::How;
use fleet_lab::forgejo::{Personal, TOKEN};
use fleet_lab::{Lab, Options};

use super::record::Record;
use super::*;
use crate::registrar::record::Record as _;
use crate::registrar::refusals::REFUSALS;
use crate::registrar::{Removed, Roster};

const ORG: &str = "https://forgejo.example.com/macs";

struct World {
    lab: Lab,
}

impl World {
    fn new() -> World {
        World { lab: Lab::start(Options { macs: 0, ..Options::default() }).unwrap() }
    }

    fn books(&self) -> &fleet_lab::forgejo::Forgejo {
        &self.lab.vendors().forgejo.books
    }

    fn settings(&self, token: &str) -> Settings {
        let api_url = Some(self.lab.vendors().forgejo.desk.url().into());
        Settings { url: Some("https://forgejo.example.com".into()), api_url, token: Some(token.into()) }
    }

    fn acting(&self) -> Acting {
        Forgejo::new(&BTreeMap::new()).connect(self.settings(TOKEN)).unwrap()
    }

    async fn issue(&self, request: &str) -> Result<Secret, Error> {
        Forgejo::new(&BTreeMap::new()).issue(self.settings(TOKEN), request).await
    }

    /// A runner whose agent is there; its number.
    async fn runner(&self) -> u64 {
        let connection = self.issue(&format!("runner:{ORG}?name=mini")).await.unwrap();
        assert!(self.books().contact(&connection.0, &["xcode", "macos"]));
        self.books().runners()[0].id
    }
}

#[tokio::test]
async fn a_runner_is_made_wherever_it_belongs_and_only_once() {
    let world = World::new();
    for (url, place) in [
        (ORG, "orgs/macs"),
        ("https://forgejo.example.com/macs/app", "repos/macs/app"),
        ("https://forgejo.example.com/user", "user"),
        ("https://forgejo.example.com", "admin"),
    ] {
        let request = format!("runner:{url}?name=mini");
        let lost = world.issue(&request).await.unwrap();
        // Whoever asked was killed, and asks again: what no agent has is made anew.
        let connection = world.issue(&request).await.unwrap();
        assert!(connection.0.contains("\"url\":\"https://forgejo.example.com/\""), "{place}");
        assert!(!format!("{connection:?}").contains(&world.books().secrets().pop().unwrap()));
        assert!(!world.books().contact(&lost.0, &[]) && world.books().contact(&connection.0, &["b", "a"]));
        let listed = world.acting().list(url).await.unwrap();
        let [runner] = &listed[..] else { panic!("{listed:?}") };
        assert_eq!((&*runner.name, runner.online, runner.busy), ("mini", true, false));
        assert_eq!(runner.labels, ["a", "b"]);
        assert_eq!(world.books().runners().pop().unwrap().place, place);
        // One that an agent has stays.
        let error = world.issue(&request).await.unwrap_err();
        assert!(error.message.contains("is online there") && error.help.is_some(), "{error}");
    }
    assert_eq!(world.books().runners().len(), 4);
    let error = world.issue("runner:https://forgejo.example.com/none?name=mini").await.unwrap_err();
    assert!(error.message.contains("couldn't be found") && error.help.is_some(), "{error}");
}

#[tokio::test]
async fn every_page_of_a_list_is_read() {
    let world = World::new();
    for number in 0..103 {
        world.books().add_runner(&format!("mini-{number}"), "admin");
    }
    // The server shows fewer at once than it is asked for.
    assert_eq!(world.acting().list("https://forgejo.example.com").await.unwrap().len(), 103);
    assert_eq!(world.lab.vendors().forgejo.desk.count("list_runners"), 3);
}

#[tokio::test]
async fn a_list_that_changes_while_it_is_read_is_read_again() {
    let world = World::new();
    for number in 0..103 {
        world.books().add_runner(&format!("mini-{number}"), "admin");
    }
    let (acting, desk) = (world.acting(), &world.lab.vendors().forgejo.desk);
    world.books().disturb_lists(2);
    let listed = acting.list("https://forgejo.example.com").await.unwrap();
    let names: BTreeSet<&str> = listed.iter().map(|runner| &*runner.name).collect();
    assert_eq!((listed.len(), names.len()), (103, 103));
    // One that is never still is no list at all.
    world.books().disturb_lists(u32::MAX);
    let before = desk.count("list_runners");
    let error = acting.list("https://forgejo.example.com").await.unwrap_err();
    assert!(error.transient && error.message.contains("changed while it was read"), "{error}");
    assert!(desk.count("list_runners") - before < 20);
}

#[tokio::test]
async fn a_runner_that_cannot_be_deleted_is_not_tried_for_ever() {
    let world = World::new();
    let request = format!("runner:{ORG}?name=mini");
    world.issue(&request).await.unwrap();
    (0..5).for_each(|_| world.lab.vendors().forgejo.desk.mishap("delete_runner", How::Refuse(404)));
    let error = world.issue(&request).await.unwrap_err();
    assert!(error.message.contains("is still there") && error.help.is_some(), "{error}");
    assert_eq!(world.lab.vendors().forgejo.desk.count("delete_runner"), 1);
}

#[tokio::test]
async fn only_runners_of_its_own_server_are_asked_for() {
    let world = World::new();
    for url in ["https://codeberg.org/macs", "https://forgejo.example.com.evil.test/macs"] {
        let made = world.issue(&format!("runner:{url}?name=mini")).await.unwrap_err();
        let listed = world.acting().list(url).await.unwrap_err();
        let removed = world.acting().remove(url, 1).await.unwrap_err();
        for error in [made, listed, removed] {
            assert!(error.message.contains("is not at https://forgejo.example.com"), "{error}");
            assert!(error.help.is_some() && !error.transient, "{error}");
        }
    }
    assert_eq!(world.lab.vendors().forgejo.desk.visits(), []);
}

#[tokio::test]
async fn a_job_that_runs_is_not_cut_short() {
    let world = World::new();
    let id = world.runner().await;
    let (acting, number) = (world.acting(), i64::try_from(id).unwrap());
    world.books().change(id, |runner| runner.busy = true);
    assert!(acting.list(ORG).await.unwrap()[0].busy);
    assert!(matches!(acting.remove(ORG, number).await.unwrap(), Removed::Busy));
    world.books().change(id, |runner| runner.busy = false);
    // Who cannot look does not delete.
    world.lab.vendors().forgejo.desk.mishap("get_runner", How::Refuse(500));
    assert!(acting.remove(ORG, number).await.unwrap_err().transient);
    assert_eq!(world.lab.vendors().forgejo.desk.count("delete_runner"), 0);
    world.lab.vendors().forgejo.desk.mishap("delete_runner", How::CutAfter);
    assert!(acting.remove(ORG, number).await.unwrap_err().transient);
    assert!(matches!(acting.remove(ORG, number).await.unwrap(), Removed::Gone));
    assert_eq!((world.books().runners().len(), world.books().jobs_lost()), (0, 0));
}

#[tokio::test]
async fn labels_are_what_the_agent_says() {
    let world = World::new();
    world.runner().await;
    let acting = world.acting();
    let wish = |name: &str| Record::named(ORG.into(), name.into()).unwrap();
    let observe = |at| async { Record::observe(acting.looking(), vec![at]).await.remove(0).unwrap() };
    let from = observe(At::Declared(wish("mini"))).await.unwrap();
    assert_eq!(from.shown(), (Some(vec!["macos".to_owned(), "xcode".to_owned()]), Some(true)));
    let applied = wish("mini").apply(&acting, Change::Update { from: from.clone() }).await.unwrap();
    assert_eq!(applied, from);
    assert_eq!(observe(At::Id(format!("{ORG} mini").into())).await.as_ref(), Some(&from));
    assert_eq!(observe(At::Begun { wish: wish("mini"), except: vec![from] }).await, None);
    assert_eq!(observe(At::Declared(wish("other"))).await, None);
}

#[tokio::test]
async fn every_refusal_means_something() {
    let world = World::new();
    let acting = world.acting();
    let desk = &world.lab.vendors().forgejo.desk;
    for (how, is_transient, after) in REFUSALS {
        for operation in ["list_runners", "create_runner"] {
            desk.mishap(operation, how);
            let before = desk.count(operation);
            let error = match operation {
                "list_runners" => acting.list(ORG).await.unwrap_err(),
                _ => world.issue(&format!("runner:{ORG}?name=mini")).await.unwrap_err(),
            };
            assert_eq!(error.transient, is_transient, "{operation} {how:?}: {error}");
            assert_eq!(error.retry_after, after.map(Duration::from_secs), "{operation} {how:?}");
            assert_eq!(desk.count(operation), before + 1, "{operation} {how:?}: it is sent once");
            assert!(is_transient || error.help.is_some(), "{operation} {how:?}: {error}");
            if operation == "create_runner" && matches!(how, How::Refuse(404 | 405)) {
                assert!(error.help.unwrap().contains("Forgejo 15 or newer"), "{how:?}");
            }
        }
    }
    world.runner().await;
    assert_eq!(world.books().runners().len(), 1, "whatever was lost on the way");
}

#[tokio::test]
async fn forgejo_says_whose_a_token_is_and_what_it_lacks() {
    let world = World::new();
    let provider = Forgejo::new(&BTreeMap::new());
    let scopes = ["read:user", "read:organization"].map(str::to_owned).into();
    world.books().add_token(Personal { token: "reads".into(), login: "ci".into(), scopes });
    let standing = provider.standing(world.settings("reads")).await.unwrap().unwrap();
    assert_eq!((&*standing.who, standing.until), ("a token of ci", None));
    let request = format!("runner:{ORG}?name=mini");
    let error = provider.issue(world.settings("reads"), &request).await.unwrap_err();
    assert!(error.message.contains("[write:organization]") && error.help.is_some(), "{error}");
    let error = provider.standing(world.settings("hunter2")).await.unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2") && error.help.unwrap().contains("FORGEJO_TOKEN"));
}

#[test]
fn only_known_requests_can_be_issued() {
    for (request, is_good) in [
        ("runner:https://git.example.com/a?name=mini", true),
        ("runner:https://git.example.com?name=mini", true),
        ("runner:https://git.example.com/a", false),
        ("runner:https://git.example.com/a/b/c?name=mini", false),
        ("runner:https://git.example.com?name=mini&labels=a", false),
        ("runner:https://git.example.com?name=mini&group=x", false),
        ("registration-token:https://git.example.com", false),
    ] {
        assert_eq!(requested(request).is_ok(), is_good, "{request}");
    }
}
