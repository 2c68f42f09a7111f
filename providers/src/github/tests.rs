//! The provider against GitHub in miniature, over HTTP.

use std::time::Duration;

use fleet_engine::resource::{ApiKind, At, Change, DataKind};
use fleet_lab::desk::How;
use fleet_lab::github::{App, Personal};
use fleet_lab::runners::{Purpose as LabPurpose, Wish};
use fleet_lab::{Lab, Options};

use super::record::Record;
use super::runners::Runners;
use super::*;
use crate::registrar::{Removed, Roster};

const URL: &str = "https://github.com/example";

/// A world, and the way to it as an App.
struct World {
    lab: Lab,
    app: App,
}

fn none() -> Settings {
    Settings { app_id: None, installation_id: None, private_key: None, token: None, api_url: None }
}

impl World {
    fn new() -> World {
        let lab = Lab::start(Options { macs: 0, ..Options::default() }).unwrap();
        let app = lab.vendors().github.books.install_app("example");
        World { lab, app }
    }

    fn settings(&self) -> Settings {
        let url = self.lab.vendors().github.desk.url().to_owned();
        Settings {
            app_id: Some(self.app.id.to_string()),
            private_key: Some(self.app.pkcs1.clone()),
            api_url: Some(url),
            ..none()
        }
    }

    fn with_token(&self, token: &str) -> Settings {
        Settings { app_id: None, private_key: None, token: Some(token.into()), ..self.settings() }
    }

    fn acting(&self, settings: Settings) -> Acting {
        Github::new(&BTreeMap::new()).connect(settings).unwrap()
    }

    fn count(&self, operation: &str) -> usize {
        self.lab.vendors().github.desk.count(operation)
    }

    /// Registers a runner as its agent does, with a token that was issued; its number.
    fn register(&self, name: &str, token: &str) -> u64 {
        let wish = Wish {
            url: URL.into(),
            token: token.into(),
            name: name.into(),
            labels: vec!["builder".into()],
            replace: false,
            place: ("mac".into(), "/opt/actions-runner".into()),
            token_is_visible: false,
        };
        let now = self.lab.clock().time();
        self.lab.vendors().github.books.runners().register(wish, now).unwrap().id
    }

    /// The same with a token of the lab.
    fn put(&self, name: &str) -> u64 {
        let github = &self.lab.vendors().github.books;
        let token = github.runners().token(URL, LabPurpose::Register, self.lab.clock().time());
        self.register(name, &token.token)
    }
}

#[tokio::test]
async fn an_app_logs_in_with_a_key_of_either_form_and_gets_tokens_that_agents_take() {
    let world = World::new();
    let provider = Github::new(&BTreeMap::new());
    let one_line = world.app.pkcs1.replace('\n', "\\n");
    let keys = [world.app.pkcs1.clone(), world.app.pkcs8.clone(), one_line];
    for (at, key) in keys.into_iter().enumerate() {
        let settings = Settings { private_key: Some(key), ..world.settings() };
        let token = provider.issue(settings, &format!("registration-token:{URL}")).await.unwrap();
        world.register(&format!("mini-{at}"), &token.0);
        assert!(!format!("{token:?}").contains(&token.0));
    }
    let names: Vec<String> =
        world.acting(world.settings()).list(URL).await.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["mini-0", "mini-1", "mini-2"]);
    // The installation was looked for, unless somebody said which it is.
    let before = world.count("get_installation");
    let said = Settings { installation_id: Some(world.app.installation.to_string()), ..world.settings() };
    world.acting(said).list(URL).await.unwrap();
    assert_eq!(world.count("get_installation"), before);
}

#[tokio::test]
async fn a_token_is_asked_for_once_and_anew_when_it_is_not_taken_any_more() {
    let world = World::new();
    world.put("mini");
    let acting = world.acting(world.settings());
    for _ in 0..3 {
        acting.list(URL).await.unwrap();
    }
    assert_eq!(world.count("create_token"), 1);
    // Somebody took it back in the middle; and an hour later it ends.
    world.lab.vendors().github.books.revoke_tokens();
    acting.set_labels(URL, 2, &["a".into()]).await.unwrap();
    assert_eq!(world.count("create_token"), 2);
    world.lab.advance(Duration::from_secs(3601));
    assert_eq!(acting.list(URL).await.unwrap()[0].labels, ["a"]);
    assert_eq!(world.count("create_token"), 3);
}

