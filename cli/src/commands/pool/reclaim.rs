//! `fleet pool reclaim`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use fleet_engine::address::{Address, Key, ScopePath};
use fleet_engine::clock::Clock as _;
use fleet_engine::diff::get;
use fleet_engine::event::Wait;
use fleet_engine::host::Holder;
use fleet_engine::plan::Way;
use fleet_engine::pool::Remedy;
use fleet_engine::provider::{Journal, Session};
use fleet_engine::resource::{BoxFuture, Error};
use fleet_engine::schema::{Catalog as _, Sort};
use fleet_engine::state::{Object, Recorded, State, Store as _, Write};
use fleet_lang::Value;
use fleet_store::{Database, Summary};

use super::survey::{Row, Survey, now, random, survey};
use crate::clock::Stopwatch;
use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::memory::{self, LockArgs};
use crate::{Env, Exit, Failure};

/// Free servers that were left behind
///
/// Some servers do not become free by themselves: a claim that was begun and never ended, ours or one that is older than
/// any claim may be, and a server that somebody gave back and did not name free. `fleet pool list` says which they are.
/// They are freed through the protocol of docs/pool.md, after a question: what is done is written down first, and if it is
/// cut off, `fleet apply` goes on with it. No other server is touched, whatever is named here.
///
/// Examples:
///   fleet pool reclaim
///   fleet pool reclaim pool-0b1c --yes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReclaimArgs {
    /// Only these, by name or by what the vendor calls them; all that can be freed if none is named
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Do not ask
    #[arg(long, alias = "auto-approve")]
    yes: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn reclaim(env: &mut Env, args: &ReclaimArgs) -> Result<Exit, Failure> {
    let opened = Site::open(env, &args.variables, Purpose::Apply, args.hosts)?;
    let Some(site) = opened else { return Ok(Exit::Failed) };
    let database = site.runtime.block_on(memory::open(env, &site.place, "fleet pool reclaim", args.lock))?;
    let exit = reclaim_all(env, &site, &database, args);
    site.close();
    let closed = site.runtime.block_on(database.close(Summary::default()));
    let exit = exit?;
    closed.map_err(|error| memory::unclosed(&error))?;
    Ok(exit)
}

fn reclaim_all(env: &mut Env, site: &Site, database: &Database, args: &ReclaimArgs) -> Result<Exit, Failure> {
    let state = site.runtime.block_on(database.read()).map_err(|e| memory::failure(&e))?;
    let Some(Survey { rows, ways, .. }) = survey(env, site, &state)? else { return Ok(Exit::Failed) };
    let chosen = chosen(&rows, &args.servers)?;
    if chosen.is_empty() {
        writeln!(env.stdout, "No server was left behind.")?;
        return Ok(Exit::Done);
    }
    writeln!(env.stdout, "These servers are taken over from whoever left them, and freed:")?;
    for (row, _) in &chosen {
        writeln!(env.stdout, "  {} ({}): {}", row.name, row.id, row.why)?;
    }
    if !args.yes && !env.ask("Free them?")? {
        return Err(Failure::new("not approved, nothing was done").help("answer `yes`, or use `--yes`"));
    }
    let lineage = state.lineage.as_deref().unwrap_or_default().to_owned();
    let holder = Holder { lineage, fence: database.fence(), by: database.holder().to_string() };
    let mut exit = Exit::Done;
    for (row, remedy) in chosen {
        let to_vendor = |way: &&Way| *way.pool == *row.pool && way.machine.is_none();
        let Some(way) = ways.iter().find(to_vendor) else { continue };
        let slot = ScopePath::of_slot(way.fleet.clone(), Key::Text(row.id.as_str().into()));
        let notes = Notes::new(site, database, &state, way, &slot);
        let freed = site.providers.reclaim(way, &holder, &slot, (&row.id, remedy), &notes);
        let freed = site.runtime.block_on(async {
            let freed = freed.await?;
            notes.close().await.map(|()| freed)
        });
        let name = &row.name;
        match freed {
            Ok(true) => writeln!(env.stdout, "{name}: free")?,
            Ok(false) => writeln!(env.stdout, "{name}: somebody else was faster, nothing was left to do")?,
            Err(error) => {
                exit = Exit::Failed;
                let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
                writeln!(env.stderr, "{name}: not freed: {error}{help}")?;
            }
        }
    }
    Ok(exit)
}

