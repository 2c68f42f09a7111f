//! The texts of a run and positions in them.

use std::ops::Range;
use std::sync::Arc;

/// Names one text of a [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A range of bytes in one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text it lies in.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Covers both spans and all between them; both lie in one text.
    #[must_use]
    pub fn to(self, end: Span) -> Span {
        debug_assert_eq!(self.file, end.file);
        Span { file: self.file, start: self.start, end: end.end }
    }
}

/// A place as editors count it: both numbers start at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// One text with the name people know it by.
#[derive(Debug)]
pub struct Source {
    /// The path as shown to people, or a name such as `<console>`.
    pub name: String,
    /// The whole text.
    pub text: Arc<str>,
    line_starts: Vec<u32>,
}

/// All texts of a run.
#[derive(Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

impl Sources {
    /// Adds a text and names it. A text longer than 4 GiB cannot be addressed and must be refused before.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        let text = text.into();
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1);
        let line_starts = std::iter::once(0).chain(newlines).collect();
        self.files.push(Source { name: name.into(), text, line_starts });
        FileId(self.files.len() as u32 - 1)
    }

    /// The text of that name.
    #[must_use]
    pub fn get(&self, file: FileId) -> &Source {
        &self.files[file.0 as usize]
    }

    /// All texts, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.files.iter()
    }

    /// The characters under a span.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        &self.get(span.file).text[span.start as usize..span.end as usize]
    }
}

impl Source {
    /// The line and column of a byte.
    #[must_use]
    pub fn position(&self, byte: u32) -> Position {
        let line = self.line_starts.partition_point(|start| *start <= byte) - 1;
        let start = self.line_starts[line] as usize;
        let before = &self.text[start..self.text.floor_char_boundary(byte as usize)];
        Position { line: line as u32 + 1, column: before.chars().count() as u32 + 1 }
    }

    /// The bytes of a line, counted from 1, without its line ending; `None` past the last line.
    #[must_use]
    pub fn line(&self, line: u32) -> Option<Range<usize>> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.line_starts.get(index)? as usize;
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |next| *next as usize);
        let text = &self.text[start..end];
        let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
        Some(start..start + text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_their_endings() {
        let mut sources = Sources::default();
        let file = sources.add("x", "a\nbé\r\n\n\rc");
        let source = sources.get(file);
        let lines: Vec<&str> =
            (1..).map_while(|line| source.line(line)).map(|range| &source.text[range]).collect();
        assert_eq!(lines, ["a", "bé", "", "\rc"]);
        assert_eq!(source.line(0), None);
    }
}
