//! A plan as people read it in a terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use anstyle::{AnsiColor, Effects};

use super::finding::{Teller, finding};
use super::line::{Line, Sign, Style, clean, count};
use super::repeat::Seen;
use super::{step, words};
use crate::address::Address;
use crate::document::{Because, Document, LeftOut, Warning};

/// Whether to write colours. Who sits at the other end is for the caller to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// No.
    Plain,
    /// As terminals understand it.
    Ansi,
}

/// Of so many instances of a block that were left out for the same reason, all are named.
const NAMED_ALONE: usize = 3;

/// The plan, a paragraph for each thing that changes; the last line sums up.
#[must_use]
pub fn text(document: &Document, colour: Colour) -> String {
    let mut sheet = Sheet::new(colour);
    let mut seen = Seen::default();
    for line in words::preamble(document) {
        sheet.title(&line);
        sheet.gap();
    }
    if !document.findings.is_empty() {
        sheet.title("Known bad states:");
        for (heading, body) in document.findings.iter().map(|it| finding(it, Teller::Plan)) {
            sheet.paragraph(&heading, &body);
        }
    }
    let mut drifted = step::drifted(document).peekable();
    let has_drifted = drifted.peek().is_some();
    if has_drifted {
        sheet.title("Changed outside of fleet:");
        for step in drifted {
            sheet.paragraph(&step::drift_heading(step), &step::drift_body(step, document.goal, &mut seen));
        }
    }
    let mut shown = document.steps.iter().filter(|step| !step.is_bookkeeping()).peekable();
    if (has_drifted || !document.findings.is_empty()) && shown.peek().is_some() {
        sheet.title("What apply will do:");
    }
    for step in shown {
        sheet.paragraph(&step::heading(step), &step::body(step, &mut seen));
    }
    if !document.deferred.is_empty() {
        sheet.title("Decided later, in the same apply:");
        sheet.lines(&deferred(document));
    }
    if !document.left_out.is_empty() {
        sheet.title("Left out:");
        sheet.lines(&left_out(document));
    }
    if !document.outputs.is_empty() {
        sheet.title("Outputs:");
        sheet.lines(&step::outputs(&document.outputs, &mut seen));
    }
    if !document.warnings.is_empty() {
        sheet.title("Warnings:");
        for (heading, particulars) in document.warnings.iter().map(warning) {
            sheet.paragraph(&heading, &particulars);
        }
    }
    if document.extra_rounds > 0 {
        let rounds = count(document.extra_rounds, "more time", "more times");
        sheet
            .title(&format!("Reality was asked {rounds}, because what was read decided where else to look."));
        sheet.gap();
    }
    sheet.title(&words::summary(&document.summary));
    sheet.text
}

/// What a following wave decides.
pub(super) fn deferred(document: &Document) -> Vec<Line> {
    let line = |deferred: &crate::document::Deferred| {
        let awaits = deferred.awaits.as_ref().map(|on| format!("once {} is known", clean(on)));
        step::named(Sign::Later, &clean(&deferred.address), awaits)
    };
    document.deferred.iter().map(line).collect()
}

/// What was left out, block by block where there are many instances.
pub(super) fn left_out(document: &Document) -> Vec<Line> {
    let mut blocks: BTreeMap<(String, String), Vec<&LeftOut>> = BTreeMap::new();
    for left_out in &document.left_out {
        let block = match left_out.because {
            Because::DependsOn { .. } | Because::NeededBy { .. } => left_out.address.clone(),
            Because::NotTargeted | Because::Excluded | Because::Apart { .. } | Because::Blocked { .. } => {
                block_of(&left_out.address)
            }
        };
        blocks.entry((block, words::because(left_out))).or_default().push(left_out);
    }
    let mut lines = Vec::new();
    for ((block, because), of_block) in blocks {
        if of_block.len() <= NAMED_ALONE {
            for left_out in of_block {
                lines.push(step::named(Sign::None, &clean(&left_out.address), Some(because.clone())));
            }
        } else {
            let name = format!("{}, {} instances", clean(&block), of_block.len());
            lines.push(step::named(Sign::None, &name, Some(because)));
        }
    }
    lines
}

