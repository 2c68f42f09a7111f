//! `data "scaleway_credentials"`: who logs in to a Mac, and by which password.

use fleet_derive::Schema;
use fleet_engine::resource::{DataKind, Error};
use futures_util::future::join_all;

use super::PROVIDER_ID;
use super::client::Looking;

/// Who logs in to a server, and the password of that user: for what cannot be done with a key, such as a login at the screen.
///
/// The connection of a fleet needs nothing of this: it has the password for `sudo` from the vendor by itself. In a fleet,
/// `server = host.provider_id` asks for the machine of each slot.
///
/// ```hcl
/// data "scaleway_servers" "mine" {
///   prefix = "runner-"
/// }
///
/// data "scaleway_credentials" "of" {
///   for_each = { for server in data.scaleway_servers.mine.servers : server.name => server.id }
///   server   = each.value
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Credentials {
    /// The server, by what the vendor calls it for ever, or by what Kubernetes does: `scw-applesilicon://ZONE/ID`.
    server: String,
    /// The zone; that of `server`, if it names one, or of the provider if it is left out.
    zone: Option<String>,
    /// Who logs in.
    #[fleet(computed)]
    user: Option<String>,
    /// The password. It is null where the vendor keeps it to itself, which it may at any time.
    #[fleet(computed, secret)]
    password: Option<String>,
}

impl DataKind for Credentials {
    const NAME: &'static str = "scaleway_credentials";
    type Reader = Looking;

    async fn read(reader: &Looking, batch: Vec<Credentials>) -> Vec<Result<Credentials, Error>> {
        join_all(batch.into_iter().map(|asked| asked.tell(reader))).await
    }
}

impl Credentials {
    async fn tell(self, reader: &Looking) -> Result<Credentials, Error> {
        let named = self.server.strip_prefix(PROVIDER_ID).and_then(|rest| rest.split_once('/'));
        let (zone, id) = named.map_or((None, &*self.server), |(zone, id)| (Some(zone), id));
        let zone = self.zone.as_deref().or(zone).unwrap_or(&reader.account.zone);
        let found = reader.server(zone, id).await?;
        let found = found.ok_or_else(|| Error::permanent(format!("there is no server `{id}` in {zone}")))?;
        let password = found.sudo_password().map(|secret| secret.0);
        Ok(Credentials { user: found.user(), password, ..self })
    }
}
