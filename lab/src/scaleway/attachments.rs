//! Which servers are in which private networks, and their addresses there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::arguments::{Arguments, texts};
use super::page::{order, page};
use super::refusal::Refusal;
use super::route::Call;
use super::servers::word;
use super::{Answer, Event, Scaleway, Token, Turn, VpcStatus};
use crate::clock::Time;

/// The most private networks a server can be in.
const MOST: usize = 8;

/// What an attachment is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "these are the vendor's words")]
pub enum AttachmentStatus {
    UnknownStatus,
    Attaching,
    Attached,
    Error,
    Detaching,
    Locked,
}

/// A server in a private network.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "these are the vendor's words")]
pub struct Attachment {
    pub id: String,
    pub project_id: String,
    pub server_id: String,
    pub private_network_id: String,
    pub vlan: Option<u32>,
    pub status: AttachmentStatus,
    pub created_at: Time,
    pub updated_at: Time,
    pub ipam_ip_ids: Vec<String>,
    /// Where the server stands.
    pub zone: String,
}

impl Attachment {
    fn view(&self) -> Value {
        let mut view = json!(self);
        if let Value::Object(fields) = &mut view {
            fields.remove("zone");
        }
        view
    }
}

/// An address in a private network.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "these are the vendor's words")]
pub struct Ip {
    pub id: String,
    pub address: String,
    pub project_id: String,
    pub is_ipv6: bool,
    pub created_at: Time,
    pub private_network_id: String,
    pub attachment_id: String,
    pub server_name: String,
    pub region: String,
}

impl Ip {
    fn view(&self) -> Value {
        json!({
            "id": self.id,
            "address": self.address,
            "project_id": self.project_id,
            "is_ipv6": self.is_ipv6,
            "created_at": self.created_at,
            "updated_at": self.created_at,
            "source": { "private_network_id": self.private_network_id },
            "resource": {
                "type": "apple_silicon_private_nic", "id": self.attachment_id, "name": self.server_name,
                "mac_address": null,
            },
            "tags": [],
            "reverses": [],
            "region": self.region,
            "zone": null,
        })
    }
}

impl Scaleway {
    pub(super) fn list_attachments(
        &self,
        call: &Call,
        caller: &Token,
        seen: Time,
    ) -> Result<Answer, Refusal> {
        let (field, reverse) = order(call, &["created_at", "updated_at"])?;
        let visible = caller.filter(call, &self.organization_id)?;
        let ips: Vec<&str> = call.parameters("ipam_ip_ids").collect();
        let attachments = self.attachments.all_seen(seen).filter(|one| {
            one.zone == call.place
                && visible(&one.project_id)
                && call.parameter("server_id").is_none_or(|id| one.server_id == id)
                && call.parameter("private_network_id").is_none_or(|id| one.private_network_id == id)
                && (ips.is_empty() || one.ipam_ip_ids.iter().any(|ip| ips.contains(&ip.as_str())))
        });
        let mut attachments: Vec<&Attachment> = attachments.collect();
        if field == "updated_at" {
            attachments.sort_by_key(|one| one.updated_at);
        }
        if reverse {
            attachments.reverse();
        }
        let views = attachments.into_iter().map(Attachment::view).collect();
        page(call, &self.rules, "server_private_networks", views)
    }

    pub(super) fn attachments_of<'a>(&'a self, server: &'a str) -> impl Iterator<Item = &'a Attachment> {
        self.attachments.all().filter(move |attachment| attachment.server_id == server)
    }

    fn attachment(&self, call: &Call, caller: &Token, seen: Time) -> Result<&Attachment, Refusal> {
        self.visible_server(call.id(), &call.place, caller, "read", seen)?;
        let mut all = self.attachments.all_seen(seen);
        let found = all.find(|one| one.server_id == call.id() && one.private_network_id == call.inner());
        found.ok_or_else(|| Refusal::not_found("server_private_network", call.inner()))
    }

    pub(super) fn get_attachment(&self, call: &Call, caller: &Token, seen: Time) -> Result<Answer, Refusal> {
        Ok(Answer::ok(self.attachment(call, caller, seen)?.view()))
    }

    pub(super) fn add_attachment(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut arguments = Arguments::of(&turn.call.body)?;
        let network = arguments.required("private_network_id").to_owned();
        let ips = arguments.texts("ipam_ip_ids").unwrap_or_default();
        arguments.end()?;
        let current = self.networks_of(turn)?;
        if current.contains(&network) {
            return Err(Refusal::argument("private_network_id", "constraint", "the server is in it already"));
        }
        let mut wanted = Map::new();
        wanted.insert(network, json!(ips));
        let mut added = self.attach(turn, &wanted, current.len())?;
        Ok(Answer::ok(added.pop().unwrap_or_default()))
    }

    pub(super) fn set_attachments(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut arguments = Arguments::of(&turn.call.body)?;
        let wanted = arguments.object("per_private_network_ipam_ip_ids").cloned().unwrap_or_default();
        if !wanted.values().all(|ips| texts(ips).is_some()) {
            arguments.refuse("per_private_network_ipam_ip_ids", "format", "lists of ids are expected");
        }
        arguments.end()?;
        let current = self.networks_of(turn)?;
        let kept = current.iter().filter(|network| wanted.contains_key(*network)).count();
        let new: Map<String, Value> =
            wanted.clone().into_iter().filter(|(network, _)| !current.contains(network)).collect();
        self.attach(turn, &new, kept)?;
        let left: Vec<String> = self
            .attachments_of(turn.call.id())
            .filter(|one| !wanted.contains_key(&one.private_network_id))
            .map(|one| one.id.clone())
            .collect();
        for attachment in left {
            self.detach(&attachment, turn.now);
        }
        let all: Vec<Value> = self.attachments_of(turn.call.id()).map(Attachment::view).collect();
        Ok(Answer::ok(json!({ "server_private_networks": all })))
    }

