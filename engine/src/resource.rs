//! The contract for kinds: the one page that the author of a kind reads.
//!
//! A kind is one file: its manual and an example, a struct with `#[derive(Schema)]`, the author traits, pure helpers,
//! tests. It writes no diff, no plan text, no state format and no conversion: those follow from the struct.
//!
//! Four words for the same attributes: *declared* (the configuration says so; may hold unknowns, which never reach a
//! kind), *recorded* (what we last made), *observed* (what is really there) and *planned* (what apply will make).
//!
//! - [`Resource`]: what every kind says about itself. Pure.
//! - [`ApiKind`]: how it is looked at and changed behind an API or on this machine. For what lives on a host there is
//!   [`HostKind`](crate::host::HostKind).
//! - [`DataKind`]: something that is only read.
//!
//! What an author implements is typed. [`kind`](crate::kind) erases it for the engine, and a
//! [`Provider`](crate::provider::Provider) lists its kinds.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use fleet_lang::Value;

use crate::attributes::{Attributes, Misfit};
use crate::finding::{Finding, Known};
use crate::provider::Journal;

/// A future that can be kept without knowing its type.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What every kind of resource says about itself, without looking at anything.
///
/// # Guarantees
/// - `normalize` is called before anything else with every wish that is wholly known.
///
/// # Assumptions
/// - All of it is pure: the same answer to the same question, on every machine.
/// - `normalize` leaves alone what it has made, and what `observe` finds.
pub trait Resource: Attributes {
    /// The name in the configuration, such as `core_file`.
    const NAME: &'static str;

    /// Grows when recorded values need to be rewritten; see [`upgrade`](Resource::upgrade).
    const VERSION: u32 = 1;

    /// Whether the record is all there is of it: nothing outside fleet knows it. What lives in state takes no
    /// sensitive values, because state would hold them.
    const LIVES_IN_STATE: bool = false;

    /// Whether it takes a script of the user to look at it: nobody knows what else that does, so a plan says so.
    const RUNS_USER_CODE: bool = false;

    /// Whether it lets the user of a connection be root without a password: what root alone can see on its host can be seen once
    /// it is made, and is planned without a look until then.
    const GIVES_ROOT: bool = false;

    /// Whether its successor is made before it goes when it is replaced, unless its `lifecycle` says otherwise.
    const REPLACED_FIRST: bool = false;

    /// Whether its removal waits itself for the work that runs on a host, and ends none of it: a Node that is drained, a runner
    /// whose job is waited for. With a host that goes, it goes first, and only what follows asks whether the host is busy.
    const WAITS_FOR_WORK: bool = false;

    /// What the `id` of an `import` block is, such as "the path". `None`: it cannot be imported.
    const ID: Option<&'static str> = None;

    /// The known bad states that it can find in what it observed.
    const DETECTS: &'static [&'static Known] = &[];

    /// Brings equal meanings to equal values (`"644"` and `"0644"`), and refuses values that cannot be.
    fn normalize(&mut self) -> Result<(), Misfit> {
        Ok(())
    }

    /// The known bad states that this is in, given that it was observed: some of those that it [detects](Resource::DETECTS).
    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// Rewrites an object that was recorded when [`VERSION`](Resource::VERSION) was `version`, which is lower than now.
    /// Attributes that are not in the answer read as null.
    fn upgrade(version: u32, recorded: Value) -> Result<Value, Error> {
        let _ = version;
        Ok(recorded)
    }

    /// What is interrupted while it happens. Asked before values are known, so it knows names of attributes alone.
    fn disrupts(touch: Touch<'_>) -> Disruption {
        let _ = touch;
        Disruption::Nothing
    }

    /// What it comes before or after, where nothing in the configuration says so.
    fn edges() -> &'static [Edge] {
        &[]
    }
}

