//! `macos_hostname`: the name of a Mac.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::{Act, Bytes, HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::text_of;
use crate::cure;
use crate::host::common::named;

/// The name of a Mac: its host name, the name by which its neighbours find it, and the one people read are the same.
///
/// The network may give a Mac another name while all three are still written down: the name that the kernel goes by is
/// looked at, too. To remove it gives the Mac the names back that it had before.
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
///   resource "macos_hostname" "this" {
///     name = host.name
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Hostname {
    /// The name: letters, digits and hyphens. Observed is one that differs, if one does.
    name: String,
    /// What `HostName` is.
    #[fleet(computed, copies = "name")]
    host_name: Option<String>,
    /// What `LocalHostName` is.
    #[fleet(computed, copies = "name")]
    local_host_name: Option<String>,
    /// What `ComputerName` is.
    #[fleet(computed, copies = "name")]
    computer_name: Option<String>,
    /// The name that the kernel goes by.
    #[fleet(computed, copies = "name")]
    kernel_name: Option<String>,
}

const APPLY: &str = concat!(include_str!("before.sh"), include_str!("hostname.sh"));
const REMOVE: &str = concat!(include_str!("before.sh"), include_str!("hostname_before.sh"));

impl Resource for Hostname {
    const NAME: &'static str = "macos_hostname";

    fn normalize(&mut self) -> Result<(), Misfit> {
        let is_label = |name: &str| {
            let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            letters && !name.is_empty() && name.len() <= 63 && !name.starts_with('-') && !name.ends_with('-')
        };
        let refuse = || {
            Misfit::new(
                "name",
                "letters, digits and hyphens are needed, at most 63, and no hyphen at the ends",
            )
        };
        if is_label(&self.name) { Ok(()) } else { Err(refuse()) }
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers")]
    }
}

impl HostKind for Hostname {
    fn probe(_: &At<Hostname>) -> Result<Probe, Error> {
        let names = ["HostName", "LocalHostName", "ComputerName"];
        let probe = names.into_iter().try_fold(Probe::new(), |probe, name| {
            Ok::<_, Misfit>(probe.tool(Tool::Scutil, [Operand::new(name)?]))
        })?;
        Ok(probe.tool(Tool::Sysctl, [Operand::new("kern.hostname")?]))
    }

    /// A Mac without a host name of its own has no such thing.
    fn parse(at: &At<Hostname>, reply: &Reply) -> Result<Option<Hostname>, Error> {
        let wanted = &named(at)?.name;
        let mut names = Vec::new();
        for index in 0..4 {
            names.push(text_of(reply.output(index)?));
        }
        let [host_name, local_host_name, computer_name, kernel_name] = &names[..] else {
            return Err(Error::permanent("the host did not say what it is called"));
        };
        if host_name.is_none() {
            return Ok(None);
        }
        let shown = if cure::is_there("see-kernel-name") { &names[..] } else { &names[..3] };
        let other = shown.iter().find(|name| name.as_ref() != Some(wanted));
        Ok(Some(Hostname {
            name: other.map_or_else(|| wanted.clone(), |other| other.clone().unwrap_or_default()),
            host_name: host_name.clone(),
            local_host_name: local_host_name.clone(),
            computer_name: computer_name.clone(),
            kernel_name: kernel_name.clone(),
        }))
    }

    fn steps(self, _: Change<Hostname>) -> Result<Vec<Step>, Error> {
        let (arguments, input) = (vec![self.name], Bytes::default());
        Ok(vec![Step::new(Act::Procedure { script: APPLY, arguments, input }).as_root()])
    }

    fn remove(_: Hostname) -> Result<Vec<Step>, Error> {
        let (arguments, input) = (Vec::new(), Bytes::default());
        Ok(vec![Step::new(Act::Procedure { script: REMOVE, arguments, input }).as_root()])
    }

    /// A Mac is always called something.
    fn left(_: Hostname, _: &Reply) -> Result<Option<Hostname>, Error> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use fleet_engine::host::Answer;
    use fleet_engine::host::probe::Output;

    use super::*;

    fn wish(name: &str) -> Hostname {
        let none = || None;
        Hostname {
            name: name.into(),
            host_name: none(),
            local_host_name: none(),
            computer_name: none(),
            kernel_name: none(),
        }
    }

    #[test]
    fn the_first_name_that_differs_is_seen() {
        let check = |names: [&str; 4], expected: Option<&str>| {
            let answer = |name: &str| {
                let status = i32::from(name.is_empty());
                Answer::Output(Output {
                    status,
                    stdout: format!("{name}\n").into_bytes(),
                    stderr: Vec::new(),
                })
            };
            let reply = Reply(names.map(answer).into());
            let seen = Hostname::parse(&At::Declared(wish("a")), &reply).unwrap();
            assert_eq!(seen.map(|seen| seen.name).as_deref(), expected, "{names:?}");
        };
        check(["a", "a", "a", "a"], Some("a"));
        check(["", "a", "a", "a"], None);
        check(["b", "a", "a", "a"], Some("b"));
        check(["a", "a-2", "a", "a"], Some("a-2"));
        check(["a", "a", "", "a"], Some(""));
        check(["a", "a", "a", "dhcp-7"], Some("dhcp-7"));
    }

    #[test]
    fn a_name_is_a_label() {
        for name in ["a", "mini-1", "A1"] {
            wish(name).normalize().unwrap();
        }
        for name in ["", "a.b", "a b", "-a", "a-", &"a".repeat(64)] {
            assert!(wish(name).normalize().is_err(), "{name}");
        }
    }
}
