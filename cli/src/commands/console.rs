//! `fleet console`.

mod interactive;
mod session;
mod type_text;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use fleet_lang::{Names, Value};
use fleet_syntax::Sources;

use self::session::Session;
use crate::{Env, Exit, Failure, diagnostics};

/// Evaluate expressions
///
/// On a terminal it reads expressions with history and completion (Tab), over several lines while brackets are open.
/// Otherwise it reads one expression per line and prints each value; problems go to standard error, and the exit code
/// is 1 if there were any:
///
///   echo 'cidrhost("10.0.0.0/8", 5)' | fleet console
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ConsoleArgs {}

pub(crate) fn console(env: &mut Env, _args: &ConsoleArgs) -> Result<Exit, Failure> {
    let scope = surroundings(env);
    let outside = env.outside();
    let mut session = Session::new(&scope, &outside, Sources::default());
    if env.terminal.stdin && env.terminal.stdout {
        interactive::talk(env, &mut session, &words(&scope))
    } else {
        answer_lines(env, &mut session)
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

/// What expressions can refer to.
fn surroundings(env: &Env) -> Names {
    let paths = [("cwd", env.cwd.to_string_lossy()), ("module", ".".into()), ("root", ".".into())];
    let paths: BTreeMap<Arc<str>, Value> =
        paths.into_iter().map(|(name, path)| (name.into(), Value::from(&*path))).collect();
    Names([("path".into(), Value::object(paths))].into())
}

/// The names in scope, as completion offers them.
fn words(scope: &Names) -> Vec<String> {
    let mut words = Vec::new();
    for (name, value) in &scope.0 {
        words.push(name.to_string());
        words.extend(
            value.entries().into_iter().flatten().map(|(attribute, _)| format!("{name}.{attribute}")),
        );
    }
    words
}
