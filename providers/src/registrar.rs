//! Services of CI that runners are registered at, as far as they are alike: a list of runners, a record that is made before
//! there is an agent, and a removal that is refused while a job runs.
//!
//! What is the same for all of them is here: how long a new agent is waited for, and that a job is never cut short;
//! [`record`] is what their kinds have in common, and [`service`] the way to those that take a token and answer in JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use fleet_engine::event::Wait;
use fleet_engine::host::reach::Secret;
use fleet_engine::provider::Journal;
use fleet_engine::resource::Error;
use futures_util::future::join_all;

pub(crate) mod record;
#[cfg(test)]
pub(crate) mod refusals;
pub(crate) mod service;

/// How often a service is asked whether an agent is there.
const SOON: Duration = Duration::from_secs(5);

/// How often it is asked whether a job has ended.
const LATER: Duration = Duration::from_secs(15);

/// A runner that a service knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Its number.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its system, as the service names it.
    pub os: String,
    /// Whether its agent is connected.
    pub online: bool,
    /// Whether it runs a job.
    pub busy: bool,
    /// The labels that somebody gave it, sorted: those of the service itself left out.
    pub labels: Vec<String>,
    /// The group it is in, by its number there.
    pub group: Option<i64>,
    /// Whether it is kept from new jobs, where a service can do that.
    pub paused: bool,
    /// Whether an agent was ever connected.
    pub was_seen: bool,
}

/// A runner that is known before it has an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// The group it is in, by name; the one that everybody has if this is left out.
    pub group: Option<String>,
}

impl Prepared {
    /// Reads `name=NAME&labels=A,B&group=GROUP`, of which only the name has to be there.
    pub(crate) fn parse(wish: &str) -> Option<Prepared> {
        let mut prepared = Prepared::default();
        for part in wish.split('&') {
            let (name, value) = part.split_once('=').filter(|(_, value)| !value.is_empty())?;
            match name {
                "name" => prepared.name = value.to_owned(),
                "labels" => prepared.labels = value.split(',').map(str::to_owned).collect(),
                "group" => prepared.group = Some(value.to_owned()),
                _ => return None,
            }
        }
        let is_whole = !prepared.name.is_empty() && prepared.labels.iter().all(|label| !label.is_empty());
        is_whole.then_some(prepared)
    }
}

/// How a removal ended.
#[derive(Debug)]
pub enum Removed {
    /// It is gone, or was gone already.
    Gone,
    /// A job runs on it, and nothing was done.
    Busy,
}

/// Looks at the runners of a service. It has no way to change anything.
pub trait Roster: Send + Sync {
    /// All runners that are registered somewhere, such as at `https://github.com/example`.
    fn list(&self, url: &str) -> impl Future<Output = Result<Vec<Registered>, Error>> + Send;
}

/// Changes the runners of a service.
pub trait Registrar: Roster {
    /// Makes the record of a runner before it has an agent: what the agent is to be started with.
    fn prepare(&self, url: &str, wish: &Prepared) -> impl Future<Output = Result<Secret, Error>> + Send;

    /// Removes a runner on which no job runs. Where the service itself says whether one does, none begins in between; where it
    /// does not, its provider looks right before.
    fn remove(&self, url: &str, id: i64) -> impl Future<Output = Result<Removed, Error>> + Send;
}

/// Waits until the agent of a new runner is connected.
pub(crate) async fn await_online(
    roster: &impl Roster,
    run: &dyn Journal,
    url: &str,
    name: &str,
    patience: Duration,
) -> Result<Registered, Error> {
    let deadline = run.now().saturating_add(patience);
    loop {
        let known = find(roster, url, name).await?;
        if let Some(runner) = known.as_ref().filter(|runner| runner.online) {
            return Ok(runner.clone());
        }
        if run.now() >= deadline {
            let waited = humantime::format_duration(patience);
            let error = match known {
                Some(_) => Error::permanent(format!("runner `{name}` is registered, and not online after {waited}"))
                    .help("see whether its agent runs on its host, with the credentials of its last registration"),
                None => Error::permanent(format!("no runner `{name}` is registered at {url} after {waited}")).help(
                    "its agent was never registered, or somebody deleted it there: have it registered anew with \
                     `--replace` of what registers it",
                ),
            };
            return Err(error);
        }
        run.wait(deadline.min(run.now().saturating_add(SOON)), Wait::World).await;
    }
}

/// Removes a runner. A job that runs on it is waited for and never cut short; it says what was done.
pub(crate) async fn deregister(
    registrar: &impl Registrar,
    run: &dyn Journal,
    url: &str,
    id: i64,
    patience: Duration,
) -> Result<(), Error> {
    let started = run.now();
    let deadline = started.saturating_add(patience);
    loop {
        let known = registrar.list(url).await?.into_iter().find(|runner| runner.id == id);
        let Some(runner) = known else { return Ok(()) };
        // Between the look and the removal a job may begin: the service decides.
        if !runner.busy && matches!(registrar.remove(url, id).await?, Removed::Gone) {
            let waited = rounded(run.now().saturating_sub(started));
            if !waited.is_zero() {
                let waited = humantime::format_duration(waited);
                run.warn(format!(
                    "a job ran on runner `{}` and was waited for, {waited} long; then it was deregistered",
                    runner.name
                ));
            }
            return Ok(());
        }
        if run.now() >= deadline {
            let (name, waited) = (&runner.name, humantime::format_duration(patience));
            return Err(Error::permanent(format!(
                "runner `{name}` still runs a job after {waited}: the job was not cut short, and the runner is still registered"
            ))
            .help("run it again when the job has ended, or give it more time with `job_timeout`"));
        }
        run.wait(deadline.min(run.now().saturating_add(LATER)), Wait::World).await;
    }
}

