//! The whole of planning: walk, look, walk again, finish, check.

use std::collections::{BTreeMap, BTreeSet};

use fleet_lang::Value;
use fleet_syntax::diagnostic::has_errors;
use fleet_syntax::{Diagnostic, Diagnostics, Severity};

use foldhash::{HashMap, HashSet};

use super::apart::{explain, left_as_they_are, set_apart, without};
use super::begun::settle;
use super::choose::choose;
use super::compare::{Planner, Shadow};
use super::findings::{detected, with_cures};
use super::hosts::with_hosts;
use super::later::leave_to_later;
use super::look::Looker;
use super::moves::{self, apply_moves};
use super::rehearse::rehearse;
use super::unconfirmed::{self, look_until_undone};
use super::{Action, Goal, Options, Plan, Step};
use crate::address::{Address, Item, ScopePath, Target};
use crate::check;
use crate::clock::Clock;
use crate::config::model::Config;
use crate::diff::get;
use crate::event::Listener;
use crate::expand::{ArgumentsOnly, Expansion, Imported, Memory, Surroundings, expand};
use crate::graph::{self, Graph};
use crate::host::inventory;
use crate::observe::{Observed, Subject, SubjectOf, Which, observe};
use crate::outline::Outline;
use crate::provider::{Readers, Session};
use crate::resource::Disruption;
use crate::schema::{Catalog, Sort};
use crate::seal::Sealer;
use crate::state::{Object, Recorded, State, Write};

/// What planning works with. Nothing in it can write.
pub struct Sources<'a, 'c> {
    /// The configuration.
    pub config: &'c Config,
    /// What its expressions see.
    pub surroundings: &'a Surroundings<'a>,
    /// The way to reality.
    pub readers: &'a dyn Readers,
    /// Makes digests of what is sensitive.
    pub sealer: &'a Sealer,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Hears what is looked at.
    pub listener: &'a dyn Listener,
}

/// A plan with what it was made of.
pub struct Planned<'c> {
    /// The plan.
    pub plan: Plan,
    /// What the configuration stands for, results planned.
    pub expansion: Expansion<'c>,
    /// The same with placeholders for secrets, if there are any.
    pub shadow: Option<Expansion<'c>>,
    /// Who depends on whom.
    pub graph: Graph,
    /// The state that it starts from, with everything that moved at its new address, and all that earlier runs had begun
    /// and that is there.
    pub state: State,
    /// What is to be written down of that before anything is done.
    pub settled: Vec<Write>,
    /// What was seen.
    pub observed: Observed,
    /// The settings of the provider configurations that were asked, as they are until something is done.
    pub settings: Settings,
    /// What should be told, but does not stop anything.
    pub warnings: Diagnostics,
}

/// The settings of provider configurations.
pub type Settings = BTreeMap<Session, Value>;

/// The records by their addresses, for those who ask for very many of them.
pub(super) type Index<'a> = HashMap<&'a Address, &'a Recorded>;

/// So many directories that stand for roots of hosts are named.
const MOST_ROOTS: usize = 4;

/// More rounds of looking than this are surely a circle.
const MOST_ROUNDS: usize = 20;

