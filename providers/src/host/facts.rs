//! `data "host_facts"`: what a host is.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::host::probe::{Output, What};
use fleet_engine::host::{Content, HostData, Operand, Probe, Read, Reply, Tool};
use fleet_engine::resource::Error;

use super::boot;

/// Where Linux says which it is; the first may be a link to the second.
const RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

/// What a host is: its system, its names and how it was reached.
///
/// What a host does not say is null.
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
///   data "host_facts" "this" {}
///
///   resource "host_file" "motd" {
///     path    = "/etc/motd"
///     content = "${data.host_facts.this.os} ${data.host_facts.this.os_version}\n"
///     sudo    = true
///   }
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Schema)]
pub(super) struct Facts {
    /// The name that the host has given itself.
    #[fleet(computed)]
    hostname: Option<String>,
    /// The system: `macos`, `linux`, or the name that it calls itself in small letters.
    #[fleet(computed)]
    os: Option<String>,
    /// The version of the system, such as `26.1`; of Linux, that of the distribution.
    #[fleet(computed)]
    os_version: Option<String>,
    /// The version of the kernel.
    #[fleet(computed)]
    kernel: Option<String>,
    /// The machine, such as `arm64` or `x86_64`.
    #[fleet(computed)]
    arch: Option<String>,
    /// The user that is logged in.
    #[fleet(computed)]
    user: Option<String>,
    /// The boot that the host is in: a name that every start makes anew.
    #[fleet(computed)]
    boot_id: Option<String>,
    /// The key by which the host proved who it is, as `type base64`; null for this machine.
    #[fleet(computed)]
    host_key: Option<String>,
    /// The address that answered; null for this machine.
    #[fleet(computed)]
    address: Option<String>,
}

impl HostData for Facts {
    const NAME: &'static str = "host_facts";

    fn probe(&self) -> Result<Probe, Error> {
        let probe = boot::ask(Probe::new())?
            .and(Read::Line)
            .tool(Tool::Uname, [])
            .tool(Tool::SwVers, [])
            .tool(Tool::Scutil, [Operand::new("HostName")?]);
        Ok(RELEASE.into_iter().fold(probe, |probe, path| probe.content(path, Content::Whole)))
    }

    fn parse(self, reply: &Reply) -> Result<Facts, Error> {
        let first = boot::N_READS;
        let line = reply.line(first)?;
        let uname = said(reply.output(first + 1)?);
        // `uname` has an order of its own, whatever it is asked for: system, name, release, machine.
        let words: Vec<&str> = uname.as_deref().unwrap_or_default().split_whitespace().collect();
        let word = |at: usize| words.get(at).map(ToString::to_string);
        let system = word(0).map(|system| system.to_lowercase());
        let versions = said(reply.output(first + 2)?);
        let mac = versions.as_deref().map(|text| pairs(text, ':')).unwrap_or_default();
        let mut release = BTreeMap::new();
        for at in 0..RELEASE.len() {
            if let Some(What::File(file)) = reply.path(first + 4 + at)?.map(|found| &found.what) {
                let text = file.content.as_deref().and_then(|content| std::str::from_utf8(content).ok());
                release.extend(pairs(text.unwrap_or_default(), '='));
            }
        }
        Ok(Facts {
            hostname: said(reply.output(first + 3)?).or_else(|| word(1)),
            os: match system.as_deref() {
                Some("darwin") => Some("macos".into()),
                _ => system,
            },
            os_version: mac.get("ProductVersion").or_else(|| release.get("VERSION_ID")).cloned(),
            kernel: word(2),
            arch: words.last().filter(|_| words.len() > 3).map(ToString::to_string),
            user: Some(line.user.clone()).filter(|user| !user.is_empty()),
            boot_id: boot::read(reply, 0)?,
            host_key: line.host_key.clone(),
            address: line.address.clone(),
        })
    }
}

/// What a tool said, if it is there and ended well.
fn said(output: &Output) -> Option<String> {
    let text = std::str::from_utf8(&output.stdout).ok()?.trim();
    (output.status == 0 && !text.is_empty()).then(|| text.to_owned())
}

/// Lines of names and values; a value may stand in quotes.
fn pairs(text: &str, between: char) -> BTreeMap<String, String> {
    let pair = |line: &str| {
        let (name, value) = line.split_once(between)?;
        Some((name.trim().to_owned(), value.trim().trim_matches(['"', '\'']).to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use fleet_engine::host::Answer;
    use fleet_engine::host::probe::{File, Found, Line};

    use super::*;

    fn file(content: &str) -> Answer {
        let what = What::File(File { size: 0, digest: None, content: Some(content.into()) });
        Answer::Path(Some(Found { what, mode: 0o444, owner: "root".into(), group: "root".into() }))
    }

    fn tool(status: i32, stdout: &str) -> Answer {
        Answer::Output(Output { status, stdout: stdout.into(), stderr: Vec::new() })
    }

    fn text(text: &str) -> Option<String> {
        Some(text.into())
    }

    #[test]
    fn a_linux_host_says_what_it_is() {
        let reply = Reply(vec![
            file("0B9E-11\n"),
            tool(127, ""),
            Answer::Line(Line { user: "ci".into(), ..Line::default() }),
            tool(0, "Linux box 6.1.0-9-amd64 x86_64\n"),
            tool(127, ""),
            tool(127, ""),
            Answer::Path(None),
            file("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n# x\n"),
        ]);
        let facts = Facts::default().parse(&reply).unwrap();
        let expected = Facts {
            hostname: text("box"),
            os: text("linux"),
            os_version: text("12"),
            kernel: text("6.1.0-9-amd64"),
            arch: text("x86_64"),
            user: text("ci"),
            boot_id: text("0B9E-11"),
            host_key: None,
            address: None,
        };
        assert_eq!(facts, expected);
        assert_eq!(Facts::default().probe().unwrap().reads().len(), reply.0.len());
    }

    #[test]
    fn a_mac_says_what_it_is() {
        let line = Line {
            address: text("10.0.0.11"),
            host_key: text("ssh-ed25519 AAAA"),
            pinned: true,
            user: "m1".into(),
            lineage: None,
        };
        let reply = Reply(vec![
            Answer::Path(None),
            tool(0, "11AA-22\n"),
            Answer::Line(line),
            tool(0, "Darwin mini.local 25.1.0 arm64\n"),
            tool(0, "ProductName:\t\tmacOS\nProductVersion:\t\t26.1\nBuildVersion:\t\t25B78\n"),
            tool(0, "mini-a\n"),
            Answer::Path(None),
            Answer::Path(None),
        ]);
        let facts = Facts::default().parse(&reply).unwrap();
        let expected = Facts {
            hostname: text("mini-a"),
            os: text("macos"),
            os_version: text("26.1"),
            kernel: text("25.1.0"),
            arch: text("arm64"),
            user: text("m1"),
            boot_id: text("11AA-22"),
            host_key: text("ssh-ed25519 AAAA"),
            address: text("10.0.0.11"),
        };
        assert_eq!(facts, expected);
    }

    #[test]
    fn what_a_host_does_not_say_is_null() {
        let nothing = || tool(127, "");
        let none = || Answer::Path(None);
        let reply = Reply(vec![
            none(),
            nothing(),
            Answer::Line(Line::default()),
            nothing(),
            nothing(),
            nothing(),
            none(),
            none(),
        ]);
        assert_eq!(Facts::default().parse(&reply).unwrap(), Facts::default());
    }
}
