//! Who changed the state, when, and what.

use std::collections::BTreeMap;
use std::time::SystemTime;

use fleet_engine::state::{Object, StoreError};

use crate::Backend;
use crate::connection::{Arg, Connection, Row};
use crate::database::Summary;
use crate::failure::of_sqlx;
use crate::format::{self, Format};
use crate::lease::time;
use crate::rows::{Common, column, number};

/// A run that held the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The fencing number: its place in the history.
    pub fence: u64,
    /// The person, or the account of a pipeline.
    pub owner: String,
    /// The machine.
    pub host: String,
    /// Where the log of the pipeline is, if it was one.
    pub job: Option<String>,
    /// What it did, such as `fleet apply`.
    pub command: String,
    /// When it took the lock.
    pub started: SystemTime,
    /// The serial number of the state before.
    pub serial_from: u64,
    /// How it ended; none if it still runs or was cut off.
    pub end: Option<End>,
    /// How often each sort of change happened.
    pub counts: BTreeMap<Change, u64>,
    /// What changed, in that order, where it was asked for and is still known.
    pub changes: Vec<(Object, Change)>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// When.
    pub at: SystemTime,
    /// The serial number of the state after.
    pub serial: u64,
    /// What it could not do.
    pub summary: Summary,
}

/// What happened to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Change {
    Created,
    Updated,
    Destroyed,
    Recorded,
    Forgotten,
    Moved,
    /// Begun, and nothing came of it.
    Failed,
}

impl Change {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Change::Created => "created",
            Change::Updated => "updated",
            Change::Destroyed => "destroyed",
            Change::Recorded => "recorded",
            Change::Forgotten => "forgotten",
            Change::Moved => "moved",
            Change::Failed => "failed",
        }
    }

    fn of(operation: Option<&str>, present: bool) -> Change {
        match (operation, present) {
            (Some("create"), true) => Change::Created,
            (Some("update"), true) => Change::Updated,
            (Some("destroy"), false) => Change::Destroyed,
            (Some("create"), false) | (Some("destroy"), true) => Change::Failed,
            (Some("move"), _) => Change::Moved,
            (_, true) => Change::Recorded,
            (_, false) => Change::Forgotten,
        }
    }
}

/// The last runs, the latest first, with what they changed if `details`. Takes no lock and leaves no trace.
pub async fn history(backend: &Backend, limit: usize, details: bool) -> Result<Vec<Run>, StoreError> {
    let Some(mut connection) = Connection::read(backend).await? else { return Ok(Vec::new()) };
    let runs = match format::find(&mut connection, backend).await? {
        Format::Second | Format::Current => runs(&mut connection, backend, limit, details).await,
        Format::None | Format::First => Ok(Vec::new()),
    };
    // Nothing was written, so nothing can be lost by a connection that does not close.
    let _ = connection.close().await;
    runs
}

async fn runs(
    connection: &mut Connection,
    backend: &Backend,
    limit: usize,
    details: bool,
) -> Result<Vec<Run>, StoreError> {
    let failed = |e| of_sqlx(&e, backend, "read");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = "SELECT fence, owner, host, job, command, started, serial_from, ended, serial_to, failed, skipped, \
               unknown FROM runs WHERE state = $1 ORDER BY fence DESC LIMIT $2";
    let rows = connection.rows(sql, &[Arg::Text(backend.name()), Arg::Int(limit)]).await.map_err(failed)?;
    let mut runs: Vec<Run> = rows.iter().map(run).collect::<Result<_, _>>()?;
    for run in &mut runs {
        let fence = Arg::Int(i64::try_from(run.fence).unwrap_or(i64::MAX));
        let args = [Arg::Text(backend.name()), fence];
        let counts = "SELECT operation, present, count(*) FROM changes WHERE state = $1 AND fence = $2 \
                      GROUP BY operation, present";
        for row in connection.rows(counts, &args).await.map_err(failed)? {
            let change = Change::of(column(&row, 0)?, column::<i64>(&row, 1)? != 0);
            *run.counts.entry(change).or_default() += number::<u64>(&row, 2)?;
        }
        if details {
            let changes = "SELECT address, deposed, operation, present FROM changes \
                           WHERE state = $1 AND fence = $2 ORDER BY serial";
            let mut common = Common::default();
            for row in connection.rows(changes, &args).await.map_err(failed)? {
                let change = Change::of(column(&row, 2)?, column::<i64>(&row, 3)? != 0);
                run.changes.push((common.object(column(&row, 0)?, column(&row, 1)?)?, change));
            }
        }
    }
    Ok(runs)
}

fn run(row: &Row) -> Result<Run, StoreError> {
    let end = match column::<Option<i64>>(row, 7)? {
        Some(ended) => Some(End {
            at: time(ended),
            serial: number(row, 8)?,
            summary: Summary {
                failed: number(row, 9)?,
                skipped: number(row, 10)?,
                unknown: number(row, 11)?,
            },
        }),
        None => None,
    };
    Ok(Run {
        fence: number(row, 0)?,
        owner: column(row, 1)?,
        host: column(row, 2)?,
        job: column(row, 3)?,
        command: column(row, 4)?,
        started: time(column(row, 5)?),
        serial_from: number(row, 6)?,
        end,
        counts: BTreeMap::new(),
        changes: Vec::new(),
    })
}
