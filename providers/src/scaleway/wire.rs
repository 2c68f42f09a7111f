//! What the vendor sends, as far as it is used.

use fleet_engine::host::reach::Secret;
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::cure;

/// What the vendor writes where it does not tell a secret (any more).
const SEALED: &str = "<sealed>";

/// A Mac.
#[derive(Clone, Deserialize)]
pub(super) struct Server {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) model: String,
    pub(super) project_id: String,
    pub(super) zone: String,
    pub(super) status: String,
    pub(super) delivered: bool,
    #[serde(default)]
    pub(super) deletion_scheduled: bool,
    #[serde(default)]
    pub(super) ip: Option<String>,
    #[serde(default)]
    pub(super) os: Option<Os>,
    #[serde(default)]
    pub(super) vpc_status: Option<String>,
    #[serde(default)]
    pub(super) created_at: Option<String>,
    #[serde(default)]
    pub(super) updated_at: Option<String>,
    #[serde(default)]
    pub(super) deletable_at: Option<String>,
    #[serde(default)]
    pub(super) commitment: Option<Commitment>,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    ssh_username: Option<String>,
    #[serde(default)]
    sudo_password: Option<String>,
    #[serde(default)]
    vnc_url: Option<String>,
}

/// For how long a server is rented.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Commitment {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// An operating system that can be installed, or that was.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Os {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) label: String,
    pub(super) family: String,
    pub(super) is_beta: bool,
    pub(super) version: String,
    pub(super) xcode_version: String,
    pub(super) supported_server_types: Vec<Supported>,
}

/// A model that a system can be installed on.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(super) struct Supported {
    pub(super) server_type: String,
}

/// A model of servers.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ServerType {
    pub(super) name: String,
    #[serde(default)]
    pub(super) cpu: Cpu,
    #[serde(default)]
    pub(super) disk: Capacity,
    #[serde(default)]
    pub(super) memory: Capacity,
    #[serde(default)]
    pub(super) stock: String,
    #[serde(default)]
    pub(super) minimum_lease_duration: Option<String>,
    #[serde(default)]
    pub(super) default_os: Option<Os>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cpu {
    pub(super) name: String,
    pub(super) core_count: i64,
}

/// So many bytes of something.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Capacity {
    pub(super) capacity: i64,
}

/// A public key that the vendor puts on the servers of a project.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SshKey {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) public_key: String,
    pub(super) project_id: String,
    #[serde(default)]
    pub(super) fingerprint: Option<String>,
    #[serde(default)]
    pub(super) created_at: Option<String>,
    #[serde(default)]
    pub(super) disabled: bool,
}

/// A private network.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PrivateNetwork {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) project_id: String,
    pub(super) region: String,
    #[serde(default)]
    pub(super) vpc_id: Option<String>,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) subnets: Vec<Subnet>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Subnet {
    pub(super) subnet: String,
}

/// A private network at a server.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Attachment {
    pub(super) id: String,
    pub(super) server_id: String,
    pub(super) private_network_id: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) vlan: Option<i64>,
    #[serde(default)]
    pub(super) ipam_ip_ids: Vec<String>,
}

impl Server {
    /// Who logs in.
    pub(super) fn user(&self) -> Option<String> {
        told(self.ssh_username.as_deref())
    }

    /// The password of that user: told for some hours at its own place, and later as a part of another.
    pub(super) fn sudo_password(&self) -> Option<Secret> {
        let password = told(self.sudo_password.as_deref());
        password.or_else(|| password_of(self.vnc_url.as_deref()?)).map(Secret)
    }
}

/// A text, if the vendor tells it.
fn told(text: Option<&str>) -> Option<String> {
    let is_told = |text: &&str| !text.is_empty() && (*text != SEALED || !cure::is_there("refuse-sealed"));
    text.filter(is_told).map(str::to_owned)
}

/// The password in `vnc://user:password@host:port`.
fn password_of(url: &str) -> Option<String> {
    let (login, _) = url.strip_prefix("vnc://")?.rsplit_once('@')?;
    let (_, password) = login.split_once(':')?;
    let password = percent_decode_str(password).decode_utf8().ok()?;
    told(Some(&password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_where_the_vendor_still_tells_it() {
        let cases = [
            (Some("top"), None, Some("top")),
            (Some("top"), Some("vnc://m1:other@10.0.0.1:59010"), Some("top")),
            (Some("<sealed>"), Some("vnc://m1:a%40b%2Fc%25@10.0.0.1:59010"), Some("a@b/c%")),
            (Some(""), Some("vnc://m1:a@b:c@10.0.0.1:59010"), Some("a@b:c")),
            (None, Some("vnc://m1:pw@10.0.0.1:59010"), Some("pw")),
            (Some("<sealed>"), Some("<sealed>"), None),
            (Some("<sealed>"), Some("vnc://m1:<sealed>@10.0.0.1:59010"), None),
            (Some("<sealed>"), Some("vnc://m1:%3Csealed%3E@10.0.0.1:59010"), None),
            (None, Some("vnc://m1:%ff@10.0.0.1:59010"), None),
            (None, Some("vnc://m1:@10.0.0.1:59010"), None),
            (None, Some("vnc://10.0.0.1:59010"), None),
            (None, Some("https://m1:pw@10.0.0.1"), None),
            (None, None, None),
        ];
        for (password, vnc_url, expected) in cases {
            let json = serde_json::json!({
                "id": "i", "name": "n", "type": "M2-L", "project_id": "p", "zone": "z", "status": "ready",
                "delivered": true, "ssh_username": "m1", "sudo_password": password, "vnc_url": vnc_url,
            });
            let server: Server = serde_json::from_value(json).unwrap();
            let found = server.sudo_password().map(|secret| secret.0);
            assert_eq!(found.as_deref(), expected, "{password:?} {vnc_url:?}");
            assert_eq!(server.user().as_deref(), Some("m1"));
        }
    }
}
