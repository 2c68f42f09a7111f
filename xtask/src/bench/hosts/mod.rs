//! `cargo xtask bench hosts`: hosts behind real OpenSSH, beside Ansible, pyinfra and a script written by hand.
//!
//! 1. [`workload`]: what is done on every host, and the one judge of it
//! 2. [`farm`]: the hosts; [`accounts`] is what both ends cost
//! 3. [`tools`]: who does it
//! 4. [`table`]: what is published; [`goals`] is what it is held against
//! 5. [`afar`]: one host far away; [`local`]: many hosts on this machine, without OpenSSH

mod accounts;
mod afar;
mod farm;
mod goals;
mod local;
mod table;
mod tools;
mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use accounts::{Both, End, measure};
use farm::Farm;
use table::{Case, Results, Sample};
use tools::{Name, PHASES, Phase, Tool};

use super::report::publish;
use crate::Outcome;
use crate::run::cargo;

/// How much later everything arrives on a slow way, in each direction.
const DELAY: Duration = Duration::from_millis(20);

/// Ansible without mitogen is asked for so many hosts at most, near by.
const ANSIBLE: usize = 10;

/// Hosts over OpenSSH beside Ansible, pyinfra and a script written by hand
///
/// Each host is a real sshd on this machine. A repetition makes all hosts anew, lets every tool do all the work and then
/// nothing, one tool after the other, and checks what came of it. The median of the repetitions counts. Ansible,
/// mitogen and pyinfra are installed below target/bench; without Python they are left out.
#[derive(clap::Args)]
pub(crate) struct HostsArgs {
    /// How many repetitions there are
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// How many hosts there are
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 50])]
    hosts: Vec<usize>,
    /// How many hosts there are behind a slow way, of 20 ms in each direction
    #[arg(long, value_delimiter = ',', default_values_t = [10])]
    slow_hosts: Vec<usize>,
    /// How many hosts there are on this machine, without OpenSSH
    #[arg(long, value_delimiter = ',', default_values_t = [50, 100, 200])]
    local_hosts: Vec<usize>,
    /// The tools to be measured; all if none are named
    #[arg(long, value_delimiter = ',', value_enum)]
    tools: Vec<Name>,
    /// A tool that has taken so many seconds for some hosts is not asked again for those
    #[arg(long, default_value_t = 150)]
    budget: u64,
    /// How many seconds a step may take; one that takes longer is ended and said to
    #[arg(long, default_value_t = 900)]
    limit: u64,
    /// The Python that Ansible and pyinfra are installed with
    #[arg(long)]
    python: Option<String>,
    /// Measure target/release/fleet as it is
    #[arg(long)]
    no_build: bool,
    /// Print the result alone, and leave docs/benchmarks.md as it is
    #[arg(long)]
    print: bool,
}

const ALL: [Name; 7] =
    [Name::Fleet, Name::Floor, Name::FleetKept, Name::FloorUp, Name::Pyinfra, Name::Mitogen, Name::Ansible];

pub(crate) fn hosts(args: &HostsArgs) -> Outcome {
    if !args.no_build {
        cargo(&["build", "--release", "--locked", "--package", "fleet-cli"], &[])?;
    }
    let wanted: &[Name] = if args.tools.is_empty() { &ALL } else { &args.tools };
    let (mut names, mut versions, mut missing) = (Vec::new(), BTreeSet::new(), Vec::new());
    for name in wanted {
        match name.install(args.python.as_deref()) {
            Ok(version) => {
                names.push(*name);
                versions.insert(version);
            }
            Err(why) => missing.push(format!("{} is missing: {why}", name.title())),
        }
    }
    versions.retain(|version| !version.is_empty());
    let (limit, budget) = (Duration::from_secs(args.limit), Duration::from_secs(args.budget));
    let mut results = Results::new();
    let fast = args.hosts.iter().map(|hosts| Case { hosts: *hosts, delay: Duration::ZERO });
    let slow = args.slow_hosts.iter().map(|hosts| Case { hosts: *hosts, delay: DELAY });
    for case in fast.chain(slow) {
        // What a case of no hosts would say is nothing.
        if case.hosts > 0 {
            run_case(case, &names, args.runs, budget, limit, &mut results)?;
        }
    }
    let afar = afar::measure_all(args.runs)?;
    let local = local::measure_all(&args.local_hosts, args.runs.min(3))?;
    let section =
        table::section(args.runs, &results, &versions, &missing, &[afar::table(&afar), local::table(&local)]);
    if args.print {
        println!("{section}");
        return Ok(());
    }
    publish("hosts", &section)
}

