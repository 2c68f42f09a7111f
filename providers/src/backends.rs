//! What the backends of state take, for the catalogue. The state itself is not a provider's business.

use fleet_derive::Schema;
use fleet_engine::attributes::Attributes;
use fleet_engine::registry::Registry;
use fleet_engine::schema::{Entry, Place, Sort};

/// Keeps the state in a file of its own, which is the default. Made for one person on one machine.
///
/// ```hcl
/// settings {
///   backend "sqlite" {
///     path = ".fleet/state.db"
///   }
/// }
/// ```
#[derive(Clone, Schema)]
struct Sqlite {
    /// Where the file lies; relative to the directory that fleet works in.
    #[fleet(default = ".fleet/state.db")]
    path: String,
}

/// Keeps the state in a PostgreSQL database that several people, pipelines and configurations share.
///
/// The tables are made on first use, in a schema `fleet`. Secrets are compared by digests, and those who share a state
/// must share the key of the digests, too: `digest_key`.
///
/// ```hcl
/// secret "database" {
///   from = "env:DATABASE_URL"
/// }
///
/// secret "digest_key" {
///   from = "env:FLEET_DIGEST_KEY"
/// }
///
/// settings {
///   backend "postgres" {
///     url  = secret.database
///     name = "runners"
///   }
///   digest_key = secret.digest_key
/// }
/// ```
#[derive(Clone, Schema)]
struct Postgres {
    /// How to get there: `postgres://user:password@host/database?sslmode=verify-full`. How much the server has to prove
    /// is said by `sslmode`, as everywhere with PostgreSQL.
    #[fleet(secret)]
    url: String,
    /// Which configuration it is, among those that share the database.
    name: String,
    /// How long a run goes on trying when it loses the database, such as `2m`. After that it stops, and leaves what the
    /// next run has to know in `.fleet/recovery-….jsonl`.
    #[fleet(default = "30s")]
    patience: String,
}

/// Adds the backends to a catalogue.
pub(crate) fn with_backends(registry: Registry) -> Registry {
    let entry = |schema| Entry::new(schema, Place::Api, "");
    registry.with_entry(Sort::Backend, "sqlite", entry(Sqlite::schema())).with_entry(
        Sort::Backend,
        "postgres",
        entry(Postgres::schema()),
    )
}
