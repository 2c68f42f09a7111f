//! `ignore_changes`: what may differ from the configuration without being changed back.

use std::sync::Arc;

use fleet_lang::{Entries, Kind, Value};

use crate::config::model::{AttributePath, IgnoreChanges, PathKey};
use crate::diff::get;

/// The wish, with what is there in the places that are to be left alone.
pub(crate) fn ignore(ignored: &IgnoreChanges, wish: &Value, before: &Value) -> Value {
    match ignored {
        IgnoreChanges::None => wish.clone(),
        IgnoreChanges::All => {
            let Kind::Object(entries) = &before.kind else { return before.clone() };
            let marked = |(name, value): (&Arc<str>, &Value)| {
                (name.clone(), value.clone().mark(get(wish, name).marks_deep()))
            };
            Value::object(entries.iter().map(marked).collect())
        }
        IgnoreChanges::Paths(paths) => {
            paths.iter().fold(wish.clone(), |wish, path| leave(&wish, before, path))
        }
    }
}

fn leave(wish: &Value, before: &Value, path: &AttributePath) -> Value {
    let root = &path.root.name;
    let wished = get(wish, root);
    let inner = put(&wished, &get(before, root), &path.steps).mark(wished.marks_deep());
    let Kind::Object(entries) = &wish.kind else { return wish.clone() };
    let mut entries = (**entries).clone();
    entries.insert(root.clone(), inner);
    Value::object(entries).mark(wish.marks)
}

/// Puts what is at a path in one value into another. Where the path leads nowhere, the wish stays.
fn put(wish: &Value, before: &Value, path: &[PathKey]) -> Value {
    let Some((key, rest)) = path.split_first() else { return before.clone() };
    match (key, &wish.kind) {
        (PathKey::Name(name), Kind::Map(map)) => {
            let mut items = map.items.clone();
            set(&mut items, name, element(before, name), element(wish, name), rest);
            Value::map(map.element.clone(), items).mark(wish.marks)
        }
        (PathKey::Name(name), Kind::Object(entries)) => {
            let mut entries = (**entries).clone();
            set(&mut entries, name, element(before, name), element(wish, name), rest);
            Value::object(entries).mark(wish.marks)
        }
        (PathKey::Index(at), Kind::List(list)) => {
            let Some(old) = at_index(before, *at) else { return wish.clone() };
            let mut items = list.items.clone();
            if let Some(item) = usize::try_from(*at).ok().and_then(|at| items.get_mut(at)) {
                *item = put(item, &old, rest);
            }
            Value::list(list.element.clone(), items).mark(wish.marks)
        }
        _ => wish.clone(),
    }
}

fn set(entries: &mut Entries, name: &Arc<str>, old: Option<Value>, new: Option<Value>, rest: &[PathKey]) {
    match (old, new) {
        (Some(old), Some(new)) => _ = entries.insert(name.clone(), put(&new, &old, rest)),
        (Some(old), None) if rest.is_empty() => _ = entries.insert(name.clone(), old),
        // It is not there, and whoever ignores it does not want it to be made.
        (None, Some(_)) if rest.is_empty() => _ = entries.remove(name),
        _ => {}
    }
}

fn element(value: &Value, name: &str) -> Option<Value> {
    value.entries().and_then(|entries| entries.get(name)).cloned()
}

fn at_index(value: &Value, at: u64) -> Option<Value> {
    match &value.kind {
        Kind::List(list) => list.items.get(usize::try_from(at).ok()?).cloned(),
        _ => None,
    }
}
