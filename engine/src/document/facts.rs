//! What a plan relied on, as digests: so that whoever applies it later can tell what has moved since.
//!
//! A plan relies on what it found where it acts, and on what it found of the things that these depend on. What stays
//! as it is and decides nothing may move as it likes.
//!
//! Digests of what is sensitive are keyed, so that nobody can try values until one fits; without a key there are none.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use fleet_lang::{Entries, Kind, Value};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::secret::Secret;
use crate::address::{Address, Item, ScopeStep, Target};
use crate::plan::{Action, Plan, Step};
use crate::schema::Catalog;

/// What was found at one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Where.
    pub address: String,
    /// The number of an older object of this address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deposed: Option<u32>,
    /// The digests of its attributes, none for those that cannot be compared; none at all if nothing was there.
    pub found: Option<BTreeMap<String, Option<String>>>,
}

/// The digest of what is sensitive, with a key.
pub type Keyed<'a> = &'a dyn Fn(&[u8]) -> String;

/// Something that is not as it was when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Where.
    pub address: String,
    /// What.
    pub what: What,
}

/// How it moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It was there, and is gone.
    Gone,
    /// Nothing was there, and something is.
    Appeared,
    /// This attribute is another.
    Attribute(String),
    /// The plan relied on it, and it was not looked at now.
    NotFound,
}

/// What a plan relies on, in the order of the addresses.
#[must_use]
pub fn facts(plan: &Plan, catalog: &dyn Catalog, keyed: Option<Keyed<'_>>) -> Vec<Fact> {
    let relied_on = relied_on(plan);
    facts_where(plan, catalog, keyed, |address| relied_on.contains(address))
}

/// All that a plan found, whether it relies on it or not.
#[must_use]
pub fn all_facts(plan: &Plan, catalog: &dyn Catalog, keyed: Option<Keyed<'_>>) -> Vec<Fact> {
    facts_where(plan, catalog, keyed, |_| true)
}

fn facts_where(
    plan: &Plan,
    catalog: &dyn Catalog,
    keyed: Option<Keyed<'_>>,
    wanted: impl Fn(&Address) -> bool,
) -> Vec<Fact> {
    // What is read during apply was not found to be anything yet.
    let current = plan.steps.iter().filter(|(address, step)| wanted(address) && step.action != Action::Read);
    let current = current.map(|(address, step)| (address, None, step));
    let older = plan
        .deposed
        .iter()
        .flat_map(|(address, steps)| steps.iter().map(move |(number, step)| (address, Some(*number), step)));
    let all = current.chain(older);
    all.map(|(address, deposed, step)| fact(address, deposed, step, catalog, keyed)).collect()
}

/// What the plan relied on that is not so any more, each by its name. An attribute without a digest on either side
/// cannot be compared and is not said to have moved.
#[must_use]
pub fn moved(then: &[Fact], now: &[Fact]) -> Vec<Moved> {
    let key = |fact: &Fact| (fact.address.clone(), fact.deposed);
    let now: HashMap<_, _> = now.iter().map(|fact| (key(fact), fact)).collect();
    let mut moved = Vec::new();
    for fact in then {
        let mut say = |what| moved.push(Moved { address: fact.address.clone(), what });
        match (&fact.found, now.get(&key(fact)).map(|fact| &fact.found)) {
            (_, None) => say(What::NotFound),
            (Some(_), Some(None)) => say(What::Gone),
            (None, Some(Some(_))) => say(What::Appeared),
            (None, Some(None)) => {}
            (Some(then), Some(Some(now))) => {
                let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
                let differs = |name: &&&String| match (then.get(**name), now.get(**name)) {
                    (Some(Some(then)), Some(Some(now))) => then != now,
                    (Some(None), _) | (_, Some(None)) => false,
                    _ => true,
                };
                names.iter().filter(differs).for_each(|name| say(What::Attribute((*name).clone())));
            }
        }
    }
    moved
}

impl std::fmt::Display for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let address = &self.address;
        match &self.what {
            What::Gone => write!(f, "{address} is gone"),
            What::Appeared => write!(f, "{address} is there now"),
            What::Attribute(name) => write!(f, "{address}: `{name}` has changed"),
            What::NotFound => write!(f, "{address} was not looked at"),
        }
    }
}

