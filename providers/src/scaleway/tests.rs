//! The provider against the vendor's world in miniature, over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_engine::pool::{Sent, Status, Vendor, VendorReader};
use fleet_engine::resource::{ApiKind, At, Change, DataKind, Error};
use fleet_lab::fault::{Answer, Fault};
use fleet_lab::scaleway::{ErrorType, Operation};
use fleet_lab::{Lab, Options, ServerEdit};
use fleet_transport::http::Verb;
use serde_json::json;

use super::attachment::Attachment;
use super::client::{join, macs};
use super::os_images::OsImages;
use super::private_network::PrivateNetwork;
use super::server_types::ServerTypes;
use super::servers::Servers;
use super::ssh_key::SshKey;
use super::*;

const ZONE: &str = "fr-par-1";

/// A world, and the way to it.
struct World {
    lab: Lab,
    acting: Acting,
}

impl World {
    fn new(options: Options) -> World {
        let lab = Lab::start(options).unwrap();
        let environment = BTreeMap::from([
            ("SCW_DEFAULT_PROJECT_ID".to_owned(), lab.project_id().to_owned()),
            ("SCW_SECRET_KEY".to_owned(), lab.secret_key().to_owned()),
            ("SCW_API_URL".to_owned(), lab.api_url().to_owned()),
            ("HOME".to_owned(), "/".to_owned()),
        ]);
        let settings = Settings { project_id: None, secret_key: None, zone: None, api_url: None };
        let acting = Scaleway::new(&environment).connect(settings).unwrap();
        World { lab, acting }
    }

    fn looking(&self) -> &Looking {
        &self.acting.looking
    }

    fn zone(&self) -> Zone {
        Zone::new(self.acting.clone(), Some(ZONE), Some("tahoe"))
    }

    /// The id of the first server.
    fn first(&self) -> String {
        self.lab.servers()[0].id.clone()
    }

    /// How often something was asked for.
    fn count(&self, operation: Operation) -> usize {
        self.lab.requests().iter().filter(|entry| entry.operation == Some(operation)).count()
    }

    async fn delete(&self, id: &str) {
        let path = join(&macs(ZONE), &["servers", id]);
        self.acting.send("cannot delete it", Verb::Delete, &path, None).await.unwrap();
    }
}

/// What came of a request that changes something, in a word.
fn sent(sent: &Sent) -> &'static str {
    match sent {
        Sent::Taken => "taken",
        Sent::Refused(error) if error.transient => "refused for now",
        Sent::Refused(_) => "refused",
        Sent::Busy(_) => "busy",
        Sent::Gone => "gone",
        Sent::Unsettled(_) => "unsettled",
    }
}

/// What came of a question, in a word.
fn read<T>(read: &Result<Option<T>, Error>) -> &'static str {
    match read {
        Ok(Some(_)) => "there",
        Ok(None) => "gone",
        Err(error) if error.transient => "later",
        Err(_) => "stop",
    }
}

#[tokio::test]
async fn every_typed_error_means_something_to_readers_and_writers() {
    let world = World::new(Options::default());
    let (zone, id) = (world.zone(), world.first());
    // Of a server that the list still has; whether it is gone is another matter, below.
    let expected = [
        (ErrorType::InvalidArguments, "stop", "refused"),
        (ErrorType::DeniedAuthentication, "stop", "refused"),
        (ErrorType::PermissionsDenied, "stop", "refused"),
        (ErrorType::QuotasExceeded, "stop", "refused"),
        (ErrorType::NotFound, "gone", "gone"),
        (ErrorType::TransientState, "stop", "busy"),
        (ErrorType::AlreadyExists, "stop", "refused"),
        (ErrorType::Expired, "stop", "refused"),
        (ErrorType::ResourceExpired, "stop", "refused"),
        (ErrorType::PreconditionFailed, "stop", "refused"),
        (ErrorType::Locked, "stop", "refused"),
        (ErrorType::TooManyRequests, "later", "refused for now"),
        (ErrorType::OutOfStock, "later", "refused"),
    ];
    assert_eq!(expected.map(|(kind, ..)| kind), ErrorType::ALL);
    for (kind, on_read, on_write) in expected {
        world.lab.fault(Fault::refused(kind).on(Operation::GetServer));
        let found = zone.get(&id).await;
        assert_eq!(read(&found), on_read, "{kind:?}: {found:?}");
        if let Err(error) = &found {
            assert!(error.message.contains(kind.name()) && error.message.contains("(request "), "{error}");
        }
        let before = world.count(Operation::UpdateServer);
        world.lab.fault(Fault::refused(kind).on(Operation::UpdateServer));
        let outcome = zone.rename(&id, "other").await;
        assert_eq!(sent(&outcome), on_write, "{kind:?}: {outcome:?}");
        assert_eq!(world.count(Operation::UpdateServer), before + 1, "{kind:?}: it is sent once");
    }
    assert!(world.lab.server("other").is_none());
}

