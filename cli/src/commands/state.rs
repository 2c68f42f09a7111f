//! `fleet state`: what fleet remembers, looked at and put right by hand. One file for each part.

mod chosen;
mod history;
mod list;
mod migrate;
mod mv;
mod pull;
mod push;
mod rebuild;
mod rm;
mod show;

use crate::{Env, Exit, Failure};

/// Look at what fleet remembers, and put it right by hand
///
/// The state says where to find what was made; what is really there is looked at by every plan. So a state that is
/// wrong or lost destroys nothing; `fleet state rebuild` brings it back from what hosts know, `fleet import` the rest.
///
/// Commands that read take no lock and leave no trace. Those that write take the lock, and the history tells of them.
/// All of them but `rebuild` need the configuration only as far as its `settings`.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Mv(mv::MvArgs),
    Rm(rm::RmArgs),
    Pull(pull::PullArgs),
    Push(push::PushArgs),
    History(history::HistoryArgs),
    Migrate(migrate::MigrateArgs),
    Rebuild(rebuild::RebuildArgs),
}

pub(crate) fn state(env: &mut Env, args: &StateArgs) -> Result<Exit, Failure> {
    match &args.part {
        Part::List(args) => list::list(env, args),
        Part::Show(args) => show::show(env, args),
        Part::Mv(args) => mv::mv(env, args),
        Part::Rm(args) => rm::rm(env, args),
        Part::Pull(args) => pull::pull(env, args),
        Part::Push(args) => push::push(env, args),
        Part::History(args) => history::history(env, args),
        Part::Migrate(args) => migrate::migrate(env, args),
        Part::Rebuild(args) => rebuild::rebuild(env, args),
    }
}