/// The addresses whose observation decides what the plan does.
fn relied_on(plan: &Plan) -> HashSet<&Address> {
    let acts = |step: &Step| step.action != Action::Keep && step.action != Action::Record;
    let mut blocks: HashMap<String, Vec<&Address>> = HashMap::new();
    for address in plan.steps.keys() {
        blocks.entry(block(address.scope.steps(), Some(&address.item))).or_default().push(address);
    }
    let mut found = HashSet::new();
    let mut seen = HashSet::new();
    for (address, step) in plan.steps.iter().filter(|(_, step)| acts(step)) {
        found.insert(address);
        for target in step.record.depends_on.iter().filter(|target| seen.insert(*target)) {
            let mut near = in_scope(plan, target).peekable();
            if near.peek().is_some() {
                found.extend(near);
                continue;
            }
            // It leaves keys of scopes out, and means them all.
            let of_block = blocks.get(&block(target.scope.steps(), target.item.as_ref()));
            found.extend(of_block.into_iter().flatten().filter(|address| target.covers(address)));
        }
    }
    found
}

/// What a target means in just its scope: neighbours, because addresses are ordered by scope, item and key.
fn in_scope<'p>(plan: &'p Plan, target: &Target) -> impl Iterator<Item = &'p Address> {
    let first = target.item.clone().map(|item| Address {
        scope: target.scope.clone(),
        item,
        key: target.key.clone(),
    });
    let from = first.map(|first| plan.steps.range(first..)).into_iter().flatten();
    from.map(|(address, _)| address).take_while(move |address| target.covers(address))
}

/// The name of a block, the same for all of its instances.
fn block(scope: &[ScopeStep], item: Option<&Item>) -> String {
    let mut name = String::new();
    for step in scope {
        let (word, of) = match step {
            ScopeStep::Module(of, _) => ("module.", of),
            ScopeStep::Fleet(of, _) => ("fleet.", of),
        };
        name.extend([word, of, "."]);
    }
    if let Some(item) = item {
        name.push_str(&item.to_string());
    }
    name
}

fn fact(
    address: &Address,
    deposed: Option<u32>,
    step: &Step,
    catalog: &dyn Catalog,
    keyed: Option<Keyed<'_>>,
) -> Fact {
    let secret = Secret::of(catalog, address, step);
    // What data says was read as the plan was made, and is kept as its result.
    let is_read = matches!(address.item, Item::Data(..)) && step.looked;
    let found = if is_read { Some(&step.record.value) } else { step.before.as_ref() };
    let address = address.to_string();
    let digest = |name: &str, value: &Value| {
        // The place is part of what is digested, so that equal secrets in two places do not look equal.
        let mut bytes = format!("{address}\0{name}\0").into_bytes();
        write(value, &mut bytes);
        if secret.holds(name) {
            keyed.map(|keyed| keyed(&bytes))
        } else {
            Some(hex::encode(Sha256::digest(&bytes)))
        }
    };
    let found = found.map(|found| {
        let entries = found.entries().into_iter().flatten();
        entries.map(|(name, value)| (name.to_string(), digest(name, value))).collect()
    });
    Fact { address, deposed, found }
}

