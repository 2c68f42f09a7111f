//! `cargo xtask bench engine`: plan, apply and destroy, beside Terraform on the same text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ends;
use super::measure::{Cost, once, within};
use super::report::{Row, publish, table, table_alone};
use super::shape::Shape;
use super::tool::{Task, Tool};
use crate::Outcome;
use crate::run::{answers, cargo};

/// Plan, apply and destroy beside Terraform on the same text
///
/// A cycle is first plan, apply, plan without changes and destroy, from an empty state. Every plan looks at everything:
/// nothing is cached. After apply both tools must hold the same values.
#[derive(clap::Args)]
pub(crate) struct EngineArgs {
    /// How many cycles fleet goes through; the least of each cost counts
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// The sizes that are measured beside Terraform
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 5_000])]
    sizes: Vec<usize>,
    /// The sizes that fleet is measured at alone
    #[arg(long, value_delimiter = ',', default_values_t = [50_000, 100_000])]
    alone: Vec<usize>,
    /// How many seconds a step of Terraform may take; one that takes longer is ended and said to
    #[arg(long, default_value_t = 300)]
    rival_limit: u64,
}

/// The steps of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    FirstPlan,
    Apply,
    NoOpPlan,
    Destroy,
}

const STEPS: [Step; 4] = [Step::FirstPlan, Step::Apply, Step::NoOpPlan, Step::Destroy];

/// What each step cost, as far as it came to its end.
type Cycle = BTreeMap<Step, Cost>;

pub(crate) fn engine(args: &EngineArgs) -> Outcome {
    cargo(&["build", "--release", "--locked", "--package", "fleet-cli"], &[])?;
    let shapes = |sizes: &[usize]| -> Vec<Shape> {
        let of = |n: usize| [Shape::Independent(n), Shape::Chains(n), Shape::Hosts(n)];
        sizes.iter().copied().flat_map(of).collect()
    };
    let (beside, alone) = (shapes(&args.sizes), shapes(&args.alone));
    // What this process ever held counts as the memory of its children: the small ones come first, and what they ended
    // with is compared after all were measured.
    let mut ours = Vec::new();
    for shape in &beside {
        ours.push(fleet(*shape, args.runs)?);
    }
    let with_rival = answers("terraform", &["version"]);
    let limit = Duration::from_secs(args.rival_limit);
    let mut theirs = Vec::new();
    for shape in &beside {
        theirs.push(if with_rival { terraform(*shape, limit)? } else { Cycle::new() });
    }
    let mut cycles = Vec::new();
    for shape in &alone {
        cycles.push(fleet(*shape, args.runs)?);
    }
    let mut rows = Vec::new();
    let mut checked = 0;
    for ((shape, ours), theirs) in beside.iter().zip(&ours).zip(&theirs) {
        if theirs.contains_key(&Step::Apply) {
            checked += ends::equal(&kept(*shape, Tool::Fleet), &kept(*shape, Tool::Terraform))?;
        }
        rows.extend(rows_of(*shape, ours, theirs));
    }
    let alone_rows: Vec<Row> =
        alone.iter().zip(&cycles).flat_map(|(shape, cycle)| rows_of(*shape, cycle, &Cycle::new())).collect();
    let section = format!(
        "## engine\n\nCommand: `cargo xtask bench engine`. The same text with `core_value` and `terraform_data`; every cycle starts from an \
         empty state, and every plan looks at everything. State is written with the durable settings. Of fleet the least of {} runs counts; \
         Terraform runs once, and a step without its numbers took longer than {} s. After apply, {checked} values were compared and found \
         equal.\n\n{}\nAlone:\n\n{}\n{}",
        args.runs,
        args.rival_limit,
        table("terraform", &rows),
        table_alone(&alone_rows),
        growth(&alone, &cycles)
    );
    publish("engine", &section)
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::FirstPlan => "first plan",
            Step::Apply => "apply",
            Step::NoOpPlan => "plan without changes",
            Step::Destroy => "destroy",
        }
    }

    fn task(self) -> Task {
        match self {
            Step::FirstPlan | Step::NoOpPlan => Task::Plan,
            Step::Apply => Task::Apply,
            Step::Destroy => Task::Destroy,
        }
    }
}

