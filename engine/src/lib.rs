//! Configuration → instances → graph → plan → apply. Pure: no I/O of its own.
//!
//! 1. [`config`]: load, HCL text → configuration; [`schema`]: what the arguments of each kind are

pub mod address;
pub mod attributes;
pub mod config;
pub mod provider;
pub mod resource;
pub mod schema;
pub mod scope;
