//! The order of removals.

use std::collections::BTreeMap;

use super::{Action, Step};
use crate::address::Address;

/// Orders removals so that each thing goes before what it depended on.
pub(super) fn removal_order(steps: &BTreeMap<Address, Step>) -> Vec<Address> {
    let removed = |address: &Address| {
        steps.get(address).is_some_and(|step| matches!(step.action, Action::Destroy | Action::Forget))
    };
    let mut dependents: BTreeMap<&Address, usize> =
        steps.keys().filter(|address| removed(address)).map(|address| (address, 0)).collect();
    let depends_on = |address: &Address| steps[address].record.depends_on.iter().filter(|on| removed(on));
    for address in dependents.keys().copied().collect::<Vec<_>>() {
        for on in depends_on(address) {
            *dependents.get_mut(on).expect("it is removed") += 1;
        }
    }
    let mut order = Vec::with_capacity(dependents.len());
    let mut ready: Vec<&Address> =
        dependents.iter().filter(|(_, n)| **n == 0).map(|(address, _)| *address).rev().collect();
    while let Some(address) = ready.pop() {
        dependents.remove(address);
        order.push(address.clone());
        for on in depends_on(address) {
            let left = dependents.get_mut(on).expect("it has a dependent left");
            *left -= 1;
            if *left == 0 {
                ready.push(dependents.get_key_value(on).expect("just found").0);
            }
        }
    }
    // A record that depends on itself was damaged; it must not keep things from being removed.
    order.extend(dependents.into_keys().cloned());
    order
}

#[cfg(test)]
mod tests {
    use fleet_lang::Value;

    use super::*;
    use crate::address::{Item, ScopePath};
    use crate::plan::Why;
    use crate::provider::Session;
    use crate::state::Recorded;

    fn address(name: &str) -> Address {
        let item = Item::Resource("core_value".into(), name.into());
        Address { scope: ScopePath::default(), item, key: None }
    }

    fn step(action: Action, depends_on: &[&str]) -> Step {
        let depends_on: Vec<Address> = depends_on.iter().map(|name| address(name)).collect();
        let session = Session { provider: "core".into(), alias: None };
        let record =
            Recorded { session, kind: "core_value".into(), version: 1, value: Value::null(), depends_on };
        Step { action, why: Why::Asked, record, before: None, changes: Vec::new(), depended_on: Vec::new() }
    }

    #[test]
    fn each_goes_before_what_it_depended_on() {
        let check = |given: &[(&str, Action, &[&str])], expected: &[&str]| {
            let steps = given.iter().map(|(name, action, on)| (address(name), step(*action, on))).collect();
            let expected: Vec<Address> = expected.iter().map(|name| address(name)).collect();
            assert_eq!(removal_order(&steps), expected);
        };
        use Action::{Destroy, Forget, Keep};
        check(&[("a", Destroy, &[]), ("b", Destroy, &["a"]), ("c", Forget, &["b", "a"])], &["c", "b", "a"]);
        check(&[("a", Destroy, &["b"]), ("b", Keep, &[]), ("c", Destroy, &["b"])], &["a", "c"]);
        // A damaged record must not keep things from being removed.
        check(&[("a", Destroy, &["b"]), ("b", Destroy, &["a"]), ("c", Destroy, &[])], &["c", "a", "b"]);
    }
}
