//! HCL text, its tree and its canonical form.
//!
//! 1. [`decode`](decode()): bytes → text; [`source`]: the texts of a run and positions in them
//! 2. [`diagnostic`]: what is wrong, where, and what to do about it
//! 3. [`token`]: text → tokens, nothing lost (comments and newlines included)
//! 4. [`tree`]: what a text means, every node with its span
//! 5. [`parse`](mod@parse): tokens → tree, every syntax error of a text at once
//! 6. [`format`](mod@format): tokens → the text as `fleet fmt` writes it
//!
//! Everything here is pure: no file is read and nothing is evaluated.

mod decode;
pub mod diagnostic;
pub mod format;
mod nearest;
pub mod parse;
pub mod source;
pub mod token;
pub mod tree;

pub use decode::{Undecodable, decode};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use format::format;
pub use nearest::nearest;
pub use parse::{parse, parse_expression, parse_template};
pub use source::{FileId, Sources, Span};
pub use token::is_name;
