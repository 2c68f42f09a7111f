//! Where secrets come from. They are asked for once a run, and only when somebody needs them.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use fleet_engine::expand::Secrets;
use fleet_lang::Value;

use crate::{Env, Failure};

/// Gets secrets from the places that the configuration names.
pub(crate) struct Vault {
    vars: BTreeMap<String, String>,
    cwd: PathBuf,
    home: Option<PathBuf>,
    wanted: RefCell<Wanted>,
    known: RefCell<BTreeMap<String, Result<String, String>>>,
}

/// Which secrets a run needs to know.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// Those that it takes to reach providers; all others stay symbols.
    Only(HashSet<Arc<str>>),
    /// All of them.
    All,
}

impl Vault {
    /// Gets secrets from the surroundings of a command.
    pub(crate) fn new(env: &Env, wanted: Wanted) -> Vault {
        Vault {
            vars: env.vars.clone(),
            cwd: env.cwd.clone(),
            home: env.var("HOME").map(PathBuf::from),
            wanted: RefCell::new(wanted),
            known: RefCell::default(),
        }
    }

    /// From now on these may be asked for.
    pub(crate) fn want(&self, wanted: Wanted) {
        *self.wanted.borrow_mut() = wanted;
    }

    /// The name of one that could not be had, and why.
    pub(crate) fn missing(&self) -> Option<(String, String)> {
        let known = self.known.borrow();
        known.iter().find_map(|(name, secret)| Some((name.clone(), secret.as_ref().err()?.clone())))
    }

    /// What could not be had.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let (name, why) = self.missing()?;
        let failure = Failure::new(format!("cannot get secret.{name}: {why}"));
        Some(failure.help(format!("make it available there, or change `from` of `secret \"{name}\"`")))
    }

    /// The secret that comes from there.
    pub(crate) fn fetch(&self, from: &str) -> Result<String, String> {
        let (place, rest) = from.split_once(':').unwrap_or((from, ""));
        match place {
            "env" => {
                let found = self.vars.get(rest).filter(|value| !value.is_empty());
                found.cloned().ok_or_else(|| format!("the environment variable `{rest}` is not set"))
            }
            "file" => self.read(rest),
            "exec" => self.run("sh", &["-c", rest]),
            "op" => self.run("op", &["read", "--no-newline", from]),
            _ => Err(format!("this version cannot ask `{place}`")),
        }
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let path = match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.cwd.join(Path::new(path)),
        };
        let text = std::fs::read_to_string(&path);
        text.map_err(|error| format!("cannot read `{}`: {error}", path.display()))
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(&self.vars)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cannot run `{program}`: {error}"))?;
        if !output.status.success() {
            return Err(format!("`{program}` ended with {}", output.status));
        }
        let text = String::from_utf8(output.stdout).map_err(|_| format!("`{program}` printed no text"))?;
        Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
    }
}

impl Secrets for Vault {
    fn get(&self, name: &str, from: &str) -> Option<Value> {
        if let Wanted::Only(names) = &*self.wanted.borrow()
            && !names.contains(name)
        {
            return None;
        }
        let mut known = self.known.borrow_mut();
        let secret = known.entry(name.to_owned()).or_insert_with(|| self.fetch(from));
        secret.as_ref().ok().map(|text| Value::from(text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(directory: &Path, wanted: Wanted) -> Vault {
        Vault {
            vars: [("TOKEN".into(), "from env".into()), ("PATH".into(), std::env::var("PATH").unwrap())]
                .into(),
            cwd: directory.into(),
            home: Some(directory.into()),
            wanted: RefCell::new(wanted),
            known: RefCell::default(),
        }
    }

    #[test]
    fn secrets_come_from_where_they_are_said_to_be() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("key"), "two\nlines\n").unwrap();
        let vault = vault(directory.path(), Wanted::All);
        let check = |from: &str, expected: Option<&str>| {
            assert_eq!(vault.get(from, from).as_ref().and_then(Value::as_str), expected, "{from}");
        };
        check("env:TOKEN", Some("from env"));
        check("file:key", Some("two\nlines\n"));
        check("file:~/key", Some("two\nlines\n"));
        check("exec:printf '%s\\n' \"$TOKEN\" | tr a-z A-Z", Some("FROM ENV"));
        check("env:MISSING", None);
        let failure = format!("{:?}", vault.failure());
        assert!(failure.contains("the environment variable `MISSING` is not set"), "{failure}");
    }

    #[test]
    fn what_nobody_needs_stays_a_symbol() {
        let directory = tempfile::tempdir().unwrap();
        let vault = vault(directory.path(), Wanted::Only(["a".into()].into()));
        assert!(vault.get("b", "env:MISSING").is_none());
        assert!(vault.failure().is_none());
        assert!(vault.get("a", "env:TOKEN").is_some());
    }
}
