//! Private networks.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::page::{order, page};
use super::refusal::Refusal;
use super::route::Call;
use super::{Answer, Scaleway, Token, Turn};
use crate::clock::Time;

/// A private network.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "these are the vendor's words")]
pub struct PrivateNetwork {
    pub id: String,
    pub name: String,
    pub organization_id: String,
    pub project_id: String,
    pub region: String,
    pub tags: Vec<String>,
    pub created_at: Time,
    pub updated_at: Time,
    pub vpc_id: String,
    /// Its own number, from which its addresses and VLANs follow.
    pub number: u32,
}

impl PrivateNetwork {
    fn view(&self) -> Value {
        let subnet = |range: String, six: u8| {
            let id = format!("{}{}", self.id, six);
            json!({
                "id": uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, id.as_bytes()).to_string(),
                "created_at": self.created_at,
                "updated_at": self.updated_at,
                "subnet": range,
                "project_id": self.project_id,
                "private_network_id": self.id,
                "vpc_id": self.vpc_id,
            })
        };
        json!({
            "id": self.id,
            "name": self.name,
            "organization_id": self.organization_id,
            "project_id": self.project_id,
            "region": self.region,
            "tags": self.tags,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "subnets": [
                subnet(format!("{}/22", self.four(0)), 4),
                subnet(format!("{}/64", self.six(0)), 6),
            ],
            "vpc_id": self.vpc_id,
            "dhcp_enabled": true,
        })
    }

    pub(super) fn four(&self, host: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(Ipv4Addr::new(172, 16, 0, 0)) + self.number * 1024 + host)
    }

    pub(super) fn six(&self, host: u32) -> Ipv6Addr {
        let base = u128::from(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 0));
        Ipv6Addr::from(base + (u128::from(self.number) << 64) + u128::from(host))
    }
}

impl Scaleway {
    pub(super) fn list_private_networks(
        &self,
        call: &Call,
        caller: &Token,
        seen: Time,
    ) -> Result<Answer, Refusal> {
        let (field, reverse) = order(call, &["created_at", "name"])?;
        let visible = caller.filter(call, &self.organization_id)?;
        let networks = self.private_networks.all_seen(seen).filter(|network| {
            network.region == call.place
                && visible(&network.project_id)
                && call.parameter("name").is_none_or(|name| network.name.contains(name))
        });
        let mut networks: Vec<&PrivateNetwork> = networks.collect();
        if field == "name" {
            networks.sort_by(|a, b| a.name.cmp(&b.name));
        }
        if reverse {
            networks.reverse();
        }
        page(call, &self.rules, "private_networks", networks.into_iter().map(PrivateNetwork::view).collect())
    }

    pub(super) fn visible_network(
        &self,
        id: &str,
        caller: &Token,
        seen: Time,
    ) -> Result<&PrivateNetwork, Refusal> {
        let found = self.private_networks.seen(id, seen).filter(|network| caller.sees(&network.project_id));
        found.ok_or_else(|| Refusal::not_found("private_network", id))
    }

    pub(super) fn get_private_network(
        &self,
        call: &Call,
        caller: &Token,
        seen: Time,
    ) -> Result<Answer, Refusal> {
        Ok(Answer::ok(self.visible_network(call.id(), caller, seen)?.view()))
    }

    pub(super) fn create_private_network(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut arguments = Arguments::of(&turn.call.body)?;
        let project_id = arguments.required("project_id").to_owned();
        let name = arguments.text("name").filter(|name| !name.is_empty()).map(str::to_owned);
        let tags = arguments.texts("tags").unwrap_or_default();
        let vpc_id = arguments.text("vpc_id").map(str::to_owned);
        arguments.end()?;
        if !turn.caller.sees(&project_id) {
            return Err(Refusal::permissions("private_network", "write"));
        }
        let id = self.id();
        let number = u32::try_from(self.private_networks.every().count()).unwrap_or(0);
        let network = PrivateNetwork {
            id: id.clone(),
            name: name.unwrap_or_else(|| format!("pn-{number}")),
            organization_id: self.organization_id.clone(),
            project_id,
            region: turn.call.place.clone(),
            tags,
            created_at: turn.now,
            updated_at: turn.now,
            vpc_id: vpc_id.unwrap_or_else(|| self.id()),
            number,
        };
        let view = network.view();
        self.private_networks.put(&id, turn.now, Some(network));
        Ok(Answer::ok(view))
    }

    pub(super) fn update_private_network(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut network = self.visible_network(turn.call.id(), turn.caller, turn.now)?.clone();
        let mut arguments = Arguments::of(&turn.call.body)?;
        if let Some(name) = arguments.text("name") {
            name.clone_into(&mut network.name);
        }
        if let Some(tags) = arguments.texts("tags") {
            network.tags = tags;
        }
        arguments.end()?;
        network.updated_at = turn.now;
        let view = network.view();
        self.private_networks.put(turn.call.id(), turn.now, Some(network));
        Ok(Answer::ok(view))
    }

    pub(super) fn delete_private_network(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let id = self.visible_network(turn.call.id(), turn.caller, turn.now)?.id.clone();
        if self.attachments.all().any(|attachment| attachment.private_network_id == id) {
            let help = "servers are still in this private network";
            return Err(Refusal::precondition("resource_still_in_use", help));
        }
        self.private_networks.put(&id, turn.now, None);
        Ok(Answer::empty())
    }
}
