//! The machine of a slot on a pool behind a vendor: one kind, that each vendor's provider gives a name.
//!
//! Nobody writes it: the engine makes it for `fleet.NAME[KEY].host`. Both the ledger on the machine and the vendor say what
//! is so; the ledger first.

use fleet_derive::Schema;
use fleet_lang::Value;

use super::books::Found;
use super::protocol::{Record, Stage};
use super::vendor::Server;
use crate::address::ScopePath;
use crate::attributes::{Attributes, Misfit};
use crate::finding::table;
use crate::host::probe::{Line, What};
use crate::host::{Content, Holding, HostThing, Ledger, Probe, Read, Reply, Step};
use crate::resource::{At, Change, Disruption, Error, Touch};
use crate::schema::{Entry, Place};

/// A machine of a pool behind a vendor, held by one slot of a fleet.
///
/// It is not written in a configuration: every slot of a `fleet` on such a pool has one, as `host`. It is made by a ledger
/// on the machine, which says whose the machine is, and has the name of the slot at the vendor. When the slot goes, it is
/// made clean, gets a free name and goes back to the pool.
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct PoolHost {
    /// The slot that holds the machine, such as `fleet.runners[0]`.
    #[fleet(replace)]
    pub slot: String,
    /// The key of the slot.
    pub key: String,
    /// The number of the slot, if slots are counted.
    pub index: Option<i64>,
    /// The name of the host, here and at the vendor.
    pub name: String,
    /// How far the claim is: `owned` if all is well, `claiming` or `returning` in between, `lost` if the machine was
    /// installed anew or its ledger removed behind our back, and `unsettled` while a request to the vendor may still have an
    /// effect.
    #[fleet(default = OWNED)]
    pub state: String,
    /// Where the ledger lies on the machine.
    #[fleet(replace)]
    pub ledger: String,
    /// The port of OpenSSH on it, if one was given.
    pub port: Option<i64>,
    /// What the vendor calls the machine for ever.
    #[fleet(computed)]
    pub machine: Option<String>,
    /// The random name of the state that holds the machine.
    #[fleet(computed)]
    pub lineage: Option<String>,
    /// The machine, with the fingerprint of the key by which it proved who it is.
    #[fleet(computed)]
    pub id: Option<String>,
    /// The address that answered.
    #[fleet(computed)]
    pub address: Option<String>,
    /// Where it may be reached.
    #[fleet(computed)]
    pub addresses: Option<Vec<String>>,
    /// What Kubernetes calls the machine.
    #[fleet(computed)]
    pub provider_id: Option<String>,
    /// The key by which the machine proved who it is, as `type base64`.
    #[fleet(computed)]
    pub host_key: Option<String>,
    /// Where it stands.
    #[fleet(computed)]
    pub zone: Option<String>,
    /// What it is.
    #[fleet(computed)]
    pub model: Option<String>,
    /// The family of its operating system.
    #[fleet(computed)]
    pub os_family: Option<String>,
    /// A random name of this claim.
    #[fleet(computed)]
    pub claim: Option<String>,
    /// Since when the machine is held.
    #[fleet(computed, follows = "state")]
    pub since: Option<String>,
    /// Before this, the vendor does not let the machine be deleted.
    #[fleet(computed)]
    pub deletable_at: Option<String>,
    /// What it takes to go on with a claim or a return that was cut off.
    #[fleet(computed, internal, follows = "state", follows = "name")]
    pub journal: Option<String>,
}

/// The state of a host with which all is well.
pub(crate) const OWNED: &str = "owned";
/// The state of a machine whose ledger is gone, with or without its installation.
pub(crate) const LOST: &str = "lost";

/// The kind of the machines of a vendor, in its provider's list of kinds on hosts: `&Machines("scaleway_host")`.
#[derive(Clone, Copy, Debug)]
pub struct Machines(pub &'static str);

/// What was seen of a machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Met {
    pub(crate) line: Line,
    pub(crate) page: Found,
}

impl PoolHost {
    /// What the protocol keeps of it; none while nothing was claimed.
    pub(crate) fn record(&self) -> Result<Option<Record>, Error> {
        self.journal.as_deref().map(record_of).transpose()
    }

