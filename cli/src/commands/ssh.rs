//! `fleet ssh`.

use std::process::Stdio;

use fleet_engine::host::Reach;

use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::{Env, Exit, Failure, memory};

/// Open a shell on the host of a slot
///
/// It is reached as plan and apply reach it: by the same address, user, key and pinned host key. What stands after the
/// slot is run there in the place of a shell.
///
///   fleet ssh desk-0
///   fleet ssh 'desk["mini-a"]' uptime
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SshArgs {
    /// The slot, such as `runners[0]`, or the name of its host
    #[arg(value_name = "HOST")]
    host: String,
    /// A command to run there
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn ssh(env: &mut Env, args: &SshArgs) -> Result<Exit, Failure> {
    let hosts = HostArgs::default();
    let Some(site) = Site::open(env, &args.variables, Purpose::Plan, hosts)? else { return Ok(Exit::Failed) };
    let state = site.runtime.block_on(fleet_store::read(&site.place.backend));
    let state = state.map_err(|e| memory::failure(&e))?;
    let line = match site.way_to(&state, &args.host)? {
        Ok(line) => line,
        Err(problems) => {
            site.tell(env, &problems)?;
            return Ok(Exit::Failed);
        }
    };
    let unreached = |error: fleet_engine::resource::Error| {
        let failure = Failure::of("the host cannot be reached", &error);
        match error.help {
            Some(help) => failure.help(help),
            None => failure,
        }
    };
    let reach = Reach::of(&line).map_err(unreached)?;
    let status = site.runtime.block_on(async {
        let mut command = site.channels.interactive(&reach).await.map_err(unreached)?;
        command.args(&args.command);
        // The key is served by this very process, which must not sleep meanwhile.
        let run = move || command.stdin(Stdio::inherit()).status();
        let ended = tokio::task::spawn_blocking(run).await;
        let ended = ended.map_err(|error| Failure::of("`ssh` was interrupted", &error))?;
        ended.map_err(|error| Failure::of("`ssh` cannot be run", &error))
    })?;
    Ok(if status.success() { Exit::Done } else { Exit::Failed })
}
