//! Secrets on this machine: variables, files, what commands print, and 1Password by its own program.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use fleet_engine::secret::{InItem, Source};

use super::{Missing, keeper};
use crate::Env;

/// What secrets are looked for with.
pub(super) struct Surroundings {
    pub(super) vars: BTreeMap<String, String>,
    pub(super) cwd: PathBuf,
    pub(super) home: Option<PathBuf>,
}

impl Surroundings {
    pub(super) fn of(env: &Env) -> Surroundings {
        let home = env.var("HOME").map(PathBuf::from);
        Surroundings { vars: env.vars.clone(), cwd: env.cwd.clone(), home }
    }

    /// A variable that says something.
    pub(super) fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A secret of this machine.
    pub(super) fn read(&self, source: &Source) -> Result<String, Missing> {
        match source {
            Source::Env(name) => {
                let missing = || Missing::new(format!("the environment variable `{name}` is not set"));
                self.var(name).map(str::to_owned).ok_or_else(missing)
            }
            Source::File(path) => self.file(path),
            Source::Exec(command) => self.command(command),
            Source::OnePassword(place) => self.one_password(place),
            Source::Vault(_) | Source::Kubernetes(_) => Err(Missing::new("it is not on this machine")),
        }
    }

    fn file(&self, path: &str) -> Result<String, Missing> {
        let path = match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) => {
                return Err(Missing::new(format!(
                    "`{path}` is in the home directory, and `HOME` is not set"
                )));
            }
            (None, _) => self.cwd.join(path),
        };
        let shown = path.display();
        match std::fs::read_to_string(&path) {
            Ok(text) if text.is_empty() => Err(Missing::new(format!("`{shown}` is empty"))),
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(Missing::new(format!("`{shown}` holds no text"))
                    .help("keep it as base64, and decode it with `exec:base64 -d FILE`"))
            }
            Err(error) => Err(Missing::new(format!("cannot read `{shown}`: {error}"))),
        }
    }

    /// What a command of the shell prints. What it complains about is for whoever runs fleet, who may have to answer.
    fn command(&self, command: &str) -> Result<String, Missing> {
        let mut shell = self.program("sh");
        let output = shell.args(["-c", command]).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| Missing::new(format!("cannot run `sh`: {error}")))?;
        if !output.status.success() {
            return Err(Missing::new(format!("`{command}` ended with {}", output.status))
                .help("run it by hand, in this directory: what it prints on standard output is the secret"));
        }
        printed(&format!("`{command}`"), output.stdout)
    }

    fn one_password(&self, place: &InItem) -> Result<String, Missing> {
        let reference = place.to_string();
        let output =
            self.program("op").args(["read", "--no-newline", &reference]).output().map_err(|error| {
                Missing::new(format!("cannot run `op`: {error}"))
                    .help("install the command-line program of 1Password, and see that it is in the PATH")
            })?;
        if output.status.success() {
            return printed("`op read`", output.stdout);
        }
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = complaint.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let said = keeper::brief(last);
        let said = if said.is_empty() { format!("it ended with {}", output.status) } else { said };
        let is_signed_out = ["not currently signed in", "no account", "session expired", "authoriz"]
            .iter()
            .any(|words| said.to_lowercase().contains(words));
        let help = match (is_signed_out, self.var("OP_SERVICE_ACCOUNT_TOKEN").is_some()) {
            (true, true) => {
                "check the token of 1Password in the environment: it is of no use, or expired".to_owned()
            }
            (true, false) => "sign in with `op signin`, or set `OP_SERVICE_ACCOUNT_TOKEN`".to_owned(),
            (false, _) => format!(
                "see what `op read '{reference}'` says; vault, item and field must be there, and be shared"
            ),
        };
        Err(Missing::new(format!("1Password does not give `{reference}`: {said}")).help(help))
    }

    /// A program in the surroundings of the command, that is asked nothing.
    fn program(&self, name: &str) -> Command {
        let mut program = Command::new(name);
        program.current_dir(&self.cwd).env_clear().envs(&self.vars).stdin(Stdio::null());
        program
    }
}

/// What a program printed, without the end of its last line.
fn printed(program: &str, bytes: Vec<u8>) -> Result<String, Missing> {
    let text = String::from_utf8(bytes).map_err(|_| Missing::new(format!("{program} printed no text")))?;
    let text = text.strip_suffix('\n').map(str::to_owned).unwrap_or(text);
    if text.is_empty() { Err(Missing::new(format!("{program} printed nothing"))) } else { Ok(text) }
}

