//! What may be done to a host. Only apply holds something that takes a step.

use std::fmt;

/// One change. Contents and inputs may be secret, and are not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub act: Act,
    /// Whether root does it.
    pub root: bool,
}

/// What is done in a step. Each may be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Puts a file in the place of the one that is there, so that readers see the old or the new and nothing between.
    Write {
        /// Where; the directory must be there.
        path: String,
        /// All that stands in it.
        content: Bytes,
        /// The permission bits.
        mode: u32,
        /// Owner and group, if they are not to be those of the writer.
        owner: Option<(String, String)>,
    },
    /// Makes a directory, and those it lies in.
    Directory {
        /// Where.
        path: String,
        /// The permission bits of the innermost.
        mode: u32,
    },
    /// Makes a link in the place of the one that is there.
    Link {
        /// Where.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// Removes a file, a link or an empty directory, if it is there.
    Remove {
        /// Where.
        path: String,
    },
    /// Runs a program. Its arguments can be seen by everyone on the host.
    Run {
        /// Called by name.
        program: String,
        /// What it is given.
        arguments: Vec<String>,
        /// What it reads; the way for secrets.
        input: Bytes,
    },
}

/// Bytes that are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Step {
    /// A step as the user of the connection.
    #[must_use]
    pub fn new(act: Act) -> Step {
        Step { act, root: false }
    }

    /// The same step, done by root.
    #[must_use]
    pub fn as_root(self) -> Step {
        Step { root: true, ..self }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_not_shown() {
        let content = Bytes(b"hunter2".to_vec());
        let step = Step::new(Act::Write { path: "/a".into(), content, mode: 0o600, owner: None });
        assert!(!format!("{step:?}").contains("104"), "{step:?}");
        assert!(format!("{step:?}").contains("(7 bytes)"), "{step:?}");
    }
}
