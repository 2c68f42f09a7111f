//! Functions over dates and times.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
