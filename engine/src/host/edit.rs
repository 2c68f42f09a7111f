//! How a file is changed that others write, too. Pure.
//!
//! What looks at such a file and what changes it see the same lines: [`blocks`] and [`Pattern`] are the eyes of both.
//! A line ends at its newline, and a carriage return before that belongs to its end.

use std::fmt;

use regex::bytes::Regex;

use crate::attributes::Misfit;

/// A change of a file. What is put into the file may be secret, and is not shown.
#[derive(Clone, PartialEq, Eq)]
pub enum Edit {
    /// Exactly one block between two marker lines stands in the file afterwards; everything else survives byte for byte.
    Block {
        /// The whole line before it.
        begin: String,
        /// The whole line after it.
        end: String,
        /// What stands between; none if there is to be no block at all.
        text: Option<String>,
        /// Regular expressions: whole lines outside of the block that match one of them go.
        supersedes: Vec<String>,
    },
    /// Exactly one such line stands in the file afterwards, or none.
    Line {
        /// The line, without its end.
        line: String,
        /// Whether it is to be there.
        present: bool,
        /// A regular expression: other whole lines that match it go; the line stands where the first of them stood.
        matching: Option<String>,
    },
}

/// A regular expression that a whole line matches or does not.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

/// Part of a file with a block in it.
enum Piece<'a> {
    /// A line that is no part of a block, with its end.
    Outside(&'a [u8]),
    /// What stands between the marker lines.
    Block(&'a [u8]),
}

impl Edit {
    /// The file as it is afterwards. What cannot be done is an error, and nothing is changed then.
    pub fn apply(&self, before: &[u8]) -> Result<Vec<u8>, Misfit> {
        match self {
            Edit::Block { begin, end, text, supersedes } => {
                with_block(before, begin, end, text.as_deref(), &Pattern::all(supersedes)?)
            }
            Edit::Line { line, present, matching } => {
                one_line("line", line)?;
                let matching = matching.as_deref().map(Pattern::new).transpose()?;
                Ok(with_line(before, line, *present, matching.as_ref()))
            }
        }
    }
}

impl Pattern {
    /// Compiles a regular expression.
    pub fn new(pattern: &str) -> Result<Pattern, Misfit> {
        let refuse = |error: &regex::Error| {
            Misfit::new("", format!("`{pattern}` is no regular expression: {}", reason(error)))
        };
        // By itself first: what closes a bracket too much must not close ours.
        Regex::new(pattern).map_err(|error| refuse(&error))?;
        // The newline ends a comment that a pattern with `(?x)` may end in; without that flag it must not be there.
        let anchored = [format!(r"\A(?:{pattern})\z"), format!("\\A(?:{pattern}\n)\\z")];
        let compiled = Regex::new(&anchored[0]).or_else(|_| Regex::new(&anchored[1]));
        compiled.map(Pattern).map_err(|error| refuse(&error))
    }

    /// Compiles several.
    pub fn all<P: AsRef<str>>(patterns: &[P]) -> Result<Vec<Pattern>, Misfit> {
        patterns.iter().map(|pattern| Pattern::new(pattern.as_ref())).collect()
    }

    /// Whether all of a line, without its end, matches.
    #[must_use]
    pub fn is_match(&self, line: &[u8]) -> bool {
        self.0.is_match(line)
    }
}

/// A regular expression that only this text matches.
#[must_use]
pub fn literally(text: &str) -> String {
    regex::escape(text)
}

/// The lines of a file, without their ends.
pub fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').map(|line| parts(line).0)
}

/// What stands between marker lines, for each block there is. A block that does not end is an error.
pub fn blocks<'a>(content: &'a [u8], begin: &str, end: &str) -> Result<Vec<&'a [u8]>, Misfit> {
    let inside = |piece| match piece {
        Piece::Block(text) => Some(text),
        Piece::Outside(_) => None,
    };
    Ok(pieces(content, begin, end)?.into_iter().filter_map(inside).collect())
}

/// The lines outside of all blocks, without their ends.
pub fn outside<'a>(content: &'a [u8], begin: &str, end: &str) -> Result<Vec<&'a [u8]>, Misfit> {
    let line = |piece| match piece {
        Piece::Block(_) => None,
        Piece::Outside(line) => Some(parts(line).0),
    };
    Ok(pieces(content, begin, end)?.into_iter().filter_map(line).collect())
}

