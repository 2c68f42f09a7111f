//! The way to APIs over HTTP: what was asked, whether it arrived, and what was answered.
//!
//! 1. [`Reader`] asks, and can do nothing else; [`Writer`] changes things, once each: it never tries again by itself
//! 2. [`outcome`]: what is known of a request afterwards; a write that got no answer may still have had an effect
//! 3. [`redact`]: no secret is in an error or in the log, whatever the other side repeats
//!
//! What can be tried again says so in its [`Error`], and the engine does, by its own clock.

pub mod outcome;
mod redact;

use std::fmt;
use std::time::{Duration, Instant};

use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, Url};
use serde_json::Value as Json;

pub use outcome::{Answer, Class, Outcome};

use outcome::{Lost, cause, unsent};
use redact::Redact;

/// How long it may take until a connection is there.
const CONNECTING: Duration = Duration::from_secs(10);

/// A connection that was silent for longer may be closed at the other end, unnoticed: a write that is sent into it has
/// no answer, and nobody knows why.
const IDLE: Duration = Duration::from_secs(10);

/// No answer that anybody needs is longer.
const LONGEST_ANSWER: usize = 32 << 20;

/// Which API, and as whom.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// What people call it.
    pub name: &'static str,
    /// Where it is; paths are put after it.
    pub url: &'a str,
    /// The header that carries the credential.
    pub header: &'static str,
    /// The credential, as the header carries it.
    pub credential: &'a Secret,
    /// What else every request says, as header and value; nothing of it is secret.
    pub headers: &'a [(&'static str, &'a str)],
    /// The header by which it names a request in its own log.
    pub request_id: &'static str,
    /// How long a request may take, with its answer.
    pub timeout: Duration,
}

/// Asks. It has no way to change anything.
#[derive(Clone, Debug)]
pub struct Reader(Calls);

/// Changes things.
#[derive(Clone, Debug)]
pub struct Writer(Calls);

/// How something is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `POST`: makes or does something, again with every request.
    Post,
    /// `PUT`: puts something in a place.
    Put,
    /// `PATCH`: changes parts of something.
    Patch,
    /// `DELETE`: removes something.
    Delete,
}

/// What is sent, where more has to be said than a path and some JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parcel<'a> {
    /// Where, segment by segment.
    pub path: &'a [&'a str],
    /// What stands behind the `?`.
    pub query: &'a [(&'a str, &'a str)],
    /// Headers of this request alone.
    pub headers: &'a [(&'static str, &'a str)],
    /// What is in it.
    pub body: Body<'a>,
}

/// What is in a request.
#[derive(Clone, Copy, Default)]
pub enum Body<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// JSON.
    Json(&'a Json),
    /// A text, and what it is called in `Content-Type`.
    Text(&'static str, &'a str),
}

#[derive(Clone, Debug)]
struct Calls {
    name: &'static str,
    client: Client,
    base: Url,
    request_id: &'static str,
    redact: Redact,
}

/// Connects to an API, for reading and for writing. Nothing is sent yet.
pub fn connect(options: &Options<'_>) -> Result<(Reader, Writer), Error> {
    let calls = Calls::new(options)?;
    Ok((Reader(calls.clone()), Writer(calls)))
}

impl Reader {
    /// Asks for what is at a path, segment by segment. Whatever was answered is `Ok`; without an answer, trying again
    /// may help.
    pub async fn get(&self, doing: &str, path: &[&str], query: &[(&str, &str)]) -> Result<Answer, Error> {
        self.ask(doing, &Parcel { path, query, ..Parcel::default() }).await
    }

    /// The same with more to say; what is in it is not sent.
    pub async fn ask(&self, doing: &str, parcel: &Parcel<'_>) -> Result<Answer, Error> {
        match self.0.call(doing, Method::GET, &Parcel { body: Body::Nothing, ..*parcel }).await {
            Ok(answer) => Ok(answer),
            Err(Lost::NotSent(error) | Lost::Unanswered(error)) => Err(error),
        }
    }
}

impl Writer {
    /// Sends one request that changes something, once.
    pub async fn send(&self, doing: &str, verb: Verb, path: &[&str], body: Option<&Json>) -> Outcome {
        let body = body.map_or(Body::Nothing, Body::Json);
        self.submit(doing, verb, &Parcel { path, body, ..Parcel::default() }).await
    }

    /// The same with more to say.
    pub async fn submit(&self, doing: &str, verb: Verb, parcel: &Parcel<'_>) -> Outcome {
        match self.0.call(doing, verb.into(), parcel).await {
            Ok(answer) => Outcome::Answered(answer),
            Err(Lost::NotSent(error)) => Outcome::NotSent(error),
            Err(Lost::Unanswered(error)) => Outcome::Unsettled(error),
        }
    }
}

