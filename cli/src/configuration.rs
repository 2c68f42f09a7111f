//! The configuration that a command works on: loaded, with values for its variables, expanded.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, FromArgMatches};
use fleet_engine::config::load;
use fleet_engine::config::model::{Config, Module, Named};
use fleet_engine::config::values::{Given, Setting, values};
use fleet_engine::expand::{ArgumentsOnly, Depth, Expansion, Secrets, Settle, Surroundings, Symbols, expand};
use fleet_engine::outline::Outline;
use fleet_engine::schema::Catalog;
use fleet_engine::settings::settings;
use fleet_lang::Value;
use fleet_syntax::{Diagnostics, Sources};
use sha2::{Digest, Sha256};

use crate::Env;
use crate::outside::Machine;

/// `--var` and `--var-file`, in the order given: the last one wins.
#[derive(Debug, Default)]
pub(crate) struct VariableArgs(Vec<Setting>);

/// A configuration with everything that is known to be wrong with it.
pub(crate) struct Configuration {
    pub(crate) sources: Sources,
    pub(crate) config: Config,
    pub(crate) diagnostics: Diagnostics,
    /// The outside as its expressions see it.
    pub(crate) outside: Machine,
    inputs: Named<Value>,
}

impl Configuration {
    /// Loads the configuration in the working directory.
    pub(crate) fn load(env: &Env) -> Configuration {
        let outside = env.outside();
        let mut sources = Sources::default();
        let (config, diagnostics) = load(&outside, Path::new("."), &mut sources);
        Configuration { sources, config, diagnostics, outside, inputs: Named::default() }
    }

    /// Takes in the values that the user gives to variables; every variable must have one.
    pub(crate) fn read_values(&mut self, env: &Env, variables: &VariableArgs) {
        self.read(env, variables, false);
    }

    /// Takes in the values that the user gives to variables; those without one stay unknown.
    pub(crate) fn read_known_values(&mut self, env: &Env, variables: &VariableArgs) {
        self.read(env, variables, true);
    }

    fn read(&mut self, env: &Env, variables: &VariableArgs, partial: bool) {
        let environment = env.vars.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let given = Given { environment, options: variables.0.clone(), partial };
        let declared = &self.config.root().variables;
        let (values, found) = values(declared, &given, &self.outside, Path::new("."), &mut self.sources);
        self.inputs = values;
        self.diagnostics.extend(found);
    }

    /// The names of the variables that have a value.
    pub(crate) fn variables(&self) -> Vec<String> {
        self.inputs.keys().map(ToString::to_string).collect()
    }

    /// A digest of the files of the configuration; values of variables, which may be secret, are no part of it.
    pub(crate) fn digest(&self) -> String {
        let mut files: Vec<_> =
            self.sources.iter().filter(|source| source.name.ends_with(".fleet.hcl")).collect();
        files.sort_by_key(|source| &source.name);
        let mut digest = Sha256::new();
        for source in files {
            for part in [source.name.as_bytes(), source.text.as_bytes()] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        hex::encode(digest.finalize())
    }

    /// Looks at every block once, whatever the values.
    pub(crate) fn check_blocks(&mut self, catalog: &dyn Catalog) {
        let inputs = HashMap::new();
        let surroundings =
            Surroundings { catalog, outside: &self.outside, inputs, secrets: &Symbols, depth: Depth::Blocks };
        let (_, found) = expand(&Outline::of(&self.config, catalog), &surroundings, &mut ArgumentsOnly);
        let of_settings = settings(&self.config, &surroundings).problems;
        self.diagnostics.extend(found.into_iter().chain(of_settings));
    }

    /// Whether looking at instances can find more than looking at every block once.
    pub(crate) fn depends_on_values(&self) -> bool {
        let root = self.config.root();
        let repeated = |module: &Module| {
            module.resources.values().any(|resource| resource.repeat.is_some())
                || module.all_calls().any(|call| call.repeat.is_some())
        };
        !root.variables.is_empty() || !root.fleets.is_empty() || self.config.modules.iter().any(repeated)
    }

    /// Expands into all instances. What is wrong with them comes along.
    pub(crate) fn expand(
        &self,
        catalog: &dyn Catalog,
        settle: &mut dyn Settle,
    ) -> (Expansion<'_>, Diagnostics) {
        let surroundings = self.surroundings(catalog, &Symbols, &self.outside);
        expand(&Outline::of(&self.config, catalog), &surroundings, settle)
    }

    /// What its expressions see.
    pub(crate) fn surroundings<'a>(
        &'a self,
        catalog: &'a dyn Catalog,
        secrets: &'a dyn Secrets,
        outside: &'a Machine,
    ) -> Surroundings<'a> {
        let inputs = self.inputs.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Surroundings { catalog, outside, inputs, secrets, depth: Depth::Instances }
    }
}

const VAR: &str = "var";
const VAR_FILE: &str = "var-file";

// Derived arguments would lose the order of the two options among each other, which decides who wins.
impl clap::Args for VariableArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        let var = Arg::new(VAR)
            .long(VAR)
            .value_name("NAME=VALUE")
            .action(ArgAction::Append)
            .help("Set a variable; may be repeated, and the last one wins");
        let file = Arg::new(VAR_FILE)
            .long(VAR_FILE)
            .value_name("FILE")
            .value_parser(ValueParser::path_buf())
            .action(ArgAction::Append)
            .help("Set variables from a file; may be repeated, and the last one wins");
        command.arg(var).arg(file)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        VariableArgs::augment_args(command)
    }
}

impl FromArgMatches for VariableArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<VariableArgs, clap::Error> {
        let indices = |id| matches.indices_of(id).into_iter().flatten();
        let vars = matches.get_many::<String>(VAR).into_iter().flatten().cloned().map(Setting::Var);
        let files = matches.get_many::<PathBuf>(VAR_FILE).into_iter().flatten().cloned().map(Setting::File);
        let mut settings: Vec<(usize, Setting)> =
            indices(VAR).zip(vars).chain(indices(VAR_FILE).zip(files)).collect();
        settings.sort_by_key(|(index, _)| *index);
        Ok(VariableArgs(settings.into_iter().map(|(_, setting)| setting).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = VariableArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_options_is_kept() {
        let command = <VariableArgs as clap::Args>::augment_args(clap::Command::new("fleet"));
        let words = ["fleet", "--var", "a=1", "--var-file", "f", "--var=b=2"];
        let matches = command.try_get_matches_from(words).unwrap();
        let given = VariableArgs::from_arg_matches(&matches).unwrap();
        assert_eq!(
            given.0,
            [Setting::Var("a=1".into()), Setting::File("f".into()), Setting::Var("b=2".into())]
        );
    }
}
