//! What a run costs on both ends, with the processes that nobody waits for.
//!
//! `ssh` leaves connections in the background, and some processes of a session outlive the server that started them. This
//! process becomes the parent of them all, so that nothing is lost: those that ended are counted as they are reaped, those
//! that live as far as they came. Where there are control groups, the hosts have one, which counts without rounding.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use wait4::{Wait4, try_wait4_pid};

/// How often it is looked whether the last process has ended.
const PAUSE: Duration = Duration::from_millis(20);
/// How long after the end of a command the far side may still work.
const PATIENCE: Duration = Duration::from_secs(30);
/// The length of the units in which the system counts the time of children that were waited for.
const TICK: Duration = Duration::from_millis(10);

/// CPU time, user and system.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Both {
    /// On this machine: the tool and its connections.
    pub(super) near: Duration,
    /// On the hosts: the servers and what they run.
    pub(super) far: Duration,
}

/// What a command was seen to use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ran {
    pub(super) wall: Duration,
    pub(super) cpu: Duration,
    pub(super) peak_bytes: u64,
    pub(super) end: End,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Well,
    Badly,
    TooLate,
}

/// The books.
pub(super) struct Accounts {
    /// The servers.
    servers: BTreeSet<u32>,
    /// Other children of this process that stay.
    others: BTreeSet<u32>,
    /// The user on the hosts, if it is another than ours.
    far_user: Option<u32>,
    /// The control group of the servers and all that they start.
    group: Option<PathBuf>,
    /// What was used by those that are gone.
    gone: Both,
}

/// A process.
struct Process {
    number: u32,
    name: String,
    user: u32,
    has_ended: bool,
    /// With its children that it waited for.
    used: Duration,
}

impl Accounts {
    /// Orphans come to this process from now on.
    pub(super) fn open(
        servers: &[u32],
        others: &[u32],
        far_user: Option<u32>,
        group: Option<&Path>,
    ) -> Result<Accounts, String> {
        adopt_orphans()?;
        let (servers, others) = (servers.iter().copied().collect(), others.iter().copied().collect());
        Ok(Accounts { servers, others, far_user, group: group.map(Path::to_owned), gone: Both::default() })
    }

    /// All that was used so far. The difference of two of these is what a run cost, but for the tool itself.
    pub(super) fn used(&mut self) -> Both {
        let mut used = Both::default();
        for orphan in self.orphans() {
            *self.side(&mut used, &orphan) += orphan.used + below(orphan.number);
        }
        for server in &self.servers {
            used.far += Process::find(*server).map_or(Duration::ZERO, |it| it.used) + below(*server);
        }
        let far = self.group.as_deref().and_then(of_group).unwrap_or(used.far + self.gone.far);
        Both { near: used.near + self.gone.near, far }
    }

    /// Waits until there is no session and no connection any more; says whether that came.
    pub(super) fn is_idle(&mut self) -> bool {
        let start = Instant::now();
        loop {
            let is_idle = self.orphans().is_empty() && self.servers.iter().all(|it| children(*it).is_empty());
            if is_idle || start.elapsed() > PATIENCE {
                return is_idle;
            }
            thread::sleep(PAUSE);
        }
    }

    /// The orphans that live. Those that have ended are put down and forgotten.
    fn orphans(&mut self) -> Vec<Process> {
        let ours = children(std::process::id());
        let ours = ours.iter().filter(|it| !self.servers.contains(it) && !self.others.contains(it));
        let (ended, living): (Vec<Process>, Vec<Process>) =
            ours.filter_map(|it| Process::find(*it)).partition(|it| it.has_ended);
        for orphan in ended {
            if let Ok(Some(end)) = try_wait4_pid(orphan.number) {
                let mut gone = self.gone;
                *self.side(&mut gone, &orphan) += end.rusage.utime + end.rusage.stime;
                self.gone = gone;
            }
        }
        living
    }

