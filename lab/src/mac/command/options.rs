//! Options, as the tools of BSD take them: single letters, before the first operand.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Options that were read, and what is left.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// Each letter, with its argument if it takes one.
    pub(super) found: Vec<(char, Option<OsString>)>,
    /// What follows the options.
    pub(super) operands: Vec<OsString>,
}

/// Why options cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// There is no such option.
    Unknown(char),
    /// It takes an argument.
    Alone(char),
}

impl Wrong {
    /// As `getopt` complains.
    pub(super) fn text(&self) -> String {
        match self {
            Wrong::Unknown(letter) => format!("illegal option -- {letter}"),
            Wrong::Alone(letter) => format!("option requires an argument -- {letter}"),
        }
    }
}

impl Options {
    /// Reads words by a list of letters, of which those take an argument that a colon follows.
    pub(super) fn read(words: &[OsString], letters: &str) -> Result<Options, Wrong> {
        let takes = |letter: char| {
            let mut rest = letters.chars().skip_while(move |known| *known != letter);
            rest.next().filter(|_| letter != ':').map(|_| rest.next() == Some(':'))
        };
        let mut found = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.as_slice().first() {
            let bytes = word.as_bytes();
            if bytes.first() != Some(&b'-') || bytes.len() == 1 {
                break;
            }
            words.next();
            if bytes == b"--" {
                break;
            }
            let mut letters = &bytes[1..];
            while let Some((letter, rest)) = letters.split_first() {
                let letter = char::from(*letter);
                letters = rest;
                if !takes(letter).ok_or(Wrong::Unknown(letter))? {
                    found.push((letter, None));
                    continue;
                }
                let argument = if rest.is_empty() {
                    words.next().cloned().ok_or(Wrong::Alone(letter))?
                } else {
                    OsString::from_vec(rest.to_vec())
                };
                found.push((letter, Some(argument)));
                break;
            }
        }
        Ok(Options { found, operands: words.cloned().collect() })
    }

    /// Whether an option was given.
    pub(super) fn has(&self, letter: char) -> bool {
        self.found.iter().any(|(found, _)| *found == letter)
    }

    /// The argument of an option; the last one, if it was given several times.
    pub(super) fn argument(&self, letter: char) -> Option<&OsString> {
        self.found.iter().rev().find(|(found, _)| *found == letter)?.1.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, Wrong> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        Options::read(&words, "ab:c")
    }

    #[test]
    fn letters_arguments_and_operands() {
        let options = read(&["-ab", "x", "-cby", "--", "-a"]).unwrap();
        let some = |text: &str| Some(OsString::from(text));
        assert_eq!(options.found, [('a', None), ('b', some("x")), ('c', None), ('b', some("y"))]);
        assert_eq!(options.operands, ["-a"]);
        assert_eq!(options.argument('b'), some("y").as_ref());
        assert_eq!(read(&["x", "-a"]).unwrap().operands, ["x", "-a"]);
        assert_eq!(read(&["-"]).unwrap().operands, ["-"]);
    }

    #[test]
    fn what_is_wrong() {
        assert_eq!(read(&["-w0"]), Err(Wrong::Unknown('w')));
        assert_eq!(read(&["--long"]), Err(Wrong::Unknown('-')));
        assert_eq!(read(&["-:"]), Err(Wrong::Unknown(':')));
        assert_eq!(read(&["-b"]), Err(Wrong::Alone('b')));
    }
}
