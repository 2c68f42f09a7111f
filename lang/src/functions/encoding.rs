//! Functions between values and text formats.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
