//! What was measured, as people read it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::accounts::Both;
use super::goals;
use super::tools::{Name, Phase};

/// What tools are measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    /// The delay in each direction.
    pub(super) delay: Duration,
    pub(super) hosts: usize,
}

/// What one phase of a repetition cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) wall: Duration,
    pub(super) used: Both,
    pub(super) peak_bytes: u64,
    /// Round trips of one host, where somebody stood in between to count them.
    pub(super) turns: Option<f64>,
}

/// What came of all repetitions.
pub(super) type Results = BTreeMap<(Case, Name, Phase), Vec<Result<Sample, String>>>;

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = if self.hosts == 1 { "" } else { "s" };
        write!(f, "{} host{ending}", self.hosts)?;
        if self.delay > Duration::ZERO {
            write!(f, ", {} ms each way", self.delay.as_millis())?;
        }
        Ok(())
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sample { wall, used, peak_bytes, turns } = self;
        let (wall, near, far) = (seconds(*wall), seconds(used.near), seconds(used.far));
        write!(f, "wall {wall}, CPU {near} + {far}, {} MiB", peak_bytes >> 20)?;
        turns.map_or(Ok(()), |turns| write!(f, ", {turns:.1} round trips"))
    }
}

impl Sample {
    /// CPU of both ends.
    pub(super) fn cpu(&self) -> Duration {
        self.used.near + self.used.far
    }

    /// The median of each number.
    pub(super) fn median(all: &[Sample]) -> Option<Sample> {
        let duration = |of: &dyn Fn(&Sample) -> Duration| middle(all.iter().map(of).collect());
        let turns: Vec<u64> =
            all.iter().filter_map(|it| it.turns).map(|turns| (turns * 1000.0) as u64).collect();
        Some(Sample {
            wall: duration(&|it| it.wall)?,
            used: Both { near: duration(&|it| it.used.near)?, far: duration(&|it| it.used.far)? },
            peak_bytes: middle(all.iter().map(|it| it.peak_bytes).collect())?,
            turns: middle(turns).map(|turns| turns as f64 / 1000.0),
        })
    }
}

/// The median of what was measured, if it was.
pub(super) fn median(results: &Results, case: Case, name: Name, phase: Phase) -> Option<Sample> {
    let all: Vec<Sample> =
        results.get(&(case, name, phase))?.iter().filter_map(|it| it.as_ref().ok()).copied().collect();
    Sample::median(&all)
}

/// All of it.
pub(super) fn section(
    runs: usize,
    results: &Results,
    versions: &BTreeSet<String>,
    missing: &[String],
    others: &[String],
) -> String {
    let versions: Vec<&str> = versions.iter().map(|it| &**it).collect();
    let mut text = format!(
        "## hosts\n\nCommand: `cargo xtask bench hosts`. Each host is a real sshd on this machine with the settings that OpenSSH \
         comes with, and has 20 files, 5 blocks in a file of others, and 5 probes with their fixes. *First* is everything to \
         be done (fleet: `apply`), *no-op* is nothing (fleet: `plan`). The floor is one `ssh` and one script for each host, \
         written by hand for this very work, all hosts at once; *connections up* is without connecting. Seconds; CPU is that of \
         this end and of the hosts', background processes included. The median of {runs} repetitions counts, the tools taking \
         turns in each; rivals that are slow have fewer. After each run the same check found all hosts as they should be; \
         a no-op moved no inode, time or mode, and the tool itself said that nothing changed.\n"
    );
    if !versions.is_empty() {
        text += &format!(
            "\nAnsible runs with pipelining and as many forks as hosts. Versions: {}.\n",
            versions.join("; ")
        );
    }
    for line in missing {
        text += &format!("\n{line}.\n");
    }
    let cases: BTreeSet<Case> = results.keys().map(|(case, ..)| *case).collect();
    for case in &cases {
        text += &format!("\n{}", table(results, *case));
    }
    let goals = goals::table(results, &cases);
    if !goals.is_empty() {
        text += &format!("\nGoals, by the same numbers:\n\n{goals}");
    }
    for other in others {
        text += &format!("\n{other}");
    }
    text
}

fn table(results: &Results, case: Case) -> String {
    let has_turns = case.delay > Duration::ZERO;
    let turns = |text: &str| if has_turns { text.to_owned() } else { String::new() };
    let mut text = format!(
        "| {case} | first: wall | CPU | here + there |{} no-op: wall | CPU | here + there |{} peak MiB | runs |\n\
         |---|---|---|---|{}---|---|---|{}---|---|\n",
        turns(" round trips |"),
        turns(" round trips |"),
        turns("---|"),
        turns("---|")
    );
    let names: BTreeSet<Name> =
        results.keys().filter(|(of, ..)| *of == case).map(|(_, name, _)| *name).collect();
    for name in names {
        let failed =
            results.get(&(case, name, Phase::First)).into_iter().flatten().find_map(|it| it.as_ref().err());
        let of = |phase| median(results, case, name, phase);
        let runs = results.get(&(case, name, Phase::NoOp)).map_or(0, Vec::len);
        let (first, noop) = (of(Phase::First), of(Phase::NoOp));
        let peak = first.iter().chain(&noop).map(|it| it.peak_bytes).max();
        let peak = peak.map(|bytes| (bytes >> 20).to_string()).unwrap_or_default();
        let note = failed.map(|why| format!("; {why}")).unwrap_or_default();
        text += &format!(
            "| {} | {} | {} | {peak} | {runs}{note} |\n",
            name.title(),
            cells(first.as_ref(), has_turns),
            cells(noop.as_ref(), has_turns)
        );
    }
    text
}

fn cells(sample: Option<&Sample>, has_turns: bool) -> String {
    let Some(sample) = sample else { return if has_turns { " | | | " } else { " | | " }.to_owned() };
    let Both { near, far } = sample.used;
    let turns = if has_turns { format!(" | {:.1}", sample.turns.unwrap_or_default()) } else { String::new() };
    format!(
        "{} | {} | {} + {}{turns}",
        seconds(sample.wall),
        seconds(sample.cpu()),
        seconds(near),
        seconds(far)
    )
}

/// Three digits that matter.
pub(super) fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let digits = if seconds >= 100.0 {
        0
    } else if seconds >= 10.0 {
        1
    } else {
        2
    };
    format!("{seconds:.digits$}")
}

fn middle<T: Ord + Copy>(mut all: Vec<T>) -> Option<T> {
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}