    /// The networks of a server that can be changed now.
    fn networks_of(&self, turn: &Turn<'_>) -> Result<Vec<String>, Refusal> {
        let server = self.idle_server(turn)?;
        if server.vpc_status != VpcStatus::VpcEnabled {
            let help = "private networks are not enabled on this server";
            return Err(Refusal::precondition("attribute_must_be_set", help));
        }
        Ok(self.attachments_of(&server.id).map(|one| one.private_network_id.clone()).collect())
    }

    fn attach(
        &mut self,
        turn: &Turn<'_>,
        wanted: &Map<String, Value>,
        current: usize,
    ) -> Result<Vec<Value>, Refusal> {
        let server = self.idle_server(turn)?.clone();
        if current + wanted.len() > MOST {
            let most = u32::try_from(MOST).unwrap_or(0);
            return Err(Refusal::quota("server_private_network", most, current, &server.project_id));
        }
        for network in wanted.keys() {
            self.visible_network(network, turn.caller, turn.now)?;
        }
        let mut views = Vec::new();
        for (network, ips) in wanted {
            let id = self.id();
            let ips = texts(ips).unwrap_or_default();
            let ipam_ip_ids =
                if ips.is_empty() { self.allocate(&id, network, &server.name, turn.now) } else { ips };
            let attachment = Attachment {
                id: id.clone(),
                project_id: server.project_id.clone(),
                server_id: server.id.clone(),
                private_network_id: network.clone(),
                vlan: None,
                status: AttachmentStatus::Attaching,
                created_at: turn.now,
                updated_at: turn.now,
                ipam_ip_ids,
                zone: server.zone.clone(),
            };
            views.push(attachment.view());
            self.attachments.put(&id, turn.now, Some(attachment));
            self.agenda.add(turn.now.after(self.rules.attach.0), Event::Attached { attachment: id });
        }
        Ok(views)
    }

    /// One address of each kind.
    fn allocate(&mut self, attachment: &str, network: &str, server: &str, now: Time) -> Vec<String> {
        let Some(network) = self.private_networks.get(network).cloned() else { return Vec::new() };
        let taken = self.ips.every().filter(|ip| ip.private_network_id == network.id && !ip.is_ipv6);
        let host = u32::try_from(taken.count()).unwrap_or(0) + 2;
        let addresses =
            [(format!("{}/22", network.four(host)), false), (format!("{}/64", network.six(host)), true)];
        let mut ids = Vec::new();
        for (address, is_ipv6) in addresses {
            let id = self.id();
            let ip = Ip {
                id: id.clone(),
                address,
                project_id: network.project_id.clone(),
                is_ipv6,
                created_at: now,
                private_network_id: network.id.clone(),
                attachment_id: attachment.to_owned(),
                server_name: server.to_owned(),
                region: network.region.clone(),
            };
            self.ips.put(&id, now, Some(ip));
            ids.push(id);
        }
        ids
    }

    pub(super) fn attached(&mut self, id: &str, now: Time) {
        let vlans = self.attachments.every().filter_map(|one| one.vlan);
        let vlan = vlans.max().map_or(1000, |vlan| vlan + 1);
        self.attachments.change(id, now, |attachment| {
            if attachment.status == AttachmentStatus::Attaching {
                attachment.status = AttachmentStatus::Attached;
                attachment.vlan = Some(vlan);
                attachment.updated_at = now;
            }
        });
    }

    pub(super) fn delete_attachment(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let attachment = self.attachment(turn.call, turn.caller, turn.now)?;
        if matches!(attachment.status, AttachmentStatus::Attaching | AttachmentStatus::Detaching) {
            let state = word(&attachment.status);
            return Err(Refusal::transient("server_private_network", &attachment.id, &state));
        }
        let id = attachment.id.clone();
        self.idle_server(turn)?;
        self.detach(&id, turn.now);
        Ok(Answer::empty())
    }

    /// Begins to take a server out of a network.
    pub(super) fn detach(&mut self, id: &str, now: Time) {
        self.release_ips(id, now);
        self.attachments.change(id, now, |attachment| {
            attachment.status = AttachmentStatus::Detaching;
            attachment.ipam_ip_ids.clear();
            attachment.updated_at = now;
        });
        let detached = Event::Detached { attachment: id.to_owned() };
        self.agenda.add(now.after(self.rules.attach.0), detached);
    }

    pub(super) fn release_ips(&mut self, attachment: &str, now: Time) {
        let ips = self.attachments.get(attachment).map(|one| one.ipam_ip_ids.clone());
        for ip in ips.unwrap_or_default() {
            if self.ips.get(&ip).is_some() {
                self.ips.put(&ip, now, None);
            }
        }
    }

    pub(super) fn list_ips(&self, call: &Call, caller: &Token, seen: Time) -> Result<Answer, Refusal> {
        let visible = caller.filter(call, &self.organization_id)?;
        let kind = call.parameter("resource_type");
        let ips = self.ips.all_seen(seen).filter(|ip| {
            ip.region == call.place
                && visible(&ip.project_id)
                && kind.is_none_or(|kind| kind == "apple_silicon_private_nic")
                && call.parameter("private_network_id").is_none_or(|id| ip.private_network_id == id)
                && call.parameter("resource_id").is_none_or(|id| ip.attachment_id == id)
        });
        page(call, &self.rules, "ips", ips.map(Ip::view).collect())
    }
}
