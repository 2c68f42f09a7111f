//! What the engine knows of providers: sessions, with a reading and a writing side that are different types.
//!
//! Planning is given [`Readers`] and cannot write. Only apply is given [`Writers`].

use std::fmt;
use std::sync::Arc;

use fleet_lang::Value;

use crate::attributes::Misfit;
use crate::resource::{At, BoxFuture, Change, Error, Kind};

/// One configured provider: what is connected to once and observed in one batch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session {
    /// The provider.
    pub provider: Arc<str>,
    /// Which of its configurations.
    pub alias: Option<Arc<str>>,
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider)?;
        self.alias.as_ref().map_or(Ok(()), |alias| write!(f, ".{alias}"))
    }
}

/// All providers, as planning sees them.
pub trait Readers: Send + Sync {
    /// Brings a wholly known object of a kind to its normal form.
    fn normalize(&self, kind: &str, object: &Value) -> Result<Value, Misfit>;

    /// Connects for reading.
    fn reader<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Result<Box<dyn Reader>, Error>>;
}

/// All providers, as apply sees them.
pub trait Writers: Send + Sync {
    /// Connects for writing.
    fn writer<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Result<Box<dyn Writer>, Error>>;
}

/// The reading side of a session.
pub trait Reader: Send + Sync {
    /// Looks at a batch of one kind; answers in the order of the questions.
    fn observe<'a>(
        &'a self,
        kind: &'a str,
        batch: Vec<At<Value>>,
    ) -> BoxFuture<'a, Vec<Result<Option<Value>, Error>>>;
}

/// The writing side of a session.
pub trait Writer: Send + Sync {
    /// Creates or changes one thing and returns where to find it.
    fn apply<'a>(
        &'a self,
        kind: &'a str,
        wish: Value,
        change: Change<Value>,
    ) -> BoxFuture<'a, Result<Value, Error>>;

    /// Removes one thing.
    fn destroy<'a>(&'a self, kind: &'a str, observed: Value) -> BoxFuture<'a, Result<(), Error>>;
}

/// The kinds of one provider, as it lists them.
pub type Kinds<R, W> = &'static [&'static dyn Kind<R, W>];

/// A provider's reading handle with the kinds that use it.
pub struct Reading<R: 'static, W: 'static> {
    /// The handle.
    pub handle: R,
    /// The kinds.
    pub kinds: Kinds<R, W>,
}

/// A provider's writing handle with the kinds that use it.
pub struct Writing<R: 'static, W: 'static> {
    /// The handle.
    pub handle: W,
    /// The kinds.
    pub kinds: Kinds<R, W>,
}

impl<R: Send + Sync, W: Send + Sync> Reader for Reading<R, W> {
    fn observe<'a>(
        &'a self,
        kind: &'a str,
        batch: Vec<At<Value>>,
    ) -> BoxFuture<'a, Vec<Result<Option<Value>, Error>>> {
        match named(self.kinds, kind) {
            Ok(kind) => kind.observe(&self.handle, batch),
            Err(_) => Box::pin(async move { batch.iter().map(|_| Err(unknown(kind))).collect() }),
        }
    }
}

impl<R: Send + Sync, W: Send + Sync> Writer for Writing<R, W> {
    fn apply<'a>(
        &'a self,
        kind: &'a str,
        wish: Value,
        change: Change<Value>,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move { named(self.kinds, kind)?.apply(&self.handle, wish, change).await })
    }

    fn destroy<'a>(&'a self, kind: &'a str, observed: Value) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { named(self.kinds, kind)?.destroy(&self.handle, observed).await })
    }
}

fn named<R, W>(kinds: Kinds<R, W>, name: &str) -> Result<&'static dyn Kind<R, W>, Error> {
    kinds.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| unknown(name))
}

/// The state may hold kinds that another version of fleet knew.
fn unknown(kind: &str) -> Error {
    Error::permanent(format!("this fleet has no kind `{kind}`"))
}
