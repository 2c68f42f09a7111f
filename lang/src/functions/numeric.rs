//! Functions over numbers.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
