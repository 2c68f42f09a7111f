//! Stage 2, expand: the scopes of a configuration and the nodes in them, before anything is evaluated.
//!
//! A scope is the root module, a module call or a fleet; it exists once here, however many instances it will have.
//! A node is one thing that is evaluated: a variable, a resource block, a call. Building both is linear in the nodes.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use fleet_lang::references::{Reference, references};
use fleet_syntax::tree::Step;
use fleet_syntax::{Diagnostic, Diagnostics, Span, nearest};

use crate::address::{Item, ScopePath, ScopeStep};
use crate::config::model::{
    Call, Check, Config, Fleet, Import, Local, Mode, Module, Output, Pool, Provider, Resource, ResourceId,
    Secret, Variable,
};

/// Modules that call modules can make more scopes than any memory holds; this many are surely a mistake.
const MOST_SCOPES: usize = 200_000;

/// Looking for the nearest name takes time in the number of names; after so many misses nobody reads on.
const MOST_SUGGESTIONS: u32 = 100;

/// Names one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(pub u32);

/// Names one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// All scopes and nodes of a configuration.
#[derive(Debug)]
pub struct Scopes<'c> {
    /// The scopes; the root module is the first, a scope comes after the one it stands in.
    pub scopes: Vec<Scope<'c>>,
    /// The nodes, scope by scope.
    pub nodes: Vec<Node<'c>>,
    /// How many more names may be suggested.
    suggestions_left: Cell<u32>,
}

/// One scope.
#[derive(Debug)]
pub struct Scope<'c> {
    /// The module whose names it sees.
    pub module: &'c Module,
    /// The fleet it is, whose names come before the module's.
    pub fleet: Option<&'c Fleet>,
    /// The call that opens it.
    pub call: Option<&'c Call>,
    /// The scope it stands in.
    pub parent: Option<ScopeId>,
    /// The node that decides how many instances it has.
    pub opened_by: Option<NodeId>,
    /// The node of the host that everything in it is bound to.
    pub host: Option<NodeId>,
    /// Its name, without instance keys.
    pub path: ScopePath,
    /// Its nodes.
    pub nodes: Range<u32>,
    first: First,
}

/// The first node of each sort in a scope; they stand in the order of the configuration's maps.
#[derive(Clone, Copy, Debug, Default)]
struct First {
    variables: u32,
    locals: u32,
    outputs: u32,
    resources: u32,
    calls: u32,
    providers: u32,
    secrets: u32,
    pools: u32,
    fleets: u32,
}

/// One thing that is evaluated, once per instance of its scope.
#[derive(Clone, Copy, Debug)]
pub struct Node<'c> {
    /// The scope it stands in.
    pub scope: ScopeId,
    /// What it is.
    pub item: NodeItem<'c>,
}

