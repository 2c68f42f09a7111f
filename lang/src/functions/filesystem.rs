//! Functions that read files and work on paths.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
