//! Servers: look, change, restart, install anew, delete.

use std::time::Duration;

use serde_json::Value;

use super::arguments::{Arguments, texts};
use super::page::{order, page};
use super::refusal::Refusal;
use super::route::Call;
use super::server::Secrets;
use super::{Answer, Effect, Event, Os, Scaleway, Server, ServerStatus, Token, Turn, VpcStatus};
use crate::clock::Time;

/// A month, as it is counted here.
pub(super) const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

impl Scaleway {
    pub(super) fn list_servers(
        &self,
        call: &Call,
        caller: &Token,
        now: Time,
        seen: Time,
    ) -> Result<Answer, Refusal> {
        let (_, reverse) = order(call, &["created_at"])?;
        let visible = caller.filter(call, &self.organization_id)?;
        let secrets = if self.rules.list_seals { Secrets::Sealed } else { Secrets::Told(&self.rules, now) };
        let servers = self.servers.all_seen(seen);
        let servers = servers.filter(|server| server.zone == call.place && visible(&server.project_id));
        let mut servers: Vec<&Server> = servers.collect();
        servers.sort_by_key(|server| server.created_at);
        if reverse {
            servers.reverse();
        }
        let views = servers.into_iter().map(|server| server.view(secrets)).collect();
        page(call, &self.rules, "servers", views)
    }

    pub(super) fn get_server(
        &self,
        call: &Call,
        caller: &Token,
        now: Time,
        seen: Time,
    ) -> Result<Answer, Refusal> {
        let server = self.visible_server(call.id(), &call.place, caller, "read", seen)?;
        Ok(Answer::ok(server.view(Secrets::Told(&self.rules, now))))
    }

    /// A server as it was, if the caller may know of it.
    pub(super) fn visible_server(
        &self,
        id: &str,
        zone: &str,
        caller: &Token,
        action: &str,
        seen: Time,
    ) -> Result<&Server, Refusal> {
        if uuid::Uuid::try_parse(id).is_err() {
            return Err(Refusal::argument("server_id", "format", "a UUID is expected"));
        }
        let found = self.servers.seen(id, seen).filter(|server| server.zone == zone);
        let Some(server) = found else {
            return Err(self.absent("server", id, action, self.servers.was_deleted(id, seen)));
        };
        if !caller.sees(&server.project_id) {
            return Err(Refusal::permissions("server", action));
        }
        Ok(server)
    }

    /// A server that can be changed now.
    pub(super) fn idle_server(&self, turn: &Turn<'_>) -> Result<&Server, Refusal> {
        let server = self.own_server(turn)?;
        if server.status.is_transient() {
            return Err(Refusal::transient("server", &server.id, &word(&server.status)));
        }
        Ok(server)
    }

    /// A server that the caller may change, and that is not locked.
    fn own_server(&self, turn: &Turn<'_>) -> Result<&Server, Refusal> {
        let (id, zone) = (turn.call.id(), &turn.call.place);
        let server = self.visible_server(id, zone, turn.caller, "write", turn.now)?;
        if server.status == ServerStatus::Locked {
            return Err(Refusal::locked("server", &server.id));
        }
        Ok(server)
    }

    fn sealed_view(&self, id: &str) -> Answer {
        Answer::ok(self.servers.get(id).map_or(Value::Null, |server| server.view(Secrets::Sealed)))
    }

    pub(super) fn update_server(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let server = match self.rules.update_while_transient {
            true => self.own_server(turn)?,
            false => self.idle_server(turn)?,
        };
        let mut changed = server.clone();
        let now = turn.now;
        let mut arguments = Arguments::of(&turn.call.body)?;
        if let Some(name) = arguments.text("name") {
            if name.is_empty() {
                arguments.refuse("name", "constraint", "it cannot be empty");
            }
            name.clone_into(&mut changed.name);
        }
        if let Some(scheduled) = arguments.flag("schedule_deletion") {
            changed.deletion_scheduled = scheduled;
        }
        let enable_vpc = arguments.flag("enable_vpc");
        if let Some(commitment) = arguments.object("commitment_type") {
            let kind = commitment.get("commitment_type").and_then(Value::as_str).unwrap_or_default();
            let monthly = changed.commitment.kind == "renewed_monthly";
            match kind {
                "renewed_monthly" => {
                    let months = now.since(changed.created_at).as_secs() / MONTH.as_secs() + 1;
                    let months = u32::try_from(months).unwrap_or(u32::MAX);
                    changed.deletable_at = changed.created_at.after(MONTH.saturating_mul(months));
                    kind.clone_into(&mut changed.commitment.kind);
                }
                "duration_24h" | "none" if !monthly => {}
                "duration_24h" | "none" => {
                    arguments.refuse("commitment_type", "constraint", "a monthly commitment stays monthly");
                }
                _ => arguments.refuse("commitment_type", "constraint", "there is no such commitment"),
            }
        }
        if let Some(bandwidth) = arguments.number("public_bandwidth_bps") {
            if !self.catalogue.bandwidths().contains(&bandwidth) {
                arguments.refuse("public_bandwidth_bps", "constraint", "the type does not support it");
            }
            changed.public_bandwidth_bps = bandwidth;
        }
        if let Some(runners) = arguments.object("applied_runner_configurations") {
            match runners.get("runner_configuration_ids").and_then(texts) {
                Some(ids) if ids.iter().all(|id| self.runners.get(id).is_some()) => {
                    changed.applied_runner_configuration_ids = ids;
                }
                _ => {
                    arguments.refuse(
                        "applied_runner_configurations",
                        "constraint",
                        "there is no such runner",
                    );
                }
            }
        }
        arguments.end()?;
        changed.updated_at = now;
        if changed.deletion_scheduled {
            let due = Event::DeletionDue { server: changed.id.clone() };
            self.agenda.add(changed.deletable_at.max(now), due);
        }
        let id = changed.id.clone();
        self.servers.put(&id, now, Some(changed));
        if let Some(enable) = enable_vpc {
            self.switch_vpc(&id, enable, now);
        }
        Ok(self.sealed_view(&id))
    }

