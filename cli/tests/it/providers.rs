//! `fleet providers schema`, and what holds for every kind there is.

use fleet_engine::manual::{Fields, Manual, Part, manual};
use fleet_engine::schema::{Catalog, Presence, Schema, Sort};
use fleet_lang::Type;
use serde_json::Value as Json;

use crate::support::{Site, providers};

const SORTS: [Sort; 6] =
    [Sort::Resource, Sort::Data, Sort::Provider, Sort::Pool, Sort::Connection, Sort::Backend];

fn everything() -> Manual {
    manual(&providers(".".into()))
}

/// Every part, with how it starts in a configuration.
fn parts(manual: &Manual) -> Vec<(String, &Part)> {
    let mut parts = Vec::new();
    for (name, provider) in &manual.providers {
        let settings = provider.settings.iter().map(|part| (format!("provider \"{name}\" {{"), part));
        let resources =
            provider.resources.iter().map(|(kind, part)| (format!("resource \"{kind}\" \""), part));
        let data = provider.data.iter().map(|(kind, part)| (format!("data \"{kind}\" \""), part));
        let pools = provider.pools.iter().map(|(kind, part)| (format!("pool \"{kind}\" \""), part));
        let connections =
            provider.connections.iter().map(|(kind, part)| (format!("connection \"{kind}\" {{"), part));
        parts.extend(settings.chain(resources).chain(data).chain(pools).chain(connections));
    }
    parts.extend(manual.backends.iter().map(|(name, part)| (format!("backend \"{name}\" {{"), part)));
    parts
}

#[test]
fn every_kind_is_documented_and_its_examples_are_valid() {
    let manual = everything();
    assert!(parts(&manual).len() >= 8);
    for (start, part) in parts(&manual) {
        assert!(part.doc.starts_with(char::is_uppercase), "{start}");
        // The machines of slots are made by fleets alone.
        let is_written = !start.contains("_host\"");
        assert_eq!(part.examples.iter().any(|example| example.contains(&start)), is_written, "{start}");
        documented(&start, &part.fields);
        for example in &part.examples {
            let site = Site::empty();
            site.write("main.fleet.hcl", example);
            assert_eq!(site.fleet(["validate"]).ok(), "The configuration is valid.\n", "{start}");
            assert_eq!(site.fleet(["fmt", "--check"]).ok(), "", "{start}");
        }
    }
}

fn documented(start: &str, fields: &Fields) {
    for (name, field) in &fields.attributes {
        assert!(field.doc.starts_with(char::is_uppercase) && field.doc.ends_with('.'), "{start}: {name}");
    }
    for (name, block) in &fields.blocks {
        assert!(block.doc.starts_with(char::is_uppercase), "{start}: {name}");
        documented(start, &block.fields);
    }
}

#[test]
fn schemas_make_sense() {
    let registry = providers(".".into());
    for sort in SORTS {
        for name in registry.names(sort) {
            let entry = registry.find(sort, name).unwrap();
            if matches!(sort, Sort::Resource | Sort::Data) {
                assert!(name.starts_with(&format!("{}_", entry.provider)), "{name}");
            }
            make_sense(name, &entry.schema);
        }
    }
}

fn make_sense(kind: &str, schema: &Schema) {
    for (name, attribute) in &schema.attributes {
        let at = format!("{kind}.{name}");
        let computed = attribute.presence.is_computed();
        if let Some(default) = &attribute.default {
            assert_eq!(attribute.presence, Presence::Optional, "{at}");
            assert!(attribute.ty == Type::Any || default.ty() == attribute.ty, "{at}");
        }
        for other in attribute.follows.iter().chain(&attribute.copies) {
            assert!(computed && schema.attributes[other].presence.is_configurable(), "{at}");
        }
        assert!(!(attribute.write_only && computed), "{at}: nobody can read back what is only sent");
        let is_result = attribute.presence == Presence::Computed && attribute.sensitive;
        assert!(!attribute.told_once || is_result, "{at}: what is told once is a result, and secret");
        assert!(!(attribute.forces_replace && attribute.presence == Presence::Computed), "{at}");
    }
    for (name, nested) in &schema.blocks {
        make_sense(&format!("{kind}.{name}"), &nested.schema);
    }
}

#[test]
fn a_provider_that_takes_nothing_is_accepted() {
    let site = Site::empty();
    let check = |text: &str, expected: &str| {
        site.write("main.fleet.hcl", text);
        let ran = site.fleet(["validate"]);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(expected), "{ran:?}");
    };
    check("provider \"core\" {}\n", "The configuration is valid.");
    check("provider \"core\" {\n  colour = 1\n}\n", "unknown argument `colour`");
    check("provider \"test\" {\n  url = \"u\"\n}\n", "missing argument `token`");
}

#[test]
fn the_manual_is_printed() {
    let site = Site::empty();
    let all = site.fleet(["providers", "schema"]).ok();
    for title in ["# Provider `core`", "## resource \"core_file\"", "# Backends", "## backend \"sqlite\""] {
        assert!(all.contains(title), "{all}");
    }
    let one = site.fleet(["providers", "schema", "core_value"]).ok();
    assert!(one.contains("## resource \"core_value\"") && !one.contains("core_file"), "{one}");
    let provider = site.fleet(["providers", "schema", "core"]).ok();
    assert!(provider.contains("core_file") && !provider.contains("test_server"), "{provider}");
    let complaint = site.fleet(["providers", "schema", "core_fiel"]).failed();
    assert!(complaint.contains("did you mean `core_file`?"), "{complaint}");
}

#[test]
fn programs_read_the_manual_as_json() {
    let site = Site::empty();
    let text = site.fleet(["providers", "schema", "--json"]).ok();
    let json: Json = serde_json::from_str(&text).unwrap();
    let check = |pointer: &str, expected: Json| {
        assert_eq!(json.pointer(pointer), Some(&expected), "{pointer}");
    };
    check("/format_version", "1.0".into());
    check("/providers/core/resources/core_file/attributes/mode/default", "0644".into());
    check("/providers/core/resources/core_file/attributes/path/forces_replace", true.into());
    check("/providers/core/resources/core_file/import_id", "the path".into());
    check("/providers/core/resources/core_value/lives_in_state", true.into());
    check("/providers/core/data/core_file/attributes/exists/presence", "computed".into());
    check("/providers/test/settings/attributes/token/sensitive", true.into());
    check("/providers/test/resources/test_server/attributes/routes/type", "map(list(string))".into());
    check("/backends/postgres/attributes/url/presence", "required".into());
}
