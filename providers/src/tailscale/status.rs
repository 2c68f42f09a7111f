//! What `tailscale` says of the host it runs on.

use fleet_engine::finding::{Known, table};
use fleet_engine::host::probe::Output;
use serde::Deserialize;

use crate::cure;

/// How it is told that the device is out.
const OUT: &str = "it is not in the tailnet";
/// How it is told that it has another name there.
const CALLED: &str = "the tailnet calls it";

/// What `tailscale status --json` says, as far as it is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Status {
    /// `Running` once it is in the tailnet.
    #[serde(rename = "BackendState", default)]
    pub(super) backend: String,
    /// The device itself.
    #[serde(rename = "Self", default)]
    own: Option<Own>,
    /// What it complains about.
    #[serde(rename = "Health", default)]
    health: Option<Vec<String>>,
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
    #[serde(rename = "KeyExpiry")]
    expires: Option<String>,
}

/// The known bad state that trouble with its place in the tailnet is a sign of.
pub(super) fn known(trouble: &str) -> Option<&'static Known> {
    match trouble {
        trouble if trouble.starts_with(OUT) && trouble.contains("invalid key") => {
            Some(&table::EXPIRED_CREDENTIAL)
        }
        trouble if trouble.starts_with(OUT) => Some(&table::OUT_OF_TAILNET),
        trouble if trouble.starts_with(CALLED) => Some(&table::TAILNET_NAME_TAKEN),
        _ => None,
    }
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
        let accept_routes = match routes {
            "routes true" => true,
            "routes false" => false,
            _ => return Err("`tailscale debug prefs` does not say whether it takes routes".to_owned()),
        };
        let status: Status = serde_json::from_str(rest).map_err(|error| error.to_string())?;
        Ok(Status { accept_routes, ..status })
    }

    /// What is wrong with its place in the tailnet, where it should have this name.
    pub(super) fn trouble(&self, wanted: &str) -> Option<String> {
        if !self.is_in() && cure::is_there("see-backend-state") {
            let state = if self.backend.is_empty() { "NoState" } else { &self.backend };
            let said = self.health.iter().flatten().find(|line| line.starts_with("You are logged out. "));
            let why = match (state, said) {
                (_, Some(said)) => said.as_str(),
                ("Stopped", _) => "somebody stopped it",
                ("NeedsMachineAuth", _) => "somebody has to approve it in the admin console",
                _ => "it was logged out or removed there, or its own key expired",
            };
            return Some(format!("{OUT} ({state}): {why}"));
        }
        // Another name that it says itself is another difference.
        let called = self.called().filter(|called| self.hostname() == Some(wanted) && *called != wanted)?;
        Some(format!("{CALLED} `{called}`: another device had the name `{wanted}` when it joined"))
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

    /// When its own key expires, where it does: that of a tagged device does not.
    pub(super) fn expires(&self) -> Option<&str> {
        self.own()?.expires.as_deref()
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
        let out = text.replace("Running", "NeedsLogin").replace("routes true", "routes false");
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
        assert!(Status::read(&said("routes \n{}")).is_err());
    }

    #[test]
    fn what_is_wrong_with_its_place_is_told_apart() {
        let check = |text: &str, expected: &str| {
            let found = Status::read(&said(&format!("routes false\n{text}"))).unwrap().trouble("a");
            let found = found.unwrap_or_default();
            assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
        };
        let running = |name: &str, whole: &str| {
            format!(
                "{{\"BackendState\":\"Running\",\"Self\":{{\"HostName\":\"{name}\",\"DNSName\":\"{whole}.x.ts.net.\"}}}}"
            )
        };
        check(&running("a", "a"), "");
        check(&running("a", "a-1"), "the tailnet calls it `a-1`: another device had the name `a`");
        check(&running("b", "b-1"), "");
        check("{}", "(NoState): it was logged out or removed");
        check("{\"BackendState\":\"Stopped\"}", "(Stopped): somebody stopped it");
        let refused = "You are logged out. The last login error was: invalid key: API key does not exist";
        let health = format!("{{\"BackendState\":\"NeedsLogin\",\"Health\":[\"x\",\"{refused}\"]}}");
        check(&health, &format!("it is not in the tailnet (NeedsLogin): {refused}"));
    }
}
