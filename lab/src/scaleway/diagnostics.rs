//! Diagnoses of how a server can be reached.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::arguments::Arguments;
use super::refusal::Refusal;
use super::route::Call;
use super::{Answer, Event, Scaleway, Token, Turn};
use crate::clock::Time;

/// A diagnosis.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Its id.
    pub id: String,
    /// Of which server.
    pub server_id: String,
    /// In which project.
    pub project_id: String,
    /// Whether the server answers; none while nobody knows yet.
    pub healthy: Option<bool>,
    /// When it was found out.
    pub checked_at: Option<Time>,
}

impl Scaleway {
    pub(super) fn start_diagnostic(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut arguments = Arguments::of(&turn.call.body)?;
        let server_id = arguments.required("server_id");
        arguments.end()?;
        let server = self.visible_server(server_id, &turn.call.place, turn.caller, "write", turn.now)?;
        let project_id = server.project_id.clone();
        let id = self.id();
        let server_id = server_id.to_owned();
        let diagnostic =
            Diagnostic { id: id.clone(), server_id, project_id, healthy: None, checked_at: None };
        self.diagnostics.put(&id, turn.now, Some(diagnostic));
        let diagnosed = Event::Diagnosed { diagnostic: id.clone() };
        self.agenda.add(turn.now.after(self.rules.diagnostic.0), diagnosed);
        Ok(Answer::ok(json!({ "diagnostic_id": id })))
    }

    pub(super) fn diagnosed(&mut self, id: &str, now: Time, is_up: impl Fn(&str) -> bool) {
        self.diagnostics.change(id, now, |diagnostic| {
            diagnostic.healthy = Some(is_up(&diagnostic.server_id));
            diagnostic.checked_at = Some(now);
        });
    }

    pub(super) fn get_diagnostic(&self, call: &Call, caller: &Token, seen: Time) -> Result<Answer, Refusal> {
        let found = self.diagnostics.seen(call.id(), seen);
        let found = found.filter(|diagnostic| caller.sees(&diagnostic.project_id));
        let found = found.ok_or_else(|| Refusal::not_found("connectivity_diagnostic", call.id()))?;
        let details = found.healthy.map(|up| {
            json!({
                "last_checkin_date": found.checked_at,
                "is_server_alive": up,
                "is_agent_alive": up,
                "is_mdm_alive": up,
                "is_ssh_port_up": up,
                "is_vnc_port_up": up,
            })
        });
        let is_healthy = found.healthy.unwrap_or(false);
        let actions: &[&str] =
            if found.healthy == Some(false) { &["reboot_server", "reinstall_server"] } else { &[] };
        Ok(Answer::ok(json!({
            "id": found.id,
            "status": if found.healthy.is_some() { "completed" } else { "processing" },
            "is_healthy": is_healthy,
            "health_details": details,
            "supported_actions": actions,
            "error_message": "",
        })))
    }
}
