//! The scripts, in every shell they have to run in.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod ask;
mod guard;
mod http;
mod local;
mod root;
mod shells;
mod ssh;
mod traces;
mod work;
