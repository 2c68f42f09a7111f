//! The manual: what the catalogue knows, as data and as Markdown. Both come from the doc comments of the kinds.

use std::collections::BTreeMap;
use std::fmt::Write;

use fleet_lang::print::print;
use serde::Serialize;

use crate::encode::to_json;
use crate::schema::{Attribute, Catalog, Entry, Nested, Nesting, Place, Presence, Schema, Sort};

/// Everything that a catalogue knows.
#[derive(Clone, Debug, Serialize)]
pub struct Manual {
    /// Rises when a field changes its meaning or goes away.
    pub format_version: &'static str,
    /// The providers by name.
    pub providers: BTreeMap<String, ProviderManual>,
    /// Where state can be kept, by name.
    pub backends: BTreeMap<String, Part>,
}

/// A provider and its kinds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProviderManual {
    /// What `provider "name" { … }` takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Part>,
    /// Its kinds of `resource` by name.
    pub resources: BTreeMap<String, Part>,
    /// Its kinds of `data` by name.
    pub data: BTreeMap<String, Part>,
    /// Its kinds of `pool` by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pools: BTreeMap<String, Part>,
    /// Its kinds of `connection` by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub connections: BTreeMap<String, Part>,
}

/// One entry of the catalogue.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// What it is, in Markdown, with an example.
    pub doc: String,
    /// The examples in the doc.
    pub examples: Vec<String>,
    /// The version of its schema.
    pub version: u32,
    /// Whether it lives on a host.
    pub on_host: bool,
    /// Whether the record is all there is of it.
    pub lives_in_state: bool,
    /// What the `id` of an `import` block is; null if it cannot be imported.
    pub import_id: Option<&'static str>,
    /// Its arguments, results and nested blocks.
    #[serde(flatten)]
    pub fields: Fields,
}

/// Arguments, results and nested blocks.
#[derive(Clone, Debug, Serialize)]
pub struct Fields {
    /// Arguments and results by name.
    pub attributes: BTreeMap<String, Field>,
    /// Nested blocks by the word they start with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub blocks: BTreeMap<String, Block>,
}

/// An argument or a result.
#[derive(Clone, Debug, Serialize)]
pub struct Field {
    /// Its type, as a `variable` would have it.
    #[serde(rename = "type")]
    pub ty: String,
    /// `required`, `optional`, `optional_computed` or `computed`.
    pub presence: &'static str,
    /// What an omitted argument is reset to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<serde_json::Value>,
    /// Whether it is never shown.
    pub sensitive: bool,
    /// Whether it is sent but never stored or read back.
    pub write_only: bool,
    /// Whether a change needs a new object.
    pub forces_replace: bool,
    /// What it is, in Markdown.
    pub doc: String,
    #[serde(skip)]
    from: Attribute,
}

/// A nested block.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// `single`, `list`, `set` or `map`.
    pub nesting: &'static str,
    /// At least so many.
    pub min: usize,
    /// At most so many; null if there is no bound.
    pub max: Option<usize>,
    /// What it is, in Markdown.
    pub doc: String,
    /// What stands in it.
    #[serde(flatten)]
    pub fields: Fields,
}

/// The manual of all that a catalogue knows.
#[must_use]
pub fn manual(catalog: &dyn Catalog) -> Manual {
    let mut providers: BTreeMap<String, ProviderManual> = BTreeMap::new();
    let mut backends = BTreeMap::new();
    for sort in [Sort::Provider, Sort::Resource, Sort::Data, Sort::Pool, Sort::Connection, Sort::Backend] {
        for (name, entry) in
            catalog.names(sort).into_iter().filter_map(|name| Some((name, catalog.find(sort, name)?)))
        {
            let part = Part::of(entry);
            if sort == Sort::Backend {
                backends.insert(name.to_owned(), part);
                continue;
            }
            let provider = providers.entry(entry.provider.to_string()).or_default();
            let parts = match sort {
                Sort::Resource => &mut provider.resources,
                Sort::Data => &mut provider.data,
                Sort::Pool => &mut provider.pools,
                Sort::Connection => &mut provider.connections,
                Sort::Provider | Sort::Backend => {
                    provider.settings = Some(part);
                    continue;
                }
            };
            parts.insert(name.to_owned(), part);
        }
    }
    Manual { format_version: "1.0", providers, backends }
}

impl Manual {
    /// Only what is called so: a provider with all its kinds, or the kinds of that name.
    #[must_use]
    pub fn only(mut self, name: &str) -> Manual {
        if let Some(provider) = self.providers.remove(name) {
            self.providers = [(name.to_owned(), provider)].into();
            self.backends.clear();
            return self;
        }
        let keep = |parts: &mut BTreeMap<String, Part>| parts.retain(|key, _| key == name);
        keep(&mut self.backends);
        self.providers.retain(|_, provider| {
            provider.settings = None;
            let parts =
                [&mut provider.resources, &mut provider.data, &mut provider.pools, &mut provider.connections];
            parts.into_iter().fold(false, |any, parts| {
                keep(parts);
                any || !parts.is_empty()
            })
        });
        self
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.providers.is_empty() && self.backends.is_empty()
    }

