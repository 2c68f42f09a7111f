//! A file of rules → words with the lines they stand in; macros are gone.

use std::collections::BTreeMap;

use super::Mistake;

/// A word of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A name, a number or an address.
    Plain(String),
    /// What stood between quotes.
    Quoted(String),
    /// One of `{ } ( ) < > , ! =`.
    Sign(char),
    /// `->`.
    Arrow,
}

/// The words of one statement, and the line in which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) line: usize,
    pub(super) words: Vec<Word>,
}

/// Takes a file apart. A statement ends with its line, unless a brace is open.
pub(super) fn statements(text: &str) -> Result<Vec<Statement>, Vec<Mistake>> {
    let (mut found, mut mistakes, mut macros) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    while let Some((line, text)) = lines.next() {
        let mut words = Vec::new();
        let mut rest = text.to_owned();
        loop {
            let (whole, goes_on) = match rest.strip_suffix('\\') {
                Some(whole) => (whole.to_owned(), true),
                None => (rest.clone(), false),
            };
            match split(&whole, &macros) {
                Ok(more) => words.extend(more),
                Err(message) => mistakes.push(Mistake { line, message }),
            }
            let open = words.iter().filter(|word| **word == Word::Sign('{')).count();
            let closed = words.iter().filter(|word| **word == Word::Sign('}')).count();
            if !goes_on && open <= closed {
                break;
            }
            match lines.next() {
                Some((_, next)) => next.clone_into(&mut rest),
                None => break,
            }
        }
        match &words[..] {
            [] => {}
            [Word::Plain(name), Word::Sign('='), value @ ..] => {
                // A macro in quotes is more words.
                let value = value.iter().map(|word| match word {
                    Word::Quoted(text) => split(text, &macros).unwrap_or_default(),
                    other => vec![other.clone()],
                });
                let value: Vec<Word> = value.flatten().collect();
                macros.insert(name.clone(), value);
            }
            _ => found.push(Statement { line, words }),
        }
    }
    if mistakes.is_empty() { Ok(found) } else { Err(mistakes) }
}

fn split(text: &str, macros: &BTreeMap<String, Vec<Word>>) -> Result<Vec<Word>, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._:/-*%@+".contains(c);
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        if first == '#' {
            break;
        }
        rest = if first.is_whitespace() {
            after
        } else if let Some(after) = rest.strip_prefix("->") {
            words.push(Word::Arrow);
            after
        } else if "{}()<>,!=".contains(first) {
            words.push(Word::Sign(first));
            after
        } else if first == '"' {
            let (inner, after) = after.split_once('"').ok_or_else(|| "unterminated string".to_owned())?;
            words.push(Word::Quoted(inner.to_owned()));
            after
        } else if first == '$' {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
            let name = &after[..end];
            let value = macros.get(name).ok_or_else(|| format!("macro '{name}' not defined"))?;
            words.extend(value.iter().cloned());
            &after[end..]
        } else if is_plain(first) {
            let end = rest.find(|c: char| !is_plain(c)).unwrap_or(rest.len());
            // An arrow needs no space before it.
            let end = rest[..end].find("->").unwrap_or(end);
            words.push(Word::Plain(rest[..end].to_owned()));
            &rest[end..]
        } else {
            return Err("syntax error".to_owned());
        };
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_their_lines_and_macros_are_gone() {
        let text = "# a comment\nvms = \"{ 10.0.0.0/8 }\"\n\npass from $vms \\\n  to <x> port = 22 # more\nanchor \"a/*\"\n";
        let statements = statements(text).unwrap();
        assert_eq!(statements.iter().map(|one| one.line).collect::<Vec<_>>(), [4, 6]);
        let plain = |text: &str| Word::Plain(text.to_owned());
        let expected = [
            plain("pass"),
            plain("from"),
            Word::Sign('{'),
            plain("10.0.0.0/8"),
            Word::Sign('}'),
            plain("to"),
            Word::Sign('<'),
            plain("x"),
            Word::Sign('>'),
            plain("port"),
            Word::Sign('='),
            plain("22"),
        ];
        assert_eq!(statements[0].words, expected);
        assert_eq!(statements[1].words[1], Word::Quoted("a/*".into()));
    }

    #[test]
    fn what_is_no_word_is_said_with_its_line() {
        let mistake = |text: &str| {
            let mistakes = statements(text).unwrap_err();
            (mistakes[0].line, mistakes[0].message.clone())
        };
        assert_eq!(mistake("pass all\npass from $x\n"), (2, "macro 'x' not defined".into()));
        assert_eq!(mistake("anchor \"a\n"), (1, "unterminated string".into()));
        assert_eq!(mistake("pass; all\n"), (1, "syntax error".into()));
    }
}
