//! `cargo xtask bench validate`: large configurations, beside `terraform validate` on the same text.

use super::measure::best_of;
use super::report::{Row, publish, table};
use super::shape::Shape;
use super::tool::{Task, Tool};
use crate::Outcome;
use crate::run::{answers, cargo};

/// Large configurations beside `terraform validate` on the same text
#[derive(clap::Args)]
pub(crate) struct ValidateArgs {
    /// How many times fleet runs
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// How many times Terraform runs
    #[arg(long, default_value_t = 2)]
    rival_runs: usize,
}

pub(crate) fn validate(args: &ValidateArgs) -> Outcome {
    cargo(&["build", "--release", "--locked", "--package", "fleet-cli"], &[])?;
    let with_rival = answers("terraform", &["version"]);
    let measure = |tool: Tool, shape: Shape, runs| {
        let directory = shape.prepare(tool)?;
        tool.init(&directory)?;
        best_of(runs, &mut tool.call(Task::Validate, &directory))
    };
    let mut rows = Vec::new();
    for shape in [Shape::Chains(10_000), Shape::Chains(20_000), Shape::Modules(1_000), Shape::Modules(2_000)]
    {
        println!("{shape}…");
        let fleet = measure(Tool::Fleet, shape, args.runs)?;
        let rival = if with_rival { Some(measure(Tool::Terraform, shape, args.rival_runs)?) } else { None };
        rows.push(Row { work: shape.to_string(), fleet, rival });
    }
    let growth = |small: &Row, large: &Row| large.fleet.cpu.as_secs_f64() / small.fleet.cpu.as_secs_f64();
    let section = format!(
        "## validate\n\nCommand: `cargo xtask bench validate`. The same text with `core_value` and `terraform_data`.\n\n\
         {}\nTwice the blocks cost fleet {:.2} times the CPU, twice the modules {:.2} times.\n",
        table("terraform", &rows),
        growth(&rows[0], &rows[1]),
        growth(&rows[2], &rows[3]),
    );
    publish("validate", &section)
}
