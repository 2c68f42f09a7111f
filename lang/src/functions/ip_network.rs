//! Functions over IP network ranges.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
