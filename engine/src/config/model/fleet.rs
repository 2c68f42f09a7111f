//! The blocks that only the root module has: settings, secrets, pools and fleets.

use std::sync::Arc;

use fleet_syntax::Span;
use fleet_syntax::tree::{Body, Expr, Ident};
use foldhash::fast::FixedState;
use indexmap::IndexMap;

use super::{Call, Named, ProviderRef, Resource, ResourceId};

/// `settings { … }`: at most one.
#[derive(Debug)]
pub struct Settings {
    /// The versions of `fleet` that may work on this configuration, as written.
    pub required_version: Option<Arc<str>>,
    /// Where state is kept.
    pub backend: Option<Backend>,
    /// The key of the digests that secrets are compared by.
    pub digest_key: Option<Expr>,
    /// Whether a part of it could not be read, so that what seems to be missing may well have been written.
    pub incomplete: bool,
    /// `settings`
    pub header: Span,
}

/// `backend "kind" { … }`
#[derive(Debug)]
pub struct Backend {
    /// The kind, such as `sqlite`.
    pub kind: Ident,
    /// Its arguments.
    pub body: Body,
    /// `backend "kind"`
    pub header: Span,
}

/// `secret "name" { from = … }`
#[derive(Debug)]
pub struct Secret {
    /// The name.
    pub name: Ident,
    /// Where it comes from, such as `"env:TOKEN"`; or what its provider is asked for.
    pub from: Expr,
    /// Who issues it, if it is not kept somewhere.
    pub provider: Option<ProviderRef>,
    /// `secret "name"`
    pub header: Span,
}

/// `pool "kind" "name" { … }`: where hosts come from.
#[derive(Debug)]
pub struct Pool {
    /// The kind, such as `scaleway` or `static`.
    pub kind: Ident,
    /// The name, referred to as `pool.name`.
    pub name: Ident,
    /// Which configuration of its provider it is of, if not of the one without an alias.
    pub provider: Option<ProviderRef>,
    /// What the kind's schema sees.
    pub body: Body,
    /// How hosts go back.
    pub returns: Option<Return>,
    /// The hosts themselves, where they are listed.
    pub hosts: Named<PoolHost>,
    /// `pool "kind" "name"`
    pub header: Span,
}

/// `return { … }`: how a host goes back to its pool.
#[derive(Debug)]
pub struct Return {
    /// `"reinstall"` or `"scrub"`.
    pub method: Option<Expr>,
    /// How long that may take.
    pub deadline: Option<Expr>,
    /// `return`
    pub header: Span,
}

/// `host "name" { … }` in a pool that lists its hosts.
#[derive(Debug)]
pub struct PoolHost {
    /// The name.
    pub name: Ident,
    /// What the schema of the pool's kind sees.
    pub body: Body,
    /// `host "name"`
    pub header: Span,
}

/// `fleet "name" { … }`: a scope with a host. Everything in it exists once per slot.
///
/// Names resolve inside first, then in the root module; no `kind.name` and no module name stands in both.
#[derive(Debug)]
pub struct Fleet {
    /// The name.
    pub name: Ident,
    /// The pool its hosts come from.
    pub pool: Expr,
    /// How many hosts, or which.
    pub slots: Slots,
    /// The name of each host; may use `host.key` and `host.index`.
    pub hostname: Expr,
    /// How hosts are reached.
    pub connection: Option<Connection>,
    /// How changes go through the fleet.
    pub rollout: Option<Rollout>,
    /// When a host counts as healthy.
    pub health: Option<Health>,
    /// References to what must be done before.
    pub depends_on: Vec<Expr>,
    /// `resource` and `data` blocks, once per slot.
    pub resources: IndexMap<ResourceId, Resource, FixedState>,
    /// `module` blocks, once per slot; the module inherits the host.
    pub calls: Named<Call>,
    /// The machine of each slot, as if it were a resource: its kind is `KIND_host`, where the pool's is `KIND`.
    pub host: Resource,
    /// `fleet "name"`
    pub header: Span,
}

/// The slots of a fleet.
#[derive(Debug)]
pub enum Slots {
    /// `size = expr`: keys "0", "1", …
    Size(Expr),
    /// `hosts = expr`: the keys themselves.
    Hosts(Expr),
}

/// `connection "kind" { … }`
#[derive(Debug)]
pub struct Connection {
    /// The kind, such as `ssh`.
    pub kind: Ident,
    /// Its arguments.
    pub body: Body,
    /// `connection "kind"`
    pub header: Span,
}

/// `rollout { … }`: how changes go through a fleet.
#[derive(Debug)]
pub struct Rollout {
    /// How many hosts go first.
    pub canary: Option<Expr>,
    /// How many hosts may be out of service at once.
    pub max_unavailable: Option<Expr>,
    /// How long to wait after each wave.
    pub soak: Option<Expr>,
    /// `rollout`
    pub header: Span,
}

/// `health { … }`: when a host counts as healthy.
#[derive(Debug)]
pub struct Health {
    /// What must hold.
    pub condition: Expr,
    /// How long it may take to hold.
    pub timeout: Option<Expr>,
    /// What to say when it does not.
    pub error_message: Option<Expr>,
    /// `health`
    pub header: Span,
}