#[tokio::test]
async fn answers_that_nobody_described_settle_nothing() {
    let world = World::new(Options::default());
    let (zone, id) = (world.zone(), world.first());
    let status = |status: u16| Fault::failed(status);
    let cases = [
        (status(500), "later", "unsettled"),
        (status(502), "later", "unsettled"),
        (status(503), "later", "unsettled"),
        (status(504), "later", "unsettled"),
        (status(408), "later", "unsettled"),
        (status(429), "later", "refused for now"),
        // The wrong address is no thing that is gone.
        (status(404), "stop", "refused"),
        (status(403), "stop", "refused"),
        (status(409), "stop", "refused"),
        (status(302), "stop", "refused"),
        (Fault::cut_before(), "later", "unsettled"),
        (Fault::cut_after(), "later", "unsettled"),
    ];
    for (fault, on_read, on_write) in cases {
        world.lab.fault(fault.clone().on(Operation::GetServer));
        let found = zone.get(&id).await;
        assert_eq!(read(&found), on_read, "{fault:?}: {found:?}");
        let before = world.count(Operation::RebootServer);
        let fault = Fault { effect: fleet_lab::fault::Effect::Never, ..fault };
        world.lab.fault(fault.clone().on(Operation::RebootServer));
        let outcome = zone.reboot(&id).await;
        assert_eq!(sent(&outcome), on_write, "{fault:?}: {outcome:?}");
        assert_eq!(world.count(Operation::RebootServer), before + 1, "{fault:?}: it is sent once");
    }
    // Where nobody listens, nothing was sent.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let account = Account { api_url: format!("http://{nobody}"), ..(*world.looking().account).clone() };
    let zone = Zone::new(client::connect(account).unwrap(), None, None);
    assert_eq!(sent(&zone.reboot(&id).await), "refused for now");
}

#[tokio::test]
async fn a_server_is_gone_only_if_the_list_agrees() {
    let world = World::new(Options::default());
    let (zone, id) = (world.zone(), world.first());
    // "Not allowed", while it is there.
    world.lab.fault(Fault::refused(ErrorType::PermissionsDenied).on(Operation::GetServer));
    let hidden = zone.get(&id).await;
    assert_eq!(read(&hidden), "stop", "{hidden:?}");
    // "Not allowed", and the list is not to be had either.
    world.lab.fault(Fault::refused(ErrorType::PermissionsDenied).on(Operation::GetServer));
    world.lab.fault(Fault::refused(ErrorType::PermissionsDenied).on(Operation::ListServers));
    assert_eq!(read(&zone.get(&id).await), "stop");
    // It was deleted: this is how the vendor says so.
    world.delete(&id).await;
    assert_eq!(read(&zone.get(&id).await), "gone");
    let last = world.lab.requests();
    let gets: Vec<_> =
        last.iter().rev().take(2).map(|entry| (entry.operation.unwrap(), entry.status)).collect();
    assert_eq!(gets, [(Operation::ListServers, Some(200)), (Operation::GetServer, Some(403))]);
    assert!(zone.credentials(&id).await.is_err());
    // No list was without the project.
    let lists = world.lab.requests();
    let mut lists = lists.iter().filter(|entry| entry.operation == Some(Operation::ListServers));
    assert!(lists.all(|entry| entry.path.contains(&format!("project_id={}", world.lab.project_id()))));
}

#[tokio::test]
async fn a_server_is_deleted_when_its_time_has_come() {
    let world = World::new(Options::default());
    let (zone, id) = (world.zone(), world.first());
    let same = id.clone();
    let soon = world.lab.edit(move |vendor, now| {
        let soon = now.after(Duration::from_secs(3600));
        vendor.servers.change(&same, now, |server| server.deletable_at = soon);
        soon
    });
    let early = zone.delete(&id).await;
    assert_eq!(sent(&early), "refused");
    let fleet_engine::pool::Sent::Refused(error) = early else { panic!("{early:?}") };
    assert!(error.message.contains("[precondition_failed]"), "{error}");
    assert!(error.help.unwrap().contains("`deletable_at`"));
    // The same words with another status are not the same error, and neither is the status alone.
    world.lab.fault(Fault::failed(412).on(Operation::DeleteServer));
    let fleet_engine::pool::Sent::Refused(other) = zone.delete(&id).await else { panic!("it is refused") };
    assert!(!other.help.unwrap().contains("`deletable_at`"));
    world.lab.advance(Duration::from_secs(3600));
    let shown = zone.get(&id).await.unwrap().unwrap();
    assert_eq!((shown.commitment.as_deref(), shown.deletable_at), (Some("none"), Some(soon.to_string())));
    assert_eq!(sent(&zone.delete(&id).await), "taken");
    assert_eq!(read(&zone.get(&id).await), "gone");
    // "Not allowed" is how the vendor speaks of it from now on, and no answer to a request.
    assert_eq!(sent(&zone.delete(&id).await), "refused");
}

