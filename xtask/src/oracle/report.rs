//! What agrees and what does not.

use super::known::Known;
use crate::Outcome;

/// One thing that the two programs see differently.
pub(super) struct Disagreement {
    about: String,
    ours: String,
    theirs: String,
}

/// Everything that was compared so far.
pub(super) struct Report {
    known: Known,
    groups: Vec<Group>,
    unexplained: usize,
    wrong: usize,
}

struct Group {
    name: String,
    cases: usize,
    known: usize,
    unexplained: usize,
}

impl Disagreement {
    pub(super) fn of(about: &str, ours: &impl ToString, theirs: &impl ToString) -> Disagreement {
        Disagreement { about: about.to_owned(), ours: ours.to_string(), theirs: theirs.to_string() }
    }
}

impl Report {
    pub(super) fn new(known: Known) -> Report {
        Report { known, groups: Vec::new(), unexplained: 0, wrong: 0 }
    }

    /// A group of cases begins.
    pub(super) fn start(&mut self, group: &str, cases: usize) {
        println!("== {group}: {cases} cases");
        self.groups.push(Group { name: group.to_owned(), cases, known: 0, unexplained: 0 });
    }

    /// A case of the last group that started came out differently.
    pub(super) fn disagree(&mut self, group: &str, found: &Disagreement) {
        let reason = self.known.reason(&found.about);
        let counted = self.groups.last_mut().expect("a group has started");
        let Disagreement { about, ours, theirs } = found;
        match reason {
            Some(reason) => {
                counted.known += 1;
                println!("known ({group}): {}\n    {reason}", indented(about));
            }
            None => {
                counted.unexplained += 1;
                self.unexplained += 1;
                let (about, ours, theirs) = (indented(about), indented(ours), indented(theirs));
                println!("DISAGREE ({group}): {about}\n    fleet:     {ours}\n    terraform: {theirs}");
            }
        }
    }

    /// The programs agree with each other, but not with what the case says about itself.
    pub(super) fn wrong_case(&mut self, group: &str, about: &str, wrong: &str) {
        self.wrong += 1;
        println!("WRONG CASE ({group}): {}: {wrong}", indented(about));
    }

    /// Sums up, and fails if anything is unexplained.
    pub(super) fn finish(&self, complete: bool) -> Outcome {
        println!();
        println!("| group | cases | agree | known | unexplained |");
        println!("|---|---:|---:|---:|---:|");
        for Group { name, cases, known, unexplained } in &self.groups {
            let agree = cases - known - unexplained;
            // A share of an empty group is of no interest.
            let share = 100.0 * agree as f64 / (*cases).max(1) as f64;
            println!("| {name} | {cases} | {agree} ({share:.2} %) | {known} | {unexplained} |");
        }
        if complete {
            self.known.stale().for_each(|text| println!("no longer needed in known.txt: {}", indented(text)));
        }
        match (self.unexplained, self.wrong) {
            (0, 0) => Ok(()),
            (found, 0) => Err(format!("{found} disagreements without a reason in known.txt")),
            (found, wrong) => Err(format!("{found} disagreements without a reason, {wrong} wrong cases")),
        }
    }
}

/// A text below a heading, cut where nobody would read on.
fn indented(text: &str) -> String {
    const ENOUGH: usize = 1000;
    let mut shown: String = text.chars().take(ENOUGH).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.replace('\n', "\n        ")
}