#[tokio::test]
async fn wrong_credentials_say_which_and_repeat_nothing() {
    let world = World::new();
    let other = world.lab.vendors().github.books.install_app("other");
    let expired =
        Personal { token: "ghp_old".into(), login: "me".into(), expires_at: Some(world.lab.clock().time()) };
    world.lab.vendors().github.books.add_personal(expired);
    let cases = [
        (
            Settings { private_key: Some("ghx-hunter2".into()), ..world.settings() },
            "no private key of an App",
        ),
        (Settings { app_id: Some("1".into()), ..world.settings() }, "'Issuer' claim"),
        (Settings { private_key: Some(other.pkcs8.clone()), ..world.settings() }, "'Issuer' claim"),
        (Settings { installation_id: Some("1".into()), ..world.settings() }, "Integration not found"),
        (
            Settings {
                app_id: Some(other.id.to_string()),
                private_key: Some(other.pkcs1),
                ..world.settings()
            },
            "Not Found",
        ),
        (world.with_token("ghp_wrong"), "Bad credentials"),
        (world.with_token("ghp_old"), "Bad credentials"),
    ];
    for (settings, expected) in cases {
        let error = world.acting(settings).list(URL).await.unwrap_err();
        assert!(
            error.message.contains(expected) && error.help.is_some() && !error.transient,
            "{expected}: {error}"
        );
        let told = format!("{error:?}");
        for secret in ["hunter2", "ghp_wrong", "ghp_old", "MII", "eyJ"] {
            assert!(!told.contains(secret), "{secret}: {told}");
        }
    }
    world.lab.vendors().github.books.allow_app(world.app.id, false);
    let error = world.acting(world.settings()).list(URL).await.unwrap_err();
    assert!(error.help.unwrap().contains("organization_self_hosted_runners=write"));
}

#[tokio::test]
async fn every_refusal_means_something() {
    let world = World::new();
    let id = world.put("mini") as i64;
    let acting = world.acting(world.settings());
    let desk = &world.lab.vendors().github.desk;
    // Whether it is tried again, and after how many seconds at least.
    let cases = [
        (How::Refuse(403), "stop", None),
        (How::Refuse(404), "stop", None),
        (How::Refuse(409), "stop", None),
        (How::Refuse(410), "stop", None),
        (How::Refuse(422), "stop", None),
        (How::RefuseFor(403, 7), "later", Some(7)),
        (How::RefuseFor(429, 90), "later", Some(90)),
        (How::Refuse(429), "later", Some(60)),
        (How::Refuse(500), "later", None),
        (How::Between(502), "later", None),
        (How::Between(503), "later", None),
        (How::Between(404), "stop", None),
        (How::CutBefore, "later", None),
        (How::CutAfter, "later", None),
    ];
    for (how, expected, after) in cases {
        for operation in ["list_runners", "set_labels"] {
            desk.mishap(operation, how);
            let before = world.count(operation);
            let error = match operation {
                "list_runners" => acting.list(URL).await.map(drop).unwrap_err(),
                _ => acting.set_labels(URL, id, &["x".into()]).await.unwrap_err(),
            };
            assert_eq!(
                if error.transient { "later" } else { "stop" },
                expected,
                "{operation} {how:?}: {error}"
            );
            assert_eq!(error.retry_after, after.map(Duration::from_secs), "{operation} {how:?}");
            assert_eq!(world.count(operation), before + 1, "{operation} {how:?}: it is sent once");
        }
    }
    // A token that is refused once is renewed once.
    desk.mishap("list_runners", How::Refuse(401));
    acting.list(URL).await.unwrap();
    desk.mishap("list_runners", How::Refuse(401));
    desk.mishap("list_runners", How::Refuse(401));
    let error = acting.list(URL).await.unwrap_err();
    assert!(!error.transient && error.help.unwrap().contains("suspended"));
}

#[tokio::test]
async fn long_lists_are_read_to_their_end() {
    let world = World::new();
    for at in 0..205 {
        world.put(&format!("mini-{at}"));
    }
    let looking = world.acting(world.settings()).looking().clone();
    assert_eq!(looking.list(URL).await.unwrap().len(), 205);
    assert_eq!(world.count("list_runners"), 3);
    let asked = Runners::read(&looking, vec![Runners::asked(URL, "mini-20")]).await.remove(0).unwrap();
    assert_eq!(asked.names(), ["mini-20", "mini-200", "mini-201", "mini-202", "mini-203", "mini-204"]);
}

