//! How values change, as lines: only what changes, at any depth, with a count of what is not shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_width::UnicodeWidthStr;

use super::line::{Line, Sign, Style, count};
use super::repeat::Seen;
use super::value::{has_lines, inline, json, label, quoted_pair};
use crate::document::{Members, Shown};

/// Names are padded to the longest one beside them, but not further than this.
const WIDEST_NAME: usize = 40;

/// A change from one value to another that takes more columns is written on two lines.
const WIDEST_CHANGE: usize = 100;

/// What stands between a name and its value.
const EQUALS: &str = " = ";

/// Texts of one line that are JSON are shown as what they mean from this length on.
const LONG_JSON: usize = 60;

/// The lines of one thing, as they are gathered.
pub(super) struct Body<'a> {
    /// What was gathered.
    pub(super) lines: Vec<Line>,
    /// Where the attribute at hand is, for those who refer to it.
    pub(super) at: String,
    /// The long texts that were shown so far.
    pub(super) seen: &'a mut Seen,
}

/// One member that changes.
pub(super) struct Row<'a> {
    /// Its name as shown; empty if it has none.
    pub(super) label: String,
    /// What is there.
    pub(super) before: Option<&'a Shown>,
    /// What will be there.
    pub(super) after: Option<&'a Shown>,
    /// What must not be overlooked about it.
    pub(super) note: Option<&'a str>,
}

/// A name with what follows it, and how wide both are.
#[derive(Clone, Debug, Default)]
pub(super) struct Lead {
    text: String,
    width: usize,
}

