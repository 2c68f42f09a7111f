//! What `connection "ssh"`, `connection "local"` and `pool "static"` take, for the catalogue. The ways themselves are the
//! transport's business, and who gets which host is the engine's.

use fleet_derive::Schema;
use fleet_engine::attributes::Attributes;
use fleet_engine::registry::Registry;
use fleet_engine::schema::{Entry, Nested, Nesting, Place, Schema as Arguments, Sort};

/// Reaches hosts over OpenSSH.
///
/// What is not said here is as the user's own configuration of OpenSSH has it: user, port, keys, agent, hosts on the
/// way. One connection is kept for each host, and everything goes through it.
///
/// ```hcl
/// secret "key" {
///   from = "env:FLEET_KEY"
/// }
///
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///
///   connection "ssh" {
///     user     = "m1"
///     identity = secret.key
///   }
/// }
/// ```
#[derive(Clone, Schema)]
struct Ssh {
    /// Who logs in.
    user: Option<String>,
    /// The port, where a host of the pool does not say otherwise.
    port: Option<i64>,
    /// The private key, as OpenSSH writes it; without one, the user's own agent and keys are used. It never touches a
    /// disk.
    #[fleet(secret)]
    identity: Option<String>,
    /// The password with which the user becomes root; without one, root must be had without a password.
    #[fleet(secret)]
    sudo_password: Option<String>,
    /// How many seconds a host waits for a new connection after a change that could cut it off, before it undoes that by
    /// itself; 60 if nothing is said.
    confirm_within: Option<i64>,
    /// A directory on the host that stands for `/`, such as a mounted image.
    root: Option<String>,
    /// The file to be read in the place of `~/.ssh/config`.
    config: Option<String>,
    /// The hosts on the way, as `ssh -J` takes them.
    jump: Option<String>,
}

/// Converges the machine that runs fleet, by the same path as any other host.
///
/// With `root`, it is an image that is mounted there.
///
/// ```hcl
/// pool "static" "this" {
///   host "here" {}
/// }
///
/// fleet "this" {
///   pool     = pool.this
///   hosts    = ["here"]
///   hostname = host.key
///
///   connection "local" {
///     root = "/Volumes/image"
///   }
/// }
/// ```
#[derive(Clone, Schema)]
struct Local {
    /// A directory that stands for `/`, such as a mounted image.
    root: Option<String>,
    /// The password with which the user becomes root; without one, root must be had without a password.
    #[fleet(secret)]
    sudo_password: Option<String>,
}

/// Machines that are there already, by name.
///
/// A machine is held by at most one slot of one fleet; a ledger on the machine itself says by which. It is given back
/// when its slot goes.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
///   host "mini-b" {
///     addresses = ["mini-b.local", "10.0.0.12"]
///     host_key  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
///   }
/// }
/// ```
#[derive(Clone, Schema)]
struct Static {
    /// Where the ledger lies on each machine; a file that outlives a reboot, in a directory that the user of the
    /// connection can write to.
    #[fleet(default = fleet_engine::host::ledger::PATH)]
    ledger: String,
}

/// A machine. Its label is its name.
#[derive(Clone, Schema)]
struct Machine {
    /// Where it is: a name or an address.
    address: Option<String>,
    /// Where it may be, in the order in which that is tried; after `address`, if both are given.
    addresses: Option<Vec<String>>,
    /// The port of OpenSSH on it.
    port: Option<i64>,
    /// The key by which it must prove who it is, as `type base64`; without one, the first that it shows is taken.
    host_key: Option<String>,
}

/// What `connection "ssh"` takes.
#[must_use]
pub fn ssh() -> Entry {
    Entry::new(Ssh::schema(), Place::Api, "host")
}

/// What `connection "local"` takes.
#[must_use]
pub fn local() -> Entry {
    Entry::new(Local::schema(), Place::Api, "host")
}

/// What `pool "static"` takes.
#[must_use]
pub fn static_pool() -> Entry {
    let machine = Nested { nesting: Nesting::Map, min: 0, max: None, schema: Machine::schema() };
    let schema = Arguments { blocks: [("host".into(), machine)].into(), ..Static::schema() };
    Entry::new(schema, Place::Api, "static")
}

/// Adds all of them to a catalogue.
pub(crate) fn with_reach(registry: Registry) -> Registry {
    registry
        .with_entry(Sort::Connection, "ssh", ssh())
        .with_entry(Sort::Connection, "local", local())
        .with_entry(Sort::Pool, "static", static_pool())
}
