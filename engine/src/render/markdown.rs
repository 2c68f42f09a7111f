//! A plan as a comment on a pull request: the sum first, what is removed before what is made, and no longer than
//! GitHub allows.
//!
//! Whatever comes from outside stands in code blocks. Every line in them starts with a sign or with four spaces, so
//! none can end its block, whatever it holds.

use super::finding::{Teller, finding};
use super::line::{Line, Sign, clean, count};
use super::repeat::Seen;
use super::{step, text, words};
use crate::document::{Action, Document, Goal, Step};

/// How long a comment on GitHub may be, in characters.
pub const GITHUB_LIMIT: usize = 65_536;

/// What one thing may take of a page, as long as others want some of it too.
const SHARE: usize = 4;

/// A thing that does not fit is shown in part if at least so many lines of it fit.
const WORTHWHILE: usize = 8;

const OPEN: &str = "\n```diff\n";
const CLOSE: &str = "```\n\n</details>\n";

/// The plan as Markdown, at most [`GITHUB_LIMIT`] characters long. What had to be left out is said at the end.
#[must_use]
pub fn markdown(document: &Document) -> String {
    within(document, GITHUB_LIMIT)
}

/// The plan as Markdown of at most so many characters, of which there should be some thousands.
pub(super) fn within(document: &Document, limit: usize) -> String {
    let mut page = format!("### fleet plan\n\n**{}**\n", words::summary(&document.summary));
    for line in words::preamble(document) {
        page.push_str(&format!("\n{line}\n"));
    }
    let footer = footer(document);
    let mut sections = sections(document);
    let fixed = length(&page) + length(&footer) + length(&cut_note(usize::MAX, usize::MAX, usize::MAX));
    let around: usize =
        sections.iter().map(|section| length(&section.title()) + length(OPEN) + length(CLOSE)).sum();
    let left = limit.saturating_sub(fixed + around);
    fill(&mut sections, document, left, limit);
    for section in sections.iter().filter(|section| !section.entries.is_empty()) {
        page.push_str(&section.title());
        page.push_str(OPEN);
        section.entries.iter().flat_map(|entry| &entry.shown).for_each(|line| page.push_str(line));
        page.truncate(page.trim_end_matches('\n').len());
        page.push('\n');
        page.push_str(CLOSE);
    }
    let entries = || sections.iter().flat_map(|section| &section.entries);
    let count = |test: fn(&Entry<'_>) -> bool| entries().filter(|entry| test(entry)).count();
    let in_part = count(|entry| entry.missing > 0 && entry.shown.len() > 1);
    let by_name = count(|entry| entry.missing > 0 && entry.shown.len() == 1);
    let not_at_all = count(|entry| entry.shown.is_empty());
    if in_part + by_name + not_at_all > 0 {
        page.push_str(&cut_note(in_part, by_name, not_at_all));
    }
    page.push_str(&footer);
    page
}

/// One fold of the page.
struct Section<'a> {
    title: String,
    /// Whether it is unfolded.
    open: bool,
    entries: Vec<Entry<'a>>,
}

/// One thing in it.
struct Entry<'a> {
    heading: Line,
    body: Content<'a>,
    /// The lines that made it onto the page.
    shown: Vec<String>,
    /// How many did not.
    missing: usize,
}

/// What stands below a heading.
enum Content<'a> {
    Lines(Vec<Line>),
    Step(&'a Step),
    Drift(&'a Step),
}

impl Section<'_> {
    fn title(&self) -> String {
        let open = if self.open { " open" } else { "" };
        format!("\n<details{open}><summary>{}</summary>\n", self.title)
    }
}