/// A kind behind an API.
///
/// # Guarantees
/// - Every wish given was [normalized](Resource::normalize) and is wholly known.
/// - `apply` and `destroy` run only after the intent to do so is on disk, and never side by side for one address.
/// - After `apply` and `destroy`, however they ended, the engine observes again before it does anything else there. Only
///   what was then found is recorded, and `apply` is repeated only if it was found to be needed.
/// - Errors that are [transient](Error::transient) are tried again after a while, others are not.
///
/// # Assumptions
/// - `observe` changes nothing, and finds the same thing whether it is given what was recorded or what was declared,
///   as long as nothing that forces a replacement differs. Of a create whose outcome got lost, the declaration is all
///   that is known.
/// - Sensitive values are not recorded: null stands in their place. A field that may hold one is an `Option`, and the
///   thing is found without it.
/// - No error repeats a sensitive value.
pub trait ApiKind: Resource {
    /// The provider's handle that can look and nothing else.
    type Reader: Send + Sync + 'static;

    /// The provider's handle that can change things. Planning never holds one.
    type Writer: Send + Sync + 'static;

    /// Whether something is still there once it was removed, because there is always one: then it is not looked for.
    const STAYS: bool = false;

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

    /// Whether the other side can be asked beforehand whether it would take a wish: see [`rehearse`](ApiKind::rehearse).
    const REHEARSES: bool = false;

    /// Asks whether `apply` of a wish would be refused, and changes nothing. A plan asks it of what it is going to make or
    /// change, and fails with the error, or warns as its [`Weight`] says.
    fn rehearse(self, reader: &Self::Reader) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = reader;
        async { Ok(()) }
    }

    /// [`apply`](ApiKind::apply) of a kind that has to wait for the world for longer than a failed attempt is tried again: it
    /// is given the time of the run, and may say what went otherwise than wished.
    fn apply_in_time(
        self,
        writer: &Self::Writer,
        change: Change<Self>,
        run: &dyn Journal,
    ) -> impl Future<Output = Result<Self, Error>> + Send {
        let _ = run;
        self.apply(writer, change)
    }

    /// [`destroy`](ApiKind::destroy) of such a kind.
    fn destroy_in_time(
        writer: &Self::Writer,
        observed: Self,
        run: &dyn Journal,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = run;
        Self::destroy(writer, observed)
    }
}

/// Something that is only read: a kind of `data`.
///
/// # Guarantees
/// - What is asked was [normalized](DataKind::normalize) and is wholly known.
///
/// # Assumptions
/// - `read` changes nothing.
pub trait DataKind: Attributes {
    /// The name in the configuration, such as `core_file`.
    const NAME: &'static str;

    /// The provider's handle that can look and nothing else.
    type Reader: Send + Sync + 'static;

    /// Brings equal meanings to equal values, and refuses values that cannot be.
    fn normalize(&mut self) -> Result<(), Misfit> {
        Ok(())
    }

    /// Reads a whole batch: the arguments, completed with the results, in the order of the questions. That something is
    /// not there is an error, unless a result can say so.
    fn read(reader: &Self::Reader, batch: Vec<Self>)
    -> impl Future<Output = Vec<Result<Self, Error>>> + Send;
}

/// Where to look for something.
#[derive(Clone, Debug, PartialEq)]
pub enum At<T> {
    /// As it was when we last made or saw it.
    Recorded(T),
    /// Nothing is recorded: as the configuration wishes it to be.
    Declared(T),
    /// Its creation was begun, and nobody knows how that ended: as it was wished, and none of those that were there
    /// before.
    Begun {
        /// What was wished.
        wish: T,
        /// The objects of the same address that are known.
        except: Vec<T>,
    },
    /// What the `id` of an `import` block names. Only kinds with an [`ID`](Resource::ID) are asked.
    Id(Arc<str>),
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

/// What is going to be done to a thing, as far as it is known before values are. A replacement is a removal and a
/// creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch<'a> {
    /// It is made.
    Create,
    /// These attributes are changed in place.
    Update(&'a [&'a str]),
    /// It is removed.
    Destroy,
}

