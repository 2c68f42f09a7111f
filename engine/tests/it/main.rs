//! The engine from outside: configurations as text, and what becomes of them.

mod expand;
mod fleets;
mod graph;
mod host;
mod refactor;
mod references;
mod site;