    pub(super) fn delete_server(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let server = self.idle_server(turn)?;
        if turn.now < server.deletable_at {
            let help = format!("the server cannot be deleted before {}", server.deletable_at);
            return Err(Refusal::precondition("resource_not_usable", &help));
        }
        let id = server.id.clone();
        turn.effects = self.remove_server(&id, turn.now);
        Ok(Answer::empty())
    }

    /// Takes a server out of the books.
    pub(super) fn remove_server(&mut self, id: &str, now: Time) -> Vec<Effect> {
        let attachments: Vec<String> = self.attachments_of(id).map(|one| one.id.clone()).collect();
        for attachment in attachments {
            self.release_ips(&attachment, now);
            self.attachments.put(&attachment, now, None);
        }
        self.servers.put(id, now, None);
        vec![Effect::Halt(id.to_owned()), Effect::Scrap(id.to_owned())]
    }

    pub(super) fn reboot_server(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let id = self.idle_server(turn)?.id.clone();
        let number = self.begin(&id, ServerStatus::Rebooting, turn.now);
        let restarted = Event::Restarted { server: id.clone(), turn: number };
        self.agenda.add(turn.now.after(self.rules.reboot.0), restarted);
        turn.effects.push(Effect::Halt(id.clone()));
        Ok(self.sealed_view(&id))
    }

    pub(super) fn reinstall_server(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let server = self.idle_server(turn)?;
        let mut arguments = Arguments::of(&turn.call.body)?;
        let os = arguments.text("os_id").filter(|id| !id.is_empty());
        let kext = arguments.flag("enable_kext").unwrap_or(false);
        arguments.end()?;
        if server.os.family == "DevOS" && !server.applied_runner_configuration_ids.is_empty() {
            let help = "a server in runner mode cannot be reinstalled";
            return Err(Refusal::precondition("resource_not_usable", help));
        }
        let os = match self.find_os(os, &server.model)? {
            Some(os) => os.clone(),
            None => return Ok(unavailable()),
        };
        if (os.family == "Asahi") != (server.os.family == "Asahi") {
            return Err(Refusal::argument("os_id", "constraint", "macOS and Asahi cannot be exchanged"));
        }
        let id = server.id.clone();
        let password = self.chance.word(12);
        let rotates = self.rules.reinstall_rotates_password;
        let number = self.begin(&id, ServerStatus::Reinstalling, turn.now);
        self.servers.change(&id, turn.now, |server| {
            server.os = os;
            server.kext_enabled = kext;
            if rotates {
                server.password = password;
            }
        });
        let (shortest, longest) = self.rules.reinstall;
        let range = u64::try_from(longest.0.saturating_sub(shortest.0).as_micros()).unwrap_or(0);
        let takes = shortest.0 + Duration::from_micros(self.chance.draw().u64(0..=range));
        self.agenda.add(turn.now.after(takes), Event::Installed { server: id.clone(), turn: number });
        turn.effects.push(Effect::Halt(id.clone()));
        Ok(self.sealed_view(&id))
    }

    /// The system of an id for a type, or the usual one; none if the catalogue has it no more.
    pub(super) fn find_os(&self, id: Option<&str>, model: &str) -> Result<Option<&Os>, Refusal> {
        let os = match id {
            Some(id) => self.catalogue.os(id),
            None => self.catalogue.default_os(),
        };
        if os.is_some_and(|os| os.not_on.iter().any(|not| not == model)) {
            return Err(Refusal::argument("os_id", "constraint", "it cannot be installed on this type"));
        }
        Ok(os)
    }

    /// Lets a server begin something; the number of what it is doing now.
    fn begin(&mut self, id: &str, status: ServerStatus, now: Time) -> u64 {
        let mut number = 0;
        self.servers.change(id, now, |server| {
            server.status = status;
            server.updated_at = now;
            server.turn += 1;
            number = server.turn;
        });
        number
    }

    /// Changes what the API says about a server, whatever is true.
    pub(crate) fn set_status(&mut self, id: &str, status: ServerStatus, now: Time) {
        self.begin(id, status, now);
    }

    fn switch_vpc(&mut self, id: &str, enable: bool, now: Time) {
        let current = self.servers.get(id).map(|server| server.vpc_status);
        let is_on = matches!(current, Some(VpcStatus::VpcEnabled | VpcStatus::VpcUpdating));
        if enable == is_on {
            return;
        }
        self.servers.change(id, now, |server| server.vpc_status = VpcStatus::VpcUpdating);
        if !enable {
            let attachments: Vec<String> = self.attachments_of(id).map(|one| one.id.clone()).collect();
            for attachment in attachments {
                self.detach(&attachment, now);
            }
        }
        let settled = Event::VpcSettled { server: id.to_owned(), enabled: enable };
        self.agenda.add(now.after(self.rules.attach.0), settled);
    }

    pub(super) fn vpc_settled(&mut self, id: &str, enabled: bool, now: Time) {
        let status = if enabled { VpcStatus::VpcEnabled } else { VpcStatus::VpcDisabled };
        self.servers.change(id, now, |server| server.vpc_status = status);
    }
}

/// What the vendor says of a system that it retired: an error without a type.
pub(super) fn unavailable() -> Answer {
    let body = serde_json::json!({ "message": "the requested operating system is not available" });
    Answer::json(400, body)
}

/// An enum as the API spells it.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}
