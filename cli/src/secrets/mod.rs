//! Where secrets come from. They are asked for once a run, and only when somebody needs them.
//!
//! 1. [`Vault`]: what is known by now, and who may be asked
//! 2. `place.rs`: variables, files, commands, and 1Password by its own program
//! 3. `hashicorp.rs`: Vault; `connect/`: 1Password without its program; `keeper.rs`: what is the same about asking them
//! 4. `issued.rs`: what a provider makes on request, and what a cluster keeps

mod connect;
mod hashicorp;
mod issued;
mod keeper;
mod place;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use fleet_engine::expand::{Origin, Secrets};
use fleet_engine::provider::Session;
use fleet_engine::secret::Source;
use fleet_lang::Value;

use crate::{Env, Failure};
use issued::Issuer;
use place::Surroundings;

/// Gets secrets from the places that the configuration names.
pub(crate) struct Vault {
    around: Surroundings,
    issuer: Issuer,
    /// What a Connect server said so far.
    connect: RefCell<connect::Known>,
    wanted: RefCell<Wanted>,
    /// Whether something is applied: only then providers are asked to issue something.
    is_applying: Cell<bool>,
    /// What was asked for, by where it comes from: two names of one place are asked for once.
    asked: RefCell<BTreeMap<String, Result<Got, Missing>>>,
    /// What providers issued in this run.
    issued: RefCell<Vec<Issued>>,
    /// Where each secret that was asked for comes from.
    origins: RefCell<BTreeMap<String, String>>,
}

/// Which secrets a run needs to know.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// Those that it takes to reach providers; all others stay symbols.
    Only(HashSet<Arc<str>>),
    /// All of them.
    All,
}

/// A secret, and what its source says of it.
#[derive(Clone)]
pub(crate) struct Got {
    pub(crate) value: String,
    /// Until when it is good, where the source knows.
    pub(crate) until: Option<SystemTime>,
}

/// What a provider issued.
struct Issued {
    /// What it was asked for.
    request: String,
    /// Where it comes from, as its origins are known by.
    place: String,
    session: Session,
    settings: Value,
    value: String,
}

/// Why there is no secret. Nothing of it repeats one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// What happened.
    pub(crate) why: String,
    /// What to do.
    pub(crate) help: Option<String>,
}

impl Vault {
    /// Gets secrets from the surroundings of a command.
    pub(crate) fn new(env: &Env, wanted: Wanted) -> Vault {
        Vault {
            around: Surroundings::of(env),
            issuer: Issuer::of(env),
            connect: RefCell::default(),
            wanted: RefCell::new(wanted),
            is_applying: Cell::new(false),
            asked: RefCell::default(),
            issued: RefCell::default(),
            origins: RefCell::default(),
        }
    }

    /// From now on these may be asked for.
    pub(crate) fn want(&self, wanted: Wanted) {
        *self.wanted.borrow_mut() = wanted;
    }

    /// From now on providers may be asked to issue what steps need.
    pub(crate) fn apply(&self) {
        self.want(Wanted::All);
        self.is_applying.set(true);
    }

    /// Has providers take back what they issued, now that no step needs it any more, and says which of it a step has used; what
    /// was not taken back is told.
    pub(crate) fn withdraw(&self, used: &BTreeSet<Arc<str>>) -> Vec<String> {
        let origins = self.origins.borrow();
        let left = self.issued.take().into_iter().filter_map(|one| {
            let is_used = origins.iter().any(|(name, place)| *place == one.place && used.contains(&**name));
            let Missing { why, help } = self.issuer.withdraw(&one, is_used).err()?;
            let help = help.map(|help| format!("; {help}")).unwrap_or_default();
            Some(format!(
                "`{}` was issued and could not be taken back, and is good until it ends: {why}{help}",
                one.request
            ))
        });
        left.collect()
    }

    /// The name of one that could not be had, and why.
    pub(crate) fn missing(&self) -> Option<(String, Missing)> {
        let (asked, origins) = (self.asked.borrow(), self.origins.borrow());
        origins.iter().find_map(|(name, from)| Some((name.clone(), asked.get(from)?.as_ref().err()?.clone())))
    }

    /// What came of a secret that was asked for; none if nobody asked.
    pub(crate) fn outcome(&self, name: &str) -> Option<Result<Got, Missing>> {
        self.asked.borrow().get(self.origins.borrow().get(name)?).cloned()
    }