/// Compares the configuration, the state and reality.
pub async fn plan<'c>(
    sources: &Sources<'_, 'c>,
    mut state: State,
    options: &Options,
) -> Result<Planned<'c>, Diagnostics> {
    let serial = state.serial;
    let outline = Outline::of(sources.config, sources.surroundings.catalog);
    let moves = apply_moves(&outline.scopes, &mut state);
    let memory = Memory::of(&state, options, &BTreeSet::new());
    let index: Index<'_> = state.recorded.iter().collect();
    let nothing = Observed::default();
    let looker = Looker::new(&state, &index, sources.readers, options, &memory, &nothing);
    let options = with_hosts(options, &outline, sources.surroundings, looker)?;
    let apart = set_apart(&state, &options);
    let options = without(options, &apart);
    let options = &*options;
    drop(index);
    let looked = look_until_undone(sources, &outline, &mut state, options, memory).await?;
    let Looked { mut observed, settings, imports, rounds, again, memory } = looked;
    unconfirmed::leave_alone(&mut observed);
    let found_roots = found_roots(sources.readers, &settings).await;
    let settled = settle(&mut state, &mut observed, sources.surroundings.catalog, sources.sealer);
    // All of that is still to be written.
    state.serial = serial;
    let index: Index<'_> = state.recorded.iter().collect();
    let planner = |shadow| Planner {
        state: &state,
        index: &index,
        observed: &observed,
        readers: sources.readers,
        options,
        memory: &memory,
        sealer: sources.sealer,
        moves: &moves,
        settled: &settled.writes,
        shadow,
        imports: imports.clone(),
        plan: Plan { extra_rounds: rounds.saturating_sub(1), ..Plan::default() },
        diagnostics: Diagnostics::new(),
        blocked: BTreeMap::new(),
        changing: HashSet::default(),
        stocks: BTreeMap::new(),
        rooted: HashSet::default(),
    };
    let shadow = (!sources.config.root().secrets.is_empty()).then(|| {
        let surroundings = sources.surroundings.with_placeholders();
        expand(&outline, &surroundings, &mut planner(Shadow::This)).0
    });
    let mut planner = planner(shadow.as_ref().map_or(Shadow::None, Shadow::Of));
    let (expansion, mut problems) = expand(&outline, sources.surroundings, &mut planner);
    let graph = graph::build(&expansion, sources.surroundings.outside);
    let (mut plan, blocked, more) = planner.finish(&expansion, &graph, sources.surroundings.catalog);
    if options.goal == Goal::Destroy {
        // What is wrong with values that nobody will make is of no interest; what cannot be seen is.
        problems.clear();
    }
    problems.extend(more);
    problems.extend(settled.problems);
    for target in choose(&mut plan, options, &blocked, &state, &expansion, &graph) {
        problems.push(unknown_target(&target.to_string()));
    }
    explain(&mut plan, &apart);
    if !has_errors(&problems) {
        problems.extend(rehearse(&plan, sources.readers, &settings, sources.surroundings.catalog).await);
    }
    let busy = busy(&plan, &observed, sources.readers, sources.surroundings.catalog);
    plan.notes = notes(&plan, &expansion, found_roots, sources.surroundings.catalog);
    let undone = unconfirmed::undone(&plan, &observed);
    plan.notes.extend(busy.into_iter().chain(undone));
    plan.standing = again.into_iter().chain(left_as_they_are(&state)).collect();
    leave_to_later(&mut plan, &state, &expansion, &graph);
    plan.findings = with_cures(detected(&observed, sources.readers, sources.surroundings.catalog), &plan);
    let again = options.imports.iter().filter(|import| state.recorded.contains_key(&import.to));
    problems.extend(again.map(|import| recorded_already(&import.to)));
    problems.extend(check::protected(&plan, &expansion));
    problems.extend(check::lint(&plan));
    if !options.ignore_rollout {
        problems.extend(check::all_at_once(&plan, &expansion, sources.readers));
    }
    if has_errors(&problems) {
        return Err(problems);
    }
    // What is left out keeps its old address, and what was begun there stays open.
    let is_named = |address: &Address| !moves.contains_key(address) || plan.steps.contains_key(address);
    let settled = settled.writes.into_iter().filter(|(address, _)| is_named(address));
    let settled = settled.map(|(_, write)| write).collect();
    Ok(Planned { plan, expansion, shadow, graph, state, settled, observed, settings, warnings: problems })
}

/// What was seen, and how.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) observed: Observed,
    pub(super) settings: Settings,
    /// What is taken in, by who takes it.
    imports: BTreeMap<Address, Imported>,
    pub(super) rounds: usize,
    /// Who was asked again, because the first answer was none.
    pub(super) again: Vec<String>,
    /// What is remembered of hosts, without claims that nothing came of.
    memory: Memory,
}

/// Looks at everything, in as many rounds as it takes. What only hosts know of is remembered from now on.
pub(super) async fn look(
    sources: &Sources<'_, '_>,
    outline: &Outline<'_>,
    state: &mut State,
    options: &Options,
    memory: Memory,
) -> Result<Looked, Diagnostics> {
    look_on(sources, outline, state, options, Looked { memory, ..Looked::default() }).await
}

