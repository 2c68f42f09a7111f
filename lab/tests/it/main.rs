//! The lab, as programs outside of it meet it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod api;
mod connect;
mod kubernetes;
mod mac;