/// A warning, and its particulars.
pub(super) fn warning(warning: &Warning) -> (Line, Vec<Line>) {
    let mut whereabouts = Vec::new();
    if let Some(at) = &warning.at {
        whereabouts.push(format!("{}:{}", clean(&at.file), at.line));
    }
    whereabouts.extend(warning.address.as_deref().map(clean));
    let whereabouts = (!whereabouts.is_empty()).then(|| whereabouts.join(", "));
    let heading = step::named(Sign::Change, &clean(&warning.summary), whereabouts);
    let detail = warning.detail.lines().map(|line| Line::new(Sign::None, 1, clean(line)));
    let mut lines: Vec<Line> = detail.collect();
    if let Some(help) = &warning.help {
        let help = help.lines().enumerate();
        lines.extend(help.map(|(i, line)| {
            let word = if i == 0 { "help: " } else { "      " };
            Line::new(Sign::None, 1, format!("{word}{}", clean(line)))
        }));
    }
    (heading, lines)
}

/// The name of the block of an instance, without any keys.
fn block_of(address: &str) -> String {
    let Some(Address { item, scope, .. }) = Address::parse(address) else { return address.to_owned() };
    let steps = scope.steps().iter().map(|step| match step {
        crate::address::ScopeStep::Module(name, _) => format!("module.{name}"),
        crate::address::ScopeStep::Fleet(name, _) => format!("fleet.{name}"),
    });
    steps.chain([item.to_string()]).collect::<Vec<_>>().join(".")
}

/// The text as it grows.
pub(super) struct Sheet {
    pub(super) text: String,
    colour: Colour,
}

impl Sheet {
    pub(super) fn new(colour: Colour) -> Sheet {
        Sheet { text: String::new(), colour }
    }

    /// A line of its own.
    pub(super) fn title(&mut self, text: &str) {
        self.piece(Style::Strong, text);
        self.text.push('\n');
    }

    fn gap(&mut self) {
        self.text.push('\n');
    }

    /// Lines that belong together.
    fn lines(&mut self, lines: &[Line]) {
        lines.iter().for_each(|line| self.line(line));
        self.gap();
    }

    pub(super) fn paragraph(&mut self, heading: &Line, body: &[Line]) {
        self.line(heading);
        self.lines(body);
    }

    fn line(&mut self, line: &Line) {
        let indent = if line.level == 0 { 3 - line.sign.text().chars().count() } else { 4 * line.level };
        let is_empty = line.parts.iter().all(|(_, part)| part.is_empty());
        if line.sign != Sign::None || !is_empty {
            self.text.extend(std::iter::repeat_n(' ', indent));
            self.piece(line.sign.style(), line.sign.text());
        }
        if !is_empty {
            self.text.push(' ');
            line.parts.iter().for_each(|(style, part)| self.piece(*style, part));
        }
        self.text.push('\n');
    }

    fn piece(&mut self, style: Style, text: &str) {
        let look = match style {
            Style::Plain => anstyle::Style::new(),
            Style::Strong => anstyle::Style::new().effects(Effects::BOLD),
            Style::Quiet => anstyle::Style::new().effects(Effects::DIMMED),
            Style::Alarm => AnsiColor::Red.on_default(),
            Style::Add => AnsiColor::Green.on_default(),
            Style::Remove => AnsiColor::Red.on_default(),
            Style::Change => AnsiColor::Yellow.on_default(),
        };
        if self.colour == Colour::Plain || look.is_plain() || text.is_empty() {
            self.text.push_str(text);
        } else {
            let _ = write!(self.text, "{look}{text}{look:#}");
        }
    }
}