#[tokio::test]
async fn all_pages_are_read_and_servers_are_what_they_are() {
    let world = World::new(Options { macs: 120, ..Options::default() });
    let zone = world.zone();
    let all = zone.list().await.unwrap();
    assert_eq!((all.len(), world.count(Operation::ListServers)), (120, 2));
    let (server, made) = (&all[0], world.lab.server(&all[0].id).unwrap());
    assert_eq!((&*server.name, &*server.model, &*server.zone), (&*made.name, "M2-L", ZONE));
    assert_eq!((&*server.os_family, &server.status), ("tahoe", &Status::Ready));
    assert_eq!(server.addresses, [made.ip.to_string()]);
    assert_eq!(server.provider_id, format!("scw-applesilicon://{ZONE}/{}", server.id));
    assert!(server.created_at.is_some() && server.deletable_at.is_some());
    // Without a wish, the vendor's own word is told.
    let other = ZoneReader::new(world.looking().clone(), None, Some("Sequoia"));
    assert_eq!(other.get(&server.id).await.unwrap().unwrap().os_family, "Tahoe");
}

#[tokio::test]
async fn a_list_that_changes_while_it_is_read_is_read_anew() {
    let world = World::new(Options { macs: 120, ..Options::default() });
    let zone = world.zone();
    let victim = world.first();
    // The second page comes late, and something on the first one is deleted meanwhile.
    let slow = Fault { answer_after: fleet_lab::scaleway::Seconds(Duration::from_secs(1)), ..Fault::new() };
    world.lab.fault(slow.on(Operation::ListServers));
    let deleting = async {
        while world.count(Operation::ListServers) == 0 {
            tokio::task::yield_now().await;
        }
        world.delete(&victim).await;
        world.lab.advance(Duration::from_secs(2));
    };
    let (all, ()) = tokio::join!(zone.list(), deleting);
    assert_eq!(all.unwrap().len(), 119);
    assert_eq!(world.count(Operation::ListServers), 4);
}

#[tokio::test]
async fn credentials_are_told_until_the_vendor_seals_them() {
    let world = World::new(Options::default());
    let (zone, id) = (world.zone(), world.first());
    let fresh = zone.credentials(&id).await.unwrap();
    assert_eq!(fresh.user.as_deref(), Some("m1"));
    assert!(fresh.sudo_password.is_some());
    assert!(world.lab.edit_server(&id, ServerEdit { secrets_sealed: Some(true), ..ServerEdit::default() }));
    assert_eq!(zone.credentials(&id).await.unwrap().sudo_password, None);
}

#[tokio::test]
async fn a_reinstallation_takes_the_newest_of_the_family_or_what_the_vendor_has() {
    let world = World::new(Options::default());
    let (zone, ids) =
        (world.zone(), world.lab.servers().into_iter().map(|server| server.id).collect::<Vec<_>>());
    let body = || {
        let requests = world.lab.requests();
        let is_it = |entry: &&fleet_lab::log::Entry| entry.operation == Some(Operation::ReinstallServer);
        requests.iter().rfind(is_it).map(|entry| entry.body.clone()).unwrap()
    };
    assert_eq!(sent(&zone.reinstall(&ids[0], Some("Tahoe")).await.0), "taken");
    let systems = world.looking().systems(ZONE).await.unwrap();
    let newest = os::newest(&systems, "tahoe", "M2-L").unwrap();
    assert_eq!(body()["os_id"], json!(newest.id));
    assert!(!newest.is_beta);
    assert_eq!(zone.get(&ids[0]).await.unwrap().unwrap().status, Status::Reinstalling);
    // It is in the middle of it.
    assert_eq!(sent(&zone.reinstall(&ids[0], None).await.0), "busy");
    assert_eq!(sent(&zone.reboot(&ids[0]).await), "busy");
    // A family that is not there any more does not keep a host from going back.
    let (outcome, told) = zone.reinstall(&ids[1], Some("Mavericks")).await;
    assert_eq!(sent(&outcome), "taken");
    assert!(told.unwrap().contains("no system of the family `Mavericks` for M2-L any more"));
    assert_eq!(body()["os_id"], json!(null));
    // Nothing is sent where it is not known what to send.
    world.lab.fault(Fault::failed(500).on(Operation::ListOs));
    let before = world.count(Operation::ReinstallServer);
    assert_eq!(sent(&zone.reinstall(&ids[2], Some("Tahoe")).await.0), "refused for now");
    world.delete(&ids[2]).await;
    assert_eq!(sent(&zone.reinstall(&ids[2], Some("Tahoe")).await.0), "gone");
    assert_eq!(world.count(Operation::ReinstallServer), before);
}

