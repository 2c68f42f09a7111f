//! From an HTTP request to the operation it asks for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What can be asked of the vendor, by the names its SDKs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say what they are")]
pub enum Operation {
    ListServerTypes,
    GetServerType,
    ListOs,
    GetOs,
    ListServers,
    CreateServer,
    BatchCreateServers,
    GetServer,
    UpdateServer,
    DeleteServer,
    RebootServer,
    ReinstallServer,
    StartConnectivityDiagnostic,
    GetConnectivityDiagnostic,
    ListRunners,
    CreateRunner,
    GetRunner,
    UpdateRunner,
    DeleteRunner,
    ListServerPrivateNetworks,
    AddServerPrivateNetwork,
    SetServerPrivateNetworks,
    GetServerPrivateNetwork,
    DeleteServerPrivateNetwork,
    ListSshKeys,
    CreateSshKey,
    GetSshKey,
    UpdateSshKey,
    DeleteSshKey,
    ListPrivateNetworks,
    CreatePrivateNetwork,
    GetPrivateNetwork,
    UpdatePrivateNetwork,
    DeletePrivateNetwork,
    ListIps,
}

impl Operation {
    /// Whether it changes nothing.
    #[must_use]
    pub fn reads(self) -> bool {
        use Operation as O;
        matches!(
            self,
            O::ListServerTypes
                | O::GetServerType
                | O::ListOs
                | O::GetOs
                | O::ListServers
                | O::GetServer
                | O::GetConnectivityDiagnostic
                | O::ListRunners
                | O::GetRunner
                | O::ListServerPrivateNetworks
                | O::GetServerPrivateNetwork
                | O::ListSshKeys
                | O::GetSshKey
                | O::ListPrivateNetworks
                | O::GetPrivateNetwork
                | O::ListIps
        )
    }

    /// What kind of thing it is about, as errors call it.
    #[must_use]
    pub fn resource(self) -> &'static str {
        use Operation as O;
        match self {
            O::ListServerTypes | O::GetServerType => "server_type",
            O::ListOs | O::GetOs => "os",
            O::ListServers
            | O::CreateServer
            | O::BatchCreateServers
            | O::GetServer
            | O::UpdateServer
            | O::DeleteServer
            | O::RebootServer
            | O::ReinstallServer => "server",
            O::StartConnectivityDiagnostic | O::GetConnectivityDiagnostic => "connectivity_diagnostic",
            O::ListRunners | O::CreateRunner | O::GetRunner | O::UpdateRunner | O::DeleteRunner => "runner",
            O::ListServerPrivateNetworks
            | O::AddServerPrivateNetwork
            | O::SetServerPrivateNetworks
            | O::GetServerPrivateNetwork
            | O::DeleteServerPrivateNetwork => "server_private_network",
            O::ListSshKeys | O::CreateSshKey | O::GetSshKey | O::UpdateSshKey | O::DeleteSshKey => "ssh_key",
            O::ListPrivateNetworks
            | O::CreatePrivateNetwork
            | O::GetPrivateNetwork
            | O::UpdatePrivateNetwork
            | O::DeletePrivateNetwork => "private_network",
            O::ListIps => "ip",
        }
    }
}

/// A request, understood.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// What is asked for.
    pub operation: Operation,
    /// The zone or the region in the path; empty for what is everywhere.
    pub place: String,
    /// The id in the path.
    pub id: Option<String>,
    /// The second id in the path.
    pub inner: Option<String>,
    /// What stands behind the `?`.
    pub query: Vec<(String, String)>,
    /// What was sent; null if nothing was.
    pub body: Value,
}

impl Call {
    /// The server it is about, if it names one.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        match self.operation.resource() {
            "server" | "server_private_network" => self.id.as_deref(),
            "connectivity_diagnostic" => self.body["server_id"].as_str(),
            _ => None,
        }
    }

    pub(crate) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    pub(crate) fn inner(&self) -> &str {
        self.inner.as_deref().unwrap_or_default()
    }

    /// What a parameter of the query says; nothing if it is empty.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let named = self.query.iter().find(|(key, value)| key == name && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }

    pub(crate) fn parameters<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.query.iter().filter(move |(key, value)| key == name && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }
}