impl Body<'_> {
    /// Writes members, their names aligned.
    pub(super) fn rows(&mut self, level: usize, rows: &[Row<'_>]) {
        let width = widest(rows.iter().map(|row| &*row.label));
        rows.iter().for_each(|row| self.row(level, row, width));
    }

    /// Writes one member, its name padded to a width.
    pub(super) fn row(&mut self, level: usize, row: &Row<'_>, width: usize) {
        let lead = Lead::new(&row.label, width);
        match (row.before, row.after) {
            (None, None) => {}
            (None, Some(after)) => self.whole(Sign::Add, level, &lead, after, row.note),
            (Some(before), None) => self.whole(Sign::Remove, level, &lead, before, row.note),
            (Some(before), Some(after)) => self.change(level, &lead, before, after, row.note),
        }
    }

    /// Writes a value that comes, goes or stays as a whole.
    pub(super) fn whole(&mut self, sign: Sign, level: usize, lead: &Lead, value: &Shown, note: Option<&str>) {
        if let Shown::Text(text) = value {
            if text.chars().take(LONG_JSON).count() == LONG_JSON
                && let Some(meaning) = json(text)
            {
                return self.whole_within(("jsonencode(", ")"), sign, level, lead, &meaning, note);
            }
            if has_lines(text) {
                return self.whole_text(sign, level, lead, text, note);
            }
        }
        match inline(value) {
            Some(text) => self.line(sign, level, lead, &text, note),
            None => self.whole_within(("", ""), sign, level, lead, value, note),
        }
    }

    /// Writes a list or map, spread over lines, within something.
    fn whole_within(
        &mut self,
        (open, close): (&str, &str),
        sign: Sign,
        level: usize,
        lead: &Lead,
        value: &Shown,
        note: Option<&str>,
    ) {
        let (start, end) = brackets(value);
        self.line(sign, level, lead, &format!("{open}{start}"), note);
        match value {
            Shown::List(items) | Shown::Set(items) => {
                items.iter().for_each(|item| self.whole(sign, level + 1, &Lead::default(), item, None));
            }
            Shown::Map(entries) => {
                let names: Vec<String> = entries.keys().map(|name| label(name)).collect();
                let width = widest(names.iter().map(String::as_str));
                for (name, entry) in names.iter().zip(entries.values()) {
                    self.whole(sign, level + 1, &Lead::new(name, width), entry, None);
                }
            }
            leaf => self.lines.push(Line::new(sign, level + 1, inline(leaf).unwrap_or_default())),
        }
        self.lines.push(Line::new(Sign::None, level, format!("{end}{close}")));
    }

    /// Writes how a value changes into another.
    fn change(&mut self, level: usize, lead: &Lead, before: &Shown, after: &Shown, note: Option<&str>) {
        if before == after {
            let whole = matches!(after, Shown::Sensitive | Shown::Ephemeral);
            let hidden = if whole { "changes" } else { "changes where it is hidden" };
            let note = note.map_or(hidden.to_owned(), |note| format!("{hidden}, {note}"));
            let text = inline(after).unwrap_or_else(|| "…".to_owned());
            return self.line(Sign::Change, level, lead, &text, Some(&note));
        }
        match (before, after) {
            (Shown::Text(before), Shown::Text(after)) => self.text(level, lead, before, after, note),
            (Shown::Map(_), Shown::Map(_))
            | (Shown::List(_), Shown::List(_))
            | (Shown::Set(_), Shown::Set(_)) => {
                self.members(("", ""), level, lead, before, after, note);
            }
            _ => self.arrow(level, lead, before, after, note),
        }
    }

    /// Writes how a text changes into another.
    fn text(&mut self, level: usize, lead: &Lead, before: &Arc<str>, after: &Arc<str>, note: Option<&str>) {
        let long = before.len().max(after.len()) >= LONG_JSON;
        let meanings = if long { json(before).zip(json(after)) } else { None };
        match meanings {
            Some((before, after)) if before != after && same_sort(&before, &after) => {
                self.members(("jsonencode(", ")"), level, lead, &before, &after, note);
            }
            _ if has_lines(before) || has_lines(after) => {
                self.text_change(level, lead, before, after, note);
            }
            _ => {
                let (before, after) = quoted_pair(before, after);
                self.two(level, lead, &before, &after, note);
            }
        }
    }

    /// Writes which members of a list, set or map change.
    fn members(
        &mut self,
        (open, close): (&str, &str),
        level: usize,
        lead: &Lead,
        before: &Shown,
        after: &Shown,
        note: Option<&str>,
    ) {
        let (start, end) = brackets(after);
        self.line(Sign::Change, level, lead, &format!("{open}{start}"), note);
        let (rows, same, noun) = match (before, after) {
            (Shown::Map(before), Shown::Map(after)) => {
                let (rows, same) = map_rows(before, after);
                (rows, same, ("entry", "entries"))
            }
            (Shown::Set(before), Shown::Set(after)) => {
                let (rows, same) = set_rows(before, after);
                (rows, same, ("element", "elements"))
            }
            (Shown::List(before), Shown::List(after)) => {
                let (rows, same) = list_rows(before, after);
                (rows, same, ("element", "elements"))
            }
            _ => (Vec::new(), Same::default(), ("", "")),
        };
        self.rows(level + 1, &rows);
        self.hidden(level + 1, same, noun);
        self.lines.push(Line::new(Sign::None, level, format!("{end}{close}")));
    }

    /// Says how much is not shown.
    pub(super) fn hidden(&mut self, level: usize, same: Same, (one, many): (&str, &str)) {
        if same.open > 0 {
            let unchanged = (format!("unchanged {one}"), format!("unchanged {many}"));
            let text = format!("{} not shown", count(same.open, &unchanged.0, &unchanged.1));
            self.lines.push(Line::note(level, text));
        }
        if same.hidden > 0 {
            let text = format!("{} hidden, changed or not", count(same.hidden, one, many));
            self.lines.push(Line::note(level, text));
        }
    }

    /// Writes one value and the other, or one below the other if one of them takes several lines.
    fn arrow(&mut self, level: usize, lead: &Lead, before: &Shown, after: &Shown, note: Option<&str>) {
        match (inline(before), inline(after)) {
            (Some(before), Some(after)) => self.two(level, lead, &before, &after, note),
            _ => {
                self.whole(Sign::Remove, level, lead, before, None);
                self.whole(Sign::Add, level, lead, after, note);
            }
        }
    }

    fn two(&mut self, level: usize, lead: &Lead, before: &str, after: &str, note: Option<&str>) {
        if lead.width + before.width() + after.width() <= WIDEST_CHANGE {
            return self.line(Sign::Change, level, lead, &format!("{before} → {after}"), note);
        }
        self.line(Sign::Change, level, lead, before, None);
        let indent = Lead { text: " ".repeat(lead.width.saturating_sub(2)), width: 0 };
        self.line(Sign::None, level, &indent, &format!("→ {after}"), note);
    }

    /// Writes one line.
    pub(super) fn line(&mut self, sign: Sign, level: usize, lead: &Lead, text: &str, note: Option<&str>) {
        let line = Line::new(sign, level, [&*lead.text, text].concat());
        self.lines.push(match note {
            Some(note) => line.with(Style::Alarm, format!("  # {note}")),
            None => line,
        });
    }
}

