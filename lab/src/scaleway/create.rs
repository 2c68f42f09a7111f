//! Orders of servers.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::{Value, json};

use super::arguments::{Arguments, texts};
use super::refusal::Refusal;
use super::server::Secrets;
use super::servers::{MONTH, unavailable};
use super::{Answer, Commitment, Effect, Event, Os, Scaleway, Server, ServerStatus, Stock, Turn, VpcStatus};
use crate::clock::Time;

/// What is ordered, whatever it is called.
struct Order {
    project_id: String,
    model: String,
    os: Os,
    is_default_os: bool,
    enable_vpc: bool,
    commitment: String,
    bandwidth: u64,
    runners: Vec<String>,
    kext: bool,
}

/// A server that was ordered before the world began.
#[derive(Clone, Debug)]
pub(crate) struct Preorder<'a> {
    pub(crate) name: &'a str,
    pub(crate) model: &'a str,
    pub(crate) zone: &'a str,
    pub(crate) project_id: &'a str,
    pub(crate) os: &'a Os,
    pub(crate) created_at: Time,
}

impl Scaleway {
    pub(super) fn create_server(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut arguments = Arguments::of(&turn.call.body)?;
        let name = arguments.required("name");
        let Some(order) = self.order(turn, arguments, 1)? else { return Ok(unavailable()) };
        let server = self.deliver(turn, &order, name);
        Ok(Answer::ok(server))
    }

    pub(super) fn batch_create_servers(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut arguments = Arguments::of(&turn.call.body)?;
        let name = |request: &Value| request.get("name").and_then(Value::as_str).map(str::to_owned);
        let names: Option<Vec<String>> =
            arguments.list("requests").unwrap_or(&Vec::new()).iter().map(name).collect();
        let names = names.filter(|names| !names.is_empty() && names.iter().all(|name| !name.is_empty()));
        if names.is_none() {
            arguments.refuse("requests", "required", "each request needs a name");
        }
        let names = names.unwrap_or_default();
        let Some(order) = self.order(turn, arguments, names.len())? else { return Ok(unavailable()) };
        let servers: Vec<Value> = names.iter().map(|name| self.deliver(turn, &order, name)).collect();
        Ok(Answer::ok(json!({ "servers": servers })))
    }

    /// Reads an order, and finds out whether it can be met; none if its system is not there any more.
    fn order(
        &self,
        turn: &Turn<'_>,
        mut arguments: Arguments<'_>,
        count: usize,
    ) -> Result<Option<Order>, Refusal> {
        let project_id = arguments.required("project_id").to_owned();
        let model = arguments.required("type").to_owned();
        let os = arguments.text("os_id").filter(|id| !id.is_empty());
        let enable_vpc = arguments.flag("enable_vpc").unwrap_or(false);
        let commitment = arguments.text("commitment_type").unwrap_or("duration_24h").to_owned();
        let bandwidth = arguments.number("public_bandwidth_bps").filter(|bandwidth| *bandwidth > 0);
        let kext = arguments.flag("enable_kext").unwrap_or(false);
        let runners = arguments.object("applied_runner_configurations");
        let runners = runners.and_then(|runners| texts(runners.get("runner_configuration_ids")?));
        if !model.is_empty() && !self.catalogue.has_model(&model) {
            arguments.refuse("type", "constraint", "there is no such type");
        }
        if !["", "none", "duration_24h", "renewed_monthly"].contains(&commitment.as_str()) {
            arguments.refuse("commitment_type", "constraint", "there is no such commitment");
        }
        let bandwidth = bandwidth.unwrap_or(self.catalogue.bandwidths()[0]);
        if !self.catalogue.bandwidths().contains(&bandwidth) {
            arguments.refuse("public_bandwidth_bps", "constraint", "the type does not support it");
        }
        arguments.end()?;
        if !turn.caller.sees(&project_id) {
            return Err(Refusal::permissions("server", "write"));
        }
        let Some(os) = self.find_os(os, &model)?.cloned() else { return Ok(None) };
        self.within_quota(&turn.call.place, &project_id, &model, count)?;
        if self.catalogue.stock.get(&model) == Some(&Stock::NoStock) {
            return Err(Refusal::out_of_stock("server"));
        }
        let is_default_os = self.catalogue.default_os().is_some_and(|usual| usual.id == os.id);
        let runners = runners.unwrap_or_default();
        Ok(Some(Order {
            project_id,
            model,
            os,
            is_default_os,
            enable_vpc,
            commitment,
            bandwidth,
            runners,
            kext,
        }))
    }