    /// Where an orphan belongs. With one user for both ends, all that is left on this one is `ssh`.
    fn side<'b>(&self, both: &'b mut Both, orphan: &Process) -> &'b mut Duration {
        let is_far = match self.far_user {
            _ if orphan.name.starts_with("sshd") => true,
            Some(user) => orphan.user == user,
            None => orphan.name != "ssh",
        };
        if is_far { &mut both.far } else { &mut both.near }
    }
}

/// A control group of its own for these processes, if there can be one.
pub(super) fn group(name: &str, processes: &[u32]) -> Option<PathBuf> {
    let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
    let mount = mounts.into_iter().find(|mount| mount.join("cgroup.procs").exists())?;
    let group = mount.join(name);
    fs::create_dir(&group).ok()?;
    let add = |process: &u32| fs::write(group.join("cgroup.procs"), process.to_string()).is_ok();
    if processes.iter().all(add) && of_group(&group).is_some() {
        return Some(group);
    }
    None
}

fn of_group(group: &Path) -> Option<Duration> {
    let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
    let used = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    Some(Duration::from_micros(used.parse().ok()?))
}

/// Runs a command and ends it with all of its group if it takes too long. All it says goes to a file.
pub(super) fn measure(command: &mut Command, log: &Path, limit: Duration) -> Result<Ran, String> {
    use std::os::unix::process::CommandExt;
    let name = command.get_program().to_string_lossy().into_owned();
    let unwritable = |e| format!("cannot write {}: {e}", log.display());
    let out = File::create(log).map_err(unwritable)?;
    let err = out.try_clone().map_err(unwritable)?;
    command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
    let start = Instant::now();
    let child = command.spawn().map_err(|e| format!("cannot start {name}: {e}"))?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a child has a number");
    let (ended, end) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let late = end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        // It was not waited for yet, so that the number is still its own.
        late && kill_process_group(group, Signal::KILL).is_ok()
    });
    let used = child.wait4();
    let wall = start.elapsed();
    drop(ended);
    let was_late = watch.join().unwrap_or(false);
    let used = used.map_err(|e| format!("cannot wait for {name}: {e}"))?;
    let end = match used.status.success() {
        _ if was_late => End::TooLate,
        true => End::Well,
        false => End::Badly,
    };
    let usage = used.rusage;
    Ok(Ran { wall, cpu: usage.utime + usage.stime, peak_bytes: usage.maxrss, end })
}

impl Process {
    fn find(number: u32) -> Option<Process> {
        let read = |name: &str| fs::read_to_string(format!("/proc/{number}/{name}")).ok();
        let (stat, status) = (read("stat")?, read("status")?);
        let user = status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?;
        // The name stands in parentheses, and may hold some.
        let (head, tail) = stat.rsplit_once(") ")?;
        let words: Vec<&str> = tail.split(' ').collect();
        let ticks = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok()).unwrap_or(0);
        // Exact where the system says so; that of children is rounded.
        let own = read("schedstat").and_then(|text| text.split(' ').next()?.parse().ok());
        let own = own.map_or_else(|| TICK * (ticks(11) + ticks(12)), Duration::from_nanos);
        Some(Process {
            number,
            name: head.split_once('(')?.1.to_owned(),
            user: user.parse().ok()?,
            has_ended: words[0] == "Z",
            used: own + TICK * (ticks(13) + ticks(14)),
        })
    }
}

/// What all processes below one have used.
fn below(number: u32) -> Duration {
    let used = |child: &u32| Process::find(*child).map_or(Duration::ZERO, |it| it.used) + below(*child);
    children(number).iter().map(used).sum()
}

/// The children of all threads of a process.
fn children(number: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{number}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let parse = |text: String| text.split_whitespace().filter_map(|it| it.parse().ok()).collect::<Vec<u32>>();
    threads.filter_map(of_thread).flat_map(parse).collect()
}

#[cfg(target_os = "linux")]
fn adopt_orphans() -> Result<(), String> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|e| format!("orphans cannot be adopted: {e}"))
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> Result<(), String> {
    Err("what hosts cost can be measured on Linux alone".to_owned())
}
