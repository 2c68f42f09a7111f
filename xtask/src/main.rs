//! The project's chores: `cargo xtask --help`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "chores talk to the person at the terminal")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod docs;
mod fuzz;
mod incidents;
mod oracle;
mod packages;
mod run;
mod test;

/// The chores of the fleet project
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Chores {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    Test(test::TestArgs),
    Docs(docs::DocsArgs),
    Bench(bench::BenchArgs),
    Fuzz(fuzz::FuzzArgs),
    Oracle(oracle::OracleArgs),
    Incidents(incidents::IncidentsArgs),
}

/// What a chore says when it fails.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let outcome = match Chores::parse().chore {
        Chore::Test(args) => test::test(&args),
        Chore::Docs(args) => docs::docs(&args),
        Chore::Bench(args) => bench::bench(&args),
        Chore::Fuzz(args) => fuzz::fuzz(&args),
        Chore::Oracle(args) => oracle::oracle(&args),
        Chore::Incidents(args) => incidents::incidents(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