#[tokio::test]
async fn a_rename_is_taken_and_its_answer_holds_no_secret() {
    let world = World::new(Options::default());
    let (zone, id) = (world.zone(), world.first());
    assert_eq!(sent(&zone.rename(&id, "prod-runners-0").await), "taken");
    assert_eq!(zone.get(&id).await.unwrap().unwrap().name, "prod-runners-0");
    assert_eq!(sent(&zone.rename("00000000-0000-4000-8000-000000000000", "x").await), "gone");
}

async fn see<K: ApiKind<Reader = Looking>>(world: &World, at: At<K>) -> Result<Option<K>, Error> {
    K::observe(world.looking(), vec![at]).await.remove(0)
}

#[tokio::test]
async fn a_key_is_registered_found_renamed_and_removed() {
    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
    let world = World::new(Options::default());
    let mut wish = SshKey::wish("fleet", &format!("{KEY} a comment"));
    fleet_engine::resource::Resource::normalize(&mut wish).unwrap();
    assert_eq!(see(&world, At::Declared(wish.clone())).await.unwrap(), None);
    let made = wish.clone().apply(&world.acting, Change::Create).await.unwrap();
    let found = see(&world, At::Recorded(made)).await.unwrap().unwrap();
    assert_eq!(see(&world, At::Declared(wish.clone())).await.unwrap().as_ref(), Some(&found));
    let id = std::sync::Arc::<str>::from(found.id().unwrap());
    assert_eq!(see(&world, At::Id(id.clone())).await.unwrap().as_ref(), Some(&found));
    // In place, and found although it is disabled.
    world.lab.edit(|scaleway, _| scaleway.rules.list_hides_disabled_keys = true);
    let other = SshKey::wish("other", KEY).disabled();
    let made = other.clone().apply(&world.acting, Change::Update { from: found.clone() }).await.unwrap();
    let changed = see(&world, At::Recorded(made)).await.unwrap().unwrap();
    assert_eq!(changed.id(), found.id());
    assert_eq!(see(&world, At::Declared(other)).await.unwrap().as_ref(), Some(&changed));
    let enabled =
        SshKey::wish("other", KEY).apply(&world.acting, Change::Update { from: changed }).await.unwrap();

    // Not while a server is being installed: it would not get the key.
    let zone = world.zone();
    assert_eq!(sent(&zone.reinstall(&world.first(), None).await.0), "taken");
    let kept = SshKey::destroy(&world.acting, enabled.clone()).await.unwrap_err();
    assert!(kept.transient && kept.help.is_some() && kept.retry_after.is_some(), "{kept}");
    assert_eq!(world.count(Operation::DeleteSshKey), 0);
    world.lab.advance(Duration::from_secs(3600));
    SshKey::destroy(&world.acting, enabled.clone()).await.unwrap();
    SshKey::destroy(&world.acting, enabled.clone()).await.unwrap();
    assert_eq!(see(&world, At::Recorded(enabled)).await.unwrap(), None);
    assert_eq!(see::<SshKey>(&world, At::Id(id)).await.unwrap(), None);
    // The project was named each time; without it, a key of one project is denied.
    for entry in world.lab.requests() {
        if entry.operation == Some(Operation::ListSshKeys) {
            assert!(entry.path.contains("project_id="), "{}", entry.path);
        }
    }
}

#[tokio::test]
async fn a_key_whose_answer_got_lost_is_found_and_not_made_twice() {
    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
    let world = World::new(Options::default());
    let wish = SshKey::wish("fleet", KEY);
    world.lab.fault(Fault::cut_after().on(Operation::CreateSshKey));
    let lost = wish.clone().apply(&world.acting, Change::Create).await.unwrap_err();
    assert!(lost.transient, "{lost}");
    let found = see(&world, At::Begun { wish: wish.clone(), except: Vec::new() }).await.unwrap().unwrap();
    assert_eq!(see(&world, At::Begun { wish, except: vec![found] }).await.unwrap(), None);
}

