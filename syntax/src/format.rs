//! A text as `fleet fmt` writes it: the layout of `terraform fmt`, token for token.
//!
//! 1. [`rewrite`]: the few rewritings of tokens themselves
//! 2. [`spacing`]: which neighbours on a line get a space between them
//! 3. [`layout`]: indentation, and the columns of `=` and trailing comments
//!
//! Lines are neither broken nor joined, so what a person laid out over lines stays so. Work and memory are linear in
//! the text. Where the layout differs from Terraform's is written down in `docs/decisions/`.

mod layout;
mod rewrite;
mod spacing;

use crate::diagnostic::has_errors;
use crate::token::tokens;
use crate::{Diagnostics, FileId, parse};

/// The canonical form of a configuration or values file. A text with syntax errors has none, only diagnostics.
pub fn format(file: FileId, text: &str) -> Result<String, Diagnostics> {
    let (body, diagnostics) = parse(file, text);
    if has_errors(&diagnostics) {
        return Err(diagnostics);
    }
    let all = tokens(text);
    Ok(match rewrite::rewrite(text, &all, &body) {
        Some(rewritten) => layout::layout(&rewritten, &tokens(&rewritten)),
        None => layout::layout(text, &all),
    })
}
