//! How a file is changed that others write, too. Pure.

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Exactly one block between two marker lines stands in the file afterwards; everything else survives byte for byte.
    Block {
        /// The whole line before it.
        begin: String,
        /// The whole line after it.
        end: String,
        /// What stands between; none if there is to be no block at all.
        text: Option<String>,
        /// Regular expressions: whole lines outside of the block that match one of them go.
        supersedes: Vec<String>,
    },
    /// Exactly one such line stands in the file afterwards, or none.
    Line {
        /// The line, without its end.
        line: String,
        /// Whether it is to be there.
        present: bool,
        /// A regular expression: other whole lines that match it go; the line stands where the first of them stood.
        matching: Option<String>,
    },
}
