//! `host_command`: whatever scripts can read and change.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::{Act, Bytes, HostKind, Probe, Read, Reply, Step};
use fleet_engine::resource::{At, Change, Error, Resource};
use serde_json::Value as Json;

use super::common::named;

/// Something that scripts read and change: for what no other kind knows, and still with a plan of what will be.
///
/// `read` says what is there, as a JSON object or as lines `name=value`: these are the `outputs`. That it fails means
/// that the thing is not there. If it is not, or if the outputs do not hold what `wish` says, `apply` runs; afterwards
/// `read` must say so. `destroy` undoes it; the thing is gone once `read` fails, or once its outputs do not hold `wish`
/// any more. Without `destroy`, removal leaves everything as it is.
///
/// A plan runs `read`, which must change nothing; fleet cannot see to that, and a plan says where it happens.
/// `apply` must bear being repeated. It may hold secrets, is never stored, and runs again when it changes.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "host_command" "no_sleep" {
///     read  = "pmset -g custom | awk '$1 == \"sleep\" { print \"sleep=\" $2 }'"
///     wish  = { sleep = "0" }
///     apply = "pmset -a sleep 0"
///     sudo  = true
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Command {
    /// The script that says what is there. It cannot be sensitive.
    read: String,
    /// Outputs that must be so. Those are observed that `read` gives.
    #[fleet(default = BTreeMap::new())]
    wish: BTreeMap<String, String>,
    /// The script that makes it so.
    #[fleet(required, write_only)]
    apply: Option<String>,
    /// The script that undoes it. It cannot be sensitive.
    #[fleet(default = "")]
    destroy: String,
    /// Whether root runs the scripts.
    #[fleet(default = false)]
    sudo: bool,
    /// What `read` said.
    #[fleet(computed, follows = "read", follows = "wish", follows = "apply", follows = "sudo")]
    outputs: Option<BTreeMap<String, String>>,
}

impl Resource for Command {
    const NAME: &'static str = "host_command";
    const RUNS_USER_CODE: bool = true;

    fn normalize(&mut self) -> Result<(), Misfit> {
        for (name, script) in [("read", Some(&self.read)), ("apply", self.apply.as_ref())] {
            if script.is_some_and(|script| script.trim().is_empty()) {
                return Err(Misfit::new(name, "a script is needed"));
            }
        }
        Ok(())
    }
}

impl HostKind for Command {
    fn probe(at: &At<Command>) -> Result<Probe, Error> {
        let command = named(at)?;
        let probe = Probe::new().and(Read::UserScript(command.read.clone()));
        Ok(if command.sudo { probe.as_root() } else { probe })
    }

    fn parse(at: &At<Command>, reply: &Reply) -> Result<Option<Command>, Error> {
        let asked = named(at)?;
        let output = reply.output(0)?;
        if output.status != 0 {
            return Ok(None);
        }
        let outputs = outputs(&output.stdout)?;
        let wish = asked.wish.keys().filter_map(|name| outputs.get_key_value(name));
        let wish = wish.map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(Some(Command { wish, apply: None, outputs: Some(outputs), ..asked.clone() }))
    }

    fn steps(self, _: Change<Command>) -> Result<Vec<Step>, Error> {
        let script = self.apply.ok_or_else(|| Misfit::new("apply", "a script is needed"))?;
        let script = Bytes(script.into_bytes());
        Ok(vec![Step::new(Act::UserScript { script }).by_root(self.sudo)])
    }

    fn remove(observed: Command) -> Result<Vec<Step>, Error> {
        if observed.destroy.trim().is_empty() {
            return Ok(Vec::new());
        }
        let script = Bytes(observed.destroy.into_bytes());
        Ok(vec![Step::new(Act::UserScript { script }).by_root(observed.sudo)])
    }

    fn left(observed: Command, reply: &Reply) -> Result<Option<Command>, Error> {
        if observed.destroy.trim().is_empty() {
            return Ok(None);
        }
        let wish = observed.wish.clone();
        let left = Command::parse(&At::Recorded(observed), reply)?;
        Ok(left.filter(|left| left.wish == wish))
    }
}

