//! `fleet state migrate`.

use fleet_engine::state::State;
use fleet_store::{Backend, Document};

use super::push::count;
use crate::configuration::VariableArgs;
use crate::memory::{self, LockArgs, Memory};
use crate::{Env, Exit, Failure};

/// Bring the state over from where it was kept before
///
/// Change `backend` in the settings first; then this copies the state from the old place to the new one, which must be
/// empty, and reads it back. The old one is left as it is. The history stays there, too.
///
/// A PostgreSQL database has a password in its address, so the address itself is no argument: `--from-url` says where to
/// get it, as `from` of a `secret` does. Without it, the state comes from another name in the configured database.
///
/// Examples:
///   fleet state migrate --from sqlite:.fleet/state.db
///   fleet state migrate --from postgres:runners --from-url env:OLD_DATABASE_URL
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct MigrateArgs {
    /// The old place: `sqlite:PATH`, or `postgres:NAME`
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// Where to get the address of the old database, such as `env:OLD_DATABASE_URL`
    #[arg(long, value_name = "SOURCE")]
    from_url: Option<String>,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn migrate(env: &mut Env, args: &MigrateArgs) -> Result<Exit, Failure> {
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let source = source(env, &memory, args)?;
    let target = &memory.place.backend;
    if source == *target {
        let failure =
            Failure::new(format!("{target} is where the settings have it already; nothing was done"));
        return Err(
            failure.help("change `backend` in the settings first, then say where the state was before")
        );
    }
    let document = idle(&memory, &source)?;
    let database = memory.open(env, "fleet state migrate", args.lock)?;
    let there = memory.read_locked(&database)?;
    if !is_empty(&there) {
        let held = count(&there);
        let failure = Failure::new(format!("{target} is not empty, it has {held}; nothing was done"));
        return Err(failure
            .help("to put one state in the place of another use `fleet state pull` and `push --force`"));
    }
    memory.runtime.block_on(database.replace(document.clone())).map_err(|e| memory::failure(&e))?;
    let copied = memory.read_locked(&database)?;
    if copied != document.state {
        let failure = Failure::new(format!("{target} does not read back as it was in {source}"));
        return Err(failure.help("nothing is lost, the old state is as it was; please report this"));
    }
    memory.close(database)?;
    if idle(&memory, &source)?.state.serial != document.state.serial {
        let failure = Failure::new(format!("{source} was changed while it was copied"));
        return Err(failure
            .help("see that nobody uses it any more, then bring the rest over: `fleet state push --force`"));
    }
    let held = count(&document.state);
    writeln!(env.stdout, "Copied {held} from {source} to {target}; the old state is left as it is.")?;
    Ok(Exit::Done)
}

/// The place that the state comes from.
fn source(env: &Env, memory: &Memory, args: &MigrateArgs) -> Result<Backend, Failure> {
    let unclear = || {
        Failure::new(format!("`{}` does not say where the state was", args.from))
            .help("write `sqlite:PATH`, or `postgres:NAME` with `--from-url env:OLD_DATABASE_URL`")
    };
    match args.from.split_once(':') {
        Some(("sqlite", path)) if !path.is_empty() && args.from_url.is_none() => {
            Ok(Backend::Sqlite(env.cwd.join(path)))
        }
        Some(("postgres", name)) if !name.is_empty() && !name.starts_with("//") => {
            let url = match (&args.from_url, &memory.place.backend) {
                (Some(from), _) => memory.secret(from)?.trim().to_owned(),
                (None, Backend::Postgres { url, .. }) => url.clone(),
                (None, Backend::Sqlite(_)) => return Err(unclear()),
            };
            Ok(Backend::Postgres { url, name: name.to_owned(), recovery: env.cwd.join(".fleet") })
        }
        _ => Err(unclear()),
    }
}

/// The state of a place where nobody writes.
fn idle(memory: &Memory, source: &Backend) -> Result<Document, Failure> {
    let read = async {
        let lease = fleet_store::lock_status(source).await?;
        Ok((lease, Document::read(source).await?))
    };
    let (lease, document) = memory.runtime.block_on(read).map_err(|e| memory::failure(&e))?;
    if let Some(lease) = lease.filter(|lease| !lease.expired) {
        let failure = Failure::new(format!("{source} is in use by {}; nothing was done", lease.holder));
        return Err(failure.help(
            "wait until that run has ended, and see that nobody starts another there; the lock of one that died runs out \
             within a minute",
        ));
    }
    if document.state.lineage.is_none() {
        let failure = Failure::new(format!("there is nothing in {source}; nothing was done"));
        return Err(failure.help("`--from` is where the state was kept before the settings were changed"));
    }
    Ok(document)
}

/// Whether nothing is remembered.
pub(super) fn is_empty(state: &State) -> bool {
    let State { recorded, deposed, intents, outputs, marks, .. } = state;
    let is_settled = recorded.is_empty() && deposed.is_empty() && intents.is_empty();
    is_settled && outputs.is_empty() && marks.is_empty()
}
