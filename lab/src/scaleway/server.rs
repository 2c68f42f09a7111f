//! A server in the vendor's books, and as it shows it.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Os, Rules, SEALED};
use crate::clock::Time;

/// What a server is doing, as the API says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "these are the vendor's words")]
pub enum ServerStatus {
    UnknownStatus,
    Starting,
    Ready,
    Error,
    Rebooting,
    Updating,
    Locking,
    Locked,
    Unlocking,
    Reinstalling,
    Busy,
}

impl ServerStatus {
    /// Whether it will become another by itself.
    #[must_use]
    pub fn is_transient(self) -> bool {
        use ServerStatus as S;
        !matches!(self, S::UnknownStatus | S::Ready | S::Error | S::Locked)
    }
}

/// Whether a server can be in private networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "these are the vendor's words")]
#[serde(rename_all = "snake_case")]
pub enum VpcStatus {
    VpcUnknownStatus,
    VpcEnabled,
    VpcUpdating,
    VpcDisabled,
}

/// For how long a server is rented.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commitment {
    /// `none` or `renewed_monthly`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it ends.
    pub cancelled: bool,
}

/// A server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "these are the vendor's words")]
pub struct Server {
    pub id: String,
    #[serde(rename = "type")]
    pub model: String,
    pub name: String,
    pub project_id: String,
    pub organization_id: String,
    pub ip: Ipv4Addr,
    pub vnc_port: u32,
    pub ssh_username: String,
    /// The password of that user, for `sudo` and for screen sharing.
    pub password: String,
    /// The API does not tell the password in any way.
    pub secrets_sealed: bool,
    /// The system as it was installed.
    pub os: Os,
    pub status: ServerStatus,
    pub created_at: Time,
    pub updated_at: Time,
    pub deletable_at: Time,
    pub deletion_scheduled: bool,
    pub zone: String,
    pub delivered: bool,
    pub vpc_status: VpcStatus,
    pub commitment: Commitment,
    pub public_bandwidth_bps: u64,
    pub tags: Vec<String>,
    pub applied_runner_configuration_ids: Vec<String>,
    pub kext_enabled: bool,
    /// How often it was installed.
    pub installs: u32,
    /// How often its status was changed: what was planned for an earlier one does not happen.
    pub(super) turn: u64,
}

/// Which secrets an answer tells.
#[derive(Clone, Copy)]
pub(super) enum Secrets<'a> {
    /// None.
    Sealed,
    /// All that the vendor tells at a time.
    Told(&'a Rules, Time),
}

impl Server {
    /// As the API shows it.
    pub(super) fn view(&self, secrets: Secrets<'_>) -> Value {
        let (password, vnc_password) = match secrets {
            Secrets::Told(rules, now) if !self.secrets_sealed => {
                let shown = now.since(self.created_at) < rules.password_shown.0;
                (if shown { self.password.as_str() } else { "" }, self.password.as_str())
            }
            _ => (SEALED, SEALED),
        };
        let vnc_url = match vnc_password {
            SEALED => SEALED.to_owned(),
            password => {
                format!("vnc://{}:{}@{}:{}", self.ssh_username, escaped(password), self.ip, self.vnc_port)
            }
        };
        json!({
            "id": self.id,
            "type": self.model,
            "name": self.name,
            "project_id": self.project_id,
            "organization_id": self.organization_id,
            "ip": self.ip,
            "vnc_url": vnc_url,
            "vnc_port": self.vnc_port,
            "ssh_username": self.ssh_username,
            "sudo_password": password,
            "os": self.os.view(&[]),
            "status": self.status,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "deletable_at": self.deletable_at,
            "deletion_scheduled": self.deletion_scheduled,
            "zone": self.zone,
            "delivered": self.delivered,
            "vpc_status": self.vpc_status,
            "commitment": self.commitment,
            "public_bandwidth_bps": self.public_bandwidth_bps,
            "runner_configuration": null,
            "tags": self.tags,
            "applied_runner_configuration_ids": self.applied_runner_configuration_ids,
            "kext_enabled": self.kext_enabled,
        })
    }
}

fn escaped(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
