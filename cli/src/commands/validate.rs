//! `fleet validate`.

use fleet_engine::plan::Refusals;
use fleet_syntax::diagnostic::has_errors;

use crate::configuration::{Configuration, VariableArgs};
use crate::{Env, Exit, Failure, diagnostics};

/// Find every mistake in the configuration, without touching anything
///
/// Reads the *.fleet.hcl files of the directory and of the modules they call, and reports everything that is wrong in
/// one run: syntax, names, types, arguments, cycles, and what is wrong with single instances as far as the values of
/// variables are known. Needs no values, no state, no network and no secrets.
///
/// Exit codes: 0 valid, 1 not.
///
/// Examples:
///   fleet validate
///   fleet validate --json | jq '.diagnostics[].summary'
///   fleet validate --var env=staging
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ValidateArgs {
    /// Print the result as JSON, with source ranges, for editors and pipelines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn validate(env: &mut Env, args: &ValidateArgs) -> Result<Exit, Failure> {
    let catalog = env.providers();
    let mut configuration = Configuration::load(env);
    configuration.check_blocks(&catalog);
    configuration.read_known_values(env, &args.variables);
    // Instances of blocks that are wrong in themselves would only say the same again.
    if !has_errors(&configuration.diagnostics) {
        let mut refusals = Refusals::new(&catalog);
        let (_, found) = configuration.expand(&catalog, &mut refusals);
        let refused = refusals.found;
        if configuration.depends_on_values() {
            configuration.diagnostics.extend(found);
        }
        configuration.diagnostics.extend(refused);
    }
    let Configuration { sources, diagnostics, .. } = &configuration;
    let valid = !has_errors(diagnostics);
    if args.json {
        env.stdout.write_all(diagnostics::json(diagnostics, sources).as_bytes())?;
    } else {
        diagnostics::report(env, diagnostics, sources)?;
        if valid {
            writeln!(env.stdout, "The configuration is valid.")?;
        }
    }
    Ok(if valid { Exit::Done } else { Exit::Failed })
}