/// Looks at everything that was not seen yet.
pub(super) async fn look_on(
    sources: &Sources<'_, '_>,
    outline: &Outline<'_>,
    state: &mut State,
    options: &Options,
    mut looked: Looked,
) -> Result<Looked, Diagnostics> {
    loop {
        let index: Index<'_> = state.recorded.iter().collect();
        let mut looker =
            Looker::new(state, &index, sources.readers, options, &looked.memory, &looked.observed);
        let (expansion, problems) = expand(outline, sources.surroundings, &mut looker);
        if has_errors(&problems) && options.goal != Goal::Destroy {
            // Records were believed so far; only what is wrong whatever is there can be said without looking.
            let (_, certain) = expand(outline, sources.surroundings, &mut ArgumentsOnly);
            if has_errors(&certain) {
                return Err(certain);
            }
        }
        let questions = looker.questions(&expansion, sources.surroundings.catalog);
        let imports = expansion.imports.iter().chain(&options.imports);
        looked.imports = imports.map(|import| (import.to.clone(), import.clone())).collect();
        if questions.is_empty() || looked.rounds == MOST_ROUNDS {
            return Ok(looked);
        }
        for question in questions.values() {
            if !looked.settings.contains_key(&question.session) {
                looked.settings.insert(question.session.clone(), question.settings.clone());
            }
        }
        let feeds = questions.keys().any(|subject| subject.which == Which::Data);
        let (seen, told) = observe(sources.readers, sources.clock, sources.listener, questions).await;
        looked.observed.extend(seen);
        looked.again.extend(told);
        looked.rounds += 1;
        let listed = only_listed(state, &looked.observed, &expansion);
        let memory = Memory::of(state, options, &in_vain(&looked.observed));
        let before = std::mem::replace(&mut looked.memory, memory);
        // Only what data, inventories and claims that nothing came of say can decide what else to look at.
        if !feeds && listed.is_empty() && looked.memory == before {
            return Ok(looked);
        }
        state.recorded.extend(listed);
    }
}

/// The slots whose claim was begun without anything having come of it.
fn in_vain(observed: &Observed) -> BTreeSet<ScopePath> {
    let is_host = |subject: &Subject| subject.address.item == Item::Host && subject.which == Which::Begun;
    let begun =
        observed.iter().filter(|(subject, sight)| is_host(subject) && matches!(sight.found, Ok(None)));
    begun.map(|(subject, _)| subject.address.scope.clone()).collect()
}

