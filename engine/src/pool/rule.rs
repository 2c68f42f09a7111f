//! What a pool behind a vendor says: which hosts are its own, which of them are free, and how they go back.

use std::fmt;
use std::time::Duration;

use fleet_derive::Schema;
use fleet_lang::{Type, Value};

use super::books::Ages;
use super::choice::{Choice, Prefer};
use super::protocol::{Method, Rules};
use super::vendor::Server;
use crate::attributes::{Attributes, Misfit, read};
use crate::diff::get;
use crate::resource::Error;
use crate::schema::{Attribute, Entry, Place, Presence};

/// Machines that a vendor rents out, ordered beforehand and shared by name.
///
/// A host is free if its name starts with `prefix`. It is taken by a ledger on the host itself and by the name of the
/// slot, and goes back clean and with a free name when its slot goes.
#[derive(Clone, Debug, PartialEq, Schema)]
struct Arguments {
    /// Where its hosts stand.
    zone: Option<String>,
    /// What the name of a free host starts with.
    prefix: String,
    /// What its hosts are, such as `M2-L`; any, if it is not said.
    r#type: Option<String>,
    /// The family of the system on its hosts, such as `Tahoe`; any, if it is not said.
    os_family: Option<String>,
    /// Which hosts are taken first: by `name`, or the `oldest` or `newest` of them.
    #[fleet(default = "name")]
    prefer: String,
    /// A plan warns if fewer than so many hosts stay free.
    #[fleet(default = 0)]
    min_free: i64,
    /// Where the ledger lies on each host; a file that outlives a reboot, in a directory that the user of the connection
    /// can write to.
    #[fleet(default = crate::host::ledger::PATH)]
    ledger: String,
    /// What the vendor shows is never older than this.
    #[fleet(default = "30s")]
    settle: String,
    /// How old a look at the ledger may be when the request that it allows is sent.
    #[fleet(default = "5s")]
    check_lifetime: String,
    /// How long after that look a request may have its effect at the latest.
    #[fleet(default = "30s")]
    delay: String,
    /// How long a host is held while nobody knows what became of a request.
    #[fleet(default = "60s")]
    hold: String,
    /// How often something is looked at again that takes its time.
    #[fleet(default = "5s")]
    poll: String,
}

/// What a pool says, in the form that it is used in.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The name of the pool in the configuration.
    pub pool: String,
    /// Which hosts may be taken, and which of them first.
    pub choice: Choice,
    /// A plan warns if fewer stay free.
    pub min_free: usize,
    /// Where the ledger lies.
    pub ledger: String,
    /// How hosts become clean before they are free.
    pub method: Method,
    /// The times of the protocol.
    pub times: Rules,
}

/// What the catalogue says of such a pool of a provider.
#[must_use]
pub fn entry(provider: &str) -> Entry {
    let mut schema = Arguments::schema();
    let mut keys = Attribute::new(Type::Any, Presence::Optional);
    "What must be there before a host is claimed or installed anew, such as the keys that it lets in."
        .clone_into(&mut keys.doc);
    schema.attributes.insert("ssh_keys".into(), keys);
    Entry::new(schema, Place::Api, provider)
}

impl Rule {
    /// What of a pool decides about its hosts. The rest of it only says what has to be there before.
    pub(crate) fn picked(pool: &Value) -> Value {
        let names = Arguments::schema().attributes.into_keys().chain(["return".into()]);
        Value::object(names.map(|name| (name.clone(), get(pool, &name))).collect())
    }

    /// Reads what was picked.
    pub fn of(pool: &str, picked: &Value) -> Result<Rule, Error> {
        let unusable =
            |misfit: &dyn fmt::Display| Error::permanent(format!("`pool.{pool}` cannot be used: {misfit}"));
        let given = Arguments::from_value(picked).map_err(|misfit| unusable(&misfit))?;
        let returns = get(picked, "return");
        let word = |name: &str| read::<Option<String>>(&returns, name).map_err(|misfit| unusable(&misfit));
        let time = |name: &str, text: &str| {
            let wrong = |_| unusable(&Misfit::new(name, format!("`{text}` is no duration, such as `30s`")));
            humantime::parse_duration(text).map_err(wrong)
        };
        let mut times = Rules::default();
        (times.settle, times.hold) = (time("settle", &given.settle)?, time("hold", &given.hold)?);
        (times.delay, times.poll) = (time("delay", &given.delay)?, time("poll", &given.poll)?);
        times.lifetime = time("check_lifetime", &given.check_lifetime)?;
        if let Some(deadline) = word("deadline")? {
            times.deadline = time("deadline", &deadline)?;
        }
        times.check().map_err(|wrong| unusable(&wrong))?;
        let choice = Choice {
            prefix: given.prefix,
            zone: given.zone,
            model: given.r#type,
            os_family: given.os_family,
            prefer: match &*given.prefer {
                "name" => Prefer::Name,
                "oldest" => Prefer::Oldest,
                "newest" => Prefer::Newest,
                other => {
                    let wrong = format!("`{other}` is none of `name`, `oldest` and `newest`");
                    return Err(unusable(&Misfit::new("prefer", wrong)));
                }
            },
        };
        choice.check().map_err(|(wrong, help)| unusable(&wrong).help(help))?;
        let min_free = usize::try_from(given.min_free);
        Ok(Rule {
            pool: pool.to_owned(),
            choice,
            min_free: min_free.map_err(|_| unusable(&Misfit::new("min_free", "it is less than nothing")))?,
            ledger: given.ledger,
            method: match word("method")?.as_deref() {
                Some("scrub") => Method::Scrub,
                _ => Method::Reinstall,
            },
            times,
        })
    }

