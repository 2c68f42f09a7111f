//! Watches: changes as they happen, until the client has enough or the server has forgotten too much.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use futures_util::Stream;
use serde_json::{Value, json};
use tokio::sync::watch as channel;
use tokio::time::Instant;

use super::books::{Change, Sort};
use super::kinds::Kind;
use super::refusal::Refusal;
use super::route::Call;
use super::select::Selector;
use super::{Cluster, locked};

/// A watch that goes on.
pub(super) struct Watch {
    cluster: Cluster,
    kind: &'static Kind,
    namespace: Option<String>,
    selector: Selector,
    /// What was told so far.
    seen: u64,
    ready: VecDeque<Value>,
    version: channel::Receiver<u64>,
    ends: Option<Instant>,
    is_over: bool,
}

impl Watch {
    pub(super) fn begin(cluster: &Cluster, call: &Call) -> Result<Watch, Refusal> {
        let selector = Selector::of(call)?;
        let books = locked(&cluster.inside.books);
        let asked = call.parameter("resourceVersion").unwrap_or_default();
        let mut ready = VecDeque::new();
        let seen = match asked {
            // From now on, and everything that is there first.
            "" | "0" => {
                let all =
                    books.all(call.kind, call.namespace.as_deref()).filter(|object| selector.takes(object));
                ready.extend(all.map(|object| json!({ "type": "ADDED", "object": object })));
                books.version()
            }
            version => {
                version.parse().map_err(|_| Refusal::bad_request("the resourceVersion is no number"))?
            }
        };
        let seconds = call.parameter("timeoutSeconds").and_then(|seconds| seconds.parse().ok());
        Ok(Watch {
            cluster: cluster.clone(),
            kind: call.kind,
            namespace: call.namespace.clone(),
            selector,
            seen,
            ready,
            version: cluster.inside.version.subscribe(),
            ends: seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
            is_over: false,
        })
    }

    /// One line for each change.
    pub(super) fn lines(self) -> impl Stream<Item = Result<String, Infallible>> {
        futures_util::stream::unfold(self, |mut watch| async move {
            let event = watch.next().await?;
            Some((Ok(format!("{event}\n")), watch))
        })
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            self.version.borrow_and_update();
            self.collect();
            if !self.ready.is_empty() {
                continue;
            }
            let changed = self.version.changed();
            let is_alive = match self.ends {
                None => changed.await.is_ok(),
                Some(ends) => tokio::select! {
                    changed = changed => changed.is_ok(),
                    () = tokio::time::sleep_until(ends) => false,
                },
            };
            if !is_alive {
                return None;
            }
        }
    }

    /// Takes what happened since.
    fn collect(&mut self) {
        let books = locked(&self.cluster.inside.books);
        let Some(changes) = books.since(self.seen) else {
            let gone =
                Refusal::expired(format!("too old resource version: {} ({})", self.seen, books.version()));
            self.ready.push_back(json!({ "type": "ERROR", "object": gone.status() }));
            self.is_over = true;
            return;
        };
        for change in changes {
            self.ready.extend(event(change, self.kind, self.namespace.as_deref(), &self.selector));
        }
        self.seen = books.version();
    }
}

/// What a watcher is told of a change, if it is about what it watches.
fn event(change: &Change, kind: &Kind, namespace: Option<&str>, selector: &Selector) -> Option<Value> {
    let is_here = namespace.is_none_or(|namespace| change.object["metadata"]["namespace"] == namespace);
    if change.kind != kind || !is_here {
        return None;
    }
    let was = change.before.as_ref().is_some_and(|before| selector.takes(before));
    let is = change.sort != Sort::Deleted && selector.takes(&change.object);
    let sort = match (was, is) {
        (false, false) => return None,
        (false, true) => "ADDED",
        (true, true) => "MODIFIED",
        (true, false) => "DELETED",
    };
    Some(json!({ "type": sort, "object": change.object }))
}
