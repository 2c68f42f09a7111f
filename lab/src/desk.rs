//! The address of a small vendor: requests from HTTP to its [`Books`] and answers back, every request noted, and what goes
//! wrong on purpose.
//!
//! [`scaleway`](crate::scaleway) has its own, because its requests act on machines and take effect late. Here a request is
//! done with when it is answered.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::{Request, Response, header};
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::clock::{Clock, Time};
use crate::gate::Gate;
use crate::http;

/// What a vendor knows, and how it answers.
pub trait Books: Clone + Send + Sync + 'static {
    /// What is asked for, by a name of its own; none if there is no such address.
    fn operation(&self, ask: &Ask) -> Option<&'static str>;

    /// The answer.
    fn answer(&self, operation: &'static str, ask: &Ask, now: Time) -> Reply;

    /// How the vendor words a status that nobody earned.
    fn refusal(&self, status: u16) -> Reply;
}

/// A request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The HTTP method.
    pub method: String,
    /// The path, segment by segment, decoded.
    pub path: Vec<String>,
    /// What stands behind the `?`, decoded.
    pub query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    /// What was sent.
    pub body: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Headers, beside that of the body.
    pub headers: Vec<(&'static str, String)>,
    /// The body, and what it is; none if there is none.
    pub body: Option<(&'static str, String)>,
}

/// How a vendor cuts its lists into pages.
#[derive(Clone, Copy, Debug)]
pub struct Paging {
    /// How it names the size of a page.
    pub size: &'static str,
    /// The size if nobody says one.
    pub usual: usize,
    /// The most that it shows at once, whoever asks for more.
    pub most: usize,
}

/// Where a vendor is asked.
#[derive(Clone, Debug)]
pub struct Desk {
    url: String,
    notes: Arc<Mutex<Notes>>,
}

#[derive(Debug, Default)]
struct Notes {
    visits: Vec<Visit>,
    mishaps: VecDeque<Mishap>,
}

/// A request that came, without what may be secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Visit {
    /// What was asked for; none if the vendor has no such address.
    pub operation: Option<&'static str>,
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The status of the answer; none if there was none.
    pub status: Option<u16>,
}

/// Something that goes wrong on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mishap {
    /// What has to be asked for.
    pub operation: &'static str,
    /// So many of these requests go well before.
    pub skip: u32,
    /// What happens, once.
    pub how: How,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Nothing is done, and the vendor answers with this status.
    Refuse(u16),
    /// The same, asking to be left alone for so many seconds.
    RefuseFor(u16, u64),
    /// Nothing is done, and something between answers with this status, in no form that the vendor knows.
    Between(u16),
    /// Nothing is done, and nobody answers.
    CutBefore,
    /// It is done, and nobody answers.
    CutAfter,
}

impl Ask {
    fn of(request: Request<Bytes>) -> Ask {
        let (head, body) = request.into_parts();
        let decode = |text: &str| {
            percent_encoding::percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
        };
        let path = head.uri.path().split('/').skip(1);
        let path =
            path.map(|part| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned());
        let query = head.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let query = query.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        Ask {
            method: head.method.as_str().to_owned(),
            path: path.collect(),
            query: query.collect(),
            headers: head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: body.to_vec(),
        }
    }

    /// The path as texts, to be matched.
    #[must_use]
    pub fn segments(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// What a header says.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What a parameter of the query says.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What was sent as JSON; null if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// What was sent as a text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Reply {
    /// JSON.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Reply {
        Reply::text(status, "application/json; charset=utf-8", body.to_string())
    }

    /// A text of some sort.
    #[must_use]
    pub fn text(status: u16, kind: &'static str, text: impl Into<String>) -> Reply {
        Reply { status, headers: Vec::new(), body: Some((kind, text.into())) }
    }

    /// Nothing.
    #[must_use]
    pub fn empty(status: u16) -> Reply {
        Reply { status, headers: Vec::new(), body: None }
    }

    /// The same with a header.
    #[must_use]
    pub fn with(mut self, header: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((header, value.into()));
        self
    }
}