/// A value as bytes, the same for equal values and for no others.
fn write(value: &Value, bytes: &mut Vec<u8>) {
    match &value.kind {
        Kind::Null(_) => bytes.push(b'0'),
        Kind::Unknown(_) => bytes.push(b'?'),
        Kind::Bool(value) => bytes.extend([b'b', u8::from(*value)]),
        Kind::Number(number) => {
            bytes.push(b'n');
            write_text(&number.to_exact_text(), bytes);
        }
        Kind::String(string) => {
            bytes.push(b's');
            write_text(string, bytes);
        }
        Kind::List(_) | Kind::Set(_) | Kind::Tuple(_) => {
            let items = value.items().unwrap_or_default();
            bytes.push(b'l');
            bytes.extend((items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| write(item, bytes));
        }
        Kind::Map(entries) => write_entries(&entries.items, bytes),
        Kind::Object(entries) => write_entries(entries, bytes),
    }
}

fn write_entries(entries: &Entries, bytes: &mut Vec<u8>) {
    bytes.push(b'm');
    bytes.extend((entries.len() as u64).to_le_bytes());
    for (name, entry) in entries {
        write_text(name, bytes);
        write(entry, bytes);
    }
}

fn write_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::document::sample::{Kinds, address, document_of, keyed, object, plan};

    fn facts_of(plan: &Plan) -> Vec<Fact> {
        document_of(plan).facts
    }

    #[test]
    fn what_acts_is_relied_on_and_what_that_depends_on_and_nothing_else() {
        let facts = facts_of(&plan());
        let relied_on: BTreeSet<&str> = facts.iter().map(|fact| &*fact.address).collect();
        // It is kept, and `core_file.motd` depends on it.
        assert!(relied_on.contains("core_file.kept[0]") && relied_on.contains("core_file.motd"));
        let mut plan = plan();
        plan.steps.get_mut(&address("core_file.motd")).unwrap().record.depends_on = [].into();
        let facts = facts_of(&plan);
        assert!(!facts.iter().any(|fact| fact.address.starts_with("core_file.kept")));
        assert!(!facts.iter().any(|fact| fact.address == "core_file.found"), "only its record changes");
    }

    #[test]
    fn exactly_what_moves_is_named() {
        let then = facts_of(&plan());
        assert_eq!(moved(&then, &facts_of(&plan())), []);
        let mut n_moved = 0;
        for name in plan().steps.keys() {
            let relied_on = then.iter().any(|fact| fact.address == name.to_string());
            let check = |now: &Plan, what: What| {
                let expected = Moved { address: name.to_string(), what };
                let expected = if relied_on { vec![expected] } else { vec![] };
                assert_eq!(moved(&then, &facts_of(now)), expected);
            };
            if matches!(name.item, Item::Data(..)) {
                continue;
            }
            let Some(before) = plan().steps[name].before.clone() else {
                let mut now = plan();
                now.steps.get_mut(name).unwrap().before =
                    Some(Value::object([("a".into(), 1.into())].into()));
                check(&now, What::Appeared);
                continue;
            };
            let mut gone = plan();
            gone.steps.get_mut(name).unwrap().before = None;
            check(&gone, What::Gone);
            for attribute in before.entries().unwrap().keys() {
                let mut now = plan();
                let mut entries = before.entries().unwrap().clone();
                entries.insert(attribute.clone(), "another".into());
                now.steps.get_mut(name).unwrap().before = Some(Value::object(entries));
                check(&now, What::Attribute(attribute.to_string()));
                n_moved += 1;
            }
        }
        assert!(n_moved > 20, "the sample has attributes");
    }

    #[test]
    fn what_data_said_is_a_fact() {
        let then = facts_of(&plan());
        let mut now = plan();
        let data = now.steps.get_mut(&address("data.core_file.size")).unwrap();
        data.record.value = object([("path", "/etc/size".into()), ("size", 8.into())]);
        let expected =
            Moved { address: "data.core_file.size".to_owned(), what: What::Attribute("size".to_owned()) };
        assert_eq!(moved(&then, &facts_of(&now)), [expected]);
    }

    #[test]
    fn what_is_secret_has_a_keyed_digest_or_none() {
        let step = &plan().steps[&address("macos_login.ci")];
        let digests = |keyed: Option<Keyed<'_>>| {
            fact(&address("macos_login.ci"), None, step, &Kinds, keyed).found.unwrap()
        };
        assert!(digests(Some(&keyed))["password"].as_ref().unwrap().starts_with("keyed:"));
        assert!(!digests(Some(&keyed))["user"].as_ref().unwrap().starts_with("keyed:"));
        assert_eq!(digests(None)["password"], None);
    }

    #[test]
    fn what_cannot_be_compared_has_not_moved() {
        let one = |digest: Option<&str>| {
            let found = Some([("a".to_owned(), digest.map(str::to_owned))].into());
            vec![Fact { address: "x.y".to_owned(), deposed: None, found }]
        };
        assert_eq!(moved(&one(Some("1")), &one(Some("2"))).len(), 1);
        assert_eq!(moved(&one(Some("1")), &one(None)), []);
        assert_eq!(moved(&one(None), &one(Some("1"))), []);
        assert_eq!(moved(&one(Some("1")), &[])[0].what, What::NotFound);
    }
}
