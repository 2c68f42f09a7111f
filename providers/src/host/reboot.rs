//! `host_reboot`: a host that is started anew when something asks for it.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::{Act, HostKind, Probe, Reply, Step};
use fleet_engine::resource::{At, Change, Disruption, Error, Resource, Touch};
use fleet_lang::{Kind, Value};

use super::boot;

/// Starts a host anew when something asks for it, and waits until it answers from another boot.
///
/// Whether it is asked for is what `when` says:
///
/// - `false` or null: it is not;
/// - `true`: it is, now. This is for what can be read from the host, and what a reboot makes false: as long as it is
///   `true`, every apply reboots the host;
/// - any other value: it is, once for each new value. This is for what cannot be read from the host: that something
///   takes effect at the next start. The value is remembered once the host is up again, so that a run that was cut off
///   in between forgets nothing.
///
/// To remove it changes nothing on the host.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "host_file" "sysctl" {
///     path    = "/etc/sysctl.conf"
///     content = "kern.maxfiles=524288\n"
///     sudo    = true
///   }
///
///   resource "host_reboot" "sysctl" {
///     when = host_file.sysctl.content
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Reboot {
    /// What asks for a reboot: `true`, or a value that is new. It cannot be sensitive.
    #[fleet(optional_computed)]
    when: Option<Value>,
    /// The boot that the host is in: a name that every start makes anew.
    #[fleet(computed, follows = "when")]
    boot_id: Option<String>,
}

impl Resource for Reboot {
    const NAME: &'static str = "host_reboot";

    fn normalize(&mut self) -> Result<(), Misfit> {
        // Scripts and tools say such things as text. Who does not ask says nothing, which compares with nothing.
        self.when = match self.when.take() {
            Some(value) if value.is_null() => None,
            Some(value) => match (&value.kind, value.as_str()) {
                (Kind::Bool(false), _) | (_, Some("false")) => None,
                (_, Some("true")) => Some(true.into()),
                _ => Some(value),
            },
            None => None,
        };
        Ok(())
    }

    fn disrupts(touch: Touch<'_>) -> Disruption {
        match touch {
            Touch::Destroy => Disruption::Nothing,
            Touch::Create | Touch::Update(_) => Disruption::Host,
        }
    }
}

impl HostKind for Reboot {
    fn probe(_: &At<Reboot>) -> Result<Probe, Error> {
        Ok(boot::ask(Probe::new())?)
    }

    /// A host is always in some boot, so that there is nothing to create.
    fn parse(at: &At<Reboot>, reply: &Reply) -> Result<Option<Reboot>, Error> {
        let boot_id = boot::read(reply, 0)?;
        if boot_id.is_none() {
            let error =
                Error::permanent("this host does not say which boot it is in, so a reboot cannot be seen");
            return Err(error.help("`host_reboot` is for Linux and macOS; leave it out for this host"));
        }
        let when = match at {
            // Right after the host was started anew: that is what was asked for.
            At::Recorded(Reboot { when, boot_id: None }) => when.clone().unwrap_or_else(|| false.into()),
            At::Recorded(Reboot { when: Some(when), .. }) if when.kind == Kind::Bool(true) => false.into(),
            At::Recorded(Reboot { when: Some(when), .. }) => when.clone(),
            At::Recorded(Reboot { when: None, .. }) => {
                let error = Error::permanent("`when` of a reboot cannot be sensitive: it must be remembered");
                return Err(error.help("write `when = nonsensitive(sha256(…))`"));
            }
            At::Declared(_) | At::Begun { .. } | At::Id(_) => false.into(),
        };
        Ok(Some(Reboot { when: Some(when), boot_id }))
    }

    fn steps(self, change: Change<Reboot>) -> Result<Vec<Step>, Error> {
        let boot = match change {
            Change::Update { from } if self.when.is_some() && from.when != self.when => from.boot_id,
            Change::Update { .. } | Change::Create => None,
        };
        Ok(boot.map(|boot| Step::new(Act::Reboot { boot }).as_root()).into_iter().collect())
    }

    fn remove(_: Reboot) -> Result<Vec<Step>, Error> {
        Ok(Vec::new())
    }

    fn left(_: Reboot, _: &Reply) -> Result<Option<Reboot>, Error> {
        Ok(None)
    }
}

#[cfg(test)]
pub(super) fn sample(when: impl Into<Value>) -> Reboot {
    Reboot { when: Some(when.into()), boot_id: None }
}

#[cfg(test)]
impl Reboot {
    pub(super) fn nothing() -> Reboot {
        Reboot { when: None, boot_id: None }
    }

    pub(super) fn boot_id(&self) -> Option<&str> {
        self.boot_id.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_ask_says_nothing() {
        let check = |when: Value, expected: Option<Value>| {
            let mut reboot = sample(when);
            reboot.normalize().unwrap();
            assert_eq!(reboot.when, expected);
        };
        check(false.into(), None);
        check("false".into(), None);
        check(Value::null(), None);
        check(true.into(), Some(true.into()));
        check("true".into(), Some(true.into()));
        check("2.1".into(), Some("2.1".into()));
    }
}
