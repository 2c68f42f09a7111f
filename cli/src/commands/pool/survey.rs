//! What every command about pools begins with: all machines of all pools, each in its class.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fleet_engine::plan::{self, Way, Ways};
use fleet_engine::pool::books::seconds;
use fleet_engine::pool::{Class, Entry, Ours, Remedy, Server, Surveyed};
use fleet_engine::resource::Error;
use fleet_engine::state::State;
use serde::Serialize;

use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::{Env, Failure, diagnostics, memory};

/// All machines of all pools.
pub(super) struct Survey {
    pub(super) rows: Vec<Row>,
    /// What our state remembers of them.
    pub(super) ours: Ours,
    /// How they are reached.
    pub(super) ways: Vec<Way>,
    /// The pools whose machines nobody could look at, because no fleet says how they are reached.
    pub(super) unused: Vec<Arc<str>>,
}

/// A machine as programs see it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) pool: String,
    /// What the vendor calls it for ever.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) class: Class,
    pub(super) model: Option<String>,
    pub(super) os_family: Option<String>,
    pub(super) zone: Option<String>,
    pub(super) address: Option<String>,
    /// Whose it is.
    pub(super) lineage: Option<String>,
    pub(super) slot: Option<String>,
    pub(super) since: Option<String>,
    pub(super) age_seconds: Option<u64>,
    pub(super) deletable_at: Option<String>,
    /// For how long it is rented, in the vendor's word.
    pub(super) commitment: Option<String>,
    pub(super) why: String,
    pub(super) remedy: Option<Remedy>,
}

/// Looks at all machines of all pools, without a lock. `None` if something is wrong with the configuration, which was said.
pub(super) fn look(
    env: &mut Env,
    variables: &VariableArgs,
    hosts: HostArgs,
) -> Result<Option<Survey>, Failure> {
    let Some(site) = Site::open(env, variables, Purpose::Plan, hosts)? else { return Ok(None) };
    let state = site.runtime.block_on(fleet_store::read(&site.place.backend));
    let surveyed = state.map_err(|e| memory::failure(&e)).and_then(|state| survey(env, &site, &state));
    site.close();
    surveyed
}

/// Looks at all machines of all pools. `None` if something is wrong with the configuration, which was said.
pub(super) fn survey(env: &mut Env, site: &Site, state: &State) -> Result<Option<Survey>, Failure> {
    let ways = match site.with_sources(|sources| plan::ways(sources, state))? {
        Ok(ways) => ways,
        Err(problems) => {
            site.tell(env, &problems)?;
            return Ok(None);
        }
    };
    let Ways { ways, unused } = ways;
    let ours = Ours::of(state).map_err(|error| unseen(&error))?;
    let date = now();
    let mut rows: Vec<Row> = Vec::new();
    let pools: BTreeSet<&Arc<str>> = ways.iter().map(|way| &way.pool).collect();
    for pool in pools {
        let elsewhere = ways.iter().filter(|way| way.pool != *pool).map(|way| way.fleet.clone());
        let ours = ours.without(&elsewhere.collect());
        let here = ways_to(&ways, pool);
        let surveyed = site.runtime.block_on(site.providers.survey(&here, &ours, date));
        for surveyed in surveyed.map_err(|error| unseen(&error))? {
            add(&mut rows, Row::of(pool, surveyed, date));
        }
    }
    Ok(Some(Survey { rows, ours, ways, unused }))
}

/// One way to each machine of a pool, or to its vendor.
fn ways_to(ways: &[Way], pool: &Arc<str>) -> Vec<Way> {
    let ways = ways.iter().filter(|way| way.pool == *pool);
    let ways: BTreeMap<&Option<Arc<str>>, &Way> = ways.rev().map(|way| (&way.machine, way)).collect();
    ways.into_values().cloned().collect()
}

/// Pools that share a vendor show the same servers: one that is free or known in any of them is no stray.
fn add(rows: &mut Vec<Row>, row: Row) {
    let is_same = |known: &&mut Row| known.id == row.id && row.zone.is_some() && known.zone == row.zone;
    match rows.iter_mut().find(is_same) {
        Some(known) if known.class == Class::Stray => *known = row,
        Some(_) => {}
        None => rows.push(row),
    }
}