impl Paging {
    /// The page that is asked for, made of what is on it and of how many there are; it leads to the next one.
    pub fn cut(self, ask: &Ask, all: Vec<Value>, reply: impl FnOnce(Vec<Value>, usize) -> Reply) -> Reply {
        let number = |name: &str, usual: usize| {
            ask.parameter(name).and_then(|text| text.parse().ok()).unwrap_or(usual)
        };
        let (size, page) = (number(self.size, self.usual).clamp(1, self.most), number("page", 1).max(1));
        let total = all.len();
        let reply = reply(all.into_iter().skip((page - 1) * size).take(size).collect(), total);
        if page * size >= total {
            return reply;
        }
        let (path, name) = (ask.path.join("/"), self.size);
        reply.with("link", format!("<https://lab/{path}?{name}={size}&page={}>; rel=\"next\"", page + 1))
    }
}

impl Desk {
    /// Answers at an address of its own from now on.
    pub(crate) async fn open(books: impl Books, clock: Clock, gate: Gate) -> io::Result<Desk> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let desk = Desk { url: format!("http://{}", listener.local_addr()?), notes: Arc::default() };
        let served = desk.clone();
        tokio::spawn(http::serve(listener, gate, move |request| {
            let (desk, books, clock) = (served.clone(), books.clone(), clock.clone());
            async move {
                let _busy = clock.busy();
                desk.serve(&books, Ask::of(request), clock.time())
            }
        }));
        Ok(desk)
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every request that came so far, in order.
    #[must_use]
    pub fn visits(&self) -> Vec<Visit> {
        self.notes().visits.clone()
    }

    /// How often something was asked for.
    #[must_use]
    pub fn count(&self, operation: &str) -> usize {
        self.notes().visits.iter().filter(|visit| visit.operation == Some(operation)).count()
    }

    /// Lets something go wrong, once.
    pub fn mishap(&self, operation: &'static str, how: How) {
        self.notes().mishaps.push_back(Mishap { operation, skip: 0, how });
    }

    /// The same, after so many of these requests went well.
    pub fn later_mishap(&self, operation: &'static str, skip: u32, how: How) {
        self.notes().mishaps.push_back(Mishap { operation, skip, how });
    }

    fn strike(&self, operation: &str) -> Option<How> {
        let mut notes = self.notes();
        let at = notes.mishaps.iter().position(|mishap| mishap.operation == operation)?;
        match &mut notes.mishaps[at].skip {
            0 => notes.mishaps.remove(at).map(|mishap| mishap.how),
            skip => {
                *skip -= 1;
                None
            }
        }
    }

    fn serve(&self, books: &impl Books, ask: Ask, now: Time) -> Option<Response<Body>> {
        let operation = books.operation(&ask);
        let how = operation.and_then(|operation| self.strike(operation));
        let reply = match (operation, how) {
            (None, _) => Some(books.refusal(404)),
            (Some(operation), None) => Some(books.answer(operation, &ask, now)),
            (_, Some(How::Refuse(status))) => Some(books.refusal(status)),
            (_, Some(How::RefuseFor(status, seconds))) => {
                Some(books.refusal(status).with("retry-after", seconds.to_string()))
            }
            (_, Some(How::Between(status))) => Some(Reply::text(status, "text/plain", format!("{status}\n"))),
            (_, Some(How::CutBefore)) => None,
            (Some(operation), Some(How::CutAfter)) => {
                books.answer(operation, &ask, now);
                None
            }
        };
        let status = reply.as_ref().map(|reply| reply.status);
        let number = {
            let mut notes = self.notes();
            let path = format!("/{}", ask.path.join("/"));
            notes.visits.push(Visit { operation, method: ask.method, path, status });
            notes.visits.len()
        };
        let Reply { status, headers, body } = reply?;
        let mut response = Response::builder().status(status).header("x-request-id", format!("lab-{number}"));
        for (name, value) in headers {
            response = response.header(name, value);
        }
        match body {
            None => response.body(Body::empty()).ok(),
            Some((kind, text)) => response.header(header::CONTENT_TYPE, kind).body(Body::from(text)).ok(),
        }
    }
}
