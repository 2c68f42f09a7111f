//! The contract for kinds that live on a host.
//!
//! 1. [`probe`]: what may be asked of a host: a closed set of reading operations
//! 2. [`step`]: what may be done to it; another type, that no question can hold
//! 3. [`HostKind`]: what the author of a kind implements, all of it pure
//! 4. [`HostData`]: something on a host that is only read
//! 5. [`Hosts`]: the way to all hosts, implemented by a transport; [`HostReader`] and [`HostWriter`] are the two sides
//!    of a session with one
//!
//! [`reach`] says how a host is reached, [`ledger`] who has it, [`busy`] whether somebody's work runs there.
//!
//! # What the compiler refuses
//!
//! Planning is given a reader, and can ask:
//! ```
//! use fleet_engine::host::*;
//!
//! fn plan(host: &dyn HostReader) {
//!     let name = Operand::new("kern.hostname").expect("it is a name");
//!     let read = Read::Names("/etc".into());
//!     let _ = host.ask(vec![Probe::new().tool(Tool::Sysctl, [name]).and(read)]);
//! }
//! ```
//! Each of these differs from it in one thing, and does not compile. A reader does no work:
//! ```compile_fail,E0599
//! # use fleet_engine::host::*;
//! fn plan(host: &dyn HostReader) {
//!     let _ = host.work(Work::default());
//! }
//! ```
//! A step is no part of a question:
//! ```compile_fail,E0308
//! # use fleet_engine::host::*;
//! fn plan(host: &dyn HostReader) {
//!     let read = Step::new(Act::Remove { path: "/etc/hosts".into() });
//!     let _ = host.ask(vec![Probe::new().and(read)]);
//! }
//! ```
//! No reading operation takes a command:
//! ```compile_fail,E0599
//! # use fleet_engine::host::*;
//! fn plan(host: &dyn HostReader) {
//!     let read = Read::Run { program: "rm".into(), arguments: vec!["/etc/hosts".into()] };
//!     let _ = host.ask(vec![Probe::new().and(read)]);
//! }
//! ```
//! What a tool is given goes through a check, because `sysctl -n kern.hostname=x` writes:
//! ```compile_fail,E0423
//! # use fleet_engine::host::*;
//! fn plan(host: &dyn HostReader) {
//!     let name = Operand("kern.hostname=x".into());
//!     let _ = host.ask(vec![Probe::new().tool(Tool::Sysctl, [name])]);
//! }
//! ```
//!
//! [`OnHost`] erases a kind, as [`Of`](crate::kind::Of) does for those behind an API.

pub mod busy;
pub mod edit;
mod erase;
pub mod inventory;
pub mod ledger;
pub mod probe;
pub mod reach;
pub(crate) mod session;
pub mod step;

pub use edit::Edit;
pub use erase::{DataOnHost, HostDatum, HostThing, OnHost};
pub use ledger::{Holding, Ledger};
pub use probe::{Answer, Content, Operand, Output, Probe, Read, Reply, Tool};
pub use reach::{Holder, Reach};
pub use step::{Act, Bytes, Revert, Step};

use std::sync::Arc;

use crate::attributes::{Attributes, Misfit};
use crate::resource::{At, BoxFuture, Change, Error, Resource};

/// A kind on a host. It talks to nobody: it says what to ask, what the answer means, and what to do.
///
/// # Guarantees
/// - Every wish given was [normalized](Resource::normalize) and is wholly known.
/// - `parse` is given the answers to its own `probe`, in its order.
/// - Steps run in order, after the intent to do so is on disk. One that fails stops those after it. Then the host is
///   asked again, and only what was found is recorded.
/// - All probes of a host travel together, so that a question more costs no round trip.
///
/// # Assumptions
/// - All of it is pure.
/// - `probe` and `parse` find the same thing whether they are given what was recorded or what was declared, as long as
///   nothing that forces a replacement differs.
/// - Sensitive values are not recorded: null stands in their place. A field that may hold one is an `Option`, and the
///   thing is found without it.
/// - Steps may be repeated after a crash that hid how they ended.
pub trait HostKind: Resource {
    /// What to ask to find it.
    fn probe(at: &At<Self>) -> Result<Probe, Error>;

