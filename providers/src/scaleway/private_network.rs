//! `scaleway_private_network`: a network that servers of a project share.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use fleet_transport::http::Verb;
use futures_util::future::join_all;
use serde_json::json;

use super::client::{Acting, Looking, join, networks};
use super::wire;

/// A private network of a project.
///
/// Servers are put into it by `scaleway_private_network_attachment`. It is found by its name as long as nothing is
/// recorded, so that there should be only one of a name. A network with servers in it is not removed by the vendor.
///
/// ```hcl
/// resource "scaleway_private_network" "runners" {
///   name = "runners"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct PrivateNetwork {
    /// What it is called.
    name: String,
    /// Its IPv4 addresses; chosen by the vendor if they are left out.
    #[fleet(replace, optional_computed)]
    subnet: Option<String>,
    /// Words about it, in alphabetical order.
    #[fleet(default = Vec::new())]
    tags: Vec<String>,
    /// The region it is in; that of the provider's zone if it is left out.
    #[fleet(replace, optional_computed)]
    region: Option<String>,
    /// The project it belongs to; that of the provider if it is left out.
    #[fleet(replace, optional_computed)]
    project_id: Option<String>,
    /// The VPC it belongs to; the default one of the project if it is left out.
    #[fleet(replace, optional_computed)]
    vpc_id: Option<String>,
    /// Given by the vendor.
    #[fleet(computed)]
    id: Option<String>,
    /// Its IPv6 addresses.
    #[fleet(computed)]
    ipv6_subnet: Option<String>,
}

/// A region, and a project.
type Place = (String, String);

impl Resource for PrivateNetwork {
    const NAME: &'static str = "scaleway_private_network";
    const ID: Option<&'static str> = Some("the id of the network");

    fn normalize(&mut self) -> Result<(), Misfit> {
        if self.name.is_empty() {
            return Err(Misfit::new("name", "a name is needed"));
        }
        if let Some(subnet) = &self.subnet {
            let parts = subnet.split_once('/').and_then(|(address, length)| {
                Some((address.parse::<Ipv4Addr>().ok()?, length.parse::<u32>().ok().filter(|n| *n <= 32)?))
            });
            let Some((address, length)) = parts else {
                return Err(Misfit::new("subnet", "IPv4 addresses are written as `172.16.8.0/22`"));
            };
            let within = u32::MAX.checked_shr(length).unwrap_or(0);
            if address.to_bits() & within != 0 {
                let network = Ipv4Addr::from_bits(address.to_bits() & !within);
                return Err(Misfit::new(
                    "subnet",
                    format!("the network of these addresses is `{network}/{length}`"),
                ));
            }
        }
        self.tags.sort();
        self.tags.dedup();
        Ok(())
    }
}

impl ApiKind for PrivateNetwork {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(
        reader: &Looking,
        batch: Vec<At<PrivateNetwork>>,
    ) -> Vec<Result<Option<PrivateNetwork>, Error>> {
        let places: BTreeSet<Place> = batch.iter().map(|at| place_of(reader, at)).collect();
        let listed = places.into_iter().map(|place| async move {
            let found = networks_of(reader, &place).await;
            (place, found)
        });
        let listed: BTreeMap<Place, Result<Vec<PrivateNetwork>, Error>> =
            join_all(listed).await.into_iter().collect();
        let answer = |at: &At<PrivateNetwork>| match listed.get(&place_of(reader, at)) {
            Some(Ok(all)) => find(all, at),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::permanent("the network has no region")),
        };
        batch.iter().map(answer).collect()
    }

    async fn apply(self, writer: &Acting, change: Change<PrivateNetwork>) -> Result<PrivateNetwork, Error> {
        let (region, project) = place_of(&writer.looking, &At::Declared(self.clone()));
        let doing = format!("cannot make the network `{}`", self.name);
        let id = match change {
            Change::Create => {
                let mut wish = json!({ "name": self.name, "project_id": project, "tags": self.tags });
                if let Some(subnet) = &self.subnet {
                    wish["subnets"] = json!([subnet]);
                }
                if let Some(vpc) = &self.vpc_id {
                    wish["vpc_id"] = json!(vpc);
                }
                writer.make::<wire::PrivateNetwork>(&doing, &networks(&region), &wish).await?.id
            }
            Change::Update { from } => {
                let id = known_id(&from)?;
                let doing = format!("cannot change the network `{}`", from.name);
                let wish = json!({ "name": self.name, "tags": self.tags });
                writer.send(&doing, Verb::Patch, &join(&networks(&region), &[&id]), Some(&wish)).await?;
                id
            }
        };
        Ok(PrivateNetwork { id: Some(id), region: Some(region), project_id: Some(project), ..self })
    }

    async fn destroy(writer: &Acting, observed: PrivateNetwork) -> Result<(), Error> {
        let id = known_id(&observed)?;
        let (region, _) = place_of(&writer.looking, &At::Recorded(observed.clone()));
        let doing = format!("cannot remove the network `{}`", observed.name);
        writer.remove(&doing, &join(&networks(&region), &[&id])).await
    }
}

