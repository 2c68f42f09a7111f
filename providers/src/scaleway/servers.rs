//! `data "scaleway_servers"`: the Macs of a project.

use fleet_derive::Schema;
use fleet_engine::resource::{DataKind, Error};

use super::client::Looking;
use super::{each, os, wire};

/// The servers of the project in a zone, whosever they are.
///
/// ```hcl
/// data "scaleway_servers" "free" {
///   prefix = "pool-"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Servers {
    /// The zone; that of the provider if it is left out.
    zone: Option<String>,
    /// What the names start with; all servers if it is left out.
    prefix: Option<String>,
    /// The servers, the oldest first.
    #[fleet(computed)]
    servers: Option<Vec<Row>>,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Schema)]
struct Row {
    /// What the vendor calls it for ever.
    id: String,
    /// What anybody may call it.
    name: String,
    /// The type, such as `M2-L`.
    r#type: String,
    /// Where it stands.
    zone: String,
    /// What it is doing, in the vendor's word.
    status: String,
    /// Whether it was ever ready.
    delivered: bool,
    /// Where it is reached.
    address: Option<String>,
    /// The system that was installed, such as `macos-tahoe-26.3`.
    os: Option<String>,
    /// The family of that, such as `Tahoe`.
    os_family: Option<String>,
    /// When it was ordered.
    created_at: Option<String>,
    /// Before this, it cannot be deleted.
    deletable_at: Option<String>,
    /// Whether it will be deleted then.
    deletion_scheduled: bool,
    /// Words about it, which only the vendor can change.
    tags: Vec<String>,
}

impl DataKind for Servers {
    const NAME: &'static str = "scaleway_servers";
    type Reader = Looking;

    async fn read(reader: &Looking, batch: Vec<Servers>) -> Vec<Result<Servers, Error>> {
        let zone_of = |asked: &Servers| asked.zone.clone().unwrap_or_else(|| reader.account.zone.clone());
        let list = |zone: String| async move { reader.servers("cannot list the servers", &zone).await };
        each(batch, zone_of, list, describe).await
    }
}

fn describe(asked: Servers, all: &[wire::Server]) -> Servers {
    let prefix = asked.prefix.as_deref().unwrap_or_default();
    let mut servers: Vec<Row> =
        all.iter().filter(|server| server.name.starts_with(prefix)).cloned().map(Row::from).collect();
    servers.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
    Servers { servers: Some(servers), ..asked }
}

impl From<wire::Server> for Row {
    fn from(server: wire::Server) -> Row {
        Row {
            os_family: server.os.as_ref().map(os::family_of),
            os: server.os.map(|os| os.name),
            id: server.id,
            name: server.name,
            r#type: server.model,
            zone: server.zone,
            status: server.status,
            delivered: server.delivered,
            address: server.ip.filter(|ip| !ip.is_empty()),
            created_at: server.created_at,
            deletable_at: server.deletable_at,
            deletion_scheduled: server.deletion_scheduled,
            tags: server.tags,
        }
    }
}

#[cfg(test)]
impl Servers {
    pub(super) fn asked(prefix: Option<&str>) -> Servers {
        Servers { zone: None, prefix: prefix.map(str::to_owned), servers: None }
    }

    pub(super) fn count(&self) -> usize {
        self.servers.iter().flatten().count()
    }
}
