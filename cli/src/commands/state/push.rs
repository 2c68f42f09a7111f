//! `fleet state push`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use fleet_engine::state::State;
use fleet_store::{Document, Mismatch};

use crate::configuration::VariableArgs;
use crate::memory::{self, LockArgs, Memory};
use crate::{Env, Exit, Failure};

/// Put a state in the place of the one that is there
///
/// Takes what `fleet state pull` wrote. It must be a later version of the state that is there, told by lineage and serial
/// number, unless nothing is there yet. All of it takes its place in one step, or nothing does.
///
/// Examples:
///   fleet state push mended.json
///   fleet state push --force before.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PushArgs {
    /// The document; `-` reads standard input
    file: PathBuf,
    /// Also if it is of another state, or older than what is there, which is lost then
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn push(env: &mut Env, args: &PushArgs) -> Result<Exit, Failure> {
    let name = args.file.display();
    let text = read(env, &args.file)
        .map_err(|error| Failure::of(format!("`{name}` cannot be read, nothing was done"), &error))?;
    let mut document = Document::parse(&text).map_err(|error| {
        Failure::of(format!("`{name}` is refused, nothing was done"), &error)
            .help("push what `fleet state pull` wrote")
    })?;
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let database = memory.open(env, "fleet state push", args.lock)?;
    let current = memory.read_locked(&database)?;
    match document.check(&current) {
        Err(mismatch) if !args.force => return Err(refused(&mismatch)),
        // Serial numbers never go back, so that nobody takes an older state for a newer one.
        Err(_) => document.state.serial = document.state.serial.max(current.serial + 1),
        Ok(()) => {}
    }
    let (resources, serial) = (count(&document.state), document.state.serial);
    memory.runtime.block_on(database.replace(document)).map_err(|e| memory::failure(&e))?;
    memory.close(database)?;
    writeln!(env.stdout, "Pushed: the state has {resources} and serial number {serial}.")?;
    Ok(Exit::Done)
}

/// How much a state holds, in words.
pub(super) fn count(state: &State) -> String {
    match state.recorded.len() + state.deposed.values().map(BTreeMap::len).sum::<usize>() {
        1 => "1 resource".to_owned(),
        n => format!("{n} resources"),
    }
}

fn read(env: &mut Env, file: &Path) -> std::io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        return env.stdin.read_to_string(&mut text).map(|_| text);
    }
    fs::read_to_string(env.path(file))
}

fn refused(mismatch: &Mismatch) -> Failure {
    let failure = Failure::new(format!("{mismatch}; nothing was done"));
    match mismatch {
        Mismatch::Lineage => {
            failure.help("see that this is the right configuration; `--force` puts it there nevertheless")
        }
        Mismatch::Older { .. } | Mismatch::SameSerial(_) => failure.help(
            "pull again, and change that; `--force` puts it there nevertheless, and what changed since is lost",
        ),
    }
}
