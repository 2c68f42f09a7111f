//! What keeps a host busy: VMs and jobs of CI that run there, told from its processes. Nothing here ends any of them.

use super::Output;

/// A program that works for somebody as long as it runs.
struct Sign {
    /// The name of the program.
    program: &'static str,
    /// What it is told first, where it does other things too.
    told: Option<&'static str>,
    /// What it is, for people.
    what: &'static str,
}

const fn sign(program: &'static str, told: Option<&'static str>, what: &'static str) -> Sign {
    Sign { program, told, what }
}

/// Agents that wait for work are none of them: they run all the time.
const SIGNS: [Sign; 14] = [
    sign("tart", Some("run"), "a VM of Tart"),
    sign("lume", Some("run"), "a VM of Lume"),
    sign("vetu", Some("run"), "a VM of Vetu"),
    sign("com.apple.Virtualization.VirtualMachine", None, "a VM"),
    sign("prl_vm_app", None, "a VM of Parallels"),
    sign("vmware-vmx", None, "a VM of VMware"),
    sign("qemu-system-aarch64", None, "a VM of QEMU"),
    sign("Runner.Worker", None, "a job of GitHub Actions"),
    sign("Agent.Worker", None, "a job of Azure Pipelines"),
    sign("gitlab-tart-executor", None, "a job of GitLab"),
    sign("gitlab-runner-helper", None, "a job of GitLab"),
    sign("buildkite-agent", Some("bootstrap"), "a job of Buildkite"),
    sign("cirrus-ci-agent", None, "a job of Cirrus CI"),
    sign("xcodebuild", None, "a build of Xcode"),
];

/// An extended regular expression that lets through what may be one of the signs, so that not all processes of a host
/// travel.
#[must_use]
pub fn expression() -> String {
    let one = |sign: &Sign| {
        let program = sign.program.replace('.', "[.]");
        sign.told.map_or_else(|| program.clone(), |told| format!("{program} {told}"))
    };
    format!("({})( |$)", SIGNS.iter().map(one).collect::<Vec<_>>().join("|"))
}

/// What keeps a host busy, given its processes as `NUMBER COMMAND` in lines; none if it could not say.
#[must_use]
pub fn parse(processes: &Output) -> Option<Vec<String>> {
    if processes.status != 0 {
        return None;
    }
    let text = String::from_utf8_lossy(&processes.stdout);
    let found = text.lines().filter_map(|line| {
        let (number, command) = line.trim_start().split_once(' ')?;
        number.parse::<u64>().ok()?;
        let sign = SIGNS.iter().find(|sign| sign.is(command.trim_start()))?;
        // Whatever else the process was told may be secret.
        Some(format!("{} (`{}`, process {number})", sign.what, sign.name()))
    });
    Some(found.collect())
}

impl Sign {
    fn name(&self) -> String {
        self.told.map_or_else(|| self.program.to_owned(), |told| format!("{} {told}", self.program))
    }

    /// Whether a command is this one: called by name or by path, and not only spoken of.
    fn is(&self, command: &str) -> bool {
        command.match_indices(self.program).any(|(at, _)| {
            let (before, after) = (&command[..at], &command[at + self.program.len()..]);
            // A path may have spaces in it. What looks like another word makes it an argument of something else.
            let is_path = before.starts_with('/') && before.ends_with('/');
            let has_words = [" /", " -", " ."].iter().any(|word| before.contains(word));
            let mut words = after.split(' ').filter(|word| !word.is_empty());
            let is_whole = after.is_empty() || after.starts_with(' ');
            let is_told = self.told.is_none_or(|told| words.next() == Some(told));
            (before.is_empty() || (is_path && !has_words)) && is_whole && is_told
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &str) -> Vec<String> {
        parse(&Output { status: 0, stdout: lines.into(), stderr: Vec::new() }).unwrap()
    }

    #[test]
    fn what_works_for_somebody_is_told_from_what_waits_or_speaks_of_it() {
        for (line, what) in [
            ("  12 tart run sonoma --no-graphics", "a VM of Tart (`tart run`, process 12)"),
            ("7 /opt/homebrew/bin/tart  run x", "a VM of Tart (`tart run`, process 7)"),
            (
                "9 /Users/m 1/runner/bin/Runner.Worker spawnclient 1 2",
                "a job of GitHub Actions (`Runner.Worker`, process 9)",
            ),
            (
                "3 /System/Library/A.xpc/Contents/MacOS/com.apple.Virtualization.VirtualMachine",
                "a VM (`com.apple.Virtualization.VirtualMachine`, process 3)",
            ),
            (
                "4 buildkite-agent bootstrap --token x",
                "a job of Buildkite (`buildkite-agent bootstrap`, process 4)",
            ),
        ] {
            assert_eq!(told(line), [what], "{line}");
        }
        for line in [
            "",
            "12 tart pull sonoma",
            "12 tart-helper run",
            "12 start run",
            "12 grep -E (tart run|Runner[.]Worker)",
            "12 vim /x/Runner.Worker",
            "12 /usr/bin/vim /x/Runner.Worker",
            "12 /bin/sh ./Runner.Worker",
            "12 /x/Runner.Listener run",
            "12 /usr/local/bin/gitlab-runner run",
            "12 buildkite-agent start",
            "nonsense tart run",
        ] {
            assert_eq!(told(line), [] as [&str; 0], "{line}");
        }
    }

    #[test]
    fn what_a_process_was_told_is_not_repeated() {
        assert!(!told("4 buildkite-agent bootstrap --token hunter2").concat().contains("hunter2"));
    }

    #[test]
    fn a_host_that_cannot_say_is_not_idle() {
        assert_eq!(parse(&Output { status: 127, ..Output::default() }), None);
    }
}
