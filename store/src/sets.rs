//! Sets of dependencies, each stored once however many rows share it.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use fleet_engine::address::Target;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// How many sets are remembered by where they are in memory.
const REMEMBERED: usize = 1 << 16;

/// What the writer knows of sets.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    /// The digest of a set that was met before, by where it is. Holding it keeps its place from being reused.
    met: HashMap<usize, (Arc<[Target]>, Arc<Set>)>,
    /// The digests of those that are in the database.
    stored: HashSet<String>,
}

/// A set with its digest.
#[derive(Debug, Serialize)]
pub(crate) struct Set {
    pub(crate) digest: String,
    /// A JSON array of addresses.
    pub(crate) targets: String,
}

impl Sets {
    /// The set as it is stored.
    pub(crate) fn of(&mut self, targets: &Arc<[Target]>) -> Arc<Set> {
        let place = Arc::as_ptr(targets).cast::<Target>().addr();
        if let Some((_, set)) = self.met.get(&place).filter(|(known, _)| Arc::ptr_eq(known, targets)) {
            return set.clone();
        }
        if self.met.len() >= REMEMBERED {
            self.met.clear();
        }
        let set = Arc::new(Set::of(targets));
        self.met.insert(place, (targets.clone(), set.clone()));
        set
    }

    /// Whether it is in the database already.
    pub(crate) fn is_stored(&self, set: &Set) -> bool {
        self.stored.contains(&set.digest)
    }

    /// From now on they are.
    pub(crate) fn stored(&mut self, sets: impl IntoIterator<Item = String>) {
        self.stored.extend(sets);
    }

    /// Nothing is known any more about what is in the database.
    pub(crate) fn forget(&mut self) {
        self.stored.clear();
    }
}

impl Set {
    fn of(targets: &[Target]) -> Set {
        let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
        let targets = serde_json::to_string(&targets).expect("texts can be written as JSON");
        let mut digest = String::new();
        for byte in &Sha256::digest(&targets)[..16] {
            write!(digest, "{byte:02x}").expect("a string takes all");
        }
        Set { digest, targets }
    }
}
