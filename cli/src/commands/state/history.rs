//! `fleet state history`.

use std::time::{Duration, SystemTime};

use fleet_engine::state::Object;
use fleet_store::{Change, End, Run};
use serde::Serialize;

use crate::configuration::VariableArgs;
use crate::memory::{self, Memory};
use crate::{Env, Exit, Failure};

/// Show who changed the state, when and how
///
/// One entry for each command that held the lock, the latest first: when, who and where, what it was, what it changed,
/// and how it ended. What single runs changed is kept for the last hundred.
///
/// Examples:
///   fleet state history
///   fleet state history --limit 1 --details
///   fleet state history --json | jq first
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HistoryArgs {
    /// How many runs to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Also show what each of them changed
    #[arg(long)]
    details: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn history(env: &mut Env, args: &HistoryArgs) -> Result<Exit, Failure> {
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let backend = &memory.place.backend;
    let (runs, lease) = memory
        .runtime
        .block_on(async {
            let runs = fleet_store::history(backend, args.limit, args.details).await?;
            Ok((runs, fleet_store::lock_status(backend).await?))
        })
        .map_err(|e| memory::failure(&e))?;
    // The holder of the lock is the one that still runs.
    let holds = |run: &Run| lease.as_ref().is_some_and(|lease| lease.fence == run.fence);
    if args.json {
        let entries: Vec<Entry<'_>> = runs.iter().map(|run| Entry::of(run, holds(run))).collect();
        let json = serde_json::to_string_pretty(&entries).expect("texts and numbers can be written as JSON");
        writeln!(env.stdout, "{}", fleet_engine::encode::safe_to_print(&json))?;
        return Ok(Exit::Done);
    }
    for run in &runs {
        let text = crate::diagnostics::clean(&as_text(run, holds(run))).collect::<String>();
        writeln!(env.stdout, "{text}")?;
    }
    Ok(Exit::Done)
}

fn as_text(run: &Run, holds: bool) -> String {
    let Run { fence, owner, host, command, started, .. } = run;
    let started = humantime::format_rfc3339_seconds(*started);
    let mut text = format!("{started}  #{fence}  {owner} on {host}  {command}: {}", outcome(run, holds));
    if let Some(job) = &run.job {
        text.push_str(&format!("\n    {job}"));
    }
    for (object, change) in &run.changes {
        text.push_str(&format!("\n    {object}: {}", change.word()));
    }
    text
}

/// What changed and how it ended, in a line.
fn outcome(run: &Run, holds: bool) -> String {
    let changed = run.counts.iter().filter(|(change, _)| **change != Change::Failed);
    let mut parts: Vec<(u64, &str)> = changed.map(|(change, count)| (*count, change.word())).collect();
    if let Some(End { summary, .. }) = &run.end {
        parts.extend([
            (summary.failed, "failed"),
            (summary.unknown, "unknown"),
            (summary.skipped, "not begun"),
        ]);
    }
    parts.retain(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.iter().map(|(count, word)| format!("{count} {word}")).collect();
    let parts = if parts.is_empty() { "nothing changed".to_owned() } else { parts.join(", ") };
    match &run.end {
        Some(end) => format!("{parts}, after {}", whole(run.started, end.at)),
        None if holds => format!("{parts} so far, still running"),
        None => format!("{parts}, did not come to its end"),
    }
}

fn whole(from: SystemTime, to: SystemTime) -> String {
    let elapsed = to.duration_since(from).unwrap_or_default();
    humantime::format_duration(Duration::from_secs(elapsed.as_secs())).to_string()
}

/// A run as programs see it.
#[derive(Serialize)]
struct Entry<'a> {
    fence: u64,
    owner: &'a str,
    host: &'a str,
    job: Option<&'a str>,
    command: &'a str,
    started: String,
    ended: Option<String>,
    /// Whether it still holds the lock.
    running: bool,
    serial_from: u64,
    serial_to: Option<u64>,
    counts: std::collections::BTreeMap<&'static str, u64>,
    failed: Option<u64>,
    skipped: Option<u64>,
    unknown: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Changed>,
}

#[derive(Serialize)]
struct Changed {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deposed: Option<u32>,
    change: &'static str,
}

impl Entry<'_> {
    fn of(run: &Run, holds: bool) -> Entry<'_> {
        let time = |time| humantime::format_rfc3339_millis(time).to_string();
        let end = run.end.as_ref();
        let changed = |(object, change): &(Object, Change)| Changed {
            address: object.address.to_string(),
            deposed: object.deposed,
            change: change.word(),
        };
        Entry {
            fence: run.fence,
            owner: &run.owner,
            host: &run.host,
            job: run.job.as_deref(),
            command: &run.command,
            started: time(run.started),
            ended: end.map(|end| time(end.at)),
            running: holds,
            serial_from: run.serial_from,
            serial_to: end.map(|end| end.serial),
            counts: run.counts.iter().map(|(change, count)| (change.word(), *count)).collect(),
            failed: end.map(|end| end.summary.failed),
            skipped: end.map(|end| end.summary.skipped),
            unknown: end.map(|end| end.summary.unknown),
            changes: run.changes.iter().map(changed).collect(),
        }
    }
}
