//! A plan as people and programs read it. Pure, and without knowledge of terminals.
//!
//! All of it is made from the [`Document`] alone. Nothing that stands in a value reaches a terminal or a page as it is:
//! what does not print is escaped, and what is secret never got into the document.
//!
//! 1. [`line`](mod@line): lines with signs; [`value`]: values on one line; [`words`]: reasons and sums
//! 2. [`change`], [`texts`]: how values change, as lines; [`repeat`]: what was shown already
//! 3. [`step`]: one thing that changes; [`mod@finding`]: one thing that is known to be bad
//! 4. [`mod@text`], [`mod@markdown`]: the whole plan, for a terminal and for a comment on a pull request

mod change;
mod finding;
mod line;
mod markdown;
mod repeat;
mod step;
mod text;
mod texts;
mod value;
mod words;

#[cfg(test)]
mod tests;

pub use finding::examination;
pub use markdown::{GITHUB_LIMIT, markdown};
pub use text::{Colour, text};

use fleet_lang::Value;

use crate::document::{Document, Shown};
use crate::encode::safe_to_print;

/// The document itself, for programs.
#[must_use]
pub fn json(document: &Document) -> String {
    let json = serde_json::to_string_pretty(document).expect("plain data is JSON");
    safe_to_print(&json).into_owned() + "\n"
}

/// A value on one line, with secrets hidden; of what takes several lines, how much there is.
#[must_use]
pub fn brief(value: &Value) -> String {
    value::brief(&Shown::of(value))
}
