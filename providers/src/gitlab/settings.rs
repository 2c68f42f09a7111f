//! As whom GitLab is asked, and where it is.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;

/// Where GitLab is, unless somebody says otherwise.
const URL: &str = "https://gitlab.com";

/// Runners of GitLab CI, as GitLab knows them.
///
/// GitLab is asked with a token of a person, a group or a project, which needs the scopes `create_runner` and `manage_runner`,
/// or `api`. What is not said is taken from `GITLAB_TOKEN` and `GITLAB_URL`.
///
/// It issues secrets: `runner:URL?name=NAME&labels=A,B` makes the record of a runner there, and is the token that its agent
/// is configured with. It is asked for when a step needs it. A runner of the same name that is not online is taken for an
/// earlier one of the same machine, and goes; one that is online stays, and nothing is issued.
///
/// ```hcl
/// secret "gitlab" {
///   from = "env:CI_ADMIN_TOKEN"
/// }
///
/// provider "gitlab" {
///   url   = "https://gitlab.example.com"
///   token = secret.gitlab
/// }
///
/// secret "runner" {
///   from     = "runner:https://gitlab.example.com/groups/macs?name=mini&labels=macos"
///   provider = gitlab
/// }
/// ```
#[derive(Clone, Schema)]
pub struct Settings {
    /// Where GitLab is; `GITLAB_URL` if it is left out, and `https://gitlab.com` without either.
    pub url: Option<String>,
    /// The token; `GITLAB_TOKEN` if it is left out.
    #[fleet(secret)]
    pub token: Option<String>,
}

/// As whom, and where: with nothing left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) api_url: String,
    pub(super) token: Secret,
}

impl Settings {
    /// Completes the settings from environment variables.
    pub(super) fn complete(self, environment: &BTreeMap<String, String>) -> Result<Account, Error> {
        let clean = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let or_else = |said: Option<String>, name: &str| {
            said.and_then(clean).or_else(|| environment.get(name).cloned().and_then(clean))
        };
        let url = or_else(self.url, "GITLAB_URL").unwrap_or_else(|| URL.to_owned());
        let token = or_else(self.token, "GITLAB_TOKEN").ok_or_else(|| {
            Error::permanent("provider `gitlab` has no `token`, and `GITLAB_TOKEN` is not set")
                .help("write `token` in `provider \"gitlab\" { … }`, or set `GITLAB_TOKEN`")
        })?;
        let url = url.trim_end_matches('/').trim_end_matches("/api/v4");
        Ok(Account { api_url: format!("{url}/api/v4"), token: Secret(token) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_go_before_variables() {
        let environment = [("GITLAB_TOKEN", "env"), ("GITLAB_URL", "https://git.example.com/")];
        let environment: BTreeMap<String, String> =
            environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let of = |url: Option<&str>, token: Option<&str>, environment: &BTreeMap<String, String>| {
            Settings { url: url.map(str::to_owned), token: token.map(str::to_owned) }.complete(environment)
        };
        let account = |url: &str, token: &str| Account { api_url: url.into(), token: Secret(token.into()) };
        let none = BTreeMap::new();
        assert_eq!(of(None, None, &environment).unwrap(), account("https://git.example.com/api/v4", "env"));
        let said = of(Some("https://a.example.com/api/v4"), Some(" x\n"), &environment).unwrap();
        assert_eq!(said, account("https://a.example.com/api/v4", "x"));
        assert_eq!(of(None, Some("x"), &none).unwrap(), account("https://gitlab.com/api/v4", "x"));
        assert!(of(None, Some(" "), &none).unwrap_err().help.unwrap().contains("GITLAB_TOKEN"));
    }
}
