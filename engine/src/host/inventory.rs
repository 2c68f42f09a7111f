//! What is managed on a host, as the host itself keeps it beside its ledger: a file of one line for each thing.
//!
//! It holds what it takes to find a thing and to remove it, and nothing sensitive. Where the state is lost, or knew
//! nothing of a thing yet, the inventory still does.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::{Entries, Kind, Type, Value};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::probe::{Content, What};
use super::{HostDatum, Ledger, Listed, Probe, Read, Reply, busy, ledger};
use crate::address::Address;
use crate::attributes::Misfit;
use crate::diff::get;
use crate::encode::{Decoder, to_json};
use crate::provider::Ask;
use crate::resource::Error;
use crate::schema::{Entry, Place, Schema};
use crate::state::Recorded;

/// What reads the inventory of a host, by which key the host proved who it is, and what keeps it busy, together with
/// everything else there. It is no kind that users know.
pub(crate) const KIND: &str = "host_inventory";

/// See [`KIND`].
pub(crate) struct Reading;

/// Asks for the inventory beside a ledger.
pub(crate) fn ask(ledger: &str) -> Ask {
    Ask::Data(ledger.into())
}

impl HostDatum for Reading {
    fn name(&self) -> &'static str {
        KIND
    }

    fn entry(&self, provider: &str) -> Entry {
        Entry::new(Schema::default(), Place::Host, provider)
    }

    fn normalize(&self, arguments: &Value) -> Result<Value, Misfit> {
        Ok(arguments.clone())
    }

    fn probe(&self, arguments: &Value) -> Result<Probe, Error> {
        let ledger = arguments.as_str().unwrap_or(ledger::PATH);
        let list = Read::Inside(Ledger::inventory(ledger));
        let probe = Probe::new().and(list).and(Read::Line).and(Read::Processes(busy::expression()));
        Ok(probe.content(Ledger::unconfirmed(ledger), Content::Whole))
    }

    fn parse(&self, _: &Value, reply: &Reply) -> Result<Value, Error> {
        let text = |text: &Option<String>| match text {
            Some(text) => Value::from(text.as_str()),
            None => Value::null_of(Type::String),
        };
        let (list, line) = (String::from_utf8_lossy(reply.inside(0)?), reply.line(1)?);
        let busy =
            busy::parse(reply.output(2)?).map(|busy| busy.iter().map(|what| what.as_str().into()).collect());
        let unconfirmed = match reply.path(3)?.map(|found| &found.what) {
            Some(What::File(file)) => String::from_utf8_lossy(file.content.as_deref().unwrap_or_default()),
            _ => "".into(),
        };
        let entries = [
            ("unconfirmed", Value::from(&*unconfirmed)),
            ("list", Value::from(&*list)),
            ("host_key", text(&line.host_key)),
            ("address", text(&line.address)),
            ("busy", busy.map_or_else(Value::null, |busy: Vec<Value>| Value::list(Type::String, busy))),
        ];
        Ok(Value::object(entries.into_iter().map(|(name, value)| (name.into(), value)).collect()))
    }
}

/// What keeps a host busy, as its inventory was read; none if it could not say.
pub(crate) fn busy(read: &Value) -> Option<Vec<String>> {
    let busy = get(read, "busy");
    let items = busy.items()?;
    Some(items.iter().filter_map(|what| what.as_str().map(str::to_owned)).collect())
}

/// What became of a change that could have cut a host off, and that nobody confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unconfirmed {
    /// The host is about to undo it.
    Pending,
    /// The host undid it by itself.
    Undone {
        /// When.
        when: String,
        /// What could not be undone; empty if all was.
        wrong: String,
    },
}

/// What nobody confirmed, as the inventory was read, by the names of things there; of each, what happened last.
pub(crate) fn unconfirmed(read: &Value) -> BTreeMap<String, Unconfirmed> {
    let notes = get(read, "unconfirmed");
    let one = |line: &str| {
        let mut words = line.split('\t').map(str::to_owned);
        let (name, _attempt, when) = (words.next()?, words.next()?, words.next()?);
        let wrong = words.next().unwrap_or_default();
        let became = if when.is_empty() { Unconfirmed::Pending } else { Unconfirmed::Undone { when, wrong } };
        Some((name, became))
    };
    notes.as_str().unwrap_or_default().lines().filter_map(one).collect()
}

/// Longer texts are left out: nothing is found by them.
const LONGEST: usize = 1024;

