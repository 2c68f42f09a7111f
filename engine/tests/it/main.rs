//! The engine from outside: configurations as text, and what becomes of them.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod expand;
mod fleets;
mod graph;
mod host;
mod pools;
mod refactor;
mod references;
mod site;
