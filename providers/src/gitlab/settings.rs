//! As whom GitLab is asked, and where it is.

use fleet_derive::Schema;

/// Runners of GitLab CI, as GitLab knows them.
///
/// GitLab is asked with a token of a person, a group or a project, which needs the scopes `create_runner` and `manage_runner`,
/// or `api`. What is not said is taken from `GITLAB_TOKEN` and `GITLAB_URL`.
///
/// It issues secrets: `runner:URL?name=NAME&labels=A,B` makes the record of a runner there, and is the token that its agent
/// is configured with. It is asked for when a step needs it. A runner of the same name that is not online is taken for an
/// earlier one of the same machine, and goes; one that is online stays, and nothing is issued. Where no step that needed it was
/// done, and no agent came, it goes again when the run is over.
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
    /// Where its API is reached, if that is elsewhere than at `url`, as behind a proxy; `GITLAB_API_URL` if it is left out.
    pub api_url: Option<String>,
    /// The token; `GITLAB_TOKEN` if it is left out.
    #[fleet(secret)]
    pub token: Option<String>,
}
