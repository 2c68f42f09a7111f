//! All requests to all addresses of a world, in the order in which they came; and one at which something happens.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::request::Parts;

/// Where every request comes through.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    passed: Vec<Pass>,
    awaited: Option<Awaited>,
}

/// A request that came through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The HTTP method.
    pub method: String,
    /// The path, without what stands behind the `?`.
    pub path: String,
    /// What stands there.
    pub query: String,
}

/// When something happens to a request, which gets no answer then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before it has an effect: it has none.
    Before,
    /// When it had its effect.
    After,
}

/// What happens at a request.
pub(crate) struct Awaited {
    is_it: Box<dyn FnMut(&Pass) -> bool + Send>,
    pub(crate) when: When,
    pub(crate) act: Box<dyn FnOnce() + Send>,
}

impl Pass {
    pub(crate) fn of(head: &Parts) -> Pass {
        let query = head.uri.query().unwrap_or_default().to_owned();
        Pass { method: head.method.to_string(), path: head.uri.path().to_owned(), query }
    }

    /// Whether it asks for more than an answer.
    #[must_use]
    pub fn changes(&self) -> bool {
        !matches!(&*self.method, "GET" | "HEAD") && !self.query.contains("dryRun=")
    }
}

impl Gate {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that came so far.
    #[must_use]
    pub fn passed(&self) -> Vec<Pass> {
        self.inside().passed.clone()
    }

    /// Forgets what came so far, and awaits nothing.
    pub fn begin_anew(&self) {
        *self.inside() = Inside::default();
    }

    /// Forgets what came so far. At the first request that is the one, something happens, once.
    pub fn await_that(
        &self,
        is_it: impl FnMut(&Pass) -> bool + Send + 'static,
        when: When,
        act: impl FnOnce() + Send + 'static,
    ) {
        let awaited = Awaited { is_it: Box::new(is_it), when, act: Box::new(act) };
        *self.inside() = Inside { passed: Vec::new(), awaited: Some(awaited) };
    }

    /// A request comes; what happens to it, if anything does.
    pub(crate) fn pass(&self, pass: Pass) -> Option<Awaited> {
        let mut inside = self.inside();
        let found = inside.awaited.take_if(|awaited| (awaited.is_it)(&pass));
        inside.passed.push(pass);
        found
    }
}

impl fmt::Debug for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Awaited").field("when", &self.when).finish_non_exhaustive()
    }
}
