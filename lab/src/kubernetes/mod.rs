//! A Kubernetes API server: as many kinds and as much of its ways as fleet and `kubectl` use, on a real socket.
//!
//! 1. [`kinds`]: the table of everything that is served; `lists.rs`: how their lists are merged; `discovery.rs`
//! 2. `serve.rs`, `route.rs`: a request → what it asks for; `tls.rs`; `table.rs`: what people are shown
//! 3. `access.rs`: who asks and what they may; `refusal.rs`: every `Status` that says no; [`fault`]
//! 4. `books.rs`: all objects and their changes; `perform.rs`, `remove.rs`, `watch.rs`, `select.rs`: what is done to them
//! 5. `patch.rs`: the three patches; `managed.rs` and `fields.rs`: server-side apply and who owns which field
//! 6. `admission.rs`: what is filled in and not let in; `controllers.rs`: what happens by itself
//! 7. [`kubelet`]: agents of nodes
//!
//! It has no schemas of fields: a field that the real server would not know is kept.

mod access;
mod admission;
mod books;
mod controllers;
mod discovery;
pub mod fault;
mod fields;
pub mod kinds;
pub mod kubelet;
mod lists;
mod managed;
mod patch;
mod perform;
mod refusal;
mod remove;
mod route;
mod select;
mod serve;
mod table;
mod tls;
mod watch;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch as channel;

pub use fault::{Fault, Wrong};
pub use kinds::{KINDS, Kind};
pub use kubelet::{Kubelet, Kubelets, Pods};

use crate::clock::{Clock, Time};
use crate::disk;
use crate::gate::Gate;
use access::{Bearer, MASTERS};
use books::{Books, stamp};
use fault::Faults;

/// What happens by itself happens so long after a change.
const LAG: Duration = Duration::from_millis(200);

/// Where the objects of a lab are kept that goes on later.
const KEPT: &str = "kubernetes.json";

/// A cluster, whose server runs as long as the lab.
#[derive(Clone)]
pub struct Cluster {
    inside: Arc<Inside>,
}

struct Inside {
    clock: Clock,
    url: String,
    authority: String,
    admin: String,
    books: Mutex<Books>,
    faults: Mutex<Faults>,
    log: Mutex<Vec<Entry>>,
    /// The last change: whoever watches is woken by it.
    version: channel::Sender<u64>,
    /// For which moments the clock is set.
    armed: Mutex<Vec<Time>>,
    agents: Mutex<Agents>,
    /// Where it is written down.
    kept: Option<PathBuf>,
}

#[derive(Default)]
struct Agents {
    joined: Vec<Kubelet>,
    elsewhere: Vec<Weak<dyn Kubelets>>,
    is_beating: bool,
}

/// A request that came, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// When it came.
    pub at: Time,
    /// Who asked; none if nobody has the token that was sent.
    pub user: Option<String>,
    /// What was asked, as permissions call it; the HTTP method for a path that is no object's.
    pub verb: String,
    /// The path.
    pub path: String,
    /// Whether it only asked what would be.
    pub dry_run: bool,
    /// Whether it asked to change something.
    pub writes: bool,
    /// The HTTP status of the answer; none if there was no answer.
    pub status: Option<u16>,
}

