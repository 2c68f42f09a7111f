//! Who may write: one holder at a time, for as long as it lives.

use std::fmt;
use std::time::SystemTime;

use fleet_engine::state::StoreError;

/// Who holds the lock, or wants to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The person, or the account of a pipeline.
    pub owner: String,
    /// The name of the machine.
    pub host: String,
    /// The process there.
    pub pid: u32,
    /// Where the log of the pipeline is, if it is one.
    pub job: Option<String>,
    /// What it does, such as `fleet apply`.
    pub command: String,
}

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// By whom.
    pub holder: Holder,
    /// Since when.
    pub since: SystemTime,
    /// When it runs out unless its holder renews it.
    pub expires: SystemTime,
    /// Whether it has run out, so that anybody may take it.
    pub expired: bool,
    /// Grows with every holder, so that a former one can be told from this one.
    pub fence: u64,
}

/// Why a state could not be opened for writing.
#[derive(Debug)]
pub enum OpenError {
    /// Somebody else is writing.
    Held(Box<Lease>),
    /// Something went wrong.
    Store(StoreError),
}

impl Holder {
    /// This process, doing that. What it knows of the environment comes through `variable`.
    pub fn of_process(command: impl Into<String>, variable: impl Fn(&str) -> Option<String>) -> Holder {
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        let github = || {
            let [server, repository, run] = ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"];
            Some(format!("{}/{}/actions/runs/{}", variable(server)?, variable(repository)?, variable(run)?))
        };
        let owner =
            first(&["GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BUILDKITE_BUILD_CREATOR", "USER", "LOGNAME"]);
        Holder {
            owner: owner.unwrap_or_else(|| "somebody".into()),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            pid: std::process::id(),
            job: github()
                .or_else(|| first(&["CI_JOB_URL", "BUILDKITE_BUILD_URL", "CIRCLE_BUILD_URL", "BUILD_URL"])),
            command: command.into(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Holder { owner, host, pid, job, command } = self;
        write!(f, "{owner} on {host} (process {pid}, `{command}`")?;
        if let Some(job) = job {
            write!(f, ", {job}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Held(lease) => write!(f, "the state is locked by {}", lease.holder),
            OpenError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Held(_) => None,
            OpenError::Store(error) => error.source(),
        }
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> OpenError {
        OpenError::Store(error)
    }
}