fn with_block(
    before: &[u8],
    begin: &str,
    end: &str,
    text: Option<&str>,
    supersedes: &[Pattern],
) -> Result<Vec<u8>, Misfit> {
    if begin == end {
        return Err(Misfit::new("", "the marker lines of a block must differ"));
    }
    one_line("begin", begin)?;
    one_line("end", end)?;
    let block = text.map(|text| block(begin, end, text)).transpose()?;
    let mut after = Vec::with_capacity(before.len() + block.as_ref().map_or(0, Vec::len));
    let mut block = block.as_deref();
    for piece in pieces(before, begin, end)? {
        match piece {
            Piece::Block(_) => after.extend_from_slice(block.take().unwrap_or_default()),
            Piece::Outside(line) => {
                let content = parts(line).0;
                if !supersedes.iter().any(|pattern| pattern.is_match(content)) {
                    after.extend_from_slice(line);
                }
            }
        }
    }
    if let Some(block) = block {
        append(&mut after, block);
    }
    Ok(after)
}

/// A block with its marker lines. A text that does not end in a newline gets one.
fn block(begin: &str, end: &str, text: &str) -> Result<Vec<u8>, Misfit> {
    if let Some(marker) = lines(text.as_bytes()).find(|line| is(line, begin) || is(line, end)) {
        let marker = String::from_utf8_lossy(marker).into_owned();
        return Err(Misfit::new("", format!("a block cannot hold its own marker line `{marker}`")));
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{begin}\n{text}{newline}{end}\n").into_bytes())
}

fn with_line(before: &[u8], line: &str, present: bool, matching: Option<&Pattern>) -> Vec<u8> {
    let mut after = Vec::with_capacity(before.len() + line.len() + 1);
    let mut missing = present;
    for there in before.split_inclusive(|byte| *byte == b'\n') {
        let (content, ending) = parts(there);
        if !is(content, line) && !matching.is_some_and(|pattern| pattern.is_match(content)) {
            after.extend_from_slice(there);
        } else if std::mem::take(&mut missing) {
            after.extend_from_slice(line.as_bytes());
            after.extend_from_slice(ending);
        }
    }
    if missing {
        append(&mut after, format!("{line}\n").as_bytes());
    }
    after
}

/// Adds whole lines; a last line that has no end gets one.
fn append(content: &mut Vec<u8>, lines: &[u8]) {
    if content.last().is_some_and(|last| *last != b'\n') {
        content.push(b'\n');
    }
    content.extend_from_slice(lines);
}

fn pieces<'a>(content: &'a [u8], begin: &str, end: &str) -> Result<Vec<Piece<'a>>, Misfit> {
    let mut pieces = Vec::new();
    let (mut at, mut inside) = (0, None);
    for (number, line) in content.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let (marker, next) = (parts(line).0, at + line.len());
        match inside {
            None if is(marker, begin) => inside = Some((next, number + 1)),
            None => pieces.push(Piece::Outside(line)),
            Some((_, first)) if is(marker, begin) => return Err(open(begin, end, first)),
            Some((start, _)) if is(marker, end) => {
                pieces.push(Piece::Block(&content[start..at]));
                inside = None;
            }
            Some(_) => {}
        }
        at = next;
    }
    match inside {
        Some((_, first)) => Err(open(begin, end, first)),
        None => Ok(pieces),
    }
}

fn open(begin: &str, end: &str, first: usize) -> Misfit {
    Misfit::new(
        "",
        format!("the block that begins in line {first} with `{begin}` has no end: `{end}` is missing"),
    )
}

fn one_line(attribute: &str, text: &str) -> Result<(), Misfit> {
    let fits = !text.contains(['\n', '\r']);
    if fits { Ok(()) } else { Err(Misfit::new(attribute, "one line is needed, without its end")) }
}

/// A line and its end.
fn parts(line: &[u8]) -> (&[u8], &[u8]) {
    let n_end = if line.ends_with(b"\r\n") { 2 } else { usize::from(line.ends_with(b"\n")) };
    line.split_at(line.len() - n_end)
}

fn is(line: &[u8], text: &str) -> bool {
    line == text.as_bytes()
}