impl Row {
    fn of(pool: &str, surveyed: Surveyed, date: u64) -> Row {
        let Surveyed { server, entry } = surveyed;
        let Server { id, name, zone, model, os_family, addresses, deletable_at, commitment, .. } = server;
        let Entry { class, whose, since, why, remedy } = entry;
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        let (lineage, slot) = whose.unzip();
        let age_seconds = since.as_deref().and_then(seconds).map(|since| date.saturating_sub(since));
        Row {
            pool: pool.to_owned(),
            id,
            name,
            class,
            model: given(model),
            os_family: given(os_family),
            zone: given(zone),
            address: addresses.into_iter().next(),
            lineage,
            slot,
            since,
            age_seconds,
            deletable_at,
            commitment,
            why,
            remedy,
        }
    }

    /// What can be done about it, in words.
    pub(super) fn help(&self) -> Option<String> {
        self.remedy.as_ref().map(|remedy| match remedy {
            Remedy::Reclaim(_) | Remedy::Finish(_) => format!("`fleet pool reclaim {}` frees it", self.id),
            Remedy::Decide => "somebody has to say whether it is adopted or given back".to_owned(),
        })
    }

    /// Whether there is nothing to explain.
    fn is_plain(&self) -> bool {
        matches!(self.class, Class::Free | Class::Mine | Class::Foreign)
    }
}

/// The machines as people read them, pool by pool.
pub(super) fn print(env: &mut Env, rows: &[Row], ours: &Ours) -> Result<(), Failure> {
    let pools: BTreeSet<&str> = rows.iter().map(|row| &*row.pool).collect();
    for pool in pools {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.pool == pool).collect();
        let mut lines = vec![HEADINGS.map(str::to_owned)];
        lines.extend(rows.iter().map(|row| cells(row, ours)));
        let width = |at: usize| lines.iter().map(|cells| cells[at].chars().count()).max().unwrap_or_default();
        let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
        writeln!(env.stdout, "pool.{pool}")?;
        let explained = std::iter::once(None).chain(rows.into_iter().map(Some));
        for (cells, row) in lines.iter().zip(explained) {
            let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            writeln!(env.stdout, "  {}", padded.collect::<Vec<_>>().join("  ").trim_end())?;
            if let Some(row) = row.filter(|row| !row.is_plain()) {
                let help = row.help().map(|help| format!("; {help}")).unwrap_or_default();
                writeln!(env.stdout, "      {}{help}", clean(&row.why))?;
            }
        }
    }
    Ok(())
}

const HEADINGS: [&str; 8] = ["CLASS", "NAME", "MODEL", "SYSTEM", "ADDRESS", "WHOSE", "SINCE", "DELETABLE"];

fn cells(row: &Row, ours: &Ours) -> [String; 8] {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let whose = match (&row.slot, &row.lineage) {
        (Some(slot), Some(lineage)) if *lineage == ours.lineage => slot.clone(),
        (Some(slot), Some(lineage)) => format!("{slot} of {lineage}"),
        _ => "-".to_owned(),
    };
    let since = match (&row.since, row.age_seconds) {
        (Some(since), Some(age)) => format!("{since} ({})", humantime::format_duration(rounded(age))),
        (since, _) => or_none(since),
    };
    let texts = [
        row.class.to_string(),
        row.name.clone(),
        or_none(&row.model),
        or_none(&row.os_family),
        or_none(&row.address),
        whose,
        since,
        or_none(&row.deletable_at),
    ];
    texts.map(|text| clean(&text))
}

/// An age that people can take in: no more than its two largest parts.
fn rounded(seconds: u64) -> Duration {
    const HOUR: u64 = 3600;
    Duration::from_secs(match seconds {
        0..HOUR => seconds,
        HOUR..86400 => seconds - seconds % 60,
        _ => seconds - seconds % HOUR,
    })
}

/// How many machines there are, and of which classes.
pub(super) fn count(rows: &[Row]) -> String {
    let mut classes: BTreeMap<Class, usize> = BTreeMap::new();
    for row in rows {
        *classes.entry(row.class).or_default() += 1;
    }
    let counted = classes.iter().map(|(class, count)| format!("{count} {class}"));
    let servers = if rows.len() == 1 { "server" } else { "servers" };
    match classes.is_empty() {
        true => "0 servers".to_owned(),
        false => format!("{} {servers}: {}", rows.len(), counted.collect::<Vec<_>>().join(", ")),
    }
}

fn clean(text: &str) -> String {
    diagnostics::clean(text).collect()
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A name that nobody had before: hexadecimal digits.
pub(super) fn random() -> String {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    hex::encode(bytes)
}

pub(super) fn unseen(error: &Error) -> Failure {
    let failure = Failure::of("the books cannot be read", error);
    match &error.help {
        Some(help) => failure.help(help.clone()),
        None => failure,
    }
}
