//! Configurations in memory, a catalogue of made-up kinds, and answers short enough for a table.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use fleet_engine::config::load;
use fleet_engine::config::model::Config;
use fleet_engine::expand::{ArgumentsOnly, Depth, Expansion, Surroundings, expand};
use fleet_engine::outline::Outline;
use fleet_engine::resource::Edge;
use fleet_engine::schema::{Attribute, Catalog, Entry, Nested, Nesting, Place, Presence, Schema, Sort};
use fleet_lang::outside::Memory;
use fleet_lang::{Type, Value};
use fleet_syntax::{Diagnostic, Sources};

pub(crate) struct Kinds(BTreeMap<(Sort, &'static str), Entry>);

impl Catalog for Kinds {
    fn find(&self, sort: Sort, name: &str) -> Option<&Entry> {
        self.0.iter().find(|((s, n), _)| *s == sort && *n == name).map(|(_, entry)| entry)
    }

    fn names(&self, sort: Sort) -> Vec<&str> {
        self.0.keys().filter(|(s, _)| *s == sort).map(|(_, name)| *name).collect()
    }
}

fn schema(attributes: &[(&str, Type, Presence)]) -> Schema {
    let attributes = attributes
        .iter()
        .map(|(name, ty, presence)| (Arc::from(*name), Attribute::new(ty.clone(), *presence)));
    Schema { attributes: attributes.collect(), ..Schema::default() }
}

/// `core_value` as it is; `host_note`, which lives on a host; `host_sudo`, which comes before all notes, and `host_end`,
/// which comes after them; `cloud_key` with a provider of its own.
pub(crate) fn kinds() -> Kinds {
    use Presence::{Computed, Optional, Required};
    let value = schema(&[
        ("input", Type::Any, Optional),
        ("output", Type::Any, Computed),
        ("triggers_replace", Type::Any, Optional),
        ("id", Type::String, Computed),
    ]);
    let note = schema(&[("text", Type::String, Required), ("etag", Type::String, Computed)]);
    let key = schema(&[("name", Type::String, Required), ("id", Type::String, Computed)]);
    let plain = schema(&[("text", Type::String, Optional), ("etag", Type::String, Computed)]);
    let with_edges = |edges| Entry { edges, ..Entry::new(plain.clone(), Place::Host, "host") };
    let mut fixed = schema(&[]);
    let host = schema(&[("address", Type::String, Required)]);
    fixed.blocks.insert("host".into(), Nested { nesting: Nesting::Map, min: 0, max: None, schema: host });
    let cloud = schema(&[("prefix", Type::String, Required), ("ssh_keys", Type::Any, Optional)]);
    let ssh = schema(&[("user", Type::String, Required), ("identity", Type::String, Optional)]);
    Kinds(BTreeMap::from([
        ((Sort::Resource, "core_value"), Entry::new(value, Place::Api, "core")),
        ((Sort::Resource, "host_note"), Entry::new(note.clone(), Place::Host, "host")),
        ((Sort::Resource, "host_sudo"), with_edges(&[Edge::Before("host_note")])),
        ((Sort::Resource, "host_end"), with_edges(&[Edge::After("host_note"), Edge::After("host_end")])),
        ((Sort::Data, "host_facts"), Entry::new(note, Place::Host, "host")),
        ((Sort::Resource, "cloud_key"), Entry::new(key, Place::Api, "cloud")),
        (
            (Sort::Provider, "cloud"),
            Entry::new(schema(&[("token", Type::String, Optional)]), Place::Api, "cloud"),
        ),
        ((Sort::Pool, "static"), Entry::new(fixed, Place::Api, "host")),
        ((Sort::Pool, "cloud"), Entry::new(cloud, Place::Api, "cloud")),
        ((Sort::Connection, "ssh"), Entry::new(ssh, Place::Host, "host")),
    ]))
}

/// A configuration with the texts it was loaded from.
pub(crate) struct Site {
    pub(crate) outside: Memory,
    pub(crate) sources: Sources,
    pub(crate) config: Config,
    pub(crate) loaded: Vec<Diagnostic>,
}

impl Site {
    pub(crate) fn new(files: &[(&str, &str)]) -> Site {
        let outside = files.iter().fold(Memory::new(), |memory, (path, text)| memory.file(path, *text));
        let mut sources = Sources::default();
        let (config, loaded) = load(&outside, Path::new("."), &mut sources);
        Site { outside, sources, config, loaded }
    }

    pub(crate) fn one(text: &str) -> Site {
        Site::new(&[("main.fleet.hcl", text)])
    }

    /// Expands with these values for variables. What is wrong comes with what was wrong when it was loaded.
    pub(crate) fn expand(&self, depth: Depth, inputs: &[(&str, Value)]) -> (Expansion<'_>, Vec<Diagnostic>) {
        let catalog = kinds();
        let inputs: HashMap<Arc<str>, Value> =
            inputs.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect();
        let surroundings = Surroundings {
            catalog: &catalog,
            outside: &self.outside,
            inputs,
            secrets: &fleet_engine::expand::Symbols,
            depth,
        };
        let (expansion, found) =
            expand(&Outline::of(&self.config, surroundings.catalog), &surroundings, &mut ArgumentsOnly);
        (expansion, self.loaded.iter().cloned().chain(found).collect())
    }

    /// `file:line:column summary (address)`, one line each.
    pub(crate) fn tell(&self, diagnostics: &[Diagnostic]) -> Vec<String> {
        let tell = |diagnostic: &Diagnostic| {
            let address = diagnostic.address.as_ref().map(|a| format!(" ({a})")).unwrap_or_default();
            let place = diagnostic.span.map_or("-".to_owned(), |span| {
                let source = self.sources.get(span.file);
                let position = source.position(span.start);
                let name = source.name.trim_end_matches(".fleet.hcl");
                format!("{name}:{}:{}", position.line, position.column)
            });
            format!("{place} {}{address}", diagnostic.summary)
        };
        diagnostics.iter().map(tell).collect()
    }
}

/// Checks the instances that a configuration makes: `address` or `address = input`.
#[track_caller]
pub(crate) fn check_instances(text: &str, expected: &[&str]) {
    let site = Site::one(text);
    let (expansion, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(site.tell(&diagnostics), Vec::<String>::new());
    let tell = |instance: &fleet_engine::expand::Instance| {
        let input = instance.declared.entries().and_then(|arguments| arguments.get("input"));
        match input.filter(|input| !input.is_null()) {
            Some(input) => format!("{} = {}", instance.address, fleet_lang::print::print(input)),
            None => instance.address.to_string(),
        }
    };
    let mut instances: Vec<String> = expansion.instances.iter().map(tell).collect();
    instances.sort();
    assert_eq!(instances, expected);
}

/// Checks what is wrong with a configuration when every instance is looked at.
#[track_caller]
pub(crate) fn check_errors(text: &str, expected: &[&str]) {
    let site = Site::one(text);
    let (_, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(site.tell(&diagnostics), expected);
}

/// Checks what is wrong with a configuration when only its blocks are looked at.
#[track_caller]
pub(crate) fn check_blocks(text: &str, expected: &[&str]) {
    let site = Site::one(text);
    let (_, diagnostics) = site.expand(Depth::Blocks, &[]);
    assert_eq!(site.tell(&diagnostics), expected);
}