/// Finds the operation of a method and a path; none if the vendor has no such address.
#[must_use]
pub fn route(method: &str, path: &str) -> Option<Call> {
    let mut parts = path.strip_prefix('/')?.split('/');
    let (product, version) = (parts.next()?, parts.next()?);
    let mut place = String::new();
    if product != "iam" {
        let kind = parts.next()?;
        if kind != if product == "apple-silicon" { "zones" } else { "regions" } {
            return None;
        }
        parts.next()?.clone_into(&mut place);
    }
    let rest: Vec<&str> = parts.collect();
    use Operation as O;
    let (operation, id, inner) = match (product, version, method, rest.as_slice()) {
        ("apple-silicon", "v1alpha1", method, rest) => match (method, rest) {
            ("GET", ["server-types"]) => (O::ListServerTypes, None, None),
            ("GET", ["server-type", name]) => (O::GetServerType, Some(name), None),
            ("GET", ["os"]) => (O::ListOs, None, None),
            ("GET", ["os", id]) => (O::GetOs, Some(id), None),
            ("GET", ["servers"]) => (O::ListServers, None, None),
            ("POST", ["servers"]) => (O::CreateServer, None, None),
            ("POST", ["batch-create-servers"]) => (O::BatchCreateServers, None, None),
            ("GET", ["servers", id]) => (O::GetServer, Some(id), None),
            ("PATCH", ["servers", id]) => (O::UpdateServer, Some(id), None),
            ("DELETE", ["servers", id]) => (O::DeleteServer, Some(id), None),
            ("POST", ["servers", id, "reboot"]) => (O::RebootServer, Some(id), None),
            ("POST", ["servers", id, "reinstall"]) => (O::ReinstallServer, Some(id), None),
            ("POST", ["connectivity-diagnostics"]) => (O::StartConnectivityDiagnostic, None, None),
            ("GET", ["connectivity-diagnostics", id]) => (O::GetConnectivityDiagnostic, Some(id), None),
            ("GET", ["runners"]) => (O::ListRunners, None, None),
            ("POST", ["runners"]) => (O::CreateRunner, None, None),
            ("GET", ["runners", id]) => (O::GetRunner, Some(id), None),
            ("PATCH", ["runners", id]) => (O::UpdateRunner, Some(id), None),
            ("DELETE", ["runners", id]) => (O::DeleteRunner, Some(id), None),
            ("GET", ["server-private-networks"]) => (O::ListServerPrivateNetworks, None, None),
            ("POST", ["servers", id, "private-networks"]) => (O::AddServerPrivateNetwork, Some(id), None),
            ("PUT", ["servers", id, "private-networks"]) => (O::SetServerPrivateNetworks, Some(id), None),
            ("GET", ["servers", id, "private-networks", network]) => {
                (O::GetServerPrivateNetwork, Some(id), Some(network))
            }
            ("DELETE", ["servers", id, "private-networks", network]) => {
                (O::DeleteServerPrivateNetwork, Some(id), Some(network))
            }
            _ => return None,
        },
        ("iam", "v1alpha1", "GET", ["ssh-keys"]) => (O::ListSshKeys, None, None),
        ("iam", "v1alpha1", "POST", ["ssh-keys"]) => (O::CreateSshKey, None, None),
        ("iam", "v1alpha1", "GET", ["ssh-keys", id]) => (O::GetSshKey, Some(id), None),
        ("iam", "v1alpha1", "PATCH", ["ssh-keys", id]) => (O::UpdateSshKey, Some(id), None),
        ("iam", "v1alpha1", "DELETE", ["ssh-keys", id]) => (O::DeleteSshKey, Some(id), None),
        ("vpc", "v2", "GET", ["private-networks"]) => (O::ListPrivateNetworks, None, None),
        ("vpc", "v2", "POST", ["private-networks"]) => (O::CreatePrivateNetwork, None, None),
        ("vpc", "v2", "GET", ["private-networks", id]) => (O::GetPrivateNetwork, Some(id), None),
        ("vpc", "v2", "PATCH", ["private-networks", id]) => (O::UpdatePrivateNetwork, Some(id), None),
        ("vpc", "v2", "DELETE", ["private-networks", id]) => (O::DeletePrivateNetwork, Some(id), None),
        ("ipam", "v1", "GET", ["ips"]) => (O::ListIps, None, None),
        _ => return None,
    };
    let own = |part: Option<&&str>| part.map(|part| (*part).to_owned());
    let (id, inner) = (own(id), own(inner));
    Some(Call { operation, place, id, inner, query: Vec::new(), body: Value::Null })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let zone = "/apple-silicon/v1alpha1/zones/fr-par-1";
        for (method, path, expected) in [
            ("GET", "/server-types", Some(Operation::ListServerTypes)),
            ("GET", "/server-types/M2-L", None),
            ("GET", "/server-type/M2-L", Some(Operation::GetServerType)),
            ("POST", "/servers", Some(Operation::CreateServer)),
            ("PUT", "/servers/1", None),
            ("PATCH", "/servers/1", Some(Operation::UpdateServer)),
            ("GET", "/servers/", Some(Operation::GetServer)),
            ("POST", "/servers/1/reboot", Some(Operation::RebootServer)),
            ("GET", "/servers/1/reboot", None),
            ("DELETE", "/servers/1/private-networks/2", Some(Operation::DeleteServerPrivateNetwork)),
        ] {
            let found = route(method, &format!("{zone}{path}"));
            assert_eq!(found.map(|call| call.operation), expected, "{method} {path}");
        }
        for (method, path, place, expected) in [
            ("GET", "/iam/v1alpha1/ssh-keys", "", Some(Operation::ListSshKeys)),
            ("GET", "/iam/v1/ssh-keys", "", None),
            ("GET", "/ipam/v1/regions/fr-par/ips", "fr-par", Some(Operation::ListIps)),
            ("GET", "/ipam/v1/zones/fr-par-1/ips", "", None),
            ("GET", "/apple-silicon/v1alpha1/regions/fr-par/servers", "", None),
            ("GET", "/", "", None),
            ("GET", "", "", None),
        ] {
            let found = route(method, path);
            assert_eq!(found.as_ref().map(|call| call.operation), expected, "{method} {path}");
            assert_eq!(found.map(|call| call.place).unwrap_or_default(), place);
        }
    }
}
