//! `tailscale`: what its daemon is told and asked. And `lab-tailnet`: what somebody does at the admin console.

use std::ffi::OsStr;
use std::fs;

use serde_json::{Value, json};

use super::directory::ended;
use super::{Call, Failure, Outcome};
use crate::mac::launchd::program::version_of;
use crate::mac::launchd::signature;
use crate::mac::tailscale::{self, Backend, Daemon, SOCKET, State};
use crate::tailnet::{Join, Key, is_client};

/// Where the program lies.
const PROGRAM: &str = "usr/local/bin/tailscale";

pub(super) fn tailscale(call: &mut Call) -> Outcome {
    let version = installed(call, PROGRAM)?;
    let mut words = call.texts();
    let mut socket = SOCKET.to_owned();
    if let Some(path) = words.first().and_then(|word| word.strip_prefix("--socket=")) {
        socket = path.to_owned();
        words.remove(0);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words == ["version"] {
        return call.say(format!("{version}\n  go version: go1.26\n"));
    }
    match words[..] {
        ["status", ref options @ ..] => {
            let backend = asked(call, &socket)?.backend(&call.mac);
            status(call, &backend, options, &version)
        }
        ["ip", ref options @ ..] if matches!(options, [] | ["-4"] | ["-1", "-4"]) => {
            let backend = asked(call, &socket)?.backend(&call.mac);
            match backend.running() {
                Some(device) => call.say(format!("{}\n", device.address)),
                None => Err(told(&format!("no current Tailscale IPs; state: {}", backend.word()))),
            }
        }
        ["debug", "prefs"] => {
            let backend = asked(call, &socket)?.backend(&call.mac);
            prefs(call, &backend)
        }
        ["up", ref options @ ..] => up(call, &socket, options),
        ["down"] => down(call, &socket),
        ["logout"] => log_out(call, &socket),
        [command, ..] => Err(told(&format!("tailscale: unknown subcommand: {command}"))),
        [] => Err(told("USAGE\n  tailscale [flags] <subcommand> [command flags]")),
    }
}

fn told(text: &str) -> Failure {
    Failure { text: text.to_owned(), status: 1 }
}

/// The version of a program of the lab at a path, if the kernel runs it.
pub(super) fn installed(call: &Call, path: &str) -> Result<String, Failure> {
    let missing = || Failure { text: format!("sh: {}: command not found", call.name), status: 127 };
    let killed = || Failure { text: "Killed: 9".into(), status: 137 };
    let place = call.mac.root().join(path);
    let file = fs::read(&place).map_err(|_| missing())?;
    signature::admit(&call.mac, &place, &file).and_then(|_| version_of(&file)).ok_or_else(killed)
}

/// The daemon, if it answers.
fn asked(call: &Call, socket: &str) -> Result<Daemon, Failure> {
    let daemon = tailscale::daemon(&call.mac)
        .filter(|daemon| daemon.socket == socket && daemon.is_awake(call.mac.clock().time()));
    daemon.ok_or_else(|| told("failed to connect to local Tailscale service; is Tailscale running?"))
}

fn status(call: &mut Call, backend: &Backend, options: &[&str], version: &str) -> Outcome {
    if !options.iter().all(|option| matches!(*option, "--json" | "--self" | "--peers=false")) {
        return Err(told("tailscale: flag provided but not defined"));
    }
    if !options.contains(&"--json") {
        return match backend.running() {
            Some(device) => {
                call.say(format!("{}  {}  tagged-devices  macOS  -\n", device.address, device.name))
            }
            None if backend.word() == "Stopped" => Err(told("Tailscale is stopped.")),
            None => Err(told("Logged out.")),
        };
    }
    let name = super::system::host_name(&call.mac);
    let book = call.mac.tools.tailnet.book();
    let mut own = match backend.running() {
        Some(device) => json!({
            "ID": device.node_id, "HostName": device.hostname, "DNSName": format!("{}.", book.fqdn(device)),
            "OS": "macOS", "TailscaleIPs": [device.address], "Tags": device.tags, "Online": true,
        }),
        None => {
            json!({ "ID": "", "HostName": name, "DNSName": "", "OS": "macOS", "TailscaleIPs": null, "Online": false })
        }
    };
    // A device whose key does not expire says nothing of it.
    if let Some(end) = backend.running().and_then(|device| device.expires) {
        own["KeyExpiry"] = json!(end);
    }
    let health: Vec<String> = match (&backend.state.refused, backend.word()) {
        (Some(refused), _) => vec![format!("You are logged out. The last login error was: {refused}")],
        (None, "NeedsLogin") => vec!["You are logged out.".to_owned()],
        _ => Vec::new(),
    };
    let mut shown = json!({
        "Version": version,
        "TUN": true,
        "BackendState": backend.word(),
        "AuthURL": "",
        "TailscaleIPs": own["TailscaleIPs"],
        "Self": own,
        "Health": health,
        "MagicDNSSuffix": book.domain,
        "Peer": null,
    });
    // It says so only if it has one.
    if backend.state.node_key.is_some() {
        shown["HaveNodeKey"] = true.into();
    }
    say_json(call, &shown)
}

fn prefs(call: &mut Call, backend: &Backend) -> Outcome {
    let State { node_key, hostname, tags, accept_routes, is_down, .. } = &backend.state;
    let shown = json!({
        "ControlURL": "https://controlplane.tailscale.com",
        "RouteAll": accept_routes,
        "RunSSH": false,
        "WantRunning": !is_down,
        "LoggedOut": node_key.is_none(),
        "AdvertiseTags": tags,
        "Hostname": hostname.clone().unwrap_or_default(),
    });
    say_json(call, &shown)
}

fn say_json(call: &mut Call, shown: &Value) -> Outcome {
    let text = serde_json::to_string_pretty(shown).map_err(|error| told(&error.to_string()))?;
    call.say(format!("{text}\n"))
}

/// What `up` is told.
#[derive(Default)]
struct Up {
    key: Option<String>,
    hostname: Option<String>,
    tags: Option<Vec<String>>,
    accept_routes: bool,
    resets: bool,
}

impl Up {
    /// Nothing is told: all stays.
    fn like(state: &State) -> Up {
        Up {
            key: None,
            hostname: state.hostname.clone(),
            tags: Some(state.tags.clone()),
            accept_routes: state.accept_routes,
            resets: false,
        }
    }

    /// Whether something would be lost that nobody mentions.
    fn forgets(&self, state: &State) -> bool {
        let loses = state.hostname.is_some() && self.hostname.is_none()
            || !state.tags.is_empty() && self.tags.is_none()
            || state.accept_routes && !self.accept_routes;
        loses && !self.resets
    }

    fn read(call: &Call, options: &[&str]) -> Result<Up, Failure> {
        let mut up = Up::default();
        for option in options {
            let (name, value) = option.split_once('=').unwrap_or((option, "true"));
            match name {
                "--auth-key" | "--authkey" => up.key = Some(key(call, value)?),
                "--hostname" => up.hostname = Some(value.to_owned()),
                "--advertise-tags" => {
                    up.tags =
                        Some(value.split(',').filter(|tag| !tag.is_empty()).map(str::to_owned).collect());
                }
                "--accept-routes" => up.accept_routes = value == "true",
                "--reset" => up.resets = value == "true",
                "--ssh" | "--timeout" => {}
                _ => {
                    return Err(told(&format!(
                        "flag provided but not defined: -{}",
                        name.trim_start_matches('-')
                    )));
                }
            }
        }
        let bad = up.tags.iter().flatten().find(|tag| !tag.starts_with("tag:"));
        match bad {
            Some(tag) => Err(told(&format!("tag: \"{tag}\": tags must start with 'tag:'"))),
            None => Ok(up),
        }
    }
}

/// A key, which may lie in a file.
fn key(call: &Call, value: &str) -> Result<String, Failure> {
    let Some(path) = value.strip_prefix("file:") else { return Ok(value.to_owned()) };
    let text = fs::read_to_string(call.path(OsStr::new(path)));
    text.map(|text| text.trim().to_owned())
        .map_err(|error| told(&format!("open {path}: {}", super::reason(&error).to_lowercase())))
}

/// Lets the device be in, or changes how it is in.
///
/// - A device that is known comes back, and takes another name, without a key.
/// - Other tags than it asked for before take a key.
/// - A key that is given is used, also by a device that is in. One that is refused puts it out.
fn up(call: &mut Call, socket: &str, options: &[&str]) -> Outcome {
    if !call.is_root() {
        return Err(told("Access denied: prefs write access denied\n\nUse 'sudo tailscale up'."));
    }
    let daemon = asked(call, socket)?;
    let Backend { state, device } = daemon.backend(&call.mac);
    let up = match options {
        [] => Up::like(&state),
        options => Up::read(call, options)?,
    };
    if up.forgets(&state) {
        return Err(told(
            "Error: changing settings via 'tailscale up' requires mentioning all\nnon-default flags. To proceed, either re-run your command with --reset or\n\
             use the command below to explicitly mention the current value of\nall non-default settings.",
        ));
    }
    let tags = up.tags.unwrap_or_default();
    let hostname = up.hostname.clone().unwrap_or_else(|| super::system::host_name(&call.mac));
    let tailnet = call.mac.tools.tailnet.clone();
    let joined = match (&up.key, &device) {
        (None, Some(device)) if tags == state.tags => tailnet.rename(&device.node_key, &hostname),
        (None, _) => None,
        (Some(key), _) if is_client(key) && tags.is_empty() => {
            return Err(told("oauth authkeys require --advertise-tags"));
        }
        (Some(key), _) => {
            let join = Join { key, hostname: &hostname, tags: &tags, node_key: state.node_key.as_deref() };
            match tailnet.join(join, call.mac.clock().time()) {
                Ok(joined) => Some(joined),
                Err(refused) => {
                    let state = State { refused: Some(refused.0.clone()), ..state };
                    daemon.keep(&state).map_err(|error| told(&format!("backend error: {error}")))?;
                    if let Some(device) = &device {
                        tailscale::put_out(&call.mac, device);
                    }
                    return Err(told(&format!("backend error: {refused}")));
                }
            }
        }
    };
    let Some(joined) = joined else {
        return Err(told(
            "timeout waiting for Tailscale service to enter a Running state; check health with \"tailscale status\"",
        ));
    };
    let state = State {
        node_key: Some(joined.node_key.clone()),
        hostname: up.hostname,
        tags,
        accept_routes: up.accept_routes,
        is_down: false,
        refused: None,
    };
    daemon.keep(&state).map_err(|error| told(&format!("backend error: {error}")))?;
    tailscale::connected(&call.mac, &joined, true);
    ended(0)
}

/// Leaves the tailnet for now. The device stays what it is.
fn down(call: &mut Call, socket: &str) -> Outcome {
    if !call.is_root() {
        return Err(told("Access denied: prefs write access denied"));
    }
    let daemon = asked(call, socket)?;
    let backend = daemon.backend(&call.mac);
    let state = State { is_down: true, ..backend.state };
    daemon.keep(&state).map_err(|error| told(&error.to_string()))?;
    if let Some(device) = &backend.device {
        tailscale::put_out(&call.mac, device);
    }
    ended(0)
}

fn log_out(call: &mut Call, socket: &str) -> Outcome {
    if !call.is_root() {
        return Err(told("Access denied: logout access denied"));
    }
    let daemon = asked(call, socket)?;
    let backend = daemon.backend(&call.mac);
    if let Some(device) = &backend.device {
        tailscale::put_out(&call.mac, device);
        call.mac.tools.tailnet.log_out(&device.node_key);
    }
    let state = State { node_key: None, is_down: false, refused: None, ..backend.state };
    daemon.keep(&state).map_err(|error| told(&error.to_string()))?;
    ended(0)
}

/// What somebody does at the admin console: `lab-tailnet add KEY [TAG,…]`, `lab-tailnet expire KEY` and `lab-tailnet remove
/// DEVICE`. And `lab-tailnet come ADDRESS`: where whoever connects from now on comes from.
pub(super) fn lab_tailnet(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (tailnet, now) = (call.mac.tools.tailnet.clone(), call.mac.clock().time());
    let tags = |text: &str| text.split(',').map(str::to_owned).collect();
    match words[..] {
        ["add", key] => tailnet.edit(|book| book.keys.push(Key::auth(key, Vec::new()))),
        ["add", key, names] => tailnet.edit(|book| book.keys.push(Key::auth(key, tags(names)))),
        ["expire", key] => tailnet.edit(|book| {
            for known in book.keys.iter_mut().filter(|known| known.secret == key) {
                known.expires = Some(now);
            }
        }),
        ["come", address] => match address.parse() {
            Ok(address) => call.mac.set_ssh_peer(address),
            Err(_) => return Err(call.failure(&format!("{address} is no address"))),
        },
        ["remove", device] if tailnet.remove(device) => {}
        ["remove", device] => return Err(call.failure(&format!("no device {device}"))),
        _ => {
            return Err(
                call.failure("`add KEY [TAGS]`, `expire KEY`, `remove DEVICE` or `come ADDRESS` is needed")
            );
        }
    }
    ended(0)
}
