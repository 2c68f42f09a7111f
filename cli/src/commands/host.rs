//! `fleet host`: single hosts, taken out of the ordinary run of things. One file for each part.

mod adopt;
mod apart;
mod chosen;
mod detach;
mod list;

use crate::{Env, Exit, Failure};

/// List the hosts of all slots, set some apart, let them go or take them over
///
/// A host is named by its slot (`desk[0]`), by its own name (`desk-0`) or by its machine (`mini-a`).
///
///   fleet host list
///   fleet host pause 'desk["mini-a"]' --reason "new disk"
///   fleet host resume 'desk["mini-a"]'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HostArgs {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    List(list::ListArgs),
    Pause(apart::PauseArgs),
    Quarantine(apart::QuarantineArgs),
    Resume(apart::ResumeArgs),
    Detach(detach::DetachArgs),
    Adopt(adopt::AdoptArgs),
}

pub(crate) fn host(env: &mut Env, args: &HostArgs) -> Result<Exit, Failure> {
    match &args.part {
        Part::List(args) => list::list(env, args),
        Part::Pause(args) => apart::pause(env, args),
        Part::Quarantine(args) => apart::quarantine(env, args),
        Part::Resume(args) => apart::resume(env, args),
        Part::Detach(args) => detach::detach(env, args),
        Part::Adopt(args) => adopt::adopt(env, args),
    }
}
