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
    /// Where the file lies; relative to the directory that fleet works in. A text without expressions in it.
    #[fleet(default = ".fleet/state.db")]
    path: String,
}

/// Keeps the state in a PostgreSQL database that several people, pipelines and configurations share.
///
/// ```hcl
/// secret "database" {
///   from = "env:DATABASE_URL"
/// }
///
/// settings {
///   backend "postgres" {
///     url  = secret.database
///     name = "runners"
///   }
/// }
/// ```
#[derive(Clone, Schema)]
struct Postgres {
    /// How to get there: `postgres://user:password@host/database`.
    #[fleet(secret)]
    url: String,
    /// Which configuration it is, among those that share the database.
    name: String,
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
