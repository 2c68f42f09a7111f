//! Many hosts on this machine, without OpenSSH: whether cost grows with their number and no faster.

use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use super::accounts::{End, Ran, measure};
use super::tools::{self, Phase};
use super::workload;
use crate::run::root;

/// No step of this takes longer.
const LIMIT: Duration = Duration::from_secs(600);

/// What so many hosts cost.
pub(super) struct Local {
    hosts: usize,
    first: Ran,
    noop: Ran,
}

/// Measures each number of hosts; of several runs the least of each cost counts.
pub(super) fn measure_all(sizes: &[usize], runs: usize) -> Result<Vec<Local>, String> {
    sizes.iter().filter(|hosts| **hosts > 0).map(|hosts| measure_one(*hosts, runs)).collect()
}

fn measure_one(hosts: usize, runs: usize) -> Result<Local, String> {
    let mut best: Option<Local> = None;
    for run in 1..=runs.max(1) {
        let directory = tools::directory("local")?;
        let disks = tempfile::Builder::new().prefix("fb").tempdir().map_err(|e| failed(&e))?;
        let names: Vec<String> = (0..hosts).map(|host| format!("mini-{host:03}")).collect();
        for name in &names {
            workload::reset(&disks.path().join(name), None).map_err(|e| failed(&e))?;
        }
        tools::local_fleet(&directory, disks.path(), &names).map_err(|e| failed(&e))?;
        let call = |phase: Phase| -> Result<Ran, String> {
            let mut command = Command::new(root().join("target/release/fleet"));
            match phase {
                Phase::First => command.args(["apply", "--auto-approve"]),
                Phase::NoOp => command.arg("plan"),
            };
            let log = directory.join(format!("{phase:?}.log"));
            let ran = measure(command.current_dir(&directory), &log, LIMIT)?;
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let is_well = ran.end == End::Well && (phase == Phase::First || tools::says_no_changes(&said));
            if is_well { Ok(ran) } else { Err(format!("fleet failed, see {}", log.display())) }
        };
        let (first, noop) = (call(Phase::First)?, call(Phase::NoOp)?);
        for name in &names {
            if let Some(fault) = workload::faults(name, &disks.path().join(name)).first() {
                return Err(format!("something is not as it should be; {fault}"));
            }
        }
        println!(
            "{hosts} on this machine, run {run}: apply {:.2} s, plan {:.2} s of CPU",
            first.cpu.as_secs_f64(),
            noop.cpu.as_secs_f64()
        );
        best = Some(match best {
            None => Local { hosts, first, noop },
            Some(best) => Local { hosts, first: least(best.first, first), noop: least(best.noop, noop) },
        });
    }
    best.ok_or_else(|| "nothing was measured".to_owned())
}

fn least(a: Ran, b: Ran) -> Ran {
    Ran {
        wall: a.wall.min(b.wall),
        cpu: a.cpu.min(b.cpu),
        peak_bytes: a.peak_bytes.min(b.peak_bytes),
        end: a.end,
    }
}

/// What it costs, and how it grows.
pub(super) fn table(all: &[Local]) -> String {
    let mut text = "Many hosts on this machine (`connection \"local\"`), the same work on each; of several runs the least of each \
                    cost counts. CPU is that of fleet and of all that it runs.\n\n\
                    | hosts | first: wall | CPU | CPU per host, ms | no-op: wall | CPU | CPU per host, ms | peak MiB | KiB per host |\n\
                    |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for Local { hosts, first, noop } in all {
        let each = |ran: &Ran| ran.cpu.as_secs_f64() * 1000.0 / *hosts as f64;
        let peak = first.peak_bytes.max(noop.peak_bytes);
        let _ = writeln!(
            text,
            "| {hosts} | {:.2} | {:.2} | {:.1} | {:.2} | {:.2} | {:.1} | {} | {} |",
            first.wall.as_secs_f64(),
            first.cpu.as_secs_f64(),
            each(first),
            noop.wall.as_secs_f64(),
            noop.cpu.as_secs_f64(),
            each(noop),
            peak >> 20,
            (peak >> 10) / *hosts as u64
        );
    }
    for pair in all.windows(2) {
        let [small, large] = pair else { continue };
        let cpu = |a: &Ran, b: &Ran| b.cpu.as_secs_f64() / a.cpu.as_secs_f64();
        let _ = writeln!(
            text,
            "\nFrom {} to {} hosts, CPU grows by a factor of {:.2} (first) and {:.2} (no-op), memory by {:.2}.",
            small.hosts,
            large.hosts,
            cpu(&small.first, &large.first),
            cpu(&small.noop, &large.noop),
            large.first.peak_bytes as f64 / small.first.peak_bytes as f64
        );
    }
    text
}

fn failed(error: &std::io::Error) -> String {
    format!("the hosts cannot be made: {error}")
}
