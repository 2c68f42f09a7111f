//! What a child process cost.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
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

impl Cost {
    /// The least of each of two costs.
    pub(crate) fn least(self, other: Cost) -> Cost {
        Cost {
            wall: self.wall.min(other.wall),
            cpu: self.cpu.min(other.cpu),
            peak_bytes: self.peak_bytes.min(other.peak_bytes),
        }
    }
}

/// Runs a command that must succeed several times, and returns the least of each cost.
pub(crate) fn best_of(runs: usize, command: &mut Command) -> Result<Cost, String> {
    let costs = (0..runs.max(1)).map(|_| once(command, None)).collect::<Result<Vec<_>, _>>()?;
    Ok(costs.into_iter().reduce(Cost::least).expect("at least one run"))
}

/// Runs a command that must succeed. What it prints goes to a file, or nowhere.
pub(crate) fn once(command: &mut Command, output: Option<&Path>) -> Result<Cost, String> {
    let cost = within(Duration::MAX, command, output)?;
    Ok(cost.expect("there is no limit"))
}

/// The same, and ends it if it takes longer than that.
pub(crate) fn within(
    limit: Duration,
    command: &mut Command,
    output: Option<&Path>,
) -> Result<Option<Cost>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let file = |path: &Path| File::create(path).map_err(|e| format!("cannot write {}: {e}", path.display()));
    let stdout = output.map(file).transpose()?.map_or_else(Stdio::null, Stdio::from);
    let start = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot start {name}: {e}"))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a child has a number");
    let (ended, end) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let late = end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        // It was not waited for yet, so that the number is still its own.
        late && kill_process(pid, Signal::KILL).is_ok()
    });
    let used = child.wait4();
    let wall = start.elapsed();
    drop(ended);
    let was_late = watch.join().unwrap_or(false);
    let used = used.map_err(|e| format!("cannot wait for {name}: {e}"))?;
    if was_late {
        return Ok(None);
    }
    if !used.status.success() {
        return Err(format!("{name} ended with {}", used.status));
    }
    let rusage = used.rusage;
    Ok(Some(Cost { wall, cpu: rusage.utime + rusage.stime, peak_bytes: rusage.maxrss }))
}
