//! What `tailscale` says of the host it runs on.

use fleet_engine::host::probe::Output;
use serde::Deserialize;

/// What `tailscale status --json` says, as far as it is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Status {
    /// `Running` once it is in the tailnet.
    #[serde(rename = "BackendState", default)]
    pub(super) backend: String,
    /// The device itself.
    #[serde(rename = "Self", default)]
    own: Option<Own>,
    /// Whether it takes the routes of others; no part of what is printed there.
    #[serde(skip)]
    pub(super) accept_routes: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Own {
    #[serde(rename = "ID")]
    id: String,
    #[serde(rename = "HostName")]
    hostname: String,
    #[serde(rename = "DNSName")]
    name: String,
    #[serde(rename = "TailscaleIPs")]
    addresses: Option<Vec<String>>,
    #[serde(rename = "Tags")]
    tags: Option<Vec<String>>,
}

impl Status {
    /// Reads what was said; why that cannot be, if it cannot.
    pub(super) fn read(said: &Output) -> Result<Status, String> {
        let complaint = String::from_utf8_lossy(&said.stderr).trim().to_owned();
        if said.status != 0 {
            return Err(complaint.lines().next().unwrap_or("it says nothing").to_owned());
        }
        let text = String::from_utf8_lossy(&said.stdout);
        let (routes, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let status: Status = serde_json::from_str(rest).map_err(|error| error.to_string())?;
        Ok(Status { accept_routes: routes == "routes true", ..status })
    }

    /// Whether it is in the tailnet.
    pub(super) fn is_in(&self) -> bool {
        self.backend == "Running"
    }

    fn own(&self) -> Option<&Own> {
        self.own.as_ref().filter(|_| self.is_in())
    }

    /// How it wants to be called.
    pub(super) fn hostname(&self) -> Option<&str> {
        self.own().map(|own| own.hostname.as_str())
    }

    /// Its tags, in order.
    pub(super) fn tags(&self) -> Vec<String> {
        let mut tags = self.own().and_then(|own| own.tags.clone()).unwrap_or_default();
        tags.sort();
        tags
    }

    /// Its whole name.
    pub(super) fn fqdn(&self) -> Option<&str> {
        self.own().map(|own| own.name.trim_end_matches('.')).filter(|name| !name.is_empty())
    }

    /// How the tailnet calls it: the first part of its whole name.
    pub(super) fn called(&self) -> Option<&str> {
        self.fqdn().and_then(|name| name.split('.').next())
    }

    /// What the tailnet calls it for ever.
    pub(super) fn node_id(&self) -> Option<&str> {
        self.own().map(|own| own.id.as_str()).filter(|id| !id.is_empty())
    }

    /// Its address.
    pub(super) fn ipv4(&self) -> Option<&str> {
        self.own()?.addresses.iter().flatten().map(String::as_str).find(|address| address.starts_with("100."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Output {
        Output { stdout: text.as_bytes().to_vec(), ..Output::default() }
    }

    #[test]
    fn what_is_said_is_understood() {
        let text = "routes true\n{\"BackendState\":\"Running\",\"Self\":{\"ID\":\"n1\",\"HostName\":\"a\",\"DNSName\":\"a-1.x.ts.net.\",\
                    \"TailscaleIPs\":[\"fd7a::1\",\"100.64.0.1\"],\"Tags\":[\"tag:b\",\"tag:a\"]},\"Peer\":null}";
        let status = Status::read(&said(text)).unwrap();
        assert_eq!(
            (status.hostname(), status.called(), status.fqdn()),
            (Some("a"), Some("a-1"), Some("a-1.x.ts.net"))
        );
        assert_eq!((status.node_id(), status.ipv4()), (Some("n1"), Some("100.64.0.1")));
        assert_eq!(status.tags(), ["tag:a", "tag:b"]);
        assert!(status.accept_routes);
        let out = text.replace("Running", "NeedsLogin").replace("routes true", "routes ");
        let status = Status::read(&said(&out)).unwrap();
        assert_eq!(
            (status.is_in(), status.hostname(), status.ipv4(), status.accept_routes),
            (false, None, None, false)
        );
    }

    #[test]
    fn whoever_does_not_answer_says_why() {
        let down = Output { status: 1, stdout: Vec::new(), stderr: b"failed to connect\nmore\n".to_vec() };
        assert_eq!(Status::read(&down), Err("failed to connect".to_owned()));
        assert!(Status::read(&said("routes true\nx")).is_err());
    }
}
