//! Which programs a POSIX shell script calls, and by which fixed words. It understands as much of the shell as our own scripts
//! use.

use std::collections::BTreeSet;

/// Words after which a command follows.
const RESERVED: [&str; 11] = ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{"];

/// Programs that call another, which follows their options; the last is a function of ours.
const AROUND: [&str; 7] = ["sudo", "env", "exec", "command", "nohup", "xargs", "as_user"];

/// Commands whose next words are a script.
const SCRIPTS: [&[&str]; 3] = [&["eval"], &["/bin/sh", "-c"], &["sh", "-c"]];

/// Options of these that take a word.
const WITH_WORD: [&str; 3] = ["-u", "-p", "-g"];

/// The commands of a script, each with the words that are the same at every call.
pub(super) fn calls(script: &str) -> Vec<Vec<String>> {
    let mut reader = Reader { text: script.chars().collect(), at: 0, calls: Vec::new() };
    reader.commands();
    reader.calls
}

/// The functions that a script defines.
pub(super) fn functions(script: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let (name, _) = line.trim_start().split_once("()")?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| name.to_owned())
    };
    script.lines().filter_map(name).collect()
}

struct Reader {
    text: Vec<char>,
    at: usize,
    calls: Vec<Vec<String>>,
}

/// A word, and whether it is the same at every call.
struct Word {
    text: String,
    is_fixed: bool,
    is_assignment: bool,
}

/// Where in a `case` something stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Subject,
    Pattern,
    Body,
}

/// A command as far as it was read.
#[derive(Default)]
struct Command {
    words: Vec<String>,
    /// Whether a word came that is not the same at every call.
    has_varied: bool,
    /// Whether the next word belongs to the option before it.
    takes_word: bool,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn end(&mut self, command: &mut Option<Command>) {
        self.calls.extend(command.take().map(|command| command.words).filter(|words| !words.is_empty()));
    }

