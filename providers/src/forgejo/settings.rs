//! As whom Forgejo is asked, and where it is.

use fleet_derive::Schema;

/// Runners of Forgejo Actions, as Forgejo knows them. It has to be Forgejo 15 or newer.
///
/// Forgejo is asked with a token of a person, which needs a scope for the place of the runners: `write:organization`,
/// `write:repository`, `write:user`, or `write:admin` for a whole server; and `read:user`, by which `fleet secrets check` asks
/// whose it is. What is not said is taken from `FORGEJO_TOKEN` and `FORGEJO_URL`.
///
/// It issues secrets: `runner:URL?name=NAME` makes the record of a runner there, and is what its agent (12.8 or newer) is
/// configured with: `{"url":…,"uuid":…,"token":…}`, JSON that can stand for a whole connection in the YAML of the agent. It is
/// asked for when a step needs it. A runner of the same name that is not online is taken for an earlier one of the same
/// machine, and goes; one that is online stays, and nothing is issued. Where no step that needed it was done, and no agent came,
/// it goes again when the run is over.
///
/// What stands beside it in a file can be changed only when its agent is stopped, since it is told once. So labels have a file of
/// their own, and what starts the agent puts both together: `cat labels.yml connection.yml > config.yml`, for no other eyes.
///
/// ```hcl
/// secret "forgejo" {
///   from = "env:CI_ADMIN_TOKEN"
/// }
///
/// provider "forgejo" {
///   url   = "https://forgejo.example.com"
///   token = secret.forgejo
/// }
///
/// secret "runner" {
///   from     = "runner:https://forgejo.example.com/macs?name=mini"
///   provider = forgejo
/// }
///
/// resource "core_file" "connection" {
///   path    = "connection.yml"
///   mode    = "0600"
///   content = <<-EOT
///     server:
///       connections:
///         forgejo: ${secret.runner}
///   EOT
/// }
///
/// resource "core_file" "labels" {
///   path    = "labels.yml"
///   content = <<-EOT
///     runner:
///       labels: ["macos:host"]
///   EOT
/// }
/// ```
#[derive(Clone, Schema)]
pub struct Settings {
    /// Where Forgejo is; `FORGEJO_URL` if it is left out.
    pub url: Option<String>,
    /// Where its API is reached, if that is elsewhere than at `url`, as behind a proxy; `FORGEJO_API_URL` if it is left out.
    pub api_url: Option<String>,
    /// The token; `FORGEJO_TOKEN` if it is left out.
    #[fleet(secret)]
    pub token: Option<String>,
}
