//! The test world: an HTTP server on loopback.

use std::collections::BTreeMap;
use std::future::pending;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeBounds;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::stream;
use tokio::sync::{oneshot, watch};

use crate::fault::{Fault, Planned};
use crate::server::Server;

/// What the world wants to be shown.
pub const TOKEN: &str = "open-sesame";

/// A world of its own, gone when it is dropped.
pub struct World {
    address: SocketAddr,
    inside: Arc<Inside>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What can be asked of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Operation {
    List,
    Get,
    Create,
    Update,
    Delete,
}

/// What the world has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// How often each operation was called.
    pub calls: BTreeMap<Operation, usize>,
    /// How many calls are being answered right now.
    pub in_flight: usize,
    /// How many calls were being answered at most at one time.
    pub most_in_flight: usize,
}

/// A change that was asked for and made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// What was asked for.
    pub operation: Operation,
    /// The name of the server.
    pub name: String,
    /// The id of the server.
    pub id: String,
}

struct Inside {
    books: Mutex<Books>,
    changed: Condvar,
    /// The operation whose calls wait until they are let go.
    held: watch::Sender<Option<Operation>>,
}

#[derive(Default)]
struct Books {
    servers: BTreeMap<String, Server>,
    made: u64,
    happened: Vec<Happened>,
    seen: Seen,
    faults: Vec<Planned>,
    latency: Duration,
}

impl World {
    /// Starts an empty world on a free port.
    ///
    /// # Panics
    /// If this machine has no loopback or no thread left.
    #[must_use]
    pub fn start() -> World {
        World::with(Books::default())
    }

    /// Starts another world, with the same servers in it.
    #[must_use]
    pub fn copy(&self) -> World {
        let books = self.inside.books();
        World::with(Books { servers: books.servers.clone(), made: books.made, ..Books::default() })
    }

