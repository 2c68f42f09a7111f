//! The ownership protocol of pool hosts: how one is claimed, owned and given back, whoever else wants it, and whenever somebody
//! crashes.
//!
//! The vendor's names are hints, written by whoever comes last; the host is the arbiter: whoever made its ledger has it. A
//! [`Process`] is pure. It says what is to be done next and hears what became of it, so production and the model test run the
//! same one. See `docs/pool.md` for what it relies on.
//!
//! 1. [`notes`]: what outlives a crash
//! 2. [`command`]: what a process asks for, and is told
//! 3. [`rules`]: the times it relies on
//! 4. [`machine`]: one command after the other; the guarded write
//! 5. [`decide`]: what comes next
//! 6. `model`: all that can happen to operators who follow it, for tests

pub mod command;
mod decide;
pub mod machine;
#[cfg(test)]
mod model;
pub mod notes;
pub mod rules;
#[cfg(test)]
mod tests;

pub use command::{Answer, Command, End, Loss, Page, Seen, Shown, Surprise, Why, Wrote};
pub use machine::{Now, Process};
pub use notes::{Identity, Method, Names, Open, Progress, RETURNING, Record, Stage, Write};
pub use rules::Rules;