impl Pods for Inside {
    fn on(&self, node: &str) -> Vec<String> {
        locked(&self.books).pods_on(node)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cluster {
    /// Begins a cluster, or goes on with the one that was written down in a directory.
    pub(crate) async fn begin(
        clock: Clock,
        gate: Gate,
        seed: u64,
        directory: &Path,
        durable: bool,
    ) -> io::Result<Cluster> {
        let identity = tls::make()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let path = directory.join(KEPT);
        let mut books: Books =
            if durable && path.exists() { disk::read_json(&path)? } else { Books::default() };
        books.seed = seed;
        let admin =
            books.bearers.iter().find(|(_, bearer)| bearer.groups.iter().any(|group| group == MASTERS));
        let admin = admin.map(|(token, _)| token.clone());
        let admin = admin.unwrap_or_else(|| first_objects(&mut books, clock.time()));
        let version = channel::Sender::new(books.version());
        books.forget();
        let cluster = Cluster {
            inside: Arc::new(Inside {
                clock,
                url: format!("https://{}", listener.local_addr()?),
                authority: identity.authority,
                admin,
                books: Mutex::new(books),
                faults: Mutex::default(),
                log: Mutex::default(),
                version,
                armed: Mutex::default(),
                agents: Mutex::default(),
                kept: durable.then_some(path),
            }),
        };
        disk::replace(&Cluster::kubeconfig_in(directory), cluster.kubeconfig().as_bytes())?;
        cluster.tend_at(cluster.inside.clock.time().after(LAG));
        tokio::spawn(serve::serve(listener, identity.acceptor, gate, cluster.clone()));
        Ok(cluster)
    }

    /// Where a lab writes the kubeconfig of somebody who may do everything.
    pub(crate) fn kubeconfig_in(directory: &Path) -> PathBuf {
        directory.join("kubeconfig")
    }

    /// Where the server is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.inside.url
    }

    /// The kubeconfig of somebody who may do everything.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_of(&self.inside.admin)
    }

    /// The kubeconfig of whoever has a token.
    #[must_use]
    pub fn kubeconfig_of(&self, token: &str) -> String {
        let authority = BASE64_STANDARD.encode(&self.inside.authority);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{ "name": "lab", "cluster": { "server": self.inside.url, "certificate-authority-data": authority } }],
            "users": [{ "name": "lab", "user": { "token": token } }],
            "contexts": [{ "name": "lab", "context": { "cluster": "lab", "user": "lab", "namespace": "default" } }],
        });
        // JSON is YAML.
        format!("{config:#}\n")
    }

    /// The certificate that its clients have to trust, as PEM.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.inside.authority
    }

    /// The token of somebody who may do everything.
    #[must_use]
    pub fn admin_token(&self) -> &str {
        &self.inside.admin
    }

    /// Everything there is, in the order of kinds and names.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        locked(&self.inside.books).everything().cloned().collect()
    }

    /// One object.
    #[must_use]
    pub fn object(&self, kind: &str, namespace: Option<&str>, name: &str) -> Option<Value> {
        let kind = Kind::named(kind)?;
        locked(&self.inside.books).get(kind, namespace, name).cloned()
    }

    /// Somebody makes a namespace.
    pub fn add_namespace(&self, name: &str) {
        add_namespace(&mut locked(&self.inside.books), name, self.inside.clock.time());
    }

    /// Forgets all changes, so that every watch and every half-read list has to begin anew.
    pub fn forget_changes(&self) {
        locked(&self.inside.books).forget();
        self.inside.version.send_modify(|_| ());
    }

    /// Lets something go wrong.
    pub fn fault(&self, fault: Fault) {
        locked(&self.inside.faults).set(fault);
    }

    /// Takes all faults back.
    pub fn clear_faults(&self) {
        locked(&self.inside.faults).clear();
    }

    /// Every request that came so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Entry> {
        locked(&self.inside.log).clone()
    }

    /// An agent runs from now on.
    pub fn join(&self, kubelet: Kubelet) {
        let mut agents = locked(&self.inside.agents);
        agents.joined.retain(|known| known.node != kubelet.node);
        agents.joined.push(kubelet);
        self.begin_beating(&mut agents);
    }

    /// An agent runs no more; its Node stays.
    pub fn leave(&self, node: &str) {
        locked(&self.inside.agents).joined.retain(|known| known.node != node);
    }

    /// Agents run as somebody else knows.
    pub fn keep_nodes_of(&self, kubelets: Weak<dyn Kubelets>) {
        let inside: Arc<dyn Pods> = self.inside.clone();
        kubelets.upgrade().iter().for_each(|kubelets| kubelets.serve(Arc::downgrade(&inside)));
        let mut agents = locked(&self.inside.agents);
        agents.elsewhere.push(kubelets);
        self.begin_beating(&mut agents);
    }

    fn begin_beating(&self, agents: &mut Agents) {
        if !std::mem::replace(&mut agents.is_beating, true) {
            self.at(self.inside.clock.time().after(LAG), Cluster::beat);
        }
    }

    fn beat(&self) {
        let (joined, elsewhere) = {
            let agents = locked(&self.inside.agents);
            (agents.joined.clone(), agents.elsewhere.clone())
        };
        let elsewhere = elsewhere.iter().filter_map(Weak::upgrade).flat_map(|agents| agents.running());
        let now = self.inside.clock.time();
        {
            let mut books = locked(&self.inside.books);
            for kubelet in joined.into_iter().chain(elsewhere) {
                books.beat(&kubelet, now);
            }
            books.miss(now);
        }
        self.changed();
        self.at(now.after(kubelet::BEAT), Cluster::beat);
    }

    /// After each change: whoever watches is woken, and what happens by itself will happen.
    fn changed(&self) {
        let books = locked(&self.inside.books);
        let version = books.version();
        if !self.inside.version.send_if_modified(|last| std::mem::replace(last, version) != version) {
            return;
        }
        let kept = self.inside.kept.as_ref().map(|path| disk::replace_json(path, &*books));
        drop(books);
        if let Some(Err(error)) = kept {
            tracing::error!("the objects of the cluster cannot be written down: {error}");
        }
        self.tend_at(self.inside.clock.time().after(LAG));
    }

    fn tend_at(&self, time: Time) {
        let mut armed = locked(&self.inside.armed);
        if !armed.contains(&time) {
            armed.push(time);
            self.at(time, move |cluster| {
                locked(&cluster.inside.armed).retain(|known| *known != time);
                cluster.tend();
            });
        }
    }

    fn tend(&self) {
        let now = self.inside.clock.time();
        let next = locked(&self.inside.books).tend(&self.inside.authority, now);
        if let Some(next) = next {
            self.tend_at(next);
        }
        self.changed();
    }

    fn at(&self, time: Time, work: impl FnOnce(&Cluster) + Send + 'static) {
        let inside = Arc::downgrade(&self.inside);
        self.inside.clock.at(time, async move {
            if let Some(inside) = inside.upgrade() {
                work(&Cluster { inside });
            }
        });
    }
}

