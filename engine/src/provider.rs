//! What the engine knows of providers: sessions, with a reading and a writing side that are different types.
//!
//! Planning is given [`Readers`] and cannot write. Only apply is given [`Writers`]. What the author of a provider
//! implements is [`Provider`]; the [registry](crate::registry) makes the other traits of it.
//!
//! ```
//! use fleet_engine::provider::{Readers, Session};
//!
//! fn plan(readers: &dyn Readers, session: &Session) {
//!     let _ = readers.reader(session, &fleet_lang::Value::null());
//! }
//! ```
//! Readers lead to no writer, so this does not compile:
//! ```compile_fail,E0599
//! # use fleet_engine::provider::{Readers, Session};
//! fn plan(readers: &dyn Readers, session: &Session) {
//!     let _ = readers.writer(session, &fleet_lang::Value::null());
//! }
//! ```

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fleet_lang::Value;

use crate::address::ScopePath;
use crate::attributes::{Attributes, Misfit};
use crate::event::Wait;
use crate::finding::Finding;
use crate::host::reach::Secret;
use crate::host::{Holder, HostDatum, HostThing, Listed};
use crate::kind::{Data, Kind};
use crate::pool::{Rule, Vendor, VendorReader};
use crate::resource::{At, BoxFuture, Change, Disruption, Error, Touch};
use crate::schema::Requests;
use crate::secret::InCluster;

/// What a provider issued, when the run that needed it is over.
#[derive(Clone, Copy, Debug)]
pub struct Issued<'a> {
    /// What it was asked for.
    pub request: &'a str,
    /// What it gave.
    pub secret: &'a Secret,
    /// Whether a step that needed it was done, or may have been.
    pub is_used: bool,
}

/// A provider: a family of kinds that share one way to the world.
///
/// # Guarantees
/// - `reader` and `writer` are called at most once for each configuration and run.
///
/// # Assumptions
/// - Neither call changes anything, and no error repeats a sensitive setting.
/// - A reader cannot be used to write.
pub trait Provider: Send + Sync + 'static {
    /// The name in the configuration; those of its kinds start with it and `_`.
    const NAME: &'static str;

    /// How many steps may run at once through one configuration.
    const LIMIT: usize = 32;

    /// What `provider "name" { … }` takes. Its doc comment is the manual of the provider.
    type Settings: Attributes;

    /// The handle that can look and nothing else.
    type Reader: Send + Sync + 'static;

    /// The handle that can change things.
    type Writer: Send + Sync + 'static;

    /// Its kinds of `resource`.
    const KINDS: &'static [&'static dyn Kind<Self::Reader, Self::Writer>];

    /// Its kinds of `data`.
    const DATA: &'static [&'static dyn Data<Self::Reader>] = &[];

    /// Its kinds of `resource` that live on hosts: they go through the session of their host.
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[];

    /// Its kinds of `data` that are read from hosts.
    const DATA_ON_HOSTS: &'static [&'static dyn HostDatum] = &[];

    /// Of a provider that issues secrets: whose one is, or why a request cannot be one, as a sentence. A request is what `from`
    /// says in `secret "name" { from = …  provider = NAME }`.
    const ISSUES: Option<Requests> = None;

    /// Connects for reading.
    fn reader(&self, settings: Self::Settings) -> impl Future<Output = Result<Self::Reader, Error>> + Send;

    /// Connects for writing.
    fn writer(&self, settings: Self::Settings) -> impl Future<Output = Result<Self::Writer, Error>> + Send;

    /// What somebody should know of what a reader has seen: a limit that is near, a key that ends soon. Without a full stop.
    fn warnings(reader: &Self::Reader) -> Vec<String> {
        let _ = reader;
        Vec::new()
    }

    /// Issues a secret, such as a token that lets a machine join: asked only while a plan is applied, for a step that needs it.
    fn issue(
        &self,
        settings: Self::Settings,
        request: &str,
    ) -> impl Future<Output = Result<Secret, Error>> + Send {
        let _ = (settings, request);
        async { Err(Error::permanent(format!("the provider `{}` issues no secrets", Self::NAME))) }
    }

    /// Takes back what [`issue`](Provider::issue) gave, once the run that needed it is over: nobody can use it any more then. What
    /// is of use afterwards stays, unless no step came to use it. What cannot be taken back ends by itself.
    fn withdraw(
        &self,
        settings: Self::Settings,
        issued: Issued<'_>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = (settings, issued);
        async { Ok(()) }
    }

    /// Reads a secret that the other side keeps: what `k8s:` is as the `from` of a `secret`. Nothing is changed.
    fn kept(
        &self,
        settings: Self::Settings,
        place: &InCluster,
    ) -> impl Future<Output = Result<Secret, Error>> + Send {
        let _ = (settings, place);
        async { Err(Error::permanent(format!("the provider `{}` keeps no secrets", Self::NAME))) }
    }

    /// Asks the other side whether the credentials in the settings are good; none if it cannot tell. Nothing is changed.
    fn standing(
        &self,
        settings: Self::Settings,
    ) -> impl Future<Output = Result<Option<Standing>, Error>> + Send {
        let _ = settings;
        async { Ok(None) }
    }

    /// Connects to the vendor of a pool for reading. A provider with such pools has [`Machines`](crate::pool::Machines)
    /// among its kinds on hosts, called `NAME_host`, and a [pool](crate::pool::rule::entry) of its name in the catalogue.
    fn vendor_reader(
        &self,
        settings: Self::Settings,
        rule: &Rule,
    ) -> impl Future<Output = Result<Arc<dyn VendorReader>, Error>> + Send {
        let _ = (settings, rule);
        async { Err(no_pools(Self::NAME)) }
    }

    /// Connects to the vendor of a pool for writing.
    fn vendor(
        &self,
        settings: Self::Settings,
        rule: &Rule,
    ) -> impl Future<Output = Result<Arc<dyn Vendor>, Error>> + Send {
        let _ = (settings, rule);
        async { Err(no_pools(Self::NAME)) }
    }
}

