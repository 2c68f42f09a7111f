//! `static_host`: the machine of a static pool that a slot of a fleet holds.
//!
//! Nobody writes it: the engine makes it for `fleet.NAME[KEY].host`. The ledger on the machine is the thing, so that the
//! machine itself knows whose it is.

use fleet_derive::Schema;
use fleet_engine::finding::table;
use fleet_engine::host::probe::What;
use fleet_engine::host::step::{Claim, Mark};
use fleet_engine::host::{Act, Content, HostKind, Ledger, Probe, Read, Reply, Step};
use fleet_engine::resource::{At, Change, Error, Resource};

use super::common::named;

/// A machine of a static pool, held by one slot of a fleet.
///
/// It is not written in a configuration: every slot of a `fleet` on a `pool "static"` has one, as `host`. It is made by
/// a ledger on the machine, which says whose the machine is, so that no two states can take one machine.
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct StaticHost {
    /// The slot that holds the machine, such as `fleet.runners[0]`.
    #[fleet(replace)]
    slot: String,
    /// The key of the slot.
    key: String,
    /// The number of the slot, if slots are counted.
    index: Option<i64>,
    /// The name of the host.
    name: String,
    /// The name of the machine in its pool.
    #[fleet(replace)]
    machine: String,
    /// Where the ledger lies on the machine.
    #[fleet(replace)]
    ledger: String,
    /// The port of OpenSSH on it, if one was given.
    port: Option<i64>,
    /// The random name of the state that holds the machine.
    #[fleet(optional_computed)]
    lineage: Option<String>,
    /// The machine, with the fingerprint of the key by which it proved who it is.
    #[fleet(computed)]
    id: Option<String>,
    /// The address that answered.
    #[fleet(computed)]
    address: Option<String>,
    /// What Kubernetes calls the machine.
    #[fleet(computed)]
    provider_id: Option<String>,
    /// The key by which the machine proved who it is, as `type base64`.
    #[fleet(computed)]
    host_key: Option<String>,
    /// A random name of this claim.
    #[fleet(computed)]
    claim: Option<String>,
    /// Since when the machine is held.
    #[fleet(computed)]
    since: Option<String>,
}

impl Resource for StaticHost {
    const NAME: &'static str = "static_host";
}

impl HostKind for StaticHost {
    fn probe(at: &At<StaticHost>) -> Result<Probe, Error> {
        let host = named(at)?;
        Ok(Probe::new().content(&host.ledger, Content::Whole).and(Read::Line))
    }

    fn parse(at: &At<StaticHost>, reply: &Reply) -> Result<Option<StaticHost>, Error> {
        let host = named(at)?;
        let Some(found) = reply.path(0)? else { return Ok(None) };
        let content = match &found.what {
            What::File(file) => file.content.as_deref(),
            _ => None,
        };
        let ledger = content.and_then(Ledger::parse).ok_or_else(|| host.no_ledger())?;
        let line = reply.line(1)?;
        // Where there is no state yet, nothing can be its own.
        let ours = line.lineage.as_ref().or(host.lineage.as_ref());
        if ours != Some(&ledger.lineage) || ledger.slot != host.slot {
            return Err(host.held(&ledger));
        }
        // A claim that was there before is not the one that was begun.
        if matches!(at, At::Begun { except, .. } if except.iter().any(|known| known.claim.as_ref() == Some(&ledger.claim)))
        {
            return Ok(None);
        }
        let machine = &host.machine;
        let id = match line.fingerprint() {
            Some(fingerprint) => format!("{machine}/{fingerprint}"),
            None => machine.clone(),
        };
        Ok(Some(StaticHost {
            lineage: Some(ledger.lineage),
            id: Some(id),
            address: line.address.clone(),
            provider_id: Some(format!("static://{machine}")),
            host_key: line.host_key.clone(),
            claim: Some(ledger.claim),
            since: Some(ledger.since),
            ..host.clone()
        }))
    }

    /// Key, index and name are the state's business alone.
    fn steps(self, change: Change<StaticHost>) -> Result<Vec<Step>, Error> {
        Ok(match change {
            Change::Create => vec![Step::new(Act::Claim(self.claim()))],
            Change::Update { .. } => Vec::new(),
        })
    }

    fn remove(observed: StaticHost) -> Result<Vec<Step>, Error> {
        let claim = Claim { mark: observed.claim.clone().map(Mark::named), ..observed.claim() };
        Ok(vec![Step::new(Act::Release(claim))])
    }
}

impl StaticHost {
    fn claim(&self) -> Claim {
        Claim { ledger: self.ledger.clone(), slot: self.slot.clone(), mark: None }
    }

