//! `cargo xtask test`: everything that must hold before a change lands.

use std::time::Instant;

use crate::run::{answers, cargo};
use crate::{Outcome, docs, fuzz, packages};

/// Check everything: format, lints, tests, generated docs, dependencies
///
/// Runs every check even if an earlier one failed, and ends with one line that sums up.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Run the large counts too (FLEET_FULL=1, many cases per property, ten minutes of fuzzing)
    #[arg(long)]
    full: bool,
}

/// How much is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Usual,
    Full,
}

/// A check by name.
type Check = (&'static str, fn(Size) -> Outcome);

/// The checks, in the order they run.
const CHECKS: &[Check] = &[
    ("packages", |_| packages::ensure()),
    ("format", |_| cargo(&["fmt", "--all", "--check"], &[])),
    ("lints", |_| {
        cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"], &[])
    }),
    ("tests", tests),
    ("doc tests", |size| cargo(&["test", "--workspace", "--doc", "--locked", "--quiet"], size.vars())),
    ("rustdoc", |_| {
        let args = ["doc", "--workspace", "--no-deps", "--document-private-items", "--locked", "--quiet"];
        cargo(&args, &[("RUSTDOCFLAGS", "-D warnings")])
    }),
    ("generated docs", |_| docs::check()),
    ("dependencies", |_| dependencies()),
    ("fuzz", |size| if size == Size::Full { fuzz::long() } else { fuzz::short() }),
];

pub(crate) fn test(args: &TestArgs) -> Outcome {
    let size = if args.full { Size::Full } else { Size::Usual };
    let start = Instant::now();
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        println!("== {name}");
        if let Err(message) = check(size) {
            eprintln!("{message}");
            failed.push(*name);
        }
    }
    let seconds = start.elapsed().as_secs();
    let time = format!("{}m{:02}s", seconds / 60, seconds % 60);
    if failed.is_empty() {
        println!("all {} checks passed in {time}", CHECKS.len());
        Ok(())
    } else {
        Err(format!("{} of {} checks failed in {time}: {}", failed.len(), CHECKS.len(), failed.join(", ")))
    }
}

impl Size {
    /// What tells the tests how much to try. The usual run is the same every time, so that a change is never blamed
    /// for what chance found; the full run looks elsewhere each time.
    fn vars(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Size::Usual => &[("PROPTEST_RNG_SEED", "1")],
            Size::Full => &[("FLEET_FULL", "1"), ("PROPTEST_CASES", "20000")],
        }
    }
}

fn tests(size: Size) -> Outcome {
    if answers(env!("CARGO"), &["nextest", "--version"]) {
        cargo(&["nextest", "run", "--workspace", "--locked", "--no-fail-fast"], size.vars())
    } else {
        println!("cargo-nextest is not installed: using `cargo test`, which takes longer");
        let args = ["test", "--workspace", "--lib", "--bins", "--tests", "--locked", "--no-fail-fast"];
        cargo(&args, size.vars())
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