/// What the other side says of credentials that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whose they are, and what for, in a few words.
    pub who: String,
    /// Until when they are good, if they end.
    pub until: Option<SystemTime>,
    /// What somebody should know, although they are good.
    pub warnings: Vec<String>,
}

fn no_pools(provider: &str) -> Error {
    Error::permanent(format!("the provider `{provider}` has no pools"))
}

/// The provider of the sessions with hosts: each has one for itself, whosever kinds live on it.
pub const HOST: &str = "host";

/// One provider configuration, or one host: what is connected to once and observed in one batch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session {
    /// The provider.
    pub provider: Arc<str>,
    /// Which of its configurations; of a host, which machine.
    pub alias: Option<Arc<str>>,
    /// The scope whose configuration it is: of a host, its slot.
    pub scope: ScopePath,
}

/// What is asked of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Where a thing is, and what it is like.
    Object(At<Value>),
    /// What data with these arguments says.
    Data(Value),
}

/// Whether what came of a change was looked at with it.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadBack {
    /// It is still to be looked at.
    NotYet,
    /// This was found right after the change; `None` means that nothing is there.
    Found(Option<Value>),
}

/// All providers, as planning sees them.
pub trait Readers: Send + Sync {
    /// Brings a wholly known object of a kind of resource to its normal form.
    fn normalize(&self, kind: &str, object: &Value) -> Result<Value, Misfit>;

    /// Brings the wholly known arguments of a kind of data to their normal form.
    fn normalize_data(&self, kind: &str, arguments: &Value) -> Result<Value, Misfit>;

    /// Whether a thing can be found by a record in which null stands in the place of sensitive values. The misfit
    /// names the attribute that cannot be sensitive.
    fn findable(&self, kind: &str, record: &Value) -> Result<(), Misfit>;

    /// Brings a record of an older version of its kind up to date.
    fn upgrade(&self, kind: &str, version: u32, recorded: Value) -> Result<Value, Error>;

    /// What a change of a kind interrupts.
    fn disrupts(&self, kind: &str, touch: Touch<'_>) -> Disruption;

    /// The known bad states that an observed object of a kind is in.
    fn findings(&self, kind: &str, observed: &Value) -> Vec<Finding>;

    /// Connects for reading. The settings are wholly known; null if nothing configures the session.
    fn reader<'a>(
        &'a self,
        session: &'a Session,
        settings: &'a Value,
    ) -> BoxFuture<'a, Result<Arc<dyn Reader>, Error>>;

