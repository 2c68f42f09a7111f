//! Every question that kinds ask of hosts, tried on one host: on the examples of their manual, in one round trip. It
//! changes nothing, as a plan does not.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use fleet_lang::outside::Memory;
use fleet_lang::{Type, Value};
use fleet_syntax::Sources;

use super::Registry;
use crate::address::Item;
use crate::config::load;
use crate::expand::{ArgumentsOnly, Depth, Surroundings, Symbols, expand};
use crate::host::probe::{Answer, Output, Read};
use crate::host::{Probe, Reach, Reply};
use crate::outline::Outline;
use crate::plan::chain;
use crate::provider::{Ask, Readers};
use crate::resource::{At, Error};
use crate::schema::{Catalog, Place, Sort};

/// What came of the questions of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The kind.
    pub kind: String,
    /// Whether the answers were understood.
    pub outcome: Outcome,
    /// The commands that were run, in order.
    pub commands: Vec<Ran>,
}

/// Whether answers were understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They were, and the thing of the example is there.
    Found,
    /// They were, and it is not there.
    Absent,
    /// They were not, for this reason.
    NotUnderstood(String),
    /// Root alone gets them, and root takes a password.
    NeedsRoot(String),
    /// They were not asked for, because a script of a user would have to be run.
    Skipped,
}

/// A command that was run on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The command, as it stands in the list of all.
    pub command: String,
    /// How it ended; 0 is well.
    pub status: i32,
    /// The first line of what it complained about.
    pub complaint: Option<String>,
}

impl Ran {
    /// Whether the program is not there, or cannot be run.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.status, 126 | 127)
    }
}

impl Trial {
    /// Whether nothing of it has to be looked into.
    #[must_use]
    pub fn is_well(&self) -> bool {
        let understood = matches!(self.outcome, Outcome::Found | Outcome::Absent | Outcome::Skipped);
        understood && !self.commands.iter().any(Ran::is_missing)
    }
}

impl Registry {
    /// Asks a host all that kinds on hosts can ask, and says what was understood. An error means that nobody answered.
    pub async fn try_questions(&self, reach: &Reach) -> Result<Vec<Trial>, Error> {
        let questions: Vec<(String, Result<(Ask, Probe), Error>)> = self
            .examples()
            .into_iter()
            .map(|(kind, ask)| (kind.clone(), self.question(&kind, ask)))
            .collect();
        let asks = |probe: &Probe| !probe.runs_user_code();
        let probes = questions.iter().filter_map(|(_, question)| question.as_ref().ok());
        let probes: Vec<Probe> =
            probes.map(|(_, probe)| probe).filter(|probe| asks(probe)).cloned().collect();
        let replies = self.hosts()?.reader(reach).ask(probes).await;
        if let Some(Err(error)) = replies.first()
            && replies
                .iter()
                .all(|reply| reply.as_ref().is_err_and(|error| error.unreachable || !error.needs_root))
        {
            return Err(error.clone());
        }
        let mut replies = replies.into_iter();
        let trials = questions.into_iter().map(|(kind, question)| {
            let (outcome, commands) = match question {
                Err(error) => (Outcome::NotUnderstood(chain(&error)), Vec::new()),
                Ok((_, probe)) if !asks(&probe) => (Outcome::Skipped, Vec::new()),
                Ok((ask, probe)) => {
                    let lost = || Err(Error::permanent("the host did not answer"));
                    self.judged(&kind, &ask, &probe, replies.next().unwrap_or_else(lost))
                }
            };
            Trial { kind, outcome, commands }
        });
        Ok(trials.collect())
    }

