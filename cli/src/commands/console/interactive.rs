//! The console on a terminal: history, completion, and lines that go on while brackets are open.

use std::path::PathBuf;

use fleet_lang::functions;
use fleet_syntax::token::{TokenKind, tokens};
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};

use super::answer;
use super::session::Session;
use crate::{Env, Exit, Failure};

const HELP: &str = "\
Type an expression to see its value:  1 + 2    upper(\"a\")    [for n in range(3) : n * n]
  type(x)   shows the type of a value
  Tab       completes names of functions and values
  Ctrl-C    drops the line, Ctrl-D or `exit` leaves
";

/// Answers expressions until the person leaves. A failed expression is no failure of the session.
pub(super) fn talk(env: &mut Env, session: &mut Session<'_>, words: &[String]) -> Result<Exit, Failure> {
    let failed = |error: ReadlineError| Failure::of("the terminal cannot be used", &error);
    let config = Config::builder().auto_add_history(true).max_history_size(10_000).map_err(failed)?.build();
    let mut editor: Editor<Prompt, DefaultHistory> = Editor::with_config(config).map_err(failed)?;
    let functions = functions::all().map(|function| format!("{}(", function.name));
    editor.set_helper(Some(Prompt { words: functions.chain(words.iter().cloned()).collect() }));
    // History is a comfort: a session without it is still a session.
    let history = history_file(env);
    if let Some(file) = &history {
        let _ = editor.load_history(file);
    }
    loop {
        match editor.readline("> ") {
            Ok(text) => match text.trim() {
                "" => {}
                "exit" => break,
                "help" => env.stdout.write_all(HELP.as_bytes())?,
                text => {
                    answer(env, session, text)?;
                }
            },
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        }
    }
    if let Some(file) = &history {
        let _ = file.parent().map(std::fs::create_dir_all);
        let _ = editor.save_history(file);
    }
    Ok(Exit::Done)
}

/// Where the history is kept: in the user's state directory.
fn history_file(env: &Env) -> Option<PathBuf> {
    let state = env.var("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| env.var("HOME").map(|home| PathBuf::from(home).join(".local/state")));
    Some(state?.join("fleet/console_history"))
}

/// Whether an expression goes on: a bracket or a heredoc is still open.
fn is_open(text: &str) -> bool {
    let mut brackets = 0_i64;
    let mut heredocs = 0_i64;
    for token in tokens(text) {
        match token.kind {
            TokenKind::OpenBrace | TokenKind::OpenBracket | TokenKind::OpenParen => brackets += 1,
            TokenKind::CloseBrace | TokenKind::CloseBracket | TokenKind::CloseParen => brackets -= 1,
            TokenKind::OpenHeredoc => heredocs += 1,
            TokenKind::CloseHeredoc => heredocs -= 1,
            _ => {}
        }
    }
    brackets > 0 || heredocs > 0
}

/// The words that complete the one before the cursor, and where that one starts.
fn completions<'w>(words: &'w [String], line: &str, cursor: usize) -> (usize, Vec<&'w str>) {
    let part_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let before = &line[..cursor];
    let start = before.trim_end_matches(part_of_word).len();
    let typed = &before[start..];
    let fitting = words.iter().map(String::as_str).filter(|word| word.starts_with(typed));
    (start, if typed.is_empty() { Vec::new() } else { fitting.collect() })
}

/// What the line editor asks about a line.
struct Prompt {
    words: Vec<String>,
}

impl Completer for Prompt {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = completions(&self.words, line, cursor);
        let pairs =
            words.into_iter().map(|word| Pair { display: word.to_owned(), replacement: word.to_owned() });
        Ok((start, pairs.collect()))
    }
}

impl Validator for Prompt {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_open(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Hinter for Prompt {
    type Hint = String;
}

impl Highlighter for Prompt {}

impl Helper for Prompt {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_while_something_is_open() {
        let check = |text, expected| assert_eq!(is_open(text), expected, "{text}");
        check("1 + 2", false);
        check("[1,", true);
        check("[1,\n2]", false);
        check("{ a = (1", true);
        check("\"[\"", false);
        check("\"${[\"", true);
        check("<<EOT\nabc\n", true);
        check("<<EOT\nabc\nEOT\n", false);
        check("]", false);
    }

    #[test]
    fn the_word_before_the_cursor_is_completed() {
        let words = ["upper(", "urlencode(", "path.module", "path.root"].map(str::to_owned);
        let check = |line: &str, start, expected: &[&str]| {
            assert_eq!(completions(&words, line, line.len()), (start, expected.to_vec()), "{line}");
        };
        check("u", 0, &["upper(", "urlencode("]);
        check("1 + up", 4, &["upper("]);
        check("\"${path.", 3, &["path.module", "path.root"]);
        check("upper(", 6, &[]);
        check("é + up", 5, &["upper("]);
    }
}
