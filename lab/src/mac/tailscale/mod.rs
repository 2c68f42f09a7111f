//! Tailscale on a Mac: `tailscaled`, which launchd runs, and its place in the tailnet.
//!
//! 1. [`Daemon`]: what runs, found among what launchd has started
//! 2. [`State`]: what it keeps in its state file, and has again after a reboot
//! 3. [`Backend`]: what both are together with what the tailnet knows of the device
//!
//! A device that is in stays in without any key. But a key that it is given is used, and one that is refused puts it out, until
//! it is told to come back without one.
//!
//! `tailscaled` is a program of the lab that says `is=tailscaled`; see [`PART`]. Without the directories of its state and
//! of its socket it ends with EX_CONFIG, and for a moment after its start nobody gets an answer.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Mac;
use super::launchd::job::Job;
use super::launchd::program::{Ended, Part};
use crate::clock::Time;
use crate::tailnet::Device;

/// Where the daemon is asked, unless its arguments say otherwise.
pub(super) const SOCKET: &str = "/var/run/tailscaled.socket";
/// Where it keeps what it must not forget, unless its arguments say otherwise.
const STATE: &str = "/Library/Tailscale/tailscaled.state";
/// So long does it take until it answers.
const WAKES: Duration = Duration::from_secs(2);
/// The interface over which the tailnet is reached.
pub(super) const INTERFACE: &str = "utun4";
/// The configuration is not such that it can run.
const EX_CONFIG: i32 = 78;

/// What `tailscaled` does once launchd has started it.
pub(super) const PART: Part = Part { name: "tailscaled", started, ended };

/// What runs.
#[derive(Clone, Debug)]
pub(super) struct Daemon {
    pub(super) socket: String,
    state: PathBuf,
    started: Time,
}

/// What the daemon keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// By what the tailnet knows the device; nothing before it joined.
    pub(super) node_key: Option<String>,
    pub(super) hostname: Option<String>,
    /// The tags that it asks for, which need not be those that it has.
    pub(super) tags: Vec<String>,
    pub(super) accept_routes: bool,
    /// Whether somebody stopped it.
    pub(super) is_down: bool,
    /// Why its last key was refused, if it was.
    pub(super) refused: Option<String>,
}

/// What the daemon says of itself.
#[derive(Clone, Debug)]
pub(super) struct Backend {
    pub(super) state: State,
    /// What the tailnet knows of it; nothing while it is not in.
    pub(super) device: Option<Device>,
}

fn argument(arguments: &[String], name: &str, otherwise: &str) -> String {
    let start = format!("--{name}=");
    let found = arguments.iter().find_map(|word| word.strip_prefix(&start));
    found.unwrap_or(otherwise).to_owned()
}

fn at(mac: &Mac, path: &str) -> PathBuf {
    mac.root().join(path.trim_start_matches('/'))
}

/// launchd has started it: why it ends at once, if it does.
fn started(mac: &Arc<Mac>, job: &Job) -> Result<(), Ended> {
    let now = mac.clock().time();
    mac.tools.tailnet.edit(|book| book.sweep(now));
    let paths =
        [("state", STATE), ("socket", SOCKET)].map(|(name, path)| argument(&job.arguments, name, path));
    for path in &paths {
        let around = Path::new(path).parent().unwrap_or(Path::new("/"));
        if !at(mac, &around.to_string_lossy()).is_dir() {
            let text = format!("tailscaled: {path}: open {}: no such file or directory\n", around.display());
            return Err(Ended { code: EX_CONFIG, text });
        }
    }
    if let Some(device) = backend(mac, &at(mac, &paths[0])).running() {
        connected(mac, device, true);
    }
    Ok(())
}

/// It ended: whoever came in over the tailnet is cut off.
fn ended(mac: &Arc<Mac>, arguments: &[String]) {
    let state = at(mac, &argument(arguments, "state", STATE));
    if let Some(device) = backend(mac, &state).device {
        connected(mac, &device, false);
    }
    // It may have lost its state meanwhile.
    mac.set_tailnet(None);
    mac.cut_tailnet();
}

/// The device is out from now on, and whoever came in over the tailnet with it.
pub(super) fn put_out(mac: &Mac, device: &Device) {
    connected(mac, device, false);
    mac.cut_tailnet();
}

/// The device is reached by its address from now on, or is not.
pub(super) fn connected(mac: &Mac, device: &Device, is_online: bool) {
    mac.tools.tailnet.connected(&device.node_key, is_online, mac.clock().time());
    mac.set_tailnet(is_online.then_some(IpAddr::V4(device.address)));
}

/// The Mac is switched off, and its daemon with it.
pub(super) fn switched_off(mac: &Mac) {
    if let Some(device) = daemon(mac).and_then(|daemon| daemon.backend(mac).device) {
        connected(mac, &device, false);
    }
}

/// What runs, if anything does.
pub(super) fn daemon(mac: &Mac) -> Option<Daemon> {
    let live = mac.live();
    let mut all = live.as_ref()?.launchd.processes();
    let (_, process) = all.find(|(_, process)| process.is.as_deref() == Some(PART.name))?;
    Some(Daemon {
        socket: argument(&process.arguments, "socket", SOCKET),
        state: at(mac, &argument(&process.arguments, "state", STATE)),
        started: process.started,
    })
}

impl Daemon {
    /// Whether it answers by now.
    pub(super) fn is_awake(&self, now: Time) -> bool {
        now >= self.started.after(WAKES)
    }

    /// What it says of itself.
    pub(super) fn backend(&self, mac: &Mac) -> Backend {
        backend(mac, &self.state)
    }

    /// Keeps something.
    pub(super) fn keep(&self, state: &State) -> std::io::Result<()> {
        fs::write(&self.state, serde_json::to_vec(state)?)?;
        fs::set_permissions(&self.state, fs::Permissions::from_mode(0o600))
    }
}

fn backend(mac: &Mac, place: &Path) -> Backend {
    // A state that cannot be read is none, as after a new installation.
    let state: State =
        fs::read(place).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let device = state.node_key.as_ref().and_then(|node_key| mac.tools.tailnet.device(node_key));
    // One whose key expired is known, and out.
    let now = mac.clock().time();
    let device = device.filter(|device| device.expires.is_none_or(|end| now < end));
    Backend { state, device }
}

impl Backend {
    /// The word for it.
    pub(super) fn word(&self) -> &'static str {
        match &self.device {
            Some(_) if self.state.refused.is_some() => "NeedsLogin",
            Some(_) if self.state.is_down => "Stopped",
            Some(_) => "Running",
            None => "NeedsLogin",
        }
    }

    /// The device, while it is reached.
    pub(super) fn running(&self) -> Option<&Device> {
        self.device.as_ref().filter(|_| self.word() == "Running")
    }
}