impl From<wire::PrivateNetwork> for PrivateNetwork {
    fn from(network: wire::PrivateNetwork) -> PrivateNetwork {
        let subnet = |is_v6: bool| {
            let mut subnets = network.subnets.iter().map(|subnet| &subnet.subnet);
            subnets.find(|subnet| subnet.contains(':') == is_v6).cloned()
        };
        let (v4, v6) = (subnet(false), subnet(true));
        let mut tags = network.tags;
        tags.sort();
        PrivateNetwork {
            name: network.name,
            subnet: v4,
            tags,
            region: Some(network.region),
            project_id: Some(network.project_id),
            vpc_id: network.vpc_id,
            id: Some(network.id),
            ipv6_subnet: v6,
        }
    }
}

async fn networks_of(reader: &Looking, (region, project): &Place) -> Result<Vec<PrivateNetwork>, Error> {
    let (path, query) = (networks(region), [("project_id", &**project)]);
    let all = reader.all("cannot list the private networks", &path, &query, "private_networks").await?;
    Ok(all.into_iter().map(|network: wire::PrivateNetwork| network.into()).collect())
}

/// Where a network is looked for: where it is said to be, or where the provider is.
fn place_of(reader: &Looking, at: &At<PrivateNetwork>) -> Place {
    let (region, project) = match at {
        At::Recorded(it) | At::Declared(it) | At::Begun { wish: it, .. } => {
            (it.region.clone(), it.project_id.clone())
        }
        At::Id(_) => (None, None),
    };
    let account = &reader.account;
    let here = || account.zone.rsplit_once('-').map_or(&*account.zone, |(region, _)| region).to_owned();
    (region.unwrap_or_else(here), project.unwrap_or_else(|| account.project_id.clone()))
}

fn find(all: &[PrivateNetwork], at: &At<PrivateNetwork>) -> Result<Option<PrivateNetwork>, Error> {
    let by_id = |id: &str| all.iter().find(|network| network.id.as_deref() == Some(id)).cloned();
    let by_name = |wish: &PrivateNetwork, except: &[PrivateNetwork]| {
        let is_known = |network: &&PrivateNetwork| except.iter().any(|known| known.id == network.id);
        let is_in_vpc = |network: &&PrivateNetwork| wish.vpc_id.is_none() || wish.vpc_id == network.vpc_id;
        let named = all.iter().filter(|network| network.name == wish.name && !is_known(network));
        let mut named = named.filter(is_in_vpc);
        match (named.next(), named.next()) {
            (found, None) => Ok(found.cloned()),
            _ => {
                let error = Error::permanent(format!("several private networks are named `{}`", wish.name));
                Err(error.help("import the one that is meant by its id, or rename the others"))
            }
        }
    };
    match at {
        At::Id(id) => Ok(by_id(id)),
        At::Recorded(PrivateNetwork { id: Some(id), .. }) => Ok(by_id(id)),
        At::Recorded(wish) | At::Declared(wish) => by_name(wish, &[]),
        At::Begun { wish, except } => by_name(wish, except),
    }
}

fn known_id(network: &PrivateNetwork) -> Result<String, Error> {
    network.id.clone().ok_or_else(|| Error::permanent("the network has no id"))
}

#[cfg(test)]
impl PrivateNetwork {
    /// A network that somebody declares.
    pub(super) fn wish(name: &str) -> PrivateNetwork {
        PrivateNetwork {
            name: name.into(),
            subnet: None,
            tags: Vec::new(),
            region: None,
            project_id: None,
            vpc_id: None,
            id: None,
            ipv6_subnet: None,
        }
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(name: &str, id: Option<&str>) -> PrivateNetwork {
        PrivateNetwork { id: id.map(str::to_owned), ..PrivateNetwork::wish(name) }
    }

    #[test]
    fn subnets_are_networks() {
        let check = |subnet: &str| {
            let mut wish = PrivateNetwork { subnet: Some(subnet.into()), ..network("a", None) };
            wish.normalize().map_err(|misfit| misfit.message)
        };
        for subnet in ["172.16.8.0/22", "10.0.0.0/8", "10.0.0.1/32", "0.0.0.0/0"] {
            assert_eq!(check(subnet), Ok(()), "{subnet}");
        }
        for subnet in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "fd00::/64", "10.0.0.0/-1"] {
            assert!(check(subnet).is_err(), "{subnet}");
        }
        assert_eq!(check("172.16.9.1/22"), Err("the network of these addresses is `172.16.8.0/22`".into()));
    }

    #[test]
    fn one_of_a_name_is_found_and_two_are_too_many() {
        let all = [network("a", Some("1")), network("b", Some("2")), network("b", Some("3"))];
        let id = |at: &At<PrivateNetwork>| find(&all, at).map(|found| found.and_then(|network| network.id));
        assert_eq!(id(&At::Declared(network("a", None))).unwrap().as_deref(), Some("1"));
        assert_eq!(id(&At::Recorded(network("a", Some("2")))).unwrap().as_deref(), Some("2"));
        assert_eq!(id(&At::Recorded(network("a", Some("9")))).unwrap(), None);
        assert_eq!(id(&At::Id("3".into())).unwrap().as_deref(), Some("3"));
        assert!(id(&At::Declared(network("b", None))).unwrap_err().help.is_some());
        let begun = At::Begun { wish: network("b", None), except: vec![all[1].clone()] };
        assert_eq!(id(&begun).unwrap().as_deref(), Some("3"));
    }
}