    fn within_quota(&self, zone: &str, project: &str, model: &str, count: usize) -> Result<(), Refusal> {
        let Some(quota) = self.rules.quotas.get(model) else { return Ok(()) };
        let servers = self
            .servers
            .all()
            .filter(|server| server.zone == zone && server.project_id == project && server.model == model);
        let current = servers.count();
        if current + count <= usize::try_from(*quota).unwrap_or(usize::MAX) {
            return Ok(());
        }
        Err(Refusal::quota("server", *quota, current, project))
    }

    /// Takes an order; as the API shows the new server.
    fn deliver(&mut self, turn: &mut Turn<'_>, order: &Order, name: &str) -> Value {
        let server = self.make(order, name, &turn.call.place, turn.now);
        let view = server.view(Secrets::Sealed);
        let takes = if order.is_default_os { self.rules.start } else { self.rules.start_other_os };
        let installed = Event::Installed { server: server.id.clone(), turn: server.turn };
        self.agenda.add(turn.now.after(takes.0), installed);
        turn.effects.push(Effect::Build(server.id));
        view
    }

    /// Puts a server into the books that is not there yet.
    fn make(&mut self, order: &Order, name: &str, zone: &str, now: Time) -> Server {
        let monthly = order.commitment == "renewed_monthly";
        // What was ordered for a day comes back as no commitment at all.
        let kind = if monthly { "renewed_monthly" } else { "none" }.to_owned();
        let lease = match (order.os.family.as_str(), monthly) {
            ("Asahi", _) => Duration::ZERO,
            (_, true) => MONTH,
            (_, false) => self.rules.lease.0,
        };
        let server = Server {
            id: self.id(),
            model: order.model.clone(),
            name: name.to_owned(),
            project_id: order.project_id.clone(),
            organization_id: self.organization_id.clone(),
            ip: self.free_ip(),
            vnc_port: 59010,
            ssh_username: "m1".to_owned(),
            password: self.chance.word(12),
            secrets_sealed: false,
            os: order.os.clone(),
            status: ServerStatus::Starting,
            created_at: now,
            updated_at: now,
            deletable_at: now.after(lease),
            deletion_scheduled: false,
            zone: zone.to_owned(),
            delivered: false,
            vpc_status: if order.enable_vpc { VpcStatus::VpcUpdating } else { VpcStatus::VpcDisabled },
            commitment: Commitment { kind, cancelled: false },
            public_bandwidth_bps: order.bandwidth,
            tags: Vec::new(),
            applied_runner_configuration_ids: order.runners.clone(),
            kext_enabled: order.kext,
            installs: 0,
            turn: 0,
        };
        self.servers.put(&server.id, now, Some(server.clone()));
        server
    }

    /// The next address nobody has.
    fn free_ip(&self) -> Ipv4Addr {
        let last = self.servers.every().map(|server| u32::from(server.ip)).max();
        Ipv4Addr::from(last.map_or(u32::from(Ipv4Addr::new(127, 77, 0, 1)), |last| last + 1))
    }

    /// Puts a server there that was ordered and delivered before the world began.
    pub(crate) fn preorder(&mut self, preorder: &Preorder<'_>) -> String {
        let order = Order {
            project_id: preorder.project_id.to_owned(),
            model: preorder.model.to_owned(),
            os: preorder.os.clone(),
            is_default_os: true,
            enable_vpc: false,
            commitment: String::new(),
            bandwidth: self.catalogue.bandwidths()[0],
            runners: Vec::new(),
            kext: false,
        };
        let server = self.make(&order, preorder.name, preorder.zone, preorder.created_at);
        self.servers.change(&server.id, preorder.created_at, |server| {
            server.status = ServerStatus::Ready;
            server.delivered = true;
            server.installs = 1;
        });
        server.id
    }
}
