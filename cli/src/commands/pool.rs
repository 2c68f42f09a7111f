//! `fleet pool`: the pools of a configuration, and every machine in them. One file for each part.

mod audit;
mod list;
mod notes;
mod order;
mod reclaim;
mod retire;
mod survey;

use crate::{Env, Exit, Failure};

/// See whose every machine of a pool is, and balance the books
///
/// Every server of a vendor's project and zone is in exactly one class, whoever made it, and whatever it is called; see
/// docs/pool.md. The machines of static pools are in the books too.
///
///   fleet pool list
///   fleet pool audit
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PoolArgs {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    List(list::ListArgs),
    Audit(audit::AuditArgs),
    Reclaim(reclaim::ReclaimArgs),
    Order(order::OrderArgs),
    Retire(retire::RetireArgs),
}

pub(crate) fn pool(env: &mut Env, args: &PoolArgs) -> Result<Exit, Failure> {
    match &args.part {
        Part::List(args) => list::list(env, args),
        Part::Audit(args) => audit::audit(env, args),
        Part::Reclaim(args) => reclaim::reclaim(env, args),
        Part::Order(args) => order::order(env, args),
        Part::Retire(args) => retire::retire(env, args),
    }
}
