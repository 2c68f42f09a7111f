//! `macos_xcode`: the Xcode that a Mac builds with.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::host::{Act, Bytes, Content, HostKind, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};
use plist::Value;

use super::{no_wish_for_trouble, text_of};
use crate::cure;
use crate::host::common::{check_path, named, regular};

const PROCEDURE: &str = concat!(include_str!("before.sh"), include_str!("xcode.sh"));
const REMOVE: &str = concat!(include_str!("before.sh"), include_str!("xcode_before.sh"));
const DEVELOPER: &str = "Contents/Developer";

/// An Xcode that is there, selected, and whose licence is accepted.
///
/// Xcode itself cannot be installed by fleet: Apple gives it only to people. Where it is missing, the plan says so, and what
/// to order.
///
/// When it is removed, what was selected before is selected again. The licence stays accepted, as what somebody has agreed to does.
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
///   resource "macos_xcode" "this" {
///     path = "/Applications/Xcode.app"
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Xcode {
    /// Where it lies.
    #[fleet(replace, default = "/Applications/Xcode.app")]
    path: String,
    /// Whether tools are taken from it (`xcode-select --switch`).
    #[fleet(default = true)]
    selected: bool,
    /// Whether its licence is accepted. It is not taken back.
    #[fleet(default = true)]
    licence: bool,
    /// What is wrong: that it is not there. It is found out, and cannot be wished for.
    trouble: Option<String>,
    /// Its version.
    #[fleet(computed, follows = "path", follows = "trouble")]
    version: Option<String>,
}

impl Resource for Xcode {
    const NAME: &'static str = "macos_xcode";
    const DETECTS: &'static [&'static Known] = &[&table::XCODE_MISSING];

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        if !self.path.ends_with(".app") {
            return Err(Misfit::new("path", "an application is needed, such as \"/Applications/Xcode.app\""));
        }
        no_wish_for_trouble(self.trouble.as_ref())
    }

    fn findings(&self) -> Vec<Finding> {
        self.trouble.iter().map(|trouble| table::XCODE_MISSING.seen_by(trouble)).collect()
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers")]
    }
}

impl HostKind for Xcode {
    fn probe(at: &At<Xcode>) -> Result<Probe, Error> {
        let path = &named(at)?.path;
        let probe = Probe::new().path(format!("{path}/{DEVELOPER}"));
        let probe = probe.content(format!("{path}/Contents/version.plist"), Content::Whole);
        Ok(probe.tool(Tool::XcodeSelected, []).tool(Tool::XcodeLicence, []).as_root())
    }

    fn parse(at: &At<Xcode>, reply: &Reply) -> Result<Option<Xcode>, Error> {
        let asked = named(at)?;
        if reply.path(0)?.is_none() {
            let trouble = format!(
                "{} is not there, and fleet cannot install it: order the Mac with the `macOS + Xcode` image",
                asked.path
            );
            return Ok(Some(Xcode { trouble: Some(trouble), version: None, ..asked.clone() }));
        }
        let list = format!("{}/Contents/version.plist", asked.path);
        let content = match reply.path(1)? {
            Some(found) => regular(&list, found)?.content.clone(),
            None => None,
        };
        let selected = text_of(reply.output(2)?).as_deref() == Some(&format!("{}/{DEVELOPER}", asked.path));
        // Only that of what is selected can be asked for.
        let licence = if selected { reply.output(3)?.status == 0 } else { asked.licence };
        let version = content.as_deref().and_then(version_in);
        Ok(Some(Xcode { selected, licence, version, trouble: None, ..asked.clone() }))
    }

    fn steps(self, _: Change<Xcode>) -> Result<Vec<Step>, Error> {
        let said = |is_wanted: bool| if is_wanted { "yes" } else { "no" }.to_owned();
        let arguments = vec![self.path, said(self.selected), said(self.licence)];
        let script = cure::procedure(PROCEDURE);
        Ok(vec![Step::new(Act::Procedure { script, arguments, input: Bytes::default() }).as_root()])
    }

    fn remove(_: Xcode) -> Result<Vec<Step>, Error> {
        let (arguments, input) = (Vec::new(), Bytes::default());
        Ok(vec![Step::new(Act::Procedure { script: REMOVE, arguments, input }).as_root()])
    }

    /// Xcode stays where it is.
    fn left(_: Xcode, _: &Reply) -> Result<Option<Xcode>, Error> {
        Ok(None)
    }
}

fn version_in(list: &[u8]) -> Option<String> {
    let list = Value::from_reader(std::io::Cursor::new(list)).ok()?.into_dictionary()?;
    Some(list.get("CFBundleShortVersionString")?.as_string()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_in_a_property_list() {
        let list = "<plist version=\"1.0\"><dict><key>CFBundleShortVersionString</key><string>26.3</string></dict></plist>";
        assert_eq!(version_in(list.as_bytes()).as_deref(), Some("26.3"));
        assert_eq!(version_in(b"x"), None);
    }
}