    /// What the answers mean; `None` means that it is not there.
    fn parse(at: &At<Self>, reply: &Reply) -> Result<Option<Self>, Error>;

    /// What makes it so.
    fn steps(self, change: Change<Self>) -> Result<Vec<Step>, Error>;

    /// What removes it. That it is gone already must do no harm.
    fn remove(observed: Self) -> Result<Vec<Step>, Error>;

    /// What clears what is left where making or removing it was cut off while nothing can be seen of it: what was half sent or
    /// half written, and what goes last. It is given the wish, or what was recorded.
    fn clear(wish: Self) -> Result<Vec<Step>, Error> {
        Self::remove(wish)
    }

    /// How the host undoes a change of this by itself, where one may cut the host off from us: asked of the wish, and of
    /// what was observed where that `is_removed`. `None`: it cannot.
    fn cuts_access(&self, is_removed: bool) -> Option<Revert> {
        let _ = is_removed;
        None
    }

    /// What is left of it once it was removed, given the answers to its own `probe`. It says otherwise than `parse` for a
    /// wish that leaves nothing to remove, such as the absence of something.
    fn left(observed: Self, reply: &Reply) -> Result<Option<Self>, Error> {
        Self::parse(&At::Recorded(observed), reply)
    }
}

/// Something on a host that is only read: a kind of `data`. It is asked together with everything else on its host.
///
/// # Assumptions
/// - All of it is pure.
pub trait HostData: Attributes {
    /// The name in the configuration, such as `host_facts`.
    const NAME: &'static str;

    /// Brings equal meanings to equal values, and refuses values that cannot be.
    fn normalize(&mut self) -> Result<(), Misfit> {
        Ok(())
    }

    /// What to ask.
    fn probe(&self) -> Result<Probe, Error>;

    /// The arguments, completed with what the answers mean.
    fn parse(self, reply: &Reply) -> Result<Self, Error>;
}

/// The way to all hosts of a run.
///
/// # Guarantees
/// - Ways that are equal lead to one connection, which both sides share and which planning hands on to apply.
///
/// # Assumptions
/// - A connection is made when it is first needed. It changes nothing on the host.
pub trait Hosts: Send + Sync {
    /// The side that can look and nothing else.
    fn reader(&self, reach: &Reach) -> Arc<dyn HostReader>;

    /// A connection of its own, that ends with what is returned: to whoever answers there now, whoever answered before.
    fn meet(&self, reach: &Reach) -> Arc<dyn HostReader>;

    /// The side that can change the host, on behalf of somebody.
    fn writer(&self, reach: &Reach, holder: &Holder) -> Arc<dyn HostWriter>;
}

/// The reading side of a session with a host.
pub trait HostReader: Send + Sync {
    /// Asks all of it at once; the replies stand in the order of the probes.
    fn ask(&self, probes: Vec<Probe>) -> BoxFuture<'_, Vec<Result<Reply, Error>>>;

    /// What stood before every path when it was asked last: empty for the host itself, and while nobody asked.
    fn root(&self) -> String {
        String::new()
    }
}

/// The writing side of a session with a host.
///
/// # Guarantees
/// - Works that are handed over while the host is busy travel together, in the order in which they came.
/// - No step is done unless the ledger of the host names the holder, but for those that make it.
pub trait HostWriter: Send + Sync {
    /// Does one step after the other and stops at the first that fails; asks afterwards. An error that is
    /// [transient](Error::transient) may mean that nobody knows how far it came.
    fn work(&self, work: Work) -> BoxFuture<'_, Result<Reply, Error>>;
}

/// What is done for one thing, and how it is read back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// What the inventory of the host says of it from now on.
    pub listed: Option<Listed>,
    /// What is done.
    pub steps: Vec<Step>,
    /// What is asked afterwards.
    pub read_back: Probe,
    /// How the host undoes it by itself, unless a new connection confirms that it can still be reached. It is read back
    /// after that.
    pub revert: Option<Revert>,
}

/// What the inventory of a host says of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name of its file: hexadecimal digits.
    pub name: String,
    /// The line in it, written before anything is done; none: the file goes after everything is done.
    pub line: Option<String>,
}
