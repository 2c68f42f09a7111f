//! A provider for tests, and the world behind it.
//!
//! 1. [`world`]: an HTTP server on loopback that hands out ids; it can be inspected, changed behind fleet's back, and
//!    broken on purpose ([`fault`])
//! 2. [`provider`](mod@provider): the provider `test`, which talks to it
//! 3. [`server`]: its kind `test_server`; [`data`]: the data of that name
//!
//! Creating is not idempotent: asking twice makes two servers. So whatever makes fleet lose track of what it did can be
//! seen in the world.

pub mod data;
pub mod fault;
pub mod provider;
pub mod server;
pub mod world;

pub use fault::Fault;
pub use provider::Test;
pub use server::Server;
pub use world::{Happened, Operation, Seen, World};
