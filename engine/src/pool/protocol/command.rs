//! What a process asks for, and what it is told.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::notes::{Record, Write};
use crate::host::{Holding, Ledger};
use crate::pool::{Sent, Status};

/// What is to be done next. All about one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Keep this durably before anything else is done. Answered by [`Answer::Kept`]; if it cannot be kept, the process ends here.
    Journal(Box<Record>),
    /// Read over SSH in which installation the host is, and its ledger, both in one session. The key that is expected, if
    /// one is: another one is no failure, but another epoch. Answered by [`Answer::Looked`].
    Look {
        /// What the epoch was so far.
        pin: Option<String>,
    },
    /// Make our ledger, atomically and with its content, if there is none. In this installation only. Answered, as all that
    /// follow about the ledger, by [`Answer::Wrote`].
    Create {
        /// The installation.
        epoch: String,
        /// What it says.
        state: Holding,
    },
    /// Change what our ledger says, if it is still that of our claim. In this installation only.
    Mark {
        /// The installation.
        epoch: String,
        /// What it says from now on.
        state: Holding,
    },
    /// Remove our ledger, if it is still that of our claim. In this installation only.
    Remove {
        /// The installation.
        epoch: String,
    },
    /// Put our ledger, as `returning`, atomically in the place of the one of a claim that was left behind, if that is still
    /// the claim and still `claiming`. In this installation only.
    Take {
        /// The installation.
        epoch: String,
        /// The claim that was left behind.
        from: String,
    },
    /// Ask the vendor what the host is called and what it does. Answered by [`Answer::Read`].
    Read,
    /// Tell the vendor, once, and at once. Answered by [`Answer::Sent`].
    Send(Write),
    /// Stop and remove what we manage on the host, and verify that it is gone; the ledger stays. Answered by
    /// [`Answer::Scrubbed`].
    Scrub,
    /// Wait until the clock shows this. Answered by [`Answer::Waited`].
    Wait {
        /// Until when.
        until: Duration,
        /// What for.
        why: Why,
    },
    /// Nothing: the process has ended.
    Done(End),
}

/// Why a process waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// Until the vendor shows what is so.
    Settle,
    /// Until a write of unknown fate can have no effect any more.
    Hold,
    /// Until something else is over, such as a reinstall.
    Poll,
}

/// The answer to a command.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The record was kept.
    Kept,
    /// What was seen on the host.
    Looked(Seen),
    /// What became of a change of the ledger.
    Wrote(Wrote),
    /// What the vendor shows.
    Read(Shown),
    /// What became of a request.
    Sent(Sent),
    /// Whether nothing of ours is left.
    Scrubbed(bool),
    /// The time is over.
    Waited,
}

/// What was seen on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It did not answer.
    Unreachable,
    /// It answered.
    Host {
        /// Its installation, told by its host key.
        epoch: String,
        /// Its ledger.
        ledger: Page,
    },
}

/// What stands where the ledger is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// Nothing.
    Empty,
    /// A ledger: what matters of it.
    Ledger {
        /// The random name of the claim.
        claim: String,
        /// The installation that it was made in, as it says itself.
        epoch: String,
        /// How far its holder is.
        state: Holding,
    },
    /// Something that is no ledger, or one that this program does not know.
    Unreadable,
}

impl Page {
    /// What the file says that lies where the ledger does; none if there is no file.
    #[must_use]
    pub fn of(content: Option<&[u8]>) -> Page {
        let Some(content) = content else { return Page::Empty };
        match Ledger::parse(content) {
            Some(Ledger { claim, epoch, state, .. }) => Page::Ledger { claim, epoch, state },
            None => Page::Unreadable,
        }
    }
}

/// What became of a change of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wrote {
    /// It was made.
    Done,
    /// It was not made: the ledger or the installation is another.
    Not,
    /// The answer got lost, or the host could not be reached.
    Unknown,
}

/// What the vendor shows of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Nothing could be learned.
    Nothing,
    /// The server is certainly gone.
    Gone,
    /// It is there.
    Server {
        /// What it is called.
        name: String,
        /// What it does.
        status: Status,
    },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The host is ours, and called as it should be.
    Owned {
        /// What happened behind our back.
        surprise: Option<Surprise>,
    },
    /// The host is free, and the record closed.
    Returned {
        /// How long it was from the last answer of the old installation to the first of the new one.
        gap: Option<Duration>,
    },
    /// The host is not ours, and the record closed: another one may be taken.
    Lost(Loss),
    /// The server is not there any more, and the record closed.
    Gone,
    /// Time is over. The record stays open, for the next run to go on.
    Quarantined(Why),
}

/// What happened to a host of ours behind our back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surprise {
    /// It was installed anew.
    Reinstalled,
    /// Its ledger was removed.
    LedgerRemoved,
}

/// Why a host is not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// It did not answer, so it was not tried.
    Unreachable,
    /// Somebody else's ledger is there.
    Taken,
    /// It is not called free any more.
    NotFree,
    /// There was nothing to take over any more.
    Settled,
    /// It was to be deleted, and the vendor refused that.
    Refused,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Settle => "the vendor to show what is so",
            Why::Hold => "requests without an answer to be void",
            Why::Poll => "the host",
        })
    }
}

impl fmt::Display for Surprise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Surprise::Reinstalled => "reinstalled behind our back",
            Surprise::LedgerRemoved => "its ledger was removed behind our back",
        })
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Loss::Unreachable => "it does not answer",
            Loss::Taken => "somebody else took it",
            Loss::NotFree => "it is not free any more",
            Loss::Settled => "there is nothing to take over any more",
            Loss::Refused => "the vendor does not delete it",
        })
    }
}
