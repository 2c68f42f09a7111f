//! The elements of a map or object: sorted by name, in one piece of memory.
//!
//! Most objects are small and there are many of them: a tree would cost each of them the room of eleven elements.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut, Index};
use std::sync::Arc;

use litemap::LiteMap;

use crate::Value;

/// Values by name, in the order of the names. Build large ones by collecting: inserting one by one moves the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries(LiteMap<Arc<str>, Value>);

impl Entries {
    /// No elements.
    #[must_use]
    pub const fn new() -> Entries {
        Entries(LiteMap::new_vec())
    }

    /// The value of a name, if it is there.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        // Names of few entries mostly differ in length already, which is faster told than which half they are in.
        const FEW: usize = 8;
        if self.0.len() > FEW {
            return self.0.get(name);
        }
        self.0.iter().find(|(known, _)| ***known == *name).map(|(_, value)| value)
    }
}

impl Deref for Entries {
    type Target = LiteMap<Arc<str>, Value>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Entries {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Index<&str> for Entries {
    type Output = Value;
    /// The value of a name that is known to be there.
    fn index(&self, name: &str) -> &Value {
        self.get(name).expect("the name is there")
    }
}

impl FromIterator<(Arc<str>, Value)> for Entries {
    /// Of two values with the same name the last one stays.
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Value)>>(entries: I) -> Entries {
        let entries: Vec<(Arc<str>, Value)> = entries.into_iter().collect();
        // Most come in order, and are taken as they are.
        if entries.is_sorted_by(|(a, _), (b, _)| a < b) {
            return Entries(LiteMap::from_sorted_store_unchecked(entries));
        }
        Entries(entries.into_iter().collect())
    }
}

impl Extend<(Arc<str>, Value)> for Entries {
    fn extend<I: IntoIterator<Item = (Arc<str>, Value)>>(&mut self, entries: I) {
        self.0.extend(entries);
    }
}

impl<const N: usize> From<[(Arc<str>, Value); N]> for Entries {
    fn from(entries: [(Arc<str>, Value); N]) -> Entries {
        entries.into_iter().collect()
    }
}

impl From<BTreeMap<Arc<str>, Value>> for Entries {
    fn from(entries: BTreeMap<Arc<str>, Value>) -> Entries {
        entries.into_iter().collect()
    }
}

impl IntoIterator for Entries {
    type Item = (Arc<str>, Value);
    type IntoIter = std::vec::IntoIter<(Arc<str>, Value)>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_tuple_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = (&'a Arc<str>, &'a Value);
    type IntoIter = <&'a LiteMap<Arc<str>, Value> as IntoIterator>::IntoIter;
    fn into_iter(self) -> Self::IntoIter {
        (&self.0).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_map_that_a_tree_would_be(names in prop::collection::vec("[a-d]{0,2}", 0..12)) {
            let pairs = || names.iter().zip(0i64..).map(|(name, at)| (Arc::from(name.as_str()), Value::from(at)));
            let tree: BTreeMap<Arc<str>, Value> = pairs().collect();
            let mut grown = Entries::new();
            pairs().for_each(|(name, value)| _ = grown.insert(name, value));
            for entries in [pairs().collect(), Entries::from(tree.clone()), grown] {
                prop_assert!(entries.iter().eq(tree.iter()));
            }
        }
    }
}
