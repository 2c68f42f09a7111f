//! `fleet host list`.

use fleet_engine::encode::safe_to_print;
use fleet_engine::plan::Slot;
use serde::Serialize;

use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::{Env, Exit, Failure, diagnostics, memory};

/// List all slots with their machines
///
/// One slot a line: the slot, its machine, how that stands, since when, and whether somebody set it apart. Nobody is
/// connected to, no lock is taken.
///
/// How it stands: `held` the slot has the machine; `declared` the next apply takes it; `begun` it was being taken when a run
/// was cut off; `leaving` the slot is not declared any more, and the next apply gives the machine back; `replaced` the slot
/// has another by now, and this one is still to be given back.
///
/// Examples:
///   fleet host list
///   fleet host list --json | jq -r '.[] | select(.mark) | .slot'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ListArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

/// A slot as programs see it.
#[derive(Serialize)]
struct Row {
    slot: String,
    name: Option<String>,
    machine: Option<String>,
    state: &'static str,
    since: Option<String>,
    mark: Option<MarkRow>,
}

#[derive(Serialize)]
struct MarkRow {
    mark: &'static str,
    by: String,
    since: String,
    reason: Option<String>,
}

pub(super) fn list(env: &mut Env, args: &ListArgs) -> Result<Exit, Failure> {
    let hosts = HostArgs::default();
    let Some(site) = Site::open(env, &args.variables, Purpose::Plan, hosts)? else { return Ok(Exit::Failed) };
    let state = site.runtime.block_on(fleet_store::read(&site.place.backend));
    let state = state.map_err(|e| memory::failure(&e))?;
    let slots = match site.with_sources(|sources| fleet_engine::plan::slots(sources, &state))? {
        Ok(slots) => slots,
        Err(problems) => {
            site.tell(env, &problems)?;
            return Ok(Exit::Failed);
        }
    };
    let rows: Vec<Row> = slots.into_iter().map(row).collect();
    if args.json {
        let json = serde_json::to_string_pretty(&rows).expect("texts can be written as JSON");
        writeln!(env.stdout, "{}", safe_to_print(&json))?;
        return Ok(Exit::Done);
    }
    let cells = rows.iter().map(|row| {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
        let mark = row.mark.as_ref().map(|mark| {
            let reason = mark.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{} by {} since {}{reason}", mark.mark, mark.by, mark.since)
        });
        let cells = [row.slot.clone(), text(&row.machine), row.state.to_owned(), text(&row.since)];
        let clean = |text: String| diagnostics::clean(&text).collect::<String>();
        (cells.map(clean), clean(mark.unwrap_or_default()))
    });
    let cells: Vec<([String; 4], String)> = cells.collect();
    let width =
        |at: usize| cells.iter().map(|(cells, _)| cells[at].chars().count()).max().unwrap_or_default();
    let widths = [0, 1, 2, 3].map(width);
    for ([slot, machine, state, since], mark) in &cells {
        let [a, b, c, d] = widths;
        let line = format!("{slot:a$}  {machine:b$}  {state:c$}  {since:d$}  {mark}");
        writeln!(env.stdout, "{}", line.trim_end())?;
    }
    Ok(Exit::Done)
}

fn row(Slot { slot, name, machine, standing, since, mark }: Slot) -> Row {
    Row {
        slot: slot.to_string(),
        name,
        machine: machine.as_deref().map(str::to_owned),
        state: standing.word(),
        since,
        mark: mark.map(|mark| MarkRow {
            mark: mark.apart.word(),
            by: mark.by,
            since: mark.since,
            reason: mark.reason,
        }),
    }
}
