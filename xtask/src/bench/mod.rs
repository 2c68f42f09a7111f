//! `cargo xtask bench`: fleet beside its rivals, on the same work and in the same run.

mod ends;
mod engine;
mod measure;
mod report;
mod shape;
mod tool;
mod validate;

use crate::Outcome;

/// Measure fleet beside Terraform and write docs/benchmarks.md
///
/// CPU seconds are user and system time of the whole child; the best of several runs counts. Without `terraform` on
/// the PATH only fleet is measured.
#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(clap::Subcommand)]
enum Bench {
    Validate(validate::ValidateArgs),
    Engine(engine::EngineArgs),
}

pub(crate) fn bench(args: &BenchArgs) -> Outcome {
    match &args.bench {
        Bench::Validate(args) => validate::validate(args),
        Bench::Engine(args) => engine::engine(args),
    }
}
