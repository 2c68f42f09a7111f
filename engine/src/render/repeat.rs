//! What was shown already: the same long text on a hundred hosts is shown once, and the others refer to it.

use std::collections::HashMap;
use std::sync::Arc;

type Key = (Option<Arc<str>>, Arc<str>);

/// The long texts, and changes of them, that were shown so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    places: HashMap<Key, String>,
    /// In the order they came, so that the last can be taken back.
    order: Vec<Key>,
}

impl Seen {
    /// Where the same was shown; if nowhere, remembers that it is at `here`.
    pub(super) fn place_of(
        &mut self,
        before: Option<&Arc<str>>,
        after: &Arc<str>,
        here: &str,
    ) -> Option<String> {
        let key = (before.cloned(), after.clone());
        if let Some(place) = self.places.get(&key) {
            return Some(place.clone());
        }
        self.order.push(key.clone());
        self.places.insert(key, here.to_owned());
        None
    }

    /// A point to come back to.
    pub(super) fn mark(&self) -> usize {
        self.order.len()
    }

    /// Forgets what was remembered since: it was not shown after all.
    pub(super) fn back_to(&mut self, mark: usize) {
        for key in self.order.drain(mark.min(self.order.len())..) {
            self.places.remove(&key);
        }
    }
}