/// All runners at each of these places, each of which is asked once.
pub(crate) async fn rosters<'u>(
    roster: &impl Roster,
    urls: impl Iterator<Item = &'u str>,
) -> BTreeMap<&'u str, Result<Vec<Registered>, Error>> {
    let urls: BTreeMap<&str, ()> = urls.map(|url| (url, ())).collect();
    join_all(urls.into_keys().map(|url| async move { (url, roster.list(url).await) }))
        .await
        .into_iter()
        .collect()
}

/// An earlier runner of a name, which is in the way of a new one; none if the name is free. One that is online stays.
async fn leftover(roster: &impl Roster, doing: &str, url: &str, name: &str) -> Result<Option<i64>, Error> {
    match find(roster, url, name).await? {
        Some(known) if known.online => {
            Err(Error::permanent(format!("{doing}: one of this name is online there"))
                .help("choose another name, or stop its agent and remove it"))
        }
        known => Ok(known.map(|runner| runner.id)),
    }
}

/// Takes earlier runners of a name away, until the name is free. One that is said to be gone and is still there stays, and ends it.
pub(crate) async fn free_name<F: Future<Output = Result<(), Error>> + Send>(
    roster: &impl Roster,
    doing: &str,
    url: &str,
    name: &str,
    delete: impl Fn(i64) -> F + Send + Sync,
) -> Result<(), Error> {
    let mut deleted = BTreeSet::new();
    while let Some(id) = leftover(roster, doing, url, name).await? {
        if !deleted.insert(id) {
            return Err(Error::permanent(format!(
                "{doing}: runner {id} of this name was deleted and is still there"
            ))
            .help("see whether the token may delete runners there, or delete it yourself"));
        }
        delete(id).await?;
    }
    Ok(())
}

/// Takes back what was made for an agent that never came.
pub(crate) async fn take_back(registrar: &impl Registrar, url: &str, name: &str) -> Result<(), Error> {
    let runners = registrar.list(url).await?.into_iter();
    for runner in runners.filter(|runner| runner.name == name && !runner.online && !runner.was_seen) {
        registrar.remove(url, runner.id).await?;
    }
    Ok(())
}

/// Where a runner is asked for by `runner:URL?WISH`, and which; none if something else is written.
pub(crate) fn requested(request: &str) -> Option<(&str, Prepared)> {
    let (url, wish) = request.strip_prefix("runner:")?.split_once('?')?;
    Some((url, Prepared::parse(wish)?))
}

/// How the runner of a name is asked for, whatever else is wished of it when it is made.
pub(crate) fn request(url: &str, name: &str) -> String {
    format!("runner:{url}?name={name}")
}

/// The server and the path of the address of a place, such as `https://github.com/example`; none if it is no such address.
pub(crate) fn address(url: &str) -> Option<(&str, Vec<&str>)> {
    let mut parts = url.trim().trim_end_matches('/').strip_prefix("https://")?.split('/');
    let is_good = |part: &&str| !part.is_empty() && !part.contains(['?', '#', ' ']) && !part.starts_with('.');
    let server = parts.next().filter(is_good)?;
    let path: Vec<&str> = parts.collect();
    path.iter().all(is_good).then_some((server, path))
}

/// The URL and the name of a runner that is imported, as `URL NAME`.
pub(crate) fn imported(id: &str) -> Result<(String, String), Error> {
    let parts = id
        .trim()
        .split_once(' ')
        .map(|(url, name)| (url.trim_end_matches('/').to_owned(), name.trim().to_owned()));
    parts.ok_or_else(|| {
        Error::permanent(format!("`{id}` does not name a runner"))
            .help("write its URL and its name, with a space between them")
    })
}

/// A number of seconds that is no less than none.
pub(crate) fn seconds(number: i64) -> Duration {
    Duration::from_secs(u64::try_from(number).unwrap_or_default())
}

/// The runner of a name. Where names are not unique, the one that is online is meant, else the newest.
pub(crate) async fn find(roster: &impl Roster, url: &str, name: &str) -> Result<Option<Registered>, Error> {
    let of_name = roster.list(url).await?.into_iter().filter(|runner| runner.name == name);
    Ok(of_name.max_by_key(|runner| (runner.online, runner.id)))
}

