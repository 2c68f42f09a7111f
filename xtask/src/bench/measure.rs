//! What a child process cost.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

/// The cost of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Time on the clock.
    pub(crate) wall: Duration,
    /// User and system time of the process and its waited-for children.
    pub(crate) cpu: Duration,
    /// The largest resident set. Linux counts what this process held when it started the child, too, so the caller
    /// must stay small.
    pub(crate) peak_bytes: u64,
}

/// Runs a command that must succeed several times, and returns the least of each cost.
pub(crate) fn best_of(runs: usize, command: &mut Command) -> Result<Cost, String> {
    let costs = (0..runs.max(1)).map(|_| once(command)).collect::<Result<Vec<_>, _>>()?;
    let least = |a: Cost, b: Cost| Cost {
        wall: a.wall.min(b.wall),
        cpu: a.cpu.min(b.cpu),
        peak_bytes: a.peak_bytes.min(b.peak_bytes),
    };
    Ok(costs.into_iter().reduce(least).expect("at least one run"))
}

fn once(command: &mut Command) -> Result<Cost, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot start {name}: {e}"))?;
    let used = child.wait4().map_err(|e| format!("cannot wait for {name}: {e}"))?;
    if !used.status.success() {
        return Err(format!("{name} ended with {}", used.status));
    }
    let rusage = used.rusage;
    Ok(Cost { wall: start.elapsed(), cpu: rusage.utime + rusage.stime, peak_bytes: rusage.maxrss })
}
