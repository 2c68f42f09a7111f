//! The database: opening, reading, writing.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fleet_engine::address::Address;
use fleet_engine::resource::BoxFuture;
use fleet_engine::state::{Intent, Recorded, State, Store, StoreError, Write};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, Executor, Row};
use uuid::Uuid;

use crate::lock::{Holder, OpenError};
use crate::rows::{self, Columns};
use crate::{Backend, cannot, lock_path};

/// The version of the tables.
const FORMAT: i64 = 1;

/// The state, open for writing. One process at a time has it.
#[derive(Debug)]
pub struct Database {
    connection: tokio::sync::Mutex<SqliteConnection>,
    path: PathBuf,
    /// Held for as long as the database is open; the system gives it back even after a crash.
    _lock: File,
}

/// How a run ended, as the history of the state tells it. What was made, changed and removed is counted on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Steps that failed.
    pub failed: u64,
    /// Steps that were not begun, because of others or an interruption.
    pub skipped: u64,
    /// Steps whose outcome nobody knows.
    pub unknown: u64,
}

/// Reads the whole state without leaving a trace.
pub(crate) async fn snapshot(path: &Path) -> Result<State, StoreError> {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(false);
    // A reader of a write-ahead log takes part in its bookkeeping and needs to write for that, but changes nothing.
    // Where even that is not allowed, nobody else can write either.
    let opened = match SqliteConnection::connect_with(&options.clone().pragma("query_only", "1")).await {
        Ok(connection) => Ok(connection),
        Err(_) => SqliteConnection::connect_with(&options.read_only(true).immutable(true)).await,
    };
    let mut connection = opened.map_err(|e| cannot("open", path).because(e))?;
    let state = read_all(&mut connection, path).await;
    connection.close().await.map_err(|e| cannot("read", path).because(e))?;
    state
}

impl Database {
    /// Opens the state for writing, and makes it if it is not there. Waits for the lock for as long as told.
    pub async fn open(
        backend: &Backend,
        _holder: &Holder,
        _wait: Option<Duration>,
    ) -> Result<Database, OpenError> {
        let Backend::Sqlite(path) = backend else { return Err(backend.cannot("open").into()) };
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(|e| cannot("open", path).because(e))?;
        }
        let lock = lock(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            // On macOS a plain fsync does not reach the disk.
            .pragma("fullfsync", "1");
        let connection = SqliteConnection::connect_with(&options).await;
        let connection = connection.map_err(|e| cannot("open", path).because(e))?;
        let mut database = Database {
            connection: tokio::sync::Mutex::new(connection),
            path: path.to_path_buf(),
            _lock: lock,
        };
        database.create_tables().await?;
        Ok(database)
    }

    /// The state as it is now.
    pub async fn read(&self) -> Result<State, StoreError> {
        read_all(&mut *self.connection.lock().await, &self.path).await
    }

    /// Closes the database and waits until its file is whole on its own.
    pub async fn close(self, _summary: Summary) -> Result<(), StoreError> {
        self.connection.into_inner().close().await.map_err(|e| cannot("close", &self.path).because(e))
    }

    async fn create_tables(&mut self) -> Result<(), StoreError> {
        let failed = |e| cannot("make", &self.path).because(e);
        let exists = sqlx::query("SELECT 1 FROM sqlite_schema WHERE name = 'meta'")
            .fetch_optional(&mut *self.connection.lock().await)
            .await
            .map_err(failed)?;
        if exists.is_some() {
            return Ok(());
        }
        let mut connection = self.connection.lock().await;
        let mut transaction = connection.begin().await.map_err(failed)?;
        transaction.execute(sqlx::raw_sql(include_str!("schema.sql"))).await.map_err(failed)?;
        sqlx::query("INSERT INTO meta (format, lineage, serial) VALUES (?, ?, 0)")
            .bind(FORMAT)
            .bind(Uuid::new_v4().to_string())
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
        transaction.commit().await.map_err(failed)
    }

    async fn write_intent(&self, address: &Address, intent: &Intent) -> Result<(), StoreError> {
        let failed = cannot_write(&self.path, address);
        let row = Columns::of(&intent.record).map_err(|e| failed(e.into()))?;
        sqlx::query("INSERT OR REPLACE INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
            .bind(address.to_string())
            .bind(intent.operation.word())
            .bind(row.provider)
            .bind(row.alias)
            .bind(row.kind)
            .bind(row.version)
            .bind(row.value)
            .bind(row.depends_on)
            .execute(&mut *self.connection.lock().await)
            .await
            .map_err(|e| failed(e.into()))?;
        Ok(())
    }

    async fn write_record(&self, address: &Address, recorded: Option<&Recorded>) -> Result<(), StoreError> {
        let failed = cannot_write(&self.path, address);
        let row = recorded.map(Columns::of).transpose().map_err(|e| failed(e.into()))?;
        let written: Result<(), sqlx::Error> = async {
            let mut connection = self.connection.lock().await;
            let mut transaction = connection.begin().await?;
            let address = address.to_string();
            let query = match row {
                Some(row) => sqlx::query("INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?, ?, ?, ?)")
                    .bind(&address)
                    .bind(row.provider)
                    .bind(row.alias)
                    .bind(row.kind)
                    .bind(row.version)
                    .bind(row.value)
                    .bind(row.depends_on),
                None => sqlx::query("DELETE FROM resources WHERE address = ?").bind(&address),
            };
            query.execute(&mut *transaction).await?;
            let close = sqlx::query("DELETE FROM journal WHERE address = ?").bind(&address);
            close.execute(&mut *transaction).await?;
            sqlx::query("UPDATE meta SET serial = serial + 1").execute(&mut *transaction).await?;
            transaction.commit().await
        }
        .await;
        written.map_err(|e| failed(e.into()))
    }
}

impl Store for Database {
    fn write(&self, write: Write) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            match write {
                Write::Begin { object, intent } => self.write_intent(&object.address, &intent).await,
                Write::Settle { object, recorded } => {
                    self.write_record(&object.address, recorded.as_ref()).await
                }
                Write::Depose { .. } | Write::Move { .. } | Write::Outputs(_) => Ok(()),
            }
        })
    }
}

async fn read_all(connection: &mut SqliteConnection, path: &Path) -> Result<State, StoreError> {
    let failed = |e| cannot("read", path).because(e);
    // One transaction, so that both tables are of one moment.
    let mut transaction = connection.begin().await.map_err(failed)?;
    let meta = sqlx::query("SELECT format FROM meta").fetch_one(&mut *transaction).await.map_err(failed)?;
    let format: i64 = meta.try_get("format").map_err(failed)?;
    if format != FORMAT {
        let message = format!("the state has format {format}, and this fleet knows format {FORMAT}");
        return Err(StoreError::new(message));
    }
    let resources =
        sqlx::query("SELECT * FROM resources").fetch_all(&mut *transaction).await.map_err(failed)?;
    let journal = sqlx::query("SELECT * FROM journal").fetch_all(&mut *transaction).await.map_err(failed)?;
    Ok(State { recorded: rows::recorded(&resources)?, intents: rows::intents(&journal)?, ..State::default() })
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let failed = |e| cannot("lock", path).because(e);
    let file = File::create(lock_path(path)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::new("another fleet is changing this state")),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn cannot_write(
    path: &Path,
    address: &Address,
) -> impl Fn(Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    let message = format!("cannot write {address} to the state in `{}`", path.display());
    move |cause| StoreError::new(message.clone()).because(cause)
}
