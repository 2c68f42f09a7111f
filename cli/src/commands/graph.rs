//! `fleet graph`.

use clap::ValueEnum;
use fleet_engine::expand::ArgumentsOnly;
use fleet_engine::graph::{self, build, render};
use fleet_syntax::diagnostic::has_errors;

use crate::configuration::{Configuration, VariableArgs};
use crate::{Env, Exit, Failure, diagnostics};

/// Print the graph of all instances and what each depends on
///
/// Arrows lead from an instance to what it depends on. Boxes with a dashed or round border stand for several instances
/// at once, where drawing each arrow would hide the picture.
///
/// Examples:
///   fleet graph | dot -Tsvg > graph.svg
///   fleet graph --format mermaid
///   fleet graph --format json | jq '.edges[] | select(.to == "core_file.motd")'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct GraphArgs {
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Dot)]
    format: Format,
    #[command(flatten)]
    variables: VariableArgs,
}

/// The formats to choose from.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For Graphviz
    Dot,
    /// For Mermaid, as GitHub shows it
    Mermaid,
    /// For programs
    Json,
}

pub(crate) fn graph(env: &mut Env, args: &GraphArgs) -> Result<Exit, Failure> {
    let catalog = env.providers();
    let outside = env.outside();
    let mut configuration = Configuration::load(env);
    configuration.read_values(env, &args.variables);
    let (expansion, found) = configuration.expand(&catalog, &mut ArgumentsOnly);
    let diagnostics: Vec<_> = configuration.diagnostics.iter().cloned().chain(found).collect();
    diagnostics::report(env, &diagnostics, &configuration.sources)?;
    if has_errors(&diagnostics) {
        return Ok(Exit::Failed);
    }
    let format = match args.format {
        Format::Dot => graph::Format::Dot,
        Format::Mermaid => graph::Format::Mermaid,
        Format::Json => graph::Format::Json,
    };
    let text = render(&build(&expansion, &outside), &expansion, format);
    env.stdout.write_all(text.as_bytes())?;
    Ok(Exit::Done)
}
