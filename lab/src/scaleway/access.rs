//! Who asks, and what they may see and do.

use serde::{Deserialize, Serialize};

use super::refusal::{Limit, Refusal};
use super::route::{Call, Operation};
use super::{ErrorType, Outcome, Scaleway};
use crate::clock::Time;

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// Look and change.
    Full,
    /// Look.
    ReadOnly,
    /// Nothing.
    None,
}

/// An API key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// The access key: it names the caller, and is no secret.
    pub id: String,
    /// The secret key, which is sent with each request.
    pub secret: String,
    /// The one project it is good for; none for the whole organization.
    pub project_id: Option<String>,
    /// What it may do to servers and networks.
    pub servers: Permissions,
    /// What it may do to SSH keys.
    pub ssh_keys: Permissions,
    /// When it stops being good.
    pub expires_at: Option<Time>,
}

impl Token {
    fn permissions(&self, operation: Operation) -> Permissions {
        if operation.resource() == "ssh_key" { self.ssh_keys } else { self.servers }
    }

    pub(super) fn may_write(&self, operation: Operation) -> Result<(), Refusal> {
        match self.permissions(operation) {
            Permissions::Full => Ok(()),
            _ => Err(Refusal::permissions(operation.resource(), "write")),
        }
    }

    fn may_ask(&self, call: &Call) -> Result<(), Refusal> {
        let action = match (call.operation.reads(), &call.id) {
            (false, _) => "write",
            (true, None) => "list",
            (true, Some(_)) => "read",
        };
        match self.permissions(call.operation) {
            Permissions::Full | Permissions::ReadOnly => Ok(()),
            Permissions::None => Err(Refusal::permissions(call.operation.resource(), action)),
        }
    }

    /// Whether it can see what belongs to a project.
    pub(super) fn sees(&self, project: &str) -> bool {
        self.project_id.as_deref().is_none_or(|own| own == project)
    }

    /// The filter of a list by project and organization: what it lets through.
    pub(super) fn filter<'a>(
        &'a self,
        call: &'a Call,
        organization: &str,
    ) -> Result<impl Fn(&str) -> bool + 'a, Refusal> {
        let asked = call.parameter("project_id");
        if asked.is_some_and(|project| !self.sees(project)) {
            return Err(Refusal::permissions(call.operation.resource(), "list"));
        }
        let ours = call.parameter("organization_id").is_none_or(|asked| asked == organization);
        Ok(move |project: &str| ours && self.sees(project) && asked.is_none_or(|asked| asked == project))
    }
}

impl Scaleway {
    /// Finds out who asks.
    pub(crate) fn authenticate(&self, secret: Option<&str>, now: Time) -> Result<&Token, Outcome> {
        let refuse = |reason: &str| Outcome::of(Err(Refusal::authentication(reason)), Vec::new());
        let secret = secret.filter(|secret| uuid::Uuid::try_parse(secret).is_ok());
        let secret = secret.ok_or_else(|| refuse("invalid_argument"))?;
        let token = self.tokens.iter().find(|token| token.secret == secret);
        let token = token.ok_or_else(|| refuse("not_found"))?;
        match token.expires_at {
            Some(end) if end <= now => Err(refuse("expired")),
            _ => Ok(token),
        }
    }

    /// Whether a caller may ask this now. A key that asks too often is told when it may ask again.
    pub(crate) fn admit(&mut self, caller: &Token, call: &Call, now: Time) -> Result<(), Outcome> {
        let refuse = |refusal| Err(Outcome::of(Err(refusal), Vec::new()));
        if let Some(limit) = self.rules.rate_limit {
            let asked = self.asked.entry(caller.id.clone()).or_default();
            asked.retain(|time| now.since(*time) < limit.window.0);
            let many = u32::try_from(asked.len()).unwrap_or(u32::MAX);
            if let Some(first) = asked.first().filter(|_| many >= limit.quota) {
                let reset_at = first.after(limit.window.0);
                let seconds = reset_at.since(now).as_millis().div_ceil(1000);
                return refuse(Refusal::too_many(Limit {
                    quota: limit.quota,
                    window_seconds: limit.window.0.as_secs(),
                    reset_seconds: u64::try_from(seconds).unwrap_or(u64::MAX),
                    reset_at,
                }));
            }
            asked.push(now);
        }
        caller.may_ask(call).or_else(refuse)
    }

    /// An error of a type for a call, whatever the books say.
    pub(crate) fn sample(kind: ErrorType, call: &Call, now: Time) -> Outcome {
        let refusal = Refusal::sample(kind, call.operation.resource(), call.id(), now);
        Outcome::of(Err(refusal), Vec::new())
    }
}