impl Calls {
    fn new(options: &Options<'_>) -> Result<Calls, Error> {
        let Options { name, url, .. } = options;
        let base = Url::parse(url).ok().filter(|base| base.has_host() && !base.cannot_be_a_base());
        let base = base.ok_or_else(|| {
            let error = Error::permanent(format!("`{url}` is no address of {name}"));
            error.help("write it as `https://host`, without a query")
        })?;
        let is_here = base.host_str().is_some_and(is_this_machine);
        if base.scheme() != "https" && !(base.scheme() == "http" && is_here) {
            let message =
                format!("the credential of {name} is not sent to `{url}`, where others could read it");
            return Err(Error::permanent(message).help("use `https`; `http` is for this machine alone"));
        }
        let no_client = |error| Error::permanent(format!("there is no way to {name}")).because(cause(error));
        let mut credential = HeaderValue::from_str(&options.credential.0).map_err(|_| {
            Error::permanent(format!("the credential of {name} has characters that no header can carry"))
        })?;
        credential.set_sensitive(true);
        let mut headers = HeaderMap::from_iter([(HeaderName::from_static(options.header), credential)]);
        for (name, value) in options.headers {
            let value = HeaderValue::from_str(value).map_err(|_| {
                Error::permanent(format!("`{value}` has characters that no header can carry"))
            })?;
            headers.insert(HeaderName::from_static(name), value);
        }
        let mut client = Client::builder()
            .user_agent(concat!("fleet/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .timeout(options.timeout)
            .connect_timeout(CONNECTING)
            .pool_idle_timeout(IDLE)
            // A request goes where it was sent, once: also the credential goes nowhere else.
            .redirect(Policy::none())
            .retry(reqwest::retry::never());
        if is_here {
            client = client.no_proxy();
        }
        if base.scheme() == "http" {
            // To load the certificates of the machine takes longer than many calls.
            client = client.tls_certs_only([]);
        }
        Ok(Calls {
            name,
            client: client.build().map_err(no_client)?,
            base,
            request_id: options.request_id,
            redact: Redact::new(parts(&options.credential.0)),
        })
    }

    async fn call(&self, doing: &str, method: Method, parcel: &Parcel<'_>) -> Result<Answer, Lost> {
        let Parcel { path, query, headers, body } = *parcel;
        let (api, verb, started) = (self.name, method.as_str().to_owned(), Instant::now());
        let doing = &self.redact.clean(doing);
        let url = self.url(path, query).ok_or_else(|| unsent(doing, "the path cannot be asked for"))?;
        let shown = self.redact.clean(url.path());
        tracing::debug!(api, method = verb, path = shown, "asking");
        let mut request = self.client.request(method, url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request = match body {
            Body::Nothing => request,
            Body::Json(body) => request.json(body),
            Body::Text(kind, text) => request.header(CONTENT_TYPE, kind).body(text.to_owned()),
        };
        let answered = match request.send().await {
            Ok(response) => self.read(response).await,
            Err(error) => Err(error),
        };
        let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match answered {
            Ok(answer) => {
                let (status, request) = (answer.status, answer.request_id.as_deref().unwrap_or_default());
                tracing::debug!(api, method = verb, path = shown, status, request, millis, "answered");
                Ok(answer)
            }
            Err(error) => {
                let lost = Lost::of(self.name, doing, error, &self.redact);
                let (Lost::NotSent(why) | Lost::Unanswered(why)) = &lost;
                let is_sent = matches!(lost, Lost::Unanswered(_));
                tracing::debug!(api, method = verb, path = shown, is_sent, millis, %why, "no answer");
                Err(lost)
            }
        }
    }

    /// The whole answer. One that breaks off is none.
    async fn read(&self, mut response: Response) -> Result<Answer, reqwest::Error> {
        let status = response.status().as_u16();
        let header = |name: &str| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(self.redact.clean(value))
        };
        let request_id = header(self.request_id);
        let headers = response.headers().clone();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            // What is cut off cannot be read as JSON, which says enough.
            body.extend_from_slice(&chunk[..chunk.len().min(LONGEST_ANSWER - body.len())]);
        }
        Ok(Answer { status, request_id, headers, body, redact: self.redact.clone() })
    }

    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Option<Url> {
        // A segment of dots would lead elsewhere.
        if path.iter().any(|segment| segment.is_empty() || segment.chars().all(|c| c == '.')) {
            return None;
        }
        let mut url = self.base.clone();
        url.path_segments_mut().ok()?.pop_if_empty().extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Some(url)
    }
}

/// What is sent may be secret.
impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Body::Nothing => "nothing",
            Body::Json(_) => "JSON",
            Body::Text(kind, _) => kind,
        })
    }
}

impl From<Verb> for Method {
    fn from(verb: Verb) -> Method {
        match verb {
            Verb::Post => Method::POST,
            Verb::Put => Method::PUT,
            Verb::Patch => Method::PATCH,
            Verb::Delete => Method::DELETE,
        }
    }
}

/// A credential as a header carries it, and without the word before it, as in `Bearer TOKEN`.
fn parts(credential: &str) -> impl Iterator<Item = &str> {
    std::iter::once(credential).chain(credential.split_once(' ').map(|(_, rest)| rest))
}

/// Whether a host of a URL is the machine that runs fleet.
fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    host == "localhost" || address.is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}
