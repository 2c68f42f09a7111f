//! `fleet pool order`.

use std::time::{Duration, SystemTime};

use fleet_engine::plan::{self, Way};
use fleet_engine::pool::{Rule, Sent};

use super::survey::{random, unseen};
use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::{Env, Exit, Failure, memory};

/// Order more servers for a pool
///
/// Orders servers of the pool's type, with the newest system of its family, under names that start with its prefix: once the
/// vendor has delivered them, they are free. They cost money from then on, and for a day at least, so that this is shown
/// and asked. All of them are ordered, or none. Nothing else orders or deletes servers.
///
/// Examples:
///   fleet pool order minis --count 2
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct OrderArgs {
    /// For which pool
    #[arg(value_name = "POOL")]
    pool: String,
    /// How many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    count: u8,
    /// Do not ask
    #[arg(long, alias = "auto-approve")]
    yes: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

/// The shortest time that a server is rented for.
const COMMITMENT: Duration = Duration::from_secs(24 * 3600);

pub(super) fn order(env: &mut Env, args: &OrderArgs) -> Result<Exit, Failure> {
    let opened = Site::open(env, &args.variables, Purpose::Plan, HostArgs::default())?;
    let Some(site) = opened else { return Ok(Exit::Failed) };
    let Some((way, rule)) = way_to(env, &site, &args.pool)? else { return Ok(Exit::Failed) };
    let names = (0..args.count).map(|_| format!("{}{}", rule.choice.prefix, random()));
    let names: Vec<String> = names.collect();
    let until = humantime::format_rfc3339_seconds(SystemTime::now() + COMMITMENT);
    writeln!(env.stdout, "{} servers are ordered for `pool.{}`: {rule}.", names.len(), way.pool)?;
    writeln!(env.stdout, "Each is paid for 24 hours at least, and cannot be deleted before {until}.")?;
    if !args.yes && !env.ask("Order them?")? {
        return Err(Failure::new("not approved, nothing was done").help("answer `yes`, or use `--yes`"));
    }
    let sent = site.runtime.block_on(site.providers.order(&way, &names)).map_err(|error| unseen(&error))?;
    match sent {
        Sent::Taken => {
            for name in &names {
                writeln!(env.stdout, "{name}: ordered")?;
            }
            Ok(Exit::Done)
        }
        Sent::Refused(error) | Sent::Busy(error) => Err(Failure::of("nothing was ordered", &error)),
        Sent::Gone => Err(Failure::new("nothing was ordered: there is no such place to order from")),
        Sent::Unsettled(error) => {
            let failure = Failure::of("nobody knows whether anything was ordered", &error);
            let help = "look with `fleet pool list` for servers of these names before ordering again";
            Err(failure.help(format!("{help}: {}", names.join(", "))))
        }
    }
}

/// The way to the vendor of a pool, and what the pool says. `None` if the configuration is wrong, which was said.
fn way_to(env: &mut Env, site: &Site, pool: &str) -> Result<Option<(Way, Rule)>, Failure> {
    let name = pool.strip_prefix("pool.").unwrap_or(pool);
    let state = site.runtime.block_on(fleet_store::read(&site.place.backend));
    let state = state.map_err(|e| memory::failure(&e))?;
    let ways = match site.with_sources(|sources| plan::ways(sources, &state))? {
        Ok(ways) => ways.ways,
        Err(problems) => {
            site.tell(env, &problems)?;
            return Ok(None);
        }
    };
    let found = ways.into_iter().find_map(|way| {
        let rule = way.rule().filter(|_| *way.pool == *name)?;
        Some((way, rule))
    });
    found.map(Some).ok_or_else(|| {
        let failure =
            Failure::new(format!("`{name}` is no pool behind a vendor that a fleet takes hosts from"));
        failure.help("nothing can be ordered for static pools; write machines into them")
    })
}
