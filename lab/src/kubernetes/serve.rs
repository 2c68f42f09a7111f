//! The server's address: requests from HTTP to the books, and answers back.

use axum::body::{Body, Bytes};
use axum::http::{Request as HttpRequest, Response, header};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::fault::Wrong;
use super::perform::{Answer, Turn};
use super::refusal::Refusal;
use super::route::{Asked, Call, Request, understand};
use super::watch::Watch;
use super::{Cluster, Entry, discovery, locked, table};
use crate::gate::Gate;
use crate::http;

/// What is sent back.
enum Reply {
    Json(u16, Value),
    Refused(Refusal),
    Stream(Watch),
    Cut,
}

/// Answers requests for ever.
pub(super) async fn serve(listener: TcpListener, acceptor: TlsAcceptor, gate: Gate, cluster: Cluster) {
    http::serve_tls(listener, acceptor, gate, move |request| {
        let cluster = cluster.clone();
        async move { answer(&cluster, &request) }
    })
    .await;
}

fn answer(cluster: &Cluster, request: &HttpRequest<Bytes>) -> Option<Response<Body>> {
    let header = |name: header::HeaderName| {
        let value = request.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let bearer = header(header::AUTHORIZATION).strip_prefix("Bearer ").map(str::to_owned);
    let request = Request {
        method: request.method().as_str().to_owned(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().map(str::to_owned),
        bearer,
        content_type: header(header::CONTENT_TYPE),
        accept: header(header::ACCEPT),
        user_agent: header(header::USER_AGENT),
        body: request.body().to_vec(),
    };
    let reply = cluster.call(&request);
    // Its clock is that of the lab.
    let date = httpdate::fmt_http_date(cluster.inside.clock.time().into());
    let id = uuid::Uuid::new_v4().to_string();
    let mut response = Response::builder().header("audit-id", id).header(header::DATE, date);
    let (status, body) = match reply {
        Reply::Cut => return None,
        Reply::Json(status, Value::String(words)) => (status, Body::from(words)),
        Reply::Json(status, body) => {
            response = response.header(header::CONTENT_TYPE, "application/json");
            (status, Body::from(body.to_string()))
        }
        Reply::Refused(refusal) => {
            response = response.header(header::CONTENT_TYPE, "application/json");
            if let Some(after) = refusal.retry_after {
                response = response.header(header::RETRY_AFTER, after.as_secs());
            }
            (refusal.code, Body::from(refusal.status().to_string()))
        }
        Reply::Stream(watch) => {
            response = response.header(header::CONTENT_TYPE, "application/json");
            (200, Body::from_stream(watch.lines()))
        }
    };
    response.status(status).body(body).ok()
}

impl Cluster {
    /// A request, from its coming to its answer.
    fn call(&self, request: &Request) -> Reply {
        let now = self.inside.clock.time();
        let asked = understand(request);
        let user = locked(&self.inside.books).authenticate(request.bearer.as_deref(), now);
        let call = match &asked {
            Ok(Asked::Object(call)) => Some(call),
            _ => None,
        };
        let entry = Entry {
            at: now,
            user: user.as_ref().ok().map(|user| user.name.clone()),
            verb: call.map_or_else(|| request.method.clone(), |call| call.verb.to_owned()),
            path: request.path.clone(),
            dry_run: call.is_some_and(Call::is_dry_run),
            writes: call.is_some_and(Call::writes),
            status: None,
        };
        let number = {
            let mut log = locked(&self.inside.log);
            log.push(entry);
            log.len() - 1
        };
        let reply = match (user, asked) {
            (Err(refusal), _) | (Ok(_), Err(refusal)) => Reply::Refused(refusal),
            (Ok(user), Ok(Asked::Path(path))) => {
                let allowed = locked(&self.inside.books).authorize_path(&user, &path);
                match allowed.and_then(|()| discovery::answer(&path)) {
                    Ok(body) => Reply::Json(200, body),
                    Err(refusal) => Reply::Refused(refusal),
                }
            }
            (Ok(user), Ok(Asked::Review)) => match serde_json::from_slice(&request.body) {
                Ok(asked) => Reply::Json(201, locked(&self.inside.books).review(&user, asked)),
                Err(error) => Reply::Refused(Refusal::bad_request(format!("the body is no JSON: {error}"))),
            },
            (Ok(user), Ok(Asked::Object(call))) => {
                self.carry_out(&Turn { call: &call, request, user: &user, now })
            }
        };
        let status = match &reply {
            Reply::Json(status, _) => Some(*status),
            Reply::Refused(refusal) => Some(refusal.code),
            Reply::Stream(_) => Some(200),
            Reply::Cut => None,
        };
        locked(&self.inside.log)[number].status = status;
        reply
    }

    fn carry_out(&self, turn: &Turn<'_>) -> Reply {
        let wrong = locked(&self.inside.faults).strike(turn.call);
        match &wrong {
            Some(Wrong::CutBefore) => return Reply::Cut,
            Some(Wrong::Removed) => {
                let mut books = locked(&self.inside.books);
                if let Ok(object) = books.found(turn.call) {
                    books.remove(turn.call.kind, &object);
                }
            }
            Some(wrong) => {
                if let Some(refusal) = wrong.refusal(turn.call) {
                    return Reply::Refused(refusal);
                }
            }
            None => {}
        }
        let done = self.do_it(turn);
        if wrong == Some(Wrong::CutAfter) {
            return Reply::Cut;
        }
        match done {
            Ok(Done::Answer((status, body))) => match table::of(turn.call, &turn.request.accept, &body) {
                Some(table) => Reply::Json(status, table),
                None => Reply::Json(status, body),
            },
            Ok(Done::Watch(watch)) => Reply::Stream(watch),
            Err(refusal) => Reply::Refused(refusal),
        }
    }

    fn do_it(&self, turn: &Turn<'_>) -> Result<Done, Refusal> {
        let answer = {
            let mut books = locked(&self.inside.books);
            books.authorize(turn.user, turn.call)?;
            if turn.call.verb == "watch" {
                drop(books);
                return Watch::begin(self, turn.call).map(Done::Watch);
            }
            if turn.call.is_dry_run() {
                // What would come of it is found out in a copy.
                return books.clone().perform(turn).map(Done::Answer);
            }
            books.perform(turn)?
        };
        if turn.call.writes() {
            self.changed();
        }
        Ok(Done::Answer(answer))
    }
}

enum Done {
    Answer(Answer),
    Watch(Watch),
}
