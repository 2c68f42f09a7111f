//! What a database complains about → [`StoreError`], without secrets.

use fleet_engine::state::{StoreError, StoreErrorKind};

use crate::Backend;

/// A cause, with nothing in it that must not be shown.
#[derive(Debug)]
struct Cause(String);

/// The error that something could not be done, and why.
pub(crate) fn of_sqlx(error: &sqlx::Error, backend: &Backend, verb: &str) -> StoreError {
    let kind = kind_of(error);
    let message = match kind {
        StoreErrorKind::Full => {
            format!("{}: there is no room left; free some and run again", backend.cannot(verb).message)
        }
        StoreErrorKind::ReadOnly => read_only(backend, verb).message,
        _ => backend.cannot(verb).message,
    };
    let cause = match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    };
    StoreError::new(message).of_kind(kind).because(Cause(hide(cause, backend)))
}

/// The error that the state must not be written.
pub(crate) fn read_only(backend: &Backend, verb: &str) -> StoreError {
    let message = format!("{}: it must not be written", backend.cannot(verb).message);
    StoreError::new(message).of_kind(StoreErrorKind::ReadOnly)
}

fn kind_of(error: &sqlx::Error) -> StoreErrorKind {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            match code.parse::<i64>() {
                // SQLite numbers its errors, and refines them in the higher bits. 4874: no room for the shared memory.
                Ok(number) if code.len() < 5 => match number & 0xff {
                    13 => StoreErrorKind::Full,
                    8 => StoreErrorKind::ReadOnly,
                    11 | 26 => StoreErrorKind::Damaged,
                    // Somebody has kept it locked for longer than we wait.
                    5 | 6 => StoreErrorKind::Lost,
                    _ if number == 4874 => StoreErrorKind::Full,
                    _ => StoreErrorKind::Other,
                },
                // PostgreSQL has five letters or digits, of which the first two are a class.
                _ => match &*code {
                    "53100" => StoreErrorKind::Full,
                    "25006" => StoreErrorKind::ReadOnly,
                    "57P01" | "57P02" | "57P03" | "53300" => StoreErrorKind::Lost,
                    code if code.starts_with("08") => StoreErrorKind::Lost,
                    _ => StoreErrorKind::Other,
                },
            }
        }
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => StoreErrorKind::Lost,
        _ => StoreErrorKind::Other,
    }
}

/// Takes the address of the database and its password out of a text.
fn hide(text: String, backend: &Backend) -> String {
    let Backend::Postgres { url, .. } = backend else { return text };
    let password = url.split_once("://").and_then(|(_, rest)| {
        let (user, _) = rest.rsplit_once('@')?;
        Some(user.split_once(':')?.1)
    });
    let hidden = |text: String, secret: &str| {
        if secret.is_empty() { text } else { text.replace(secret, "(hidden)") }
    };
    let text = hidden(text, url);
    password.map_or(text.clone(), |password| hidden(text, password))
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cause {}
