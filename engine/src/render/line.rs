//! The lines of a plan, before they are put on paper: signs, indentation and styles, but no colours and no Markdown.

use fleet_lang::print::{escape, is_printable};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// What stands in front of it.
    pub(super) sign: Sign,
    /// How far in: 0 for the line that names a thing, 1 for its attributes.
    pub(super) level: usize,
    /// The text. Nothing in it breaks the line or speaks to a terminal.
    pub(super) parts: Vec<(Style, String)>,
}

/// What stands in front of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Nothing.
    None,
    /// `+`
    Add,
    /// `-`
    Remove,
    /// `↩`
    Return,
    /// `~`
    Change,
    /// `-/+`
    RemoveAdd,
    /// `+/-`
    AddRemove,
    /// `<=`
    Read,
    /// `.`
    Forget,
    /// `←`
    Import,
    /// `→`
    Move,
    /// `?`
    Later,
    /// `#`
    Note,
    /// `!`
    Alarm,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Nothing special.
    Plain,
    /// The name of a thing.
    Strong,
    /// An aside.
    Quiet,
    /// Must not be overlooked.
    Alarm,
    /// Comes.
    Add,
    /// Goes.
    Remove,
    /// Changes.
    Change,
}

impl Line {
    /// A line with a text.
    pub(super) fn new(sign: Sign, level: usize, text: impl Into<String>) -> Line {
        Line { sign, level, parts: vec![(Style::Plain, text.into())] }
    }

    /// A line that says something about the others.
    pub(super) fn note(level: usize, text: impl Into<String>) -> Line {
        Line { sign: Sign::Note, level, parts: vec![(Style::Quiet, text.into())] }
    }

    /// Adds a piece of text.
    pub(super) fn with(mut self, style: Style, text: impl Into<String>) -> Line {
        self.parts.push((style, text.into()));
        self
    }
}

impl Sign {
    /// How it is written.
    pub(super) fn text(self) -> &'static str {
        match self {
            Sign::None => " ",
            Sign::Add => "+",
            Sign::Remove => "-",
            Sign::Return => "↩",
            Sign::Change => "~",
            Sign::RemoveAdd => "-/+",
            Sign::AddRemove => "+/-",
            Sign::Read => "<=",
            Sign::Forget => ".",
            Sign::Import => "←",
            Sign::Move => "→",
            Sign::Later => "?",
            Sign::Note => "#",
            Sign::Alarm => "!",
        }
    }

    /// How it looks.
    pub(super) fn style(self) -> Style {
        match self {
            Sign::None => Style::Plain,
            Sign::Add => Style::Add,
            Sign::Remove | Sign::Return | Sign::RemoveAdd | Sign::AddRemove => Style::Remove,
            Sign::Change | Sign::Read | Sign::Forget | Sign::Import | Sign::Move => Style::Change,
            Sign::Later | Sign::Note => Style::Quiet,
            Sign::Alarm => Style::Alarm,
        }
    }
}

/// A text from outside on one line: what does not print is escaped.
pub(super) fn clean(text: &str) -> String {
    if text.chars().all(is_printable) {
        return text.to_owned();
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        match char {
            '\\' => clean.push('\\'),
            _ => escape(char, &mut clean),
        }
    }
    clean
}

/// A number of things: `1 line`, `2 lines`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