    /// Reads commands up to the end, or up to a closing parenthesis.
    fn commands(&mut self) {
        let mut command: Option<Command> = None;
        let (mut starts, mut skips) = (true, false);
        let mut cases: Vec<Case> = Vec::new();
        while let Some(char) = self.peek(0) {
            match char {
                ' ' | '\t' => self.at += 1,
                '#' => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1
                    }
                }
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                ';' if self.peek(1) == Some(';') => {
                    self.end(&mut command);
                    if let Some(case) = cases.last_mut() {
                        *case = Case::Pattern
                    }
                    self.at += 2;
                    starts = true;
                }
                '\n' | ';' | '|' | '&' => {
                    self.end(&mut command);
                    (starts, skips) = (true, false);
                    self.at += 1;
                }
                '(' if cases.last() == Some(&Case::Pattern) => self.at += 1,
                '(' if self.peek(1) == Some(')') => {
                    // What was read is the name of a function.
                    command = None;
                    starts = true;
                    self.at += 2;
                }
                '(' => {
                    self.end(&mut command);
                    self.at += 1;
                    self.commands();
                    starts = false;
                }
                ')' if cases.last() == Some(&Case::Pattern) => {
                    if let Some(case) = cases.last_mut() {
                        *case = Case::Body
                    }
                    self.at += 1;
                    starts = true;
                }
                ')' => {
                    self.end(&mut command);
                    self.at += 1;
                    return;
                }
                '<' | '>' => {
                    while matches!(self.peek(0), Some('<' | '>' | '&' | ' ')) {
                        self.at += 1
                    }
                    self.word();
                }
                _ => {
                    let word = self.word();
                    let is_descriptor = word.text.chars().all(|c| c.is_ascii_digit())
                        && matches!(self.peek(0), Some('<' | '>'));
                    match (cases.last(), &*word.text) {
                        _ if is_descriptor => {}
                        (Some(Case::Pattern), "esac") => drop(cases.pop()),
                        (Some(Case::Pattern), _) => {}
                        (Some(Case::Subject), "in") => {
                            if let Some(case) = cases.last_mut() {
                                *case = Case::Pattern
                            }
                        }
                        (Some(Case::Subject), _) => {}
                        _ if skips => {}
                        (_, "esac") if starts => drop(cases.pop()),
                        (_, "case") if starts => cases.push(Case::Subject),
                        (_, "for") if starts => skips = true,
                        (_, "}") if starts => starts = false,
                        (_, text) if starts && word.is_fixed && RESERVED.contains(&text) => {}
                        _ if starts && word.is_assignment => {}
                        _ if starts => {
                            starts = false;
                            command = word
                                .is_fixed
                                .then(|| Command { words: vec![word.text], ..Command::default() });
                        }
                        _ => starts = self.further(&mut command, word),
                    }
                }
            }
        }
        self.end(&mut command);
    }

    /// A word that is not the first of its command; whether a command follows.
    fn further(&mut self, command: &mut Option<Command>, word: Word) -> bool {
        let Some(now) = command else { return false };
        if word.text == "-exec" {
            self.end(command);
            return true;
        }
        if AROUND.contains(&&*now.words[0]) {
            let is_option = word.text.starts_with('-');
            if std::mem::take(&mut now.takes_word) || word.text.contains('=') {
                return false;
            }
            if !is_option {
                self.end(command);
                *command = word.is_fixed.then(|| Command { words: vec![word.text], ..Command::default() });
                return false;
            }
            now.takes_word = WITH_WORD.contains(&&*word.text);
        }
        if SCRIPTS.iter().any(|start| now.words == *start) {
            self.calls.extend(calls(&word.text));
        }
        now.has_varied |= !word.is_fixed;
        if !now.has_varied {
            now.words.push(word.text);
        }
        false
    }

    fn word(&mut self) -> Word {
        let mut word = Word { text: String::new(), is_fixed: true, is_assignment: false };
        while let Some(char) = self.peek(0) {
            match char {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    word.text.extend(self.peek(1));
                    self.at += 2;
                }
                '\'' => {
                    self.at += 1;
                    while let Some(char) = self.peek(0).filter(|char| *char != '\'') {
                        word.text.push(char);
                        self.at += 1;
                    }
                    self.at += 1;
                }
                '"' => {
                    self.at += 1;
                    while let Some(char) = self.peek(0).filter(|char| *char != '"') {
                        match char {
                            '\\' => {
                                word.text.extend(self.peek(1));
                                self.at += 2;
                            }
                            '$' => {
                                self.dollar();
                                word.is_fixed = false;
                            }
                            _ => {
                                word.text.push(char);
                                self.at += 1;
                            }
                        }
                    }
                    self.at += 1;
                }
                '$' => {
                    self.dollar();
                    word.is_fixed = false;
                }
                _ => {
                    let is_name = |text: &str| {
                        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                    };
                    word.is_assignment |= char == '=' && word.is_fixed && is_name(&word.text);
                    word.text.push(char);
                    self.at += 1;
                }
            }
        }
        word
    }

    /// What `$` stands before. The commands in `$(…)` are commands like others.
    fn dollar(&mut self) {
        self.at += 1;
        match (self.peek(0), self.peek(1)) {
            (Some('('), Some('(')) => self.balanced('(', ')'),
            (Some('('), _) => {
                self.at += 1;
                self.commands();
            }
            (Some('{'), _) => self.balanced('{', '}'),
            (Some(char), _) if char.is_ascii_alphabetic() || char == '_' => {
                while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    self.at += 1;
                }
            }
            _ => self.at += 1,
        }
    }

    fn balanced(&mut self, open: char, close: char) {
        let mut depth = 0;
        while let Some(char) = self.peek(0) {
            self.at += 1;
            match char {
                '\\' => self.at += 1,
                _ if char == open => depth += 1,
                _ if char == close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_wherever_they_stand() {
        let check = |script: &str, expected: &[&str]| {
            let found: Vec<String> = calls(script).iter().map(|words| words.join(" ")).collect();
            assert_eq!(found, expected, "{script}");
        };
        check("a b; c | d && e || f &\ng", &["a b", "c", "d", "e", "f", "g"]);
        check("x=1 y=\"$(a b)\" c $z d", &["a b", "c"]);
        check("if a; then b; elif ! c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
        check("for f in a b; do c \"$f\"; done", &["c"]);
        check("case $(a) in b | c) d ;; *) e >f 2>&1 ;; esac; g", &["a", "d", "e", "g"]);
        check("f() {\n  a # b\n  return 1\n}\nf x", &["a", "return 1", "f x"]);
        check("sudo -n -u \"$u\" env A=b c d \"$e\" g", &["sudo -n -u", "env", "c d"]);
        check("find . -type f -exec stat -f %N {} + | sort", &["find . -type f", "stat -f %N {} +", "sort"]);
        check("a ${b:-$(c)} $((1 + (2))) 'd e' \"f\\\"g\"", &["a"]);
        check("(cd x && a) </dev/null", &["cd x", "a"]);
        check("eval \"a \\\"\\${$n}\\\"\"; command -v b", &["a", "eval", "command -v", "b"]);
        check(
            "as_user /bin/sh -c 'cd \"$1\" && ./a b' sh",
            &["as_user", "cd", "./a b", "/bin/sh -c cd \"$1\" && ./a b sh"],
        );
        assert_eq!(functions("a() { b; }\n  c() {\n"), ["a", "c"].map(str::to_owned).into());
    }
}
