//! A body against its schema.
//!
//! What can be told from the text alone is told once per block ([`check()`]); what depends on values is told by
//! [`decode()`], which runs once per instance and says nothing that [`check()`] says.

mod check;
mod decode;
mod dynamic;

pub use check::check;
pub use decode::{Ephemeral, decode};
