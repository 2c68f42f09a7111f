//! `scaleway_private_network_attachment`: a server in a private network.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use fleet_transport::http::Verb;
use futures_util::future::join_all;
use serde_json::json;

use super::client::{Acting, Looking, join, macs};
use super::wire;

/// How soon it is worth to look again: it takes the vendor some fifteen seconds.
const SOON: Duration = Duration::from_secs(2);

/// A server in a private network.
///
/// Private networks are switched on for the server if they are not yet, and it is waited for until the network is there.
/// The interface on the Mac is not made by this: it is a VLAN with the number that is given here as `vlan`.
///
/// ```hcl
/// data "scaleway_servers" "builder" {
///   prefix = "builder-"
/// }
///
/// resource "scaleway_private_network" "builders" {
///   name = "builders"
/// }
///
/// resource "scaleway_private_network_attachment" "builder" {
///   server_id          = data.scaleway_servers.builder.servers[0].id
///   private_network_id = scaleway_private_network.builders.id
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Attachment {
    /// The server.
    #[fleet(replace)]
    server_id: String,
    /// The network.
    #[fleet(replace)]
    private_network_id: String,
    /// The zone of the server; that of the provider if it is left out.
    #[fleet(replace, optional_computed)]
    zone: Option<String>,
    /// Given by the vendor.
    #[fleet(computed)]
    id: Option<String>,
    /// The number of the VLAN that carries the network to the server.
    #[fleet(computed)]
    vlan: Option<i64>,
    /// The addresses that are kept for the server, by their ids.
    #[fleet(computed)]
    ipam_ip_ids: Option<Vec<String>>,
}

impl Resource for Attachment {
    const NAME: &'static str = "scaleway_private_network_attachment";
    const ID: Option<&'static str> = Some("the ids of server and network, with `/` between them");

    fn normalize(&mut self) -> Result<(), Misfit> {
        for (name, id) in [("server_id", &self.server_id), ("private_network_id", &self.private_network_id)] {
            if id.is_empty() {
                return Err(Misfit::new(name, "an id is needed"));
            }
        }
        Ok(())
    }
}

impl ApiKind for Attachment {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(reader: &Looking, batch: Vec<At<Attachment>>) -> Vec<Result<Option<Attachment>, Error>> {
        let sought: Vec<Result<Sought, Error>> = batch.into_iter().map(|at| Sought::of(reader, at)).collect();
        let zones: BTreeSet<&str> = sought.iter().flatten().map(|sought| &*sought.zone).collect();
        let listed = zones.into_iter().map(|zone| async move { (zone, attachments(reader, zone).await) });
        let listed: BTreeMap<&str, Result<Vec<wire::Attachment>, Error>> =
            join_all(listed).await.into_iter().collect();
        let answer = |sought: &Result<Sought, Error>| {
            let sought = sought.as_ref().map_err(Clone::clone)?;
            match listed.get(&*sought.zone) {
                Some(Ok(all)) => sought.find(all),
                Some(Err(error)) => Err(error.clone()),
                None => Ok(None),
            }
        };
        sought.iter().map(answer).collect()
    }

    async fn apply(self, writer: &Acting, _: Change<Attachment>) -> Result<Attachment, Error> {
        let Sought { zone, server, network, .. } = Sought::of(&writer.looking, At::Declared(self.clone()))?;
        let doing = format!("cannot put server `{server}` into the network `{network}`");
        let found = writer.looking.server(&zone, &server).await?;
        let found = found.ok_or_else(|| Error::permanent(format!("{doing}: there is no such server")))?;
        let at = join(&macs(&zone), &["servers", &server]);
        match found.vpc_status.as_deref() {
            Some("vpc_disabled") => {
                writer.send(&doing, Verb::Patch, &at, Some(&json!({ "enable_vpc": true }))).await?;
                return Err(switching(&doing));
            }
            Some("vpc_updating") => return Err(switching(&doing)),
            _ => {}
        }
        let wish = json!({ "private_network_id": network, "ipam_ip_ids": [] });
        let made: wire::Attachment = writer.make(&doing, &join(&at, &["private-networks"]), &wish).await?;
        Ok(Attachment { id: Some(made.id), zone: Some(zone), ..self })
    }

    async fn destroy(writer: &Acting, observed: Attachment) -> Result<(), Error> {
        let Sought { zone, server, network, .. } = Sought::of(&writer.looking, At::Recorded(observed))?;
        let doing = format!("cannot take server `{server}` out of the network `{network}`");
        let path = join(&macs(&zone), &["servers", &server, "private-networks", &network]);
        writer.remove(&doing, &path).await
    }
}

