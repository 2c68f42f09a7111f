//! Secrets that a provider makes on request.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fleet_engine::provider::Session;
use fleet_engine::registry::Registry;
use fleet_lang::Value;

use super::{Missing, wait_for};
use crate::Env;

/// Who has providers issue secrets.
pub(super) struct Issuer {
    providers: fn(PathBuf, &BTreeMap<String, String>) -> Registry,
    cwd: PathBuf,
    vars: BTreeMap<String, String>,
}

impl Issuer {
    pub(super) fn of(env: &Env) -> Issuer {
        Issuer { providers: env.providers, cwd: env.cwd.clone(), vars: env.vars.clone() }
    }

    /// Has a provider issue a secret.
    pub(super) fn issue(
        &self,
        session: &Session,
        settings: &Value,
        request: &str,
    ) -> Result<String, Missing> {
        if !settings.is_wholly_known() {
            let help = "what the settings of the provider need must be known before";
            return Err(
                Missing::new(format!("the provider `{session}` is not known well enough yet")).help(help)
            );
        }
        let registry = (self.providers)(self.cwd.clone(), &self.vars);
        wait_for(async {
            let issued = registry.issue(session, settings, request).await;
            issued
                .map(|secret| secret.0)
                .map_err(|error| Missing { why: fleet_engine::plan::chain(&error), help: error.help.clone() })
        })
    }
}

#[cfg(test)]
impl Issuer {
    pub(super) fn sample() -> Issuer {
        Issuer { providers: |_, _| Registry::new(), cwd: PathBuf::new(), vars: BTreeMap::new() }
    }
}
