//! `cargo xtask bench`: fleet beside its rivals, on the same work and in the same run.

mod ends;
mod engine;
mod hosts;
mod macs;
mod measure;
mod report;
mod shape;
mod tool;
mod validate;

use crate::Outcome;

/// Measure fleet beside its rivals and write docs/benchmarks.md
///
/// CPU seconds are user and system time of the whole child; the best of several runs counts. Rivals that are not there
/// are left out.
#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(clap::Subcommand)]
enum Bench {
    Validate(validate::ValidateArgs),
    Engine(engine::EngineArgs),
    Hosts(hosts::HostsArgs),
    Macs(macs::MacsArgs),
}

pub(crate) fn bench(args: &BenchArgs) -> Outcome {
    match &args.bench {
        Bench::Validate(args) => validate::validate(args),
        Bench::Engine(args) => engine::engine(args),
        Bench::Hosts(args) => hosts::hosts(args),
        Bench::Macs(args) => macs::macs(args),
    }
}
