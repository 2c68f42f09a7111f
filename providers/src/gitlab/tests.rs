//! The API, against a GitLab in miniature, over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_engine::provider::Provider;
use fleet_engine::resource::{ApiKind, At, Change};
use fleet_lab::desk::How;
use fleet_lab::gitlab::{Personal, TOKEN};
use fleet_lab::{Lab, Options};

use super::record::Record;
use super::*;
use crate::registrar::refusals::REFUSALS;
use crate::registrar::{Removed, Roster};

const GROUP: &str = "https://gitlab.example.com/groups/macs";

struct World {
    lab: Lab,
}

impl World {
    fn new() -> World {
        World { lab: Lab::start(Options { macs: 0, ..Options::default() }).unwrap() }
    }

    fn books(&self) -> &fleet_lab::gitlab::Gitlab {
        &self.lab.vendors().gitlab.books
    }

    fn settings(&self, token: &str) -> Settings {
        let api_url = Some(self.lab.vendors().gitlab.desk.url().into());
        Settings { url: Some("https://gitlab.example.com".into()), api_url, token: Some(token.into()) }
    }

    fn acting(&self) -> Acting {
        Gitlab::new(&BTreeMap::new()).connect(self.settings(TOKEN)).unwrap()
    }

    async fn issue(&self, request: &str) -> Result<Secret, Error> {
        Gitlab::new(&BTreeMap::new()).issue(self.settings(TOKEN), request).await
    }
}

#[tokio::test]
async fn a_runner_is_made_wherever_it_belongs_and_only_once() {
    let world = World::new();
    for (url, kind, place) in [
        (GROUP, "group_type", Some(7)),
        ("https://gitlab.example.com/macs/app", "project_type", Some(8)),
        ("https://gitlab.example.com", "instance_type", None),
    ] {
        let request = format!("runner:{url}?name=mini&labels=macos,xcode");
        let lost = world.issue(&request).await.unwrap();
        // Whoever asked was killed, and asks again: what no agent has is made anew.
        let token = world.issue(&request).await.unwrap();
        assert!(!format!("{token:?}").contains(&token.0));
        assert!(!world.books().contact(&lost.0) && world.books().contact(&token.0));
        let listed = world.acting().list(url).await.unwrap();
        let [runner] = &listed[..] else { panic!("{listed:?}") };
        assert_eq!((&*runner.name, &*runner.os, runner.online, runner.busy), ("mini", "darwin", true, false));
        assert_eq!(runner.labels, ["macos", "xcode"]);
        let known = world.books().runners().pop().unwrap();
        assert_eq!((&*known.runner_type, known.place), (kind, place));
        // One that an agent has stays.
        let error = world.issue(&request).await.unwrap_err();
        assert!(error.message.contains("is online there") && error.help.is_some(), "{error}");
    }
    assert_eq!(world.books().runners().len(), 3);
    let error = world.issue("runner:https://gitlab.example.com/groups/none?name=mini").await.unwrap_err();
    assert!(error.message.contains("404 Group Not Found") && error.help.is_some(), "{error}");
}

#[tokio::test]
async fn every_page_of_a_list_is_read() {
    let world = World::new();
    for number in 0..103 {
        world.books().add_runner(&format!("mini-{number}"), None);
    }
    assert_eq!(world.acting().list("https://gitlab.example.com").await.unwrap().len(), 103);
    assert_eq!(world.lab.vendors().gitlab.desk.count("list_runners"), 2);
}

#[tokio::test]
async fn a_job_is_never_cut_short() {
    let world = World::new();
    let token = world.issue(&format!("runner:{GROUP}?name=mini")).await.unwrap();
    world.books().contact(&token.0);
    let (acting, id) = (world.acting(), world.books().runners()[0].id);
    let number = i64::try_from(id).unwrap();
    world.books().change(id, |runner| runner.busy = true);
    assert!(acting.list(GROUP).await.unwrap()[0].busy);
    assert!(matches!(acting.remove(GROUP, number).await.unwrap(), Removed::Busy));
    // It gets jobs as before, unless somebody had paused it.
    assert!(!world.books().runners()[0].paused);
    world.books().change(id, |runner| runner.paused = true);
    assert!(matches!(acting.remove(GROUP, number).await.unwrap(), Removed::Busy));
    assert!(world.books().runners()[0].paused);
    // Nor is it held for ever by a service that is ill.
    world.books().change(id, |runner| (runner.paused, runner.busy) = (false, false));
    for operation in ["list_jobs", "delete_runner"] {
        world.lab.vendors().gitlab.desk.mishap(operation, How::Refuse(500));
        assert!(acting.remove(GROUP, number).await.unwrap_err().transient);
        assert!(!world.books().runners()[0].paused, "{operation}");
    }
    for _ in 0..2 {
        assert!(matches!(acting.remove(GROUP, number).await.unwrap(), Removed::Gone));
    }
    assert_eq!((world.books().runners().len(), world.books().jobs_lost()), (0, 0));
}

