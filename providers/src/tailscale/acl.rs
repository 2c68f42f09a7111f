//! `tailscale_acl`: the policy of a tailnet.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use fleet_transport::http::{Answer, Body, Verb};
use similar::{ChangeTag, TextDiff};

use super::client::{Acting, Looking, Refusal, Told};
use super::hujson;

/// The policy of a tailnet: who may reach whom, as HuJSON.
///
/// The text is kept as it is written, comments included. Space and commas that say nothing are no difference: the server has
/// its own way to write them.
///
/// Before it is set, the tailnet checks it and runs its `tests`; where one fails, nothing is set. It is set only if it is still
/// the one that the plan saw: what somebody changed in the console meanwhile is not overwritten, its lines are told, and the
/// next plan shows it as a difference.
///
/// A tailnet has one policy, always. Removing this leaves it as it is.
///
/// ```hcl
/// resource "tailscale_acl" "this" {
///   policy = <<-EOT
///     // Macs are reached by who builds.
///     {
///       "tagOwners": {"tag:ci": [], "tag:mac": []},
///       "acls": [
///         {"action": "accept", "src": ["tag:ci"], "dst": ["tag:mac:22,8080"]},
///       ],
///       "tests": [
///         {"src": "tag:ci", "accept": ["tag:mac:22"], "deny": ["tag:mac:5900"]},
///       ],
///     }
///   EOT
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Acl {
    /// The whole policy.
    policy: String,
    /// What the tailnet calls the policy that is in force.
    #[fleet(computed, follows = "policy")]
    etag: Option<String>,
}

impl Resource for Acl {
    const NAME: &'static str = "tailscale_acl";
    const ID: Option<&'static str> = Some("anything: there is only one");

    fn normalize(&mut self) -> Result<(), Misfit> {
        hujson::check(&self.policy).map_err(|why| Misfit::new("policy", why))
    }
}

impl ApiKind for Acl {
    type Reader = Looking;
    type Writer = Acting;
    const STAYS: bool = true;

    async fn observe(reader: &Looking, batch: Vec<At<Acl>>) -> Vec<Result<Option<Acl>, Error>> {
        let found = current(reader).await;
        let answer = |at: At<Acl>| {
            let found = found.clone()?;
            let known = match at {
                At::Recorded(known) | At::Declared(known) | At::Begun { wish: known, .. } => {
                    Some(known.policy)
                }
                At::Id(_) => None,
            };
            // What says the same is the same, however the server writes it.
            let as_written = known.filter(|known| hujson::same(known, &found.policy));
            Ok(Some(Acl { policy: as_written.unwrap_or(found.policy), ..found }))
        };
        batch.into_iter().map(answer).collect()
    }

    async fn apply(self, writer: &Acting, change: Change<Acl>) -> Result<Acl, Error> {
        let doing = "cannot set the policy of the tailnet";
        let seen = match change {
            Change::Update { from } => from,
            Change::Create => current(writer.looking()).await?,
        };
        let etag = seen.etag.clone().ok_or_else(|| {
            Error::permanent(format!("{doing}: the tailnet did not say which one is in force"))
                .help("plan again")
        })?;
        let body = || Body::Text("application/hujson", &self.policy);
        let checked = writer.send(doing, Verb::Post, &["acl", "validate"], &[], body()).await?;
        if let Some(why) = objection(&checked) {
            let error = Error::permanent(format!("{doing}: {why}; nothing was set"));
            return Err(error.help("the policy, or the `tests` in it, have to be put right"));
        }
        match writer.send(doing, Verb::Post, &["acl"], &[("if-match", &etag)], body()).await {
            Ok(answer) => Ok(Acl { etag: answer.header("etag"), ..self }),
            Err(Refusal::Changed(mut error)) => {
                let now = current(writer.looking()).await?;
                error.message += &format!(
                    "; since the plan was made, somebody changed {}",
                    changed(&seen.policy, &now.policy)
                );
                Err(error.help(
                    "that was not overwritten, and nothing was set: plan again, and decide what is to stay",
                ))
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// There is always a policy: it stays as it is.
    async fn destroy(_: &Acting, _: Acl) -> Result<(), Error> {
        Ok(())
    }
}

/// The policy that is in force.
async fn current(reader: &Looking) -> Result<Acl, Error> {
    let doing = "cannot read the policy of the tailnet";
    let answer = reader.get(doing, &["acl"], &[("accept", "application/hujson")]).await?;
    Ok(Acl { policy: answer.text()?.to_owned(), etag: answer.header("etag") })
}

/// How a policy was changed, line by line.
fn changed(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let lines = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let lines: Vec<String> =
        lines.map(|change| format!("  {} {}", change.tag(), change.value().trim_end())).collect();
    match lines.is_empty() {
        true => "it, and back again".to_owned(),
        false => format!("these lines:\n{}", lines.join("\n")),
    }
}

/// What the tailnet has against a policy. It answers 200 in any case.
fn objection(answer: &Answer) -> Option<String> {
    let words = answer.clean(&answer.told::<Told>()?.words());
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
impl Acl {
    pub(super) fn wish(policy: &str) -> Acl {
        Acl { policy: policy.into(), etag: None }
    }

    pub(super) fn policy(&self) -> &str {
        &self.policy
    }
}
