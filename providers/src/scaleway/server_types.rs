//! `data "scaleway_server_types"`: the models of Macs that can be ordered.

use fleet_derive::Schema;
use fleet_engine::resource::{DataKind, Error};

use super::client::{Looking, join, macs};
use super::{each, wire};

/// The types of servers that a zone has, and whether there are any left.
///
/// ```hcl
/// data "scaleway_server_types" "here" {}
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct ServerTypes {
    /// The zone; that of the provider if it is left out.
    zone: Option<String>,
    /// The types, by name.
    #[fleet(computed)]
    types: Option<Vec<Row>>,
}

/// One type.
#[derive(Clone, Debug, PartialEq, Schema)]
struct Row {
    /// Such as `M2-L`.
    name: String,
    /// The processor.
    cpu: String,
    /// Its cores.
    cores: i64,
    /// The memory, in bytes.
    memory: i64,
    /// The disk, in bytes.
    disk: i64,
    /// `high_stock`, `low_stock`, `no_stock` or `unknown_stock`.
    stock: String,
    /// For how long one is rented at least, such as `86400s`.
    minimum_lease: Option<String>,
    /// What is installed if nobody says otherwise.
    default_os: Option<String>,
}

impl DataKind for ServerTypes {
    const NAME: &'static str = "scaleway_server_types";
    type Reader = Looking;

    async fn read(reader: &Looking, batch: Vec<ServerTypes>) -> Vec<Result<ServerTypes, Error>> {
        let zone_of = |asked: &ServerTypes| asked.zone.clone().unwrap_or_else(|| reader.account.zone.clone());
        let list = |zone: String| async move {
            let path = join(&macs(&zone), &["server-types"]);
            reader.all("cannot list the types of servers", &path, &[], "server_types").await
        };
        each(batch, zone_of, list, describe).await
    }
}

fn describe(asked: ServerTypes, all: &[wire::ServerType]) -> ServerTypes {
    let mut types: Vec<Row> = all.iter().cloned().map(Row::from).collect();
    types.sort_by(|a, b| a.name.cmp(&b.name));
    ServerTypes { types: Some(types), ..asked }
}

impl From<wire::ServerType> for Row {
    fn from(found: wire::ServerType) -> Row {
        Row {
            name: found.name,
            cpu: found.cpu.name,
            cores: found.cpu.core_count,
            memory: found.memory.capacity,
            disk: found.disk.capacity,
            stock: found.stock,
            minimum_lease: found.minimum_lease_duration,
            default_os: found.default_os.map(|os| os.name),
        }
    }
}

#[cfg(test)]
impl ServerTypes {
    pub(super) fn asked() -> ServerTypes {
        ServerTypes { zone: None, types: None }
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.types.iter().flatten().map(|row| &*row.name).collect()
    }
}