    fn held(&self, ledger: &Ledger) -> Error {
        let StaticHost { machine, ledger: path, .. } = self;
        let Ledger { lineage, slot, since, by, .. } = ledger;
        let message =
            format!("`{machine}` is held by `{slot}` of the state {lineage}, since {since}, by {by}");
        Error::permanent(message).known(&table::FOREIGN_LEDGER).help(format!(
            "let its holder give it back: take the slot out of that configuration and run `fleet apply` there; or take \
             `{machine}` out of this pool. Only if that state is lost for good: remove `{path}` on the machine"
        ))
    }

    fn no_ledger(&self) -> Error {
        let StaticHost { machine, ledger: path, .. } = self;
        let error =
            Error::permanent(format!("`{path}` on `{machine}` is no ledger that this fleet can read"));
        error.help("use the version of fleet that wrote it or a newer one; if nobody holds the machine, remove the file")
    }
}

#[cfg(test)]
pub(super) fn sample(slot: &str, machine: &str, lineage: Option<&str>) -> StaticHost {
    StaticHost {
        slot: slot.into(),
        key: "0".into(),
        index: Some(0),
        name: "runner-0".into(),
        machine: machine.into(),
        ledger: fleet_engine::host::ledger::PATH.into(),
        port: None,
        lineage: lineage.map(Into::into),
        id: None,
        address: None,
        provider_id: None,
        host_key: None,
        claim: None,
        since: None,
    }
}

#[cfg(test)]
pub(super) fn at(slot: &str, machine: &str, ledger: &str, lineage: &str) -> StaticHost {
    StaticHost { ledger: ledger.into(), ..sample(slot, machine, Some(lineage)) }
}

#[cfg(test)]
mod tests {
    use fleet_engine::host::probe::{File, Found, Line};
    use fleet_engine::host::{Answer, Holding};

    use super::*;

    fn reply(ledger: Option<&str>) -> Reply {
        let found = |text: &str| {
            let what = What::File(File { size: 0, digest: None, content: Some(text.into()) });
            Found { what, mode: 0o644, owner: "a".into(), group: "b".into() }
        };
        let host_key =
            Some("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f".into());
        let line = Line {
            address: Some("10.0.0.11".into()),
            host_key,
            pinned: true,
            user: "m1".into(),
            lineage: None,
        };
        Reply(vec![Answer::Path(ledger.map(found)), Answer::Line(line)])
    }

    fn ledger(lineage: &str, slot: &str) -> String {
        let ledger = Ledger {
            lineage: lineage.into(),
            slot: slot.into(),
            claim: "c1".into(),
            fence: 1,
            epoch: "k1".into(),
            state: Holding::Owned,
            since: "2026-01-01T00:00:00Z".into(),
            by: "me@here".into(),
        };
        ledger.to_string()
    }

    #[test]
    fn a_machine_is_ours_anybody_s_or_nobody_s() {
        let wish = sample("fleet.a[0]", "mini-a", Some("l1"));
        let see = |text: Option<&str>| StaticHost::parse(&At::Recorded(wish.clone()), &reply(text));
        assert_eq!(see(None).unwrap(), None);
        let ours = see(Some(&ledger("l1", "fleet.a[0]"))).unwrap().unwrap();
        let id = ours.id.as_deref().unwrap();
        assert!(id.starts_with("mini-a/SHA256:") && !id.ends_with('='), "{id}");
        assert_eq!(ours.provider_id.as_deref(), Some("static://mini-a"));
        assert_eq!((ours.claim.as_deref(), ours.address.as_deref()), (Some("c1"), Some("10.0.0.11")));
        for other in [ledger("l2", "fleet.a[0]"), ledger("l1", "fleet.a[1]")] {
            let error = see(Some(&other)).unwrap_err();
            assert!(!error.transient && error.help.is_some());
            assert!(error.message.contains("since 2026-01-01T00:00:00Z, by me@here"), "{error}");
        }
        let stateless = At::Declared(sample("fleet.a[0]", "mini-a", None));
        assert!(StaticHost::parse(&stateless, &reply(Some(&ledger("l1", "fleet.a[0]")))).is_err());
        assert!(see(Some("rubbish")).unwrap_err().message.contains("is no ledger"));
    }

    #[test]
    fn a_claim_that_was_there_before_is_another() {
        let wish = sample("fleet.a[0]", "mini-a", Some("l1"));
        let text = ledger("l1", "fleet.a[0]");
        let known = StaticHost { claim: Some("c1".into()), ..wish.clone() };
        let see = |except| {
            StaticHost::parse(&At::Begun { wish: wish.clone(), except }, &reply(Some(&text))).unwrap()
        };
        assert!(see(vec![known]).is_none() && see(Vec::new()).is_some());
    }
}