impl Lead {
    /// A name, padded to a width.
    pub(super) fn new(label: &str, width: usize) -> Lead {
        if label.is_empty() {
            return Lead::default();
        }
        let own = label.width();
        let padding = width.saturating_sub(own);
        let mut text = String::with_capacity(label.len() + padding + EQUALS.len());
        text.push_str(label);
        text.extend(std::iter::repeat_n(' ', padding));
        text.push_str(EQUALS);
        Lead { width: own + padding + EQUALS.len(), text }
    }
}

/// How many members are not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Same {
    /// Those that are the same.
    pub(super) open: usize,
    /// Those that hold something hidden, so that a reader cannot tell.
    pub(super) hidden: usize,
}

impl Same {
    fn add(&mut self, value: &Shown) {
        if value.hides() { self.hidden += 1 } else { self.open += 1 }
    }
}

/// How far names that stand below each other are padded.
pub(super) fn widest<'a>(labels: impl Iterator<Item = &'a str>) -> usize {
    labels.map(UnicodeWidthStr::width).filter(|width| *width <= WIDEST_NAME).max().unwrap_or(0)
}

fn brackets(value: &Shown) -> (&'static str, &'static str) {
    if matches!(value, Shown::Map(_)) { ("{", "}") } else { ("[", "]") }
}

fn same_sort(a: &Shown, b: &Shown) -> bool {
    matches!((a, b), (Shown::Map(_), Shown::Map(_)) | (Shown::List(_), Shown::List(_)))
}

fn map_rows<'a>(before: &'a Members, after: &'a Members) -> (Vec<Row<'a>>, Same) {
    let mut same = Same::default();
    let mut rows = Vec::new();
    let names: BTreeSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
    for name in names {
        match (before.get(name), after.get(name)) {
            (Some(before), Some(after)) if before == after => same.add(after),
            (before, after) => rows.push(Row { label: label(name), before, after, note: None }),
        }
    }
    (rows, same)
}

fn set_rows<'a>(before: &'a [Shown], after: &'a [Shown]) -> (Vec<Row<'a>>, Same) {
    let row = |before, after| Row { label: String::new(), before, after, note: None };
    let (old, new): (BTreeSet<&Shown>, BTreeSet<&Shown>) = (before.iter().collect(), after.iter().collect());
    let mut same = Same::default();
    old.intersection(&new).for_each(|item| same.add(item));
    let gone = old.difference(&new).map(|item| row(Some(*item), None));
    let come = new.difference(&old).map(|item| row(None, Some(*item)));
    (gone.chain(come).collect(), same)
}

fn list_rows<'a>(before: &'a [Shown], after: &'a [Shown]) -> (Vec<Row<'a>>, Same) {
    let mut same = Same::default();
    let mut rows = Vec::new();
    let mut row = |index: usize, before: Option<&'a Shown>, after: Option<&'a Shown>| {
        rows.push(Row { label: format!("[{index}]"), before, after, note: None });
    };
    for op in capture_diff_slices(Algorithm::Myers, before, after) {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                before[old_index..old_index + len].iter().for_each(|item| same.add(item));
            }
            DiffOp::Delete { old_index, old_len, .. } => {
                (old_index..old_index + old_len).for_each(|i| row(i, Some(&before[i]), None));
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                (new_index..new_index + new_len).for_each(|i| row(i, None, Some(&after[i])));
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                for i in 0..old_len.max(new_len) {
                    let old = (i < old_len).then(|| &before[old_index + i]);
                    let new = (i < new_len).then(|| &after[new_index + i]);
                    row(if new.is_some() { new_index + i } else { old_index + i }, old, new);
                }
            }
        }
    }
    (rows, same)
}
