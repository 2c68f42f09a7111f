//! Which tailnet is meant, and as whom its API is asked.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;

/// Where the API is, unless somebody says otherwise.
const BASE_URL: &str = "https://api.tailscale.com";

/// A tailnet, and the hosts that are devices in it.
///
/// `tailscale_device` stands in a `fleet` and needs no settings: the host itself joins. What the tailnet's API is asked takes an
/// OAuth client or an API key. What is not said is taken from `TAILSCALE_OAUTH_CLIENT_ID`, `TAILSCALE_OAUTH_CLIENT_SECRET`,
/// `TAILSCALE_API_KEY`, `TAILSCALE_TAILNET` and `TAILSCALE_BASE_URL`. A client needs the scopes `auth_keys`, `devices:core` and
/// `policy_file`, as far as it is used for them, and tags.
///
/// It issues secrets: `auth-key:tag:a,tag:b` is a key that lets devices with these tags in, for an hour. It is made when a step
/// needs it.
///
/// ```hcl
/// secret "tailscale" {
///   from = "env:TAILSCALE_OAUTH_CLIENT_SECRET"
/// }
///
/// provider "tailscale" {
///   oauth_client_id     = "kLabCNTRL"
///   oauth_client_secret = secret.tailscale
///   device_cap          = 50
/// }
///
/// secret "join" {
///   from     = "auth-key:tag:ci"
///   provider = tailscale
/// }
/// ```
#[derive(Clone, Schema)]
pub struct Settings {
    /// The id of an OAuth client.
    pub oauth_client_id: Option<String>,
    /// The secret of that client.
    #[fleet(secret)]
    pub oauth_client_secret: Option<String>,
    /// An API key, in the place of a client. It lives for 90 days at most.
    #[fleet(secret)]
    pub api_key: Option<String>,
    /// The tailnet; the one of the credentials if it is left out.
    pub tailnet: Option<String>,
    /// Where the API is.
    pub base_url: Option<String>,
    /// How many tagged devices the tailnet may have: a plan warns when there are more, or nearly so.
    pub device_cap: Option<i64>,
}

/// A tailnet and credentials, with nothing left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub(super) base_url: String,
    pub(super) tailnet: String,
    pub(super) credentials: Credentials,
    pub(super) device_cap: Option<i64>,
}

/// As whom the API is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    /// By a key.
    Key(Secret),
    /// As a client, by what it is given for an hour.
    Client { id: String, secret: Secret },
}

impl Settings {
    /// Completes the settings from environment variables.
    pub fn complete(self, environment: &BTreeMap<String, String>) -> Result<Account, Error> {
        let clean = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let variable = |name: &str| environment.get(name).cloned().and_then(clean);
        let [id, secret, key, tailnet, base_url] =
            [self.oauth_client_id, self.oauth_client_secret, self.api_key, self.tailnet, self.base_url]
                .map(|given| given.and_then(clean));
        if key.is_some() && (id.is_some() || secret.is_some()) {
            let error = Error::permanent("provider `tailscale` has an `api_key` and an OAuth client");
            return Err(error.help("leave one of them out: only one can be used"));
        }
        let from_client = |id: Option<String>, secret: Option<String>| match (id, secret) {
            (Some(id), Some(secret)) => Ok(Some(Credentials::Client { id, secret: Secret(secret) })),
            (None, None) => Ok(None),
            (id, _) => {
                let missing = if id.is_some() { "oauth_client_secret" } else { "oauth_client_id" };
                let error = Error::permanent(format!(
                    "provider `tailscale` has no `{missing}`, and a client has both"
                ));
                Err(error.help(format!("write `{missing}`, or set `TAILSCALE_{}`", missing.to_uppercase())))
            }
        };
        let credentials = match key {
            Some(key) => Credentials::Key(Secret(key)),
            None => {
                let id = id.or_else(|| variable("TAILSCALE_OAUTH_CLIENT_ID"));
                let secret = secret.or_else(|| variable("TAILSCALE_OAUTH_CLIENT_SECRET"));
                let by_key = || variable("TAILSCALE_API_KEY").map(|key| Credentials::Key(Secret(key)));
                from_client(id, secret)?.or_else(by_key).ok_or_else(|| {
                    let error = Error::permanent(
                        "provider `tailscale` has no credentials, and neither has `TAILSCALE_API_KEY`",
                    );
                    error.help("write `oauth_client_id` and `oauth_client_secret`, or `api_key`, in `provider \"tailscale\" { … }`")
                })?
            }
        };
        Ok(Account {
            base_url: base_url
                .or_else(|| variable("TAILSCALE_BASE_URL"))
                .unwrap_or_else(|| BASE_URL.to_owned()),
            tailnet: tailnet.or_else(|| variable("TAILSCALE_TAILNET")).unwrap_or_else(|| "-".to_owned()),
            credentials,
            device_cap: self.device_cap,
        })
    }
}

#[cfg(test)]
impl Settings {
    /// Nothing is said.
    pub(super) fn none() -> Settings {
        Settings {
            oauth_client_id: None,
            oauth_client_secret: None,
            api_key: None,
            tailnet: None,
            base_url: None,
            device_cap: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_goes_before_a_key_and_settings_before_variables() {
        let environment =
            |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "env".to_owned())).collect();
        let client = ["TAILSCALE_OAUTH_CLIENT_ID", "TAILSCALE_OAUTH_CLIENT_SECRET"];
        let of = |settings: Settings, names: &[&str]| {
            settings.complete(&environment(names)).map(|it| it.credentials)
        };
        let by_client = || Credentials::Client { id: "env".into(), secret: Secret("env".into()) };
        let by_key = |key: &str| Credentials::Key(Secret(key.into()));
        assert_eq!(of(Settings::none(), &[client[0], client[1], "TAILSCALE_API_KEY"]).unwrap(), by_client());
        assert_eq!(of(Settings::none(), &["TAILSCALE_API_KEY"]).unwrap(), by_key("env"));
        let said = || Settings { api_key: Some(" said\n".into()), ..Settings::none() };
        assert_eq!(of(said(), &client).unwrap(), by_key("said"));
        for (settings, names, expected) in [
            (Settings::none(), &[][..], "no credentials"),
            (Settings::none(), &client[..1], "no `oauth_client_secret`"),
            (Settings::none(), &client[1..], "no `oauth_client_id`"),
            (
                Settings { oauth_client_id: Some("x".into()), ..said() },
                &[],
                "an `api_key` and an OAuth client",
            ),
        ] {
            let error = of(settings, names).unwrap_err();
            assert!(error.message.contains(expected) && error.help.is_some(), "{error}");
        }
    }
}