    /// What could not be had.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let (name, Missing { why, help }) = self.missing()?;
        let failure = Failure::new(format!("cannot get secret.{name}: {why}"));
        let help = help
            .unwrap_or_else(|| format!("make it available there, or change `from` of `secret \"{name}\"`"));
        Some(failure.help(help))
    }

    /// Until when HashiCorp Vault takes the token that secrets are read with; none if it does not end.
    pub(crate) fn standing_at_vault(&self) -> Result<Option<SystemTime>, Missing> {
        hashicorp::standing(&self.around)
    }

    /// Whether a Connect server takes the token that 1Password is asked with; none where its own program is asked.
    pub(crate) fn standing_at_connect(&self) -> Option<Result<(), Missing>> {
        connect::is_meant(&self.around).then(|| connect::standing(&self.around))
    }

    /// The secret that comes from there.
    pub(crate) fn fetch(&self, source: &Source) -> Result<Got, Missing> {
        match source {
            Source::OnePassword(place) if connect::is_meant(&self.around) => {
                let mut known = self.connect.borrow_mut();
                connect::read(&self.around, &mut known, place).map(Got::without_end)
            }
            Source::Vault(place) => hashicorp::read(&self.around, place),
            Source::Kubernetes(place) => self.issuer.read_cluster(place).map(Got::without_end),
            source => self.around.read(source).map(Got::without_end),
        }
    }
}

impl Secrets for Vault {
    fn get(&self, name: &str, from: Origin<'_>) -> Option<Value> {
        if let Wanted::Only(names) = &*self.wanted.borrow()
            && !names.contains(name)
        {
            return None;
        }
        // A plan changes nothing, and what is issued is there afterwards.
        let is_issued = matches!(from, Origin::Issued { .. });
        if is_issued && !self.is_applying.get() {
            return None;
        }
        let place = from.to_string();
        self.origins.borrow_mut().insert(name.to_owned(), place.clone());
        let mut asked = self.asked.borrow_mut();
        let outcome = asked.entry(place).or_insert_with(|| match from {
            Origin::Source(source) => self.fetch(source),
            Origin::Issued { session, settings, request, .. } => {
                let value = self.issuer.issue(session, settings, request)?;
                let (session, settings, value_of) = (session.clone(), settings.clone(), value.clone());
                let (request, place) = (request.to_owned(), from.to_string());
                self.issued.borrow_mut().push(Issued { request, place, session, settings, value: value_of });
                Ok(Got::without_end(value))
            }
        });
        outcome.as_ref().ok().map(|got| Value::from(got.value.as_str()))
    }
}

impl Got {
    /// Of a secret whose source knows of no end.
    fn without_end(value: String) -> Got {
        Got { value, until: None }
    }
}

impl Missing {
    pub(crate) fn new(why: impl Into<String>) -> Missing {
        Missing { why: why.into(), help: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Missing {
        Missing { help: Some(help.into()), ..self }
    }
}

/// What it is must not be seen.
impl std::fmt::Debug for Got {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Got").field("until", &self.until).finish_non_exhaustive()
    }
}

/// Waits for something that is asked over the network: secrets are needed in the middle of an evaluation, which waits for
/// nobody. So it is done on a thread of its own, which needs no runtime around it.
fn wait_for<T: Send>(work: impl Future<Output = Result<T, Missing>> + Send) -> Result<T, Missing> {
    let there = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Missing::new(format!("nobody can be asked here: {error}")))?;
        runtime.block_on(work)
    };
    let done = std::thread::scope(|scope| scope.spawn(there).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(wanted: Wanted) -> Vault {
        let (around, issuer) = (Surroundings::sample(), Issuer::sample());
        Vault {
            around,
            issuer,
            connect: RefCell::default(),
            wanted: RefCell::new(wanted),
            is_applying: Cell::new(false),
            asked: RefCell::default(),
            issued: RefCell::default(),
            origins: RefCell::default(),
        }
    }

    fn get(vault: &Vault, name: &str, from: &str) -> Option<Value> {
        vault.get(name, Origin::Source(&from.parse().unwrap()))
    }

    #[test]
    fn what_nobody_needs_stays_a_symbol() {
        let vault = vault(Wanted::Only(["a".into()].into()));
        assert!(get(&vault, "b", "env:MISSING").is_none());
        assert!(vault.failure().is_none());
        assert!(get(&vault, "a", "env:TOKEN").is_some());
    }

    #[test]
    fn a_place_is_asked_once_whatever_the_names() {
        let directory = tempfile::tempdir().unwrap();
        let asked = directory.path().join("asked");
        let vault = vault(Wanted::All);
        let from = format!("exec:echo x >> '{}' && echo hunter2", asked.display());
        for name in ["a", "b", "a"] {
            assert_eq!(get(&vault, name, &from).as_ref().and_then(Value::as_str), Some("hunter2"));
        }
        assert_eq!(std::fs::read_to_string(&asked).unwrap(), "x\n");
        assert!(!format!("{:?}", vault.outcome("a")).contains("hunter2"));
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let vault = vault(Wanted::All);
        assert!(get(&vault, "token", "env:MISSING").is_none());
        let failure = format!("{:?}", vault.failure());
        assert!(
            failure.contains("cannot get secret.token: the environment variable `MISSING` is not set"),
            "{failure}"
        );
        assert!(failure.contains("help: Some"), "{failure}");
    }
}
