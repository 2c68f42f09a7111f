//! Things by their id, with what they were before: for reads that are late, and for whoever wants to know how it came to
//! this.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::clock::Time;

/// How many versions of a thing are kept.
const KEPT: usize = 64;

/// Things in the order in which they were made, deleted ones included.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shelf<T> {
    things: IndexMap<String, Vec<Version<T>>>,
}

/// What a thing was like from some moment on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Version<T> {
    /// Since when.
    pub since: Time,
    /// None if it was deleted.
    pub thing: Option<T>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Shelf<T> {
        Shelf { things: IndexMap::new() }
    }
}

impl<T: Clone> Shelf<T> {
    /// A thing as it is now.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&T> {
        self.history(id).last()?.thing.as_ref()
    }

    /// A thing as it was.
    #[must_use]
    pub fn seen(&self, id: &str, at: Time) -> Option<&T> {
        seen(self.history(id), at)
    }

    /// Whether a thing was there before, and was not any more.
    #[must_use]
    pub fn was_deleted(&self, id: &str, at: Time) -> bool {
        version(self.history(id), at).is_some_and(|version| version.thing.is_none())
    }

    /// Everything a thing ever was, as far as it was kept, oldest first.
    #[must_use]
    pub fn history(&self, id: &str) -> &[Version<T>] {
        self.things.get(id).map_or(&[], Vec::as_slice)
    }

    /// All things as they are now.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.things.values().filter_map(|versions| versions.last()?.thing.as_ref())
    }

    /// All things that ever were, deleted ones as they were last.
    pub(crate) fn every(&self) -> impl Iterator<Item = &T> {
        self.things.values().filter_map(|versions| versions.iter().rev().find_map(|one| one.thing.as_ref()))
    }

    /// All things as they were.
    pub fn all_seen(&self, at: Time) -> impl Iterator<Item = &T> {
        self.things.values().filter_map(move |versions| seen(versions, at))
    }

    /// Puts a thing there, or takes it away.
    pub fn put(&mut self, id: &str, now: Time, thing: Option<T>) {
        let versions = self.things.entry(id.to_owned()).or_default();
        versions.push(Version { since: now, thing });
        if versions.len() > KEPT {
            // The oldest that is kept stands for all before it.
            let forgotten = versions.remove(0);
            versions[0].since = forgotten.since;
        }
    }

    /// Changes a thing, if it is there.
    pub fn change(&mut self, id: &str, now: Time, change: impl FnOnce(&mut T)) {
        if let Some(mut thing) = self.get(id).cloned() {
            change(&mut thing);
            self.put(id, now, Some(thing));
        }
    }
}

fn seen<T>(versions: &[Version<T>], at: Time) -> Option<&T> {
    version(versions, at)?.thing.as_ref()
}

fn version<T>(versions: &[Version<T>], at: Time) -> Option<&Version<T>> {
    versions.iter().rev().find(|version| version.since <= at)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(second: u64) -> Time {
        "2026-01-01T00:00:00Z".parse::<Time>().unwrap().after(Duration::from_secs(second))
    }

    #[test]
    fn things_as_they_were() {
        let mut shelf = Shelf::default();
        shelf.put("a", at(10), Some(1));
        shelf.change("a", at(20), |thing| *thing = 2);
        shelf.put("a", at(30), None);
        for (second, thing, deleted) in
            [(9, None, false), (10, Some(1), false), (29, Some(2), false), (30, None, true)]
        {
            assert_eq!(shelf.seen("a", at(second)).copied(), thing, "{second}");
            assert_eq!(shelf.was_deleted("a", at(second)), deleted, "{second}");
        }
        assert_eq!((shelf.get("a"), shelf.all().count(), shelf.every().count()), (None, 0, 1));
        shelf.change("b", at(40), |_| unreachable!());
        assert!(shelf.history("b").is_empty());
    }

    #[test]
    fn what_is_forgotten_is_not_taken_for_absent() {
        let mut shelf = Shelf::default();
        for second in 0..1000 {
            shelf.put("a", at(second), Some(second));
        }
        assert_eq!(shelf.history("a").len(), KEPT);
        assert_eq!(shelf.seen("a", at(5)), Some(&(1000 - KEPT as u64)));
    }
}