/// What is wrong, without the drawing of where.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Edit::Block { begin, end, text, supersedes } => f
                .debug_struct("Block")
                .field("begin", begin)
                .field("end", end)
                .field("text", &text.as_ref().map(|text| format!("({} bytes)", text.len())))
                .field("supersedes", supersedes)
                .finish(),
            Edit::Line { line, present, matching } => f
                .debug_struct("Line")
                .field("line", &format!("({} bytes)", line.len()))
                .field("present", present)
                .field("matching", matching)
                .finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block(text: Option<&str>, supersedes: &[&str]) -> Edit {
        Edit::Block {
            begin: "# BEGIN x".into(),
            end: "# END x".into(),
            text: text.map(Into::into),
            supersedes: supersedes.iter().map(ToString::to_string).collect(),
        }
    }

    fn line(line: &str, present: bool, matching: Option<&str>) -> Edit {
        Edit::Line { line: line.into(), present, matching: matching.map(Into::into) }
    }

    fn apply(edit: &Edit, before: &str) -> String {
        String::from_utf8(edit.apply(before.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn exactly_one_block_results() {
        let check = |before: &str, supersedes: &[&str], expected: &str| {
            assert_eq!(apply(&block(Some("new"), supersedes), before), expected, "{before:?}");
        };
        let new = "# BEGIN x\nnew\n# END x\n";
        check("", &[], new);
        check("a\n", &[], &format!("a\n{new}"));
        check("a", &[], &format!("a\n{new}"));
        check("a\r\nb", &[], &format!("a\r\nb\n{new}"));
        check("a\n# BEGIN x\nold\n# END x\nb", &[], &format!("a\n{new}b"));
        check("a\n# BEGIN x\r\nold\r\n# END x\r\nb\r\n", &[], &format!("a\n{new}b\r\n"));
        check("# BEGIN x\n# END x", &[], new);
        check("# BEGIN x\n1\n# END x\na\n# BEGIN x\n2\n# END x\nb\n", &[], &format!("{new}a\nb\n"));
        check("# END x\na\n", &[], &format!("# END x\na\n{new}"));
        check("# BEGIN xy\n1\n# END xy\n", &[], &format!("# BEGIN xy\n1\n# END xy\n{new}"));
        check("old 1\nold\nmy old\n", &["old( .*)?"], &format!("my old\n{new}"));
        check("a\n# BEGIN x\nold\n# END x\nold\n", &["old"], &format!("a\n{new}"));
        check("ab\r\nabc\n", &["a|ab"], &format!("abc\n{new}"));
        check("old\n", &["(?x) old # a comment"], new);
    }

    #[test]
    fn no_block_results_if_none_is_wished() {
        let check = |before: &str, expected: &str| assert_eq!(apply(&block(None, &[]), before), expected);
        check("", "");
        check("a", "a");
        check("a\n# BEGIN x\nold\n# END x\nb", "a\nb");
        check("# BEGIN x\n1\n# END x\n# BEGIN x\n2\n# END x\n", "");
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let check = |edit: Edit, before: &str, expected: &str| {
            assert_eq!(edit.apply(before.as_bytes()).unwrap_err().message, expected);
        };
        let open = "the block that begins in line 2 with `# BEGIN x` has no end: `# END x` is missing";
        check(block(Some("y"), &[]), "a\n# BEGIN x\nb\n", open);
        check(block(None, &[]), "a\n# BEGIN x\nb\n# BEGIN x\nc\n# END x\n", open);
        check(block(Some("a\n# END x"), &[]), "", "a block cannot hold its own marker line `# END x`");
        check(block(None, &["a("]), "", "`a(` is no regular expression: unclosed group");
        check(block(None, &["a)|(b"]), "", "`a)|(b` is no regular expression: unopened group");
        check(line("a\nb", true, None), "", "one line is needed, without its end");
    }

    #[test]
    fn exactly_one_line_results_or_none() {
        let check = |edit: Edit, before: &str, expected: &str| assert_eq!(apply(&edit, before), expected);
        let port = |present| line("Port 22", present, Some("#?Port .*"));
        check(line("x", true, None), "", "x\n");
        check(line("x", true, None), "a", "a\nx\n");
        check(line("x", true, None), "x\na\nx\n", "x\na\n");
        check(line("x", true, None), "a\nx", "a\nx");
        check(line("x", false, None), "x\r\na\nx", "a\n");
        check(port(true), "a\n#Port 1\r\nb\nPort 2\n", "a\nPort 22\r\nb\n");
        check(port(true), "Port 1\nPort 22\n", "Port 22\n");
        check(port(true), " Port 1\n", " Port 1\nPort 22\n");
        check(port(false), "a\nPort 1\nPort 22\n", "a\n");
    }

    #[test]
    fn what_is_written_is_not_shown() {
        let shown = format!("{:?} {:?}", block(Some("hunter2"), &[]), line("hunter2", true, None));
        assert!(!shown.contains("hunter2") && shown.contains("(7 bytes)"), "{shown}");
    }

    /// Files made of the lines that matter, and of any bytes.
    fn file() -> impl Strategy<Value = Vec<u8>> {
        const KNOWN: &[&str] = &["# BEGIN x", "# END x", "old", "old 1", "new", "Port 1", "Port 22", "", "a"];
        const ENDS: &[&[u8]] = &[b"\n", b"\n", b"\r\n", b""];
        let one = prop_oneof![
            8 => prop::sample::select(KNOWN).prop_map(|line| line.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..6),
        ];
        let end = prop::sample::select(ENDS);
        prop::collection::vec((one, end).prop_map(|(line, end)| [&line, end].concat()), 0..10)
            .prop_map(|lines| lines.concat())
    }

    fn edit() -> impl Strategy<Value = Edit> {
        const SUPERSEDES: &[&[&str]] = &[&[], &["old.*"], &["a?", "Port \\d+"]];
        let text = prop::option::of(prop::sample::select(&["", "new", "new\nold\n", "a\r\n"][..]));
        let matching = prop::option::of(prop::sample::select(&["Port .*", "old|", "x*"][..]));
        prop_oneof![
            (text, prop::sample::select(SUPERSEDES)).prop_map(|(text, supersedes)| block(text, supersedes)),
            (prop::sample::select(&["new", "Port 22", "old"][..]), any::<bool>(), matching)
                .prop_map(|(text, present, matching)| line(text, present, matching)),
        ]
    }

    /// What no edit here has anything to do with, in its order.
    fn rest<'a>(content: &'a [u8], edit: &Edit) -> Vec<&'a [u8]> {
        match edit {
            Edit::Block { begin, end, supersedes, .. } => {
                let supersedes = Pattern::all(supersedes).unwrap();
                let mut lines = outside(content, begin, end).unwrap();
                lines.retain(|line| !supersedes.iter().any(|pattern| pattern.is_match(line)));
                lines
            }
            Edit::Line { line, matching, .. } => {
                let matching = matching.as_deref().map(|pattern| Pattern::new(pattern).unwrap());
                let goes = |there: &&[u8]| {
                    !is(there, line) && !matching.as_ref().is_some_and(|pattern| pattern.is_match(there))
                };
                lines(content).filter(goes).collect()
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_done_is_seen_and_doing_it_again_changes_nothing(before in file(), edit in edit()) {
            let Ok(after) = edit.apply(&before) else { return Ok(()) };
            prop_assert_eq!(&edit.apply(&after).unwrap(), &after);
            prop_assert_eq!(rest(&before, &edit), rest(&after, &edit));
            match &edit {
                Edit::Block { begin, end, text, supersedes } => {
                    let newline = |text: &str| if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                    let expected: Vec<Vec<u8>> =
                        text.iter().map(|text| format!("{text}{}", newline(text)).into_bytes()).collect();
                    prop_assert_eq!(blocks(&after, begin, end).unwrap(), expected);
                    let supersedes = Pattern::all(supersedes).unwrap();
                    let left = outside(&after, begin, end).unwrap();
                    prop_assert!(!left.iter().any(|line| supersedes.iter().any(|p| p.is_match(line))));
                }
                Edit::Line { line, present, .. } => {
                    let n_there = lines(&after).filter(|there| is(there, line)).count();
                    prop_assert_eq!(n_there, usize::from(*present));
                }
            }
        }

        #[test]
        fn taking_away_what_was_added_gives_the_original_back(before in file(), text in "[a-c\n]{0,8}") {
            let whole = before.is_empty() || before.ends_with(b"\n");
            if !whole || !matches!(blocks(&before, "# BEGIN x", "# END x"), Ok(there) if there.is_empty()) {
                return Ok(());
            }
            let made = block(Some(&text), &[]).apply(&before).unwrap();
            prop_assert_eq!(block(None, &[]).apply(&made).unwrap(), &before[..]);
            let added = line("added here", true, None).apply(&before).unwrap();
            prop_assert_eq!(line("added here", false, None).apply(&added).unwrap(), before);
        }
    }
}
