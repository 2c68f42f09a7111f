//! `fleet doctor`.

mod self_test;

use std::path::PathBuf;

use fleet_engine::document::Examination;
use fleet_engine::encode::safe_to_print;
use fleet_engine::plan::Options;
use fleet_engine::render::{self, Colour};

use crate::configuration::VariableArgs;
use crate::converge::{Purpose, Site};
use crate::hosts::HostArgs;
use crate::{Env, Exit, Failure, memory};

/// Look at hosts and name the bad states that they are known to get into
///
/// Everything is looked at that a plan looks at, in one round trip for each host, on hosts that are set apart too. Nothing is
/// changed and nothing is planned. Each bad state has a name, what was observed, and what cures it: an apply, or you.
/// docs/findings.md tells of each.
///
/// Exits with 0 if nothing was found, 2 if something was, and 1 if something could not be looked at.
///
/// With --self-test, HOST is asked all that fleet can ask a host, on the examples of the manual, and every answer that is not
/// understood is told. That needs no configuration: `user@address`, or `user@address:port`, is reached as `ssh` does. It tells in a
/// minute whether fleet understands a Mac that it has never met; it exits with 1 if not.
///
/// Examples:
///   fleet doctor
///   fleet doctor runners-1
///   fleet doctor --json | jq -r '.findings[] | [.host, .name, .evidence] | @tsv'
///   fleet doctor --self-test m1@10.0.0.11
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DoctorArgs {
    /// The slot, such as `runners[0]`, or the name of its host; all hosts without it
    #[arg(value_name = "HOST")]
    host: Option<String>,
    /// Ask HOST everything that fleet can ask a host, and tell what it does not understand
    #[arg(long)]
    self_test: bool,
    /// With --self-test and `user@address`: a file that `ssh` reads in the place of ~/.ssh/config
    #[arg(long, value_name = "FILE", requires = "self_test")]
    ssh_config: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// Run no script of yours to look at something (`host_command`): what needs one is not looked at
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn doctor(env: &mut Env, args: &DoctorArgs) -> Result<Exit, Failure> {
    match (&args.host, args.self_test) {
        (Some(host), true) => self_test::self_test(env, args, host),
        (None, true) => {
            let failure = Failure::new("`--self-test` needs a host to be tried on");
            Err(failure.help("name a slot, such as `runners[0]`, or `user@address`"))
        }
        (_, false) => examine(env, args),
    }
}

fn examine(env: &mut Env, args: &DoctorArgs) -> Result<Exit, Failure> {
    let Some(site) = Site::open(env, &args.variables, Purpose::Plan, args.hosts)? else {
        return Ok(Exit::Failed);
    };
    let site = site.read_only(args.read_only);
    let state = site.runtime.block_on(fleet_store::read(&site.place.backend));
    let state = state.map_err(|e| memory::failure(&e))?;
    let hosts = args.host.iter().cloned().collect();
    let options = Options { hosts, refresh: true, ..Options::default() };
    let examined = site.examine(state, &options);
    site.close();
    let examination = match examined? {
        Ok(examined) => Examination::of(&examined),
        Err(problems) => {
            site.tell(env, &problems)?;
            return Ok(Exit::Failed);
        }
    };
    if args.json {
        let json = serde_json::to_string_pretty(&examination).expect("plain data is JSON");
        writeln!(env.stdout, "{}", safe_to_print(&json))?;
    } else {
        let colour = if env.color_on_stdout() { Colour::Ansi } else { Colour::Plain };
        env.stdout.write_all(render::examination(&examination, colour).as_bytes())?;
    }
    Ok(match (examination.unseen.is_empty(), examination.findings.is_empty()) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Changes,
        (true, true) => Exit::Done,
    })
}
