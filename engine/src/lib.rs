//! Configuration → instances → graph → plan → apply. Pure: no I/O of its own.
//!
//! 1. [`config`]: load, HCL text → configuration; [`schema`]: what the arguments of each kind are

pub mod address;
pub mod attributes;
pub mod config;
pub mod expand;
pub mod graph;
pub mod order;
pub mod provider;
pub mod reference;
pub mod resource;
pub mod schema;
pub mod scope;
