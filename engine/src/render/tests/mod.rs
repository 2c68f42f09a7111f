//! The forms of a plan, looked at as wholes, and what holds for all of them.

mod changes;
mod golden;
mod large;
mod laws;
mod secrets;
