//! `fleet import`.

use fleet_engine::address::{Address, Target};
use fleet_engine::expand::Imported;
use fleet_engine::plan::{Goal, Options};

use super::apply::{Given, converge};
use crate::configuration::VariableArgs;
use crate::{Env, Exit, Failure};

/// Take something that is there already into the state
///
/// The resource must be declared. ID is what its provider knows the thing by: of a `core_file` the path, see
/// `fleet providers schema`. Nothing is changed but the state; the next plan shows what differs from the configuration.
/// An `import` block does the same as a part of a plan.
///
///   fleet import core_file.motd /etc/motd
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ImportArgs {
    /// Who takes it
    address: String,
    /// What the provider knows it by
    id: String,
    #[command(flatten)]
    given: Given,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn import(env: &mut Env, args: &ImportArgs) -> Result<Exit, Failure> {
    let Some(to) = Address::parse(&args.address) else {
        let failure = Failure::new(format!("`{}` is not the address of one thing", args.address));
        return Err(failure.help("write it as `core_file.motd` or `core_file.motd[\"key\"]`"));
    };
    let target = Target::from(&to);
    let options = Options {
        goal: Goal::RefreshOnly,
        targets: vec![target],
        refresh: true,
        imports: vec![Imported { to, id: args.id.as_str().into(), span: None }],
        ..Options::default()
    };
    converge(env, &args.variables, options, &args.given, None)
}
