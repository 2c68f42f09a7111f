//! Things that go wrong on purpose.

use std::time::Duration;

use fleet_lab::fault::{Answer, Effect, Fault};
use fleet_lab::scaleway::{ErrorType, Operation, Seconds};
use reqwest::Method;
use serde_json::json;

use super::{Api, ZONE};

const MINUTE: Duration = Duration::from_secs(60);

impl Api {
    fn name(&self) -> String {
        self.lab.servers()[0].name.clone()
    }

    async fn rename(&self, name: &str) -> reqwest::Result<u16> {
        let reply = self.try_send(Method::PATCH, &self.path(0), Some(json!({ "name": name }))).await;
        reply.map(|reply| reply.status)
    }
}

#[tokio::test]
async fn every_typed_error_has_its_status_and_its_shape() {
    let api = Api::start();
    let extra = |kind: ErrorType| -> &[&str] {
        match kind {
            ErrorType::InvalidArguments | ErrorType::PermissionsDenied | ErrorType::QuotasExceeded => {
                &["details"]
            }
            ErrorType::DeniedAuthentication => &["method", "reason"],
            ErrorType::NotFound | ErrorType::Locked => &["resource", "resource_id"],
            ErrorType::TransientState => &["current_state", "resource", "resource_id"],
            ErrorType::AlreadyExists => &["help_message", "resource", "resource_id"],
            ErrorType::Expired | ErrorType::ResourceExpired => &["expired_since", "resource", "resource_id"],
            ErrorType::PreconditionFailed => &["help_message", "precondition"],
            ErrorType::TooManyRequests => &["help_message", "limit", "reset_at", "reset_seconds"],
            ErrorType::OutOfStock => &["resource"],
        }
    };
    let id = api.lab.servers()[0].id.clone();
    for kind in ErrorType::ALL {
        api.lab.fault(Fault::refused(kind).on(Operation::UpdateServer));
        let reply = api.patch(&api.path(0), json!({ "name": "x" })).await;
        assert_eq!((reply.status, reply.kind()), (kind.status(), kind.name()));
        assert_eq!(reply.headers["content-type"], "application/json");
        let fields = reply.body.as_object().unwrap();
        let mut found: Vec<&str> = fields.keys().map(String::as_str).collect();
        found.retain(|field| !["type", "message"].contains(field));
        found.sort_unstable();
        assert_eq!(found, extra(kind), "{}", kind.name());
        if fields.contains_key("resource_id") {
            assert_eq!((&reply.body["resource"], &reply.body["resource_id"]), (&json!("server"), &json!(id)));
        }
        let logged = api.lab.requests().pop().unwrap();
        assert_eq!((logged.status, logged.error, logged.effect_at), (Some(kind.status()), Some(kind), None));
        assert!(logged.fault.is_some());
    }
    assert_eq!(api.name(), "pool-01");
}

#[tokio::test]
async fn failures_that_say_nothing() {
    let api = Api::start();
    for status in [500, 502, 503, 504, 429] {
        api.lab.fault(Fault::failed(status));
        let reply = api.patch(&api.path(0), json!({ "name": "x" })).await;
        assert_eq!((reply.status, reply.headers["content-type"].to_str().unwrap()), (status, "text/plain"));
    }
    assert_eq!(api.name(), "pool-01");
    // The write may have happened all the same.
    api.lab.fault(Fault { answer: Answer::Status(502), ..Fault::new() });
    assert_eq!(api.rename("x").await.unwrap(), 502);
    assert_eq!(api.name(), "x");
}

#[tokio::test]
async fn connections_are_cut_before_and_after_the_effect() {
    let api = Api::start();
    api.lab.fault(Fault::cut_before().on(Operation::UpdateServer));
    assert!(!api.rename("before").await.unwrap_err().is_timeout());
    assert_eq!(api.name(), "pool-01");
    api.lab.fault(Fault::cut_after().on(Operation::UpdateServer));
    assert!(!api.rename("after").await.unwrap_err().is_timeout());
    assert_eq!(api.name(), "after");
    let requests = api.lab.requests();
    assert_eq!((requests[0].status, requests[0].effect_at), (None, None));
    assert_eq!((requests[1].status, requests[1].effect_at), (None, Some(api.lab.clock().time())));
    assert_eq!(requests.len(), 2, "a client that was cut off does not try again by itself");
}

#[tokio::test]
async fn a_write_takes_effect_and_nobody_is_told() {
    let api = Api::start();
    api.lab.fault(Fault::unanswered().on(Operation::UpdateServer));
    let url = format!("{}{}", api.lab.api_url(), api.path(0));
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_millis(300)).build().unwrap();
    let request = client.patch(url).header("X-Auth-Token", &api.secret).json(&json!({ "name": "x" }));
    assert!(request.send().await.unwrap_err().is_timeout());
    assert_eq!(api.name(), "x");
    // The lab answers others meanwhile, and ends although somebody waits.
    assert_eq!(api.get(&api.path(0)).await.status, 200);
}

#[tokio::test]
async fn a_write_takes_effect_much_later() {
    let api = Api::start();
    api.lab.fault(Fault::late(10 * MINUTE).on(Operation::UpdateServer));
    assert!(api.rename("late").await.is_err());
    assert_eq!(api.rename("early").await.unwrap(), 200);
    api.advance(599);
    assert_eq!(api.name(), "early");
    api.advance(1);
    assert_eq!(api.name(), "late", "the last to take effect wins");
    let requests = api.lab.requests();
    assert_eq!(requests[0].effect_at, Some(requests[0].at.after(10 * MINUTE)));
    // Answered at once as if it were done.
    let delayed = Fault { effect: Effect::After(Seconds(MINUTE)), ..Fault::new() };
    api.lab.fault(delayed.on(Operation::UpdateServer));
    let reply = api.patch(&api.path(0), json!({ "name": "told" })).await;
    assert_eq!((reply.status, &reply.body["name"]), (200, &json!("told")));
    assert_eq!(api.name(), "late");
    api.advance(60);
    assert_eq!(api.name(), "told");
}