/// Puts on the page what fits: the names of all things first, those of short sections before those of long ones, then
/// what is to be said of each, in order.
fn fill(sections: &mut [Section<'_>], document: &Document, mut left: usize, limit: usize) {
    let mut short_first: Vec<_> = sections.iter_mut().collect();
    short_first.sort_by_key(|section| section.entries.len());
    for entry in short_first.into_iter().flat_map(|section| &mut section.entries) {
        let line = written(&entry.heading);
        let cost = length(&line);
        if cost <= left {
            left -= cost;
            entry.shown.push(line);
        }
    }
    let mut seen = Seen::default();
    for entry in sections.iter_mut().flat_map(|section| &mut section.entries) {
        let mark = seen.mark();
        let body = match &entry.body {
            Content::Lines(lines) => lines.clone(),
            Content::Step(step) => step::body(step, &mut seen),
            Content::Drift(step) => step::drift_body(step, document.goal, &mut seen),
        };
        let lines: Vec<String> = body.iter().map(written).collect();
        // A line is left free below what has something below its name.
        let gap = if lines.is_empty() { "" } else { "\n" };
        let cost = lines.iter().map(|line| length(line)).sum::<usize>() + length(gap);
        let share = left.min(limit / SHARE);
        if !entry.shown.is_empty() && cost <= share {
            left -= cost;
            entry.shown.extend(lines);
            entry.shown.push(gap.to_owned());
            continue;
        }
        seen.back_to(mark);
        entry.missing = lines.len();
        let note =
            |missing: usize| written(&Line::note(1, format!("{missing} more lines do not fit here"))) + "\n";
        let mut room = share.saturating_sub(length(&note(usize::MAX)));
        let fits = |line: &&String| {
            let fits = length(line) <= room;
            room = room.saturating_sub(length(line));
            fits
        };
        let part: Vec<String> = lines.iter().take_while(fits).cloned().collect();
        if !entry.shown.is_empty() && part.len() >= WORTHWHILE {
            entry.missing -= part.len();
            entry.shown.extend(part);
            entry.shown.push(note(entry.missing));
            left -= entry.shown.iter().skip(1).map(|line| length(line)).sum::<usize>().min(left);
        }
    }
}

fn sections<'a>(document: &'a Document) -> Vec<Section<'a>> {
    let mut sections = Vec::new();
    let mut add = |title: String, open: bool, entries: Vec<Entry<'a>>| {
        if !entries.is_empty() {
            sections.push(Section { title, open, entries });
        }
    };
    let warnings = document.warnings.iter().map(|warning| {
        let (heading, particulars) = text::warning(warning);
        entry(heading, Content::Lines(particulars))
    });
    add(count(document.warnings.len(), "warning", "warnings"), false, warnings.collect());
    let findings = document.findings.iter().map(|it| {
        let (heading, particulars) = finding(it, Teller::Plan);
        entry(heading, Content::Lines(particulars))
    });
    let title = count(document.findings.len(), "known bad state", "known bad states");
    add(format!("<b>{title}</b>"), true, findings.collect());
    let groups = [
        (Action::Destroy, "to destroy"),
        (Action::Replace, "to replace"),
        (Action::Update, "to update"),
        (Action::Create, "to create"),
        (Action::Record, "to import or move"),
        (Action::Read, "to read"),
        (Action::Forget, "to forget"),
    ];
    for (action, words) in groups {
        let steps = document.steps.iter().filter(|step| step.action == action && !step.is_bookkeeping());
        let entries: Vec<_> = steps.map(|step| entry(step::heading(step), Content::Step(step))).collect();
        let open = matches!(action, Action::Destroy | Action::Replace);
        add(format!("<b>{} {words}</b>", entries.len()), open, entries);
    }
    let drift = step::drifted(document).map(|step| entry(step::drift_heading(step), Content::Drift(step)));
    let drift: Vec<_> = drift.collect();
    add(format!("{} changed outside of fleet", drift.len()), document.goal == Goal::RefreshOnly, drift);
    let mut outputs = step::outputs(&document.outputs, &mut Seen::default()).into_iter();
    let outputs = outputs.next().map(|first| entry(first, Content::Lines(outputs.collect())));
    let title = format!("{} to change", count(document.outputs.len(), "output", "outputs"));
    add(title, false, outputs.into_iter().collect());
    let plain =
        |lines: Vec<Line>| lines.into_iter().map(|line| entry(line, Content::Lines(Vec::new()))).collect();
    let title = format!("{} to decide later, in the same apply", document.deferred.len());
    add(title, false, plain(text::deferred(document)));
    add(format!("{} left out", document.left_out.len()), false, plain(text::left_out(document)));
    sections
}

fn entry(heading: Line, body: Content<'_>) -> Entry<'_> {
    Entry { heading, body, shown: Vec::new(), missing: 0 }
}

/// A line of a code block.
fn written(line: &Line) -> String {
    let sign = match line.sign {
        Sign::Change => "!",
        sign => sign.text(),
    };
    let spaces = match (line.sign, line.level) {
        (Sign::None, 0) => 4,
        (_, level) => 4 * level + 1,
    };
    let mut text = format!("{sign}{}", " ".repeat(spaces));
    line.parts.iter().for_each(|(_, part)| text.push_str(part));
    if line.parts.iter().all(|(_, part)| part.is_empty()) {
        text.truncate(text.trim_end().len());
    }
    text.push('\n');
    text
}

fn cut_note(in_part: usize, by_name: usize, not_at_all: usize) -> String {
    let mut parts = Vec::new();
    for (n, words) in
        [(in_part, "shown in part"), (by_name, "shown by name only"), (not_at_all, "not shown at all")]
    {
        if n > 0 {
            parts.push(format!("{n} {words}"));
        }
    }
    format!(
        "\n> **Cut to fit into a comment:** {}. Nothing was cut from the sum above; `fleet show` of the saved plan shows everything.\n",
        parts.join(", ")
    )
}

/// Where the plan comes from.
fn footer(document: &Document) -> String {
    let header = &document.header;
    let short = |text: &str, longest: usize| html(&clean(text).chars().take(longest).collect::<String>());
    let mut parts = vec![format!("fleet {}", short(&header.fleet, 32))];
    if !header.planned_at.is_empty() {
        parts.push(short(&header.planned_at, 40));
    }
    if !header.configuration.is_empty() {
        parts.push(format!("configuration {}", short(&header.configuration, 16)));
    }
    parts.push(format!("state serial {}", header.serial));
    format!("\n<p><sub>{}</sub></p>\n", parts.join(" · "))
}

fn html(text: &str) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        match char {
            // A line that starts with HTML holds no Markdown, but GitHub looks for names and numbers in it.
            '&' | '<' | '>' | '"' | '\'' | '`' | '@' | '#' => {
                escaped.push_str(&format!("&#{};", u32::from(char)));
            }
            _ => escaped.push(char),
        }
    }
    escaped
}

/// How long GitHub takes a text to be: never less than its characters.
pub(super) fn length(text: &str) -> usize {
    text.encode_utf16().count()
}
