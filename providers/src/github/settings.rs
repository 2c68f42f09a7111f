//! As whom GitHub is asked, and where it is.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;

/// Where the API is, unless somebody says otherwise.
const API_URL: &str = "https://api.github.com";

/// Runners of GitHub Actions: on hosts of a fleet, and as GitHub knows them.
///
/// `github_runner` lives on hosts and needs no settings. What GitHub itself is asked takes the credentials of an App
/// (`app_id` and `private_key`, as it was downloaded or as PKCS#8), which may read and write the self-hosted runners of an
/// organisation; or a token. What is not said is taken from `GITHUB_APP_ID`, `GITHUB_APP_INSTALLATION_ID` and
/// `GITHUB_APP_PRIVATE_KEY`, else from `GITHUB_TOKEN`. On GitHub Enterprise, `api_url` is the address of the server.
///
/// It issues secrets: `registration-token:URL` and `remove-token:URL`, by which agents come and go, and
/// `jit-config:URL?name=NAME&labels=A,B&group=GROUP`, by which an agent is started that is there for one job, as the module
/// `github-jit-runner` of the examples does. Such a secret is asked for when a step needs it; a
/// token is good for an hour.
///
/// ```hcl
/// secret "github" {
///   from = "file:app.private-key.pem"
/// }
///
/// provider "github" {
///   app_id      = "123456"
///   private_key = secret.github
/// }
///
/// secret "runner" {
///   from     = "registration-token:https://github.com/example"
///   provider = github
/// }
/// ```
#[derive(Clone, Schema)]
pub struct Settings {
    /// The number of the App, or its client id; `GITHUB_APP_ID` if it is left out.
    pub app_id: Option<String>,
    /// The number of its installation; it is looked for where runners are registered if it is left out.
    pub installation_id: Option<String>,
    /// The private key of the App; `GITHUB_APP_PRIVATE_KEY` if it is left out.
    #[fleet(secret)]
    pub private_key: Option<String>,
    /// A token, in the place of an App; `GITHUB_TOKEN` if neither is there.
    #[fleet(secret)]
    pub token: Option<String>,
    /// Where the API is; `GITHUB_API_URL` if it is left out, and `https://api.github.com` without either.
    pub api_url: Option<String>,
}

/// As whom, and where: with nothing left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Where the API is.
    pub(super) api_url: String,
    /// As whom.
    pub(super) credentials: Credentials,
}

/// As whom GitHub is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    /// As a person.
    Token(Secret),
    /// As an App, by what its installation is given for an hour.
    App { id: String, installation: Option<String>, private_key: Secret },
}

impl Settings {
    /// Completes the settings from environment variables.
    pub fn complete(self, environment: &BTreeMap<String, String>) -> Result<Account, Error> {
        let clean = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let variable = |name: &str| environment.get(name).cloned().and_then(clean);
        let [app_id, installation_id, private_key, token, api_url] =
            [self.app_id, self.installation_id, self.private_key, self.token, self.api_url]
                .map(|it| it.and_then(clean));
        if token.is_some() && (app_id.is_some() || private_key.is_some()) {
            let error = Error::permanent("provider `github` has a `token` and the credentials of an App");
            return Err(error.help("leave one of them out: only one can be used"));
        }
        let api_url = api_url.or_else(|| variable("GITHUB_API_URL"));
        let api_url = api_url.map_or_else(|| API_URL.to_owned(), |url| api_of(&url));
        if let Some(token) = token {
            return Ok(Account { api_url, credentials: Credentials::Token(Secret(token)) });
        }
        let app_id = app_id.or_else(|| variable("GITHUB_APP_ID"));
        let private_key = private_key.or_else(|| variable("GITHUB_APP_PRIVATE_KEY"));
        let credentials = match (app_id, private_key, variable("GITHUB_TOKEN")) {
            (Some(id), Some(private_key), _) => Credentials::App {
                id,
                installation: installation_id.or_else(|| variable("GITHUB_APP_INSTALLATION_ID")),
                private_key: Secret(private_key),
            },
            (None, None, Some(token)) => Credentials::Token(Secret(token)),
            (None, None, None) => {
                let error = Error::permanent(
                    "provider `github` has no credentials, and neither have `GITHUB_APP_ID` and `GITHUB_TOKEN`",
                );
                return Err(error.help(
                    "write `app_id` and `private_key` in `provider \"github\" { … }`, or set `GITHUB_TOKEN`",
                ));
            }
            (id, _, _) => {
                let missing = if id.is_some() { "private_key" } else { "app_id" };
                let error =
                    Error::permanent(format!("provider `github` has no `{missing}`, and an App has both"));
                return Err(error.help(format!(
                    "write `{missing}`, or set `GITHUB_APP_{}`",
                    if id.is_some() { "PRIVATE_KEY" } else { "ID" }
                )));
            }
        };
        Ok(Account { api_url, credentials })
    }
}