#[tokio::test]
async fn a_server_is_put_into_a_network_and_taken_out() {
    let world = World::new(Options::default());
    let wish = PrivateNetwork::wish("runners");
    assert_eq!(see(&world, At::Declared(wish.clone())).await.unwrap(), None);
    let made = wish.clone().apply(&world.acting, Change::Create).await.unwrap();
    let network = see(&world, At::Recorded(made)).await.unwrap().unwrap();
    assert_eq!(see(&world, At::Declared(wish)).await.unwrap().as_ref(), Some(&network));
    let renamed =
        PrivateNetwork::wish("builders").apply(&world.acting, Change::Update { from: network.clone() });
    let network = see(&world, At::Recorded(renamed.await.unwrap())).await.unwrap().unwrap();

    let (server, id) = (world.first(), network.id().unwrap().to_owned());
    let wish = Attachment::wish(&server, &id);
    // Private networks are switched on first; then it takes a while.
    let mut made = None;
    for _ in 0..4 {
        match wish.clone().apply(&world.acting, Change::Create).await {
            Ok(attached) => {
                made = Some(attached);
                break;
            }
            Err(error) => assert!(error.transient && error.retry_after.is_some(), "{error}"),
        }
        world.lab.advance(Duration::from_secs(20));
    }
    let made = made.unwrap();
    let early = see(&world, At::Recorded(made.clone())).await.unwrap_err();
    assert!(early.transient, "{early}");
    world.lab.advance(Duration::from_secs(20));
    let attached = see(&world, At::Recorded(made)).await.unwrap().unwrap();
    assert!(attached.vlan().is_some());
    assert_eq!(see(&world, At::Declared(wish)).await.unwrap().as_ref(), Some(&attached));
    let both = std::sync::Arc::<str>::from(format!("{server}/{id}"));
    assert_eq!(see(&world, At::Id(both)).await.unwrap().as_ref(), Some(&attached));

    // The vendor keeps a network that somebody is in.
    assert!(PrivateNetwork::destroy(&world.acting, network.clone()).await.is_err());
    Attachment::destroy(&world.acting, attached.clone()).await.unwrap();
    assert!(see(&world, At::Recorded(attached.clone())).await.unwrap_err().transient);
    world.lab.advance(Duration::from_secs(20));
    assert_eq!(see(&world, At::Recorded(attached.clone())).await.unwrap(), None);
    Attachment::destroy(&world.acting, attached).await.unwrap();
    PrivateNetwork::destroy(&world.acting, network.clone()).await.unwrap();
    PrivateNetwork::destroy(&world.acting, network.clone()).await.unwrap();
    assert_eq!(see(&world, At::Recorded(network)).await.unwrap(), None);
}

#[tokio::test]
async fn data_tells_what_there_is() {
    let world = World::new(Options::default());
    let servers =
        Servers::read(world.looking(), vec![Servers::asked(None), Servers::asked(Some("other-"))]).await;
    let counts: Vec<usize> = servers.into_iter().map(|read| read.unwrap().count()).collect();
    assert_eq!(counts, [3, 0]);
    assert_eq!(world.count(Operation::ListServers), 1, "one list answers both");
    let types = ServerTypes::read(world.looking(), vec![ServerTypes::asked()]).await.remove(0).unwrap();
    assert!(types.names().contains(&"M2-L"));
    let read =
        OsImages::read(world.looking(), vec![OsImages::asked(None), OsImages::asked(Some("Tahoe"))]).await;
    let names: Vec<Vec<String>> = read.into_iter().map(|read| read.unwrap().names()).collect();
    assert!(names[1].iter().all(|name| name.contains("tahoe")) && !names[1].is_empty(), "{names:?}");
    assert!(names[0].len() > names[1].len());
    world.lab.fault(Fault { answer: Answer::Status(500), ..Fault::new() }.on(Operation::ListServers));
    assert!(
        Servers::read(world.looking(), vec![Servers::asked(None)]).await.remove(0).unwrap_err().transient
    );
}

#[tokio::test]
async fn a_wrong_key_is_said_and_not_repeated() {
    let world = World::new(Options::default());
    let wrong = "11111111-1111-4111-8111-111111111111";
    let account = Account {
        secret_key: fleet_engine::host::reach::Secret(wrong.into()),
        ..(*world.looking().account).clone()
    };
    let zone = Zone::new(client::connect(account).unwrap(), None, None);
    let error = zone.list().await.unwrap_err();
    assert!(error.help.as_ref().is_some_and(|help| help.contains("SCW_SECRET_KEY")), "{error}");
    assert!(!format!("{error:?}{zone:?}").contains(wrong));
}
