//! Taking secrets out of texts that others wrote.

use std::fmt;
use std::sync::Arc;

/// What stands in the place of a secret.
const HIDDEN: &str = "(secret)";

/// Texts that nobody may see.
#[derive(Clone)]
pub(super) struct Redact(Arc<[String]>);

impl Redact {
    /// Those that hold others come before them.
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Redact {
        Redact(secrets.into_iter().filter(|secret| !secret.is_empty()).map(str::to_owned).collect())
    }

    /// The text without secrets.
    pub(super) fn clean(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}
