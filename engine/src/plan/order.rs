//! The order of removals.

use std::collections::BTreeMap;

use super::{Action, Step};
use crate::address::Address;

/// Orders removals so that each thing goes before what it depended on.
pub(crate) fn removal_order(steps: &BTreeMap<Address, Step>) -> Vec<Address> {
    let removed = |address: &Address| {
        steps.get(address).is_some_and(|step| matches!(step.action, Action::Destroy | Action::Forget))
    };
    let mut dependents: BTreeMap<&Address, usize> =
        steps.keys().filter(|address| removed(address)).map(|address| (address, 0)).collect();
    let depends_on = |address: &Address| -> Vec<Address> {
        let on = steps[address].record.depends_on.iter();
        let on = on.filter_map(|on| {
            Some(Address { scope: on.scope.clone(), item: on.item.clone()?, key: on.key.clone() })
        });
        on.filter(|on| removed(on)).collect()
    };
    for address in dependents.keys().copied().collect::<Vec<_>>() {
        for on in depends_on(address) {
            *dependents.get_mut(&on).expect("it is removed") += 1;
        }
    }
    let mut order = Vec::with_capacity(dependents.len());
    let mut ready: Vec<&Address> =
        dependents.iter().filter(|(_, n)| **n == 0).map(|(address, _)| *address).rev().collect();
    while let Some(address) = ready.pop() {
        dependents.remove(address);
        order.push(address.clone());
        for on in depends_on(address) {
            let left = dependents.get_mut(&on).expect("it has a dependent left");
            *left -= 1;
            if *left == 0 {
                ready.push(dependents.get_key_value(&on).expect("just found").0);
            }
        }
    }
    // A record that depends on itself was damaged; it must not keep things from being removed.
    order.extend(dependents.into_keys().cloned());
    order
}
