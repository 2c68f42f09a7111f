//! Texts of several lines, and how they change: line by line, with a few unchanged lines around each change.

use std::sync::Arc;

use fleet_lang::print::{escape, is_printable};
use similar::{ChangeTag, TextDiff};

use super::change::{Body, Lead};
use super::line::{Line, Sign, Style, count};

/// So many unchanged lines are shown before and after each change.
const AROUND: usize = 3;

/// Texts with more lines than this are shown once in a plan.
const SHOWN_AGAIN: usize = 10;

impl Body<'_> {
    /// Writes a text that comes, goes or stays as a whole.
    pub(super) fn whole_text(
        &mut self,
        sign: Sign,
        level: usize,
        lead: &Lead,
        text: &Arc<str>,
        note: Option<&str>,
    ) {
        let paper = Paper::new([text]);
        let lines = paper.lines_of(sign, level + 1, text);
        let heading = format!("{}{}", count(text.lines().count(), "line", "lines"), paper.remark());
        if let Some(place) = self.shown_before(None, text, lines.len()) {
            return self.line(sign, level, lead, &format!("{heading}, the same as in {place}"), note);
        }
        self.line(sign, level, lead, &format!("{heading}:"), note);
        self.lines.extend(lines);
    }

    /// Writes how a text changes.
    pub(super) fn text_change(
        &mut self,
        level: usize,
        lead: &Lead,
        before: &Arc<str>,
        after: &Arc<str>,
        note: Option<&str>,
    ) {
        let paper = Paper::new([before, after]);
        let diff = TextDiff::from_lines(&**before, &**after);
        let (mut removed, mut added) = (0, 0);
        let mut lines = Vec::new();
        let mut shown_to = 0;
        let skip = |from: usize, to: usize, lines: &mut Vec<Line>| {
            if to > from {
                let text = count(to - from, "unchanged line", "unchanged lines");
                lines.push(Line::note(level + 1, format!("{text} not shown")));
            }
        };
        for group in diff.grouped_ops(AROUND) {
            skip(shown_to, group.first().map_or(shown_to, |op| op.old_range().start), &mut lines);
            shown_to = group.last().map_or(shown_to, |op| op.old_range().end);
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let sign = match change.tag() {
                    ChangeTag::Equal => Sign::None,
                    ChangeTag::Delete => Sign::Remove,
                    ChangeTag::Insert => Sign::Add,
                };
                removed += usize::from(sign == Sign::Remove);
                added += usize::from(sign == Sign::Add);
                paper.write(sign, level + 1, change.value(), &mut lines);
            }
        }
        skip(shown_to, diff.old_len(), &mut lines);
        let (old, new) = (before.lines().count(), after.lines().count());
        let length = if old == new { String::new() } else { format!("{old} → ") };
        let mut heading = format!("{length}{}", count(new, "line", "lines"));
        for (n, word) in [(removed, "removed"), (added, "added")] {
            if n > 0 {
                heading.push_str(&format!(", {n} {word}"));
            }
        }
        heading.push_str(paper.remark());
        if without_space(before).eq(without_space(after)) {
            heading.push_str(", only white space differs");
        }
        if let Some(place) = self.shown_before(Some(before), after, lines.len()) {
            return self.line(
                Sign::Change,
                level,
                lead,
                &format!("{heading}, the same change as in {place}"),
                note,
            );
        }
        self.line(Sign::Change, level, lead, &format!("{heading}:"), note);
        self.lines.extend(lines);
    }

    /// Where the same was shown in this plan; if nowhere, it is from now on here.
    fn shown_before(
        &mut self,
        before: Option<&Arc<str>>,
        after: &Arc<str>,
        n_lines: usize,
    ) -> Option<String> {
        if n_lines <= SHOWN_AGAIN { None } else { self.seen.place_of(before, after, &self.at) }
    }
}

/// How the lines of a text are written: as they are, or, if something in it does not print, with escapes throughout,
/// so that an escape is never mistaken for characters that stand there.
struct Paper {
    escaped: bool,
}

impl Paper {
    fn new<const N: usize>(texts: [&str; N]) -> Paper {
        let odd = |c: char| !is_printable(c) && c != '\n' && c != '\t';
        Paper { escaped: texts.iter().any(|text| text.chars().any(odd)) }
    }

    fn remark(&self) -> &'static str {
        if self.escaped { ", with escapes" } else { "" }
    }

    fn lines_of(&self, sign: Sign, level: usize, text: &str) -> Vec<Line> {
        let mut lines = Vec::new();
        text.split_inclusive('\n').for_each(|line| self.write(sign, level, line, &mut lines));
        lines
    }

    fn write(&self, sign: Sign, level: usize, line: &str, lines: &mut Vec<Line>) {
        let style = if sign == Sign::None { Style::Quiet } else { sign.style() };
        let content = line.strip_suffix('\n').unwrap_or(line);
        let mut text = String::with_capacity(content.len());
        for char in content.chars() {
            match char {
                '\t' => text.push('\t'),
                _ if self.escaped => escape(char, &mut text),
                _ => text.push(char),
            }
        }
        lines.push(Line { sign, level, parts: vec![(style, text)] });
        if !line.ends_with('\n') {
            lines.push(Line::note(level, "no newline at the end"));
        }
    }
}

fn without_space(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace())
}
