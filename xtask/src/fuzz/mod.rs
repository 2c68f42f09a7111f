//! `cargo xtask fuzz`: strange texts through parser, formatter and evaluator, for a bounded time.
//!
//! Every case follows from its number alone, so a case that failed is run again with `--first NUMBER --cases 1`.

mod mutate;
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::run::root;
use mutate::{corpus, mutate};
use targets::TARGETS;

/// Throw strange texts at the language, for a bounded time
#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many cases at most
    #[arg(long)]
    cases: Option<u64>,
    /// The number of the first case
    #[arg(long, default_value_t = 0)]
    first: u64,
}

/// A single case takes milliseconds; one that takes this long hangs.
const HANGS: Duration = Duration::from_secs(30);

/// As the program itself has it.
const STACK_BYTES: usize = 256 << 20;

/// What the worker says.
enum Word {
    /// It begins this case.
    Case(u64),
    /// These cases failed, each with what and why.
    Failed(u64, String),
}

/// A few thousand cases, the same every time: part of the usual tests.
pub(crate) fn short() -> Outcome {
    fuzz(&FuzzArgs { seconds: 600, cases: Some(5_000), first: 0 })
}

/// A long run, as part of the full tests.
pub(crate) fn long() -> Outcome {
    fuzz(&FuzzArgs { seconds: 600, cases: None, first: 0 })
}

pub(crate) fn fuzz(args: &FuzzArgs) -> Outcome {
    let end = args.cases.map_or(u64::MAX, |n| args.first.saturating_add(n));
    let (first, stop) = (args.first, Instant::now() + Duration::from_secs(args.seconds));
    let corpus = corpus()?;
    println!("{} texts to start from, {} targets", corpus.len(), TARGETS.len());
    let (say, words) = channel();
    // A panic is a finding; its message is reported with the case.
    std::panic::set_hook(Box::new(|_| {}));
    let work = move || {
        for case in (first..end).take_while(|_| Instant::now() < stop) {
            let text = mutate(&corpus, case);
            // Nobody listens any more once a case hangs.
            let _ = say.send(Word::Case(case));
            for (name, target) in TARGETS {
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(&text))) {
                    let _ = say.send(Word::Failed(case, format!("{name}: {}", message(&*panic))));
                }
            }
        }
    };
    let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
    worker.map_err(|error| format!("no thread for the work: {error}"))?;
    let (mut n_cases, mut current, mut failures) = (0_u64, first, Vec::new());
    loop {
        match words.recv_timeout(HANGS) {
            Ok(Word::Case(case)) => {
                (n_cases, current) = (n_cases + 1, case);
            }
            Ok(Word::Failed(case, why)) => failures.push((case, why)),
            Err(RecvTimeoutError::Timeout) => {
                failures.push((current, format!("still running after {} s", HANGS.as_secs())));
                break;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    report(n_cases, first, &failures)
}

fn report(n_cases: u64, first: u64, failures: &[(u64, String)]) -> Outcome {
    println!("{n_cases} cases from number {first} on, {} failures", failures.len());
    let Some((case, _)) = failures.first() else { return Ok(()) };
    for (case, why) in failures.iter().take(20) {
        println!("case {case}: {why}");
    }
    let path = root().join("target/fuzz-case.txt");
    let text = mutate(&corpus()?, *case);
    fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Err(format!("the first failure's text is in {}; again: --first {case} --cases 1", path.display()))
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}