    /// What the settings of a session with a host say of the pool it comes from, if a vendor stands behind it and all is
    /// known by now.
    pub(crate) fn in_settings(settings: &Value) -> Option<Rule> {
        let pool = get(settings, "pool").unmark_deep().0;
        let picked = get(&pool, "rule");
        picked.is_wholly_known().then(|| Rule::of(get(&pool, "name").as_str()?, &picked).ok())?
    }

    /// The servers that seem free, in the order in which they are taken.
    #[must_use]
    pub fn candidates(&self, servers: &[Server]) -> Vec<Server> {
        self.choice.among(servers).into_iter().cloned().collect()
    }

    /// No host is free, and what would be needed.
    #[must_use]
    pub fn nothing_free(&self, servers: &[Server]) -> Error {
        let prefix = &self.choice.prefix;
        let (named, others): (Vec<&Server>, Vec<&Server>) =
            servers.iter().partition(|server| server.name.starts_with(prefix));
        let refused = named.iter().filter_map(|server| {
            self.choice.refuses(server).map(|why| format!("; `{}` is not to be had: {why}", server.name))
        });
        let refused: String = refused.collect();
        let (pool, others) = (&self.pool, others.len());
        let message = format!("no host of `pool.{pool}` is free: {self}; {others} have other names{refused}");
        Error::permanent(message).help(format!(
            "order a host whose name starts with `{prefix}`, give one back, or make the fleet smaller"
        ))
    }

    /// After which time something that was begun counts as left behind: whoever did it has ended by then.
    #[must_use]
    pub fn ages(&self) -> Ages {
        Ages { claiming: self.patience(), returning: self.patience() }
    }

    /// How long a claim or a return may take, with everything around it.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.times.deadline.saturating_mul(2)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Choice { prefix, zone, model, os_family, .. } = &self.choice;
        write!(f, "name `{prefix}…`")?;
        let parts = [("zone", zone), ("type", model), ("system", os_family)];
        parts
            .iter()
            .filter_map(|(word, part)| Some((word, part.as_ref()?)))
            .try_for_each(|(word, part)| write!(f, ", {word} {part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::sample::server;

    fn rule(more: &[(&str, Value)]) -> Result<Rule, Error> {
        let mut entries = Arguments::schema().omitted().entries().cloned().unwrap_or_default();
        entries.insert("prefix".into(), "pool-".into());
        entries.insert("type".into(), "M1".into());
        entries.extend(more.iter().map(|(name, value)| ((*name).into(), value.clone())));
        Rule::of("minis", &Rule::picked(&Value::object(entries)))
    }

    #[test]
    fn what_would_be_needed_is_said() {
        let servers = [server("a", "pool-1"), server("b", "runner-0")];
        let none = rule(&[]).unwrap().nothing_free(&servers);
        let told = "name `pool-…`, type M1; 1 have other names; `pool-1` is not to be had: its type is";
        assert!(none.message.contains(told) && none.help.unwrap().contains("`pool-`"), "{}", none.message);
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (name, value, wrong) in [
            ("settle", "soon".into(), "`soon` is no duration"),
            ("settle", "1s".into(), "settle time of 1s"),
            ("min_free", (-1).into(), "less than nothing"),
            ("prefer", "cheap".into(), "`cheap` is none of"),
            ("os_family", "macos-tahoe-26.3".into(), "names a version"),
        ] {
            let error = rule(&[(name, value)]).unwrap_err();
            assert!(error.message.contains(wrong), "{error}");
        }
        let returns =
            Value::object([("method".into(), "scrub".into()), ("deadline".into(), "9m".into())].into());
        let rule = rule(&[("return", returns)]).unwrap();
        assert_eq!((rule.method, rule.times.deadline), (Method::Scrub, Duration::from_secs(540)));
    }
}
