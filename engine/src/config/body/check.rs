//! What is wrong with a body by its text alone.

use std::collections::BTreeMap;

use fleet_syntax::tree::{Block, Body, ExprKind};
use fleet_syntax::{Diagnostic, Diagnostics, Span, nearest};

use super::dynamic::{dynamic, is_dynamic};
use crate::schema::{Nested, Nesting, Presence, Schema};

/// Says what is wrong with a body whatever its values are: unknown names, missing arguments, wrong numbers of blocks.
/// `header` is what to underline when something is missing.
#[must_use]
pub fn check(body: &Body, schema: &Schema, header: Span) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    check_body(body, schema, header, &mut diagnostics);
    diagnostics
}

fn check_body(body: &Body, schema: &Schema, header: Span, diagnostics: &mut Diagnostics) {
    for attribute in &body.attributes {
        let name = &attribute.name;
        match schema.attributes.get(&name.name) {
            Some(known) if known.presence.is_configurable() => {}
            Some(_) => {
                let detail = "Its value comes from reality and cannot be set.";
                let error = Diagnostic::error(name.span, format!("`{}` is a result", name.name), detail);
                diagnostics.push(error.help("remove it; refer to it from elsewhere to use its value"));
            }
            None => diagnostics.push(unknown_argument(&name.name, name.span, schema)),
        }
    }
    for (name, attribute) in &schema.attributes {
        if attribute.presence == Presence::Required && !body.incomplete && !given(body, name) {
            let error =
                Diagnostic::error(header, format!("missing argument `{name}`"), summary(&attribute.doc));
            diagnostics.push(error.help(format!("add `{name} = …`")));
        }
    }
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for block in &body.blocks {
        if is_dynamic(block) {
            check_dynamic(block, schema, &mut counts, diagnostics);
        } else {
            check_block(block, schema, &mut counts, diagnostics);
        }
    }
    for (name, nested) in &schema.blocks {
        let mut count = counts.remove(&**name).unwrap_or_default();
        count.open |= body.incomplete;
        count.check(name, nested, header, diagnostics);
    }
}

/// How often a word starts a block.
#[derive(Default)]
pub(super) struct Count {
    /// The blocks so far.
    pub(super) blocks: usize,
    /// Whether there are more that cannot be counted here.
    pub(super) open: bool,
    /// The first block that is too many.
    pub(super) excess: Option<Span>,
}

impl Count {
    /// Counts one more.
    pub(super) fn add(&mut self, nested: &Nested, span: Span) {
        self.blocks += 1;
        if nested.most().is_some_and(|most| self.blocks > most) {
            self.excess.get_or_insert(span);
        }
    }

    /// Says if there are too few or too many.
    pub(super) fn check(&self, name: &str, nested: &Nested, header: Span, diagnostics: &mut Diagnostics) {
        let (least, blocks) = (nested.min, self.blocks);
        if blocks < least && !self.open {
            let detail = match (least, blocks) {
                (1, _) => format!("A `{name}` block is needed here."),
                _ => format!("At least {least} `{name}` blocks are needed here, and there are {blocks}."),
            };
            let error = Diagnostic::error(header, format!("missing block `{name}`"), detail);
            diagnostics.push(error.help(format!("add `{name} {{ … }}`")));
        }
        if let (Some(span), Some(most)) = (self.excess, nested.most()) {
            let detail = format!("At most {most} `{name}` may stand here, and there are {blocks}.");
            let error = Diagnostic::error(span, format!("too many blocks `{name}`"), detail);
            diagnostics.push(error.help("remove what is too many"));
        }
    }
}

impl Nested {
    /// The greatest number of blocks.
    pub(super) fn most(&self) -> Option<usize> {
        if self.nesting == Nesting::Single { Some(1) } else { self.max }
    }
}

fn check_block<'b>(
    block: &'b Block,
    schema: &Schema,
    counts: &mut BTreeMap<&'b str, Count>,
    diagnostics: &mut Diagnostics,
) {
    let name = &*block.kind.name;
    let Some(nested) = schema.blocks.get(name) else {
        diagnostics.push(unknown_block(name, block.header, schema));
        return;
    };
    counts.entry(name).or_default().add(nested, block.header);
    check_labels(block, nested, diagnostics);
    check_body(&block.body, &nested.schema, block.header, diagnostics);
}

fn check_labels(block: &Block, nested: &Nested, diagnostics: &mut Diagnostics) {
    let (name, wanted) = (&block.kind.name, usize::from(nested.nesting == Nesting::Map));
    let form = if wanted == 1 { format!("{name} \"key\" {{ … }}") } else { format!("{name} {{ … }}") };
    if let Some(extra) = block.labels.get(wanted) {
        let detail = format!("`{name}` takes {} here.", if wanted == 1 { "one label" } else { "no label" });
        diagnostics
            .push(Diagnostic::error(extra.span, "label too many", detail).help(format!("write `{form}`")));
    } else if block.labels.len() < wanted {
        let detail = "Blocks of this word are told apart by their label.";
        let error = Diagnostic::error(block.header, format!("`{name}` without a label"), detail);
        diagnostics.push(error.help(format!("write `{form}`")));
    }
}

