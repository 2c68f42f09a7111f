//! What people are told of events, in plain lines. Nothing in them can take hold of a terminal.

use std::time::Duration;

use fleet_engine::event::{Event, Failure, Ledger, Outcome};
use fleet_engine::plan::Action;

use crate::diagnostics;

/// A run with more steps than this repeats at its end what went wrong.
const A_SCREENFUL: usize = 20;

/// How a line is to be coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Neutral,
    Good,
    Warning,
    Bad,
}

impl Mood {
    /// The line in its colour.
    pub(super) fn paint(self, line: &str, color: bool) -> String {
        let code = match self {
            Mood::Neutral => return line.to_owned(),
            Mood::Good => "32",
            Mood::Warning => "33",
            Mood::Bad => "31",
        };
        if color { format!("\x1b[{code}m{line}\x1b[0m") } else { line.to_owned() }
    }
}

/// What is said when something begins.
pub(super) fn beginning(event: &Event<'_>) -> Option<String> {
    match event {
        Event::StepStarted { object, action } => {
            let (doing, _) = verbs(*action)?;
            Some(clean(&format!("{object}: {doing}")))
        }
        _ => None,
    }
}

/// What is said of everything that is worth a line of its own and does not begin something.
pub(super) fn line(event: &Event<'_>) -> Option<(Mood, String)> {
    let (mood, text) = match event {
        Event::Observed { session, failed, .. } if *failed > 0 => {
            (Mood::Warning, format!("{session}: {failed} could not be looked at"))
        }
        Event::WaveStarted { wave, steps } if *wave > 1 => {
            (Mood::Neutral, format!("wave {wave}: {steps} to do that could not be planned before"))
        }
        Event::Retrying { object, attempt, after, why } => {
            let after = whole(rounded_up(*after));
            let text = format!("{object}: attempt {attempt} failed, trying again in {after}: {why}");
            (Mood::Warning, text)
        }
        Event::StepEnded { object, action, outcome, elapsed } => match outcome {
            Outcome::Done => (Mood::Good, format!("{object}: {}{}", verbs(*action)?.1, after(*elapsed))),
            Outcome::Failed(failure) => (Mood::Bad, format!("{object}: failed: {}", told(failure))),
            Outcome::Skipped(because) => {
                (Mood::Warning, format!("{object}: skipped, because {because} was not done"))
            }
            Outcome::NotStarted => return None,
            Outcome::Unknown(why) => {
                let text = format!("{object}: outcome unknown: {why}\n  The next run looks at it first.");
                (Mood::Bad, text)
            }
        },
        Event::Interrupted { again: false } => {
            let text = "interrupted: nothing new is begun, waiting for what runs; interrupt again to abort";
            (Mood::Warning, text.to_owned())
        }
        Event::Interrupted { again: true } => {
            (Mood::Warning, "aborting: writing down what is known, leaving what runs".to_owned())
        }
        Event::StoreLost { message, recovery: None } => {
            (Mood::Bad, format!("the state can no longer be written, nothing new is begun: {message}"))
        }
        Event::StoreLost { recovery: Some(file), .. } => {
            let text = format!("what the next run has to know is in {file}; leave that file where it is");
            (Mood::Bad, text)
        }
        Event::Finished { ledger } => (Mood::Bad, recap(ledger)?),
        _ => return None,
    };
    Some((mood, clean(&text)))
}

/// How everything ended, in one line.
#[must_use]
pub fn summary(ledger: &Ledger) -> String {
    let actions = [
        Action::Create,
        Action::Update,
        Action::Replace { create_first: false },
        Action::Destroy,
        Action::Read,
        Action::Forget,
    ];
    let done = |action: Action| {
        let (_, word) = verbs(action)?;
        Some((ledger.done(|done| done.word() == action.word()), word))
    };
    let counts = ledger.counts();
    let others = [
        (counts.failed, "failed"),
        (counts.unknown, "unknown"),
        (counts.skipped, "skipped"),
        (counts.not_started, "not started"),
    ];
    let parts = actions.into_iter().filter_map(done).chain(others).filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
    match ledger.done(|done| done == Action::Record) {
        0 => {}
        1 => parts.push("1 record brought up to date".to_owned()),
        n => parts.push(format!("{n} records brought up to date")),
    }
    if parts.is_empty() { "Done: nothing.".to_owned() } else { format!("Done: {}.", parts.join(", ")) }
}

/// The words for an action while it runs and when it is done; `None` if it only touches records.
pub(super) fn verbs(action: Action) -> Option<(&'static str, &'static str)> {
    match action {
        Action::Read => Some(("reading", "read")),
        Action::Create => Some(("creating", "created")),
        Action::Update => Some(("updating", "updated")),
        Action::Replace { .. } => Some(("replacing", "replaced")),
        Action::Destroy => Some(("destroying", "destroyed")),
        Action::Forget => Some(("forgetting", "forgotten")),
        Action::Keep | Action::Record => None,
    }
}

/// A duration in whole seconds.
pub(super) fn whole(duration: Duration) -> String {
    humantime::format_duration(Duration::from_secs(duration.as_secs())).to_string()
}

/// The next whole second.
pub(super) fn rounded_up(duration: Duration) -> Duration {
    Duration::from_nanos(999_999_999).saturating_add(duration)
}

/// Text that a terminal shows as it is; lines after the first are set in.
pub(super) fn clean(text: &str) -> String {
    diagnostics::clean(text).collect::<String>().replace('\t', " ")
}

fn after(elapsed: Duration) -> String {
    if elapsed < Duration::from_secs(1) { String::new() } else { format!(" after {}", whole(elapsed)) }
}

fn told(failure: &Failure) -> String {
    let message = failure.message.trim_end().replace('\n', "\n  ");
    let help = failure.help.as_ref().map_or_else(String::new, |help| format!("\n  help: {help}"));
    format!("{message}\n  {}{help}", failure.effect.sentence())
}

/// On a long run what went wrong has scrolled away by the end.
fn recap(ledger: &Ledger) -> Option<String> {
    let bad = ledger.entries.iter().filter_map(|(object, entry)| match &entry.outcome {
        Outcome::Failed(failure) => Some(format!("\n  {object}: failed: {}", first_line(&failure.message))),
        Outcome::Unknown(why) => Some(format!("\n  {object}: outcome unknown: {}", first_line(why))),
        _ => None,
    });
    let bad: String = bad.collect();
    (ledger.entries.len() > A_SCREENFUL && !bad.is_empty()).then(|| format!("not done:{bad}"))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
