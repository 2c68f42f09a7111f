//! The database: opening, reading, writing.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use fleet_engine::address::Address;
use fleet_engine::resource::BoxFuture;
use fleet_engine::state::{Intent, Recorded, State, Store, StoreError};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, Executor, Row};
use uuid::Uuid;

use crate::rows::{self, Columns};
use crate::{cannot, lock_path};

/// The version of the tables.
const FORMAT: i64 = 1;

/// The state, open for writing. One process at a time has it.
#[derive(Debug)]
pub struct Database {
    connection: SqliteConnection,
    path: PathBuf,
    /// Held for as long as the database is open; the system gives it back even after a crash.
    _lock: File,
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
    /// Opens the state for writing, and makes it if it is not there.
    pub async fn open(path: &Path) -> Result<Database, StoreError> {
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
        let mut database = Database { connection, path: path.to_path_buf(), _lock: lock };
        database.create_tables().await?;
        Ok(database)
    }

    /// The state as it is now.
    pub async fn read(&mut self) -> Result<State, StoreError> {
        read_all(&mut self.connection, &self.path).await
    }

    /// Closes the database and waits until its file is whole on its own.
    pub async fn close(self) -> Result<(), StoreError> {
        self.connection.close().await.map_err(|e| cannot("close", &self.path).because(e))
    }

    async fn create_tables(&mut self) -> Result<(), StoreError> {
        let failed = |e| cannot("make", &self.path).because(e);
        let exists = sqlx::query("SELECT 1 FROM sqlite_schema WHERE name = 'meta'")
            .fetch_optional(&mut self.connection)
            .await
            .map_err(failed)?;
        if exists.is_some() {
            return Ok(());
        }
        let mut transaction = self.connection.begin().await.map_err(failed)?;
        transaction.execute(sqlx::raw_sql(include_str!("schema.sql"))).await.map_err(failed)?;
        sqlx::query("INSERT INTO meta (format, lineage, serial) VALUES (?, ?, 0)")
            .bind(FORMAT)
            .bind(Uuid::new_v4().to_string())
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
        transaction.commit().await.map_err(failed)
    }

    async fn write_intent(&mut self, address: &Address, intent: &Intent) -> Result<(), StoreError> {
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
            .execute(&mut self.connection)
            .await
            .map_err(|e| failed(e.into()))?;
        Ok(())
    }

    async fn write_record(
        &mut self,
        address: &Address,
        recorded: Option<&Recorded>,
    ) -> Result<(), StoreError> {
        let failed = cannot_write(&self.path, address);
        let row = recorded.map(Columns::of).transpose().map_err(|e| failed(e.into()))?;
        let written: Result<(), sqlx::Error> = async {
            let mut transaction = self.connection.begin().await?;
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
    fn begin<'a>(
        &'a mut self,
        address: &'a Address,
        intent: &'a Intent,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.write_intent(address, intent))
    }

    fn record<'a>(
        &'a mut self,
        address: &'a Address,
        recorded: Option<&'a Recorded>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.write_record(address, recorded))
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
    Ok(State { recorded: rows::recorded(&resources)?, intents: rows::intents(&journal)? })
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

#[cfg(test)]
mod tests {
    use fleet_engine::provider::Session;
    use fleet_engine::state::Operation;
    use fleet_lang::Value;

    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    fn record(content: &str) -> Recorded {
        Recorded {
            session: Session { provider: "core".into(), alias: Some("other".into()) },
            kind: "core_file".into(),
            version: 1,
            value: Value::object([("content".into(), content.into())].into()),
            depends_on: vec![address("module.m[\"a.b\"].core_value.v[0]")],
        }
    }

    #[tokio::test]
    async fn what_is_written_is_there_after_opening_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in/state.db");
        assert_eq!(crate::read(&path).await.unwrap(), State::default());
        assert!(!path.exists());

        let (a, b) = (address("core_file.a"), address("core_file.b[\"$${x} \\\"\"]"));
        let mut database = Database::open(&path).await.unwrap();
        let intent = Intent { operation: Operation::Create, record: record("one") };
        database.begin(&a, &intent).await.unwrap();
        database.begin(&b, &intent).await.unwrap();
        assert_eq!(database.read().await.unwrap().intents.len(), 2);
        database.record(&a, Some(&record("two"))).await.unwrap();
        drop(database);

        let state = crate::read(&path).await.unwrap();
        assert_eq!(state.recorded, [(a.clone(), record("two"))].into());
        assert_eq!(state.intents, [(b.clone(), intent)].into());

        let mut database = Database::open(&path).await.unwrap();
        database.record(&a, None).await.unwrap();
        database.record(&b, None).await.unwrap();
        database.close().await.unwrap();
        assert_eq!(crate::read(&path).await.unwrap(), State::default());
    }

    #[tokio::test]
    async fn a_commit_is_on_disk_before_it_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let mut database = Database::open(&directory.path().join("state.db")).await.unwrap();
        let mut pragma = async |query: &'static str| -> String {
            let row = sqlx::query(query).fetch_one(&mut database.connection).await.unwrap();
            row.try_get::<String, _>(0).unwrap_or_else(|_| row.get::<i64, _>(0).to_string())
        };
        assert_eq!(pragma("PRAGMA journal_mode").await, "wal");
        // 2 is FULL.
        assert_eq!(pragma("PRAGMA synchronous").await, "2");
    }

    #[tokio::test]
    async fn one_writes_and_others_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let mut first = Database::open(&path).await.unwrap();
        let second = Database::open(&path).await.unwrap_err();
        assert_eq!(second.to_string(), "another fleet is changing this state");
        first.record(&address("core_file.a"), Some(&record("x"))).await.unwrap();
        assert_eq!(crate::read(&path).await.unwrap().recorded.len(), 1);
        first.close().await.unwrap();
        Database::open(&path).await.unwrap();
    }

    #[tokio::test]
    async fn reading_leaves_no_trace() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let mut database = Database::open(&path).await.unwrap();
        database.record(&address("core_file.a"), Some(&record("x"))).await.unwrap();
        database.close().await.unwrap();
        let look = || {
            let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
            let mut files: Vec<_> = names.map(|path| (fs::read(&path).unwrap(), path)).collect();
            files.sort();
            files
        };
        let before = look();
        crate::read(&path).await.unwrap();
        assert!(look() == before, "reading changed a file");
    }

    #[tokio::test]
    async fn a_state_of_another_format_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let mut database = Database::open(&path).await.unwrap();
        sqlx::query("UPDATE meta SET format = 9").execute(&mut database.connection).await.unwrap();
        let refused = database.read().await.unwrap_err();
        assert_eq!(refused.to_string(), "the state has format 9, and this fleet knows format 1");
    }
}
