//! What a store is: a state, and what each write does to it.

use fleet_engine::state::{Object, Recorded, State, Write};

/// Does a write; false if it must be refused, and then nothing changes.
pub(super) fn apply(state: &mut State, write: &Write) -> bool {
    match write.clone() {
        Write::Begin { object, intent } => {
            state.intents.insert(object, intent);
        }
        Write::Settle { object, recorded } => {
            state.intents.remove(&object);
            put(state, object, recorded);
        }
        Write::Withdraw { object } => _ = state.intents.remove(&object),
        Write::Depose { address, number, recorded } => {
            let older = Object { address: address.clone(), deposed: Some(number) };
            let current = Object::current(address.clone());
            if let Some(before) = state.recorded.get(&address).cloned() {
                if has(state, &older) {
                    return false;
                }
                put(state, older, Some(before));
            }
            state.intents.remove(&current);
            put(state, current, Some(recorded));
        }
        Write::Move { from, to } => {
            let there = |object: &Object| Object { address: to.clone(), ..object.clone() };
            let records: Vec<Object> = objects(state).filter(|object| object.address == from).collect();
            let intents: Vec<Object> =
                state.intents.keys().filter(|object| object.address == from).cloned().collect();
            let taken = records.iter().any(|object| has(state, &there(object)))
                || intents.iter().any(|object| state.intents.contains_key(&there(object)));
            if taken && from != to {
                return false;
            }
            for object in records {
                let record = take(state, &object);
                put(state, there(&object), record);
            }
            for object in intents {
                let intent = state.intents.remove(&object).unwrap();
                state.intents.insert(there(&object), intent);
            }
        }
        Write::Outputs(outputs) => state.outputs = outputs,
    }
    state.serial += 1;
    true
}

fn objects(state: &State) -> impl Iterator<Item = Object> {
    let current = state.recorded.keys().cloned().map(Object::current);
    let older = state.deposed.iter().flat_map(|(address, objects)| {
        objects.keys().map(|number| Object { address: address.clone(), deposed: Some(*number) })
    });
    current.chain(older)
}

fn has(state: &State, object: &Object) -> bool {
    objects(state).any(|known| known == *object)
}

fn take(state: &mut State, object: &Object) -> Option<Recorded> {
    let Some(number) = object.deposed else { return state.recorded.remove(&object.address) };
    let older = state.deposed.get_mut(&object.address)?;
    let record = older.remove(&number);
    if older.is_empty() {
        state.deposed.remove(&object.address);
    }
    record
}

fn put(state: &mut State, object: Object, record: Option<Recorded>) {
    take(state, &object);
    let Some(record) = record else { return };
    match object.deposed {
        None => state.recorded.insert(object.address, record),
        Some(number) => state.deposed.entry(object.address).or_default().insert(number, record),
    };
}
