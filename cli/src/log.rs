//! The log of what fleet does, for those who look into its workings: `--log`, `FLEET_LOG`, `--log-file`.
//!
//! Only fleet's own crates write to it. What libraries log is not listened to, because nobody here answers for it: it
//! may hold a secret.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Mutex;

use fleet_engine::event::{Event, Failure as StepFailure, Outcome};
use tracing::subscriber::DefaultGuard;
use tracing::{debug, error, info, warn};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::{Env, Failure};

/// Our parts are the crates of this name.
const OURS: &str = "fleet";

/// What is logged, and where to.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct LogArgs {
    /// Log what is done inside at this level (error, warn, info, debug, trace), or at levels by part; FLEET_LOG does the same
    #[arg(long, value_name = "FILTER", global = true)]
    log: Option<String>,
    /// Append the log to FILE instead of printing it to standard error
    #[arg(long, value_name = "FILE", global = true)]
    log_file: Option<PathBuf>,
}

/// Logs while it is held.
pub(crate) struct Log {
    _guard: Option<DefaultGuard>,
}

/// Starts to log on this thread, if that was asked for.
pub(crate) fn start(env: &Env, args: &LogArgs) -> Result<Log, Failure> {
    let filter = match (&args.log, env.var("FLEET_LOG"), &args.log_file) {
        (Some(filter), ..) => filter.as_str(),
        (None, Some(filter), _) => filter,
        (None, None, Some(_)) => "debug",
        (None, None, None) => return Ok(Log { _guard: None }),
    };
    let targets = targets(filter)?;
    let layer = tracing_subscriber::fmt::layer();
    let layer = match &args.log_file {
        None => {
            let out = env.stderr.clone();
            layer.with_ansi(env.color_on_stderr()).with_writer(move || out.clone()).boxed()
        }
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(env.path(path));
            let file =
                file.map_err(|error| Failure::of(format!("cannot write {}", path.display()), &error))?;
            layer.with_ansi(false).with_writer(Mutex::new(file)).boxed()
        }
    };
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(targets));
    Ok(Log { _guard: Some(subscriber.set_default()) })
}

/// Writes an event to the log.
pub(crate) fn hear(event: &Event<'_>) {
    match *event {
        Event::Observing { session, questions } => debug!(%session, questions, "looking"),
        Event::Observed { session, failed, elapsed } => info!(%session, failed, ?elapsed, "looked"),
        Event::WaveStarted { wave, steps } => info!(wave, steps, "wave begins"),
        Event::StepStarted { object, action } => info!(%object, action = action.word(), "step begins"),
        Event::StepWaiting { object, on } => debug!(%object, ?on, "step waits"),
        Event::Retrying { object, attempt, after, why } => {
            warn!(%object, attempt, ?after, why, "step failed");
        }
        Event::StepEnded { object, action, outcome, elapsed } => {
            let (action, word) = (action.word(), outcome.word());
            match outcome {
                Outcome::Done | Outcome::NotStarted => info!(%object, action, ?elapsed, "step {word}"),
                Outcome::Skipped(because) => info!(%object, action, %because, "step {word}"),
                Outcome::Failed(StepFailure { message, .. }) | Outcome::Unknown(message) => {
                    error!(%object, action, ?elapsed, message, "step {word}");
                }
            }
        }
        Event::Interrupted { again } => warn!(again, "interrupted"),
        Event::StoreLost { message, recovery } => error!(message, recovery, "the state cannot be written"),
        Event::Finished { ledger } => info!(elapsed = ?ledger.elapsed, counts = ?ledger.counts(), "finished"),
    }
}

/// Which of our parts log how much. A level without a part is for all of them.
fn targets(filter: &str) -> Result<Targets, Failure> {
    let wrong = |why: String| {
        Failure::new(format!("`{filter}` does not say what to log: {why}"))
            .help("use a level (`--log debug`), or levels by part (`--log info,fleet_store=trace`)")
    };
    let given: Targets = filter.parse().map_err(|error| wrong(format!("{error}")))?;
    if let Some((other, _)) = given.iter().find(|(target, _)| !target.starts_with(OURS)) {
        return Err(wrong(format!("`{other}` is neither a level nor a part of fleet")));
    }
    let everywhere = given.default_level().unwrap_or(LevelFilter::OFF);
    Ok(Targets::new().with_target(OURS, everywhere).with_targets(given))
}
