//! Stage 4, diff: declared against observed, as the schema says. Pure.

use std::fmt::Display;
use std::sync::{Arc, LazyLock};

use fleet_lang::{Kind, Marks, Type, Value};

use crate::expand::with_results;
use crate::schema::{Attribute, Presence, Schema};
use crate::seal::Seals;

/// One attribute or nested block that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its name.
    pub name: Arc<str>,
    /// What is there.
    pub before: Value,
    /// What should be there; may be unknown.
    pub after: Value,
    /// Whether it takes a new object.
    pub forces_replace: bool,
}

/// What differs between reality and the wish, in the order of the names.
///
/// Results of reality are not compared, and neither is what only reality decides because the user left it out. What
/// cannot be read back, and what is still a symbol, is compared with what was sealed; without seals it is not compared.
#[must_use]
pub fn diff(schema: &Schema, observed: &Value, wish: &Value, seals: Option<Seals<'_>>) -> Vec<Change> {
    let attribute = |(name, attribute): (&Arc<str>, &Attribute)| {
        let after = find(wish, name);
        let left_open = match attribute.presence {
            Presence::Computed => true,
            Presence::OptionalComputed => after.is_null(),
            Presence::Required | Presence::Optional => false,
        };
        let as_before = match seals {
            _ if left_open => true,
            Some(seals) if attribute.write_only || seals.stands_for(name) => seals.was_sent(name, after),
            None if attribute.write_only => true,
            Some(seals) if seals.speak_for(after) => seals.is_unchanged(name, find(observed, name)),
            _ => false,
        };
        if as_before { None } else { change(observed, name, after, attribute) }
    };
    let block = |name: &Arc<str>| change(observed, name, find(wish, name), &PLAIN);
    let mut changes: Vec<Change> = schema.attributes.iter().filter_map(attribute).collect();
    changes.extend(schema.blocks.keys().filter_map(block));
    changes
}

/// What differs between what was recorded and what is there, results included.
#[must_use]
pub fn drift(schema: &Schema, recorded: &Value, observed: &Value, seals: Seals<'_>) -> Vec<Change> {
    let attribute = |(name, attribute): (&Arc<str>, &Attribute)| {
        let after = find(observed, name);
        match seals.recorded.get(name) {
            Some(sealed)
                if attribute.write_only || seals.sealer.digest_of(after).as_ref() == Some(&sealed.digest) =>
            {
                None
            }
            Some(_) => change(recorded, name, &after.clone().mark(Marks::SENSITIVE), attribute),
            None if attribute.write_only => None,
            None => change(recorded, name, after, attribute),
        }
    };
    let block = |name: &Arc<str>| change(recorded, name, find(observed, name), &PLAIN);
    let mut changes: Vec<Change> = schema.attributes.iter().filter_map(attribute).collect();
    changes.extend(schema.blocks.keys().filter_map(block));
    changes
}

/// What will be there after a change in place: the wish, with the results of before where the change leaves them.
#[must_use]
pub fn updated(
    schema: &Schema,
    address: &dyn Display,
    observed: &Value,
    wish: &Value,
    changes: &[Change],
) -> Value {
    with_results(wish, schema, |name, ty| {
        let follows = schema.attributes.get(name).map_or(&[][..], |attribute| &attribute.follows);
        if changes.iter().any(|change| follows.contains(&change.name)) {
            Value::awaiting(ty.clone(), format!("{address}.{name}"))
        } else {
            get(observed, name)
        }
    })
}

/// What will be there after it was created: the wish, with results that nobody knows yet.
#[must_use]
pub fn created(schema: &Schema, address: &dyn Display, wish: &Value) -> Value {
    with_results(wish, schema, |name, ty| Value::awaiting(ty.clone(), format!("{address}.{name}")))
}

/// One attribute of an object, null if it has none of that name.
#[must_use]
pub fn get(object: &Value, name: &str) -> Value {
    find(object, name).clone()
}

/// The same, where it stands.
fn find<'v>(object: &'v Value, name: &str) -> &'v Value {
    static NULL: Value = Value { kind: Kind::Null(Type::Any), marks: Marks::NONE };
    object.entries().and_then(|entries| entries.get(name)).unwrap_or(&NULL)
}

/// A nested block has nothing special about it.
static PLAIN: LazyLock<Attribute> = LazyLock::new(|| Attribute::new(Type::Any, Presence::Optional));

fn change(observed: &Value, name: &Arc<str>, after: &Value, attribute: &Attribute) -> Option<Change> {
    let before = find(observed, name);
    if !attribute.write_only && same(before, after) {
        return None;
    }
    // What is there now is as secret as what will be.
    let secret = attribute.sensitive || after.marks_deep().contains(Marks::SENSITIVE);
    let marks = if secret { Marks::SENSITIVE } else { Marks::NONE };
    let (before, after) = (before.clone().mark(marks), after.clone().mark(marks));
    Some(Change { name: name.clone(), before, after, forces_replace: attribute.forces_replace })
}

