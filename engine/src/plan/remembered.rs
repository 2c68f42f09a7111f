//! What is remembered as a graph: who depended on whom when it was recorded. Linear in rows and distinct dependencies.

use crate::address::{Address, Item, ScopePath, Target};
use crate::state::Recorded;
use foldhash::{HashMap, HashMapExt};

/// The rows of a state, numbered, and who depended on whom.
pub struct Remembered<'a> {
    /// The rows in the order of their addresses.
    pub rows: Vec<(&'a Address, &'a Recorded)>,
    numbers: HashMap<&'a Address, u32>,
    /// The members of each distinct dependency.
    pub groups: Vec<Vec<u32>>,
    /// The groups that each row depends on.
    pub uses: Vec<Vec<u32>>,
}

impl<'a> Remembered<'a> {
    /// Over some rows.
    #[must_use]
    pub fn new(rows: impl Iterator<Item = (&'a Address, &'a Recorded)>) -> Remembered<'a> {
        let rows: Vec<(&Address, &Recorded)> = rows.collect();
        let mut numbers = HashMap::with_capacity(rows.len());
        let mut exact: HashMap<(&ScopePath, &Item), Vec<u32>> = HashMap::new();
        let mut anywhere: HashMap<(ScopePath, &Item), Vec<u32>> = HashMap::new();
        for (number, (address, _)) in rows.iter().enumerate() {
            let number = number as u32;
            numbers.insert(*address, number);
            exact.entry((&address.scope, &address.item)).or_default().push(number);
            anywhere.entry((address.scope.without_keys(), &address.item)).or_default().push(number);
        }
        let members = |target: &Target| -> Vec<u32> {
            let covered = |number: &&u32| target.covers(rows[**number as usize].0);
            let Some(item) = &target.item else {
                return (0..rows.len() as u32).filter(|number| covered(&number)).collect();
            };
            if let Some(here) = exact.get(&(&target.scope, item)) {
                return here.iter().filter(covered).copied().collect();
            }
            let anywhere = anywhere.get(&(target.scope.without_keys(), item));
            anywhere.into_iter().flatten().filter(covered).copied().collect()
        };
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut numbered: HashMap<&Target, u32> = HashMap::new();
        let uses = rows.iter().map(|(_, record)| {
            let group = |target: &'a Target| {
                *numbered.entry(target).or_insert_with(|| {
                    groups.push(members(target));
                    groups.len() as u32 - 1
                })
            };
            record.depends_on.iter().map(group).collect()
        });
        let uses = uses.collect();
        Remembered { rows, numbers, groups, uses }
    }

    /// The number of a row.
    #[must_use]
    pub fn number(&self, address: &Address) -> Option<u32> {
        self.numbers.get(address).copied()
    }

    /// Adds to a set of rows all that depended on one of them; `reason` says on which.
    pub fn dependents(&self, of: impl Iterator<Item = u32>) -> HashMap<u32, u32> {
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); self.groups.len()];
        for (row, groups) in self.uses.iter().enumerate() {
            groups.iter().for_each(|group| users[*group as usize].push(row as u32));
        }
        let mut groups_of: Vec<Vec<u32>> = vec![Vec::new(); self.rows.len()];
        for (group, members) in self.groups.iter().enumerate() {
            members.iter().for_each(|row| groups_of[*row as usize].push(group as u32));
        }
        let mut reached: HashMap<u32, u32> = HashMap::new();
        let mut left: Vec<u32> = of.collect();
        let mut done = vec![false; self.groups.len()];
        while let Some(row) = left.pop() {
            for group in &groups_of[row as usize] {
                if std::mem::replace(&mut done[*group as usize], true) {
                    continue;
                }
                for user in users[*group as usize].iter().filter(|user| **user != row) {
                    if !reached.contains_key(user) {
                        reached.insert(*user, row);
                        left.push(*user);
                    }
                }
            }
        }
        reached
    }

    /// All that rows depended on, directly or not; says on whose behalf.
    pub fn dependencies(&self, of: impl Iterator<Item = u32>) -> HashMap<u32, u32> {
        let mut reached: HashMap<u32, u32> = HashMap::new();
        let mut left: Vec<u32> = of.collect();
        let mut done = vec![false; self.groups.len()];
        while let Some(row) = left.pop() {
            for group in &self.uses[row as usize] {
                if std::mem::replace(&mut done[*group as usize], true) {
                    continue;
                }
                for on in self.groups[*group as usize].iter().filter(|on| **on != row) {
                    if !reached.contains_key(on) {
                        reached.insert(*on, row);
                        left.push(*on);
                    }
                }
            }
        }
        reached
    }
}