    fn with(books: Books) -> World {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        listener.set_nonblocking(true).expect("a socket can be set to wait");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (held, _) = watch::channel(None);
        let inside = Arc::new(Inside { books: Mutex::new(books), changed: Condvar::new(), held });
        let (stop, stopped) = oneshot::channel();
        let router = Router::new()
            .route("/servers", get(list).post(create))
            .route("/servers/{id}", get(one).put(update).delete(delete))
            .with_state(inside.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime can be started");
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("the socket is bound");
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    _ = stopped => {}
                }
            });
        });
        World { address, inside, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The block that configures the provider for this world.
    #[must_use]
    pub fn configuration(&self) -> String {
        format!("provider \"test\" {{\n  url   = \"{}\"\n  token = \"{TOKEN}\"\n}}\n", self.url())
    }

    /// All servers there are, in the order they were made.
    #[must_use]
    pub fn servers(&self) -> Vec<Server> {
        self.inside.books().servers.values().cloned().collect()
    }

    /// The one server of a name.
    ///
    /// # Panics
    /// If there is not exactly one.
    #[must_use]
    #[track_caller]
    pub fn server(&self, name: &str) -> Server {
        let mut found = self.servers().into_iter().filter(|server| server.name == name);
        match (found.next(), found.next()) {
            (Some(server), None) => server,
            (None, _) => panic!("there is no server `{name}`"),
            _ => panic!("there are several servers `{name}`"),
        }
    }

    /// Makes a server behind fleet's back, and says its id.
    pub fn put(&self, server: Server) -> String {
        self.inside.books().make(server).id.unwrap_or_default()
    }

    /// Changes the one server of a name behind fleet's back.
    ///
    /// # Panics
    /// If there is not exactly one.
    #[track_caller]
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Server)) {
        let id = self.server(name).id.unwrap_or_default();
        change(self.inside.books().servers.get_mut(&id).expect("it was just there"));
    }

    /// Removes all servers of a name behind fleet's back.
    pub fn remove(&self, name: &str) {
        self.inside.books().servers.retain(|_, server| server.name != name);
    }

    /// What was asked of it so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.inside.books().seen.clone()
    }

    /// How often an operation was called so far.
    #[must_use]
    pub fn calls(&self, operation: Operation) -> usize {
        self.seen().calls.get(&operation).copied().unwrap_or_default()
    }

    /// The changes that were asked for and made so far, in their order.
    #[must_use]
    pub fn happened(&self) -> Vec<Happened> {
        self.inside.books().happened.clone()
    }

    /// Waits until it has seen something.
    ///
    /// # Panics
    /// If that does not happen within a minute.
    #[track_caller]
    pub fn until(&self, happened: impl Fn(&Seen) -> bool) {
        let wait = |books: &mut Books| !happened(&books.seen);
        let waited =
            self.inside.changed.wait_timeout_while(self.inside.books(), Duration::from_secs(60), wait);
        let (books, timeout) = waited.expect("nobody panics while holding the books");
        assert!(!timeout.timed_out(), "still waiting: {:?}", books.seen);
    }

    /// Waits until everything is answered that was asked of it so far, also by those who are gone.
    ///
    /// # Panics
    /// If that does not happen within a minute.
    #[track_caller]
    pub fn until_quiet(&self) {
        // Connections are served in turn: once this question is answered, all that came before it were heard.
        let mut stream = TcpStream::connect(self.address).expect("the world listens");
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("the world listens");
        stream.read_to_end(&mut Vec::new()).expect("the world answers");
        self.until(|seen| seen.in_flight == 0);
    }

    /// Breaks calls of an operation, counted from 1 since the start: `2..=2` is the second, `1..` are all.
    pub fn breaks(&self, operation: Operation, calls: impl RangeBounds<usize>, fault: Fault) {
        self.inside.books().faults.push(Planned::new(operation, &calls, fault));
    }

    /// Nothing goes wrong from now on.
    pub fn mend(&self) {
        self.inside.books().faults.clear();
    }

    /// Every call takes so long from now on, half of it before its effect and half after.
    pub fn set_latency(&self, latency: Duration) {
        self.inside.books().latency = latency;
    }

    /// Calls of an operation wait from now on until they are let go.
    pub fn hold(&self, operation: Operation) {
        self.inside.held.send_replace(Some(operation));
    }

    /// Lets all waiting calls go.
    pub fn release(&self) {
        self.inside.held.send_replace(None);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The other end is gone already if the thread has ended.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Inside {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("nobody panics while holding the books")
    }

    /// Answers one call: counts it, breaks it if that is planned, and has its effect in one step. A call that was heard
    /// is carried out, whatever becomes of whoever made it.
    async fn answer(
        self: Arc<Inside>,
        operation: Operation,
        headers: HeaderMap,
        effect: impl FnOnce(&mut Books) -> Response + Send + 'static,
    ) -> Response {
        let carried_out = tokio::spawn(async move { self.carry_out(operation, &headers, effect).await });
        carried_out.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
    }

    async fn carry_out(
        &self,
        operation: Operation,
        headers: &HeaderMap,
        effect: impl FnOnce(&mut Books) -> Response,
    ) -> Response {
        // Whoever sees the call may let it go at once.
        let mut let_go = self.held.subscribe();
        let (call, fault, latency) = self.enter(operation);
        pause(latency / 2).await;
        let mut held = self.held.subscribe();
        // The sender lives as long as the world.
        let _ = held.wait_for(|held| *held != Some(operation)).await;
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if token != Some(TOKEN) {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        match fault {
            Some(Fault::Unavailable) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Some(Fault::Busy(seconds)) => {
                let wait = [(RETRY_AFTER, seconds.to_string())];
                return (StatusCode::TOO_MANY_REQUESTS, wait).into_response();
            }
            Some(Fault::Refused) => return StatusCode::UNPROCESSABLE_ENTITY.into_response(),
            Some(Fault::Dropped) => return broken(),
            Some(Fault::Slow(time)) => tokio::time::sleep(time).await,
            Some(Fault::Waits) => {
                // The sender lives as long as the world.
                let _ = let_go.changed().await;
            }
            Some(Fault::Lost | Fault::Hangs | Fault::Garbled) | None => {}
        }
        let reply = effect(&mut self.books());
        if fault == Some(Fault::Garbled) {
            self.books().garble();
        }
        pause(latency / 2).await;
        match fault {
            Some(Fault::Lost) => broken(),
            Some(Fault::Hangs) => {
                drop(call);
                pending().await
            }
            _ => reply,
        }
    }

    fn enter(&self, operation: Operation) -> (Call<'_>, Option<Fault>, Duration) {
        let mut books = self.books();
        let number = books.seen.calls.entry(operation).or_default();
        *number += 1;
        let number = *number;
        books.seen.in_flight += 1;
        books.seen.most_in_flight = books.seen.most_in_flight.max(books.seen.in_flight);
        let fault = books.faults.iter().find(|planned| planned.strikes(operation, number));
        let fault = fault.map(|planned| planned.fault);
        self.changed.notify_all();
        (Call(self), fault, books.latency)
    }
}

/// A call that is being answered.
struct Call<'a>(&'a Inside);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.books().seen.in_flight -= 1;
        self.0.changed.notify_all();
    }
}

