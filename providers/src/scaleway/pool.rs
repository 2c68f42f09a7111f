//! What `pool "scaleway"` takes, for the catalogue. Who gets which host is the engine's business.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::attributes::{Attributes, Field, Misfit};
use fleet_engine::diff::get;
use fleet_engine::schema::{Entry, Nested, Nesting, Place, Schema as Arguments};
use fleet_lang::Value;

/// Macs that are rented from Scaleway, and are there already.
///
/// A server is free if its name starts with `prefix`, and nobody holds it; whose it is, is written on the server itself.
/// Only servers of the `type` and the `os_family` in the `zone` are taken. When their slots go, they are made as new,
/// named with the prefix again, and are free.
///
/// ```hcl
/// resource "scaleway_ssh_key" "fleet" {
///   name       = "fleet"
///   public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
/// }
///
/// pool "scaleway" "minis" {
///   zone      = "fr-par-1"
///   prefix    = "pool-"
///   type      = "M2-L"
///   os_family = "Tahoe"
///   ssh_keys  = [scaleway_ssh_key.fleet]
///
///   return {
///     method   = "reinstall"
///     deadline = "45m"
///   }
/// }
/// ```
#[derive(Clone, Schema)]
struct Pool {
    /// The zone that the servers stand in; that of the provider if it is left out.
    zone: Option<String>,
    /// What the name of a free server starts with. Whatever is named otherwise is left alone.
    prefix: String,
    /// The type of the servers, such as `M2-L`.
    r#type: String,
    /// The family of their system, such as `Tahoe`. A version cannot be wished for: the vendor retires single versions
    /// without notice, and no server would fit any more.
    os_family: Option<String>,
    /// The keys that must be registered before a server is claimed or installed anew: a server gets those that are there
    /// when it is installed.
    ssh_keys: Option<Value>,
    /// With fewer free servers than this left, a plan warns.
    #[fleet(default = 0)]
    min_free: i64,
    /// Which of the free servers is taken first: `name`, `oldest` or `newest`.
    #[fleet(default = "name")]
    prefer: String,
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
    /// Where the ledger lies on each server; a file that outlives a reboot, in a directory that the user of the
    /// connection can write to.
    #[fleet(default = fleet_engine::host::ledger::PATH)]
    ledger: String,
}

/// How a server goes back.
#[derive(Clone, Schema)]
struct Return {
    /// How it is made as new: `reinstall` installs the newest system of its family, `scrub` removes what was made there.
    #[fleet(default = "reinstall")]
    method: String,
    /// How long that may take, before somebody is told to look after it.
    #[fleet(default = "45m")]
    deadline: String,
}

/// What `pool "scaleway"` takes.
#[must_use]
pub fn pool() -> Entry {
    let back = Nested { nesting: Nesting::Single, min: 0, max: Some(1), schema: Return::schema() };
    let schema = Arguments { blocks: BTreeMap::from([("return".into(), back)]), ..Pool::schema() };
    Entry { check: Some(check), ..Entry::new(schema, Place::Api, super::NAME) }
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
        } else if super::os::key(&family).is_empty() {
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
    if i64::from_value(&get(pool, "min_free")).is_ok_and(|least| least < 0) {
        refuse("min_free", "at least 0 is needed".into());
    }
    misfits
}
