//! `fleet state rebuild`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::Arc;

use fleet_engine::address::{ScopePath, ScopeStep};
use fleet_engine::diff::get;
use fleet_engine::host::probe::What;
use fleet_engine::host::{Content, Hosts as _, Ledger, Probe, Reach, Read, inventory};
use fleet_engine::plan::{self, Found, Goal, Options, Rebuilt, Way};
use fleet_engine::pool::HeldServer;
use fleet_engine::resource::Error;
use fleet_lang::Value;
use fleet_store::{Database, Document, Summary};
use futures_util::future::join_all;

use super::migrate::is_empty;
use super::push::count;
use crate::commands::apply::{Given, converge};
use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::memory;
use crate::{Env, Exit, Failure};

/// Make a lost state anew from what the hosts know
///
/// Every machine that the fleets of the configuration may have is asked for its ledger, which says by which slot of which
/// state it is held, and for its inventory, which says what is managed there. The lineage of that state is taken over, the
/// hosts are recorded, and then, by looking, everything that is listed there and declared. Nothing is changed on any host.
/// If all is as it was, the next `fleet plan` has nothing to do.
///
/// The state must be empty. Where machines carry ledgers of several states, `--lineage` says which one is meant; see that
/// it is really lost, and not in use elsewhere. What cannot be attributed is listed. Things that are on no host are found
/// by the next plan, or taken in by `fleet import`.
///
/// Examples:
///   fleet state rebuild
///   fleet state rebuild --lineage 1c5b0d9e-52c5-4f4b-8a51-9e44a1b1f0aa
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RebuildArgs {
    /// The lineage to take over, where machines carry ledgers of several
    #[arg(long, value_name = "LINEAGE")]
    lineage: Option<String>,
    /// Do without machines that do not answer
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    variables: VariableArgs,
}

/// A machine with a ledger.
struct Held {
    fleet: Arc<str>,
    machine: Arc<str>,
    ledger: Ledger,
    inventory: Vec<inventory::Known>,
    /// What its vendor knows too, if there is one.
    server: Option<HeldServer>,
}

/// What a rebuild came to.
struct Taken {
    /// The slots that have a host.
    slots: Vec<String>,
    /// What could not be attributed.
    left: Vec<String>,
}

pub(super) fn rebuild(env: &mut Env, args: &RebuildArgs) -> Result<Exit, Failure> {
    let opened = Site::open(env, &args.variables, Purpose::Apply, args.given.hosts)?;
    let Some(site) = opened else { return Ok(Exit::Failed) };
    let opened = memory::open(env, &site.place, "fleet state rebuild", args.given.lock);
    let database = site.runtime.block_on(opened)?;
    let taken = take_over(env, &site, &database, args);
    site.close();
    let closed = site.runtime.block_on(database.close(Summary::default()));
    let Some(Taken { slots, left }) = taken? else { return Ok(Exit::Failed) };
    closed.map_err(|error| memory::unclosed(&error))?;
    // What does not answer, and was to be done without, is not asked again.
    let hosts = if args.partial { slots } else { Vec::new() };
    let options = Options { goal: Goal::RefreshOnly, refresh: true, hosts, ..Options::default() };
    let exit = converge(env, &args.variables, options, &args.given.approved(), None)?;
    if !left.is_empty() {
        writeln!(env.stdout, "\nNot attributed, and left alone:")?;
        for line in &left {
            writeln!(env.stdout, "  {line}")?;
        }
    }
    if exit != Exit::Done {
        writeln!(env.stderr, "The hosts are recorded. `fleet apply --refresh-only` goes on with the rest.")?;
    }
    Ok(exit)
}

