//! What happens when a Mac starts, before anybody can log in.

use std::sync::Arc;

use super::{Mac, launchd};

/// What parts of a Mac do at its start, in order. None of it may wait for the clock.
pub(super) const AT_BOOT: &[fn(&Arc<Mac>)] = &[launchd::domain::at_boot];