fn check_dynamic<'b>(
    block: &'b Block,
    schema: &Schema,
    counts: &mut BTreeMap<&'b str, Count>,
    diagnostics: &mut Diagnostics,
) {
    let form = "write `dynamic \"word\" { for_each = …` and in it `content { … }`";
    if let Some(extra) = block.labels.get(1) {
        let detail = "`dynamic` takes one label: the word of the blocks it makes.";
        diagnostics.push(Diagnostic::error(extra.span, "label too many", detail).help(form));
    }
    if block.labels.is_empty() {
        let detail = "The label of `dynamic` is the word of the blocks it makes.";
        diagnostics.push(Diagnostic::error(block.header, "`dynamic` without a label", detail).help(form));
        return;
    }
    check_arguments_of_dynamic(block, diagnostics);
    let Some(dynamic) = dynamic(block) else {
        if block.body.incomplete {
            return;
        }
        let detail = "`dynamic` needs the argument `for_each` and a block `content`.";
        diagnostics.push(Diagnostic::error(block.header, "`dynamic` is not complete", detail).help(form));
        return;
    };
    let name = &*dynamic.word.name;
    let Some(nested) = schema.blocks.get(name) else {
        diagnostics.push(unknown_block(name, dynamic.word.span, schema));
        return;
    };
    let wanted = usize::from(nested.nesting == Nesting::Map);
    if dynamic.labels.len() != wanted {
        let detail = format!("`{name}` takes {} here.", if wanted == 1 { "one label" } else { "no label" });
        let error = Diagnostic::error(dynamic.span(), format!("labels of `{name}`"), detail);
        let help = if wanted == 1 { "add `labels = [ … ]` with the label" } else { "remove `labels`" };
        diagnostics.push(error.help(help));
    }
    counts.entry(name).or_default().open = true;
    check_body(dynamic.content, &nested.schema, block.header, diagnostics);
}

fn check_arguments_of_dynamic(block: &Block, diagnostics: &mut Diagnostics) {
    const ARGUMENTS: [&str; 3] = ["for_each", "iterator", "labels"];
    for attribute in &block.body.attributes {
        let (name, value) = (&attribute.name, &attribute.value);
        let problem = match (&*name.name, &value.kind) {
            ("for_each", _) | ("iterator", ExprKind::Variable(_)) | ("labels", ExprKind::Tuple(_)) => {
                continue;
            }
            (_, ExprKind::Invalid) => continue,
            ("iterator", _) => {
                Diagnostic::error(value.span, "not a name", "`iterator` gives the element a name.")
                    .help("write the name alone: `iterator = item`")
            }
            ("labels", _) => {
                Diagnostic::error(value.span, "not a list", "`labels` has one element per label.")
                    .help("write `labels = [ … ]`")
            }
            (other, _) => {
                let error = Diagnostic::error(
                    name.span,
                    format!("unknown argument `{other}`"),
                    "`dynamic` has no argument of that name.",
                );
                match nearest(other, ARGUMENTS) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help("arguments of the blocks it makes stand in `content`"),
                }
            }
        };
        diagnostics.push(problem);
    }
    let mut contents = 0;
    for inner in &block.body.blocks {
        if &*inner.kind.name != "content" {
            let detail = "`dynamic` holds one block, `content`.";
            let error =
                Diagnostic::error(inner.header, format!("unknown block `{}`", inner.kind.name), detail);
            diagnostics.push(error.help("move it into `content`"));
            continue;
        }
        contents += 1;
        if contents > 1 {
            let error = Diagnostic::error(inner.header, "second `content` block", "One is allowed here.");
            diagnostics.push(error.help("put everything into one block"));
        }
    }
}

/// Whether the name is there in whatever form: the wrong form has been reported.
fn given(body: &Body, name: &str) -> bool {
    body.attribute(name).is_some() || body.blocks_of(name).next().is_some()
}

fn unknown_argument(name: &str, span: Span, schema: &Schema) -> Diagnostic {
    if schema.blocks.contains_key(name) {
        let error = Diagnostic::error(span, format!("`{name}` is a block"), "A block has no equals sign.");
        return error.help(format!(
            "write `{name} {{ … }}`, or `dynamic \"{name}\" {{ … }}` to make several from a collection"
        ));
    }
    let error =
        Diagnostic::error(span, format!("unknown argument `{name}`"), "No argument has that name here.");
    let names = schema.attributes.iter().filter(|(_, attribute)| attribute.presence.is_configurable());
    suggest(error, name, names.map(|(name, _)| &**name))
}

fn unknown_block(name: &str, span: Span, schema: &Schema) -> Diagnostic {
    if schema.attributes.contains_key(name) {
        let error =
            Diagnostic::error(span, format!("`{name}` is not a block"), "An argument has an equals sign.");
        return error.help(format!("write `{name} = …`"));
    }
    let error = Diagnostic::error(span, format!("unknown block `{name}`"), "No block has that name here.");
    suggest(error, name, schema.blocks.keys().map(|name| &**name))
}

/// Adds the name somebody may have meant, or else all there are if they are few.
fn suggest<'a>(error: Diagnostic, name: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let known: Vec<&str> = known.collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.help("remove it: nothing of the sort is known here"),
        None if known.len() <= 12 => error.help(format!("known are `{}`", known.join("`, `"))),
        None => error,
    }
}

/// The first sentence of a manual.
fn summary(doc: &str) -> &str {
    let first = doc.split("\n\n").next().unwrap_or_default();
    first.find(". ").map_or(first, |end| &first[..=end])
}
