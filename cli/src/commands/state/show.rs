//! `fleet state show`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use fleet_engine::address::{Address, Item};
use fleet_engine::state::{Object, Recorded, State};
use fleet_lang::{Marks, Value, print};

use super::chosen::{nothing, target};
use crate::configuration::VariableArgs;
use crate::memory::Memory;
use crate::{Env, Exit, Failure, json};

/// Show what is recorded of one thing
///
/// Prints its attributes as they were last read back. Sensitive values are not in the state, so they cannot be shown.
/// Older objects that still have to go, and what was begun and is not settled, come after it.
///
/// Examples:
///   fleet state show core_file.motd
///   fleet state show 'core_file.note["a"]' --json | jq .attributes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ShowArgs {
    /// Which
    address: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

/// One thing that is remembered of an address.
struct Part<'a> {
    object: Object,
    /// What was begun, if it is not settled.
    begun: Option<&'static str>,
    record: &'a Recorded,
}

pub(super) fn show(env: &mut Env, args: &ShowArgs) -> Result<Exit, Failure> {
    let wanted = target(&args.address)?;
    let Some(address) = Address::parse(&args.address) else {
        let failure = Failure::new(format!("`{}` is not the address of one thing", args.address));
        return Err(failure.help(format!("`fleet state list '{}'` names what is in it", args.address)));
    };
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let state = memory.read()?;
    let parts = parts(&state, &address);
    if parts.is_empty() {
        return Err(nothing(&wanted, &state));
    }
    let text = if args.json {
        match &parts[..] {
            [part] => json::pretty(&as_json(part)),
            parts => json::pretty(&Value::tuple(parts.iter().map(as_json).collect::<Vec<_>>())),
        }
    } else {
        parts.iter().map(as_text).collect::<Vec<_>>().join("\n")
    };
    Ok(env.stdout.write_all(text.as_bytes()).map(|()| Exit::Done)?)
}

/// The current object, older ones, and what was begun.
fn parts<'a>(state: &'a State, address: &Address) -> Vec<Part<'a>> {
    let object = |deposed| Object { address: address.clone(), deposed };
    let current = state.recorded.get(address);
    let current = current.map(|record| Part { object: object(None), begun: None, record });
    let older = state.deposed.get(address).into_iter().flatten();
    let older = older.map(|(number, record)| Part { object: object(Some(*number)), begun: None, record });
    let begun = state.intents.iter().filter(|(object, _)| object.address == *address);
    let begun = begun.map(|(object, intent)| Part {
        object: object.clone(),
        begun: Some(intent.operation.word()),
        record: &intent.record,
    });
    current.into_iter().chain(older).chain(begun).collect()
}

/// As a block of the configuration, as far as there is one.
fn as_text(part: &Part<'_>) -> String {
    let begun = part.begun.map_or_else(String::new, |word| format!(" ({word} begun, not settled)"));
    let mut text = format!("# {}{begun}\n{} {{\n", part.object, header(&part.object.address));
    let entries = attributes(part.record);
    let width = entries.keys().map(|name| name.len()).max().unwrap_or_default();
    for (name, value) in entries {
        // Lines inside of a text stay as they are.
        let value =
            if value.as_str().is_some() { print(&value) } else { print(&value).replace('\n', "\n  ") };
        let _ = writeln!(text, "  {name:width$} = {value}");
    }
    text.push_str("}\n");
    text
}

fn header(address: &Address) -> String {
    match &address.item {
        Item::Resource(kind, name) => format!("resource \"{kind}\" \"{name}\""),
        Item::Data(kind, name) => format!("data \"{kind}\" \"{name}\""),
        Item::Host => "host".to_owned(),
    }
}

/// What is known of its attributes; sensitive ones are marked, and nulls are left out.
fn attributes(record: &Recorded) -> BTreeMap<Arc<str>, Value> {
    let entries = record.value.entries().into_iter().flatten();
    let mut shown: BTreeMap<_, _> = entries
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    shown.extend(record.sealed.keys().map(|name| (name.clone(), Value::from("").mark(Marks::SENSITIVE))));
    shown
}

fn as_json(part: &Part<'_>) -> Value {
    let Part { object, begun, record } = part;
    let texts = |items: &mut dyn Iterator<Item = String>| {
        Value::tuple(items.map(|item| Value::from(item.as_str())).collect::<Vec<_>>())
    };
    let optional = |text: Option<&str>| text.map_or_else(Value::null, Value::from);
    json::object([
        ("address", object.address.to_string().as_str().into()),
        ("deposed", object.deposed.map_or_else(Value::null, |number| i64::from(number).into())),
        ("begun", optional(*begun)),
        ("kind", (&*record.kind).into()),
        ("version", i64::from(record.version).into()),
        ("session", record.session.to_string().as_str().into()),
        ("attributes", record.value.clone()),
        ("sensitive", texts(&mut record.sealed.keys().map(ToString::to_string))),
        ("depends_on", texts(&mut record.depends_on.iter().map(ToString::to_string))),
        ("epoch", optional(record.epoch.as_deref())),
    ])
}
