//! Kinds of runners as a service knows them: what they have in common.

use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{At, Error};

use super::{Registered, Roster, imported, rosters};

/// A runner as a service knows it, that is found by its name.
pub(crate) trait Record: Clone {
    /// A runner of which only its name is known; an error if none can be at this address.
    fn named(url: String, name: String) -> Result<Self, Error>;

    /// What it is found by.
    fn key(&self) -> Key<'_>;

    /// The same, as the service has it.
    fn seen(&self, runner: &Registered) -> Self;
}

/// What a runner is found by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    /// The address where it belongs.
    pub(crate) url: &'a str,
    /// Its name there.
    pub(crate) name: &'a str,
    /// Its number there, once it is known.
    pub(crate) number: Option<i64>,
}

/// What there is of each. Every place is asked once.
pub(crate) async fn observe<R: Record>(
    reader: &impl Roster,
    batch: Vec<At<R>>,
) -> Vec<Result<Option<R>, Error>> {
    let sought: Vec<Result<(R, Vec<i64>), Error>> = batch.into_iter().map(sought).collect();
    let listed = rosters(reader, sought.iter().flatten().map(|(wish, _)| wish.key().url)).await;
    let answer = |sought: &Result<(R, Vec<i64>), Error>| {
        let (wish, except) = sought.as_ref().map_err(Clone::clone)?;
        match listed.get(wish.key().url) {
            Some(Ok(runners)) => Ok(found(wish, runners, except)),
            Some(Err(error)) => Err(error.clone()),
            None => Ok(None),
        }
    };
    sought.iter().map(answer).collect()
}

/// Puts an address into the form that is compared, and says what cannot be of what all of them have.
pub(crate) fn normalize<S>(
    scope: fn(&str) -> Result<S, Error>,
    url: &mut String,
    name: &str,
    [online_timeout, job_timeout]: [i64; 2],
) -> Result<(), Misfit> {
    *url = url.trim_end_matches('/').to_owned();
    scope(url).map_err(|error| Misfit::new("url", error.help.unwrap_or(error.message)))?;
    if name.trim().is_empty() {
        return Err(Misfit::new("name", "a name is needed"));
    }
    for (attribute, value) in [("online_timeout", online_timeout), ("job_timeout", job_timeout)] {
        if !(0..=86_400).contains(&value) {
            return Err(Misfit::new(attribute, "0 to 86400 seconds are possible"));
        }
    }
    Ok(())
}

/// What is looked for, and those that are known and meant by nobody.
fn sought<R: Record>(at: At<R>) -> Result<(R, Vec<i64>), Error> {
    Ok(match at {
        At::Recorded(wish) | At::Declared(wish) => (wish, Vec::new()),
        At::Begun { wish, except } => (wish, except.iter().filter_map(|known| known.key().number).collect()),
        At::Id(id) => {
            let (url, name) = imported(&id)?;
            (R::named(url, name)?, Vec::new())
        }
    })
}

/// What there is of it. Names are not unique: the one that is online is meant, else the newest.
fn found<R: Record>(wish: &R, runners: &[Registered], except: &[i64]) -> Option<R> {
    let is_it = |runner: &&Registered| runner.name == wish.key().name && !except.contains(&runner.id);
    let found = runners.iter().filter(is_it).max_by_key(|runner| (runner.online, runner.id))?;
    Some(wish.seen(found))
}
