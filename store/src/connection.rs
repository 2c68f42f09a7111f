//! A connection to either database, and the few places where their SQL differs.
//!
//! Statements are written once, for both. Rows go in as one JSON document for a whole batch, see [`Connection::batch`].

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::str::FromStr;
use std::task::Poll;
use std::time::Duration;

use fleet_engine::state::{StoreError, StoreErrorKind};
use rustix::fs::{Access, access};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgRow};
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteRow, SqliteSynchronous,
};
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Connection as _, Database, Decode, Row as _, Type};
use tokio::time::Instant;

use crate::Backend;
use crate::failure::{of_sqlx, read_only};

/// How long a writer waits for another one to finish its transaction.
const BUSY: Duration = Duration::from_secs(30);
/// How many rows of a large table come at once. The text of more would not stay in the caches of a processor.
const ROWS_AT_ONCE: i64 = 250;
/// What parts the two halves of a row, and rows from each other: no JSON has these characters in it, so that nobody has to
/// read any to find where it ends.
pub(crate) const WITHIN_ROW: char = '\u{1f}';
pub(crate) const BETWEEN_ROWS: char = '\u{1e}';
/// How long one who was turned away waits before it asks again.
const TURN: Duration = Duration::from_millis(10);
/// How long PostgreSQL may take to let us in.
const CONNECT: Duration = Duration::from_secs(10);
/// The schema that holds the tables in PostgreSQL.
const SCHEMA: &str = "fleet";

/// A connection to one of the two.
#[derive(Debug)]
pub(crate) enum Connection {
    Sqlite(Box<SqliteConnection>),
    Postgres(Box<PgConnection>),
}