/// Whether both are wholly known and equal. Nulls are equal whatever their type.
fn same(before: &Value, after: &Value) -> bool {
    if before.is_null() && after.is_null() {
        return true;
    }
    let unmarked = |value: &Value| value.clone().unmark_deep().0;
    after.is_wholly_known() && (before == after || unmarked(before) == unmarked(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` and `kept` are arguments, `id`, `copy` and `same` results (`copy` follows `a`, `same` equals it), `free` is
    /// either's, `place` forces.
    fn schema() -> Schema {
        let new = |presence| Attribute::new(Type::String, presence);
        Schema {
            attributes: [
                ("a".into(), new(Presence::Required)),
                ("kept".into(), new(Presence::Optional)),
                ("place".into(), Attribute { forces_replace: true, ..new(Presence::Required) }),
                ("free".into(), new(Presence::OptionalComputed)),
                ("sent".into(), Attribute { write_only: true, ..new(Presence::Optional) }),
                ("id".into(), new(Presence::Computed)),
                ("copy".into(), Attribute { follows: vec!["a".into()], ..new(Presence::Computed) }),
                ("same".into(), Attribute { copies: Some("a".into()), ..new(Presence::Computed) }),
            ]
            .into(),
            ..Schema::default()
        }
    }

    fn object<const N: usize>(given: [(&str, Value); N]) -> Value {
        let given: std::collections::BTreeMap<_, _> = given.into();
        let null = || Value::null_of(Type::String);
        let attribute = |name: &Arc<str>| (name.clone(), given.get(&**name).cloned().unwrap_or_else(null));
        Value::object(schema().attributes.keys().map(attribute).collect())
    }

    fn observed() -> Value {
        let all = ["a", "place", "free", "id", "copy"];
        object(all.map(|name| (name, Value::from(name))))
    }

    #[test]
    fn only_what_the_user_decides_is_compared() {
        let check = |wish: Value, expected: &[&str]| {
            let changes = diff(&schema(), &observed(), &wish, None);
            assert_eq!(changes.iter().map(|change| &*change.name).collect::<Vec<_>>(), expected);
        };
        check(object([("a", "a".into()), ("place", "place".into())]), &[]);
        check(object([("a", "a".into()), ("place", "place".into()), ("sent", "x".into())]), &[]);
        check(object([("a", "b".into()), ("place", "place".into())]), &["a"]);
        check(object([("a", "a".into()), ("place", "place".into()), ("kept", "new".into())]), &["kept"]);
        check(object([("a", "a".into()), ("place", "place".into()), ("free", "mine".into())]), &["free"]);
        check(object([("a", Value::unknown(Type::String)), ("place", "place".into())]), &["a"]);
        let secret = Value::from("a").mark(Marks::SENSITIVE);
        check(object([("a", secret), ("place", "place".into())]), &[]);
    }

    #[test]
    fn a_replacement_says_which_attribute_forces_it() {
        let wish = object([("a", "b".into()), ("place", "elsewhere".into())]);
        let forcing = |change: &&Change| change.forces_replace;
        let changes = diff(&schema(), &observed(), &wish, None);
        assert_eq!(changes.iter().filter(forcing).map(|c| &*c.name).collect::<Vec<_>>(), ["place"]);
    }

    #[test]
    fn what_is_there_is_as_secret_as_what_will_be() {
        let secret = Value::from("new").mark(Marks::SENSITIVE);
        let wish = object([("a", secret), ("place", "place".into())]);
        assert!(diff(&schema(), &observed(), &wish, None)[0].before.marks.contains(Marks::SENSITIVE));
    }

    #[test]
    fn results_stay_unless_they_follow_what_changes() {
        let check = |a: &str, expected: Option<&str>| {
            let wish = object([("a", a.into()), ("place", "place".into())]);
            let changes = diff(&schema(), &observed(), &wish, None);
            let after = updated(&schema(), &"x.y", &observed(), &wish, &changes);
            assert_eq!(get(&after, "id").as_str(), Some("id"));
            assert_eq!(get(&after, "free").as_str(), Some("free"));
            assert_eq!(get(&after, "copy").as_str(), expected);
            assert_eq!(get(&after, "same").as_str(), Some(a));
        };
        check("a", Some("copy"));
        check("b", None);
    }

    #[test]
    fn results_of_what_is_made_name_what_they_wait_for() {
        let wish = object([("a", "a".into()), ("place", "place".into())]);
        let made = created(&schema(), &"x.y", &wish);
        let Kind::Unknown(id) = get(&made, "id").kind else { panic!("known") };
        assert_eq!(id.awaits.as_deref(), Some("x.y.id"));
        assert_eq!(get(&made, "same").as_str(), Some("a"));
    }
}
