//! Provider `github`: runners of GitHub Actions.
//!
//! 1. [`runner`]: the agent on a host, which talks to GitHub alone; [`registration`]: what its files say
//! 2. [`settings`]: as whom GitHub is asked; [`client`]: the two sides of its API; [`refusal`]: what its errors mean
//! 3. [`record`]: a runner as GitHub knows it; [`runners`]: all of them. What is the same for other services of CI is in
//!    [`registrar`](crate::registrar)

use std::collections::BTreeMap;
use std::fmt;

use fleet_engine::host::reach::Secret;
use fleet_engine::host::{HostThing, OnHost};
use fleet_engine::kind::{Data, Kind, Of};
use fleet_engine::provider::{Issued, Provider, Standing};
use fleet_engine::resource::Error;
use fleet_engine::schema::Requests;

mod client;
mod record;
mod refusal;
mod registration;
mod runner;
mod runners;
mod scope;
mod settings;
#[cfg(test)]
mod tests;

pub use client::{Acting, Looking};
pub use settings::{Account, Settings};

use crate::registrar::{Prepared, Registrar, take_back};
use client::Purpose;
use scope::Scope;

/// The provider of what belongs to GitHub.
#[derive(Clone)]
pub struct Github {
    /// GitHub's own variables.
    environment: BTreeMap<String, String>,
}

impl Github {
    /// Takes what its settings leave out from these environment variables.
    #[must_use]
    pub fn new(environment: &BTreeMap<String, String>) -> Github {
        let own = environment.iter().filter(|(name, _)| name.starts_with("GITHUB_"));
        Github { environment: own.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    /// Connects as the settings say.
    pub fn connect(&self, settings: Settings) -> Result<Acting, Error> {
        Ok(client::connect(settings.complete(&self.environment)?))
    }
}

impl Provider for Github {
    const NAME: &'static str = "github";
    const LIMIT: usize = 8;
    type Settings = Settings;
    type Reader = Looking;
    type Writer = Acting;
    const KINDS: &'static [&'static dyn Kind<Looking, Acting>] = &[&Of::<record::Record>::KIND];
    const DATA: &'static [&'static dyn Data<Looking>] = &[&Of::<runners::Runners>::KIND];
    const ON_HOSTS: &'static [&'static dyn HostThing] = &[&OnHost::<runner::Runner>::KIND];
    const ISSUES: Option<Requests> = Some(|request| requested(request).map(|_| request.to_owned()));

    async fn reader(&self, settings: Settings) -> Result<Looking, Error> {
        Ok(self.connect(settings)?.looking().clone())
    }

    async fn writer(&self, settings: Settings) -> Result<Acting, Error> {
        self.connect(settings)
    }

    async fn issue(&self, settings: Settings, request: &str) -> Result<Secret, Error> {
        let (wanted, url) = requested(request).map_err(Error::permanent)?;
        let github = self.connect(settings)?;
        match wanted {
            Wanted::Token(purpose) => github.token(url, purpose).await,
            Wanted::Configuration(wish) => github.prepare(url, &wish).await,
        }
    }

    async fn withdraw(&self, settings: Settings, issued: Issued<'_>) -> Result<(), Error> {
        match requested(issued.request).map_err(Error::permanent)? {
            (Wanted::Configuration(wish), url) if !issued.is_used => {
                take_back(&self.connect(settings)?, url, &wish.name).await
            }
            // A token ends by itself, and an agent has what came to use.
            _ => Ok(()),
        }
    }

    async fn standing(&self, settings: Settings) -> Result<Option<Standing>, Error> {
        self.connect(settings)?.looking().standing().await.map(Some)
    }
}

/// What GitHub is asked to issue.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// A token by which agents come or go.
    Token(Purpose),
    /// What the agent of a runner is started with that is there for one job.
    Configuration(Prepared),
}

/// What is asked for, and where; or why it is nothing.
fn requested(request: &str) -> Result<(Wanted, &str), String> {
    let (what, place) = request.split_once(':').unwrap_or((request, ""));
    let (url, wish) = place.split_once('?').unwrap_or((place, ""));
    let wanted = match what {
        "registration-token" if wish.is_empty() => Some(Wanted::Token(Purpose::Register)),
        "remove-token" if wish.is_empty() => Some(Wanted::Token(Purpose::Remove)),
        "jit-config" => {
            Prepared::parse(wish).filter(|wish| !wish.labels.is_empty()).map(Wanted::Configuration)
        }
        _ => None,
    };
    let wanted = wanted.ok_or(
        "GitHub issues `registration-token:URL`, `remove-token:URL` and `jit-config:URL?name=NAME&labels=A,B&group=GROUP` \
         (`group` may be left out), where the URL is that of an organisation, a repository or an enterprise.",
    )?;
    Scope::of(url).map_err(|error| format!("{}: {}.", error.message, error.help.unwrap_or_default()))?;
    Ok((wanted, url))
}

/// Some of the variables are secret.
impl fmt::Debug for Github {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Github").finish_non_exhaustive()
    }
}