#[cfg(test)]
impl Surroundings {
    /// A variable, and the programs of this machine.
    pub(super) fn sample() -> Surroundings {
        let vars = [("TOKEN", "from env".to_owned()), ("PATH", std::env::var("PATH").unwrap())];
        let vars = vars.map(|(name, value)| (name.to_owned(), value)).into();
        Surroundings { vars, cwd: std::env::temp_dir(), home: None }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    fn around(directory: &Path) -> Surroundings {
        Surroundings { cwd: directory.into(), home: Some(directory.into()), ..Surroundings::sample() }
    }

    #[test]
    fn secrets_come_from_where_they_are_said_to_be() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("key"), "two\nlines\n").unwrap();
        let around = around(directory.path());
        let cases = [
            ("env:TOKEN", "from env"),
            ("file:key", "two\nlines\n"),
            ("file:~/key", "two\nlines\n"),
            ("exec:printf '%s\\n' \"$TOKEN\" | tr a-z A-Z", "FROM ENV"),
            ("exec:cat key", "two\nlines"),
        ];
        for (from, expected) in cases {
            assert_eq!(around.read(&from.parse().unwrap()), Ok(expected.to_owned()), "{from}");
        }
    }

    #[test]
    fn what_cannot_be_had_says_why_and_not_what() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("empty"), "").unwrap();
        std::fs::write(directory.path().join("binary"), b"hunter2\xff").unwrap();
        let around = around(directory.path());
        let cases = [
            ("env:MISSING", "the environment variable `MISSING` is not set"),
            ("file:missing", "No such file"),
            ("file:empty", "is empty"),
            ("file:binary", "holds no text"),
            ("exec:echo hunter2; exit 3", "ended with exit status: 3"),
            ("exec:true", "printed nothing"),
            ("exec:printf 'hunter2\\377'", "printed no text"),
        ];
        for (from, expected) in cases {
            let missing = around.read(&from.parse().unwrap()).unwrap_err();
            assert!(missing.why.contains(expected), "{from}: {missing:?}");
            // What somebody wrote into the configuration is no secret; what came out of it is.
            let told = format!("{missing:?}").replace(from.trim_start_matches("exec:"), "");
            assert!(!told.contains("hunter2") || from.contains("printf"), "{from}: {told}");
        }
    }

    /// A program that takes the words of 1Password's own, and has one item.
    fn op(directory: &Path) -> Surroundings {
        let program = "#!/bin/sh\n\
            test \"$1 $2\" = 'read --no-newline' || { echo \"[ERROR] unknown words\" >&2; exit 2; }\n\
            test -n \"$OP_SERVICE_ACCOUNT_TOKEN\" || { echo '[ERROR] you are not currently signed in' >&2; exit 1; }\n\
            case $3 in\n\
            op://ci/GITHUB/token) printf hunter2 ;;\n\
            op://ci/GITHUB/*) echo \"[ERROR] could not read secret '$3': no such field\" >&2; exit 1 ;;\n\
            *) exit 6 ;;\n\
            esac\n";
        let place = directory.join("op");
        std::fs::write(&place, program).unwrap();
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut around = around(directory);
        let path = format!("{}:{}", directory.display(), around.vars["PATH"]);
        around.vars.extend([("PATH".into(), path), ("OP_SERVICE_ACCOUNT_TOKEN".into(), "ops_x".into())]);
        around
    }

    #[test]
    fn one_password_is_asked_by_its_own_program() {
        let directory = tempfile::tempdir().unwrap();
        let mut around = op(directory.path());
        let read = |around: &Surroundings, from: &str| around.read(&from.parse().unwrap());
        assert_eq!(read(&around, "op://ci/GITHUB/token"), Ok("hunter2".into()));
        let missing = read(&around, "op://ci/GITHUB/other").unwrap_err();
        assert!(missing.why.contains("no such field") && missing.help.is_some(), "{missing:?}");
        let missing = read(&around, "op://other/x/y").unwrap_err();
        assert!(missing.why.contains("ended with exit status: 6"), "{missing:?}");
        around.vars.remove("OP_SERVICE_ACCOUNT_TOKEN");
        let missing = read(&around, "op://ci/GITHUB/token").unwrap_err();
        assert!(missing.help.unwrap().contains("op signin"));
        around.vars.insert("PATH".into(), "/nowhere".into());
        let missing = read(&around, "op://ci/GITHUB/token").unwrap_err();
        assert!(missing.why.contains("cannot run `op`") && missing.help.unwrap().contains("1Password"));
    }
}
