//! The way out for all providers: to hosts over OpenSSH, to this machine by the same path, and to APIs over HTTP.
//!
//! 1. [`script`]: questions and steps → the text of a shell script, and what it printed → answers. Pure.
//! 2. [`road`]: what starts commands on a host; [`ssh`] connects, over the real client
//! 3. [`shell`]: one shell that stays; [`sudo`] is that of root
//! 4. [`session`]: one round trip with a host; [`upload`] takes what is too long for it
//! 5. [`batch`]: questions and works that travel together; [`prepare`] sees to what they need, [`host`] collects them
//! 6. [`guard`]: changes that could cut a host off, which it undoes by itself unless they are confirmed
//!
//! [`Channels`] is all of it: the hosts of a run. Beside it, [`http`] leads to APIs.

mod batch;
mod chance;
mod channels;
mod failure;
mod guard;
mod host;
pub mod http;
mod limit;
mod link;
mod prepare;
mod road;
pub mod script;
mod session;
mod shell;
mod ssh;
mod sudo;
mod upload;

pub use channels::{Channels, Options};
