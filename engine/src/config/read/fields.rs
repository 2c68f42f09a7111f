//! One block being read: its arguments and nested blocks are taken out by name, and what is left at the end is
//! reported as unknown, with the nearest of the names that were asked for.

use std::sync::Arc;

use fleet_syntax::tree::{Attribute, Block, Body, Expr, ExprKind, Ident};
use fleet_syntax::{Diagnostic, Span, nearest};

use super::report::Report;
use crate::config::constant;

/// A block being read.
pub(super) struct Fields<'r> {
    /// Where problems go.
    pub(super) report: &'r mut Report,
    /// The word the block starts with.
    pub(super) kind: Ident,
    /// The word and the labels.
    pub(super) header: Span,
    body: Body,
    arguments: Vec<&'static str>,
    blocks: Vec<&'static str>,
}

impl<'r> Fields<'r> {
    /// Starts to read a block whose labels have been read.
    pub(super) fn new(block: Block, report: &'r mut Report) -> Fields<'r> {
        let Block { kind, body, header, .. } = block;
        Fields { report, kind, header, body, arguments: Vec::new(), blocks: Vec::new() }
    }

    /// Takes an argument.
    pub(super) fn attribute(&mut self, name: &'static str) -> Option<Attribute> {
        self.arguments.push(name);
        let index = self.body.attributes.iter().position(|a| &*a.name.name == name)?;
        Some(self.body.attributes.remove(index))
    }

    /// Takes the value of an argument.
    pub(super) fn expr(&mut self, name: &'static str) -> Option<Expr> {
        self.attribute(name).map(|attribute| attribute.value)
    }

    /// Takes an argument that is a constant truth.
    pub(super) fn truth(&mut self, name: &'static str) -> Option<bool> {
        let expr = self.expr(name)?;
        constant::truth(&expr, &mut self.report.diagnostics)
    }

    /// Takes an argument that is a constant text.
    pub(super) fn text(&mut self, name: &'static str) -> Option<Arc<str>> {
        let expr = self.expr(name)?;
        constant::text(&expr, &mut self.report.diagnostics)
    }

    /// Takes the value of an argument that must be there; reports it if not, and lets nothing stand in its place.
    pub(super) fn required(&mut self, name: &'static str) -> Expr {
        self.expr(name).unwrap_or_else(|| {
            self.missing(name);
            Expr { kind: ExprKind::Invalid, span: self.header }
        })
    }

    /// Reports an argument that must be there.
    pub(super) fn missing(&mut self, name: &str) {
        if self.is_incomplete() {
            return;
        }
        let detail = format!("`{}` needs the argument `{name}`.", self.kind.name);
        let diagnostic = match self.body.blocks_of(name).next() {
            Some(block) => Diagnostic::error(block.header, format!("`{name}` is not a block"), detail)
                .help(format!("write it with an equals sign: `{name} = …`")),
            None => Diagnostic::error(self.header, format!("missing argument `{name}`"), detail)
                .help(format!("add `{name} = …`")),
        };
        self.body.blocks.retain(|block| &*block.kind.name != name);
        self.report.push(diagnostic);
    }

    /// Takes all blocks that start with a word.
    pub(super) fn blocks(&mut self, kind: &'static str) -> Vec<Block> {
        self.blocks.push(kind);
        self.stray_blocks(kind)
    }

    /// Takes blocks that do not belong here, so that they are no suggestion either.
    pub(super) fn stray_blocks(&mut self, kind: &'static str) -> Vec<Block> {
        self.body.blocks.extract_if(.., |block| &*block.kind.name == kind).collect()
    }

    /// Whether what seems to be missing may have been written, but could not be parsed.
    pub(super) fn is_incomplete(&self) -> bool {
        self.body.incomplete
    }

    /// Takes the only block that starts with a word; reports further ones.
    pub(super) fn block(&mut self, kind: &'static str) -> Option<Block> {
        let mut blocks = self.blocks(kind).into_iter();
        let first = blocks.next()?;
        for extra in blocks {
            let error =
                Diagnostic::error(extra.header, format!("second `{kind}` block"), "One is allowed here.");
            let error = error.related(first.header, "the first one");
            self.report.push(error.help("put everything into one block"));
        }
        Some(first)
    }

    /// Takes a block without labels that may be there once.
    pub(super) fn plain_block(&mut self, kind: &'static str) -> Option<Block> {
        let mut block = self.block(kind)?;
        self.report.labels::<0>(&mut block, []);
        Some(block)
    }

    /// Takes all that is left, for a schema or as the inputs of a module.
    pub(super) fn rest(mut self) -> Body {
        self.wrong_forms();
        self.body
    }

    /// Ends the reading: whatever is left is unknown.
    pub(super) fn finish(mut self) {
        self.wrong_forms();
        let kind = &self.kind.name;
        for Attribute { name, .. } in &self.body.attributes {
            let detail = format!("`{kind}` has no argument of that name.");
            let error = Diagnostic::error(name.span, format!("unknown argument `{}`", name.name), detail);
            self.report.push(suggest(error, &name.name, &self.arguments, "it takes"));
        }
        for block in &self.body.blocks {
            let name = &block.kind.name;
            let detail = format!("`{kind}` has no block of that name.");
            let error = Diagnostic::error(block.header, format!("unknown block `{name}`"), detail);
            self.report.push(suggest(error, name, &self.blocks, "it takes blocks named"));
        }
    }

    /// Takes out blocks that are written as arguments, and arguments that are written as blocks.
    fn wrong_forms(&mut self) {
        let Fields { body, blocks, arguments, report, .. } = self;
        for Attribute { name, .. } in body.attributes.extract_if(.., |a| blocks.contains(&&*a.name.name)) {
            let error = Diagnostic::error(
                name.span,
                format!("`{}` is a block", name.name),
                "A block has no equals sign.",
            );
            report.push(error.help(format!("write `{} {{ … }}`", name.name)));
        }
        for block in body.blocks.extract_if(.., |b| arguments.contains(&&*b.kind.name)) {
            let name = &block.kind.name;
            let detail = "An argument has an equals sign.";
            let error = Diagnostic::error(block.header, format!("`{name}` is not a block"), detail);
            report.push(error.help(format!("write `{name} = …`")));
        }
    }
}

/// Adds the name somebody may have meant, or else all there are.
fn suggest(error: Diagnostic, name: &str, known: &[&'static str], lead: &str) -> Diagnostic {
    match nearest(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.help("remove it"),
        None => error.help(format!("{lead} `{}`", known.join("`, `"))),
    }
}