/// What is looked for.
struct Sought {
    zone: String,
    server: String,
    network: String,
    /// Those that are known, and meant by nobody.
    except: Vec<String>,
}

impl Sought {
    fn of(reader: &Looking, at: At<Attachment>) -> Result<Sought, Error> {
        let here = || reader.account.zone.clone();
        Ok(match at {
            At::Recorded(it) | At::Declared(it) => Sought {
                zone: it.zone.unwrap_or_else(here),
                server: it.server_id,
                network: it.private_network_id,
                except: Vec::new(),
            },
            At::Begun { wish, except } => Sought {
                except: except.into_iter().filter_map(|known| known.id).collect(),
                ..Sought::of(reader, At::Declared(wish))?
            },
            At::Id(id) => {
                let (server, network) = id.split_once('/').ok_or_else(|| {
                    Error::permanent(format!("`{id}` does not name a server and a network"))
                        .help("write the ids of both, with `/` between them")
                })?;
                Sought { zone: here(), server: server.into(), network: network.into(), except: Vec::new() }
            }
        })
    }

    /// What there is of it. What is on its way cannot be told yet.
    fn find(&self, all: &[wire::Attachment]) -> Result<Option<Attachment>, Error> {
        let is_it = |it: &&wire::Attachment| {
            it.server_id == self.server
                && it.private_network_id == self.network
                && !self.except.contains(&it.id)
        };
        let Some(found) = all.iter().find(is_it) else { return Ok(None) };
        let says = |what: &str| format!("the network `{}` {what} server `{}`", self.network, self.server);
        match (&*found.status, found.vlan) {
            ("attached", Some(vlan)) => {
                let mut addresses = found.ipam_ip_ids.clone();
                addresses.sort();
                Ok(Some(Attachment {
                    server_id: found.server_id.clone(),
                    private_network_id: found.private_network_id.clone(),
                    zone: Some(self.zone.clone()),
                    id: Some(found.id.clone()),
                    vlan: Some(vlan),
                    ipam_ip_ids: Some(addresses),
                }))
            }
            ("attached" | "attaching", _) => Err(Error::transient(says("is on its way to")).after(SOON)),
            ("detaching", _) => Err(Error::transient(says("is being taken away from")).after(SOON)),
            (status, _) => Err(Error::permanent(format!("{}: `{status}`", says("does not work at")))
                .help("take the server out of the network by hand; the next plan puts it in again")),
        }
    }
}

async fn attachments(reader: &Looking, zone: &str) -> Result<Vec<wire::Attachment>, Error> {
    let path = join(&macs(zone), &["server-private-networks"]);
    let query = [("project_id", &*reader.account.project_id)];
    reader.all("cannot list the networks of servers", &path, &query, "server_private_networks").await
}

/// Private networks are not usable on a server for some seconds.
fn switching(doing: &str) -> Error {
    Error::transient(format!("{doing}: private networks are being switched on for it")).after(SOON)
}

#[cfg(test)]
impl Attachment {
    /// A server in a network, as somebody declares it.
    pub(super) fn wish(server: &str, network: &str) -> Attachment {
        Attachment {
            server_id: server.into(),
            private_network_id: network.into(),
            zone: None,
            id: None,
            vlan: None,
            ipam_ip_ids: None,
        }
    }

    pub(super) fn vlan(&self) -> Option<i64> {
        self.vlan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_attached_with_its_vlan_is_there() {
        let sought = Sought { zone: "z".into(), server: "s".into(), network: "n".into(), except: Vec::new() };
        let check = |status: &str, vlan: Option<i64>| {
            let json = json!({ "id": "1", "server_id": "s", "private_network_id": "n", "status": status, "vlan": vlan });
            match sought.find(&[serde_json::from_value(json).unwrap()]) {
                Ok(found) => format!("{:?}", found.and_then(|it| it.vlan)),
                Err(error) => (if error.transient { "later" } else { "never" }).to_owned(),
            }
        };
        assert_eq!(check("attached", Some(7)), "Some(7)");
        assert_eq!(check("attached", None), "later");
        assert_eq!(check("attaching", None), "later");
        assert_eq!(check("detaching", Some(7)), "later");
        for status in ["error", "locked", "unknown_status", "new"] {
            assert_eq!(check(status, Some(7)), "never", "{status}");
        }
        assert_eq!(sought.find(&[]).unwrap(), None);
    }
}
