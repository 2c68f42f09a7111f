//! What the vendor does later, without being asked again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::route::Call;
use super::{Effect, Scaleway, ServerStatus, VpcStatus};
use crate::clock::Time;
use crate::machine::Install;

/// Something that will happen.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// A machine that was ordered or reinstalled is installed, and answers.
    Installed { server: String, turn: u64 },
    /// A machine that was restarted answers.
    Restarted { server: String, turn: u64 },
    /// The API calls a server ready.
    Ready { server: String, turn: u64 },
    /// Private networks are switched on or off.
    VpcSettled { server: String, enabled: bool },
    /// A server is in a private network.
    Attached { attachment: String },
    /// A server is out of a private network.
    Detached { attachment: String },
    /// A diagnosis is there.
    Diagnosed { diagnostic: String },
    /// A server whose deletion was scheduled can be deleted.
    DeletionDue { server: String },
    /// A request that came long ago takes effect: the number of its entry in the log, and who sent it.
    Late { entry: u64, caller: String, call: Box<Call> },
}

/// What will happen, by its time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Agenda {
    #[serde(with = "entries")]
    events: BTreeMap<(Time, u64), Event>,
}

impl Agenda {
    pub(crate) fn add(&mut self, time: Time, event: Event) {
        let number = self.events.keys().map(|(_, number)| number + 1).max().unwrap_or(0);
        self.events.insert((time, number), event);
    }

    /// When something will happen next, and at all later times.
    pub(crate) fn times(&self) -> impl Iterator<Item = Time> {
        self.events.keys().map(|(time, _)| *time)
    }

    /// Takes the next event out, if it is time for it.
    pub(crate) fn next(&mut self, now: Time) -> Option<Event> {
        let first = self.events.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }
}

/// Maps with keys of two parts, as JSON.
mod entries {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Event, Time};

    #[derive(Serialize, Deserialize)]
    struct Entry {
        at: Time,
        number: u64,
        event: Event,
    }

    pub(super) fn serialize<S: Serializer>(
        events: &BTreeMap<(Time, u64), Event>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let entry = |((at, number), event): (&(Time, u64), &Event)| Entry {
            at: *at,
            number: *number,
            event: event.clone(),
        };
        events.iter().map(entry).collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<(Time, u64), Event>, D::Error> {
        let entries = Vec::<Entry>::deserialize(deserializer)?;
        Ok(entries.into_iter().map(|entry| ((entry.at, entry.number), entry.event)).collect())
    }
}

impl Scaleway {
    /// Lets an event happen. Late requests are not among them: they are carried out like all others.
    pub(crate) fn happen(&mut self, event: &Event, now: Time, is_up: impl Fn(&str) -> bool) -> Vec<Effect> {
        match event {
            Event::Installed { server, turn } => self.installed(server, *turn, now),
            Event::Restarted { server, turn } => self.restarted(server, *turn, now),
            Event::Ready { server, turn } => {
                if self.is_current(server, *turn) {
                    self.servers.change(server, now, |server| {
                        server.status = ServerStatus::Ready;
                        server.delivered = true;
                        server.updated_at = now;
                        if server.vpc_status == VpcStatus::VpcUpdating {
                            server.vpc_status = VpcStatus::VpcEnabled;
                        }
                    });
                }
                Vec::new()
            }
            Event::VpcSettled { server, enabled } => {
                self.vpc_settled(server, *enabled, now);
                Vec::new()
            }
            Event::Attached { attachment } => {
                self.attached(attachment, now);
                Vec::new()
            }
            Event::Detached { attachment } => {
                self.attachments.put(attachment, now, None);
                Vec::new()
            }
            Event::Diagnosed { diagnostic } => {
                self.diagnosed(diagnostic, now, is_up);
                Vec::new()
            }
            Event::DeletionDue { server } => {
                let due = self.servers.get(server);
                let due = due.is_some_and(|server| server.deletion_scheduled && server.deletable_at <= now);
                if due { self.remove_server(server, now) } else { Vec::new() }
            }
            Event::Late { .. } => Vec::new(),
        }
    }

    fn is_current(&self, server: &str, turn: u64) -> bool {
        self.servers.get(server).is_some_and(|server| server.turn == turn)
    }

    fn installed(&mut self, id: &str, turn: u64, now: Time) -> Vec<Effect> {
        if !self.is_current(id, turn) {
            return Vec::new();
        }
        self.servers.change(id, now, |server| server.installs += 1);
        let install = self.install_of(id);
        self.ready_soon(id, turn, now);
        install.map_or_else(Vec::new, |install| {
            vec![Effect::Install(id.to_owned(), install), Effect::Boot(id.to_owned(), None)]
        })
    }

    /// What an installation leaves on a server now.
    pub(crate) fn install_of(&self, id: &str) -> Option<Install> {
        let server = self.servers.get(id)?;
        Some(Install {
            os_name: server.os.name.clone(),
            os_version: server.os.version.clone(),
            user: server.ssh_username.clone(),
            password: server.password.clone(),
            keys: self.project_keys(&server.project_id),
        })
    }

    fn restarted(&mut self, id: &str, turn: u64, now: Time) -> Vec<Effect> {
        if !self.is_current(id, turn) {
            return Vec::new();
        }
        let project = self.servers.get(id).map(|server| server.project_id.clone()).unwrap_or_default();
        let keys = self.rules.reboot_applies_keys.then(|| self.project_keys(&project));
        self.ready_soon(id, turn, now);
        vec![Effect::Boot(id.to_owned(), keys)]
    }

    fn ready_soon(&mut self, id: &str, turn: u64, now: Time) {
        let ready = Event::Ready { server: id.to_owned(), turn };
        self.agenda.add(now.after(self.rules.ready_lag.0), ready);
    }

    /// A machine could not do what it was told.
    pub(crate) fn broke(&mut self, id: &str, now: Time) {
        self.servers.change(id, now, |server| {
            server.status = ServerStatus::Error;
            server.turn += 1;
        });
    }
}
