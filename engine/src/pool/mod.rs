//! Pools behind a vendor: machines that are claimed, owned and returned.
//!
//! 1. [`vendor`]: what a vendor is asked and told; `vendors`: those of a run
//! 2. [`choice`]: which servers may be claimed
//! 3. [`protocol`]: how a host is claimed, owned and given back
//! 4. [`books`]: what every server is
//! 5. [`rule`]: what a pool says
//! 6. [`host`]: the kind of the machines of slots
//! 7. `ground`: the way to a machine; `look`: looking at it; `drive`: doing what the protocol asks for; `scrub`: making it
//!    clean without installing it anew
//! 8. [`retire`]: deleting one for good
//! 9. [`survey`]: looking at all machines of a pool, whosever they are; [`recover`]: finding those of a lost state

pub mod books;
pub mod choice;
pub(crate) mod drive;
pub(crate) mod ground;
pub mod host;
pub(crate) mod look;
pub mod protocol;
pub mod recover;
pub mod retire;
pub mod rule;
#[cfg(test)]
mod sample;
mod scrub;
pub mod survey;
pub mod vendor;
pub(crate) mod vendors;

pub use books::{Ages, Asked, Books, Class, Entry, Found, Remedy};
pub use choice::{Choice, Prefer, family_key};
pub(crate) use host::LOST;
pub use host::{Machines, PoolHost};
pub use recover::HeldServer;
pub use retire::Retired;
pub use rule::Rule;
pub use survey::{Ours, Surveyed};
pub use vendor::{Credentials, Sent, Server, Status, Vendor, VendorReader};