    /// Everything that can be asked for by name.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let kinds = self.providers.values().flat_map(|provider| {
            let parts = [&provider.resources, &provider.data, &provider.pools, &provider.connections];
            parts.into_iter().flat_map(BTreeMap::keys)
        });
        self.providers.keys().chain(kinds).chain(self.backends.keys()).map(String::as_str).collect()
    }

    /// All of it as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let providers = self.providers.iter().map(|(name, provider)| provider.markdown(name));
        let backends = (!self.backends.is_empty()).then(|| self.backends_markdown());
        providers.chain(backends).collect::<Vec<_>>().join("\n")
    }

    /// The backends as Markdown.
    #[must_use]
    pub fn backends_markdown(&self) -> String {
        let mut text = "# Backends\n\nWhere state is kept, as `settings` says.\n".to_owned();
        for (name, part) in &self.backends {
            let _ = write!(text, "\n## backend \"{name}\"\n\n");
            part.write(&mut text);
        }
        text
    }
}

impl ProviderManual {
    /// The page of a provider as Markdown.
    #[must_use]
    pub fn markdown(&self, name: &str) -> String {
        let mut text = format!("# Provider `{name}`\n");
        if let Some(settings) = &self.settings {
            text.push('\n');
            settings.write(&mut text);
        }
        let sorts = [
            ("resource", &self.resources),
            ("data", &self.data),
            ("pool", &self.pools),
            ("connection", &self.connections),
        ];
        for (word, parts) in sorts {
            for (name, part) in parts {
                let _ = write!(text, "\n## {word} \"{name}\"\n\n");
                part.write(&mut text);
            }
        }
        text
    }
}

impl Part {
    fn of(entry: &Entry) -> Part {
        Part {
            examples: examples(&entry.schema.doc),
            doc: entry.schema.doc.clone(),
            version: entry.version,
            on_host: entry.place == Place::Host,
            lives_in_state: entry.lives_in_state,
            import_id: entry.id,
            fields: Fields::of(&entry.schema),
        }
    }

    fn write(&self, text: &mut String) {
        text.push_str(self.doc.trim());
        text.push('\n');
        if let Some(id) = self.import_id {
            let _ = write!(text, "\nIt can be imported; its `id` is {id}.\n");
        }
        self.fields.write("", text);
    }
}

impl Fields {
    fn of(schema: &Schema) -> Fields {
        let attributes =
            schema.attributes.iter().map(|(name, attribute)| (name.to_string(), Field::of(attribute)));
        let blocks = schema.blocks.iter().map(|(name, nested)| (name.to_string(), Block::of(nested)));
        Fields { attributes: attributes.collect(), blocks: blocks.collect() }
    }

    /// Arguments, then results, then blocks; `path` is what they stand in.
    fn write(&self, path: &str, text: &mut String) {
        let of_block = if path.is_empty() { String::new() } else { format!(" of `{path}`") };
        let (arguments, results): (Vec<_>, Vec<_>) =
            self.attributes.iter().partition(|(_, field)| field.from.presence.is_configurable());
        for (title, fields) in [("Arguments", arguments), ("Results", results)] {
            if fields.is_empty() {
                continue;
            }
            let _ = write!(text, "\n{title}{of_block}:\n\n");
            for (name, field) in fields {
                let _ = writeln!(text, "- `{name}` ({}): {}", field.traits(), one_line(&field.doc));
            }
        }
        for (name, block) in &self.blocks {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let _ = write!(text, "\nBlock `{path}` ({}): {}\n", block.traits(), one_line(&block.doc));
            block.fields.write(&path, text);
        }
    }
}

impl Field {
    fn of(attribute: &Attribute) -> Field {
        Field {
            ty: attribute.ty.to_string(),
            presence: match attribute.presence {
                Presence::Required => "required",
                Presence::Optional => "optional",
                Presence::OptionalComputed => "optional_computed",
                Presence::Computed => "computed",
            },
            default: attribute.default.as_ref().and_then(|value| to_json(value).ok()?.get("value").cloned()),
            sensitive: attribute.sensitive,
            write_only: attribute.write_only,
            forces_replace: attribute.forces_replace,
            doc: attribute.doc.clone(),
            from: attribute.clone(),
        }
    }

    /// What there is to say about it in a few words.
    fn traits(&self) -> String {
        let from = &self.from;
        let mut words = vec![self.ty.clone()];
        match (from.presence, &from.default) {
            (Presence::Required, _) => words.push("required".into()),
            (Presence::Optional, Some(default)) => {
                words.push(format!("default `{}`", one_line(&print(default))));
            }
            (Presence::Optional, None) => words.push("optional".into()),
            (Presence::OptionalComputed, _) => words.push("optional, otherwise reality decides".into()),
            (Presence::Computed, _) => {}
        }
        let says = [
            (from.forces_replace, "a change makes it anew"),
            (from.sensitive, "never shown"),
            (from.write_only, "sent, never stored or read back"),
            (from.told_once, "told when it is made, null afterwards"),
        ];
        words.extend(says.into_iter().filter(|(holds, _)| *holds).map(|(_, says)| says.to_owned()));
        words.extend(from.copies.iter().map(|other| format!("equals `{other}`")));
        words.extend(from.follows.iter().map(|other| format!("may change with `{other}`")));
        words.join(", ")
    }
}

