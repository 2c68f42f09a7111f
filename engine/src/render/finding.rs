//! Known bad states: in a plan, and as an examination tells them host by host.

use super::line::{Line, Sign, clean, count};
use super::step::named;
use super::text::{Colour, Sheet};
use crate::document::{By, Examination, Finding, Unseen};

/// Who tells of a bad state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Teller {
    /// A plan, which may cure it.
    Plan,
    /// An examination, which plans nothing.
    Doctor,
}

/// A bad state by its name, with who sees it; and below it the evidence and the cure.
pub(super) fn finding(finding: &Finding, teller: Teller) -> (Line, Vec<Line>) {
    let heading = named(Sign::Alarm, &clean(&finding.name), Some(clean(&finding.address)));
    let who = match (finding.by, &finding.kind, teller) {
        (By::Person, ..) => "by you".to_owned(),
        (By::Apply, _, Teller::Plan) if finding.planned => "in this plan".to_owned(),
        (By::Apply, Some(kind), _) => format!("by a `{}`", clean(kind)),
        (By::Apply, None, Teller::Plan) => "by an apply that does not leave it out".to_owned(),
        (By::Apply, None, Teller::Doctor) => "by `fleet apply`".to_owned(),
    };
    let line = |word: &str, text: &str| Line::new(Sign::None, 1, format!("{word}: {}", clean(text)));
    (heading, vec![line("evidence", &finding.evidence), line(&format!("cure, {who}"), &finding.cure)])
}

/// What came of an examination, host by host; the last line sums up.
#[must_use]
pub fn examination(examination: &Examination, colour: Colour) -> String {
    let mut sheet = Sheet::new(colour);
    let Examination { hosts, findings, unseen, notes, .. } = examination;
    let elsewhere = findings.iter().any(|it| it.host.is_none()) || unseen.iter().any(|it| it.host.is_none());
    let places = hosts.iter().map(Some).chain(elsewhere.then_some(None));
    for place in places {
        let here = |host: &Option<String>| host.as_ref() == place;
        let found: Vec<&Finding> = findings.iter().filter(|it| here(&it.host)).collect();
        let not_seen: Vec<&Unseen> = unseen.iter().filter(|it| here(&it.host)).collect();
        let name = place.map_or_else(|| "not on a host".to_owned(), |host| clean(host));
        let well = if found.is_empty() && not_seen.is_empty() { ": nothing found" } else { ":" };
        sheet.title(&format!("{name}{well}"));
        for (heading, body) in found.iter().map(|it| finding(it, Teller::Doctor)) {
            sheet.paragraph(&heading, &body);
        }
        for (heading, body) in not_seen.iter().map(|it| not_seen_lines(it)) {
            sheet.paragraph(&heading, &body);
        }
    }
    for note in notes {
        sheet.title(&clean(note));
    }
    sheet.title(&summary(examination));
    sheet.text
}

/// So many things that cannot be seen are named.
const NAMED: usize = 3;

fn not_seen_lines(unseen: &Unseen) -> (Line, Vec<Line>) {
    let names: Vec<String> = unseen.addresses.iter().take(NAMED).map(|address| clean(address)).collect();
    let more = match unseen.addresses.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let heading = named(Sign::Later, &format!("cannot be seen: {}{more}", names.join(", ")), None);
    let mut lines = vec![Line::new(Sign::None, 1, clean(&unseen.why))];
    lines.extend(unseen.help.as_ref().map(|help| Line::new(Sign::None, 1, format!("help: {}", clean(help)))));
    (heading, lines)
}

fn summary(examination: &Examination) -> String {
    let hosts = count(examination.hosts.len(), "host", "hosts");
    let found = match examination.findings.len() {
        0 => "nothing found".to_owned(),
        n => count(n, "finding", "findings"),
    };
    let things = examination.unseen.iter().map(|unseen| unseen.addresses.len()).sum::<usize>();
    match things {
        0 => format!("{hosts}: {found}."),
        n => format!("{hosts}: {found}, {} cannot be seen.", count(n, "thing", "things")),
    }
}
