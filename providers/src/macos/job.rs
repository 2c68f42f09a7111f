//! The property list of a service: attributes → XML and back.

use std::collections::BTreeMap;

use fleet_engine::resource::Error;
use plist::{Dictionary, Value};

use super::launchd_service::Service;
use crate::cure;

/// What a property list says, as far as services here have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Job {
    pub(super) label: String,
    pub(super) user: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) directory: Option<String>,
    pub(super) stdout: Option<String>,
    pub(super) stderr: Option<String>,
    pub(super) run_at_load: bool,
    pub(super) keep_alive: bool,
    pub(super) start_interval: Option<i64>,
    pub(super) throttle: i64,
    /// Keys that nobody here writes.
    pub(super) others: Vec<String>,
}

/// How long launchd lets a job rest if its property list does not say.
const THROTTLE: i64 = 10;

impl Job {
    /// What a service wants.
    pub(super) fn of(service: &Service) -> Job {
        Job {
            label: service.label.clone(),
            // An agent is run by whose session it is.
            user: service.user.clone().filter(|_| service.domain == "system"),
            arguments: service.program_arguments.clone().unwrap_or_default(),
            environment: service.environment.clone().unwrap_or_default(),
            directory: service.working_directory.clone(),
            stdout: service.stdout_path.clone(),
            stderr: service.stderr_path.clone(),
            run_at_load: service.run_at_load,
            keep_alive: service.keep_alive,
            start_interval: service.start_interval,
            throttle: service.throttle_interval,
            others: Vec::new(),
        }
    }

    /// A service that is like this; what no property list says is as it was asked for.
    pub(super) fn into_service(self, asked: &Service) -> Service {
        Service {
            user: if asked.domain == "system" { self.user } else { asked.user.clone() },
            program_arguments: Some(self.arguments),
            environment: Some(self.environment).filter(|environment| !environment.is_empty()),
            working_directory: self.directory,
            stdout_path: self.stdout,
            stderr_path: self.stderr,
            run_at_load: self.run_at_load,
            keep_alive: self.keep_alive,
            start_interval: self.start_interval,
            throttle_interval: self.throttle,
            ..asked.clone()
        }
    }

    /// The property list: the same bytes for the same job.
    pub(super) fn write(&self) -> Result<Vec<u8>, Error> {
        let text = |text: &String| Value::String(text.clone());
        let mut list = Dictionary::new();
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                list.insert(key.to_owned(), value);
            }
        };
        set("Label", Some(text(&self.label)));
        set("UserName", self.user.as_ref().map(text));
        set("ProgramArguments", Some(Value::Array(self.arguments.iter().map(text).collect())));
        let variables = self.environment.iter().map(|(name, value)| (name.clone(), text(value)));
        let variables: Dictionary = variables.collect();
        set("EnvironmentVariables", (!variables.is_empty()).then_some(Value::Dictionary(variables)));
        set("WorkingDirectory", self.directory.as_ref().map(text));
        set("StandardOutPath", self.stdout.as_ref().map(text));
        set("StandardErrorPath", self.stderr.as_ref().map(text));
        set("RunAtLoad", Some(Value::Boolean(self.run_at_load)));
        set("KeepAlive", Some(Value::Boolean(self.keep_alive)));
        set("StartInterval", self.start_interval.map(|seconds| Value::Integer(seconds.into())));
        set("ThrottleInterval", Some(Value::Integer(self.throttle.into())));
        let mut bytes = Vec::new();
        let written = Value::Dictionary(list).to_writer_xml(&mut bytes);
        written.map_err(|error| Error::permanent("the property list cannot be written").because(error))?;
        bytes.push(b'\n');
        if !cure::is_there("escape") {
            // As whoever pastes values into a template.
            return Ok(String::from_utf8_lossy(&bytes).replace("&amp;", "&").into_bytes());
        }
        Ok(bytes)
    }

    /// Reads a property list; why it is none, if it is none.
    pub(super) fn read(bytes: &[u8]) -> Result<Job, String> {
        let list = Value::from_reader(std::io::Cursor::new(bytes)).map_err(|error| error.to_string())?;
        let list = list.into_dictionary().ok_or("it is no dictionary")?;
        let mut job = Job { throttle: THROTTLE, ..Job::default() };
        for (key, value) in list {
            let known = match (key.as_str(), &value) {
                ("Label", Value::String(text)) => put(&mut job.label, text.clone()),
                ("UserName", Value::String(text)) => put(&mut job.user, Some(text.clone())),
                ("ProgramArguments", Value::Array(words)) => {
                    let words: Option<Vec<String>> =
                        words.iter().map(|word| word.as_string().map(str::to_owned)).collect();
                    words.is_some_and(|words| put(&mut job.arguments, words))
                }
                ("EnvironmentVariables", Value::Dictionary(variables)) => {
                    let pair = |(name, value): (&String, &Value)| {
                        Some((name.clone(), value.as_string()?.to_owned()))
                    };
                    let all: Option<BTreeMap<String, String>> = variables.iter().map(pair).collect();
                    all.is_some_and(|all| put(&mut job.environment, all))
                }
                ("WorkingDirectory", Value::String(text)) => put(&mut job.directory, Some(text.clone())),
                ("StandardOutPath", Value::String(text)) => put(&mut job.stdout, Some(text.clone())),
                ("StandardErrorPath", Value::String(text)) => put(&mut job.stderr, Some(text.clone())),
                ("RunAtLoad", Value::Boolean(is_on)) => put(&mut job.run_at_load, *is_on),
                ("KeepAlive", Value::Boolean(is_on)) => put(&mut job.keep_alive, *is_on),
                ("StartInterval", Value::Integer(seconds)) => {
                    put(&mut job.start_interval, seconds.as_signed())
                }
                ("ThrottleInterval", Value::Integer(seconds)) => {
                    seconds.as_signed().is_some_and(|seconds| put(&mut job.throttle, seconds))
                }
                _ => false,
            };
            if !known {
                job.others.push(key);
            }
        }
        Ok(job)
    }
}

fn put<T>(place: &mut T, value: T) -> bool {
    *place = value;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            label: "a.b".into(),
            user: Some("m1".into()),
            arguments: vec!["/bin/a".into(), "--x=<&'\">\n".into(), "ü".into()],
            environment: [("A".to_owned(), "b & c".to_owned())].into(),
            directory: Some("/tmp".into()),
            stdout: Some("/var/log/a.log".into()),
            stderr: None,
            run_at_load: true,
            keep_alive: false,
            start_interval: Some(60),
            throttle: 30,
            others: Vec::new(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let bytes = job().write().unwrap();
        assert_eq!(bytes, job().write().unwrap());
        assert_eq!(Job::read(&bytes), Ok(job()));
        let least = Job { label: "a".into(), throttle: THROTTLE, ..Job::default() };
        assert_eq!(Job::read(&least.write().unwrap()), Ok(least));
    }

    #[test]
    fn what_is_no_property_list_is_told() {
        let bare = String::from_utf8(job().write().unwrap()).unwrap().replace("&amp;", "&");
        assert!(Job::read(bare.as_bytes()).is_err());
        assert!(Job::read(b"").is_err());
        let text = String::from_utf8(job().write().unwrap()).unwrap();
        let more =
            text.replace("<key>RunAtLoad</key>", "<key>Nice</key><integer>5</integer><key>RunAtLoad</key>");
        assert_eq!(Job::read(more.as_bytes()).unwrap().others, ["Nice"]);
    }
}