    /// How many steps may run at once through one session of a provider.
    fn limit(&self, provider: &str) -> usize;
}

/// All providers, as apply sees them.
pub trait Writers: Send + Sync {
    /// Connects for writing. The settings are wholly known; null if nothing configures the session.
    fn writer<'a>(
        &'a self,
        session: &'a Session,
        settings: &'a Value,
        holder: &'a Holder,
    ) -> BoxFuture<'a, Result<Arc<dyn Writer>, Error>>;
}

/// The reading side of a session.
pub trait Reader: Send + Sync {
    /// Looks at a batch of things and data of any kinds; answers in the order of the questions. `None` means that it is
    /// not there; data is answered with the arguments and results.
    fn look(&self, batch: Vec<(Arc<str>, Ask)>) -> BoxFuture<'_, Vec<Result<Option<Value>, Error>>>;

    /// Asks whether a wholly known wish would be refused, and changes nothing.
    fn rehearse<'a>(&'a self, kind: &'a str, wish: Value) -> BoxFuture<'a, Result<(), Error>> {
        let _ = (kind, wish);
        Box::pin(async { Ok(()) })
    }

    /// What somebody should know of what was seen, although it is as it should be.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What stood before every path on a host when it was looked at; empty for the host itself, and elsewhere.
    fn root(&self) -> String {
        String::new()
    }
}

/// What a writer has beside the world while it does one step: what it must not forget, and time.
pub trait Journal: Send + Sync {
    /// Returns when this will survive a crash: the object that is being changed, completed with what it takes to go on. The
    /// next run is given it in the place of what was wished, or was recorded.
    fn note(&self, object: Value) -> BoxFuture<'_, Result<(), Error>>;

    /// What the clock shows.
    fn now(&self) -> Duration;

    /// Waits until the clock shows this, and says what for.
    fn wait(&self, until: Duration, on: Wait) -> BoxFuture<'_, ()>;

    /// Somebody should know of this, although nothing failed.
    fn warn(&self, message: String);

    /// Seconds since 1970, for people.
    fn date(&self) -> u64;

    /// A name that nobody had before: hexadecimal digits.
    fn random(&self) -> String;
}

/// The writing side of a session.
pub trait Writer: Send + Sync {
    /// Creates or changes one thing and returns where to find it. A host is told what its inventory says of it.
    fn apply<'a>(
        &'a self,
        kind: &'a str,
        wish: Value,
        change: Change<Value>,
        listed: Option<Listed>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<(Value, ReadBack), Error>>;

    /// Removes one thing.
    fn destroy<'a>(
        &'a self,
        kind: &'a str,
        observed: Value,
        listed: Option<Listed>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<ReadBack, Error>>;

    /// Clears what is left of one thing on a host where making or removing it was cut off while nothing can be seen of it.
    fn clear<'a>(
        &'a self,
        kind: &'a str,
        wish: Value,
        listed: Option<Listed>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        let _ = (kind, wish, listed);
        Box::pin(async { Ok(()) })
    }

    /// One thing is left alone from now on: a host takes it off its inventory.
    fn release(&self, listed: Option<Listed>) -> BoxFuture<'_, Result<(), Error>> {
        let _ = listed;
        Box::pin(async { Ok(()) })
    }
}

impl Session {
    /// The configuration of a provider in the root module that has no alias.
    pub fn of(provider: impl Into<Arc<str>>) -> Session {
        Session { provider: provider.into(), alias: None, scope: ScopePath::default() }
    }

    /// The session with the host of a slot: which machine that is can change.
    #[must_use]
    pub fn on_host(slot: ScopePath, machine: Option<Arc<str>>) -> Session {
        Session { provider: HOST.into(), alias: machine, scope: slot }
    }

    /// Whether it is a session with a host.
    #[must_use]
    pub fn is_on_host(&self) -> bool {
        &*self.provider == HOST && !self.scope.steps().is_empty()
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_on_host() {
            return write!(f, "{}.{HOST}", self.scope);
        }
        if !self.scope.steps().is_empty() {
            write!(f, "{}.", self.scope)?;
        }
        f.write_str(&self.provider)?;
        self.alias.as_ref().map_or(Ok(()), |alias| write!(f, ".{alias}"))
    }
}
