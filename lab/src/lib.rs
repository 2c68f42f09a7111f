//! A simulated world on real sockets: vendors' APIs over HTTP, and Macs behind SSH, all on this machine.
//!
//! 1. [`Lab`]: a world that runs, in this process or in one of its own ([`run`]); `begin.rs`: how it begins and ends
//! 2. [`clock`]: its time, which can be moved
//! 3. [`scaleway`]: the vendor that rents machines out: its books, as requests and time change them
//! 4. `world/`: the books, the machines behind them, and what happens between them
//! 5. [`machine`]: what a vendor does to a machine; [`mac`]: machines, each with its own root directory and tree of
//!    commands, behind an SSH server
//! 6. [`runners`]: who runs jobs for GitHub, shared by all Macs; [`github`]: the API that shows them; [`gitlab`] and [`forgejo`]: other runners;
//!    [`vault`] and [`connect`]: secrets. They are [`vendors`], each behind a [`desk`]
//! 7. [`kubernetes`]: the API server of a cluster
//! 8. [`gate`]: where every request comes through; [`fault`]: what goes wrong on purpose; [`log`]: every request that came
//! 9. `control.rs`: the lab's own address, and [`Remote`], its client; `http.rs`, `disk.rs`

mod begin;
pub mod clock;
pub mod connect;
mod control;
pub mod desk;
mod disk;
pub mod fault;
pub mod forgejo;
pub mod gate;
pub mod github;
pub mod gitlab;
mod http;
pub mod kubernetes;
mod lab;
pub mod log;
pub mod mac;
pub mod machine;
mod remote;
pub mod runners;
pub mod scaleway;
mod serve;
pub mod tailnet;
pub mod vault;
pub mod vendors;
mod world;

pub use control::{CatalogueEdit, Move, ServerEdit};
pub use lab::{Description, Error, Lab, Options, run};
pub use remote::{Remote, RemoteError};
pub use world::Trouble;
