//! `fleet state mv`.

use std::sync::Arc;

use fleet_engine::address::{Address, Item, Key, ScopePath, ScopeStep, Target};
use fleet_engine::state::{Object, Recorded, State, Write};

use super::chosen::{addresses, nothing, target};
use crate::configuration::VariableArgs;
use crate::memory::{LockArgs, Memory};
use crate::{Env, Exit, Failure};

/// Give things that are recorded another address
///
/// Use it when a block was renamed or moved to another module and what it made is to be kept. Nothing but the state is
/// changed. A block without a key means all its instances, which keep their keys; a module means all that is in it. A
/// `moved` block does the same as a part of a plan, for everybody who shares the configuration.
///
/// Examples:
///   fleet state mv core_file.a core_file.b
///   fleet state mv core_file.a 'core_file.note["a"]'
///   fleet state mv module.web module.frontend --dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct MvArgs {
    /// The address they have
    from: String,
    /// The address they get
    to: String,
    /// Say what would be moved, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

/// Old and new address of one thing.
type Renamed = (Address, Address);

pub(super) fn mv(env: &mut Env, args: &MvArgs) -> Result<Exit, Failure> {
    let (from, to) = (target(&args.from)?, target(&args.to)?);
    fits(&from, &to)?;
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let mut database = None;
    let state = if args.dry_run {
        memory.read()?
    } else {
        memory.read_locked(database.insert(memory.open(env, "fleet state mv", args.lock)?))?
    };
    let renamed = renamed(&state, &from, &to)?;
    if let Some(database) = database {
        memory.write_all(&database, writes(&state, &renamed, &from, &to))?;
        memory.close(database)?;
    }
    let word = if args.dry_run { "would be moved" } else { "moved" };
    for (from, to) in &renamed {
        writeln!(env.stdout, "{from} → {to}: {word}")?;
    }
    Ok(Exit::Done)
}

/// Whether the one can become the other at all.
fn fits(from: &Target, to: &Target) -> Result<(), Failure> {
    let refuse = |summary: String, help: String| Err(Failure::new(summary + "; nothing was done").help(help));
    if from == to {
        return refuse(format!("both addresses are `{from}`"), "give two that differ".into());
    }
    match (&from.item, &to.item) {
        (Some(Item::Resource(old, _)), Some(Item::Resource(new, _))) if old != new => refuse(
            format!("a `{old}` cannot become a `{new}`"),
            "forget the one with `fleet state rm`, and import the other".into(),
        ),
        (Some(Item::Resource(..)), Some(Item::Resource(..))) | (Some(Item::Host), Some(Item::Host)) => Ok(()),
        (None, None) => match (from.scope.steps().last(), to.scope.steps().last()) {
            (Some(ScopeStep::Module(..)), Some(ScopeStep::Module(..)))
            | (Some(ScopeStep::Fleet(..)), Some(ScopeStep::Fleet(..))) => Ok(()),
            _ => refuse(
                format!("`{from}` and `{to}` are of different sorts"),
                "move modules to modules".into(),
            ),
        },
        (Some(item), None) => refuse(
            format!("`{from}` is one thing, and `{to}` a whole module"),
            format!("write `{}`", to.scope.name(item)),
        ),
        _ => refuse(
            format!("`{from}` cannot be moved to `{to}`"),
            "move resources to resources, and modules to modules".into(),
        ),
    }
}

/// What gets which address.
fn renamed(state: &State, from: &Target, to: &Target) -> Result<Vec<Renamed>, Failure> {
    let known = addresses(state);
    let new = |address: &Address| {
        let Target { scope, item, key } = rename(&exactly(address), from, to)?;
        Some((address.clone(), Address { scope, item: item?, key }))
    };
    let renamed: Vec<Renamed> = known.iter().filter_map(new).collect();
    if renamed.is_empty() {
        return Err(nothing(from, state));
    }
    if let Some((_, taken)) = renamed.iter().find(|(_, to)| known.contains(to)) {
        let failure = Failure::new(format!("`{taken}` is in the state already; nothing was done"));
        return Err(failure.help("choose another address, or forget that one first: `fleet state rm`"));
    }
    Ok(renamed)
}

/// The writes that it takes: new addresses, and dependencies that follow them.
fn writes(state: &State, renamed: &[Renamed], from: &Target, to: &Target) -> Vec<Write> {
    let moves = renamed.iter().map(|(from, to)| Write::Move { from: from.clone(), to: to.clone() });
    let follows = |address: &Address, deposed: Option<u32>, record: &Recorded| {
        let depends_on: Arc<[Target]> =
            record.depends_on.iter().map(|on| rename(on, from, to).unwrap_or_else(|| on.clone())).collect();
        // Something that was begun is looked at first; what it depends on is recorded anew with it.
        let is_open = state.intents.contains_key(&Object { address: address.clone(), deposed });
        if depends_on == record.depends_on || is_open {
            return None;
        }
        let new = renamed.iter().find(|(old, _)| old == address).map_or(address, |(_, new)| new);
        let object = Object { address: new.clone(), deposed };
        Some(Write::Settle { object, recorded: Some(Recorded { depends_on, ..record.clone() }) })
    };
    let current = state.recorded.iter().filter_map(|(address, record)| follows(address, None, record));
    let older = state.deposed.iter().flat_map(|(address, numbers)| {
        numbers.iter().filter_map(|(number, record)| follows(address, Some(*number), record))
    });
    moves.chain(current).chain(older).collect()
}

