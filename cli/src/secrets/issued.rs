//! Secrets that a provider makes on request, or that its other side keeps.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fleet_engine::host::reach::Secret;
use fleet_engine::plan::chain;
use fleet_engine::provider::{Issued, Session};
use fleet_engine::registry::Registry;
use fleet_engine::resource::Error;
use fleet_engine::secret::InCluster;
use fleet_lang::Value;

use super::{Missing, wait_for};
use crate::Env;

/// Who has providers issue secrets, and read those that are kept for them.
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
        let registry = self.registry();
        wait_for(async {
            let issued = registry.issue(session, settings, request).await;
            issued.map(|secret| secret.0).map_err(missing)
        })
    }

    /// Has it taken back, once nobody needs it any more.
    pub(super) fn withdraw(&self, issued: &super::Issued, is_used: bool) -> Result<(), Missing> {
        let super::Issued { request, session, settings, value, .. } = issued;
        let (registry, secret) = (self.registry(), Secret(value.clone()));
        let issued = Issued { request, secret: &secret, is_used };
        wait_for(async { registry.withdraw(session, settings, issued).await.map_err(missing) })
    }

    /// A Secret of the cluster that the kubeconfig of the surroundings leads to: the provider of clusters knows the way.
    pub(super) fn read_cluster(&self, place: &InCluster) -> Result<String, Missing> {
        let (registry, session) = (self.registry(), Session::of("kubernetes"));
        wait_for(async {
            let kept = registry.kept(&session, &Value::null(), place).await;
            kept.map(|secret| secret.0).map_err(missing)
        })
    }

    fn registry(&self) -> Registry {
        (self.providers)(self.cwd.clone(), &self.vars)
    }
}

fn missing(error: Error) -> Missing {
    Missing { why: chain(&error), help: error.help }
}

#[cfg(test)]
impl Issuer {
    pub(super) fn sample() -> Issuer {
        Issuer { providers: |_, _| Registry::new(), cwd: PathBuf::new(), vars: BTreeMap::new() }
    }
}