/// Finds the hosts and records them; says which slots have one, and what could not be attributed. `None` if something is
/// wrong, which was said.
fn take_over(
    env: &mut Env,
    site: &Site,
    database: &Database,
    args: &RebuildArgs,
) -> Result<Option<Taken>, Failure> {
    let state = site.runtime.block_on(database.read()).map_err(|e| memory::failure(&e))?;
    if !is_empty(&state) {
        let failure =
            Failure::new(format!("the state is not empty, it has {}; nothing was done", count(&state)));
        return Err(
            failure.help("`fleet plan` finds what differs; a state is rebuilt only where none is left")
        );
    }
    let asked =
        site.with_sources(|sources| Ok((plan::ways(sources, &state)?.ways, plan::declared_slots(sources))))?;
    let (ways, slots) = match asked {
        Ok(asked) => asked,
        Err(problems) => {
            site.tell(env, &problems)?;
            return Ok(None);
        }
    };
    let looked = site.runtime.block_on(join_all(ways.into_iter().map(|way| look(site, way))));
    let looked: Vec<_> = looked.into_iter().flatten().collect();
    let n_machines = looked.len();
    let mut held = Vec::new();
    let mut unseen = BTreeSet::new();
    for (machine, looked) in looked {
        match looked {
            Ok(Some(found)) => held.push(found),
            Ok(None) => {}
            Err(error) => _ = unseen.insert(format!("`{machine}` cannot be looked at: {}", chain(&error))),
        }
    }
    if !unseen.is_empty() && !args.partial {
        let told = unseen.into_iter().collect::<Vec<_>>().join("; ");
        let failure = Failure::new(format!("{told}; nothing was done"));
        return Err(failure.help("see that it answers, or do without it: `--partial`"));
    }
    let is_declared = |held: &Held| slot_of(held).is_some_and(|slot| slots.contains(&slot));
    let lineage = lineage(args.lineage.as_deref(), &held, &is_declared, n_machines)?;
    let (ours, others): (Vec<Held>, Vec<Held>) =
        held.into_iter().partition(|held| held.ledger.lineage == lineage && is_declared(held));
    let fence = ours.iter().map(|held| held.ledger.fence).max().unwrap_or_default();
    let (ours, twice) = one_for_each_slot(ours);
    let found = ours.into_iter().map(|(slot, Held { machine, inventory, server, .. })| Found {
        slot,
        machine,
        inventory,
        server,
    });
    let found: Vec<Found> = found.collect();
    let machines: Vec<String> =
        found.iter().map(|found| format!("{} has `{}`", found.slot, found.machine)).collect();
    let taken = found.iter().map(|found| found.slot.to_string()).collect();
    let Rebuilt { state, undeclared } =
        match site.with_sources(|sources| plan::rebuilt(sources, &lineage, found))? {
            Ok(rebuilt) => rebuilt,
            Err(problems) => {
                site.tell(env, &problems)?;
                return Ok(None);
            }
        };
    let held = count(&state);
    let replaced = site.runtime.block_on(database.replace(Document { state, fence }));
    replaced.map_err(|e| memory::failure(&e))?;
    writeln!(env.stdout, "Taken over: the lineage {lineage}, with {held}; {}.\n", machines.join(", "))?;
    // A machine is seen through every fleet that may have it.
    let others: BTreeSet<String> = others.iter().chain(&twice).map(told).collect();
    let undeclared =
        undeclared.iter().map(|address| format!("{address}: listed on its host, and not declared"));
    let left = others.into_iter().chain(undeclared).chain(unseen).collect();
    Ok(Some(Taken { slots: taken, left }))
}

/// Asks all machines on a way for their ledgers and inventories.
async fn look(site: &Site, way: Way) -> Vec<(Arc<str>, Result<Option<Held>, Error>)> {
    let Way { pool, fleet, machine, .. } = &way;
    if let Some(machine) = machine {
        return vec![(machine.clone(), look_at(site, fleet, machine, way.settings.as_ref()).await)];
    }
    let held = |(machine, looked): (Arc<str>, Result<Option<HeldServer>, Error>)| {
        let name = machine.clone();
        let held = |server: HeldServer| Held {
            fleet: fleet.clone(),
            machine,
            ledger: server.ledger.clone(),
            inventory: server.inventory.clone(),
            server: Some(server),
        };
        (name, looked.map(|server| server.map(held)))
    };
    match site.providers.held(&way).await {
        Ok(looked) => looked.into_iter().flatten().map(held).collect(),
        Err(error) => vec![(format!("pool.{pool}").into(), Err(error))],
    }
}

