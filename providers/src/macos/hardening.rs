//! `macos_hardening`: what a Mac does that nobody needs on a host of CI.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::{HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::service_state::is_disabled;
use super::settings::{Setting, made, set_back, switch};
use super::succeeded;

/// What a Mac does besides its work: whether Spotlight indexes its disk, whether the application firewall is on, and whether
/// it still lets people in over the network after its next start.
///
/// To remove it sets everything back to what it was before. Sleep, locking and power failures are a `macos_power`, updates a
/// `macos_software_update`, filters of the network a `macos_pf_anchor`.
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
///   resource "macos_hardening" "this" {
///     application_firewall = true
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Hardening {
    /// Whether Spotlight indexes the disk.
    #[fleet(default = false)]
    spotlight: Option<bool>,
    /// Whether the application firewall is on. It stays as it is if this is not given: a program that waits for connections
    /// may need somebody who clicks on Allow.
    #[fleet(optional_computed)]
    application_firewall: Option<bool>,
    /// Whether Remote Login is on. It cannot be switched off: fleet would be locked out at the next start.
    #[fleet(default = true)]
    remote_login: Option<bool>,
}

/// What launchd calls the program behind Remote Login.
const SSHD: &str = "com.openssh.sshd";
/// What the settings of before are kept under.
const KEPT: &str = "hardening";

impl Resource for Hardening {
    const NAME: &'static str = "macos_hardening";

    fn normalize(&mut self) -> Result<(), Misfit> {
        match self.remote_login {
            Some(false) => Err(Misfit::new("remote_login", "fleet itself would be locked out; leave it out")),
            _ => Ok(()),
        }
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers")]
    }
}

impl HostKind for Hardening {
    fn probe(_: &At<Hardening>) -> Result<Probe, Error> {
        let operand = |name: &str| Ok::<_, Misfit>([Operand::new(name)?]);
        let probe = Probe::new().tool(Tool::Spotlight, operand("/")?).tool(Tool::ApplicationFirewall, []);
        Ok(probe.tool(Tool::LaunchctlDisabled, operand("system")?))
    }

    fn parse(_: &At<Hardening>, reply: &Reply) -> Result<Option<Hardening>, Error> {
        let spotlight = succeeded("mdutil", reply.output(0)?)?;
        let firewall = succeeded("socketfilterfw", reply.output(1)?)?;
        let disabled = succeeded("launchctl", reply.output(2)?)?;
        Ok(Some(Hardening {
            spotlight: is(&spotlight, "Indexing enabled", "Indexing disabled"),
            // On, or on for all programs of Apple.
            remote_login: Some(!is_disabled(&disabled, SSHD)),
            application_firewall: is(&firewall, "enabled", "disabled")
                .or(Some(firewall.contains("blocking"))),
        }))
    }

    fn steps(self, change: Change<Hardening>) -> Result<Vec<Step>, Error> {
        let there = match &change {
            Change::Update { from } => Some(from.settings()),
            Change::Create => None,
        };
        Ok(made(KEPT, &self.settings(), there.as_ref().map(<[_; 3]>::as_slice)))
    }

    fn remove(_: Hardening) -> Result<Vec<Step>, Error> {
        Ok(set_back(KEPT))
    }

    fn left(_: Hardening, _: &Reply) -> Result<Option<Hardening>, Error> {
        Ok(None)
    }
}

impl Hardening {
    fn settings(&self) -> [Setting; 3] {
        [
            switch("mdutil", "Indexing", self.spotlight),
            switch("socketfilterfw", "globalstate", self.application_firewall),
            switch("launchctl", SSHD, self.remote_login),
        ]
    }
}

/// Which of two things a tool says.
fn is(said: &str, on: &str, off: &str) -> Option<bool> {
    if said.contains(on) { Some(true) } else { said.contains(off).then_some(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_say_one_of_two_things() {
        assert_eq!(is("/:\n\tIndexing enabled. \n", "Indexing enabled", "Indexing disabled"), Some(true));
        assert_eq!(is("/:\n\tIndexing disabled.\n", "Indexing enabled", "Indexing disabled"), Some(false));
        assert_eq!(is("/:\n\tNo index.\n", "Indexing enabled", "Indexing disabled"), None);
    }

    #[test]
    fn launchd_lists_what_it_does_not_load() {
        let listed =
            "\tdisabled services = {\n\t\t\"a\" => enabled\n\t\t\"b\" => disabled\n\t\t\"c\" => true\n\t}\n";
        let found = ["a", "b", "c", "d"].map(|label| is_disabled(listed, label));
        assert_eq!(found, [false, true, true, false]);
    }
}