    /// The same, with what the protocol keeps of it.
    pub(crate) fn noting(mut self, record: &Record) -> PoolHost {
        self.machine = Some(record.identity.server.clone());
        self.claim = Some(record.identity.claim.clone());
        self.lineage = Some(record.identity.lineage.clone());
        // Plain data has a text.
        self.journal = serde_json::to_string(record).ok();
        self
    }

    /// The same, with what the vendor says of it.
    pub(crate) fn shown(mut self, server: &Server) -> PoolHost {
        self.name.clone_from(&server.name);
        self.provider_id = Some(server.provider_id.clone());
        self.addresses = Some(server.addresses.clone());
        self.zone = Some(server.zone.clone());
        self.model = Some(server.model.clone());
        self.os_family = Some(server.os_family.clone());
        self.deletable_at.clone_from(&server.deletable_at);
        self
    }

    /// A host that somebody left behind, as the slot has it that frees it.
    pub(crate) fn to_be_freed(slot: &ScopePath, server: &Server, ledger: &str) -> PoolHost {
        PoolHost {
            slot: slot.to_string(),
            key: server.id.clone(),
            index: None,
            name: server.name.clone(),
            state: "returning".to_owned(),
            ledger: ledger.to_owned(),
            port: None,
            machine: Some(server.id.clone()),
            lineage: None,
            id: None,
            address: None,
            addresses: None,
            provider_id: None,
            host_key: None,
            zone: None,
            model: None,
            os_family: None,
            claim: None,
            since: None,
            deletable_at: None,
            journal: None,
        }
        .shown(server)
    }

    /// What is there of a host that was claimed, from the vendor and the machine itself; none if nothing of ours is.
    pub(crate) fn seen(
        self,
        record: &Record,
        server: &Server,
        met: Result<Met, Error>,
    ) -> Result<Option<PoolHost>, Error> {
        let names = record.identity.names.as_ref();
        let is_free = names.is_some_and(|names| names.is_free(&server.name));
        let has_our_name = names.is_some_and(|names| names.is_ours(&server.name));
        let host = self.noting(record).shown(server);
        let state = |state: &str, host: PoolHost| Ok(Some(PoolHost { state: state.to_owned(), ..host }));
        match (&record.progress.stage, met) {
            // Whoever took it since keeps it.
            (Stage::Closed, met) => {
                let is_held = met.is_ok_and(|met| met.is_of(record));
                if has_our_name || is_held { state("returning", host) } else { Ok(None) }
            }
            // Only a look at the machine itself can say that nothing of ours is left.
            (
                Stage::Leaving | Stage::Freeing | Stage::Abandoning | Stage::Retiring | Stage::Taking { .. },
                met,
            ) => match met {
                Ok(met) if is_free && !met.is_of(record) => Ok(None),
                Ok(met) => state("returning", host.met(&met)),
                Err(_) => state("returning", host),
            },
            (_, Err(error)) => Err(error),
            (stage, Ok(met)) => {
                let is_claiming = *stage == Stage::Claiming;
                match &met.page {
                    Found::Ledger(ledger) if met.is_of(record) => {
                        let word = match ledger.state {
                            _ if is_claiming => "claiming",
                            Holding::Owned if !record.progress.open.is_empty() => "unsettled",
                            holding => holding.word(),
                        };
                        let since = Some(ledger.since.clone());
                        state(word, PoolHost { since, ..host.met(&met) })
                    }
                    Found::Nothing if is_claiming && !has_our_name => Ok(None),
                    Found::Nothing if is_claiming => state("claiming", host.met(&met)),
                    Found::Nothing => state(LOST, host.met(&met)),
                    Found::Ledger(_) if is_claiming && !has_our_name => Ok(None),
                    Found::Ledger(ledger) => Err(host.held(ledger)),
                    Found::Unreadable => Err(host.no_ledger()),
                }
            }
        }
    }

    pub(super) fn met(mut self, met: &Met) -> PoolHost {
        let machine = self.machine.clone().unwrap_or_default();
        self.id = Some(match met.line.fingerprint() {
            Some(fingerprint) => format!("{machine}/{fingerprint}"),
            None => machine,
        });
        self.address.clone_from(&met.line.address);
        self.host_key.clone_from(&met.line.host_key);
        self
    }