/// What is interrupted by a change, from little to much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Disruption {
    /// Nobody notices.
    #[default]
    Nothing,
    /// Whoever uses the thing itself, such as a service that is restarted.
    Thing,
    /// Everything that runs on its host, such as a reboot.
    Host,
}

/// An order between kinds that no reference expresses. It holds among things on one host, or in one scope without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edge {
    /// This kind is made after all things of that kind, and removed before them.
    After(&'static str),
    /// This kind is made before all things of that kind, and removed after them.
    Before(&'static str),
}

/// How much a plan makes of what [`rehearse`](ApiKind::rehearse) says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// It is so as things are: what is done before may change it, and where something is, the plan only warns.
    #[default]
    Now,
    /// Nothing that is done before changes it.
    Always,
    /// It need not be so: the plan warns.
    Perhaps,
}

/// Why the world did not answer or obey.
#[derive(Clone, Debug)]
pub struct Error {
    /// What was tried and what is wrong, without a full stop.
    pub message: String,
    /// Whether trying again may help.
    pub transient: bool,
    /// Whether nobody answered there at all. Who only looks does not wait for that to change.
    pub unreachable: bool,
    /// The other side asked not to be tried again sooner.
    pub retry_after: Option<Duration>,
    /// What to do next.
    pub help: Option<String>,
    /// Whether root could see it, and nobody is root without a password.
    pub needs_root: bool,
    /// The known bad state that it is a sign of.
    pub known: Option<&'static Known>,
    /// How much a plan makes of it that asked beforehand.
    pub weight: Weight,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl<T> At<T> {
    /// The same place, its attributes as another type.
    pub fn try_map<U, E>(self, mut f: impl FnMut(T) -> Result<U, E>) -> Result<At<U>, E> {
        Ok(match self {
            At::Recorded(it) => At::Recorded(f(it)?),
            At::Declared(it) => At::Declared(f(it)?),
            At::Begun { wish, except } => {
                At::Begun { wish: f(wish)?, except: except.into_iter().map(f).collect::<Result<_, E>>()? }
            }
            At::Id(id) => At::Id(id),
        })
    }
}

impl<T> Change<T> {
    /// The same change, its attributes as another type.
    pub fn try_map<U, E>(self, f: impl FnOnce(T) -> Result<U, E>) -> Result<Change<U>, E> {
        Ok(match self {
            Change::Create => Change::Create,
            Change::Update { from } => Change::Update { from: f(from)? },
        })
    }
}

impl Error {
    /// Trying again will not help.
    pub fn permanent(message: impl Into<String>) -> Error {
        Error {
            message: message.into(),
            transient: false,
            unreachable: false,
            retry_after: None,
            help: None,
            needs_root: false,
            known: None,
            weight: Weight::Now,
            source: None,
        }
    }

    /// Trying again may help.
    pub fn transient(message: impl Into<String>) -> Error {
        Error { transient: true, ..Error::permanent(message) }
    }

    /// Nobody answers there, which may change.
    pub fn unreachable(message: impl Into<String>) -> Error {
        Error { unreachable: true, ..Error::transient(message) }
    }

    /// Trying again sooner than this will not help.
    #[must_use]
    pub fn after(self, retry_after: Duration) -> Error {
        Error { retry_after: Some(retry_after), ..self }
    }

    /// Adds the cause, which the message must not repeat.
    #[must_use]
    pub fn because(self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error { source: Some(Arc::new(source)), ..self }
    }

    /// Says that root could see it, and nobody is root without a password.
    #[must_use]
    pub fn needs_root(self) -> Error {
        Error { needs_root: true, ..self }
    }

    /// Says which known bad state it is a sign of.
    #[must_use]
    pub fn known(self, known: &'static Known) -> Error {
        Error { known: Some(known), ..self }
    }

    /// Says how much a plan makes of it.
    #[must_use]
    pub fn weighs(self, weight: Weight) -> Error {
        Error { weight, ..self }
    }

    /// Says what to do next.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Error {
        Error { help: Some(help.into()), ..self }
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
