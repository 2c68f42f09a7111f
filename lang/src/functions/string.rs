//! Functions over text.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
