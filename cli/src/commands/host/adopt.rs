//! `fleet host adopt`.

use fleet_engine::address::{Address, ScopePath, Target};
use fleet_engine::plan::{Goal, Options};

use crate::commands::apply::{Given, converge};
use crate::configuration::VariableArgs;
use crate::{Env, Exit, Failure};

/// Take over a machine for a slot, as it is
///
/// For a machine that was set up by hand or by another tool. Its ledger is made, which fails if somebody has the machine
/// already, and the host is recorded; nothing else is touched there. The next plan compares what is on it with the
/// configuration and shows only what differs, so that nothing happens to it that was not planned.
///
/// The machine must stand in the pool of the fleet, and the slot must be declared and have none yet.
///
/// Examples:
///   fleet host adopt 'runners["a"]' --machine mini-a && fleet plan
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AdoptArgs {
    /// The slot, such as `runners[0]`
    #[arg(value_name = "SLOT")]
    slot: String,
    /// The name of the machine in the pool
    #[arg(long, value_name = "NAME")]
    machine: String,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(super) fn adopt(env: &mut Env, args: &AdoptArgs) -> Result<Exit, Failure> {
    let Some(slot) = ScopePath::slot_named(&args.slot) else {
        let failure = Failure::new(format!("`{}` is not a slot of a fleet", args.slot));
        return Err(failure.help("write it as `runners[0]` or `desk[\"mini-a\"]`"));
    };
    let options = Options {
        goal: Goal::Converge,
        targets: vec![Target::from(&Address::host_of(slot.clone()))],
        refresh: true,
        machines: [(slot, args.machine.as_str().into())].into(),
        ..Options::default()
    };
    converge(env, &args.variables, options, &args.given, None)
}
