//! The lock in the database: taken, renewed, given back, taken over.
//!
//! A lock is a lease: it runs out unless its holder renews it, by the clock of the database. Every holder gets a
//! larger fencing number, and every commit carries its number: what a former holder still writes is refused.

use std::time::{Duration, SystemTime};

use fleet_engine::state::{StoreError, StoreErrorKind};
use uuid::Uuid;

use crate::connection::{Arg, Connection, Row};
use crate::database::Summary;
use crate::failure::of_sqlx;
use crate::format::{self, Format};
use crate::lock::{Holder, Lease};
use crate::{Backend, machine};

/// How long a lock lasts unless it is renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// How often it is renewed.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many runs the history keeps, and of how many of them what they changed.
const RUNS: i64 = 1_000;
const DETAILED_RUNS: i64 = 100;

/// Whoever else asks for the lock, or commits, waits at this row until the transaction ends.
const WAIT_IN_LINE: &str = "UPDATE states SET fence = fence WHERE name = $1";

/// What a holder of the lock knows.
#[derive(Clone, Debug)]
pub(crate) struct Grip {
    /// The fencing number.
    pub(crate) fence: i64,
    /// The serial number of the state.
    pub(crate) serial: i64,
    pub(crate) lineage: String,
    /// The name of this run.
    pub(crate) run: String,
}

/// What came of asking for the lock.
#[derive(Debug)]
pub(crate) enum Attempt {
    Got(Grip),
    Held(Box<Lease>),
}

/// Takes the lock, unless a living holder has it. Makes the state if it is not there.
pub(crate) async fn acquire(
    connection: &mut Connection,
    state: &str,
    holder: &Holder,
) -> Result<Attempt, sqlx::Error> {
    connection.begin().await?;
    let attempt = try_acquire(connection, state, holder).await;
    connection.end(attempt).await
}

async fn try_acquire(
    connection: &mut Connection,
    state: &str,
    holder: &Holder,
) -> Result<Attempt, sqlx::Error> {
    let make = "INSERT INTO states (name, lineage, serial, fence) VALUES ($1, $2, 0, 0) ON CONFLICT (name) DO NOTHING";
    connection.run(make, &[Arg::Text(state), Arg::Text(&Uuid::new_v4().to_string())]).await?;
    connection.run(WAIT_IN_LINE, &[Arg::Text(state)]).await?;
    let machine = machine::identity();
    if let Some(found) = find(connection, state).await? {
        let died = found.machine == machine && machine::is_dead(found.lease.holder.pid.into());
        if !found.lease.expired && !died {
            return Ok(Attempt::Held(Box::new(found.lease)));
        }
    }
    connection.run("UPDATE states SET fence = fence + 1 WHERE name = $1", &[Arg::Text(state)]).await?;
    let states = "SELECT fence, serial, lineage FROM states WHERE name = $1";
    let states = connection.rows(states, &[Arg::Text(state)]).await?;
    let row = states.first().ok_or(sqlx::Error::RowNotFound)?;
    let grip = Grip {
        fence: row.get(0)?,
        serial: row.get(1)?,
        lineage: row.get(2)?,
        run: Uuid::new_v4().to_string(),
    };
    let lock = format!(
        "INSERT INTO locks (state, fence, owner, host, machine, pid, job, command, since, expires) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, {now}, {now} + $9) ON CONFLICT (state) DO UPDATE SET \
         fence = excluded.fence, owner = excluded.owner, host = excluded.host, machine = excluded.machine, \
         pid = excluded.pid, job = excluded.job, command = excluded.command, since = excluded.since, \
         expires = excluded.expires",
        now = connection.now()
    );
    let Holder { owner, host, pid, job, command } = holder;
    let args = [
        Arg::Text(state),
        Arg::Int(grip.fence),
        Arg::Text(owner),
        Arg::Text(host),
        Arg::Text(&machine),
        Arg::Int((*pid).into()),
        Arg::Optional(job.as_deref()),
        Arg::Text(command),
        Arg::Int(millis(LEASE)),
    ];
    connection.run(&lock, &args).await?;
    let run = format!(
        "INSERT INTO runs (state, fence, id, owner, host, job, command, started, serial_from) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, {now}, $8)",
        now = connection.now()
    );
    let args = [
        Arg::Text(state),
        Arg::Int(grip.fence),
        Arg::Text(&grip.run),
        Arg::Text(owner),
        Arg::Text(host),
        Arg::Optional(job.as_deref()),
        Arg::Text(command),
        Arg::Int(grip.serial),
    ];
    connection.run(&run, &args).await?;
    Ok(Attempt::Got(grip))
}

/// Holds the lock for longer; false if somebody else has it.
pub(crate) async fn renew(connection: &mut Connection, state: &str, fence: i64) -> Result<bool, sqlx::Error> {
    let sql = format!("UPDATE locks SET expires = {} + $3 WHERE state = $1 AND fence = $2", connection.now());
    let args = [Arg::Text(state), Arg::Int(fence), Arg::Int(millis(LEASE))];
    Ok(connection.run(&sql, &args).await? > 0)
}

