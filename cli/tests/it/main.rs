//! The command line, called in process. One binary, so that the whole of it is linked once.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod approval;
mod child;
mod conditions;
mod configured;
mod console;
mod converge;
mod drifts;
mod fmt;
mod frame;
mod golden;
mod hosts;
mod init;
mod interrupt;
mod kills;
mod kubernetes;
mod laws;
mod log;
mod macos;
mod pipelines;
mod pool;
mod progress;
mod providers;
mod registrars;
mod saved;
mod scaleway;
mod secrets;
mod show;
mod state;
mod support;
mod validate;
mod vendors;
mod waves;
mod words;
mod world;