/// Something that an inventory knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Whose it is.
    pub address: Address,
    /// Its kind.
    pub kind: Arc<str>,
    /// The version of the kind's schema.
    pub version: u32,
    /// What it takes to find it.
    pub value: Value,
}

/// What an inventory says of a thing from now on; without a record it says nothing any more.
#[must_use]
pub fn listed(address: &Address, record: Option<&Recorded>) -> Listed {
    let text = address.to_string();
    let name = Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let line = record.and_then(|record| {
        let value = to_json(&short(&record.value)).ok()?;
        Some(
            json!({ "address": text, "kind": &*record.kind, "version": record.version, "value": value })
                .to_string(),
        )
    });
    Listed { name, line }
}

/// Reads an inventory; what cannot be read was not written by us, and is left alone.
#[must_use]
pub fn known(content: &[u8]) -> Vec<Known> {
    let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(one).collect()
}

fn one(line: &[u8]) -> Option<Known> {
    let json: Json = serde_json::from_slice(line).ok()?;
    Some(Known {
        address: Address::parse(json.get("address")?.as_str()?)?,
        kind: json.get("kind")?.as_str()?.into(),
        version: u32::try_from(json.get("version")?.as_u64()?).ok()?,
        value: Decoder::default().value(&json.get("value")?.to_string()).ok()?,
    })
}

/// The same object with null in the place of what is long or must not be written down.
fn short(value: &Value) -> Value {
    let Some(entries) = value.entries() else { return value.clone() };
    let keep = |value: &Value| {
        let is_long = matches!(&value.kind, Kind::String(text) if text.len() > LONGEST);
        if is_long || to_json(value).is_err() { Value::null_of(value.ty()) } else { value.clone() }
    };
    let kept: Entries = entries.iter().map(|(name, value)| (name.clone(), keep(value))).collect();
    Value::object(kept)
}

#[cfg(test)]
mod tests {
    use fleet_lang::Marks;

    use super::*;
    use crate::provider::Session;

    #[test]
    fn what_nobody_confirmed_is_told_by_its_name() {
        let notes = "a\t1\tMonday\t\nb\t2\tTuesday\tpf is gone\na\t3\tWednesday\t\nnonsense\nc\t4\tMonday\t\nc\t5\t\t\n";
        let read = Value::object([("unconfirmed".into(), Value::from(notes))].into_iter().collect());
        let undone = |when: &str, wrong: &str| Unconfirmed::Undone { when: when.into(), wrong: wrong.into() };
        let expected = [
            ("a".to_owned(), undone("Wednesday", "")),
            ("b".to_owned(), undone("Tuesday", "pf is gone")),
            ("c".to_owned(), Unconfirmed::Pending),
        ];
        assert_eq!(unconfirmed(&read), expected.into());
        assert!(unconfirmed(&Value::null()).is_empty());
    }

    #[test]
    fn what_is_listed_is_known_without_what_is_secret_or_long() {
        let address = Address::parse("fleet.desk[\"a b\"].host_file.motd[0]").unwrap();
        let entries = [
            ("path", Value::from("/etc/motd\n")),
            ("content", Value::from("hunter2").mark(Marks::SENSITIVE)),
            ("long", Value::from("x".repeat(LONGEST + 1).as_str())),
            ("later", Value::unknown(Type::String)),
        ];
        let value = Value::object(entries.map(|(name, value)| (name.into(), value)).into_iter().collect());
        let record = Recorded {
            session: Session::on_host(address.scope.clone(), None),
            kind: "host_file".into(),
            version: 3,
            value,
            sealed: Default::default(),
            depends_on: [].into(),
            create_before_destroy: false,
            epoch: None,
        };
        let line = listed(&address, Some(&record)).line.unwrap();
        assert!(!line.contains("hunter2") && !line.contains('\n'), "{line}");
        let known = known(format!("{line}\nnonsense\n\n{line}\n").as_bytes());
        assert_eq!((known.len(), known[0].version, &known[0].address), (2, 3, &address));
        let path = |known: &Known| known.value.entries().unwrap()["path"].as_str().map(str::to_owned);
        assert_eq!(path(&known[1]).as_deref(), Some("/etc/motd\n"));
        assert!(known[0].value.entries().unwrap()["content"].is_null());
        let gone = listed(&address, None);
        assert_eq!((gone.line, gone.name.len()), (None, 32));
    }
}