/// Gives the lock back and completes the history. Nothing happens if somebody else has it.
pub(crate) async fn give_back(
    connection: &mut Connection,
    state: &str,
    grip: &Grip,
    summary: Option<Summary>,
) -> Result<(), sqlx::Error> {
    connection.begin().await?;
    let given = try_give_back(connection, state, grip, summary).await;
    connection.end(given).await
}

async fn try_give_back(
    connection: &mut Connection,
    state: &str,
    grip: &Grip,
    summary: Option<Summary>,
) -> Result<(), sqlx::Error> {
    let ours = [Arg::Text(state), Arg::Int(grip.fence)];
    if connection.run("DELETE FROM locks WHERE state = $1 AND fence = $2", &ours).await? == 0 {
        return Ok(());
    }
    // A run that was dropped without a word has no end in the history.
    let Some(summary) = summary else { return Ok(()) };
    let sql = format!(
        "UPDATE runs SET ended = {}, serial_to = $3, failed = $4, skipped = $5, unknown = $6 \
         WHERE state = $1 AND fence = $2",
        connection.now()
    );
    let count = |number: u64| Arg::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let numbers =
        [Arg::Int(grip.serial), count(summary.failed), count(summary.skipped), count(summary.unknown)];
    connection.run(&sql, &[&ours[..], &numbers].concat()).await?;
    for (sql, kept) in [
        ("DELETE FROM runs WHERE state = $1 AND fence <= $2 - $3", RUNS),
        ("DELETE FROM changes WHERE state = $1 AND fence <= $2 - $3", DETAILED_RUNS),
    ] {
        connection.run(sql, &[&ours[..], &[Arg::Int(kept)]].concat()).await?;
    }
    let unused = "DELETE FROM dependencies WHERE state = $1 AND digest NOT IN \
                  (SELECT depends_on FROM resources WHERE state = $1 \
                   UNION SELECT depends_on FROM journal WHERE state = $1)";
    connection.run(unused, &ours[..1]).await.map(drop)
}

/// Who holds the lock.
pub async fn lock_status(backend: &Backend) -> Result<Option<Lease>, StoreError> {
    let Some(mut connection) = Connection::read(backend).await? else { return Ok(None) };
    let status = match format::find(&mut connection, backend).await? {
        Format::Second | Format::Current => {
            let found = find(&mut connection, backend.name()).await;
            found.map_err(|e| of_sqlx(&e, backend, "read"))?.map(|found| found.lease)
        }
        Format::None | Format::First => None,
    };
    // Nothing was written, so nothing can be lost by a connection that does not close.
    let _ = connection.close().await;
    Ok(status)
}

/// Takes the lock away from its holder, if it is the one with that fencing number; what it still writes is refused.
/// Says whose it was.
pub async fn release(backend: &Backend, fence: u64) -> Result<Lease, StoreError> {
    let changed =
        || StoreError::new("the lock is not held by that holder any more").of_kind(StoreErrorKind::Fenced);
    let failed = |e| of_sqlx(&e, backend, "unlock");
    if let Backend::Sqlite(path) = backend
        && !path.exists()
    {
        return Err(changed());
    }
    let mut connection = Connection::write(backend).await?;
    format::ensure(&mut connection, backend).await?;
    connection.begin().await.map_err(failed)?;
    let state = Arg::Text(backend.name());
    let released = async {
        connection.run(WAIT_IN_LINE, &[state]).await?;
        let found = find(&mut connection, backend.name()).await?;
        let found = found.filter(|found| found.lease.fence == fence);
        if found.is_some() {
            // The number grows, so that the former holder's next commit finds another one.
            connection.run("UPDATE states SET fence = fence + 1 WHERE name = $1", &[state]).await?;
            connection.run("DELETE FROM locks WHERE state = $1", &[state]).await?;
        }
        Ok(found)
    }
    .await;
    let released = connection.end(released).await.map_err(failed)?;
    connection.close().await.map_err(failed)?;
    released.map(|found| found.lease).ok_or_else(changed)
}

struct Found {
    lease: Lease,
    machine: String,
}

async fn find(connection: &mut Connection, state: &str) -> Result<Option<Found>, sqlx::Error> {
    let sql = format!(
        "SELECT owner, host, pid, job, command, since, expires, fence, machine, {} FROM locks WHERE state = $1",
        connection.now()
    );
    let rows = connection.rows(&sql, &[Arg::Text(state)]).await?;
    rows.first().map(found).transpose()
}

fn found(row: &Row) -> Result<Found, sqlx::Error> {
    let expires: i64 = row.get(6)?;
    let now: i64 = row.get(9)?;
    Ok(Found {
        lease: Lease {
            holder: Holder {
                owner: row.get(0)?,
                host: row.get(1)?,
                pid: u32::try_from(row.get::<i64>(2)?).unwrap_or_default(),
                job: row.get(3)?,
                command: row.get(4)?,
            },
            since: time(row.get(5)?),
            expires: time(expires),
            expired: expires <= now,
            fence: u64::try_from(row.get::<i64>(7)?).unwrap_or_default(),
        },
        machine: row.get(8)?,
    })
}

/// A time as the database writes it.
pub(crate) fn time(millis: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