    fn judged(
        &self,
        kind: &str,
        ask: &Ask,
        probe: &Probe,
        reply: Result<Reply, Error>,
    ) -> (Outcome, Vec<Ran>) {
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) if error.needs_root => return (Outcome::NeedsRoot(chain(&error)), Vec::new()),
            Err(error) => return (Outcome::NotUnderstood(chain(&error)), Vec::new()),
        };
        let outcome = match self.on_hosts.parse(kind, ask, &reply) {
            Ok(Some(_)) => Outcome::Found,
            Ok(None) => Outcome::Absent,
            Err(error) => Outcome::NotUnderstood(chain(&error)),
        };
        let commands = probe.reads().iter().zip(&reply.0).filter_map(|(read, answer)| ran(read, answer));
        (outcome, commands.collect())
    }

    fn question(&self, kind: &str, ask: Ask) -> Result<(Ask, Probe), Error> {
        let ask = match ask {
            Ask::Object(At::Declared(wish)) => Ask::Object(At::Declared(self.normalize(kind, &wish)?)),
            Ask::Object(at) => Ask::Object(at),
            Ask::Data(arguments) => Ask::Data(self.normalize_data(kind, &arguments)?),
        };
        let probe = self.on_hosts.probe(kind, &ask)?;
        Ok((ask, probe))
    }

    /// What the examples of all kinds on hosts ask for. Machines of slots have none.
    fn examples(&self) -> Vec<(String, Ask)> {
        let of_sort = |sort: Sort| {
            let names = self.names(sort).into_iter();
            names.filter_map(move |name| Some((sort, name, self.find(sort, name)?)))
        };
        let entries = of_sort(Sort::Resource).chain(of_sort(Sort::Data));
        let on_hosts = entries.filter(|(_, _, entry)| entry.place == Place::Host);
        let asked = on_hosts.filter_map(|(sort, name, entry)| {
            let (_, rest) = entry.schema.doc.split_once("```hcl\n")?;
            let declared = self.declared_in(sort, name, rest.split_once("```")?.0)?;
            let ask = match sort {
                Sort::Data => Ask::Data(declared),
                _ => Ask::Object(At::Declared(declared)),
            };
            Some((name.to_owned(), ask))
        });
        asked.collect()
    }

    /// The arguments of the first thing of a kind in a configuration.
    fn declared_in(&self, sort: Sort, kind: &str, text: &str) -> Option<Value> {
        let outside = Memory::new().file("main.fleet.hcl", text);
        let (config, _) = load(&outside, Path::new("."), &mut Sources::default());
        let surroundings = Surroundings {
            catalog: self,
            outside: &outside,
            inputs: HashMap::new(),
            secrets: &Symbols,
            depth: Depth::Instances,
        };
        let (expansion, _) = expand(&Outline::of(&config, self), &surroundings, &mut ArgumentsOnly);
        let is_it = |item: &Item| match item {
            Item::Resource(name, _) => sort == Sort::Resource && **name == *kind,
            Item::Data(name, _) => sort == Sort::Data && **name == *kind,
            Item::Host => false,
        };
        let instance = expansion.instances.iter().find(|instance| is_it(&instance.address.item))?;
        Some(known(&instance.declared.clone().unmark_deep().0))
    }
}

/// The command of a question, and how it ended.
fn ran(read: &Read, answer: &Answer) -> Option<Ran> {
    let command = match read {
        Read::Tool(tool, operands) => {
            let words = tool.words(operands);
            // A script is told by what it is for.
            let shown = words.iter().map(|word| if word.contains('\n') { "…" } else { word });
            shown.collect::<Vec<_>>().join(" ")
        }
        Read::Processes(expression) => format!("ps -A | grep -E {expression}"),
        _ => return None,
    };
    let Answer::Output(Output { status, stderr, .. }) = answer else { return None };
    let complaint = String::from_utf8_lossy(stderr);
    let complaint = complaint.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
    Some(Ran { command, status: *status, complaint })
}

/// A value with something of the right type in the place of what is not known: only whether answers are understood matters.
fn known(value: &Value) -> Value {
    if value.is_wholly_known() {
        return value.clone();
    }
    if !value.is_known() {
        return match value.ty() {
            Type::Bool => false.into(),
            Type::Number => 1.into(),
            Type::List(element) => Value::list((*element).clone(), Vec::new()),
            Type::Map(element) => {
                Value::map((*element).clone(), std::iter::empty::<(Arc<str>, Value)>().collect())
            }
            Type::Tuple(_) => Value::tuple(Vec::new()),
            _ => "unknown".into(),
        };
    }
    if let Some(entries) = value.entries() {
        let filled = entries.iter().map(|(name, value)| (name.clone(), known(value))).collect();
        return match value.ty() {
            Type::Map(element) => Value::map((*element).clone(), filled),
            _ => Value::object(filled),
        };
    }
    let items: Vec<Value> = value.items().unwrap_or_default().iter().map(known).collect();
    match value.ty() {
        Type::List(element) => Value::list((*element).clone(), items),
        _ => Value::tuple(items),
    }
}
