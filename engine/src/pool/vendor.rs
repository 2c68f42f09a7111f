//! What the vendor of a pool is asked and told. Its answers may be stale, and its names are hints: whose a machine is, the
//! machine itself decides.

use std::fmt;

use crate::host::reach::Secret;
use crate::resource::{BoxFuture, Error};

/// A server as its vendor shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// What the vendor calls it for ever.
    pub id: String,
    /// What anybody may call it: the one marker that can be written.
    pub name: String,
    /// Where it stands.
    pub zone: String,
    /// What it is, such as `M2-L`.
    pub model: String,
    /// The family of its operating system, such as `Tahoe`.
    pub os_family: String,
    /// Where it may be reached, in the order in which that is tried.
    pub addresses: Vec<String>,
    /// What it is doing.
    pub status: Status,
    /// What Kubernetes calls it.
    pub provider_id: String,
    /// When it was ordered, as the vendor writes it.
    pub created_at: Option<String>,
    /// When anything about it changed last, as the vendor writes it: it has had its name since then at least.
    pub updated_at: Option<String>,
    /// Before this, it cannot be deleted.
    pub deletable_at: Option<String>,
    /// For how long it is rented, in the vendor's word.
    pub commitment: Option<String>,
}

/// What a server is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It can be used.
    Ready,
    /// It is being installed anew.
    Reinstalling,
    /// It is in the middle of something else, in the vendor's word.
    Busy(String),
    /// It was ordered, and was never ready yet.
    Undelivered,
    /// It is broken or locked, in the vendor's word.
    Broken(String),
    /// It will be deleted at its time.
    Leaving,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Ready => f.write_str("ready"),
            Status::Reinstalling => f.write_str("reinstalling"),
            Status::Busy(word) | Status::Broken(word) => f.write_str(word),
            Status::Undelivered => f.write_str("not delivered yet"),
            Status::Leaving => f.write_str("about to be deleted"),
        }
    }
}

/// How a request that changes something ended.
#[derive(Clone, Debug)]
pub enum Sent {
    /// The vendor took it.
    Taken,
    /// The vendor refused it: it has no effect, now or later.
    Refused(Error),
    /// The server is in the middle of something: refused for now, and without effect.
    Busy(Error),
    /// The server is not there any more.
    Gone,
    /// There was no answer: it may have had an effect, or may have one later.
    Unsettled(Error),
}

/// How somebody logs in to a server and becomes root. Held in memory only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Who logs in.
    pub user: Option<String>,
    /// With what that user becomes root; none if the vendor does not tell any more.
    pub sudo_password: Option<Secret>,
}

/// The side of a vendor that can look and nothing else.
pub trait VendorReader: Send + Sync {
    /// All servers of the pool's project and zone, whatever they are called.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Server>, Error>>;

    /// One server; none if it is certainly gone. An answer that only says "not allowed" is not enough for that.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Server>, Error>>;

    /// How to log in to a server.
    fn credentials<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Credentials, Error>>;
}

/// The side of a vendor that changes things. It never tries again by itself: what is sent, and when, is the protocol's
/// business.
pub trait Vendor: VendorReader {
    /// Gives a server another name.
    fn rename<'a>(&'a self, id: &'a str, name: &'a str) -> BoxFuture<'a, Sent>;

    /// Restarts a server.
    fn reboot<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Sent>;

    /// Installs a server anew: with the newest system of a family, or with what the vendor takes if the family is not
    /// to be had any more, which is told beside.
    fn reinstall<'a>(
        &'a self,
        id: &'a str,
        os_family: Option<&'a str>,
    ) -> BoxFuture<'a, (Sent, Option<String>)>;

    /// Deletes a server, with all that is on it, for good.
    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Sent>;

    /// Orders servers with these names, all of them or none: of a model, with the newest system of a family or what the vendor
    /// takes for it. They are paid for from then on.
    fn order<'a>(
        &'a self,
        names: &'a [String],
        model: &'a str,
        os_family: Option<&'a str>,
    ) -> BoxFuture<'a, Sent>;
}