    fn held(&self, ledger: &Ledger) -> Error {
        let machine = self.machine.as_deref().unwrap_or_default();
        let Ledger { lineage, slot, since, by, .. } = ledger;
        Error::permanent(format!(
            "`{machine}` is held by `{slot}` of the state {lineage}, since {since}, by {by}"
        ))
        .known(&table::FOREIGN_LEDGER)
        .help(format!("give `{}` another host with `--replace '{}.host'`", self.slot, self.slot))
    }

    fn no_ledger(&self) -> Error {
        let (machine, path) = (self.machine.as_deref().unwrap_or_default(), &self.ledger);
        Error::permanent(format!("`{path}` on `{machine}` is no ledger that this fleet can read"))
            .help("use the version of fleet that wrote it or a newer one; if nobody holds the machine, remove the file")
    }
}

impl Met {
    /// What a reply to [`look_at`] says.
    pub(crate) fn of(reply: &Reply) -> Result<Met, Error> {
        let page = match reply.path(0)?.map(|found| &found.what) {
            None => Found::Nothing,
            Some(What::File(file)) => match file.content.as_deref().and_then(Ledger::parse) {
                Some(ledger) => Found::Ledger(ledger),
                None => Found::Unreadable,
            },
            Some(_) => Found::Unreadable,
        };
        Ok(Met { line: reply.line(1)?.clone(), page })
    }

    /// The installation that answered.
    pub(crate) fn epoch(&self) -> String {
        self.line.host_key.clone().unwrap_or_default()
    }

    /// Whether the ledger is of this very claim, made in the installation that answers.
    pub(crate) fn is_of(&self, record: &Record) -> bool {
        matches!(&self.page, Found::Ledger(ledger) if ledger.claim == record.identity.claim && ledger.is_of(&self.epoch()))
    }
}

/// What is asked of a machine to know whose it is.
pub(crate) fn look_at(ledger: &str) -> Probe {
    Probe::new().content(ledger, Content::Whole).and(Read::Line)
}

impl HostThing for Machines {
    fn name(&self) -> &'static str {
        self.0
    }

    fn entry(&self, provider: &str) -> Entry {
        Entry::new(PoolHost::schema(), Place::Host, provider)
    }

    fn normalize(&self, object: &Value) -> Result<Value, Misfit> {
        PoolHost::from_value(object).map(|host| host.to_value())
    }

    fn findable(&self, record: &Value) -> Result<(), Misfit> {
        PoolHost::from_value(record).map(|_| ())
    }

    fn upgrade(&self, _: u32, recorded: Value) -> Result<Value, Error> {
        Ok(recorded)
    }

    fn disrupts(&self, _: Touch<'_>) -> Disruption {
        Disruption::Nothing
    }

    fn is_machine(&self) -> bool {
        true
    }

    fn probe(&self, at: &At<Value>) -> Result<Probe, Error> {
        Ok(look_at(&host_at(at)?.ledger))
    }

    fn parse(&self, _: &At<Value>, _: &Reply) -> Result<Option<Value>, Error> {
        Err(without_vendor())
    }

    fn steps(&self, _: &Value, _: Change<Value>) -> Result<Vec<Step>, Error> {
        Err(without_vendor())
    }

    fn remove(&self, _: &Value) -> Result<Vec<Step>, Error> {
        Err(without_vendor())
    }

    fn left(&self, _: &Value, _: &Reply) -> Result<Option<Value>, Error> {
        Err(without_vendor())
    }
}

/// What the journal of a host says.
pub(crate) fn record_of(journal: &str) -> Result<Record, Error> {
    serde_json::from_str(journal).map_err(|_| {
        Error::permanent("the journal of the claim cannot be read")
            .help("use the version of fleet that wrote it, or a newer one")
    })
}

/// The host that somebody asks about.
pub(crate) fn host_at(at: &At<Value>) -> Result<PoolHost, Error> {
    match at {
        At::Recorded(host) | At::Declared(host) | At::Begun { wish: host, .. } => {
            Ok(PoolHost::from_value(host)?)
        }
        At::Id(_) => Err(Error::permanent("the machine of a slot cannot be imported")),
    }
}

/// The configuration says nothing any more of where the machine comes from.
pub(crate) fn without_vendor() -> Error {
    Error::permanent("nobody says any more which vendor the machine belongs to")
        .help("let the fleet name the pool again that its host came from, and apply; then take it away")
}
