//! Conversions between types, error handling, and marks.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
