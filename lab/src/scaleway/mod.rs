//! The Apple silicon and IAM APIs of Scaleway, and of its private networks what Macs need: as books that change with each
//! request and with time, without any socket. `Scaleway::perform` is a request, `Scaleway::happen` is time.
//!
//! 1. [`route`]: a request → an operation
//! 2. `access.rs`: whose request it is
//! 3. `servers.rs`, `create.rs`, `ssh_keys.rs`, `networks.rs`, `attachments.rs`, `diagnostics.rs`, `runners.rs`: what is
//!    answered, and what changes
//! 4. `due.rs`: what happens later
//! 5. [`refusal`]: every typed error
//!
//! Where nobody knows what the real vendor does, there is a switch in [`Rules`].

mod access;
mod arguments;
mod attachments;
mod catalogue;
mod create;
mod diagnostics;
mod due;
mod networks;
mod page;
pub mod refusal;
pub mod route;
mod rules;
mod runners;
mod server;
mod servers;
mod shelf;
mod ssh_keys;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use access::{Permissions, Token};
pub use attachments::{Attachment, AttachmentStatus, Ip};
pub use catalogue::{Catalogue, Os, Stock};
pub(crate) use create::Preorder;
pub use diagnostics::Diagnostic;
pub(crate) use due::Event;
pub use networks::PrivateNetwork;
pub use refusal::ErrorType;
pub use route::{Call, Operation};
pub use rules::{Denial, RateLimit, Rules, Seconds};
pub use runners::Runner;
pub use server::{Commitment, Server, ServerStatus, VpcStatus};
pub use shelf::{Shelf, Version};
pub use ssh_keys::SshKey;

use crate::clock::Time;
use crate::machine::Install;
use refusal::Refusal;

/// What mutating requests answer instead of a secret.
pub const SEALED: &str = "<sealed>";

/// All the vendor knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scaleway {
    /// How it behaves.
    pub rules: Rules,
    /// Who may ask.
    pub tokens: Vec<Token>,
    /// The organization of all projects.
    pub organization_id: String,
    /// What can be ordered and installed.
    pub catalogue: Catalogue,
    /// All servers.
    pub servers: Shelf<Server>,
    /// All SSH keys.
    pub ssh_keys: Shelf<SshKey>,
    /// All private networks.
    pub private_networks: Shelf<PrivateNetwork>,
    /// Which server is in which private network.
    pub attachments: Shelf<Attachment>,
    /// Addresses in private networks.
    pub ips: Shelf<Ip>,
    /// Diagnoses.
    pub diagnostics: Shelf<Diagnostic>,
    /// Runners that the vendor runs.
    pub runners: Shelf<Runner>,
    /// What will happen, in order.
    pub(crate) agenda: due::Agenda,
    /// When each key asked lately.
    #[serde(skip)]
    asked: BTreeMap<String, Vec<Time>>,
    chance: Chance,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body; null for none.
    pub body: Value,
}

impl Answer {
    pub(crate) fn json(status: u16, body: Value) -> Answer {
        Answer { status, body }
    }

    fn ok(body: Value) -> Answer {
        Answer::json(200, body)
    }

    fn empty() -> Answer {
        Answer::json(204, Value::Null)
    }
}

/// What has to be done to a machine, because the books say so.
#[derive(Clone, Debug)]
pub enum Effect {
    /// There is a new machine.
    Build(String),
    /// It is installed anew.
    Install(String, Install),
    /// It is switched on, with these keys if any.
    Boot(String, Option<Vec<String>>),
    /// It is switched off.
    Halt(String),
    /// It is not rented out any more.
    Scrap(String),
}

/// Numbers that look like chance, and are the same for the same seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Chance {
    seed: u64,
    drawn: u64,
}

impl Chance {
    fn draw(&mut self) -> fastrand::Rng {
        self.drawn += 1;
        fastrand::Rng::with_seed(self.seed ^ self.drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn uuid(&mut self) -> String {
        let mut bytes = [0; 16];
        self.draw().fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    fn word(&mut self, length: usize) -> String {
        let mut rng = self.draw();
        (0..length).map(|_| rng.alphanumeric()).collect()
    }
}

/// A request in the middle of being carried out.
struct Turn<'a> {
    call: &'a Call,
    caller: &'a Token,
    now: Time,
    effects: Vec<Effect>,
}

/// How a request ended in the books.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    /// The type of the error, if it was refused.
    pub(crate) refused: Option<ErrorType>,
    pub(crate) effects: Vec<Effect>,
}

impl Outcome {
    fn of(answer: Result<Answer, Refusal>, effects: Vec<Effect>) -> Outcome {
        match answer {
            Ok(answer) => Outcome { answer, refused: None, effects },
            Err(refusal) => {
                Outcome { answer: refusal.answer(), refused: Some(refusal.kind()), effects: Vec::new() }
            }
        }
    }
}

impl Scaleway {
    /// A vendor with a catalogue and nothing rented out.
    #[must_use]
    pub fn new(seed: u64, rules: Rules) -> Scaleway {
        let mut chance = Chance { seed, drawn: 0 };
        Scaleway {
            rules,
            tokens: Vec::new(),
            organization_id: chance.uuid(),
            catalogue: Catalogue::default(),
            servers: Shelf::default(),
            ssh_keys: Shelf::default(),
            private_networks: Shelf::default(),
            attachments: Shelf::default(),
            ips: Shelf::default(),
            diagnostics: Shelf::default(),
            runners: Shelf::default(),
            agenda: due::Agenda::default(),
            asked: BTreeMap::new(),
            chance,
        }
    }

