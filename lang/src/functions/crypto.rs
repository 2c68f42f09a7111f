//! Hashes, encryption and identifiers.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