/// What a node is.
#[derive(Clone, Copy, Debug)]
pub enum NodeItem<'c> {
    /// `var.name`
    Variable(&'c Variable),
    /// The validations of a variable that look at more than the variable itself.
    Validation(&'c Variable),
    /// `local.name`
    Local(&'c Local),
    /// `output "name"`
    Output(&'c Output),
    /// `kind.name` or `data.kind.name`
    Resource(&'c Resource),
    /// `module.name`: how many instances it has. The scope is the one it opens, if its module could be loaded.
    Call(&'c Call, Option<ScopeId>),
    /// `module.name` with everything in it.
    CallEnd(&'c Call),
    /// `provider "name"`
    Provider(&'c Provider),
    /// `secret.name`
    Secret(&'c Secret),
    /// `pool.name`
    Pool(&'c Pool),
    /// `fleet.name`: which slots it has. The scope is the one it opens.
    Fleet(&'c Fleet, ScopeId),
    /// `fleet.name` with everything in it.
    FleetEnd(&'c Fleet),
    /// `host`: the machine of a slot.
    Host(&'c Fleet),
    /// When a slot counts as healthy.
    Health(&'c Fleet),
    /// `check "name"`
    Check(&'c Check),
    /// The data block inside a check.
    CheckData(&'c Resource),
    /// An `import` block.
    Import(&'c Import),
}

impl<'c> Scopes<'c> {
    /// The root scope.
    pub const ROOT: ScopeId = ScopeId(0);

    /// Finds all scopes and nodes of a configuration.
    pub fn of(config: &'c Config, diagnostics: &mut Diagnostics) -> Scopes<'c> {
        let suggestions_left = Cell::new(MOST_SUGGESTIONS);
        let mut scopes = Scopes { scopes: Vec::new(), nodes: Vec::new(), suggestions_left };
        let root = Scope::new(config.root(), ScopePath::default());
        scopes.scopes.push(root);
        let mut next = 0;
        while next < scopes.scopes.len() {
            scopes.fill(config, ScopeId(next as u32), diagnostics);
            next += 1;
        }
        scopes
    }

    /// The scope of that name.
    #[must_use]
    pub fn scope(&self, id: ScopeId) -> &Scope<'c> {
        &self.scopes[id.0 as usize]
    }

    /// The node of that name.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node<'c> {
        &self.nodes[id.0 as usize]
    }

    /// The name that somebody may have meant, unless that was asked too often already.
    pub fn nearest<'a>(&self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let left = self.suggestions_left.get().checked_sub(1)?;
        self.suggestions_left.set(left);
        nearest(name, known)
    }

    /// What people call a node, without instance keys.
    #[must_use]
    pub fn label(&self, id: NodeId) -> String {
        let node = self.node(id);
        self.scope(node.scope).path.name(node.item)
    }

    fn push(&mut self, scope: ScopeId, item: NodeItem<'c>) -> NodeId {
        self.nodes.push(Node { scope, item });
        NodeId(self.nodes.len() as u32 - 1)
    }

    fn next_node(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Adds the nodes of a scope, and the scopes that they open.
    fn fill(&mut self, config: &'c Config, id: ScopeId, diagnostics: &mut Diagnostics) {
        let start = self.next_node();
        let (module, fleet) = (self.scope(id).module, self.scope(id).fleet);
        let mut first = First::default();
        if let Some(fleet) = fleet {
            let host = self.push(id, NodeItem::Host(fleet));
            self.scopes[id.0 as usize].host = Some(host);
            first.resources = self.next_node();
            for resource in fleet.resources.values() {
                self.push(id, NodeItem::Resource(resource));
            }
            if fleet.health.is_some() {
                self.push(id, NodeItem::Health(fleet));
            }
            first.calls = self.next_node();
            self.push_calls(config, id, fleet.calls.values(), diagnostics);
        } else {
            first = self.fill_module(id, module);
            first.calls = self.next_node();
            self.push_calls(config, id, module.calls.values(), diagnostics);
        }
        let end = self.next_node();
        let scope = &mut self.scopes[id.0 as usize];
        scope.first = first;
        scope.nodes = start..end;
    }

    fn fill_module(&mut self, id: ScopeId, module: &'c Module) -> First {
        let mut first = First { variables: self.next_node(), ..First::default() };
        for variable in module.variables.values() {
            self.push(id, NodeItem::Variable(variable));
        }
        first.locals = self.next_node();
        for local in module.locals.values() {
            self.push(id, NodeItem::Local(local));
        }
        first.outputs = self.next_node();
        for output in module.outputs.values() {
            self.push(id, NodeItem::Output(output));
        }
        first.resources = self.next_node();
        for resource in module.resources.values() {
            self.push(id, NodeItem::Resource(resource));
        }
        first.providers = self.next_node();
        for provider in module.providers.values() {
            self.push(id, NodeItem::Provider(provider));
        }
        first.secrets = self.next_node();
        for secret in module.secrets.values() {
            self.push(id, NodeItem::Secret(secret));
        }
        first.pools = self.next_node();
        for pool in module.pools.values() {
            self.push(id, NodeItem::Pool(pool));
        }
        first.fleets = self.next_node();
        for fleet in module.fleets.values() {
            let path = self.scope(id).path.join(ScopeStep::Fleet(fleet.name.name.clone(), None));
            let mut scope = Scope::new(module, path);
            scope.fleet = Some(fleet);
            let inner = self.open(id, scope);
            let node = self.push(id, NodeItem::Fleet(fleet, inner));
            self.push(id, NodeItem::FleetEnd(fleet));
            self.scopes[inner.0 as usize].opened_by = Some(node);
        }
        for variable in module.variables.values().filter(|variable| looks_around(variable)) {
            self.push(id, NodeItem::Validation(variable));
        }
        for check in module.checks.values() {
            // The check's own data comes right before it, so that it is found by position.
            if let Some(data) = &check.data {
                self.push(id, NodeItem::CheckData(data));
            }
            self.push(id, NodeItem::Check(check));
        }
        for import in &module.imports {
            self.push(id, NodeItem::Import(import));
        }
        first
    }

    fn push_calls(
        &mut self,
        config: &'c Config,
        id: ScopeId,
        calls: impl Iterator<Item = &'c Call>,
        diagnostics: &mut Diagnostics,
    ) {
        for call in calls {
            let inner = match call.module {
                Some(_) if self.scopes.len() >= MOST_SCOPES => {
                    if self.scopes.len() == MOST_SCOPES {
                        diagnostics.push(too_many_scopes(call.header));
                    }
                    None
                }
                Some(module) => {
                    let path = self.scope(id).path.join(ScopeStep::Module(call.name.name.clone(), None));
                    let mut scope = Scope::new(config.module(module), path);
                    scope.call = Some(call);
                    scope.host = self.scope(id).host;
                    Some(self.open(id, scope))
                }
                None => None,
            };
            let node = self.push(id, NodeItem::Call(call, inner));
            self.push(id, NodeItem::CallEnd(call));
            if let Some(inner) = inner {
                self.scopes[inner.0 as usize].opened_by = Some(node);
            }
        }
    }

    fn open(&mut self, parent: ScopeId, mut scope: Scope<'c>) -> ScopeId {
        scope.parent = Some(parent);
        self.scopes.push(scope);
        ScopeId(self.scopes.len() as u32 - 1)
    }

    /// The scope whose module-level names are seen from `id`: a fleet sees those of the root module.
    #[must_use]
    pub fn module_scope(&self, id: ScopeId) -> ScopeId {
        match self.scope(id) {
            Scope { fleet: Some(_), parent: Some(parent), .. } => *parent,
            _ => id,
        }
    }

    /// The node of a variable seen from a scope.
    #[must_use]
    pub fn variable(&self, scope: ScopeId, name: &str) -> Option<NodeId> {
        let scope = self.scope(self.module_scope(scope));
        nth(scope.first.variables, scope.module.variables.get_index_of(name))
    }

    /// The node of a local value seen from a scope.
    #[must_use]
    pub fn local(&self, scope: ScopeId, name: &str) -> Option<NodeId> {
        let scope = self.scope(self.module_scope(scope));
        nth(scope.first.locals, scope.module.locals.get_index_of(name))
    }

    /// The node of an output of a module's scope.
    #[must_use]
    pub fn output(&self, scope: ScopeId, name: &str) -> Option<NodeId> {
        let scope = self.scope(scope);
        nth(scope.first.outputs, scope.module.outputs.get_index_of(name))
    }

    /// The node of a secret; secrets stand in the root module.
    #[must_use]
    pub fn secret(&self, name: &str) -> Option<NodeId> {
        let root = self.scope(Scopes::ROOT);
        nth(root.first.secrets, root.module.secrets.get_index_of(name))
    }

    /// The node of a pool; pools stand in the root module.
    #[must_use]
    pub fn pool(&self, name: &str) -> Option<NodeId> {
        let root = self.scope(Scopes::ROOT);
        nth(root.first.pools, root.module.pools.get_index_of(name))
    }

    /// The node of a fleet; fleets stand in the root module.
    #[must_use]
    pub fn fleet(&self, name: &str) -> Option<NodeId> {
        let root = self.scope(Scopes::ROOT);
        // Each fleet has two nodes.
        nth(root.first.fleets, root.module.fleets.get_index_of(name).map(|i| i * 2))
    }

    /// The node of a resource or data block seen from a scope: a fleet's own come before the module's.
    #[must_use]
    pub fn resource(&self, scope: ScopeId, mode: Mode, kind: &str, name: &str) -> Option<NodeId> {
        let around = || self.scope(scope).fleet.and(self.scope(scope).parent);
        self.own_resource(scope, mode, kind, name).or_else(|| self.own_resource(around()?, mode, kind, name))
    }

    /// The node of a resource or data block that stands in a scope itself.
    #[must_use]
    pub fn own_resource(&self, scope: ScopeId, mode: Mode, kind: &str, name: &str) -> Option<NodeId> {
        let here = self.scope(scope);
        let blocks = here.fleet.map_or(&here.module.resources, |fleet| &fleet.resources);
        nth(here.first.resources, blocks.get_index_of(&(mode, kind, name)))
    }

    /// The node of a module call seen from a scope: a fleet's own come before the module's.
    #[must_use]
    pub fn call(&self, scope: ScopeId, name: &str) -> Option<NodeId> {
        let here = self.scope(scope);
        // Each call has two nodes.
        let at = |calls: &crate::config::model::Named<Call>| {
            nth(here.first.calls, calls.get_index_of(name).map(|i| i * 2))
        };
        match here.fleet {
            Some(fleet) => at(&fleet.calls).or_else(|| self.call(here.parent?, name)),
            None => at(&here.module.calls),
        }
    }

    /// The node of a provider configuration; they stand in the root module.
    #[must_use]
    pub fn provider(&self, name: &Arc<str>, alias: Option<&Arc<str>>) -> Option<NodeId> {
        let root = self.scope(Scopes::ROOT);
        let key = (name.clone(), alias.cloned());
        nth(root.first.providers, root.module.providers.get_index_of(&key))
    }

    /// The node that stands for everything in a call or fleet, next to the node that opens it.
    #[must_use]
    pub fn end(&self, opener: NodeId) -> NodeId {
        NodeId(opener.0 + 1)
    }

    /// All resource blocks seen from a scope, for suggestions.
    pub fn resource_names(&self, scope: ScopeId) -> impl Iterator<Item = &'c ResourceId> + Clone {
        let here = self.scope(scope);
        let own = here.fleet.into_iter().flat_map(|fleet| fleet.resources.keys());
        own.chain(here.module.resources.keys())
    }

    /// All module calls seen from a scope, for suggestions.
    pub fn call_names(&self, scope: ScopeId) -> impl Iterator<Item = &'c str> {
        let here = self.scope(scope);
        let own = here.fleet.into_iter().flat_map(|fleet| fleet.calls.keys());
        own.chain(here.module.calls.keys()).map(|name| &**name)
    }
}

fn nth(first: u32, index: Option<usize>) -> Option<NodeId> {
    index.map(|index| NodeId(first + index as u32))
}

/// Whether a variable's validations look at more than the variable itself, so that they need a node of their own.
#[must_use]
pub fn looks_around(variable: &Variable) -> bool {
    let conditions = variable.validations.iter().flat_map(|v| [&v.condition, &v.error_message]);
    conditions.flat_map(references).any(|reference| !is_itself(variable, &reference))
}

fn is_itself(variable: &Variable, reference: &Reference<'_>) -> bool {
    let Some(Step::Attr(name)) = reference.steps.first() else { return false };
    &*reference.root.name == "var" && name.name == variable.name.name
}

fn too_many_scopes(span: Span) -> Diagnostic {
    let detail = format!("Modules that call modules add up to more than {MOST_SCOPES} module calls.");
    Diagnostic::error(span, "too many module calls", detail)
        .help("call a module once with `for_each` instead of from many places")
}

impl<'c> Scope<'c> {
    fn new(module: &'c Module, path: ScopePath) -> Scope<'c> {
        Scope {
            module,
            fleet: None,
            call: None,
            parent: None,
            opened_by: None,
            host: None,
            path,
            nodes: 0..0,
            first: First::default(),
        }
    }
}

impl NodeItem<'_> {
    /// The text to underline when the node as a whole is meant.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            NodeItem::Variable(variable) | NodeItem::Validation(variable) => variable.header,
            NodeItem::Local(local) => local.name.span,
            NodeItem::Output(output) => output.header,
            NodeItem::Resource(resource) | NodeItem::CheckData(resource) => resource.header,
            NodeItem::Call(call, _) | NodeItem::CallEnd(call) => call.header,
            NodeItem::Provider(provider) => provider.header,
            NodeItem::Secret(secret) => secret.header,
            NodeItem::Pool(pool) => pool.header,
            NodeItem::Fleet(fleet, _) | NodeItem::FleetEnd(fleet) | NodeItem::Host(fleet) => fleet.header,
            NodeItem::Health(fleet) => fleet.health.as_ref().map_or(fleet.header, |health| health.header),
            NodeItem::Check(check) => check.header,
            NodeItem::Import(import) => import.header,
        }
    }
}

impl NodeItem<'_> {
    /// Whether [`Display`](fmt::Display) writes what an expression refers to it by.
    #[must_use]
    pub fn is_referable(&self) -> bool {
        matches!(
            self,
            NodeItem::Variable(_)
                | NodeItem::Local(_)
                | NodeItem::Resource(_)
                | NodeItem::Call(..)
                | NodeItem::Secret(_)
                | NodeItem::Pool(_)
                | NodeItem::Fleet(..)
        )
    }
}

/// What a resource block is called in an address.
#[must_use]
pub fn item(resource: &Resource) -> Item {
    let (kind, name) = (resource.kind.name.clone(), resource.name.name.clone());
    match resource.mode {
        Mode::Managed => Item::Resource(kind, name),
        Mode::Data => Item::Data(kind, name),
    }
}

impl fmt::Display for NodeItem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeItem::Variable(variable) | NodeItem::Validation(variable) => {
                write!(f, "var.{}", variable.name.name)
            }
            NodeItem::Local(local) => write!(f, "local.{}", local.name.name),
            NodeItem::Output(output) => write!(f, "output.{}", output.name.name),
            NodeItem::Resource(resource) | NodeItem::CheckData(resource) => item(resource).fmt(f),
            NodeItem::Call(call, _) | NodeItem::CallEnd(call) => write!(f, "module.{}", call.name.name),
            NodeItem::Provider(provider) => {
                write!(f, "provider.{}", provider.name.name)?;
                provider.alias.as_ref().map_or(Ok(()), |alias| write!(f, ".{}", alias.name))
            }
            NodeItem::Secret(secret) => write!(f, "secret.{}", secret.name.name),
            NodeItem::Pool(pool) => write!(f, "pool.{}", pool.name.name),
            NodeItem::Fleet(fleet, _) | NodeItem::FleetEnd(fleet) => write!(f, "fleet.{}", fleet.name.name),
            NodeItem::Host(_) => f.write_str("host"),
            NodeItem::Health(_) => f.write_str("health"),
            NodeItem::Check(check) => write!(f, "check.{}", check.name.name),
            NodeItem::Import(_) => f.write_str("import"),
        }
    }
}
