//! One host with few and with many things on it, near and far away: whether distance is paid for once.

use std::fmt::Write as _;
use std::time::Duration;

use super::DELAY;
use super::accounts::{End, Ran, measure};
use super::farm::Farm;
use super::tools::{self, Fleet, Phase, Tool};

/// How many things there are on the host.
const THINGS: [usize; 3] = [1, 10, 200];
/// No step of this takes longer.
const LIMIT: Duration = Duration::from_secs(120);

/// What a plan without changes takes, of one host with so many things.
pub(super) struct Distance {
    things: usize,
    near: Ran,
    far: Ran,
    turns: usize,
}

/// Measures each number of things; of several runs the least of each counts.
pub(super) fn measure_all(runs: usize) -> Result<Vec<Distance>, String> {
    THINGS
        .iter()
        .map(|things| {
            let (near, _) = plan(*things, Duration::ZERO, runs)?;
            let (far, turns) = plan(*things, DELAY, runs)?;
            println!("{things} on one host: near {:?}, far {:?}, {turns} round trips", near.wall, far.wall);
            Ok(Distance { things: *things, near, far, turns })
        })
        .collect()
}

fn plan(things: usize, delay: Duration, runs: usize) -> Result<(Ran, usize), String> {
    let farm = Farm::start(1, delay)?;
    farm.reset()?;
    let inside = format!(
        "  resource \"host_file\" \"note\" {{\n    count   = {things}\n    path    = \"/etc/${{count.index}}\"\n    \
         content = \"${{count.index}} of ${{host.name}}\"\n  }}\n"
    );
    let directory = tools::directory("afar")?;
    let fleet = Fleet::converging(&farm, &directory, false, "", &inside);
    let fleet = fleet.map_err(|error| format!("the configuration cannot be written: {error}"))?;
    let log = directory.join("afar.log");
    let call = |phase: Phase| -> Result<Ran, String> {
        let ran = measure(&mut fleet.command(phase), &log, LIMIT)?;
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        let is_well = ran.end == End::Well && (phase == Phase::First || tools::says_no_changes(&said));
        if is_well { Ok(ran) } else { Err(format!("fleet failed, see {}", log.display())) }
    };
    call(Phase::First)?;
    let mut best: Option<(Ran, usize)> = None;
    for _ in 0..runs.max(1) {
        let before = farm.turns().unwrap_or_default();
        let ran = call(Phase::NoOp)?;
        let turns = farm.turns().unwrap_or_default() - before;
        if best.is_none_or(|(best, _)| ran.wall < best.wall) {
            best = Some((ran, turns));
        }
    }
    best.ok_or_else(|| "nothing was measured".to_owned())
}

/// What it takes, and what distance adds.
pub(super) fn table(all: &[Distance]) -> String {
    let mut text = format!(
        "One host, a plan without changes, near and {} ms away in each direction; of several runs the fastest counts.\n\n\
         | things on the host | near: wall, ms | CPU here, ms | far: wall, ms | CPU here, ms | distance adds, ms | round trips |\n\
         |---|---|---|---|---|---|---|\n",
        DELAY.as_millis()
    );
    let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
    for Distance { things, near, far, turns } in all {
        let _ = writeln!(
            text,
            "| {things} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {turns} |",
            ms(near.wall),
            ms(near.cpu),
            ms(far.wall),
            ms(far.cpu),
            ms(far.wall) - ms(near.wall),
        );
    }
    text
}
