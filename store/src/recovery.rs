//! What was done while the database was lost: written to a file beside, settled by the next run.
//!
//! A file is one run's: `recovery-….jsonl`, with a first line that says whose it is, and a line for each step whose
//! outcome could not be written to the database. It holds no secrets, because records hold none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use fleet_engine::state::{Object, StoreError, StoreErrorKind, Write};
use serde::{Deserialize, Serialize};

use crate::Backend;
use crate::connection::{Arg, Connection};
use crate::entry::{Entry, Name};
use crate::failure::of_sqlx;
use crate::lease::Grip;
use crate::rows::Key;

/// Where this run writes what it cannot store.
#[derive(Debug)]
pub(crate) struct Recovery {
    path: PathBuf,
    whose: Whose,
    /// Open once there is something in it.
    file: Option<File>,
}

/// The file of an earlier run.
#[derive(Debug)]
pub(crate) struct Found {
    path: PathBuf,
    whose: Whose,
    writes: Vec<Write>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Whose {
    format: u32,
    state: String,
    lineage: String,
    run: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Settle { object: Name, recorded: Option<Entry> },
    Depose { object: Name, number: u32, recorded: Entry },
}

impl Recovery {
    /// Of the run that has this grip on the state.
    pub(crate) fn of(backend: &Backend, grip: &Grip) -> Recovery {
        let whose = Whose {
            format: 1,
            state: backend.name().into(),
            lineage: grip.lineage.clone(),
            run: grip.run.clone(),
        };
        let path = backend.recovery().join(format!("recovery-{}.jsonl", grip.run));
        Recovery { path, whose, file: None }
    }

    /// Keeps what could not be stored, and says where in the error. What was only about to be done, or was decided anew
    /// by somebody who has taken over, needs no keeping.
    pub(crate) fn keep<'a>(
        &mut self,
        writes: impl Iterator<Item = &'a Write>,
        mut error: StoreError,
    ) -> StoreError {
        if error.kind == StoreErrorKind::Fenced {
            return error;
        }
        let lines: Vec<String> = writes.filter_map(line).collect();
        if lines.is_empty() {
            return error;
        }
        // If that fails too, the intents are still open: the next run settles them by looking.
        if self.append(&lines).is_ok() {
            error.recovery = Some(self.path.display().to_string().into());
        }
        error
    }

    fn append(&mut self, lines: &[String]) -> io::Result<()> {
        let mut text = String::new();
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let directory = self.path.parent().unwrap_or(Path::new("."));
                fs::create_dir_all(directory)?;
                let file = OpenOptions::new().create_new(true).append(true).mode(0o600).open(&self.path)?;
                File::open(directory)?.sync_all()?;
                text.push_str(&serde_json::to_string(&self.whose)?);
                text.push('\n');
                none.insert(file)
            }
        };
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

/// The files that earlier runs of this state have left.
pub(crate) fn files(backend: &Backend, grip: &Grip) -> Result<Vec<Found>, StoreError> {
    let directory = backend.recovery();
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(directory).because(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| unreadable(directory).because(e))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !(name.starts_with("recovery-") && name.ends_with(".jsonl")) {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|e| unreadable(&path).because(e))?;
        let mut lines = text.lines();
        // A file without its first line was cut off when it was made, and so has nothing in it.
        let Some(Ok(whose)) = lines.next().map(serde_json::from_str::<Whose>) else { continue };
        if whose.lineage != grip.lineage || whose.state != backend.name() {
            continue;
        }
        // A line that cannot be read was cut off too. Its intent is still open, and settled by looking.
        let writes = lines.filter_map(|line| serde_json::from_str(line).ok()).filter_map(write).collect();
        found.push(Found { path, whose, writes });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

impl Found {
    /// What is not settled yet: those whose intent is still open and was begun by the run that wrote the file.
    pub(crate) async fn still_open(
        &self,
        connection: &mut Connection,
        backend: &Backend,
    ) -> Result<Vec<Write>, StoreError> {
        let mut open = Vec::new();
        for write in &self.writes {
            let key = match write {
                Write::Settle { object, .. } => Key::of(object),
                Write::Depose { address, .. } => Key::of(&Object::current(address.clone())),
                _ => continue,
            };
            let sql = "SELECT 1 FROM journal WHERE state = $1 AND address = $2 AND deposed = $3 AND run = $4";
            let args = [
                Arg::Text(backend.name()),
                Arg::Text(&key.address),
                Arg::Int(key.deposed),
                Arg::Text(&self.whose.run),
            ];
            let rows = connection.rows(sql, &args).await.map_err(|e| of_sqlx(&e, backend, "read"))?;
            if !rows.is_empty() {
                open.push(write.clone());
            }
        }
        Ok(open)
    }

    /// All of it is in the database.
    pub(crate) fn remove(self) -> Result<(), StoreError> {
        let failed = |e| StoreError::new(format!("cannot remove `{}`", self.path.display())).because(e);
        fs::remove_file(&self.path).map_err(failed)
    }
}

fn line(write: &Write) -> Option<String> {
    let line = match write {
        Write::Settle { object, recorded } => {
            let recorded = recorded.as_ref().map(Entry::of).transpose().ok()?;
            Line::Settle { object: Name::of(object), recorded }
        }
        Write::Depose { address, number, recorded } => {
            let object = Name::new(address, None);
            Line::Depose { object, number: *number, recorded: Entry::of(recorded).ok()? }
        }
        Write::Begin { .. }
        | Write::Withdraw { .. }
        | Write::Move { .. }
        | Write::Outputs(_)
        | Write::Mark { .. } => return None,
    };
    serde_json::to_string(&line).ok()
}

fn write(line: Line) -> Option<Write> {
    Some(match line {
        Line::Settle { object, recorded } => {
            let recorded = recorded.map(Entry::recorded).transpose().ok()?;
            Write::Settle { object: object.object().ok()?, recorded }
        }
        Line::Depose { object, number, recorded } => {
            let address = object.object().ok()?.address;
            Write::Depose { address, number, recorded: recorded.recorded().ok()? }
        }
    })
}

fn unreadable(path: &Path) -> StoreError {
    StoreError::new(format!("cannot look for recovery files: `{}` cannot be read", path.display()))
}
