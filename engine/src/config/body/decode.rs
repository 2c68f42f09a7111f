//! The value of a body.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use fleet_lang::convert::convert;
use fleet_lang::{Entries, Evaluator, Kind, Marks, Type, Value};
use fleet_syntax::tree::{Block, Body, Expr};
use fleet_syntax::{Diagnostic, Diagnostics, Span};

use super::check::Count;
use super::dynamic::{Dynamic, dynamic, is_dynamic};
use crate::schema::{Attribute, Nested, Nesting, Presence, Schema};

/// Whether values that must not be stored may stand in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ephemeral {
    /// Nothing of it is stored: a provider, a connection.
    Allowed,
    /// All of it is stored, except for write-only arguments.
    WriteOnly,
}

/// The object that a body makes: every attribute and block of the schema is in it. What is wrong goes to the
/// evaluator; a failed part is unknown.
///
/// Omitted and null arguments have their default, or are null. Results are null.
pub fn decode(
    body: &Body,
    schema: &Schema,
    header: Span,
    ephemeral: Ephemeral,
    evaluator: &mut Evaluator<'_>,
) -> Value {
    Decoder { evaluator, ephemeral }.object(body, schema, header)
}

struct Decoder<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    ephemeral: Ephemeral,
}

/// The blocks of one word.
#[derive(Default)]
struct Made {
    /// Each with its label, if blocks of the word have one.
    items: Vec<(Option<Label>, Value)>,
    count: Count,
    /// The marks of the collections that blocks were made from.
    marks: Marks,
    /// The collection that is not known yet, if one is not.
    unknown: Option<Value>,
    /// Whether there was a `dynamic`, so that the number of blocks could not be checked before.
    dynamic: bool,
}

struct Label {
    name: Arc<str>,
    span: Span,
}

impl Decoder<'_, '_> {
    fn object(&mut self, body: &Body, schema: &Schema, header: Span) -> Value {
        let mut object = Vec::with_capacity(schema.attributes.len() + schema.blocks.len());
        for (name, attribute) in &schema.attributes {
            let given = body.attribute(name).filter(|_| attribute.presence.is_configurable());
            let value = match given {
                Some(given) => self.attribute(name, &given.value, attribute),
                None => attribute.omitted(),
            };
            object.push((name.clone(), value));
        }
        for (name, nested) in &schema.blocks {
            object.push((name.clone(), self.blocks(name, nested, body, header)));
        }
        Value::object(object.into_iter().collect())
    }

    fn attribute(&mut self, name: &str, expr: &Expr, attribute: &Attribute) -> Value {
        let value = self.evaluator.evaluate(expr);
        let is_stored = self.ephemeral == Ephemeral::WriteOnly && !attribute.write_only;
        if is_stored && value.marks_deep().contains(Marks::EPHEMERAL) {
            let detail =
                format!("`{name}` is stored, and the value comes from something that must not be stored.");
            let help = "use a value that may be stored, or an argument that is only sent";
            self.evaluator
                .report(Diagnostic::error(expr.span, "ephemeral value is stored", detail).help(help));
        }
        let value = match &attribute.ty {
            Type::Any => value,
            ty => convert(&value, ty).unwrap_or_else(|error| {
                let detail = format!("`{name}` is of type {ty}: {error}.");
                self.evaluator.report(Diagnostic::error(
                    expr.span,
                    format!("unsuitable value for `{name}`"),
                    detail,
                ));
                Value::unknown(ty.clone())
            }),
        };
        if value.is_null() {
            if attribute.presence == Presence::Required {
                let detail =
                    "It is required, and its value here is null, which is the same as leaving it out.";
                let error = Diagnostic::error(expr.span, format!("missing argument `{name}`"), detail);
                self.evaluator.report(error.help("give it a value that is not null"));
                return Value::unknown(attribute.ty.clone());
            }
            return attribute.omitted().mark(value.marks);
        }
        if attribute.sensitive { value.mark(Marks::SENSITIVE) } else { value }
    }

    fn blocks(&mut self, name: &Arc<str>, nested: &Nested, body: &Body, header: Span) -> Value {
        let mut made = Made::default();
        for block in &body.blocks {
            if block.kind.name == *name {
                let label =
                    block.labels.first().map(|label| Label { name: label.name.clone(), span: label.span });
                let value = self.object(&block.body, &nested.schema, block.header);
                made.add(label, value, nested, block.header);
            } else if is_dynamic(block)
                && let Some(dynamic) = dynamic(block)
                && dynamic.word.name == *name
            {
                made.dynamic = true;
                self.dynamic(&dynamic, block, nested, &mut made);
            }
        }
        if made.dynamic {
            let mut diagnostics = Diagnostics::new();
            made.count.check(name, nested, header, &mut diagnostics);
            self.report(diagnostics);
        }
        self.value(made, nested)
    }

    fn report(&mut self, diagnostics: Diagnostics) {
        for diagnostic in diagnostics {
            self.evaluator.report(diagnostic);
        }
    }

