//! What a pool behind a vendor says: which hosts are its own, which of them are free, and how they go back.

use std::fmt;
use std::time::Duration;

use fleet_derive::Schema;
use fleet_lang::{Type, Value};

use super::books::Ages;
use super::choice::{Choice, Prefer, family_key};
use super::protocol::{Method, Rules};
use super::vendor::Server;
use crate::attributes::{Attributes, Misfit, read};
use crate::diff::get;
use crate::resource::Error;
use crate::schema::{Attribute, Entry, Nested, Nesting, Place, Presence};

/// What a pool behind a vendor takes, whoever the vendor is.
#[derive(Clone, Debug, PartialEq, Schema)]
struct Arguments {
    /// The zone that the servers stand in; that of the provider if it is left out.
    zone: Option<String>,
    /// What the name of a free server starts with. Whatever is named otherwise is left alone.
    prefix: String,
    /// The type of the servers, such as `M2-L`.
    r#type: Option<String>,
    /// The family of their system, such as `Tahoe`. A version cannot be wished for: the vendor retires single versions
    /// without notice, and no server would fit any more.
    os_family: Option<String>,
    /// Which of the free servers is taken first: `name`, `oldest` or `newest`.
    #[fleet(default = "name")]
    prefer: String,
    /// With fewer free servers than this left, a plan warns.
    #[fleet(default = 0)]
    min_free: i64,
    /// Where the ledger lies on each server; a file that outlives a reboot, in a directory that the user of the
    /// connection can write to.
    #[fleet(default = crate::host::ledger::PATH)]
    ledger: String,
    /// How long what the vendor shows may lag behind.
    #[fleet(default = "30s")]
    settle: String,
    /// For how long a look at the ledger of a host is worth something: a change at the vendor that is not sent by then
    /// is preceded by another look.
    #[fleet(default = "5s")]
    check_lifetime: String,
    /// How long after that look a change at the vendor may have its effect at the latest.
    #[fleet(default = "30s")]
    delay: String,
    /// How long a server is left alone after a change at the vendor of which nobody knows whether it had an effect.
    #[fleet(default = "60s")]
    hold: String,
    /// How often something is looked at again that takes its time.
    #[fleet(default = "5s")]
    poll: String,
}

/// How a server goes back.
#[derive(Clone, Debug, PartialEq, Schema)]
struct Return {
    /// How it is made as new: `reinstall` installs the newest system of its family, `scrub` removes what was made there.
    #[fleet(default = "reinstall")]
    method: String,
    /// How long that may take, before somebody is told to look after it.
    #[fleet(default = "45m")]
    deadline: String,
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

/// What the catalogue says of such a pool of a provider, under its own manual.
#[must_use]
pub fn entry(provider: &str, manual: &str) -> Entry {
    let back = Nested { nesting: Nesting::Single, min: 0, max: Some(1), schema: Return::schema() };
    let mut schema = Arguments::schema();
    manual.clone_into(&mut schema.doc);
    schema.blocks.insert("return".into(), back);
    let mut keys = Attribute::new(Type::Any, Presence::Optional);
    "The keys that must be registered before a server is claimed or installed anew: a server gets those that are there \
     when it is installed."
        .clone_into(&mut keys.doc);
    schema.attributes.insert("ssh_keys".into(), keys);
    Entry { check: Some(check), ..Entry::new(schema, Place::Api, provider) }
}

/// What is wrong with a pool, as far as its arguments are known.
fn check(pool: &Value) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    let mut refuse = |name: &str, message: String| misfits.push(Misfit::new(name, message));
    let text = |name: &str| get(pool, name).as_str().map(str::to_owned);
    for name in ["zone", "type"] {
        if text(name).is_some_and(|text| text.is_empty()) {
            refuse(name, format!("a {name} is needed"));
        }
    }
    if text("prefix").is_some_and(|prefix| prefix.trim().is_empty()) {
        refuse("prefix", "without a prefix, every server of the project would be free to be taken".into());
    }
    if let Some(family) = text("os_family") {
        if family.chars().any(|c| c.is_ascii_digit()) {
            let why = "the vendor retires single versions without notice, and no server would fit any more";
            refuse("os_family", format!("`{family}` names a version; name a family, such as `Tahoe`: {why}"));
        } else if family_key(&family).is_empty() {
            refuse("os_family", "a family is needed, such as `Tahoe`".into());
        }
    }
    for name in ["settle", "check_lifetime", "delay", "hold", "poll"] {
        if text(name).is_some_and(|text| humantime::parse_duration(&text).is_err()) {
            refuse(name, "a duration is a text with a unit, such as `30s` or `1h 30m`".into());
        }
    }
    if let Some(prefer) = text("prefer")
        && !["name", "oldest", "newest"].contains(&&*prefer)
    {
        refuse("prefer", format!("`{prefer}` is none of `name`, `oldest` and `newest`"));
    }
    if read::<i64>(pool, "min_free").is_ok_and(|least| least < 0) {
        refuse("min_free", "at least 0 is needed".into());
    }
    misfits
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