/// The new name of something, if it is meant.
fn rename(name: &Target, from: &Target, to: &Target) -> Option<Target> {
    let (ours, theirs) = (from.scope.steps(), name.scope.steps());
    let Some(item) = &from.item else {
        let (last, around) = ours.split_last()?;
        let (before, rest) = theirs.split_at_checked(ours.len())?;
        let (found, above) = before.split_last()?;
        let (new, new_around) = to.scope.steps().split_last()?;
        if above != around || name_of(found) != name_of(last) {
            return None;
        }
        let key = key(key_of(last), key_of(found), key_of(new))?;
        let steps = new_around.iter().cloned().chain([with_key(new, key)]).chain(rest.iter().cloned());
        let scope = steps.fold(ScopePath::default(), |scope, step| scope.join(step));
        return Some(Target { scope, ..name.clone() });
    };
    if ours != theirs || name.item.as_ref() != Some(item) {
        return None;
    }
    let key = key(from.key.as_ref(), name.key.as_ref(), to.key.as_ref())?;
    Some(Target { key, ..to.clone() })
}

/// The key of the new name; none if something else is meant.
fn key(from: Option<&Key>, found: Option<&Key>, to: Option<&Key>) -> Option<Option<Key>> {
    match (from, found, to) {
        (Some(from), Some(found), to) if from == found => Some(to.cloned()),
        (Some(_), ..) => None,
        (None, None, to) => Some(to.cloned()),
        (None, Some(found), None) => Some(Some(found.clone())),
        // All instances cannot become one.
        (None, Some(_), Some(_)) => None,
    }
}

fn exactly(address: &Address) -> Target {
    Target { scope: address.scope.clone(), item: Some(address.item.clone()), key: address.key.clone() }
}

fn name_of(step: &ScopeStep) -> (bool, &str) {
    match step {
        ScopeStep::Module(name, _) => (true, name),
        ScopeStep::Fleet(name, _) => (false, name),
    }
}

fn key_of(step: &ScopeStep) -> Option<&Key> {
    match step {
        ScopeStep::Module(_, key) | ScopeStep::Fleet(_, key) => key.as_ref(),
    }
}

fn with_key(step: &ScopeStep, key: Option<Key>) -> ScopeStep {
    match step {
        ScopeStep::Module(name, _) => ScopeStep::Module(name.clone(), key),
        ScopeStep::Fleet(name, _) => ScopeStep::Fleet(name.clone(), key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_what_is_moved() {
        let check = |from: &str, to: &str, name: &str, expected: Option<&str>| {
            let [from, to, name] = [from, to, name].map(|text| Target::parse(text).unwrap());
            let found = rename(&name, &from, &to).map(|name| name.to_string());
            assert_eq!(found.as_deref(), expected, "{name} with {from} → {to}");
        };
        check("k.a", "k.b", "k.a", Some("k.b"));
        check("k.a", "k.b", "k.a[1]", Some("k.b[1]"));
        check("k.a", "k.b[\"x\"]", "k.a", Some("k.b[\"x\"]"));
        check("k.a", "k.b[\"x\"]", "k.a[1]", None);
        check("k.a[1]", "k.b", "k.a[1]", Some("k.b"));
        check("k.a[1]", "k.b", "k.a[2]", None);
        check("k.a[1]", "k.b", "k.a", None);
        check("k.a", "module.m.k.a", "k.a[1]", Some("module.m.k.a[1]"));
        check("k.a", "k.b", "module.m.k.a", None);
        check("k.a", "k.b", "k.aa", None);
        check("module.m", "module.n", "module.m.k.a", Some("module.n.k.a"));
        check("module.m", "module.n", "module.m[0].k.a", Some("module.n[0].k.a"));
        check("module.m[0]", "module.n", "module.m[0].module.x.k.a", Some("module.n.module.x.k.a"));
        check("module.m[0]", "module.n", "module.m[1].k.a", None);
        check("module.m", "module.n[0]", "module.m[1].k.a", None);
        check("module.m", "module.o.module.m", "module.m.k.a", Some("module.o.module.m.k.a"));
        check("module.m", "module.n", "module.x.module.m.k.a", None);
        check("module.m", "module.n", "fleet.m.k.a", None);
    }
}