impl Block {
    fn of(nested: &Nested) -> Block {
        Block {
            nesting: match nested.nesting {
                Nesting::Single => "single",
                Nesting::List => "list",
                Nesting::Set => "set",
                Nesting::Map => "map",
            },
            min: nested.min,
            max: if nested.nesting == Nesting::Single { Some(1) } else { nested.max },
            doc: nested.schema.doc.clone(),
            fields: Fields::of(&nested.schema),
        }
    }

    fn traits(&self) -> String {
        match (self.min, self.max) {
            (0, None) => "any number".into(),
            (min, None) => format!("at least {min}"),
            (0, Some(max)) => format!("at most {max}"),
            (min, Some(max)) if min == max => format!("exactly {min}"),
            (min, Some(max)) => format!("{min} to {max}"),
        }
    }
}

/// The HCL examples in a doc.
fn examples(doc: &str) -> Vec<String> {
    doc.split("```hcl\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fleet_lang::Type;

    use super::*;
    use crate::registry::Registry;

    fn schema(doc: &str, attributes: &[(&str, Attribute)]) -> Schema {
        let attribute = |(name, attribute): &(&str, Attribute)| {
            (Arc::from(*name), Attribute { doc: format!("About\n`{name}`."), ..attribute.clone() })
        };
        Schema {
            doc: doc.into(),
            attributes: attributes.iter().map(attribute).collect(),
            ..Schema::default()
        }
    }

    #[test]
    fn all_that_a_schema_says_is_told() {
        let new = Attribute::new;
        let mut outer = schema(
            "A thing.\n\n```hcl\na = 1\n```\n\n```hcl\nb = 2\n```",
            &[
                ("place", Attribute { forces_replace: true, ..new(Type::String, Presence::Required) }),
                ("many", Attribute { default: Some(1.into()), ..new(Type::Number, Presence::Optional) }),
                ("sent", Attribute { write_only: true, ..new(Type::Any, Presence::Optional) }),
                ("free", new(Type::list(Type::Bool), Presence::OptionalComputed)),
                ("key", Attribute { sensitive: true, ..new(Type::String, Presence::Computed) }),
                ("same", Attribute { copies: Some("sent".into()), ..new(Type::Any, Presence::Computed) }),
                ("near", Attribute { follows: vec!["many".into()], ..new(Type::Any, Presence::Computed) }),
            ],
        );
        let inner = schema("A part.", &[("size", new(Type::Number, Presence::Required))]);
        let nested = |nesting, min, max| Nested { nesting, min, max, schema: inner.clone() };
        outer.blocks.insert("one".into(), nested(Nesting::Single, 0, None));
        outer.blocks.insert("some".into(), nested(Nesting::List, 2, None));
        let entry = Entry { id: Some("its name"), ..Entry::new(outer, Place::Api, "x") };
        let manual = manual(&Registry::new().with_entry(Sort::Resource, "x_thing", entry));

        assert_eq!(manual.names(), ["x", "x_thing"]);
        assert_eq!(manual.providers["x"].resources["x_thing"].examples, ["a = 1\n", "b = 2\n"]);
        let text = manual.markdown();
        let (_, fields) = text.split_once("b = 2\n```\n").expect("the doc comes first");
        let expected = "
It can be imported; its `id` is its name.

Arguments:

- `free` (list(bool), optional, otherwise reality decides): About `free`.
- `many` (number, default `1`): About `many`.
- `place` (string, required, a change makes it anew): About `place`.
- `sent` (any, optional, sent, never stored or read back): About `sent`.

Results:

- `key` (string, never shown): About `key`.
- `near` (any, may change with `many`): About `near`.
- `same` (any, equals `sent`): About `same`.

Block `one` (at most 1): A part.

Arguments of `one`:

- `size` (number, required): About `size`.

Block `some` (at least 2): A part.

Arguments of `some`:

- `size` (number, required): About `size`.
";
        assert_eq!(fields, expected);
    }

    #[test]
    fn one_thing_can_be_asked_for() {
        let entry = |provider| Entry::new(Schema::default(), Place::Api, provider);
        let catalog = Registry::new()
            .with_entry(Sort::Provider, "x", entry("x"))
            .with_entry(Sort::Resource, "x_a", entry("x"))
            .with_entry(Sort::Data, "x_a", entry("x"))
            .with_entry(Sort::Data, "x_b", entry("x"))
            .with_entry(Sort::Data, "y_b", entry("y"))
            .with_entry(Sort::Backend, "z", entry(""));
        let check = |name: &str, expected: &[&str]| {
            assert_eq!(manual(&catalog).only(name).names(), expected, "{name}");
        };
        check("x", &["x", "x_a", "x_a", "x_b"]);
        check("x_a", &["x", "x_a", "x_a"]);
        check("y_b", &["y", "y_b"]);
        check("z", &["z"]);
        check("none", &[]);
    }
}