#[tokio::test]
async fn a_runner_that_cannot_be_deleted_is_not_tried_for_ever() {
    let world = World::new();
    let request = format!("runner:{GROUP}?name=mini");
    world.issue(&request).await.unwrap();
    (0..5).for_each(|_| world.lab.vendors().gitlab.desk.mishap("delete_runner", How::Refuse(404)));
    let error = world.issue(&request).await.unwrap_err();
    assert!(error.message.contains("is still there") && error.help.is_some(), "{error}");
    assert_eq!(world.lab.vendors().gitlab.desk.count("delete_runner"), 1);
}

#[tokio::test]
async fn only_runners_of_its_own_server_are_asked_for() {
    let world = World::new();
    for url in ["https://gitlab.com/groups/macs", "https://gitlab.example.com.evil.test/groups/macs"] {
        let made = world.issue(&format!("runner:{url}?name=mini")).await.unwrap_err();
        let listed = world.acting().list(url).await.unwrap_err();
        let removed = world.acting().remove(url, 1).await.unwrap_err();
        for error in [made, listed, removed] {
            assert!(error.message.contains("is not at https://gitlab.example.com"), "{error}");
            assert!(error.help.is_some() && !error.transient, "{error}");
        }
    }
    assert_eq!(world.lab.vendors().gitlab.desk.visits(), []);
}

#[tokio::test]
async fn tags_are_put_right() {
    let world = World::new();
    let token = world.issue(&format!("runner:{GROUP}?name=mini&labels=odd")).await.unwrap();
    world.books().contact(&token.0);
    let acting = world.acting();
    let wish = Record::wish(GROUP, "mini", &["macos", "xcode"]);
    let observe = |at| async { Record::observe(acting.looking(), vec![at]).await.remove(0).unwrap() };
    let from = observe(At::Declared(wish.clone())).await.unwrap();
    assert_eq!(from.shown(), (Some(vec!["odd".to_owned()]), Some(true)));
    wish.clone().apply(&acting, Change::Update { from }).await.unwrap();
    assert_eq!(world.books().runners()[0].tag_list, ["macos", "xcode"]);
    let id = observe(At::Id(format!("{GROUP} mini").into())).await.unwrap();
    assert_eq!(observe(At::Declared(wish.clone())).await.unwrap().shown(), id.shown());
    assert_eq!(observe(At::Begun { wish, except: vec![id] }).await, None);
    assert_eq!(observe(At::Declared(Record::wish(GROUP, "other", &[]))).await, None);
}

#[tokio::test]
async fn every_refusal_means_something() {
    let world = World::new();
    let acting = world.acting();
    let desk = &world.lab.vendors().gitlab.desk;
    for (how, is_transient, after) in REFUSALS {
        for operation in ["list_runners", "create_runner"] {
            desk.mishap(operation, how);
            let before = desk.count(operation);
            let error = match operation {
                "list_runners" => acting.list(GROUP).await.unwrap_err(),
                _ => world.issue(&format!("runner:{GROUP}?name=mini")).await.unwrap_err(),
            };
            assert_eq!(error.transient, is_transient, "{operation} {how:?}: {error}");
            assert_eq!(error.retry_after, after.map(Duration::from_secs), "{operation} {how:?}");
            assert_eq!(desk.count(operation), before + 1, "{operation} {how:?}: it is sent once");
            assert!(is_transient || error.help.is_some(), "{operation} {how:?}: {error}");
            if operation == "create_runner" && matches!(how, How::Refuse(404 | 405)) {
                assert!(error.help.unwrap().contains("GitLab 16 or newer"), "{how:?}");
            }
        }
    }
    world.issue(&format!("runner:{GROUP}?name=mini")).await.unwrap();
    assert_eq!(world.books().runners().len(), 1, "whatever was lost on the way");
}

#[tokio::test]
async fn gitlab_says_whose_a_token_is_and_until_when() {
    let world = World::new();
    let provider = Gitlab::new(&BTreeMap::new());
    let reads = Personal {
        token: "glpat-reads".into(),
        name: "ci".into(),
        expires_at: Some("2100-01-02".into()),
        may_change: false,
    };
    world.books().add_token(reads);
    let standing = provider.standing(world.settings("glpat-reads")).await.unwrap().unwrap();
    let until = standing.until.map(|until| humantime::format_rfc3339(until).to_string());
    assert_eq!((&*standing.who, until.as_deref()), ("the token ci", Some("2100-01-02T00:00:00Z")));
    let request = format!("runner:{GROUP}?name=mini");
    let error = provider.issue(world.settings("glpat-reads"), &request).await.unwrap_err();
    assert!(error.message.contains("higher privileges") && error.help.unwrap().contains("create_runner"));
    let error = provider.standing(world.settings("glpat-hunter2")).await.unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2") && error.help.unwrap().contains("GITLAB_TOKEN"));
}

#[test]
fn only_known_requests_can_be_issued() {
    for (request, is_good) in [
        ("runner:https://gitlab.com/groups/a?name=mini&labels=a,b", true),
        ("runner:https://gitlab.com?name=mini", true),
        ("runner:https://gitlab.com/groups/a", false),
        ("runner:https://gitlab.com/a?name=mini", false),
        ("runner:https://gitlab.com?name=mini&labels=a,,b", false),
        ("runner:https://gitlab.com?name=mini&group=x", false),
        ("registration-token:https://gitlab.com", false),
    ] {
        assert_eq!(requested(request).is_ok(), is_good, "{request}");
    }
}