/// The API of a server: of an own one below `/api/v3`, of one with `api` in its name at its root.
fn api_of(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host = rest.split([':', '/']).next().unwrap_or_default();
    let is_api = host.starts_with("api.") || host.contains(".api.") || rest.contains('/');
    let is_here = host == "localhost"
        || rest.starts_with('[')
        || host.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback());
    if is_api || is_here {
        url.to_owned()
    } else if host == "github.com" || host.ends_with(".ghe.com") {
        format!("{scheme}://api.{rest}")
    } else {
        format!("{url}/api/v3")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Settings {
        Settings { app_id: None, installation_id: None, private_key: None, token: None, api_url: None }
    }

    fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_app_goes_before_a_token_and_settings_before_variables() {
        let app = |id: &str, installation: Option<&str>| Credentials::App {
            id: id.into(),
            installation: installation.map(str::to_owned),
            private_key: Secret("key".into()),
        };
        let token = |token: &str| Credentials::Token(Secret(token.into()));
        let all = environment(&[
            ("GITHUB_TOKEN", "env"),
            ("GITHUB_APP_ID", " 7 \n"),
            ("GITHUB_APP_PRIVATE_KEY", "key"),
            ("GITHUB_APP_INSTALLATION_ID", "8"),
        ]);
        let alone = environment(&[("GITHUB_TOKEN", "env")]);
        let of = |settings: Settings, environment| settings.complete(environment).unwrap().credentials;
        assert_eq!(of(none(), &all), app("7", Some("8")));
        assert_eq!(of(none(), &alone), token("env"));
        assert_eq!(of(Settings { token: Some("said".into()), ..none() }, &all), token("said"));
        let said = Settings { app_id: Some("9".into()), private_key: Some("key".into()), ..none() };
        assert_eq!(of(said.clone(), &alone), app("9", None));
        let both = Settings { token: Some("x".into()), ..said };
        for (settings, environment, expected) in [
            (none(), environment(&[]), "no credentials"),
            (both, alone.clone(), "a `token` and the credentials of an App"),
            (Settings { app_id: Some("9".into()), ..none() }, alone.clone(), "no `private_key`"),
            (Settings { private_key: Some("key".into()), ..none() }, alone, "no `app_id`"),
        ] {
            let error = settings.complete(&environment).unwrap_err();
            assert!(error.message.contains(expected) && error.help.is_some(), "{error}");
        }
    }

    #[test]
    fn the_api_of_a_server_is_where_it_is() {
        for (url, expected) in [
            ("https://github.com", "https://api.github.com"),
            ("https://api.github.com/", "https://api.github.com"),
            ("https://octo.ghe.com", "https://api.octo.ghe.com"),
            ("https://git.example.com", "https://git.example.com/api/v3"),
            ("https://git.example.com/api/v3/", "https://git.example.com/api/v3"),
            ("https://git.example.com:8443", "https://git.example.com:8443/api/v3"),
            ("http://127.0.0.1:4711", "http://127.0.0.1:4711"),
        ] {
            assert_eq!(api_of(url), expected);
        }
    }
}
