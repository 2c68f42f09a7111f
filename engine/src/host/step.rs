//! What may be done to a host. Only apply holds something that takes a step.

use std::fmt;
use std::time::Duration;

use super::edit::Edit;
use super::ledger::Holding;

/// One change. Contents and inputs may be secret, and are not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub act: Act,
    /// Whether root does it.
    pub root: bool,
    /// How long it may take, if not as long as steps usually may.
    pub timeout: Option<Duration>,
}

/// What is done in a step. Each may be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Puts a file in the place of the one that is there, so that readers see the old or the new and nothing between.
    Write {
        /// Where; the directory must be there.
        path: String,
        /// All that stands in it.
        content: Content,
        /// How it is kept.
        keep: Keep,
        /// A command of the user that must succeed before the file gets its name; `{}` in it is where the new file lies.
        validate: Option<String>,
    },
    /// Changes a file where others write too: what is there is read, edited and put in its place, unless somebody
    /// changed it in between. Mode and owner stay.
    Edit {
        /// Where. A file that is not there counts as an empty one, and is made if something stands in it afterwards.
        path: String,
        /// How.
        edit: Edit,
    },
    /// Makes a directory, and those it lies in.
    Directory {
        /// Where.
        path: String,
        /// How the innermost is kept.
        keep: Keep,
    },
    /// Changes how something is kept that is there.
    Keep {
        /// Where. Links are not followed.
        path: String,
        /// How.
        keep: Keep,
    },
    /// Makes a link in the place of what is there, which must be no directory.
    Link {
        /// Where.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// Puts the directory that an archive holds in the place of the one that is there.
    Unpack {
        /// Where; the directory around must be there.
        path: String,
        /// The archive: a tar file, which may be compressed by gzip.
        archive: LocalFile,
        /// How many leading parts of the names in it are left out.
        strip: u32,
    },
    /// Removes a file, a link or an empty directory, if it is there.
    Remove {
        /// Where.
        path: String,
    },
    /// Removes a directory with all that is in it, if it is there.
    RemoveTree {
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
    /// Carries out a procedure of ours, for what takes several programs in a certain order.
    Procedure {
        /// Its text, for `/bin/sh`: the same for all hosts. Paths in it start with `"$R"`.
        script: &'static str,
        /// Its arguments. Nobody else on the host can see them, but for those that it hands on to programs.
        arguments: Vec<String>,
        /// What it reads; the way for secrets.
        input: Bytes,
    },
    /// Runs a script of the user, which may hold secrets.
    UserScript {
        /// The script.
        script: Bytes,
    },
    /// Starts the host anew, and waits until it answers from another boot than this one.
    Reboot {
        /// The boot it is in.
        boot: String,
    },
    /// Takes the host: makes its ledger, which must not be there.
    Claim(Claim),
    /// Gives the host back: removes the ledger and what lies beside it, if it is ours.
    Release(Claim),
    /// Writes into the ledger, if it is this very claim, how far that is. It takes a [`Mark`].
    Mark(Claim),
    /// Takes the ledger of somebody who gave up out of the way, if it is still that claim, and makes ours.
    TakeOver {
        /// Ours, with its [`Mark`].
        claim: Claim,
        /// The random name of the claim that gives way.
        from: String,
    },
}

/// What stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These bytes, which may be secret.
    Bytes(Bytes),
    /// What stands in a file on this machine.
    Local(LocalFile),
}

/// A file on the machine that runs fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalFile {
    /// Where it lies.
    pub path: String,
    /// Its SHA-256, in hexadecimal digits; another content is refused.
    pub digest: String,
}

/// How a file or directory is kept; what is not said stays, or is as the writer makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The permission bits.
    pub mode: Option<u32>,
    /// The name of the owner.
    pub owner: Option<String>,
    /// The name of the group.
    pub group: Option<String>,
}

/// Who has a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where the ledger lies on the host.
    pub ledger: String,
    /// The slot that holds the host, such as `fleet.runners[0]`.
    pub slot: String,
    /// Which claim of that slot, where one is told from another; otherwise any of it is ours.
    pub mark: Option<Mark>,
}

/// One claim, as its ledger tells it from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The random name of the claim.
    pub claim: String,
    /// The installation it is made on; any, if that is not known.
    pub epoch: String,
    /// How far it is.
    pub state: Holding,
}

impl Mark {
    /// A claim by its name alone, whichever installation it is on.
    #[must_use]
    pub fn named(claim: String) -> Mark {
        Mark { claim, epoch: String::new(), state: Holding::Owned }
    }
}

/// How a host undoes a change by itself, if the change cut it off from whoever works on it: asked for by
/// [`HostKind::cuts_access`](super::HostKind::cuts_access).
///
/// # Guarantees
/// - What is kept is kept before anything is done. The host puts it back unless a connection that was made after the
///   change confirms it in time; so it does if fleet is killed, or if a step fails.
///
/// # Assumptions
/// - The steps end well before that time. What they do may be undone in their middle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revert {
    /// Files and directories, each of which is put back as it was, or removed if it was not there.
    pub paths: Vec<String>,
    /// Keeps what is no file: for `/bin/sh`, with a directory for it in `$K`. Paths in it start with `"$R"`.
    pub keep: &'static str,
    /// Brings back what is no file, once the files are back.
    pub undo: &'static str,
    /// The arguments of both. Everybody on the host can see them.
    pub arguments: Vec<String>,
    /// How long the steps may take, besides what it takes to connect.
    pub takes: Duration,
}

/// Bytes that are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Revert {
    /// Puts these back, which is all there is to do.
    #[must_use]
    pub fn of(paths: impl IntoIterator<Item = impl Into<String>>) -> Revert {
        Revert { paths: paths.into_iter().map(Into::into).collect(), ..Revert::default() }
    }
}

impl Step {
    /// A step as the user of the connection.
    #[must_use]
    pub fn new(act: Act) -> Step {
        Step { act, root: false, timeout: None }
    }

    /// The same step, done by root.
    #[must_use]
    pub fn as_root(self) -> Step {
        Step { root: true, ..self }
    }

    /// The same step, done by root if that is so.
    #[must_use]
    pub fn by_root(self, root: bool) -> Step {
        Step { root, ..self }
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
        let content = Content::Bytes(Bytes(b"hunter2".to_vec()));
        let step =
            Step::new(Act::Write { path: "/a".into(), content, keep: Keep::default(), validate: None });
        assert!(!format!("{step:?}").contains("104"), "{step:?}");
        assert!(format!("{step:?}").contains("(7 bytes)"), "{step:?}");
    }
}
