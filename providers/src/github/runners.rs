//! `data "github_runners"`: all runners that are registered somewhere.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{DataKind, Error};

use super::client::Looking;
use super::scope::Scope;
use crate::registrar::{Registered, rosters};

/// All runners that are registered somewhere, as GitHub sees them now.
///
/// ```hcl
/// data "github_runners" "all" {
///   url = "https://github.com/example"
/// }
///
/// output "offline" {
///   value = [for name, runner in data.github_runners.all.runners : name if !runner.online]
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Runners {
    /// Where they are registered.
    url: String,
    /// Only those whose names start so.
    #[fleet(default = "")]
    prefix: String,
    /// The runners, by their names: whether each is `online` and `busy`.
    #[fleet(computed)]
    runners: Option<BTreeMap<String, BTreeMap<String, bool>>>,
    /// The labels that somebody gave each of them.
    #[fleet(computed)]
    labels: Option<BTreeMap<String, Vec<String>>>,
}

impl DataKind for Runners {
    const NAME: &'static str = "github_runners";
    type Reader = Looking;

    fn normalize(&mut self) -> Result<(), Misfit> {
        Scope::of(&self.url).map_err(|error| Misfit::new("url", error.help.unwrap_or(error.message)))?;
        Ok(())
    }

    async fn read(reader: &Looking, batch: Vec<Runners>) -> Vec<Result<Runners, Error>> {
        let urls: Vec<String> = batch.iter().map(|asked| asked.url.clone()).collect();
        let listed = rosters(reader, urls.iter().map(String::as_str)).await;
        let answer = |asked: Runners| match listed.get(&*asked.url) {
            Some(Ok(all)) => Ok(asked.with(all)),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::permanent("it was not asked")),
        };
        batch.into_iter().map(answer).collect()
    }
}

impl Runners {
    fn with(self, all: &[Registered]) -> Runners {
        let meant: Vec<&Registered> =
            all.iter().filter(|runner| runner.name.starts_with(&self.prefix)).collect();
        let state = |runner: &&Registered| {
            let state = [("online", runner.online), ("busy", runner.busy)];
            (runner.name.clone(), state.map(|(name, is)| (name.to_owned(), is)).into())
        };
        Runners {
            runners: Some(meant.iter().map(state).collect()),
            labels: Some(meant.iter().map(|runner| (runner.name.clone(), runner.labels.clone())).collect()),
            ..self
        }
    }
}

#[cfg(test)]
impl Runners {
    pub(super) fn asked(url: &str, prefix: &str) -> Runners {
        Runners { url: url.into(), prefix: prefix.into(), runners: None, labels: None }
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.runners.iter().flatten().map(|(name, _)| name.as_str()).collect()
    }
}
