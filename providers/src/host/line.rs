//! `host_line`: a line in somebody else's file, or its absence.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::edit::{Pattern, lines, literally};
use fleet_engine::host::{Act, Content, Edit, HostKind, Probe, Reply, Revert, Step};
use fleet_engine::resource::{At, Change, Error, Resource};

use super::common::{check_path, is_another, named, revert_of, shared};

/// A line in a file that others write, too.
///
/// It is there exactly once; or not at all, with `present = false`. Everything else in the file survives byte for byte.
/// With `matching`, the line takes the place of lines that match it; without, a line that is new stands at the end. A
/// file that is not there is made.
///
/// To remove a resource with `present = false` changes nothing on the host.
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
///   resource "host_line" "root_login" {
///     path     = "/etc/ssh/sshd_config"
///     line     = "PermitRootLogin no"
///     matching = "#?PermitRootLogin .*"
///     sudo     = true
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Line {
    /// Where the file lies: a whole path, without `.` and `..`.
    #[fleet(replace)]
    path: String,
    /// The line. If several stand in its place, all of them are observed.
    line: String,
    /// A regular expression: other whole lines that match it go.
    matching: Option<String>,
    /// Whether it is to be there.
    #[fleet(default = true)]
    present: bool,
    /// Whether root looks at it and writes it.
    #[fleet(default = false)]
    sudo: bool,
}

impl Resource for Line {
    const NAME: &'static str = "host_line";

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        if self.line.contains(['\n', '\r', '\0']) {
            return Err(Misfit::new(
                "line",
                "one line is needed, without its end; `host_block` takes several",
            ));
        }
        match self.matching.as_deref().map(Pattern::new) {
            Some(Err(misfit)) => Err(Misfit { attribute: "matching".into(), ..misfit }),
            _ => Ok(()),
        }
    }
}

impl HostKind for Line {
    fn probe(at: &At<Line>) -> Result<Probe, Error> {
        let line = named(at)?;
        let probe = Probe::new().content(&line.path, Content::Whole);
        Ok(if line.sudo { probe.as_root() } else { probe })
    }

    fn parse(at: &At<Line>, reply: &Reply) -> Result<Option<Line>, Error> {
        let asked = named(at)?;
        if is_another(at, |a, b| a.path == b.path && a.line == b.line) {
            return Ok(None);
        }
        let there = asked.there(shared(&asked.path, reply.path(0)?)?)?;
        if !asked.present {
            // Its absence is the thing, and that can always be seen.
            return Ok(Some(Line { present: !there.is_empty(), ..asked.clone() }));
        }
        Ok((!there.is_empty()).then(|| Line { line: there.join("\n"), ..asked.clone() }))
    }

    fn steps(self, change: Change<Line>) -> Result<Vec<Step>, Error> {
        let edit = |matching: Option<String>| {
            let edit = Edit::Line { line: self.line.clone(), present: self.present, matching };
            Step::new(Act::Edit { path: self.path.clone(), edit }).by_root(self.sudo)
        };
        let mut steps = Vec::new();
        if let Change::Update { from } = &change {
            if (&from.line, from.present) == (&self.line, self.present) && from.matching == self.matching {
                return Ok(Vec::new());
            }
            // The line takes the place of what stood for it before, whatever it matches now.
            if from.present && from.line != self.line {
                let before: Vec<String> = from.line.split('\n').map(literally).collect();
                steps.push(edit(Some(before.join("|"))));
            }
        }
        if steps.is_empty() || self.matching.is_some() {
            steps.push(edit(self.matching.clone()));
        }
        Ok(steps)
    }

    fn remove(observed: Line) -> Result<Vec<Step>, Error> {
        if !observed.present {
            return Ok(Vec::new());
        }
        let gone = |line: &str| {
            let edit = Edit::Line { line: line.into(), present: false, matching: None };
            Step::new(Act::Edit { path: observed.path.clone(), edit }).by_root(observed.sudo)
        };
        Ok(observed.line.split('\n').map(gone).collect())
    }

    fn left(observed: Line, reply: &Reply) -> Result<Option<Line>, Error> {
        // An absence leaves nothing when it is not wished any more.
        if observed.present { Line::parse(&At::Recorded(observed), reply) } else { Ok(None) }
    }

    fn cuts_access(&self, is_removed: bool) -> Option<Revert> {
        revert_of(&self.path, is_removed)
    }
}

impl Line {
    /// The lines that stand in its place.
    fn there(&self, file: &[u8]) -> Result<Vec<String>, Error> {
        let matching = self.matching.as_deref().map(Pattern::new).transpose()?;
        let is = |line: &&[u8]| {
            self.line.split('\n').any(|known| known.as_bytes() == *line)
                || matching.as_ref().is_some_and(|pattern| pattern.is_match(line))
        };
        Ok(lines(file).filter(is).map(|line| String::from_utf8_lossy(line).into_owned()).collect())
    }
}

#[cfg(test)]
pub(super) fn sample(path: &str, line: &str, matching: Option<&str>, present: bool) -> Line {
    Line { path: path.into(), line: line.into(), matching: matching.map(Into::into), present, sudo: false }
}

#[cfg(test)]
mod tests {
    use fleet_engine::host::Answer;
    use fleet_engine::host::probe::{File, Found, What};

    use super::*;

    fn see(line: &Line, file: &str) -> Option<(String, bool)> {
        let content = Some(file.as_bytes().to_vec());
        let what = What::File(File { size: 0, digest: None, content });
        let found = Found { what, mode: 0o644, owner: "a".into(), group: "b".into() };
        let found =
            Line::parse(&At::Recorded(line.clone()), &Reply(vec![Answer::Path(Some(found))])).unwrap();
        found.map(|found| (found.line, found.present))
    }

    #[test]
    fn what_is_seen_of_a_line_is_all_that_can_differ() {
        let check = |line: &Line, file: &str, expected: Option<(&str, bool)>| {
            let expected = expected.map(|(line, present)| (line.to_owned(), present));
            assert_eq!(see(line, file), expected, "{file:?}");
        };
        let port = sample("/a", "Port 22", Some("#?Port .*"), true);
        check(&port, "a\n", None);
        check(&port, "Port 22\r\n", Some(("Port 22", true)));
        check(&port, "#Port 1\n", Some(("#Port 1", true)));
        check(&port, "Port 22\nPort 22\n", Some(("Port 22\nPort 22", true)));
        let no = Line { present: false, ..port };
        check(&no, "a\n", Some(("Port 22", false)));
        check(&no, "#Port 1\n", Some(("Port 22", true)));
    }

    #[test]
    fn what_stood_in_its_place_goes() {
        let check = |from: &str, wish: &Line, before: &str, expected: &str| {
            let from = Line { line: from.into(), matching: None, ..wish.clone() };
            let mut file = before.as_bytes().to_vec();
            for step in wish.clone().steps(Change::Update { from }).unwrap() {
                let Act::Edit { edit, .. } = step.act else { panic!("it is no edit") };
                file = edit.apply(&file).unwrap();
            }
            assert_eq!(String::from_utf8(file).unwrap(), expected);
        };
        check("a.", &sample("/f", "b", None, true), "x\na.\nab\n", "x\nb\nab\n");
        check("a\na", &sample("/f", "a", None, true), "a\nx\na\n", "a\nx\n");
        check("a", &sample("/f", "b", Some("c"), true), "c\na\nd\n", "b\nd\n");
    }
}