/// Measures all tools on so many hosts.
fn run_case(
    case: Case,
    names: &[Name],
    runs: usize,
    budget: Duration,
    limit: Duration,
    results: &mut Results,
) -> Outcome {
    let mut farm = Farm::start(case.hosts, case.delay)?;
    let mut tools: Vec<(Name, Box<dyn Tool>)> = Vec::new();
    for name in names {
        tools.push((*name, name.prepare(&farm)?));
    }
    // It takes minutes where others take seconds, and more of that would say nothing new.
    if case.hosts > ANSIBLE || case.delay > Duration::ZERO {
        tools.retain(|(name, _)| *name != Name::Ansible);
    }
    let mut spent: BTreeMap<Name, Duration> = BTreeMap::new();
    for run in 1..=runs {
        for (name, tool) in &tools {
            if spent.get(name).is_some_and(|spent| *spent > budget) {
                continue;
            }
            let samples = repetition(*name, &**tool, &mut farm, limit);
            tool.close();
            match samples {
                Ok(samples) => {
                    for (phase, sample) in samples {
                        println!("{case}, run {run}, {}, {phase:?}: {sample}", name.title());
                        *spent.entry(*name).or_default() += sample.wall;
                        results.entry((case, *name, phase)).or_default().push(Ok(sample));
                    }
                }
                // What failed once is neither counted nor asked again.
                Err(why) => {
                    println!("{case}, run {run}, {}: {why}", name.title());
                    spent.insert(*name, Duration::MAX);
                    results.entry((case, *name, Phase::First)).or_default().push(Err(why));
                }
            }
        }
    }
    Ok(())
}

/// One tool on new hosts: everything, then nothing.
fn repetition(
    name: Name,
    tool: &dyn Tool,
    farm: &mut Farm,
    limit: Duration,
) -> Result<Vec<(Phase, Sample)>, String> {
    farm.reset()?;
    tool.forget()?;
    let mut stamps = None;
    let mut samples = Vec::new();
    for phase in PHASES {
        tool.before(phase)?;
        if !tool.keeps_connections() && !farm.accounts.is_idle() {
            return Err("the hosts do not come to rest".to_owned());
        }
        let log = tools::log(name, phase);
        let (turns, before) = (farm.turns(), farm.accounts.used());
        let ran = measure(&mut tool.command(phase), &log, limit)?;
        let mut after = farm.accounts.used();
        if !tool.keeps_connections() {
            // Now, or the end of a connection would be lost.
            tool.close();
            if !farm.accounts.is_idle() {
                return Err("the hosts do not come to rest".to_owned());
            }
            after = farm.accounts.used();
        }
        let said = fs::read_to_string(&log).unwrap_or_default();
        match ran.end {
            End::Well => {}
            End::Badly => return Err(format!("it failed, see {}", log.display())),
            End::TooLate => return Err(format!("it did not end within {} s", limit.as_secs())),
        }
        let faults: Vec<String> =
            farm.hosts.iter().flat_map(|host| workload::faults(&host.name, &host.prefix)).collect();
        if let Some(first) = faults.first() {
            return Err(format!("{} things are not as they should be; {first}", faults.len()));
        }
        let now: Result<Vec<_>, _> = farm.hosts.iter().map(|host| workload::stamp(&host.prefix)).collect();
        let now = now.map_err(|e| format!("the hosts cannot be looked at: {e}"))?;
        match (phase, tool.changed(phase, &said)) {
            (Phase::NoOp, Some(0)) => {}
            (Phase::NoOp, Some(count)) => return Err(format!("it says that it changed {count} again")),
            (_, None) => return Err(format!("it does not say what it changed, see {}", log.display())),
            (Phase::First, Some(0)) => return Err("it says that nothing changed".to_owned()),
            (Phase::First, Some(_)) => {}
        }
        if stamps.replace(now.clone()).is_some_and(|before| before != now) {
            return Err("something moved although nothing was to be done".to_owned());
        }
        let used = Both { near: ran.cpu + (after.near - before.near), far: after.far - before.far };
        let hosts = farm.hosts.len();
        let turns = farm.turns().zip(turns).map(|(now, then)| (now - then) as f64 / hosts as f64);
        let sample = Sample { wall: ran.wall, used, peak_bytes: ran.peak_bytes, turns };
        samples.push((phase, sample));
    }
    Ok(samples)
}
