//! A property list, as launchd reads it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use plist::{Dictionary, Value};
use serde::Serialize;

/// How long a job rests between two starts, unless it says otherwise.
pub(in crate::mac) const THROTTLE: Duration = Duration::from_secs(10);
/// How long a job may take to end once it is asked to.
pub(in crate::mac) const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// What a property list asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::mac) struct Job {
    pub(in crate::mac) label: String,
    /// The program as the Mac names it.
    pub(in crate::mac) program: String,
    /// Its words, of which the first is its name.
    pub(in crate::mac) arguments: Vec<String>,
    pub(in crate::mac) run_at_load: bool,
    pub(in crate::mac) keep_alive: KeepAlive,
    pub(in crate::mac) throttle: Duration,
    pub(in crate::mac) start_interval: Option<Duration>,
    pub(in crate::mac) user: Option<String>,
    pub(in crate::mac) stdout: Option<String>,
    pub(in crate::mac) stderr: Option<String>,
    pub(in crate::mac) directory: Option<String>,
    pub(in crate::mac) environment: BTreeMap<String, String>,
    /// Whether it waits for somebody to connect.
    pub(in crate::mac) has_sockets: bool,
}

/// When a job that ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::mac) enum KeepAlive {
    Never,
    Always,
    /// Only if it ended well, or only if it did not.
    After {
        success: bool,
    },
}

impl Job {
    /// Reads a property list; nothing if launchd cannot.
    pub(in crate::mac) fn read(path: &Path) -> Option<Job> {
        let list = Value::from_file(path).ok()?.into_dictionary()?;
        let text = |key: &str| list.get(key).and_then(Value::as_string).map(str::to_owned);
        let seconds = |key: &str| list.get(key).and_then(Value::as_unsigned_integer).map(Duration::from_secs);
        let words = |value: &Value| {
            let words = value.as_array()?.iter().map(|word| word.as_string().map(str::to_owned));
            words.collect::<Option<Vec<String>>>()
        };
        let arguments = list.get("ProgramArguments").map(words);
        let arguments = match arguments {
            Some(None) => return None,
            Some(Some(arguments)) => arguments,
            None => Vec::new(),
        };
        let program = text("Program").or_else(|| arguments.first().cloned())?;
        let arguments = if arguments.is_empty() { vec![program.clone()] } else { arguments };
        let environment = list.get("EnvironmentVariables").and_then(Value::as_dictionary);
        let environment = environment.into_iter().flatten();
        let environment =
            environment.filter_map(|(name, value)| Some((name.clone(), value.as_string()?.to_owned())));
        let is_on = |key: &str| list.get(key).and_then(Value::as_boolean).unwrap_or(false);
        Some(Job {
            label: text("Label").filter(|label| !label.is_empty())?,
            run_at_load: is_on("RunAtLoad"),
            keep_alive: KeepAlive::read(&list),
            throttle: seconds("ThrottleInterval").unwrap_or(THROTTLE).max(Duration::from_secs(1)),
            start_interval: seconds("StartInterval").filter(|interval| !interval.is_zero()),
            user: text("UserName"),
            stdout: text("StandardOutPath"),
            stderr: text("StandardErrorPath"),
            directory: text("WorkingDirectory"),
            environment: environment.collect(),
            has_sockets: list.contains_key("Sockets"),
            program,
            arguments,
        })
    }

    /// The properties by which `launchctl print` tells it.
    pub(in crate::mac) fn properties(&self) -> String {
        let properties = [
            (self.keep_alive != KeepAlive::Never, "keepalive"),
            (self.run_at_load, "runatload"),
            (true, "inferred program"),
        ];
        let properties = properties.iter().filter(|(is_so, _)| *is_so).map(|(_, name)| *name);
        properties.collect::<Vec<_>>().join(" | ")
    }
}

impl KeepAlive {
    fn read(list: &Dictionary) -> KeepAlive {
        match list.get("KeepAlive") {
            Some(Value::Boolean(true)) => KeepAlive::Always,
            Some(Value::Dictionary(when)) => match when.get("SuccessfulExit").and_then(Value::as_boolean) {
                Some(success) => KeepAlive::After { success },
                None => KeepAlive::Always,
            },
            _ => KeepAlive::Never,
        }
    }

    /// Whether it is started again after such an end.
    pub(in crate::mac) fn wants(self, ended_well: bool) -> bool {
        match self {
            KeepAlive::Never => false,
            KeepAlive::Always => true,
            KeepAlive::After { success } => success == ended_well,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(inside: &str) -> Option<Job> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!("<plist version=\"1.0\"><dict>{inside}</dict></plist>");
        std::fs::write(file.path(), text).unwrap();
        Job::read(file.path())
    }

    const NAMED: &str = "<key>Label</key><string>a.b</string>";
    const RUN: &str = "<key>ProgramArguments</key><array><string>/bin/a</string></array>";

    #[test]
    fn what_launchd_cannot_read_is_no_job() {
        assert!(read(&format!("{NAMED}{RUN}")).is_some());
        assert!(read(NAMED).is_none(), "nothing to run");
        assert!(read(RUN).is_none(), "no name");
        assert!(read(&format!("{NAMED}{RUN}<key>X</key><string>a & b</string>")).is_none());
        assert!(read(&format!("{NAMED}{RUN}<key>X</key><string>a &amp; b</string>")).is_some());
    }

    #[test]
    fn rests_and_returns() {
        let job = read(&format!("{NAMED}{RUN}<key>KeepAlive</key><true/>")).unwrap();
        assert_eq!((job.throttle, job.keep_alive), (THROTTLE, KeepAlive::Always));
        assert_eq!(job.properties(), "keepalive | inferred program");
        let only = "<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>";
        let job =
            read(&format!("{NAMED}{RUN}{only}<key>ThrottleInterval</key><integer>30</integer>")).unwrap();
        assert_eq!(job.throttle, Duration::from_secs(30));
        assert!(job.keep_alive.wants(false) && !job.keep_alive.wants(true));
    }
}
