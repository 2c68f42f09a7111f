//! The way out for all providers: to hosts over OpenSSH, and to this machine by the same path.
//!
//! 1. [`script`]: questions and steps → the text of a shell script, and what it printed → answers. Pure.

pub mod script;
