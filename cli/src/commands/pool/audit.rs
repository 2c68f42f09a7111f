//! `fleet pool audit`.

use std::collections::BTreeMap;

use fleet_engine::encode::safe_to_print;
use fleet_engine::pool::{Class, Ours, Remedy};
use serde::Serialize;

use super::survey::{Row, Survey, count, look, print};
use crate::configuration::VariableArgs;
use crate::hosts::HostArgs;
use crate::{Env, Exit, Failure};

/// Balance the books of the pools
///
/// Looks at every machine as `fleet pool list` does. The books balance, and the exit code is 0, if no server is stray,
/// quarantined, left behind or claimed twice, and no request to a vendor is unsettled. Else the exit code is 1, and what is
/// wrong is said with the rule that it breaks. A server that does not answer is listed, and breaks no rule: nothing can be
/// said of it. Nothing is changed, and no lock is taken.
///
/// Examples:
///   fleet pool audit
///   fleet pool audit --json | jq '.broken'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AuditArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

/// The books as programs see them.
#[derive(Serialize)]
struct Balance<'a> {
    balanced: bool,
    classes: BTreeMap<Class, usize>,
    broken: &'a [Broken],
    unsettled: &'a [String],
    not_looked_at: Vec<&'a str>,
    servers: &'a [Row],
}

/// A rule that is broken, and where.
#[derive(Debug, PartialEq, Serialize)]
struct Broken {
    rule: &'static str,
    /// The server, or what else it is about.
    server: String,
    why: String,
}

const NO_STRAY: &str = "every server is free or has an owner";
const NOT_HELD_BACK: &str = "no server is held back";
const IN_TIME: &str = "what is begun is ended in time";
const ONE_OWNER: &str = "no server has two owners, and no slot has two servers";
const ALL_SEEN: &str = "every pool can be looked at";

pub(super) fn audit(env: &mut Env, args: &AuditArgs) -> Result<Exit, Failure> {
    let Some(Survey { rows, ours, unused, .. }) = look(env, &args.variables, args.hosts)? else {
        return Ok(Exit::Failed);
    };
    let mut broken = broken(&rows, &ours);
    broken.extend(unused.iter().map(|pool| Broken {
        rule: ALL_SEEN,
        server: format!("pool.{pool}"),
        why: "no fleet says how its machines are reached".to_owned(),
    }));
    let unsettled = ours.unsettled();
    let balanced = broken.is_empty() && unsettled.is_empty();
    if args.json {
        let mut classes = BTreeMap::new();
        for row in &rows {
            *classes.entry(row.class).or_default() += 1;
        }
        let balance = Balance {
            balanced,
            classes,
            broken: &broken,
            unsettled: &unsettled,
            not_looked_at: unused.iter().map(|pool| &**pool).collect(),
            servers: &rows,
        };
        let json = serde_json::to_string_pretty(&balance).expect("texts can be written as JSON");
        writeln!(env.stdout, "{}", safe_to_print(&json))?;
    } else {
        print(env, &rows, &ours)?;
        for Broken { rule, server, why } in &broken {
            writeln!(env.stdout, "broken: {rule}: {server}: {why}")?;
        }
        for line in &unsettled {
            writeln!(env.stdout, "{line}")?;
        }
        let told = if balanced { "the books balance" } else { "the books do not balance" };
        writeln!(env.stdout, "{}; {told}", count(&rows))?;
    }
    Ok(if balanced { Exit::Done } else { Exit::Failed })
}

/// What is wrong with the books.
fn broken(rows: &[Row], ours: &Ours) -> Vec<Broken> {
    let mut broken = Vec::new();
    let named = |row: &Row| format!("{} ({})", row.name, row.id);
    for row in rows {
        let rule = match (row.class, &row.remedy) {
            (Class::Stray, _) => NO_STRAY,
            (Class::Quarantined, _) => NOT_HELD_BACK,
            (_, Some(Remedy::Reclaim(_) | Remedy::Finish(_))) => IN_TIME,
            _ => continue,
        };
        broken.push(Broken { rule, server: named(row), why: row.why.clone() });
    }
    for (server, slots) in ours.claimed_twice() {
        let why = format!("{} have claims on it", slots.join(" and "));
        broken.push(Broken { rule: ONE_OWNER, server, why });
    }
    let mut holders: BTreeMap<&str, &Row> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.class == Class::Mine && !ours.is_replaced(&row.id)) {
        let Some(slot) = &row.slot else { continue };
        if let Some(other) = holders.insert(slot, row) {
            let why = format!("{slot} has it and {}", named(other));
            broken.push(Broken { rule: ONE_OWNER, server: named(row), why });
        }
    }
    broken
}