/// What a script said, as a JSON object or as lines `name=value`. What it said is not repeated: it may be secret.
fn outputs(said: &[u8]) -> Result<BTreeMap<String, String>, Error> {
    let help = "let it print a JSON object, or lines such as `name=value`, and nothing else";
    let refuse =
        |what: String| Error::permanent(format!("what `read` printed cannot be used: {what}")).help(help);
    let text = std::str::from_utf8(said).map_err(|_| refuse("it is not UTF-8 text".into()))?;
    if text.trim_start().starts_with('{') {
        let place = |error: serde_json::Error| {
            refuse(format!("it is no JSON from line {}, column {} on", error.line(), error.column()))
        };
        let object: BTreeMap<String, Json> = serde_json::from_str(text).map_err(place)?;
        return Ok(object.into_iter().filter_map(|(name, value)| Some((name, plain(value)?))).collect());
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| match line.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
            _ => Err(refuse(format!("there is no name and `=` in line {}", at + 1))),
        })
        .collect()
}

/// A value as text; null is none.
fn plain(value: Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
pub(super) fn sample(read: &str, wish: &[(&str, &str)], apply: &str, destroy: &str) -> Command {
    Command {
        read: read.into(),
        wish: wish.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        apply: Some(apply.into()),
        destroy: destroy.into(),
        sudo: false,
        outputs: None,
    }
}

#[cfg(test)]
mod tests {
    use fleet_engine::host::Answer;
    use fleet_engine::host::probe::Output;

    use super::*;

    fn said(status: i32, text: &str) -> Reply {
        let output = Output { status, stdout: text.as_bytes().to_vec(), stderr: Vec::new() };
        Reply(vec![Answer::Output(output)])
    }

    #[test]
    fn outputs_are_an_object_or_lines() {
        let check = |text: &str, expected: Result<&[(&str, &str)], &str>| {
            let expected =
                expected.map(|pairs| pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect());
            let found = outputs(text.as_bytes()).map_err(|error| error.to_string());
            let wrong = |what: &str| format!("what `read` printed cannot be used: {what}");
            assert_eq!(found, expected.map_err(wrong), "{text}");
        };
        check("", Ok(&[]));
        check("a=1\n\n b = x=y \n", Ok(&[("a", "1"), ("b", " x=y ")]));
        check(
            " {\"a\": 1, \"b\": \"x\", \"c\": null, \"d\": [true]}\n",
            Ok(&[("a", "1"), ("b", "x"), ("d", "[true]")]),
        );
        check("{\"a\": hunter2}", Err("it is no JSON from line 1, column 7 on"));
        check("a=1\nhunter2\n", Err("there is no name and `=` in line 2"));
        assert!(outputs(&[0xff]).is_err());
    }

    #[test]
    fn it_is_as_wished_if_the_outputs_hold_the_wish() {
        let wish = sample("r", &[("a", "1"), ("b", "2")], "x", "");
        let see = |reply: &Reply| Command::parse(&At::Recorded(wish.clone()), reply).unwrap();
        assert_eq!(see(&said(1, "a=1")), None);
        let seen = see(&said(0, "a=1\nb=2\nc=3")).unwrap();
        assert_eq!((&seen.wish, seen.outputs.as_ref().map(BTreeMap::len)), (&wish.wish, Some(3)));
        assert_ne!(see(&said(0, "a=1\nb=3")).unwrap().wish, wish.wish);
        assert_ne!(see(&said(0, "a=1")).unwrap().wish, wish.wish);
    }

    #[test]
    fn it_is_gone_if_it_is_not_as_wished() {
        let left = |destroy: &str, reply: &Reply| {
            Command::left(sample("r", &[("a", "1")], "x", destroy), reply).unwrap().is_some()
        };
        assert!(left("d", &said(0, "a=1")));
        assert!(!left("d", &said(0, "a=2")) && !left("d", &said(1, "")) && !left("", &said(0, "a=1")));
    }

    #[test]
    fn scripts_are_not_shown() {
        let steps = sample("r", &[], "echo hunter2", "").steps(Change::Create).unwrap();
        assert!(!format!("{steps:?}").contains("hunter2"));
    }
}