/// Goes through several cycles with fleet.
fn fleet(shape: Shape, runs: usize) -> Result<Cycle, String> {
    println!("fleet: {shape}…");
    let tool = Tool::Fleet;
    let mut best = Cycle::new();
    for _ in 0..runs.max(1) {
        let directory = shape.prepare(tool)?;
        let output = directory.join("output");
        for step in STEPS {
            let cost = once(&mut tool.call(step.task(), &directory), Some(&output))?;
            best.entry(step).and_modify(|known| *known = known.least(cost)).or_insert(cost);
            match step {
                Step::Apply => ends::keep_of_fleet(&directory, &kept(shape, tool))?,
                Step::NoOpPlan => says_no_changes(&output)?,
                _ => {}
            }
        }
    }
    Ok(best)
}

/// Goes through one cycle with Terraform. Where it does not get to the end of an apply, it is given the state that it
/// would have come to, so that its plan can be measured.
fn terraform(shape: Shape, limit: Duration) -> Result<Cycle, String> {
    println!("terraform: {shape}…");
    let tool = Tool::Terraform;
    let directory = shape.prepare(tool)?;
    tool.init(&directory)?;
    let output = directory.join("output");
    let mut cycle = Cycle::new();
    for step in STEPS {
        if step == Step::Destroy && !cycle.contains_key(&Step::Apply) {
            continue;
        }
        match (within(limit, &mut tool.call(step.task(), &directory), Some(&output))?, step) {
            (Some(cost), _) => _ = cycle.insert(step, cost),
            (None, Step::Apply) => ends::give_to_terraform(&kept(shape, Tool::Fleet), &directory)?,
            (None, _) => {}
        }
        match step {
            Step::Apply if cycle.contains_key(&step) => {
                ends::keep_of_terraform(&directory, &kept(shape, tool))?;
            }
            Step::NoOpPlan if cycle.contains_key(&step) => says_no_changes(&output)?,
            _ => {}
        }
    }
    Ok(cycle)
}

/// Where the end state of an apply is kept.
fn kept(shape: Shape, tool: Tool) -> PathBuf {
    let name = format!("{shape} {}.json", tool.name()).replace(' ', "-");
    crate::run::root().join("target/bench").join(name)
}

fn says_no_changes(output: &Path) -> Outcome {
    let text = fs::read_to_string(output).map_err(|e| format!("cannot read {}: {e}", output.display()))?;
    let found = text.contains("No changes.");
    found.then_some(()).ok_or_else(|| format!("there are changes after apply: {}", output.display()))
}

fn rows_of(shape: Shape, ours: &Cycle, theirs: &Cycle) -> Vec<Row> {
    let row = |step: Step| {
        let work = format!("{} of {shape}", step.name());
        Some(Row { work, fleet: *ours.get(&step)?, rival: theirs.get(&step).copied() })
    };
    STEPS.into_iter().filter_map(row).collect()
}

/// How much more twice as much costs.
fn growth(shapes: &[Shape], cycles: &[Cycle]) -> String {
    let mut text = String::new();
    for (small, small_cycle) in shapes.iter().zip(cycles) {
        let double = shapes.iter().zip(cycles).find(|(large, _)| is_double(*small, **large));
        let Some((large, large_cycle)) = double else { continue };
        let factor = |step: &Step| {
            let (large, small) = (large_cycle.get(step)?.cpu, small_cycle.get(step)?.cpu);
            Some(format!("{} {:.2}", step.name(), large.as_secs_f64() / small.as_secs_f64()))
        };
        let factors: Vec<String> = STEPS.iter().filter_map(factor).collect();
        text += &format!("- From {small} to {large}, CPU grows by a factor of: {}.\n", factors.join(", "));
    }
    text
}

fn is_double(small: Shape, large: Shape) -> bool {
    match (small, large) {
        (Shape::Independent(a), Shape::Independent(b))
        | (Shape::Chains(a), Shape::Chains(b))
        | (Shape::Hosts(a), Shape::Hosts(b)) => 2 * a == b,
        _ => false,
    }
}