    fn dynamic(&mut self, dynamic: &Dynamic<'_>, block: &Block, nested: &Nested, made: &mut Made) {
        let (collection, marks) = self.evaluator.evaluate(dynamic.for_each).unmark();
        made.marks |= marks;
        let turns: Vec<(Value, Value)> = match &collection.kind {
            Kind::Unknown(_) => {
                // Whatever the elements will be, what is wrong with the content can be told.
                let open = || Value::unknown(Type::Any);
                self.turn(dynamic, open(), open(), |this| {
                    this.object(dynamic.content, &nested.schema, block.header)
                });
                made.unknown.get_or_insert(collection);
                made.count.open = true;
                return;
            }
            Kind::Set(set) => set.items.iter().map(|item| (item.clone(), item.clone())).collect(),
            Kind::Map(_) | Kind::Object(_) => {
                let entries = collection.entries().into_iter().flatten();
                entries.map(|(key, item)| (Kind::String(key.clone()).into(), item.clone())).collect()
            }
            Kind::List(_) | Kind::Tuple(_) => {
                let items = collection.items().into_iter().flatten();
                items.enumerate().map(|(index, item)| (Value::from(index as i64), item.clone())).collect()
            }
            Kind::Null(_) | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => {
                let what =
                    if collection.is_null() { "null".into() } else { format!("a {}", collection.ty()) };
                let detail = format!("A list, set, map or object is needed, and this is {what}.");
                let error =
                    Diagnostic::error(dynamic.for_each.span, "unsuitable value for `for_each`", detail);
                let unknown = self.evaluator.report(error.help("use `[]` for no block at all"));
                made.unknown.get_or_insert(unknown);
                made.count.open = true;
                return;
            }
        };
        for (key, item) in turns {
            self.turn(dynamic, key, item, |this| {
                let label = match dynamic.labels.first() {
                    Some(expr) => match this.label(expr) {
                        Ok(label) => Some(label),
                        Err(unknown) => {
                            made.unknown.get_or_insert(unknown);
                            None
                        }
                    },
                    None => None,
                };
                let value = this.object(dynamic.content, &nested.schema, block.header);
                made.add(label, value, nested, dynamic.word.span);
            });
        }
    }

    /// Runs something with the iterator of a `dynamic` bound.
    fn turn<T>(
        &mut self,
        dynamic: &Dynamic<'_>,
        key: Value,
        value: Value,
        run: impl FnOnce(&mut Decoder<'_, '_>) -> T,
    ) -> T {
        let element = Value::object([("key".into(), key), ("value".into(), value)].into());
        let ephemeral = self.ephemeral;
        self.evaluator.binding(dynamic.iterator.clone(), element, |evaluator| {
            run(&mut Decoder { evaluator, ephemeral })
        })
    }

    fn label(&mut self, expr: &Expr) -> Result<Label, Value> {
        let (value, marks) = self.evaluator.evaluate(expr).unmark();
        match convert(&value, &Type::String) {
            Ok(Value { kind: Kind::String(_), .. }) if marks.contains(Marks::SENSITIVE) => {
                let detail = "Labels are shown everywhere, so they cannot be sensitive.";
                Err(self.evaluator.report(Diagnostic::error(expr.span, "sensitive label", detail)))
            }
            Ok(Value { kind: Kind::String(name), .. }) => Ok(Label { name, span: expr.span }),
            Ok(unknown) if !unknown.is_known() => Err(unknown),
            _ => {
                let detail = "A label is a string that is not null.";
                Err(self.evaluator.report(Diagnostic::error(expr.span, "unsuitable label", detail)))
            }
        }
    }

    /// The value that all blocks of one word make together.
    fn value(&mut self, made: Made, nested: &Nested) -> Value {
        let element = nested.schema.ty();
        if let Some(unknown) = made.unknown {
            let value = match unknown.awaits() {
                Some(reference) => Value::awaiting(nested.ty(), reference.clone()),
                None => Value::unknown(nested.ty()),
            };
            return value.mark(made.marks);
        }
        let is_open = nested.is_open();
        let value = match nested.nesting {
            Nesting::Single => {
                made.items.into_iter().next().map_or_else(|| Value::null_of(element), |(_, value)| value)
            }
            Nesting::Map => {
                let items = self.by_label(made.items);
                if is_open { Value::object(items) } else { Value::map(element, items) }
            }
            Nesting::List | Nesting::Set => {
                let items: Vec<Value> = made.items.into_iter().map(|(_, value)| value).collect();
                match nested.nesting {
                    _ if is_open => Value::tuple(items),
                    Nesting::Set => Value::set(element, items),
                    _ => Value::list(element, items),
                }
            }
        };
        value.mark(made.marks)
    }

    fn by_label(&mut self, items: Vec<(Option<Label>, Value)>) -> Entries {
        let mut map = BTreeMap::new();
        for (label, value) in items {
            // A block without a label has been reported.
            let Some(label) = label else { continue };
            match map.entry(label.name) {
                Entry::Vacant(vacant) => {
                    vacant.insert(value);
                }
                Entry::Occupied(first) => {
                    let detail = format!("Another block has the label `{}`.", first.key());
                    let error = Diagnostic::error(label.span, "label is used twice", detail);
                    self.evaluator.report(error.help("give each block a label of its own"));
                }
            }
        }
        map.into()
    }
}

impl Made {
    fn add(&mut self, label: Option<Label>, value: Value, nested: &Nested, span: Span) {
        self.count.add(nested, span);
        self.items.push((label, value));
    }
}
