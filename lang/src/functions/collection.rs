//! Functions over lists, maps and their like.

use super::Function;

pub(super) const TABLE: &[Function] = &[];
