//! `fleet providers`.

use fleet_engine::manual::manual;
use fleet_syntax::nearest;

use crate::{Env, Exit, Failure};

/// What can stand in a configuration: providers and their kinds
#[derive(Debug, clap::Args)]
pub(crate) struct ProvidersArgs {
    #[command(subcommand)]
    command: ProvidersCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ProvidersCommand {
    Schema(SchemaArgs),
}

/// Print the manual of every kind: arguments, types, defaults, results, examples
///
/// Needs no configuration. As text it is Markdown; the same pages are in docs/reference/kinds.
///
/// Examples:
///   fleet providers schema core_file
///   fleet providers schema --json | jq '.providers.core.resources | keys'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct SchemaArgs {
    /// Only this provider, or the kinds of this name
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn providers(env: &mut Env, args: &ProvidersArgs) -> Result<Exit, Failure> {
    let ProvidersCommand::Schema(args) = &args.command;
    let everything = manual(&env.providers());
    let manual = match &args.name {
        Some(name) => {
            let near = nearest(name, everything.names()).map(str::to_owned);
            let found = everything.only(name);
            if found.is_empty() {
                let failure = Failure::new(format!("there is no provider and no kind `{name}`"));
                return Err(match near {
                    Some(near) => failure.help(format!("did you mean `{near}`?")),
                    None => failure.help("`fleet providers schema` prints all there are"),
                });
            }
            found
        }
        None => everything,
    };
    if args.json {
        let text = serde_json::to_string_pretty(&manual);
        let text = text.map_err(|error| Failure::of("the manual cannot be written as JSON", &error))?;
        writeln!(env.stdout, "{text}")?;
    } else {
        env.stdout.write_all(manual.markdown().as_bytes())?;
    }
    Ok(Exit::Done)
}