fn rounded(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use fleet_engine::resource::BoxFuture;
    use fleet_lang::Value;

    use super::*;

    /// A run whose time goes by only while somebody waits.
    #[derive(Default)]
    struct Run {
        now: Mutex<Duration>,
        warnings: Mutex<Vec<String>>,
    }

    impl Journal for Run {
        fn note(&self, _: Value) -> BoxFuture<'_, Result<(), Error>> {
            Box::pin(async { Ok(()) })
        }

        fn now(&self) -> Duration {
            *self.now.lock().unwrap()
        }

        fn wait(&self, until: Duration, _: Wait) -> BoxFuture<'_, ()> {
            *self.now.lock().unwrap() = until;
            Box::pin(async {})
        }

        fn warn(&self, message: String) {
            self.warnings.lock().unwrap().push(message);
        }

        fn date(&self) -> u64 {
            0
        }

        fn random(&self) -> String {
            String::new()
        }
    }

    /// A service with one runner: registered, online and with a job as long as the time of the run says.
    struct Service<'a> {
        run: &'a Run,
        registered: Duration,
        online: Duration,
        busy_until: Duration,
        /// The service refuses so often although its list says that nothing runs.
        refusals: Mutex<u32>,
        removed: Mutex<bool>,
    }

    impl Roster for Service<'_> {
        async fn list(&self, _: &str) -> Result<Vec<Registered>, Error> {
            let now = self.run.now();
            let there = now >= self.registered && !*self.removed.lock().unwrap();
            let runner = Registered {
                id: 7,
                name: "mini".into(),
                os: "macos".into(),
                online: now >= self.online,
                busy: now < self.busy_until,
                labels: Vec::new(),
                group: Some(1),
                paused: false,
                was_seen: now >= self.online,
            };
            Ok(if there { vec![runner] } else { Vec::new() })
        }
    }

    impl Registrar for Service<'_> {
        async fn prepare(&self, _: &str, _: &Prepared) -> Result<Secret, Error> {
            Err(Error::permanent("not here"))
        }

        async fn remove(&self, _: &str, _: i64) -> Result<Removed, Error> {
            assert!(self.run.now() >= self.busy_until, "a job was cut short");
            let mut refusals = self.refusals.lock().unwrap();
            if *refusals > 0 {
                *refusals -= 1;
                return Ok(Removed::Busy);
            }
            *self.removed.lock().unwrap() = true;
            Ok(Removed::Gone)
        }
    }

    fn service(run: &Run, registered: u64, online: u64, busy_until: u64) -> Service<'_> {
        Service {
            run,
            registered: Duration::from_secs(registered),
            online: Duration::from_secs(online),
            busy_until: Duration::from_secs(busy_until),
            refusals: Mutex::new(0),
            removed: Mutex::new(false),
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_new_agent_is_waited_for_until_its_time_is_over() {
        let run = Run::default();
        let found = await_online(&service(&run, 3, 42, 0), &run, "u", "mini", MINUTE).await.unwrap();
        assert!(found.online && run.now() >= Duration::from_secs(42) && run.now() < MINUTE);
        let cases = [
            (0, "is registered, and not online after 1m"),
            (100, "no runner `mini` is registered at u after 1m"),
        ];
        for (registered, expected) in cases {
            let run = Run::default();
            let error = await_online(&service(&run, registered, 100, 0), &run, "u", "mini", MINUTE)
                .await
                .unwrap_err();
            assert!(error.message.contains(expected) && !error.transient && error.help.is_some(), "{error}");
            assert_eq!(run.now(), MINUTE);
        }
    }

    #[tokio::test]
    async fn what_an_agent_has_been_is_not_taken_back() {
        for (online, is_removed) in [(0, false), (100, true)] {
            let run = Run::default();
            let service = service(&run, 0, online, 0);
            take_back(&service, "u", "other").await.unwrap();
            assert!(!*service.removed.lock().unwrap());
            take_back(&service, "u", "mini").await.unwrap();
            assert_eq!(*service.removed.lock().unwrap(), is_removed);
        }
    }

    #[tokio::test]
    async fn a_job_is_waited_for_and_never_cut_short() {
        let run = Run::default();
        deregister(&service(&run, 0, 0, 0), &run, "u", 7, MINUTE).await.unwrap();
        assert!(run.now().is_zero() && run.warnings.lock().unwrap().is_empty());

        let run = Run::default();
        let busy = service(&run, 0, 0, 40);
        *busy.refusals.lock().unwrap() = 1;
        deregister(&busy, &run, "u", 7, 2 * MINUTE).await.unwrap();
        assert!(*busy.removed.lock().unwrap());
        assert_eq!(
            *run.warnings.lock().unwrap(),
            ["a job ran on runner `mini` and was waited for, 1m long; then it was deregistered"]
        );

        let run = Run::default();
        let busy = service(&run, 0, 0, 100);
        let error = deregister(&busy, &run, "u", 7, MINUTE).await.unwrap_err();
        assert!(error.message.contains("still runs a job after 1m: the job was not cut short"), "{error}");
        assert!(!*busy.removed.lock().unwrap() && !error.transient);

        let run = Run::default();
        deregister(&service(&run, 100, 0, 0), &run, "u", 7, MINUTE).await.unwrap();
    }
}
