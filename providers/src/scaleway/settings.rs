//! Which account of the vendor is meant: the `provider` block, completed from the vendor's own variables.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;

/// Where the API is, unless somebody says otherwise.
const API_URL: &str = "https://api.scaleway.com";

/// Where most Macs are to be had.
const ZONE: &str = "fr-par-1";

/// Macs that are rented from Scaleway, and what belongs to them there.
///
/// What is not said is taken from the variables that Scaleway's own tools read: `SCW_DEFAULT_PROJECT_ID`,
/// `SCW_SECRET_KEY`, `SCW_DEFAULT_ZONE` and `SCW_API_URL`. The access key is not needed. The key should be one of an
/// application that may do no more than it has to: `AppleSiliconFullAccess` and `SSHKeysFullAccess` in one project, and
/// `PrivateNetworksFullAccess` where there are private networks.
///
/// ```hcl
/// secret "scaleway" {
///   from = "env:SCW_SECRET_KEY"
/// }
///
/// provider "scaleway" {
///   project_id = "11111111-2222-3333-4444-555555555555"
///   secret_key = secret.scaleway
/// }
/// ```
#[derive(Clone, Schema)]
pub struct Settings {
    /// The project that everything belongs to; `SCW_DEFAULT_PROJECT_ID` if it is left out.
    pub project_id: Option<String>,
    /// The secret key of the API; `SCW_SECRET_KEY` if it is left out.
    #[fleet(secret)]
    pub secret_key: Option<String>,
    /// The zone of things that do not name one; `SCW_DEFAULT_ZONE` if it is left out, and `fr-par-1` without either.
    pub zone: Option<String>,
    /// Where the API is; `SCW_API_URL` if it is left out, and `https://api.scaleway.com` without either.
    pub api_url: Option<String>,
}

/// An account, with nothing left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The project that everything belongs to.
    pub project_id: String,
    /// The secret key of the API.
    pub secret_key: Secret,
    /// The zone of things that do not name one.
    pub zone: String,
    /// Where the API is.
    pub api_url: String,
}

impl Settings {
    /// Completes the settings from environment variables.
    pub fn complete(self, environment: &BTreeMap<String, String>) -> Result<Account, Error> {
        let given = |setting: Option<String>, variable: &str| {
            let setting = setting.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
            setting.or_else(|| environment.get(variable).map(|text| text.trim().to_owned()))
        };
        let needed = |setting: Option<String>, name: &str, variable: &str| {
            given(setting, variable).filter(|text| !text.is_empty()).ok_or_else(|| {
                let message =
                    format!("provider `scaleway` has no `{name}`, and the variable `{variable}` is not set");
                Error::permanent(message)
                    .help(format!("set `{variable}`, or write `{name}` in `provider \"scaleway\" {{ … }}`"))
            })
        };
        let or = |value: Option<String>, default: &str| {
            value.filter(|text| !text.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        Ok(Account {
            project_id: needed(self.project_id, "project_id", "SCW_DEFAULT_PROJECT_ID")?,
            secret_key: Secret(needed(self.secret_key, "secret_key", "SCW_SECRET_KEY")?),
            zone: or(given(self.zone, "SCW_DEFAULT_ZONE"), ZONE),
            api_url: or(given(self.api_url, "SCW_API_URL"), API_URL),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings { project_id: None, secret_key: None, zone: None, api_url: None }
    }

    fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_is_left_out_comes_from_the_environment_and_what_is_missing_is_named() {
        let all = environment(&[
            ("SCW_DEFAULT_PROJECT_ID", "p"),
            ("SCW_SECRET_KEY", "s"),
            ("SCW_DEFAULT_ZONE", "fr-par-3"),
            ("SCW_API_URL", "http://127.0.0.1:1"),
        ]);
        let account = settings().complete(&all).unwrap();
        assert_eq!((&*account.project_id, &*account.zone), ("p", "fr-par-3"));
        assert_eq!((&*account.secret_key.0, &*account.api_url), ("s", "http://127.0.0.1:1"));

        let said = Settings { project_id: Some("q".into()), zone: Some("z".into()), ..settings() };
        let account = said.complete(&all).unwrap();
        assert_eq!((&*account.project_id, &*account.zone), ("q", "z"));

        let some =
            environment(&[("SCW_DEFAULT_PROJECT_ID", "p"), ("SCW_SECRET_KEY", "s"), ("SCW_API_URL", "")]);
        let account = settings().complete(&some).unwrap();
        assert_eq!((&*account.zone, &*account.api_url), ("fr-par-1", "https://api.scaleway.com"));

        for missing in ["SCW_DEFAULT_PROJECT_ID", "SCW_SECRET_KEY"] {
            for empty in [true, false] {
                let mut some = all.clone();
                some.remove(missing);
                if empty {
                    some.insert(missing.into(), " ".into());
                }
                let error = settings().complete(&some).unwrap_err();
                assert!(error.message.contains(missing) && error.help.unwrap().contains(missing));
            }
        }
    }
}
