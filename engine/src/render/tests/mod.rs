//! The forms of a plan, looked at as wholes, and what holds for all of them.

mod golden;
mod laws;
mod sample;
mod secrets;
