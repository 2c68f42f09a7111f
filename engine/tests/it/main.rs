//! The engine from outside: configurations as text, and what becomes of them.

mod expand;
mod fleets;
mod graph;
mod refactor;
mod references;
mod site;
