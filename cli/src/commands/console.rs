//! `fleet console`.

mod interactive;
mod session;
mod type_text;

use std::io::BufRead;
use std::mem::take;
use std::path::Path;

use fleet_engine::config::load::EXTENSION;
use fleet_engine::expand::ArgumentsOnly;
use fleet_lang::{Names, Outside, Value};
use fleet_syntax::Sources;

use self::session::Session;
use crate::configuration::{Configuration, VariableArgs};
use crate::{Env, Exit, Failure, diagnostics};

/// Evaluate expressions
///
/// On a terminal it reads expressions with history and completion (Tab), over several lines while brackets are open.
/// Otherwise it reads one expression per line and prints each value; problems go to standard error, and the exit code
/// is 1 if there were any:
///
///   echo 'cidrhost("10.0.0.0/8", 5)' | fleet console
///
/// Where there is a configuration, expressions see its variables, local values, modules and resources:
///
///   echo 'local.subnets' | fleet -C site console --var env=staging
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ConsoleArgs {
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn console(env: &mut Env, args: &ConsoleArgs) -> Result<Exit, Failure> {
    let outside = env.outside();
    if !has_configuration(&outside) {
        let scope = paths(env);
        let words = ["path.cwd", "path.module", "path.root"].map(String::from);
        return talk(env, &mut Session::new(&scope, &outside, Sources::default()), &words);
    }
    let catalog = env.providers();
    let mut configuration = Configuration::load(env);
    configuration.read_known_values(env, &args.variables);
    let (mut problems, sources) = (take(&mut configuration.diagnostics), take(&mut configuration.sources));
    let (expansion, found) = configuration.expand(&catalog, &mut ArgumentsOnly);
    problems.extend(found);
    // What could be evaluated can still be asked for.
    diagnostics::report(env, &problems, &sources)?;
    let scope = expansion.console(&catalog, &outside);
    let words: Vec<String> = expansion.words().collect();
    talk(env, &mut Session::new(&scope, &outside, sources), &words)
}

fn has_configuration(outside: &dyn Outside) -> bool {
    let names = outside.list(Path::new(".")).unwrap_or_default();
    names.iter().any(|name| name.ends_with(EXTENSION))
}

fn talk(env: &mut Env, session: &mut Session<'_>, words: &[String]) -> Result<Exit, Failure> {
    if env.terminal.stdin && env.terminal.stdout {
        interactive::talk(env, session, words)
    } else {
        answer_lines(env, session)
    }
}

/// Answers one expression per line, and goes on after those that fail.
fn answer_lines(env: &mut Env, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = env.stdin.read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::of("standard input cannot be read", &error))? == 0 {
            return Ok(exit);
        }
        let text = String::from_utf8_lossy(&line);
        match text.trim() {
            "" => {}
            "exit" => return Ok(exit),
            text => {
                if !answer(env, session, text)? {
                    exit = Exit::Failed;
                }
            }
        }
    }
}

/// Prints the value of an expression, or what is wrong with it; false if something is.
fn answer(env: &mut Env, session: &mut Session<'_>, text: &str) -> Result<bool, Failure> {
    match session.answer(text) {
        Ok(value) => writeln!(env.stdout, "{value}")?,
        Err(problems) => {
            diagnostics::report(env, &problems, session.sources())?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// What expressions can refer to where there is no configuration.
fn paths(env: &Env) -> Names {
    let paths = [("cwd", env.cwd.to_string_lossy()), ("module", ".".into()), ("root", ".".into())];
    let paths = paths.into_iter().map(|(name, path)| (name.into(), Value::from(&*path))).collect();
    Names([("path".into(), Value::object(paths))].into())
}
