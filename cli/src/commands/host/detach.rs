//! `fleet host detach`.

use fleet_engine::address::Address;
use fleet_engine::diff::get;
use fleet_engine::host::step::{Claim, Mark};
use fleet_engine::host::{Act, Holder, Hosts as _, Reach, Step, Work};
use fleet_engine::provider::Session;
use fleet_engine::resource::Error;
use fleet_engine::state::{Object, Recorded, State, Store as _, Write};
use fleet_store::{Database, Summary};

use super::chosen;
use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::memory::{self, LockArgs};
use crate::{Env, Exit, Failure};

/// Let a machine go as it is
///
/// Takes a machine out of the state without touching what runs on it: its ledger and its inventory are removed, and
/// everything that is recorded on it is forgotten. What fleet made there stays, and is nobody's. Then the machine is free:
/// as long as its slot is declared, the next apply takes it or another one for it.
///
/// Shows what will be forgotten, and asks. Only the holder can let a machine go: a ledger of another claim is left alone,
/// and then nothing is forgotten. For a machine that does not answer any more there is `fleet state rm`.
///
/// Examples:
///   fleet host detach 'runners["c"]'
///   fleet host detach mini-a --yes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DetachArgs {
    /// The slot, such as `runners[0]`, the name of the host, or its machine
    #[arg(value_name = "HOST")]
    host: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn detach(env: &mut Env, args: &DetachArgs) -> Result<Exit, Failure> {
    let hosts = HostArgs::default();
    let Some(site) = Site::open(env, &args.variables, Purpose::Plan, hosts)? else { return Ok(Exit::Failed) };
    let database = site.runtime.block_on(memory::open(env, &site.place, "fleet host detach", args.lock))?;
    let exit = detach_from(env, &site, &database, args);
    site.close();
    let closed = site.runtime.block_on(database.close(Summary::default()));
    let exit = exit?;
    closed.map_err(|error| memory::unclosed(&error))?;
    Ok(exit)
}

fn detach_from(env: &mut Env, site: &Site, database: &Database, args: &DetachArgs) -> Result<Exit, Failure> {
    let state = site.runtime.block_on(database.read()).map_err(|e| memory::failure(&e))?;
    let host = chosen::recorded(&state, &args.host)?;
    let record = state.recorded.get(&host).expect("it was chosen from there");
    let machine = record.session.alias.as_deref().unwrap_or("unknown").to_owned();
    let settings = match site.way_to(&state, &host.scope.to_string())? {
        Ok(settings) => settings,
        Err(problems) => {
            site.tell(env, &problems)?;
            return Ok(Exit::Failed);
        }
    };
    let reach = Reach::of(&settings).map_err(|e| unreached(&e))?;
    let objects = on(&state, &record.session);
    writeln!(env.stdout, "{} lets `{machine}` go as it is, and forgets:", host.scope)?;
    for object in &objects {
        writeln!(env.stdout, "  {object}")?;
    }
    if !args.yes && !env.ask("Let it go? What is on it stays, and is nobody's.")? {
        let failure = Failure::new("not approved, nothing was done");
        return Err(failure.help("answer `yes`, or use `--yes`"));
    }
    let lineage = state.lineage.as_deref().unwrap_or_default().to_owned();
    let holder = Holder { lineage, fence: database.fence(), by: database.holder().to_string() };
    let work = Work { steps: vec![Step::new(Act::Release(claim(&host, record)))], ..Work::default() };
    let writer = site.channels.writer(&reach, &holder);
    site.runtime.block_on(writer.work(work)).map_err(|e| unreached(&e))?;
    // Once the ledger is gone nothing on the machine is ours. What is cut off here goes on when it is said again.
    let writes = objects.into_iter().map(|object| Write::Settle { object, recorded: None });
    let writes = futures_util::future::join_all(writes.map(|write| database.write(write)));
    let written: Result<Vec<()>, _> = site.runtime.block_on(writes).into_iter().collect();
    written.map_err(|e| memory::stopped(&e))?;
    writeln!(env.stdout, "`{machine}` is nobody's now. What was made there stays.")?;
    Ok(Exit::Done)
}

/// The very claim that is recorded.
fn claim(host: &Address, record: &Recorded) -> Claim {
    let text = |name: &str| get(&record.value, name).as_str().map(str::to_owned);
    let ledger = text("ledger").unwrap_or_else(|| fleet_engine::host::ledger::PATH.to_owned());
    Claim { ledger, slot: host.scope.to_string(), mark: text("claim").map(Mark::named) }
}

/// Everything that is remembered on a machine, the host itself last.
fn on(state: &State, session: &Session) -> Vec<Object> {
    let current = state.recorded.iter().filter(|(_, record)| record.session == *session);
    let current = current.map(|(address, _)| Object::current(address.clone()));
    let older = state.deposed.iter().flat_map(|(address, older)| {
        let here = older.iter().filter(|(_, record)| record.session == *session);
        here.map(|(number, _)| Object { address: address.clone(), deposed: Some(*number) })
    });
    let begun = state.intents.iter().filter(|(_, intent)| intent.record.session == *session);
    let begun = begun.map(|(object, _)| object.clone());
    let mut objects: Vec<Object> = current.chain(older).chain(begun).collect();
    objects.sort_by_key(|object| (object.address.item == fleet_engine::address::Item::Host, object.clone()));
    objects.dedup();
    objects
}

fn unreached(error: &Error) -> Failure {
    let failure = Failure::of("the machine was not let go, nothing was forgotten", error);
    match &error.help {
        Some(help) => failure.help(help.clone()),
        None => failure.help("if it is lost for good, `fleet state rm` forgets what was on it"),
    }
}
