//! The command line of fleet.
//!
//! 1. [`env`](mod@env): what a command may know of its surroundings, and nothing else
//! 2. [`commands`]: one file per command; its doc comment is its manual
//! 3. [`failure`]: how a command ends badly
//! 4. [`diagnostics`]: what is wrong with the configuration, drawn for people or as JSON
//! 5. [`outside`]: the machine, as expressions see it
//! 6. `configuration`: what a command works on; `settings` and `memory`: where the state is, and how to get at it;
//!    `converge`: what plan, apply and destroy share; `publish`: the document of a plan, printed and saved
//! 7. [`progress`]: who is told what a run does; [`interrupt`]: signals; `log`: what is done inside
//!
//! [`run`] is all there is to call: tests and the program use it alike.

use std::ffi::OsString;
use std::io::Write as _;

use clap::{CommandFactory, FromArgMatches, Parser};

pub mod clock;
pub mod commands;
mod configuration;
mod converge;
pub mod diagnostics;
pub mod env;
pub mod failure;
mod help;
mod hosts;
pub mod interrupt;
mod json;
mod key;
mod log;
mod memory;
mod output;
pub mod outside;
mod planning;
pub mod progress;
mod publish;
mod reviewed;
mod secrets;
mod settings;

pub use env::{Env, Terminal};
pub use failure::{Exit, Failure};
pub use output::Output;

/// Nested expressions are walked by recursion. The parser bounds their depth; this makes room for that bound.
const STACK_BYTES: usize = 256 << 20;

/// Declarative convergence for fleets of Mac minis.
///
/// Describe machines and what lives on them in *.fleet.hcl files, look at the plan, apply it:
///
///   fleet init mysite && cd mysite   write a small commented start
///   fleet validate                   find every mistake at once
///   fleet plan                       compare the files with reality; changes nothing
///   fleet apply                      make reality equal to the files
#[derive(Debug, Parser)]
#[command(name = "fleet", version, verbatim_doc_comment, propagate_version = false)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: commands::Command,
}

/// Options that every command takes.
#[derive(Debug, clap::Args)]
struct Global {
    /// Work in DIR instead of the current directory
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    directory: Option<std::path::PathBuf>,
    /// Print without colour; setting NO_COLOR does the same
    #[arg(long, global = true)]
    no_color: bool,
    #[command(flatten)]
    log: log::LogArgs,
}

/// Runs one command line, program name first, and says how it ended.
pub fn run(args: impl IntoIterator<Item = OsString>, env: Env) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let work = move || run_here(&args, env);
    let thread = std::thread::Builder::new().name("fleet".into()).stack_size(STACK_BYTES).spawn(work);
    match thread.expect("a thread can be started").join() {
        Ok(exit) => exit,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The whole command line as clap knows it: for completions and the reference.
#[must_use]
pub fn command() -> clap::Command {
    help::flowing(Cli::command())
}

fn run_here(args: &[OsString], mut env: Env) -> Exit {
    let outcome = dispatch(args, &mut env).and_then(|exit| Ok(env.stdout.flush().map(|()| exit)?));
    match outcome {
        Ok(exit) => exit,
        Err(failure) => failure.report(&mut env),
    }
}

fn dispatch(args: &[OsString], env: &mut Env) -> Result<Exit, Failure> {
    let cli = match command().try_get_matches_from(args).and_then(|m| Cli::from_arg_matches(&m)) {
        Ok(cli) => cli,
        Err(answer) => return answer_of_clap(&answer, env),
    };
    if cli.global.no_color {
        env.vars.insert("NO_COLOR".into(), "1".into());
    }
    if let Some(directory) = &cli.global.directory {
        env.enter(directory)?;
    }
    let _log = log::start(env, &cli.global.log)?;
    cli.command.run(env)
}

/// Help and version are answers; anything else is a mistake in the command line.
fn answer_of_clap(answer: &clap::Error, env: &mut Env) -> Result<Exit, Failure> {
    let paint = |text: clap::builder::StyledStr, color| {
        if color { text.ansi().to_string() } else { text.to_string() }
    };
    if answer.use_stderr() {
        let text = paint(answer.render(), env.color_on_stderr());
        env.stderr.write_all(text.as_bytes())?;
        Ok(Exit::Failed)
    } else {
        let text = paint(answer.render(), env.color_on_stdout());
        env.stdout.write_all(text.as_bytes())?;
        Ok(Exit::Done)
    }
}
