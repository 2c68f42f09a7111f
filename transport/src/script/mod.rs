//! What is asked of a host and done to it, as a shell script; and what that printed, as answers. Pure.
//!
//! 1. [`frame`]: one request: a script, and beside it what must not stand in a script
//! 2. [`ask`]: questions → a script that asks them all at once, and back
//! 3. [`work`]: works → a script that does their steps, and how far it came
//! 4. [`guard`](mod@guard): what undoes a change that could cut a host off
//! 5. [`sections`](mod@sections): what a script printed, cut into its answers
//!
//! A script begins with [`start`] once in a session. It runs in any POSIX shell, and tries which tools there are.

use std::sync::LazyLock;

pub mod ask;
pub mod frame;
pub mod guard;
pub mod sections;
pub mod work;

pub use ask::Asking;
pub use frame::{Frame, LOADER};
pub use guard::Guarded;
pub use sections::{Section, sections};
pub use work::Job;

/// The functions that questions call.
pub const PRELUDE: &str = include_str!("prelude.sh");

/// The functions that steps call, besides.
pub const WORK: &str = include_str!("work.sh");

/// The procedure around changes that could cut a host off.
pub const GUARD: &str = include_str!("guard.sh");

/// What it leaves on the host, to undo such a change.
pub const WATCH: &str = include_str!("watch.sh");

/// What stands before every path of a session; nothing for the host itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// What the connection says.
    Given(String),
    /// What the host says: `FLEET_ROOT` in the environment of whoever logs in. Such a host is one directory of a machine.
    OfSession,
    /// The same, handed on as the name of the shell, because `sudo` hands on no environment.
    HandedOn,
}

impl Root {
    /// The same for a shell that was started for somebody else.
    #[must_use]
    pub fn handed_on(&self) -> Root {
        match self {
            Root::OfSession => Root::HandedOn,
            root => root.clone(),
        }
    }
}

impl From<&str> for Root {
    fn from(root: &str) -> Root {
        Root::Given(root.to_owned())
    }
}

/// What the first script of a session begins with: answers end with `mark`, and every path lies under the root.
#[must_use]
pub fn start(mark: &str, root: &Root) -> String {
    let root = match root {
        Root::Given(root) => format!("R={}", frame::quoted(root)),
        Root::OfSession => "R=${FLEET_ROOT-}".into(),
        Root::HandedOn => "case $0 in /bin/sh) R= ;; *) R=$0 ;; esac".into(),
    };
    format!("N={mark}\n{root}\n{}", *SHORT_PRELUDE)
}

/// What the first script with steps begins with, besides.
#[must_use]
pub fn start_work() -> &'static str {
    &SHORT_WORK
}

static SHORT_PRELUDE: LazyLock<String> = LazyLock::new(|| short(PRELUDE));
static SHORT_WORK: LazyLock<String> = LazyLock::new(|| short(WORK));

/// A script without its comments and indents: the other side reads it a byte at a time.
fn short(script: &str) -> String {
    let lines = script.lines().map(str::trim_start);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).flat_map(|line| [line, "\n"]).collect()
}