    /// Makes an id.
    pub(crate) fn id(&mut self) -> String {
        self.chance.uuid()
    }

    /// Carries a request out. A read shows the books as they were at `seen`.
    pub(crate) fn perform(&mut self, call: &Call, caller: &Token, now: Time, seen: Time) -> Outcome {
        if call.operation.reads() {
            let seen = seen.min(now.before(self.rules.read_lag.0));
            return Outcome::of(self.read(call, caller, now, seen), Vec::new());
        }
        let mut turn = Turn { call, caller, now, effects: Vec::new() };
        let answer = self.write(&mut turn);
        Outcome::of(answer, turn.effects)
    }

    fn read(&self, call: &Call, caller: &Token, now: Time, seen: Time) -> Result<Answer, Refusal> {
        match call.operation {
            Operation::ListServerTypes => Ok(self.list_server_types(call)),
            Operation::GetServerType => self.get_server_type(call),
            Operation::ListOs => self.list_os(call),
            Operation::GetOs => self.get_os(call),
            Operation::ListServers => self.list_servers(call, caller, now, seen),
            Operation::GetServer => self.get_server(call, caller, now, seen),
            Operation::GetConnectivityDiagnostic => self.get_diagnostic(call, caller, seen),
            Operation::ListRunners => self.list_runners(call, caller, seen),
            Operation::GetRunner => self.get_runner(call, caller, seen),
            Operation::ListServerPrivateNetworks => self.list_attachments(call, caller, seen),
            Operation::GetServerPrivateNetwork => self.get_attachment(call, caller, seen),
            Operation::ListSshKeys => self.list_ssh_keys(call, caller, seen),
            Operation::GetSshKey => self.get_ssh_key(call, caller, seen),
            Operation::ListPrivateNetworks => self.list_private_networks(call, caller, seen),
            Operation::GetPrivateNetwork => self.get_private_network(call, caller, seen),
            Operation::ListIps => self.list_ips(call, caller, seen),
            _ => Err(Refusal::not_found(call.operation.resource(), call.id())),
        }
    }

    fn write(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        turn.caller.may_write(turn.call.operation)?;
        match turn.call.operation {
            Operation::CreateServer => self.create_server(turn),
            Operation::BatchCreateServers => self.batch_create_servers(turn),
            Operation::UpdateServer => self.update_server(turn),
            Operation::DeleteServer => self.delete_server(turn),
            Operation::RebootServer => self.reboot_server(turn),
            Operation::ReinstallServer => self.reinstall_server(turn),
            Operation::StartConnectivityDiagnostic => self.start_diagnostic(turn),
            Operation::CreateRunner => self.create_runner(turn),
            Operation::UpdateRunner => self.update_runner(turn),
            Operation::DeleteRunner => self.delete_runner(turn),
            Operation::AddServerPrivateNetwork => self.add_attachment(turn),
            Operation::SetServerPrivateNetworks => self.set_attachments(turn),
            Operation::DeleteServerPrivateNetwork => self.delete_attachment(turn),
            Operation::CreateSshKey => self.create_ssh_key(turn),
            Operation::UpdateSshKey => self.update_ssh_key(turn),
            Operation::DeleteSshKey => self.delete_ssh_key(turn),
            Operation::CreatePrivateNetwork => self.create_private_network(turn),
            Operation::UpdatePrivateNetwork => self.update_private_network(turn),
            Operation::DeletePrivateNetwork => self.delete_private_network(turn),
            _ => Err(Refusal::not_found(turn.call.operation.resource(), turn.call.id())),
        }
    }

    /// How something is denied that cannot be seen.
    fn absent(&self, resource: &str, id: &str, action: &str, was_there: bool) -> Refusal {
        let denial = if was_there { self.rules.deleted_id } else { self.rules.unknown_id };
        match denial {
            Denial::NotFound => Refusal::not_found(resource, id),
            Denial::Forbidden => Refusal::permissions(resource, action),
        }
    }
}
