//! What `pool "scaleway"` takes, for the catalogue. Who gets which host is the engine's business.

use fleet_derive::Schema;
use fleet_engine::attributes::Attributes;
use fleet_engine::pool::rule;
use fleet_engine::schema::{Entry, Presence};

/// Macs that are rented from Scaleway, and are there already.
///
/// A server is free if its name starts with `prefix`, and nobody holds it; whose it is, is written on the server itself.
/// Only servers of the `type` and the `os_family` in the `zone` are taken. When their slots go, they are made as new,
/// named with the prefix again, and are free. `provider = scaleway.NAME` says which account it is, where there are several.
///
/// ```hcl
/// resource "scaleway_ssh_key" "fleet" {
///   name       = "fleet"
///   public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
/// }
///
/// pool "scaleway" "minis" {
///   zone      = "fr-par-1"
///   prefix    = "pool-"
///   type      = "M2-L"
///   os_family = "Tahoe"
///   ssh_keys  = [scaleway_ssh_key.fleet]
///
///   return {
///     method   = "reinstall"
///     deadline = "45m"
///   }
/// }
/// ```
#[derive(Clone, Schema)]
struct Manual {}

/// What `pool "scaleway"` takes: what every pool behind a vendor does, of one type of servers.
#[must_use]
pub fn pool() -> Entry {
    let mut entry = rule::entry(super::NAME, &Manual::schema().doc);
    if let Some(model) = entry.schema.attributes.get_mut("type") {
        model.presence = Presence::Required;
    }
    entry
}