/// The servers that may be freed, of those that somebody named.
fn chosen<'r>(rows: &'r [Row], named: &[String]) -> Result<Vec<(&'r Row, &'r Remedy)>, Failure> {
    for name in named {
        let mut meant = rows.iter().filter(|row| row.id == *name || row.name == *name);
        let Some(row) = meant.next() else {
            let failure = Failure::new(format!("no server is called `{name}`; nothing was done"));
            return Err(failure.help("`fleet pool list` names all of them"));
        };
        if let Some(other) = meant.next() {
            let failure =
                Failure::new(format!("`{name}` may be {} or {}; nothing was done", row.id, other.id));
            return Err(failure.help("name it by its id"));
        }
        if !matches!(row.remedy, Some(Remedy::Reclaim(_) | Remedy::Finish(_))) {
            let (class, why) = (row.class, &row.why);
            let failure = Failure::new(format!("`{name}` is {class}: {why}; nothing was done"));
            return Err(failure.help("only what was certainly left behind is freed"));
        }
    }
    let is_named = |row: &&Row| named.is_empty() || named.contains(&row.id) || named.contains(&row.name);
    let remedied = rows.iter().filter(is_named).filter_map(|row| Some((row, row.remedy.as_ref()?)));
    Ok(remedied.filter(|(_, remedy)| **remedy != Remedy::Decide).collect())
}

/// What is noted while a server is freed stands in the state as a host that its slot has no use for any more, so that the next
/// apply goes on with it.
struct Notes<'a> {
    clock: Stopwatch,
    database: &'a Database,
    object: Object,
    record: Recorded,
}

impl<'a> Notes<'a> {
    fn new(site: &Site, database: &'a Database, state: &State, way: &Way, slot: &ScopePath) -> Notes<'a> {
        let address = Address::host_of(slot.clone());
        let numbers = state.deposed.get(&address).and_then(|older| older.keys().last());
        let number = numbers.map_or(1, |last| last + 1);
        let pool = way.settings.as_ref().map(|settings| get(settings, "pool")).unwrap_or_else(Value::null);
        let kind = format!("{}_host", get(&pool, "provider").as_str().unwrap_or_default());
        let version = site.providers.find(Sort::Resource, &kind).map_or(0, |entry| entry.version);
        let record = Recorded {
            session: Session::on_host(slot.clone(), None),
            kind: kind.into(),
            version,
            value: Value::null(),
            sealed: BTreeMap::new(),
            depends_on: [].into(),
            create_before_destroy: false,
            epoch: None,
        };
        Notes { clock: site.clock, database, object: Object { address, deposed: Some(number) }, record }
    }

    async fn write(&self, recorded: Option<Recorded>) -> Result<(), Error> {
        let written = self.database.write(Write::Settle { object: self.object.clone(), recorded }).await;
        written.map_err(|error| Error::permanent(format!("it cannot be noted: {error}")))
    }

    /// Nothing is left to do.
    async fn close(&self) -> Result<(), Error> {
        self.write(None).await
    }
}

impl Journal for Notes<'_> {
    fn note(&self, value: Value) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let mut record = self.record.clone();
            record.session.alias = get(&value, "machine").as_str().map(Into::into);
            record.value = value;
            self.write(Some(record)).await
        })
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn wait(&self, until: Duration, _: Wait) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            while let Some(left) = until.checked_sub(self.now()).filter(|left| !left.is_zero()) {
                self.clock.sleep(left).await;
            }
        })
    }

    fn date(&self) -> u64 {
        now()
    }

    fn random(&self) -> String {
        random()
    }
}
