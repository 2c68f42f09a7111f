//! `dynamic "word" { … }`: blocks of a word made from a collection.

use std::sync::Arc;

use fleet_syntax::Span;
use fleet_syntax::tree::{Block, Body, Expr, ExprKind, Ident};

/// A `dynamic` block, taken apart. What is missing has been reported by the check of the body.
pub(super) struct Dynamic<'b> {
    /// The word of the blocks it makes.
    pub(super) word: &'b Ident,
    /// What is walked.
    pub(super) for_each: &'b Expr,
    /// The name under which `content` sees `key` and `value`.
    pub(super) iterator: Arc<str>,
    /// The labels of the blocks it makes.
    pub(super) labels: &'b [Expr],
    /// What stands in the blocks it makes.
    pub(super) content: &'b Body,
}

/// A block that makes others.
pub(super) fn is_dynamic(block: &Block) -> bool {
    &*block.kind.name == "dynamic"
}

/// Takes a `dynamic` block apart; none if too much of it is missing.
pub(super) fn dynamic(block: &Block) -> Option<Dynamic<'_>> {
    let word = block.labels.first()?;
    let iterator = match block.body.attribute("iterator").map(|attribute| &attribute.value.kind) {
        Some(ExprKind::Variable(name)) => name.name.clone(),
        _ => word.name.clone(),
    };
    let labels = match block.body.attribute("labels").map(|attribute| &attribute.value.kind) {
        Some(ExprKind::Tuple(labels)) => labels.as_slice(),
        _ => &[],
    };
    Some(Dynamic {
        word,
        for_each: &block.body.attribute("for_each")?.value,
        iterator,
        labels,
        content: &block.body.blocks_of("content").next()?.body,
    })
}

impl Dynamic<'_> {
    /// What to underline when the blocks it makes are meant.
    pub(super) fn span(&self) -> Span {
        self.word.span
    }
}