impl Books {
    fn make(&mut self, wish: Server) -> Server {
        self.made += 1;
        let id = format!("srv-{:06}", self.made);
        let console_key = Some(format!("console-key-of-{id}"));
        let server = Server { id: Some(id.clone()), console_key, ..self.filled(wish) };
        self.servers.insert(id, server.clone());
        server
    }

    /// The last thing that happened did not happen as it was asked for.
    fn garble(&mut self) {
        let last = self.happened.last().map(|happened| happened.id.clone());
        if let Some(server) = last.and_then(|id| self.servers.get_mut(&id)) {
            server.size += 1;
            server.password = server.password.take().map(|password| password + "-garbled");
        }
    }

    fn note(&mut self, operation: Operation, server: &Server) {
        let (name, id) = (server.name.clone(), server.id.clone().unwrap_or_default());
        self.happened.push(Happened { operation, name, id });
    }

    /// The wish, with what the world decides.
    fn filled(&self, wish: Server) -> Server {
        let (high, low) = ((self.made >> 8) & 0xff, self.made & 0xff);
        Server {
            image: Some(wish.image.unwrap_or_else(|| "base-1".into())),
            address: Some(format!("10.{}.{high}.{low}", wish.size)),
            ..wish
        }
    }
}

/// A server as the world shows it.
fn shown(server: &Server) -> Server {
    Server { join_token: None, ..server.clone() }
}

async fn pause(time: Duration) {
    // The shortest sleep takes a millisecond.
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

/// A reply that breaks off.
fn broken() -> Response {
    Body::from_stream(stream::iter([Err::<String, _>(io::Error::other("broken on purpose"))])).into_response()
}

async fn list(State(world): State<Arc<Inside>>, headers: HeaderMap) -> Response {
    let all = |books: &mut Books| Json(books.servers.values().map(shown).collect::<Vec<_>>()).into_response();
    world.answer(Operation::List, headers, all).await
}

async fn one(State(world): State<Arc<Inside>>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let one = move |books: &mut Books| match books.servers.get(&id) {
        Some(server) => Json(shown(server)).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    };
    world.answer(Operation::Get, headers, one).await
}

async fn create(State(world): State<Arc<Inside>>, headers: HeaderMap, Json(wish): Json<Server>) -> Response {
    let make = move |books: &mut Books| {
        let made = books.make(wish);
        books.note(Operation::Create, &made);
        (StatusCode::CREATED, Json(shown(&made))).into_response()
    };
    world.answer(Operation::Create, headers, make).await
}

async fn update(
    State(world): State<Arc<Inside>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(wish): Json<Server>,
) -> Response {
    let change = move |books: &mut Books| {
        let Some(old) = books.servers.get(&id).cloned() else {
            return StatusCode::NOT_FOUND.into_response();
        };
        let moves = wish.size != old.size;
        let wish = Server {
            // What is not sent again stays.
            image: wish.image.or(old.image),
            join_token: wish.join_token.or(old.join_token),
            ..wish
        };
        let filled = books.filled(wish);
        let address = if moves { filled.address } else { old.address };
        let server = Server { id: old.id, address, console_key: old.console_key, ..filled };
        let reply = Json(shown(&server)).into_response();
        books.note(Operation::Update, &server);
        books.servers.insert(id.clone(), server);
        reply
    };
    world.answer(Operation::Update, headers, change).await
}

async fn delete(State(world): State<Arc<Inside>>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let remove = move |books: &mut Books| match books.servers.remove(&id) {
        Some(gone) => {
            books.note(Operation::Delete, &gone);
            StatusCode::NO_CONTENT.into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    };
    world.answer(Operation::Delete, headers, remove).await
}
