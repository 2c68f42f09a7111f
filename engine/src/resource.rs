//! The contract for kinds: the one page that the author of a kind reads.
//!
//! A kind is one file: its manual and an example, a struct with `#[derive(Schema)]`, one of the author traits, pure
//! helpers, tests. It writes no diff, no plan text, no state format and no conversion: those follow from the struct.
//!
//! Four words for the same attributes: *declared* (the configuration says so; may hold unknowns, which never reach a
//! kind), *recorded* (what we last made), *observed* (what is really there) and *planned* (what apply will make).
//!
//! [`ApiKind`] is for what lives behind an API or on this machine. What an author implements is typed; [`Of`] erases
//! it to [`Kind`], which is all that the engine sees.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use fleet_lang::Value;

use crate::attributes::{Attributes, Misfit};
use crate::schema::{Entry, Place};

/// A future that can be kept without knowing its type.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A kind behind an API.
///
/// # Guarantees
/// - Every value given was [normalized](ApiKind::normalize) and is wholly known.
/// - `apply` and `destroy` run only after the intent to do so is on disk, and never side by side for one address.
/// - After `apply` and `destroy` the engine observes again. Only what was then found is recorded.
///
/// # Assumptions
/// - `observe` changes nothing, and finds the same thing whether it is given what was recorded or what was declared,
///   as long as nothing that forces a replacement differs.
/// - `apply` and `destroy` may be repeated after a crash that hid their outcome.
pub trait ApiKind: Attributes {
    /// The name in the configuration, such as `core_file`.
    const NAME: &'static str;

    /// The provider's handle that can look and nothing else.
    type Reader: Send + Sync + 'static;

    /// The provider's handle that can change things. Planning never holds one.
    type Writer: Send + Sync + 'static;

    /// Brings equal meanings to equal values (`"644"` and `"0644"`), and refuses values that cannot be.
    fn normalize(&mut self) -> Result<(), Misfit> {
        Ok(())
    }

    /// Looks at a whole batch. The answers stand in the order of the questions; `None` means that it is not there.
    fn observe(
        reader: &Self::Reader,
        batch: Vec<At<Self>>,
    ) -> impl Future<Output = Vec<Result<Option<Self>, Error>>> + Send;

    /// Creates, or changes in place. Returns the wish, completed with what it takes to find the thing again.
    fn apply(
        self,
        writer: &Self::Writer,
        change: Change<Self>,
    ) -> impl Future<Output = Result<Self, Error>> + Send;

    /// Removes what was observed. That it is gone already is success.
    fn destroy(writer: &Self::Writer, observed: Self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Where to look for something.
#[derive(Clone, Debug, PartialEq)]
pub enum At<T> {
    /// As it was when we last made or saw it.
    Recorded(T),
    /// Nothing is recorded: as the configuration wishes it to be.
    Declared(T),
}

/// What apply has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<T> {
    /// Nothing is there.
    Create,
    /// This is there and is changed in place.
    Update {
        /// What was observed.
        from: T,
    },
}

/// Why the world did not answer or obey.
#[derive(Debug)]
pub struct Error {
    /// What was tried and what is wrong, without a full stop.
    pub message: String,
    /// Whether trying again may help.
    pub transient: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Any kind, as the engine and its provider see it.
pub trait Kind<R, W>: Send + Sync {
    /// The name in the configuration.
    fn name(&self) -> &'static str;

    /// What the catalogue says about it.
    fn entry(&self, provider: &str) -> Entry;

    /// Normalizes a wholly known object.
    fn normalize(&self, object: &Value) -> Result<Value, Misfit>;

    /// See [`ApiKind::observe`].
    fn observe<'a>(
        &'a self,
        reader: &'a R,
        batch: Vec<At<Value>>,
    ) -> BoxFuture<'a, Vec<Result<Option<Value>, Error>>>;

    /// See [`ApiKind::apply`].
    fn apply<'a>(
        &'a self,
        writer: &'a W,
        wish: Value,
        change: Change<Value>,
    ) -> BoxFuture<'a, Result<Value, Error>>;

    /// See [`ApiKind::destroy`].
    fn destroy<'a>(&'a self, writer: &'a W, observed: Value) -> BoxFuture<'a, Result<(), Error>>;
}

/// The kind of an author's type: `&Of::<File>::KIND` in its provider's list.
#[derive(Debug)]
pub struct Of<K>(PhantomData<fn() -> K>);

impl<K> Of<K> {
    /// The one value of this type.
    pub const KIND: Of<K> = Of(PhantomData);
}

impl<T> At<T> {
    /// The attributes to look at, wherever they come from.
    pub fn into_inner(self) -> T {
        match self {
            At::Recorded(it) | At::Declared(it) => it,
        }
    }

    fn try_map<U, E>(self, f: impl FnOnce(T) -> Result<U, E>) -> Result<At<U>, E> {
        Ok(match self {
            At::Recorded(it) => At::Recorded(f(it)?),
            At::Declared(it) => At::Declared(f(it)?),
        })
    }
}

impl Error {
    /// Trying again will not help.
    pub fn permanent(message: impl Into<String>) -> Error {
        Error { message: message.into(), transient: false, source: None }
    }

    /// Adds the cause, which the message must not repeat.
    #[must_use]
    pub fn because(self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error { source: Some(Box::new(source)), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

impl From<Misfit> for Error {
    fn from(misfit: Misfit) -> Error {
        Error::permanent(misfit.to_string())
    }
}

impl<K: ApiKind> Kind<K::Reader, K::Writer> for Of<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn entry(&self, provider: &str) -> Entry {
        Entry { schema: K::schema(), place: Place::Api, provider: provider.into(), version: 1 }
    }

    fn normalize(&self, object: &Value) -> Result<Value, Misfit> {
        let mut typed = K::from_value(object)?;
        typed.normalize()?;
        Ok(typed.to_value())
    }

    fn observe<'a>(
        &'a self,
        reader: &'a K::Reader,
        batch: Vec<At<Value>>,
    ) -> BoxFuture<'a, Vec<Result<Option<Value>, Error>>> {
        Box::pin(async move {
            // What cannot be read is answered here; the kind sees the rest as one batch.
            let typed: Vec<_> = batch.into_iter().map(|at| at.try_map(|v| K::from_value(&v))).collect();
            let readable = typed.iter().filter_map(|at| at.as_ref().ok().cloned()).collect();
            let mut answers = K::observe(reader, readable).await.into_iter();
            let mut next =
                || answers.next().unwrap_or_else(|| Err(Error::permanent("the provider did not answer")));
            let answer = |at: Result<At<K>, Misfit>| at.map_err(Error::from).and_then(|_| next());
            typed.into_iter().map(answer).map(|found| Ok(found?.map(|it| it.to_value()))).collect()
        })
    }

    fn apply<'a>(
        &'a self,
        writer: &'a K::Writer,
        wish: Value,
        change: Change<Value>,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let change = match change {
                Change::Create => Change::Create,
                Change::Update { from } => Change::Update { from: K::from_value(&from)? },
            };
            Ok(K::from_value(&wish)?.apply(writer, change).await?.to_value())
        })
    }

    fn destroy<'a>(&'a self, writer: &'a K::Writer, observed: Value) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { K::destroy(writer, K::from_value(&observed)?).await })
    }
}
