//! Functions that render templates.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
