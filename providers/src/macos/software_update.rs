//! `macos_software_update`: whether a Mac updates itself.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::{HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use super::preferences::Domain;
use super::settings::{Setting, made, set_back, switch};
use super::succeeded;

/// Whether a Mac looks for updates and installs them by itself. Without arguments it does neither.
///
/// An update that installs itself restarts the Mac under whatever runs there. To remove it sets everything back to what it was before.
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
///   resource "macos_software_update" "never" {}
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct SoftwareUpdate {
    /// Whether it looks for updates.
    #[fleet(default = false)]
    check: Option<bool>,
    /// Whether it fetches what it finds.
    #[fleet(default = false)]
    download: Option<bool>,
    /// Whether it installs updates of macOS.
    #[fleet(default = false)]
    install_macos: Option<bool>,
    /// Whether it installs system data files.
    #[fleet(default = false)]
    install_config_data: Option<bool>,
    /// Whether it installs security responses.
    #[fleet(default = false)]
    install_critical: Option<bool>,
    /// Whether it updates what came from the App Store.
    #[fleet(default = false)]
    update_apps: Option<bool>,
}

const DOMAIN: &str = "/Library/Preferences/com.apple.SoftwareUpdate";
const STORE: &str = "/Library/Preferences/com.apple.commerce";
/// What the settings of before are kept under.
const KEPT: &str = "software_update";

impl Resource for SoftwareUpdate {
    const NAME: &'static str = "macos_software_update";

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers")]
    }
}

impl HostKind for SoftwareUpdate {
    fn probe(_: &At<SoftwareUpdate>) -> Result<Probe, Error> {
        let domain = |name: &str| Ok::<_, Misfit>([Operand::new(name)?]);
        let probe = Probe::new().tool(Tool::SoftwareUpdate, []);
        Ok(probe.tool(Tool::Defaults, domain(DOMAIN)?).tool(Tool::Defaults, domain(STORE)?))
    }

    /// A Mac either updates itself or does not, so that there is nothing to create.
    fn parse(_: &At<SoftwareUpdate>, reply: &Reply) -> Result<Option<SoftwareUpdate>, Error> {
        let said = succeeded("softwareupdate", reply.output(0)?)?;
        let (updates, store) = (Domain::read(reply.output(1)?)?, Domain::read(reply.output(2)?)?);
        let check = match said.trim() {
            said if said.ends_with("turned on") => Some(true),
            said if said.ends_with("turned off") => Some(false),
            _ => None,
        };
        Ok(Some(SoftwareUpdate {
            check,
            download: updates.switch("AutomaticDownload"),
            install_macos: updates.switch("AutomaticallyInstallMacOSUpdates"),
            install_config_data: updates.switch("ConfigDataInstall"),
            install_critical: updates.switch("CriticalUpdateInstall"),
            update_apps: store.switch("AutoUpdate"),
        }))
    }

    fn steps(self, change: Change<SoftwareUpdate>) -> Result<Vec<Step>, Error> {
        let there = match &change {
            Change::Update { from } => Some(from.settings()),
            Change::Create => None,
        };
        Ok(made(KEPT, &self.settings(), there.as_ref().map(<[_; 6]>::as_slice)))
    }

    fn remove(_: SoftwareUpdate) -> Result<Vec<Step>, Error> {
        Ok(set_back(KEPT))
    }

    fn left(_: SoftwareUpdate, _: &Reply) -> Result<Option<SoftwareUpdate>, Error> {
        Ok(None)
    }
}

impl SoftwareUpdate {
    fn settings(&self) -> [Setting; 6] {
        [
            switch("softwareupdate", "AutomaticCheckEnabled", self.check),
            switch(DOMAIN, "AutomaticDownload", self.download),
            switch(DOMAIN, "AutomaticallyInstallMacOSUpdates", self.install_macos),
            switch(DOMAIN, "ConfigDataInstall", self.install_config_data),
            switch(DOMAIN, "CriticalUpdateInstall", self.install_critical),
            switch(STORE, "AutoUpdate", self.update_apps),
        ]
    }
}
