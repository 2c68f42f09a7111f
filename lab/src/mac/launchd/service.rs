//! What launchd knows of a job that is loaded, and how `launchctl` shows it.

use std::fmt;

use serde::Serialize;

use super::job::Job;
use crate::clock::Time;

/// A job that is loaded.
#[derive(Clone, Debug, Serialize)]
pub(in crate::mac) struct Service {
    /// Which loading of it this is, so that what was planned for an earlier one is seen to be so.
    #[serde(skip)]
    pub(in crate::mac) loading: u64,
    /// The property list it was made from, as the Mac names it.
    pub(in crate::mac) path: String,
    /// What that said when it was loaded.
    pub(in crate::mac) job: Job,
    /// What runs.
    pub(in crate::mac) process: Option<Process>,
    /// How often it was started.
    pub(in crate::mac) runs: u32,
    /// How often in a row it ended badly.
    pub(in crate::mac) crashes: u32,
    /// How it ended last.
    pub(in crate::mac) last_exit: Option<Exit>,
    /// When it was started last.
    pub(super) last_start: Option<Time>,
    /// When it is started next.
    pub(in crate::mac) next_start: Option<Time>,
    /// Whether it is on its way out, and waits for its process to end.
    pub(in crate::mac) is_leaving: bool,
    /// Whether it was registered so often that nobody starts it again.
    pub(in crate::mac) is_capped: bool,
}

/// A process.
#[derive(Clone, Debug, Serialize)]
pub(in crate::mac) struct Process {
    pub(in crate::mac) pid: u32,
    pub(in crate::mac) user: String,
    /// The program as the Mac names it.
    pub(in crate::mac) program: String,
    pub(in crate::mac) arguments: Vec<String>,
    /// The hash of its code signature, if it has one.
    pub(in crate::mac) cdhash: Option<String>,
    /// Which part of the Mac it is, if it is one.
    pub(in crate::mac) is: Option<String>,
    /// Where it listens, and what it answers there.
    pub(in crate::mac) listens: Option<(u16, String)>,
    /// At which address, or at all (`*`); at 127.0.0.1 if it is not said.
    pub(in crate::mac) address: Option<String>,
    /// What its kubeconfig said when it was started, if it was told of one: it is read once.
    #[serde(skip)]
    pub(in crate::mac) kubeconfig: Option<Vec<u8>>,
    /// The process of this machine that leads what runs for it, if there is one.
    #[serde(skip)]
    pub(super) leader: Option<rustix::process::Pid>,
    /// When it was started.
    pub(in crate::mac) started: Time,
    /// How long it takes to end when it is asked to, in seconds.
    pub(in crate::mac) stops_after: u64,
}

impl Process {
    /// One that does nothing but run.
    pub(in crate::mac) fn new(
        pid: u32,
        user: &str,
        program: &str,
        arguments: Vec<String>,
        started: Time,
    ) -> Process {
        Process {
            pid,
            user: user.to_owned(),
            program: program.to_owned(),
            arguments,
            cdhash: None,
            is: None,
            listens: None,
            address: None,
            kubeconfig: None,
            leader: None,
            started,
            stops_after: 1,
        }
    }
}

/// How something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::mac) enum Exit {
    Code(i32),
    Signal(i32),
    /// The kernel ended it for its code signature.
    CodeSigning,
}

/// The configuration is not such that it can be started.
pub(super) const EX_CONFIG: i32 = 78;

impl Exit {
    pub(in crate::mac) fn is_well(self) -> bool {
        self == Exit::Code(0)
    }

    /// As `launchctl list` shows it.
    pub(in crate::mac) fn status(self) -> i32 {
        match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => -signal,
            Exit::CodeSigning => -9,
        }
    }
}

/// As `launchctl print` shows it.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(EX_CONFIG) => write!(f, "last exit code = 78: EX_CONFIG"),
            Exit::Code(code) => write!(f, "last exit code = {code}"),
            Exit::Signal(9) => write!(f, "last terminating signal = Killed: 9"),
            Exit::Signal(15) => write!(f, "last terminating signal = Terminated: 15"),
            Exit::Signal(signal) => write!(f, "last terminating signal = {signal}"),
            Exit::CodeSigning => write!(f, "last exit reason = OS_REASON_CODESIGNING"),
        }
    }
}

impl Service {
    pub(super) fn new(loading: u64, path: String, job: Job, is_capped: bool) -> Service {
        Service {
            loading,
            path,
            job,
            process: None,
            runs: 0,
            crashes: 0,
            last_exit: None,
            last_start: None,
            next_start: None,
            is_leaving: false,
            is_capped,
        }
    }

    /// In which state it is.
    pub(in crate::mac) fn state(&self) -> &'static str {
        match self {
            Service { is_leaving: true, .. } => "SIGTERMed",
            Service { process: Some(_), .. } => "running",
            Service { next_start: Some(_), .. } => "spawn scheduled",
            _ => "not running",
        }
    }

    /// As `launchctl print` shows it.
    pub(in crate::mac) fn shown(&self, target: &str) -> String {
        let (domain, label) = target.rsplit_once('/').unwrap_or((target, target));
        let sort = if domain == "system" { "LaunchDaemon" } else { "LaunchAgent" };
        let Job { program, arguments, .. } = &self.job;
        let active = u8::from(self.process.is_some());
        let mut text = format!(
            "{target} = {{\n\tactive count = {active}\n\tpath = {}\n\ttype = {sort}\n\tstate = {}\n\n\tprogram = {program}\n\targuments = {{\n",
            self.path,
            self.state()
        );
        for argument in arguments {
            text += &format!("\t\t{argument}\n");
        }
        text += "\t}\n\n";
        for (name, value) in [
            ("working directory", &self.job.directory),
            ("stdout path", &self.job.stdout),
            ("stderr path", &self.job.stderr),
        ] {
            if let Some(value) = value {
                text += &format!("\t{name} = {value}\n");
            }
        }
        text += "\tdefault environment = {\n\t\tPATH => /usr/bin:/bin:/usr/sbin:/sbin\n\t}\n\n\tenvironment = {\n";
        for (name, value) in &self.job.environment {
            text += &format!("\t\t{name} => {value}\n");
        }
        text += &format!("\t\tXPC_SERVICE_NAME => {label}\n\t}}\n\n\tdomain = {domain}\n");
        if let Some(user) = &self.job.user {
            text += &format!("\tusername = {user}\n");
        }
        text += &format!("\tminimum runtime = {}\n\texit timeout = 5\n", self.job.throttle.as_secs());
        if let Some(interval) = self.job.start_interval {
            text += &format!("\trun interval = {} seconds\n", interval.as_secs());
        }
        text += &format!("\truns = {}\n", self.runs);
        if let Some(process) = &self.process {
            text += &format!(
                "\tpid = {}\n\timmediate reason = speculative\n\tforks = 0\n\texecs = 1\n",
                process.pid
            );
        }
        if self.crashes > 0 {
            text += &format!("\tsuccessive crashes = {}\n", self.crashes);
        }
        match self.last_exit {
            Some(exit) => text += &format!("\t{exit}\n"),
            None => text += "\tlast exit code = (never exited)\n",
        }
        text + &format!("\n\tspawn type = daemon (3)\n\n\tproperties = {}\n}}\n", self.job.properties())
    }
}
