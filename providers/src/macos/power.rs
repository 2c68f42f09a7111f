//! `macos_power`: a Mac that stays awake and unlocked.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::{HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::preferences::{Domain, SCREEN_SAVER, SYSTEM_GLOBAL};
use super::settings::{Setting, made, number, set_back, switch};
use super::succeeded;
use crate::cure;
use crate::host::common::named;

/// When a Mac sleeps, locks itself or logs somebody out, and whether it comes back after a power failure.
///
/// A Mac that locks or logs out loses its session with a screen, and with it every VM. Without arguments it does nothing
/// of the sort, and starts by itself when power returns. To remove it sets everything back to what it was before.
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
///   resource "macos_power" "awake" {}
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Power {
    /// After how many idle minutes the Mac sleeps; 0: never.
    #[fleet(default = 0_i64)]
    sleep: Option<i64>,
    /// After how many idle minutes the screen does; 0: never.
    #[fleet(default = 0_i64)]
    display_sleep: Option<i64>,
    /// After how many idle minutes disks do; 0: never.
    #[fleet(default = 0_i64)]
    disk_sleep: Option<i64>,
    /// Whether the Mac starts by itself when power returns.
    #[fleet(default = true)]
    restart_after_power_loss: Option<bool>,
    /// After how many idle seconds the screen saver starts; 0: never.
    #[fleet(default = 0_i64)]
    screen_saver: Option<i64>,
    /// Whether a password is asked for when it ends.
    #[fleet(default = false)]
    ask_for_password: Option<bool>,
    /// After how many idle seconds whoever is logged in is logged out; 0: never.
    #[fleet(default = 0_i64)]
    auto_logout: Option<i64>,
}

/// What the settings of before are kept under.
const KEPT: &str = "power";

impl Resource for Power {
    const NAME: &'static str = "macos_power";

    fn normalize(&mut self) -> Result<(), Misfit> {
        let numbers = [
            ("sleep", self.sleep),
            ("display_sleep", self.display_sleep),
            ("disk_sleep", self.disk_sleep),
            ("screen_saver", self.screen_saver),
            ("auto_logout", self.auto_logout),
        ];
        match numbers.into_iter().find(|(_, number)| number.is_some_and(|number| number < 0)) {
            Some((name, _)) => Err(Misfit::new(name, "it cannot be less than 0")),
            None => Ok(()),
        }
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers")]
    }
}

impl HostKind for Power {
    fn probe(_: &At<Power>) -> Result<Probe, Error> {
        let domain = |name: &str| Ok::<_, Misfit>([Operand::new(name)?]);
        let probe = Probe::new().tool(Tool::Pmset, []);
        let probe = probe.tool(Tool::Defaults, domain(SCREEN_SAVER)?);
        Ok(probe.tool(Tool::Defaults, domain(SYSTEM_GLOBAL)?))
    }

    /// A Mac always has some of these settings, so that there is nothing to create.
    fn parse(at: &At<Power>, reply: &Reply) -> Result<Option<Power>, Error> {
        if !cure::is_there("see-power") {
            return Ok(Some(named(at)?.clone()));
        }
        let power = succeeded("pmset", reply.output(0)?)?;
        let (saver, global) = (Domain::read(reply.output(1)?)?, Domain::read(reply.output(2)?)?);
        let set = |name: &str| setting(&power, name);
        Ok(Some(Power {
            sleep: set("sleep"),
            display_sleep: set("displaysleep"),
            disk_sleep: set("disksleep"),
            restart_after_power_loss: set("autorestart").map(|number| number != 0),
            screen_saver: saver.number("idleTime"),
            ask_for_password: saver.number("askForPassword").map(|number| number != 0),
            auto_logout: global.number("com.apple.autologout.AutoLogOutDelay"),
        }))
    }

    fn steps(self, change: Change<Power>) -> Result<Vec<Step>, Error> {
        let there = match &change {
            Change::Update { from } => Some(from.settings()),
            Change::Create => None,
        };
        Ok(made(KEPT, &self.settings(), there.as_ref().map(<[_; 7]>::as_slice)))
    }

    fn remove(_: Power) -> Result<Vec<Step>, Error> {
        Ok(set_back(KEPT))
    }

    fn left(_: Power, _: &Reply) -> Result<Option<Power>, Error> {
        Ok(None)
    }
}

impl Power {
    fn settings(&self) -> [Setting; 7] {
        [
            number("pmset", "sleep", self.sleep),
            number("pmset", "displaysleep", self.display_sleep),
            number("pmset", "disksleep", self.disk_sleep),
            switch("pmset", "autorestart", self.restart_after_power_loss),
            number(SCREEN_SAVER, "idleTime", self.screen_saver),
            number(SCREEN_SAVER, "askForPassword", self.ask_for_password.map(i64::from)),
            number(SYSTEM_GLOBAL, "com.apple.autologout.AutoLogOutDelay", self.auto_logout),
        ]
    }
}

/// A setting of power: of several sources of power, the one that differs most from never.
fn setting(said: &str, name: &str) -> Option<i64> {
    let values = said.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == name)?;
        words.next()?.parse::<i64>().ok()
    });
    values.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_by_their_first_word() {
        let said = "Battery Power:\n sleep                5\nAC Power:\n Sleep On Power Button 1\n disksleep            10\n \
                    sleep                1 (sleep prevented by sshd)\n";
        assert_eq!(setting(said, "sleep"), Some(5));
        assert_eq!(setting(said, "disksleep"), Some(10));
        assert_eq!(setting(said, "autorestart"), None);
    }
}