fn add_namespace(books: &mut Books, name: &str, now: Time) {
    let metadata = json!({ "name": name, "uid": books.uid(), "creationTimestamp": stamp(now) });
    let mut namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
    if let Some(kind) = Kind::named("Namespace") {
        admission::complete(kind, &mut namespace);
        books.put(kind, namespace);
    }
}

/// What every cluster begins with; the token of somebody who may do everything.
fn first_objects(books: &mut Books, now: Time) -> String {
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        add_namespace(books, name, now);
    }
    if let Some(kind) = Kind::named("ServiceAccount") {
        let metadata = json!({
            "name": "default", "namespace": "default", "uid": books.uid(), "creationTimestamp": stamp(now),
        });
        books.put(kind, json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata }));
    }
    // The server itself, as pods reach it.
    if let Some(kind) = Kind::named("Service") {
        let metadata = json!({ "name": "kubernetes", "namespace": "default", "uid": books.uid(), "creationTimestamp": stamp(now) });
        let ports = json!([{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443 }]);
        let spec = json!({ "type": "ClusterIP", "clusterIP": "10.96.0.1", "ports": ports, "sessionAffinity": "None" });
        books.put(kind, json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec }));
    }
    let token = books.secret();
    let groups = vec![MASTERS.to_owned(), "system:authenticated".to_owned()];
    let admin =
        Bearer { user: "lab-admin".to_owned(), groups, account: None, secret: None, expires_at: None };
    books.bearers.insert(token.clone(), admin);
    token
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({})", self.inside.url)
    }
}