#[tokio::test]
async fn labels_and_groups_are_put_right() {
    let world = World::new();
    world.lab.vendors().github.books.add_group("macs");
    let id = world.put("mini");
    let acting = world.acting(world.settings());
    let wish = Record::wish(URL, "mini", &["bare-metal"], Some("macs"));
    let observe = async |at| Record::observe(acting.looking(), vec![at]).await.remove(0).unwrap();
    let found = observe(At::Declared(wish.clone())).await.unwrap();
    let words = |labels: &[&str]| Some(labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>());
    assert_eq!(found.seen(), (words(&["builder"]), Some("Default".into()), Some(false)));
    let made = wish.clone().apply(&acting, Change::Update { from: found }).await.unwrap();
    let found = observe(At::Recorded(made)).await.unwrap();
    assert_eq!(found.seen(), (words(&["bare-metal"]), Some("macs".into()), Some(false)));
    assert_eq!(observe(At::Declared(Record::wish(URL, "other", &[], None))).await, None);
    let nowhere = Record::wish(URL, "mini", &["bare-metal"], Some("nowhere"));
    let error = nowhere.apply(&acting, Change::Create).await.unwrap_err();
    assert!(error.message.contains("no group `nowhere`") && error.help.unwrap().contains("macs"));

    // One that runs a job stays; then it goes, and is gone however often it is removed.
    let runners = world.lab.vendors().github.books.runners().clone();
    runners.change(id, |runner| runner.busy = true);
    assert!(matches!(acting.remove(URL, id as i64).await, Ok(Removed::Busy)));
    runners.change(id, |runner| runner.busy = false);
    for _ in 0..2 {
        assert!(matches!(acting.remove(URL, id as i64).await, Ok(Removed::Gone)));
    }
    assert_eq!(acting.list(URL).await.unwrap(), []);
}

#[tokio::test]
async fn github_says_whose_credentials_are_and_until_when() {
    let world = World::new();
    let provider = Github::new(&BTreeMap::new());
    let standing = provider.standing(world.settings()).await.unwrap().unwrap();
    assert_eq!((&*standing.who, standing.until), ("the App fleet-lab", None));
    let end = "2030-01-02T03:04:05Z";
    let personal =
        Personal { token: "ghp_x".into(), login: "me".into(), expires_at: Some(end.parse().unwrap()) };
    world.lab.vendors().github.books.add_personal(personal);
    let standing = provider.standing(world.with_token("ghp_x")).await.unwrap().unwrap();
    assert_eq!((&*standing.who, standing.until), ("a token of me", humantime::parse_rfc3339(end).ok()));
    let refused = provider.standing(world.with_token("ghp_wrong")).await.unwrap_err();
    assert!(!refused.transient && refused.help.unwrap().contains("GITHUB_TOKEN"));
}

#[tokio::test]
async fn a_runner_is_prepared_before_it_has_an_agent() {
    let world = World::new();
    world.lab.vendors().github.books.add_group("macs");
    let provider = Github::new(&BTreeMap::new());
    let request = format!("jit-config:{URL}?name=mini&labels=builder,mac&group=macs");
    let config = provider.issue(world.settings(), &request).await.unwrap();
    assert!(!format!("{config:?}").contains(&config.0));
    let runners = || world.lab.vendors().github.books.runners().list(URL);
    let seen = || runners().into_iter().map(|it| (it.name, it.group, it.ephemeral)).collect::<Vec<_>>();
    assert_eq!(seen(), [("mini".to_owned(), 2, true)]);

    // Whoever asked was killed, and asks again: what no agent ever had is made anew.
    let again = provider.issue(world.settings(), &request).await.unwrap();
    assert!(again.0 != config.0 && seen().len() == 1);

    // One that an agent has stays.
    let id = runners()[0].id;
    world.lab.vendors().github.books.runners().change(id, |it| (it.os, it.online) = ("macos", true));
    for (request, expected, help) in [
        (request.clone(), "Already exists", "choose another name"),
        (request.replace("group=macs", "group=x"), "no group `x`", "macs"),
        (request.replace("example?", "example/app?"), "no group `macs`", "leave `group` out"),
    ] {
        let error = provider.issue(world.settings(), &request).await.unwrap_err();
        assert!(error.message.contains(expected) && !error.transient, "{error}");
        assert!(error.help.as_ref().unwrap().contains(help), "{error:?}");
    }
    assert_eq!(runners().iter().map(|it| it.id).collect::<Vec<_>>(), [id]);
}

#[test]
fn only_known_requests_can_be_issued() {
    for (request, is_good) in [
        ("registration-token:https://github.com/example", true),
        ("remove-token:https://github.com/example/app", true),
        ("jit-config:https://github.com/example?name=mini&labels=a,b&group=macs", true),
        ("jit-config:https://github.com/example?name=mini&labels=a", true),
        ("jit-config:https://github.com/example", false),
        ("jit-config:https://github.com/example?name=mini", false),
        ("jit-config:https://github.com/example?name=mini&labels=", false),
        ("jit-config:https://github.com/example?name=mini&labels=a&os=x", false),
        ("jit-config:example?name=mini&labels=a", false),
        ("registration-token:", false),
        ("registration-token:example", false),
        ("token:https://github.com/example", false),
        ("env:TOKEN", false),
    ] {
        assert_eq!(requested(request).is_ok(), is_good, "{request}");
    }
}
