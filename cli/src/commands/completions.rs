//! `fleet completions`.

use clap_complete::Shell;

use crate::{Env, Exit, Failure};

/// Print a completion script for a shell
///
/// Where each shell looks for it:
///
///   bash   fleet completions bash > ~/.local/share/bash-completion/completions/fleet
///   zsh    fleet completions zsh  > ~/.zfunc/_fleet      (with ~/.zfunc in fpath)
///   fish   fleet completions fish > ~/.config/fish/completions/fleet.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsArgs {
    /// The shell that will read the script
    shell: Shell,
}

pub(crate) fn completions(env: &mut Env, args: &CompletionsArgs) -> Result<Exit, Failure> {
    // The generator panics when a write fails, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "fleet", &mut script);
    env.stdout.write_all(&script)?;
    Ok(Exit::Done)
}
