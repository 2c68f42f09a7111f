//! `data "test_server"`: a server that somebody else made.

use fleet_derive::Schema;
use fleet_engine::resource::{DataKind, Error};

use crate::provider::Looking;
use crate::server::named;

/// Reads a server of the test world by its name. That there is none is an error.
///
/// ```hcl
/// data "test_server" "web" {
///   name = "web"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Schema)]
pub struct ServerData {
    /// What it is called.
    pub name: String,
    /// Where it stands.
    #[fleet(default = "a")]
    pub zone: String,
    /// Given by the world.
    #[fleet(computed)]
    pub id: Option<String>,
    /// How large it is.
    #[fleet(computed)]
    pub size: Option<i64>,
    /// Where it is reached.
    #[fleet(computed)]
    pub address: Option<String>,
}

impl DataKind for ServerData {
    const NAME: &'static str = "test_server";
    type Reader = Looking;

    async fn read(reader: &Looking, batch: Vec<ServerData>) -> Vec<Result<ServerData, Error>> {
        let all = match reader.servers().await {
            Ok(all) => all,
            Err(error) => return batch.iter().map(|_| Err(error.clone())).collect(),
        };
        let answer = |asked: ServerData| {
            let found = named(&all, &asked.name, &asked.zone)?.ok_or_else(|| {
                Error::permanent(format!("there is no server `{}` in zone `{}`", asked.name, asked.zone))
            })?;
            let (id, address) = (found.id.clone(), found.address.clone());
            Ok(ServerData { id, size: Some(found.size), address, ..asked })
        };
        batch.into_iter().map(answer).collect()
    }
}
