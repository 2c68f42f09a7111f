//! Provider `forgejo`: runners of Forgejo Actions, as Forgejo knows them.
//!
//! 1. [`settings`]: as whom Forgejo is asked; [`client`]: the two sides of its API; [`scope`]: where runners belong
//! 2. [`record`]: a runner as Forgejo knows it. What is the same for other services of CI is in [`registrar`]

use std::collections::BTreeMap;

use fleet_engine::host::reach::Secret;
use fleet_engine::kind::{Kind, Of};
use fleet_engine::provider::{Issued, Provider, Standing};
use fleet_engine::resource::Error;
use fleet_engine::schema::Requests;

mod client;
mod record;
mod scope;
mod settings;
#[cfg(test)]
mod tests;

pub use client::{Acting, Looking};
pub use settings::Settings;

use crate::registrar::service::{Said, Variables};
use crate::registrar::{self, Prepared, Registrar, take_back};
use client::MANNER;
use scope::Scope;

/// The provider of what belongs to Forgejo.
#[derive(Clone, Debug)]
pub struct Forgejo(Variables);

impl Forgejo {
    /// Takes what its settings leave out from these environment variables.
    #[must_use]
    pub fn new(environment: &BTreeMap<String, String>) -> Forgejo {
        Forgejo(Variables::of(&MANNER, environment))
    }

    /// Connects as the settings say.
    pub fn connect(&self, settings: Settings) -> Result<Acting, Error> {
        let Settings { url, api_url, token } = settings;
        client::connect(&MANNER.account(&self.0, Said { url, api_url, token })?)
    }
}

impl Provider for Forgejo {
    const NAME: &'static str = "forgejo";
    const LIMIT: usize = 8;
    type Settings = Settings;
    type Reader = Looking;
    type Writer = Acting;
    const KINDS: &'static [&'static dyn Kind<Looking, Acting>] = &[&Of::<record::Record>::KIND];
    const ISSUES: Option<Requests> =
        Some(|request| requested(request).map(|(url, wish)| registrar::request(url, &wish.name)));

    async fn reader(&self, settings: Settings) -> Result<Looking, Error> {
        Ok(self.connect(settings)?.looking().clone())
    }

    async fn writer(&self, settings: Settings) -> Result<Acting, Error> {
        self.connect(settings)
    }

    async fn issue(&self, settings: Settings, request: &str) -> Result<Secret, Error> {
        let (url, wish) = requested(request).map_err(Error::permanent)?;
        self.connect(settings)?.prepare(url, &wish).await
    }

    async fn withdraw(&self, settings: Settings, issued: Issued<'_>) -> Result<(), Error> {
        if issued.is_used {
            return Ok(());
        }
        let (url, wish) = requested(issued.request).map_err(Error::permanent)?;
        take_back(&self.connect(settings)?, url, &wish.name).await
    }

    async fn standing(&self, settings: Settings) -> Result<Option<Standing>, Error> {
        self.connect(settings)?.looking().standing().await.map(Some)
    }
}

/// Where a runner is asked for, and which; or why none is.
fn requested(request: &str) -> Result<(&str, Prepared), String> {
    let is_good = |(_, wish): &(&str, Prepared)| wish.group.is_none() && wish.labels.is_empty();
    let (url, wish) = registrar::requested(request).filter(is_good).ok_or(
        "Forgejo issues `runner:URL?name=NAME`, where the URL is that of an organisation, of a repository, of a whole server, or \
         `https://HOST/user` for whose the token is. Labels are set where the agent is configured.",
    )?;
    Scope::of(url).map_err(|error| format!("{}: {}.", error.message, error.help.unwrap_or_default()))?;
    Ok((url, wish))
}