/// An argument of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg<'a> {
    Int(i64),
    Text(&'a str),
    Optional(Option<&'a str>),
}

/// A column of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    Int(&'static str),
    Text(&'static str),
}

/// A row of an answer.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// What a column of both databases can be read as.
pub(crate) trait Cell<'r>:
    Decode<'r, sqlx::Sqlite> + Type<sqlx::Sqlite> + Decode<'r, sqlx::Postgres> + Type<sqlx::Postgres>
{
}

impl<'r, T> Cell<'r> for T where
    T: Decode<'r, sqlx::Sqlite> + Type<sqlx::Sqlite> + Decode<'r, sqlx::Postgres> + Type<sqlx::Postgres>
{
}

impl Connection {
    /// Connects for writing. A file is made if it is not there; tables are not.
    pub(crate) async fn write(backend: &Backend) -> Result<Connection, StoreError> {
        match backend {
            Backend::Sqlite(path) => {
                let options = sqlite(path)
                    .create_if_missing(true)
                    .busy_timeout(BUSY)
                    .journal_mode(SqliteJournalMode::Wal)
                    .synchronous(SqliteSynchronous::Full)
                    // On macOS a plain fsync does not reach the disk.
                    .pragma("fullfsync", "1")
                    .pragma("checkpoint_fullfsync", "1");
                Connection::sqlite_in_turn(&options, backend).await.map_err(|error| {
                    // SQLite only says that it cannot open the file.
                    if may_write(path) { error } else { read_only(backend, "open") }
                })
            }
            Backend::Postgres { .. } => Connection::postgres(backend).await,
        }
    }

    /// Opens a file that others may be opening for the first time: of those who switch it to a write-ahead log, SQLite
    /// turns away all but one at once, however long they are ready to wait.
    async fn sqlite_in_turn(
        options: &SqliteConnectOptions,
        backend: &Backend,
    ) -> Result<Connection, StoreError> {
        let until = Instant::now() + BUSY;
        loop {
            match Connection::sqlite(options, backend).await {
                Err(error) if error.kind == StoreErrorKind::Lost && Instant::now() < until => {
                    tokio::time::sleep(TURN).await;
                }
                opened => return opened,
            }
        }
    }

    /// Connects for reading; `None` if there is no such file. The connection changes nothing.
    pub(crate) async fn read(backend: &Backend) -> Result<Option<Connection>, StoreError> {
        let Backend::Sqlite(path) = backend else { return Connection::postgres(backend).await.map(Some) };
        let exists = |path: &Path| path.try_exists().map_err(|e| backend.cannot("open").because(e));
        if !exists(path)? {
            return Ok(None);
        }
        let options = sqlite(path).create_if_missing(false).busy_timeout(BUSY);
        if exists(&log(path))? {
            // Somebody writes, or was killed doing so. A connection that may write would tidy up when it closes.
            return Connection::sqlite(&options.read_only(true), backend).await.map(Some);
        }
        // A reader takes part in the bookkeeping of a write-ahead log and must be able to write for that. Where it is
        // not, nobody else can write either.
        let polite = options.clone().pragma("query_only", "1");
        if let Ok(mut connection) = Connection::sqlite(&polite, backend).await {
            let first = connection.rows("SELECT name FROM sqlite_schema LIMIT 1", &[]).await;
            if first.is_ok() {
                return Ok(Some(connection));
            }
        }
        Connection::sqlite(&options.read_only(true).immutable(true), backend).await.map(Some)
    }

    async fn sqlite(options: &SqliteConnectOptions, backend: &Backend) -> Result<Connection, StoreError> {
        let opened = SqliteConnection::connect_with(&options.clone().disable_statement_logging()).await;
        opened.map(|c| Connection::Sqlite(Box::new(c))).map_err(|e| of_sqlx(&e, backend, "open"))
    }

    async fn postgres(backend: &Backend) -> Result<Connection, StoreError> {
        let Backend::Postgres { url, .. } = backend else { unreachable!("called for PostgreSQL alone") };
        // The reason may quote a part of the address, which is a secret.
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| StoreError::new("the address of the PostgreSQL database cannot be understood"))?
            .application_name("fleet")
            .options([("search_path", SCHEMA), ("synchronous_commit", "on")])
            .disable_statement_logging();
        let opened = tokio::time::timeout(CONNECT, PgConnection::connect_with(&options)).await;
        let opened = opened.map_err(|_| {
            backend.cannot("open").of_kind(StoreErrorKind::Lost).because("the server does not answer")
        })?;
        opened.map(|c| Connection::Postgres(Box::new(c))).map_err(|e| of_sqlx(&e, backend, "open"))
    }

    /// Runs a statement and says how many rows it changed.
    pub(crate) async fn run(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<u64, sqlx::Error> {
        let sql = AssertSqlSafe(sql);
        Ok(match self {
            Connection::Sqlite(connection) => {
                let query = sqlx::query_with(sql, bound::<SqliteArguments>(args)?);
                query.execute(&mut **connection).await?.rows_affected()
            }
            Connection::Postgres(connection) => {
                let query = sqlx::query_with(sql, bound::<PgArguments>(args)?);
                query.execute(&mut **connection).await?.rows_affected()
            }
        })
    }

    /// Runs a query.
    pub(crate) async fn rows(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>, sqlx::Error> {
        let sql = AssertSqlSafe(sql);
        Ok(match self {
            Connection::Sqlite(connection) => {
                let query = sqlx::query_with(sql, bound::<SqliteArguments>(args)?);
                query.fetch_all(&mut **connection).await?.into_iter().map(Row::Sqlite).collect()
            }
            Connection::Postgres(connection) => {
                let query = sqlx::query_with(sql, bound::<PgArguments>(args)?);
                query.fetch_all(&mut **connection).await?.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    /// Reads rows of one state, of which there may be very many: they come many at a time, as a text with what
    /// [`array`](Connection::array) makes of each. To fetch them one by one takes several times as long. Each has a `key`
    /// of its own, and they come in its order.
    pub(crate) async fn chunks(
        &mut self,
        (table, filter): (&str, &str),
        (columns, json): (&[&str], &str),
        key: &str,
        backend: &Backend,
        mut take: impl FnMut(&str) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |e| of_sqlx(&e, backend, "read");
        let array = self.array_with((columns, json));
        let all = columns.join(", ");
        let some = format!("SELECT {all}, {json} FROM {table} WHERE state = $1 AND {filter}");
        let state = Arg::Text(backend.name());
        if let Connection::Postgres(_) = self {
            let sql = format!(
                "SELECT string_agg({array}, '{BETWEEN_ROWS}' ORDER BY {key}) FROM \
                 (SELECT *, row_number() OVER (ORDER BY {key}) / {ROWS_AT_ONCE} AS chunk FROM ({some}) AS of_state) \
                 AS numbered GROUP BY chunk ORDER BY chunk"
            );
            let chunks = self.rows(&sql, &[state]).await.map_err(failed)?;
            return chunks.iter().try_for_each(|chunk| take(chunk.get(0).map_err(failed)?));
        }
        // To number the rows would take SQLite longer than to go through them a part at a time.
        let sql = format!(
            "SELECT coalesce(string_agg({array}, '{BETWEEN_ROWS}'), ''), count(*), max({key}) FROM \
             ({some} AND {key} > $2 ORDER BY {key} LIMIT {ROWS_AT_ONCE})"
        );
        let mut rows = self.rows(&sql, &[state, Arg::Text("")]).await.map_err(failed)?;
        loop {
            let row = rows.first().ok_or_else(|| failed(sqlx::Error::RowNotFound))?;
            let count: i64 = row.get(1).map_err(failed)?;
            if count < ROWS_AT_ONCE {
                return take(row.get(0).map_err(failed)?);
            }
            let following = {
                let args = [state, Arg::Text(row.get(2).map_err(failed)?)];
                // SQLite works on a thread of its own: it prepares the next while these are taken.
                let mut next = pin!(self.rows(&sql, &args));
                let early = poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await;
                take(row.get(0).map_err(failed)?)?;
                match early {
                    Poll::Ready(rows) => rows,
                    Poll::Pending => next.await,
                }
            };
            rows = following.map_err(failed)?;
        }
    }

    /// Runs several statements that have neither arguments nor answers.
    pub(crate) async fn script(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        match self {
            Connection::Sqlite(connection) => sqlx::raw_sql(sql).execute(&mut **connection).await.map(drop),
            Connection::Postgres(connection) => sqlx::raw_sql(sql).execute(&mut **connection).await.map(drop),
        }
    }

    /// Begins a transaction that reads: all it sees is of one moment.
    pub(crate) async fn begin_reading(&mut self) -> Result<(), sqlx::Error> {
        self.script(match self {
            Connection::Sqlite(_) => "BEGIN",
            Connection::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        })
        .await
    }

    /// Begins a transaction that writes.
    pub(crate) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        self.script(match self {
            // One that starts by reading could find, when it comes to write, that somebody else was faster.
            Connection::Sqlite(_) => "BEGIN IMMEDIATE",
            Connection::Postgres(_) => "BEGIN",
        })
        .await
    }

    /// Ends a transaction: commits if all went well, else undoes it.
    pub(crate) async fn end<T>(&mut self, outcome: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        let committed = match outcome {
            Ok(value) => self.script("COMMIT").await.map(|()| value),
            Err(error) => Err(error),
        };
        if committed.is_err() {
            // Without effect where the failure has undone it already.
            let _ = self.script("ROLLBACK").await;
        }
        committed
    }

    /// Closes; a file is then whole on its own.
    pub(crate) async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            Connection::Sqlite(connection) => connection.close().await,
            Connection::Postgres(connection) => connection.close().await,
        }
    }

    /// The milliseconds since 1970, by the clock of the database.
    pub(crate) fn now(&self) -> &'static str {
        match self {
            Connection::Sqlite(_) => "CAST(unixepoch('subsec') * 1000 AS BIGINT)",
            Connection::Postgres(_) => "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }

    /// Some columns of a row as a JSON array.
    pub(crate) fn array(&self, columns: &[&str]) -> String {
        let build = match self {
            Connection::Sqlite(_) => "json_array",
            Connection::Postgres(_) => "json_build_array",
        };
        format!("CAST({build}({}) AS TEXT)", columns.join(", "))
    }

    /// A row as a text: the JSON array of some columns, and the column `json`, which holds JSON and goes in as it is. As a
    /// text among the others it would be escaped here and unescaped by the reader, which takes longer than all else.
    pub(crate) fn array_with(&self, (columns, json): (&[&str], &str)) -> String {
        format!("{} || '{WITHIN_ROW}' || {json}", self.array(columns))
    }

    /// A table made of the JSON array of objects in `$1`.
    pub(crate) fn batch(&self, columns: &[Column]) -> String {
        let list = |write: fn(&Column) -> String| columns.iter().map(write).collect::<Vec<_>>().join(", ");
        match self {
            Connection::Sqlite(_) => {
                let columns = list(|column| format!("value ->> '{0}' AS {0}", column.name()));
                format!("(SELECT {columns} FROM json_each($1)) AS batch")
            }
            Connection::Postgres(_) => {
                let columns = list(|column| match column {
                    Column::Int(name) => format!("{name} BIGINT"),
                    Column::Text(name) => format!("{name} TEXT"),
                });
                format!("json_to_recordset(CAST($1 AS JSON)) AS batch({columns})")
            }
        }
    }
}

impl Column {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Column::Int(name) | Column::Text(name) => name,
        }
    }
}

impl Row {
    /// A column by its place.
    pub(crate) fn get<'r, T: Cell<'r>>(&'r self, column: usize) -> Result<T, sqlx::Error> {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }
}

/// The write-ahead log of a file.
pub(crate) fn log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Whether the file, if it is there, and its directory may be written.
fn may_write(path: &Path) -> bool {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let both = [path, directory.unwrap_or(Path::new("."))];
    let denied = [rustix::io::Errno::ACCESS, rustix::io::Errno::PERM, rustix::io::Errno::ROFS];
    !both.into_iter().any(|path| access(path, Access::WRITE_OK).is_err_and(|e| denied.contains(&e)))
}

fn sqlite(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path)
}

fn bound<A>(args: &[Arg<'_>]) -> Result<A, sqlx::Error>
where
    A: Arguments,
    for<'t> i64: sqlx::Encode<'t, A::Database> + Type<A::Database>,
    for<'t> &'t str: sqlx::Encode<'t, A::Database> + Type<A::Database>,
    for<'t> Option<&'t str>: sqlx::Encode<'t, A::Database> + Type<A::Database>,
    A::Database: Database,
{
    let mut bound = A::default();
    for arg in args {
        match *arg {
            Arg::Int(number) => bound.add(number),
            Arg::Text(text) => bound.add(text),
            Arg::Optional(text) => bound.add(text),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(bound)
}
