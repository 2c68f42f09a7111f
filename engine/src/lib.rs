//! Configuration → instances → graph → plan → apply. Pure: no I/O of its own.
//!
//! 1. load: [`config`], HCL text → configuration; [`schema`]: what the arguments of each kind are
//! 2. expand: [`scope`] and [`order`], what there is and in which order, together its [`outline`]; [`expand`](mod@expand), one instance for each
//!    thing, every expression a value; [`graph`], who depends on whom
//! 3. [`observe`](mod@observe): what is really there
//! 4. [`diff`](mod@diff): declared against observed
//! 5. [`plan`]: steps with their reasons; [`check`]: what a plan must not do; [`document`]: what may be published of it;
//!    [`render`](mod@render): as people read it
//! 6. [`apply`]: intent on disk, act, read back, record
//!
//! Beside the stages: [`resource`] and [`host`] are the contract for the author of a kind, and [`kind`] is what the
//! engine sees of it; [`pool`] is where hosts come from that a vendor rents out; [`provider`] is what it knows of providers, [`registry`] all of them together, and [`manual`] their reference; [`state`] is
//! what is remembered between runs, and [`settings`](mod@settings) says where; [`secret`] is where secrets come from. [`finding`] names the bad states that hosts are known to get into. [`event`] is what a user interface may know, [`cure`] names what heals known incidents, [`clock`] and [`interrupt`] are what
//! it tells the engine.

// What is derived for the engine's own kinds names it as others do.
extern crate self as fleet_engine;

pub mod address;
pub mod apply;
pub mod attributes;
pub mod check;
pub mod clock;
pub mod config;
pub mod cure;
pub mod diff;
pub mod document;
pub mod encode;
pub mod event;
pub mod expand;
pub mod finding;
pub mod graph;
pub mod host;
mod implicit;
pub mod interrupt;
pub mod kind;
pub mod manual;
pub mod observe;
pub mod order;
pub mod outline;
pub mod plan;
pub mod pool;
pub mod provider;
pub mod refactor;
pub mod reference;
pub mod registry;
pub mod render;
pub mod resource;
pub mod schema;
pub mod scope;
pub mod seal;
pub mod secret;
pub mod settings;
pub mod state;