#[tokio::test]
async fn a_late_write_that_is_not_possible_any_more_has_no_effect() {
    let api = Api::start();
    api.lab.fault(Fault::late(MINUTE).on(Operation::ReinstallServer));
    let path = format!("{}/reinstall", api.path(0));
    assert!(api.try_send(Method::POST, &path, Some(json!({}))).await.is_err());
    assert_eq!(api.post(&format!("{}/reboot", api.path(0)), json!({})).await.status, 200);
    api.advance(60);
    assert_eq!(api.get(&api.path(0)).await.body["status"], "rebooting");
    assert_eq!(api.lab.requests()[0].effect_at, None);
    api.advance(3600);
    assert_eq!(api.lab.servers()[0].installs, 1);
}

#[tokio::test]
async fn slow_answers_take_the_time_of_the_world() {
    let api = Api::start();
    api.lab.fault(Fault::slow(MINUTE).on(Operation::UpdateServer));
    let answer = api.rename("x");
    let mut answer = std::pin::pin!(answer);
    let soon = tokio::time::timeout(Duration::from_millis(300), answer.as_mut()).await;
    assert!(soon.is_err(), "the clock stands still");
    assert_eq!(api.name(), "x");
    api.advance(60);
    assert_eq!(answer.await.unwrap(), 200);
}

#[tokio::test]
async fn reads_may_be_old() {
    let api = Api::start();
    assert_eq!(api.rename("new").await.unwrap(), 200);
    api.post(&format!("{}/reboot", api.path(0)), json!({})).await;
    api.advance(5);
    api.lab.fault(Fault::stale(10 * MINUTE).on(Operation::GetServer));
    let old = api.get(&api.path(0)).await.body;
    assert_eq!((&old["name"], &old["status"]), (&json!("pool-01"), &json!("ready")));
    assert_eq!(api.get(&api.path(0)).await.body["status"], "rebooting", "for one read only");
    api.lab.fault(Fault::stale(10 * MINUTE).on(Operation::ListServers).always());
    let list = api.get(&format!("{ZONE}/servers")).await.body;
    assert_eq!(super::names(&list)[0], "pool-01");
    // What was ordered meanwhile is not there, what was deleted still is.
    api.order("new", "M2-L").await;
    api.delete(&api.path(1)).await;
    let list = api.get(&format!("{ZONE}/servers")).await.body;
    assert_eq!(super::names(&list), ["pool-01", "pool-02", "pool-03"]);
    api.lab.clear_faults();
    let list = api.get(&format!("{ZONE}/servers")).await.body;
    assert_eq!(super::names(&list), ["new", "pool-03", "new"]);
}

#[tokio::test]
async fn all_reads_may_lag() {
    let api = Api::with_rules(|rules| rules.read_lag = Seconds::new(30));
    api.rename("new").await.unwrap();
    assert_eq!(api.get(&api.path(0)).await.body["name"], "pool-01");
    api.advance(30);
    assert_eq!(api.get(&api.path(0)).await.body["name"], "new");
}

#[tokio::test]
async fn only_what_matches() {
    let api = Api::start();
    let other = api.lab.add_token("OTHER", None);
    let id = api.lab.servers()[1].id.clone();
    let path = |fault: Fault, pattern: &str| {
        let mut fault = fault;
        fault.matching.path = Some(pattern.to_owned());
        fault
    };
    api.lab.fault(Fault::failed(500).about(&id).always());
    assert_eq!(api.get(&api.path(0)).await.status, 200);
    assert_eq!(api.get(&api.path(1)).await.status, 500);
    api.lab.clear_faults();
    api.lab.fault(Fault::failed(500).of(&other.id).always());
    assert_eq!(api.get(&api.path(0)).await.status, 200);
    assert_eq!(api.with_key(&other.secret)(Method::GET, &api.path(0)).await.status, 500);
    api.lab.clear_faults();
    api.lab.fault(path(Fault::failed(500), "/iam/*").always());
    assert_eq!(api.get(&api.path(0)).await.status, 200);
    assert_eq!(api.get("/iam/v1alpha1/ssh-keys").await.status, 500);
    api.lab.clear_faults();
    let mut writes = Fault::failed(500).nth(2);
    writes.matching.writes = Some(true);
    api.lab.fault(writes);
    assert_eq!(api.rename("a").await.unwrap(), 200);
    assert_eq!(api.get(&api.path(0)).await.status, 200);
    assert_eq!(api.rename("b").await.unwrap(), 500);
    assert_eq!(api.rename("c").await.unwrap(), 200);
    assert_eq!((api.lab.faults()[0].matched, api.lab.faults()[0].hit), (3, 1));
}

#[tokio::test]
async fn an_order_whose_answer_is_lost_was_made() {
    let api = Api::start();
    api.lab.fault(Fault::cut_after().on(Operation::CreateServer));
    let body = json!({ "name": "new", "type": "M2-L", "project_id": api.lab.project_id() });
    assert!(api.try_send(Method::POST, &format!("{ZONE}/servers"), Some(body)).await.is_err());
    let server = api.lab.server("new").unwrap();
    assert_eq!(api.lab.requests()[0].server, Some(server.id));
}
