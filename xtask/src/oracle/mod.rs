//! `cargo xtask oracle`: fleet beside a real Terraform, on the same expressions and configurations.
//!
//! 1. [`cases`]: expressions written by hand, from `tests/oracle`
//! 2. [`generate`]: random expressions over the operators and the function table
//! 3. [`program`]: the two programs and how their configurations differ
//! 4. [`ask`]: many expressions in, one answer each out
//! 5. [`configs`]: whole configurations
//! 6. [`known`]: disagreements that are meant
//! 7. [`report`]: what agrees and what does not

mod ask;
mod cases;
mod configs;
mod generate;
mod known;
mod pools;
mod printed;
mod program;
mod report;
mod shrink;

use std::path::PathBuf;

use self::ask::Asker;
use self::cases::Case;
use self::generate::Expression;
use self::known::Known;
use self::program::Program;
use self::report::{Disagreement, Report};
use crate::Outcome;
use crate::run::{cargo, root};

/// Compare fleet with a real Terraform, expression by expression
///
/// Needs `terraform` 1.11 on the PATH. Its answers are kept in target/oracle-cache, so that a second run costs little.
/// Fails on every disagreement that tests/oracle/known.txt does not explain.
#[derive(clap::Args)]
pub(crate) struct OracleArgs {
    /// Only these groups: functions, language, tables, generated, configurations
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    /// Only the cases of this function
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// How many expressions to generate
    #[arg(long, value_name = "N", default_value_t = 2000)]
    cases: usize,
    /// Where the generator starts
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Print what both answer to this expression, and nothing else
    #[arg(long, value_name = "EXPRESSION")]
    ask: Vec<String>,
}

/// How many random expressions there are to choose one from.
const CHOICE: usize = 5;

pub(crate) fn oracle(args: &OracleArgs) -> Outcome {
    let terraform = Program::terraform()?;
    cargo(&["build", "--quiet", "--package", "fleet-cli"], &[])?;
    let fleet = Program::fleet()?;
    let asker = Asker::new(fleet.clone(), terraform.clone(), &data().join("fixture"))?;
    if !args.ask.is_empty() {
        return show(&asker, &args.ask);
    }
    let mut report = Report::new(Known::read(&data().join("known.txt"))?);
    if args.wants("functions") {
        let mut cases = cases::functions(&data().join("functions"))?;
        if let Some(name) = &args.function {
            cases.retain(|case| &case.heading == name);
        }
        compare(&asker, "functions", &cases, &mut report)?;
    }
    if args.wants("language") && args.function.is_none() {
        compare(&asker, "language", &cases::language(&data().join("language"))?, &mut report)?;
    }
    if args.wants("tables") && args.function.is_none() {
        compare(&asker, "tables", &cases::tables(&root().join("lang/tests"))?, &mut report)?;
    }
    if args.wants("generated") {
        generated(&asker, args, &mut report)?;
    }
    if args.wants("configurations") && args.function.is_none() {
        configs::compare(&fleet, &terraform, &data().join("configs"), &mut report)?;
    }
    report.finish(args.group.is_empty() && args.function.is_none())
}

impl OracleArgs {
    fn wants(&self, group: &str) -> bool {
        self.group.is_empty() || self.group.iter().any(|wanted| wanted == group)
    }
}

/// Where the cases lie.
fn data() -> PathBuf {
    root().join("tests/oracle")
}

fn show(asker: &Asker, expressions: &[String]) -> Outcome {
    for (text, (ours, theirs)) in expressions.iter().zip(asker.both(expressions)?) {
        println!("{text}\n  fleet:     {ours}\n  terraform: {theirs}");
    }
    Ok(())
}

/// Asks both for the value of every case.
fn compare(asker: &Asker, group: &str, cases: &[Case], report: &mut Report) -> Outcome {
    let texts: Vec<String> = cases.iter().map(|case| case.text.clone()).collect();
    report.start(group, cases.len());
    for (case, (ours, theirs)) in cases.iter().zip(asker.both(&texts)?) {
        if ours != theirs {
            report.disagree(group, &Disagreement::of(&case.text, &ours, &theirs));
        } else if case.fails.is_some_and(|fails| fails != ours.is_failure()) {
            let wrong = if ours.is_failure() { "both fail" } else { "both give a value" };
            report.wrong_case(group, &case.text, wrong);
        }
    }
    Ok(())
}

/// Asks both for random expressions, and shows the smallest that they still disagree about.
fn generated(asker: &Asker, args: &OracleArgs, report: &mut Report) -> Outcome {
    let candidates = generate::expressions(args.seed, args.cases * CHOICE, args.function.as_deref());
    let texts: Vec<String> = candidates.iter().map(ToString::to_string).collect();
    // Most random expressions fail, and say little. Those that work for us come first.
    let ours = asker.ours(&texts)?;
    let (fail, work): (Vec<_>, Vec<_>) =
        candidates.iter().zip(&ours).partition(|(_, ours)| ours.is_failure());
    let working = work.len().min(args.cases * 3 / 4);
    let expressions =
        work.into_iter().take(working).chain(fail).take(args.cases).map(|(candidate, _)| candidate);
    let expressions: Vec<&Expression> = expressions.collect();
    println!("{working} of the generated expressions have a value");
    let texts: Vec<String> = expressions.iter().map(ToString::to_string).collect();
    report.start("generated", texts.len());
    for (expression, (ours, theirs)) in expressions.iter().zip(asker.both(&texts)?) {
        if ours != theirs {
            let (text, ours, theirs) = shrink::smallest(asker, expression, ours, theirs)?;
            report.disagree("generated", &Disagreement::of(&text, &ours, &theirs));
        }
    }
    Ok(())
}
