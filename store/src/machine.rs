//! Which machine this is, and which of its processes live.

use rustix::process::{Pid, test_kill_process};

/// Where the number of a process means something: this system since it was started and, on Linux, this space of
/// processes. The name of a host is not enough, because containers share names and have numbers of their own.
pub(crate) fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{host} {} {}", boot.trim(), space.display())
}

/// Whether a process of this machine is certainly gone.
pub(crate) fn is_dead(pid: i64) -> bool {
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dead_are_told_from_the_living() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i64::from(child.id());
        child.wait().unwrap();
        assert!(is_dead(pid));
        assert!(!is_dead(std::process::id().into()));
        assert!(!is_dead(0) && !is_dead(-1) && !is_dead(i64::MAX), "these are no processes");
    }
}