/// What hosts of ours list as managed, and what neither the state nor the configuration knows.
fn only_listed(state: &State, observed: &Observed, expansion: &Expansion<'_>) -> Vec<(Address, Recorded)> {
    let mut found = Vec::new();
    let lists = observed.iter().filter(|(subject, _)| subject.which == Which::Inventory);
    for (Subject { address: host, .. }, list) in lists {
        let sight = observed.get(&SubjectOf { address: host, which: Which::Recorded });
        let is_ours = sight.is_some_and(|sight| matches!(sight.found, Ok(Some(_))));
        let (Ok(Some(list)), Some(record), true) = (&list.found, state.recorded.get(host), is_ours) else {
            continue;
        };
        for known in inventory::known(get(list, "list").as_str().unwrap_or_default().as_bytes()) {
            let is_begun = state.intents.contains_key(&Object::current(known.address.clone()));
            let is_known = state.recorded.contains_key(&known.address) || is_begun;
            let is_here = known.address.scope.slot().as_ref() == Some(&host.scope);
            if is_here && !is_known {
                found.push((known, record.session.clone(), Target::from(host)));
            }
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let declared: BTreeSet<&Address> = expansion.instances.iter().map(|instance| &instance.address).collect();
    // What moved is listed where it was, until the move is applied.
    let is_elsewhere = |address: &Address| {
        let now = moves::now(&expansion.scopes, address);
        now.is_some_and(|now| declared.contains(&now) || state.recorded.contains_key(&now))
    };
    let is_left =
        |known: &inventory::Known| !declared.contains(&known.address) && !is_elsewhere(&known.address);
    let found = found.into_iter().filter(|(known, ..)| is_left(known));
    let recorded = found.map(|(inventory::Known { address, kind, version, value }, session, host)| {
        let record = Recorded {
            session,
            kind,
            version,
            value,
            sealed: BTreeMap::new(),
            depends_on: [host].into(),
            create_before_destroy: false,
            epoch: None,
        };
        (address, record)
    });
    recorded.collect()
}

/// What stood before every path on hosts that were looked at, as they said; those are left out where nothing did.
async fn found_roots(readers: &dyn Readers, settings: &Settings) -> Vec<(ScopePath, String)> {
    let mut roots = Vec::new();
    for (session, settings) in settings.iter().filter(|(session, _)| session.is_on_host()) {
        // Whoever cannot be connected to was not looked at either.
        let root = readers.reader(session, settings).await.map(|reader| reader.root()).unwrap_or_default();
        if !root.is_empty() {
            roots.push((session.scope.clone(), root));
        }
    }
    roots
}

/// What is to be known about how it was looked at: where paths lie that do not start at the root of their host, and which
/// kinds took scripts of the user.
fn notes(
    plan: &Plan,
    expansion: &Expansion<'_>,
    found_roots: Vec<(ScopePath, String)>,
    catalog: &dyn Catalog,
) -> Vec<String> {
    let mut notes = Vec::new();
    let mut roots: BTreeMap<String, BTreeSet<ScopePath>> = BTreeMap::new();
    let said = expansion.roots().map(|(session, root)| (session.scope.clone(), root));
    for (slot, root) in said.chain(found_roots) {
        roots.entry(root).or_default().insert(slot);
    }
    let others = roots.len().saturating_sub(MOST_ROOTS);
    for (root, slots) in roots.into_iter().take(MOST_ROOTS) {
        let more = if slots.len() > 1 { format!(" and {} more", slots.len() - 1) } else { String::new() };
        let slot = slots.first().map(ToString::to_string).unwrap_or_default();
        notes.push(format!("Paths on {slot}{more} lie under {root}."));
    }
    if others > 0 {
        notes.push(format!("Paths on other hosts lie under {others} more directories."));
    }
    let runs = |step: &&Step| {
        let entry = catalog.find(Sort::Resource, &step.record.kind);
        step.looked && entry.is_some_and(|entry| entry.runs_user_code)
    };
    match plan.steps.values().filter(runs).count() {
        0 => {}
        1 => notes.push("A script of yours was run to look; `--read-only` does without it.".into()),
        n => notes.push(format!("{n} scripts of yours were run to look; `--read-only` does without them.")),
    }
    notes
}

/// Hosts that something is to be done to while somebody's work runs there.
fn busy(plan: &Plan, observed: &Observed, readers: &dyn Readers, catalog: &dyn Catalog) -> Vec<String> {
    let seen = observed.iter().filter(|(subject, _)| subject.which == Which::Inventory);
    let told = seen.filter_map(|(Subject { address: host, .. }, sight)| {
        let work = inventory::busy(sight.found.as_ref().ok()?.as_ref()?).filter(|work| !work.is_empty())?;
        let older =
            plan.deposed.iter().flat_map(|(address, older)| older.values().map(move |step| (address, step)));
        let here = plan.steps.iter().chain(older);
        let here = here.filter(|(address, step)| {
            address.scope.slot().as_ref() == Some(&host.scope) && step.action.changes_the_world()
        });
        let disturbs = |(address, step): (&Address, &Step)| {
            check::gives_up_a_host(address, step) || check::disruption(step, readers) == Disruption::Host
        };
        let here: Vec<_> = here.collect();
        let is_disturbed = !here.is_empty() && here.iter().copied().any(disturbs);
        let waits = |(_, step): &&(&Address, &Step)| {
            matches!(step.action, Action::Destroy | Action::Replace { .. })
                && check::waits_for_work(step, catalog)
        };
        let who: Vec<String> = here.iter().filter(waits).map(|(address, _)| format!("`{address}`")).collect();
        let told = format!("{} is busy now: {}.", host.scope, work.join(", "));
        let ways = "`--when-busy wait` waits, `--when-busy proceed` does not care.";
        match (here.is_empty(), is_disturbed, who.is_empty()) {
            (true, ..) => None,
            (_, false, _) => Some(told),
            (_, true, true) => Some(format!("{told} Apply refuses to disturb it; {ways}")),
            (_, true, false) => Some(format!(
                "{told} It is waited for by {}; apply refuses to disturb what still runs then; {ways}",
                who.join(", ")
            )),
        }
    });
    told.collect()
}

fn recorded_already(address: &Address) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        summary: "recorded already".into(),
        detail: "The state knows what this is, and nothing else can be taken in for it.".into(),
        span: None,
        related: Vec::new(),
        address: Some(address.to_string()),
        help: Some(format!("`fleet state rm {address}` forgets it first, and leaves what is there alone")),
    }
}

fn unknown_target(target: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        summary: "unknown address".into(),
        detail: format!("Nothing that is declared or recorded is `{target}`."),
        span: None,
        related: Vec::new(),
        address: Some(target.to_owned()),
        help: Some("`fleet state list` prints what is recorded, `fleet graph` what is declared".into()),
    }
}