/// Asks a machine that the configuration names.
async fn look_at(
    site: &Site,
    fleet: &Arc<str>,
    machine: &Arc<str>,
    way: Option<&Value>,
) -> Result<Option<Held>, Error> {
    let way = way.ok_or_else(|| Error::permanent("how it is reached is not known"))?;
    let path = get(way, "ledger").as_str().unwrap_or(fleet_engine::host::ledger::PATH).to_owned();
    let list = Read::Inside(Ledger::inventory(&path));
    let probe = Probe::new().content(&path, Content::Whole).and(list);
    let reader = site.channels.reader(&Reach::of(way)?);
    let reply = reader.ask(vec![probe]).await.pop().unwrap_or_else(|| Err(Error::permanent("no answer")))?;
    let Some(found) = reply.path(0)? else { return Ok(None) };
    let content = match &found.what {
        What::File(file) => file.content.as_deref(),
        _ => None,
    };
    let no_ledger = || Error::permanent(format!("`{path}` is no ledger that this fleet can read"));
    let ledger = content.and_then(Ledger::parse).ok_or_else(no_ledger)?;
    let inventory = inventory::known(reply.inside(1)?);
    Ok(Some(Held { fleet: fleet.clone(), machine: machine.clone(), ledger, inventory, server: None }))
}

/// The slot that a ledger names, if it is one of the fleet through which the machine was seen.
fn slot_of(held: &Held) -> Option<ScopePath> {
    let slot = ScopePath::slot_named(&held.ledger.slot)?;
    matches!(slot.steps(), [ScopeStep::Fleet(name, _)] if *name == held.fleet).then_some(slot)
}

/// Which state is taken over.
fn lineage(
    wanted: Option<&str>,
    held: &[Held],
    is_declared: &dyn Fn(&Held) -> bool,
    n_machines: usize,
) -> Result<String, Failure> {
    let mut lineages: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for held in held.iter().filter(|held| is_declared(held)) {
        lineages.entry(&held.ledger.lineage).or_default().insert(told(held));
    }
    let of_all = || lineages.values().flatten().cloned().collect::<Vec<_>>().join("; ");
    match (wanted, lineages.len()) {
        (Some(wanted), _) if lineages.contains_key(wanted) => Ok(wanted.to_owned()),
        (_, 0) => {
            let asked = format!("none of {n_machines} machines has a ledger for a slot that is declared");
            let failure = Failure::new(format!("{asked}; nothing was done"));
            Err(failure
                .help("without a state and without ledgers nothing is held: `fleet apply` starts anew"))
        }
        (Some(wanted), _) => {
            let failure = Failure::new(format!("no machine has a ledger of {wanted}; nothing was done"));
            Err(failure.help(format!("there are: {}", of_all())))
        }
        (None, 1) => Ok(lineages.keys().next().copied().unwrap_or_default().to_owned()),
        (None, n) => {
            let failure =
                Failure::new(format!("machines carry ledgers of {n} states; nothing was done: {}", of_all()));
            Err(failure.help("say with `--lineage` which of them was lost"))
        }
    }
}

/// Of several machines of one slot the one that it got last; the others are still to be given back, or were meant to be.
fn one_for_each_slot(ours: Vec<Held>) -> (BTreeMap<ScopePath, Held>, Vec<Held>) {
    let mut slots: BTreeMap<ScopePath, Held> = BTreeMap::new();
    let mut twice = Vec::new();
    let mut ours = ours;
    ours.sort_by(|a, b| a.ledger.since.cmp(&b.ledger.since));
    for held in ours {
        if let Some(slot) = slot_of(&held) {
            twice.extend(slots.insert(slot, held));
        }
    }
    (slots, twice)
}

fn told(held: &Held) -> String {
    let Ledger { lineage, slot, since, by, .. } = &held.ledger;
    format!("`{}` is held by `{slot}` of the state {lineage}, since {since}, by {by}", held.machine)
}

fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
