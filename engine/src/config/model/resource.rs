//! Resources, data and the arguments that blocks have in common.

use std::sync::Arc;

use fleet_syntax::Span;
use fleet_syntax::tree::{Body, Expr, Ident};
use indexmap::Equivalent;

/// `resource "kind" "name" { … }` or `data "kind" "name" { … }`
#[derive(Debug)]
pub struct Resource {
    /// Whether it is managed or only read.
    pub mode: Mode,
    /// The kind, such as `core_value`.
    pub kind: Ident,
    /// The name.
    pub name: Ident,
    /// What the kind's schema sees: arguments, nested blocks and `dynamic` blocks.
    pub body: Body,
    /// `count` or `for_each`.
    pub repeat: Option<Repeat>,
    /// References to what must be done before.
    pub depends_on: Vec<Expr>,
    /// The provider configuration to use.
    pub provider: Option<ProviderRef>,
    /// How it lives.
    pub lifecycle: Lifecycle,
    /// `resource "kind" "name"`
    pub header: Span,
}

/// Whether something is managed or only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// `resource`
    Managed,
    /// `data`
    Data,
}

/// What a resource is known by in its module or fleet. Look it up with `&(mode, kind, name)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId {
    /// Whether it is managed or only read.
    pub mode: Mode,
    /// The kind.
    pub kind: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

/// Makes one block stand for several instances.
#[derive(Debug)]
pub enum Repeat {
    /// `count = expr`
    Count(Expr),
    /// `for_each = expr`
    ForEach(Expr),
}

/// Which provider configuration: `scaleway` or `scaleway.paris`.
#[derive(Clone, Debug)]
pub struct ProviderRef {
    /// The provider.
    pub name: Ident,
    /// Which of its configurations.
    pub alias: Option<Ident>,
    /// All of it.
    pub span: Span,
}

/// The `lifecycle` block.
#[derive(Debug, Default)]
pub struct Lifecycle {
    /// Whether a replacement is created before the old one goes.
    pub create_before_destroy: Option<bool>,
    /// Whether destroying it is an error, and where that is said.
    pub prevent_destroy: Option<Span>,
    /// What may differ from the configuration.
    pub ignore_changes: IgnoreChanges,
    /// References whose change replaces it; an index may use `count.index` or `each.key`.
    pub replace_triggered_by: Vec<Expr>,
    /// What must hold before it is changed.
    pub preconditions: Vec<Condition>,
    /// What must hold afterwards; may refer to `self`.
    pub postconditions: Vec<Condition>,
}

/// What may differ from the configuration without being changed back.
#[derive(Debug, Default)]
pub enum IgnoreChanges {
    /// Nothing.
    #[default]
    None,
    /// Everything.
    All,
    /// The attributes under these paths.
    Paths(Vec<AttributePath>),
}

/// A path into a resource, such as `tags["owner"]`.
#[derive(Clone, Debug)]
pub struct AttributePath {
    /// The attribute it starts at.
    pub root: Ident,
    /// The steps from there.
    pub steps: Vec<PathKey>,
    /// All of it.
    pub span: Span,
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathKey {
    /// `.name` or `["name"]`
    Name(Arc<str>),
    /// `[0]`
    Index(u64),
}

/// Something that must hold, and what to say when it does not.
#[derive(Debug)]
pub struct Condition {
    /// What must hold.
    pub condition: Expr,
    /// What to say when it does not.
    pub error_message: Expr,
    /// The word the block starts with.
    pub header: Span,
}

impl Resource {
    /// What it is known by in its module or fleet.
    #[must_use]
    pub fn id(&self) -> ResourceId {
        ResourceId { mode: self.mode, kind: self.kind.name.clone(), name: self.name.name.clone() }
    }
}

impl Equivalent<ResourceId> for (Mode, &str, &str) {
    fn equivalent(&self, id: &ResourceId) -> bool {
        self.0 == id.mode && self.1 == &*id.kind && self.2 == &*id.name
    }
}
