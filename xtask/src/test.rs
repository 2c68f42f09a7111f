//! `cargo xtask test`: everything that must hold before a change lands.

use std::time::Instant;

use crate::run::{answers, cargo};
use crate::{Outcome, docs, packages};

/// Check everything: format, lints, tests, generated docs, dependencies
///
/// Runs every check even if an earlier one failed, and ends with one line that sums up.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Run the large counts too (FLEET_FULL=1, many cases per property)
    #[arg(long)]
    full: bool,
}

/// A check: its name and what it runs.
type Check<'a> = (&'static str, &'a dyn Fn() -> Outcome);

pub(crate) fn test(args: &TestArgs) -> Outcome {
    let vars: &[(&str, &str)] =
        if args.full { &[("FLEET_FULL", "1"), ("PROPTEST_CASES", "20000")] } else { &[] };
    let checks: [Check<'_>; 8] = [
        ("packages", &packages::ensure),
        ("format", &|| cargo(&["fmt", "--all", "--check"], &[])),
        ("lints", &|| {
            cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"], &[])
        }),
        ("tests", &|| tests(vars)),
        ("doc tests", &|| cargo(&["test", "--workspace", "--doc", "--locked", "--quiet"], vars)),
        ("rustdoc", &|| {
            let args = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked", "--quiet"];
            cargo(&args, &[("RUSTDOCFLAGS", "-D warnings")])
        }),
        ("generated docs", &docs::check),
        ("dependencies", &dependencies),
    ];
    let start = Instant::now();
    let mut failed = Vec::new();
    for (name, check) in checks {
        println!("== {name}");
        if let Err(message) = check() {
            eprintln!("{message}");
            failed.push(name);
        }
    }
    let seconds = start.elapsed().as_secs();
    let time = format!("{}m{:02}s", seconds / 60, seconds % 60);
    if failed.is_empty() {
        println!("all {} checks passed in {time}", checks.len());
        Ok(())
    } else {
        Err(format!("{} of {} checks failed in {time}: {}", failed.len(), checks.len(), failed.join(", ")))
    }
}

fn tests(vars: &[(&str, &str)]) -> Outcome {
    if answers(env!("CARGO"), &["nextest", "--version"]) {
        cargo(&["nextest", "run", "--workspace", "--locked", "--no-fail-fast"], vars)
    } else {
        println!("cargo-nextest is not installed: using `cargo test`, which takes longer");
        cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--locked", "--no-fail-fast"], vars)
    }
}

/// Licences, sources and doubled versions. Advisories need the network and are not looked at here.
fn dependencies() -> Outcome {
    if answers(env!("CARGO"), &["deny", "--version"]) {
        cargo(&["deny", "--locked", "check", "bans", "licenses", "sources"], &[])
    } else {
        println!("cargo-deny is not installed: skipped (`cargo install cargo-deny`)");
        Ok(())
    }
}
