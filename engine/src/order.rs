//! Stage 2, expand: who uses whom, and the order in which nodes are evaluated.

use std::collections::VecDeque;
use std::sync::Arc;

use fleet_lang::references::{Reference, references};
use fleet_syntax::tree::{Body, Expr, Step};
use fleet_syntax::{Diagnostic, Diagnostics, Span};
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::config::model::{
    Call, Check, Condition, Fleet, Mode, ProviderRef, Repeat, Resource, Slots, Variable,
};
use crate::implicit::add_implied;
use crate::reference::{Allowed, Use, resolve};
use crate::schema::{Catalog, Sort};
use crate::scope::{NodeId, NodeItem, ScopeId, Scopes};

/// Every node's uses, and an order in which each comes after what it uses.
#[derive(Debug)]
pub struct Order<'c> {
    /// What each node uses, by node.
    pub uses: Vec<Vec<Use<'c>>>,
    /// All nodes; those on a cycle are left out and stay unknown.
    pub order: Vec<NodeId>,
}

/// Finds the uses of all nodes and orders them. Unknown names and cycles are reported.
pub fn order<'c>(scopes: &Scopes<'c>, catalog: &dyn Catalog, diagnostics: &mut Diagnostics) -> Order<'c> {
    let mut uses: Vec<Vec<Use<'c>>> = (0..scopes.nodes.len() as u32)
        .map(|id| Collector::new(scopes, catalog, NodeId(id), diagnostics).collect())
        .collect();
    add_implied(scopes, catalog, &mut uses);
    let mut graph = DiGraph::<(), ()>::with_capacity(uses.len(), uses.iter().map(Vec::len).sum());
    for _ in &uses {
        graph.add_node(());
    }
    for (from, uses) in uses.iter().enumerate() {
        for used in uses {
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(used.node.0 as usize), ());
        }
    }
    let mut order = Vec::with_capacity(uses.len());
    // Edges lead from the user to the used, so components come out used first.
    for mut component in kosaraju_scc(&graph) {
        let node = NodeId(component[0].index() as u32);
        let uses_itself = uses[node.0 as usize].iter().any(|used| used.node == node);
        if component.len() == 1 && !uses_itself {
            order.push(node);
        } else {
            component.sort_unstable();
            let members: Vec<NodeId> = component.iter().map(|index| NodeId(index.index() as u32)).collect();
            diagnostics.push(cycle(scopes, &uses, &members));
        }
    }
    Order { uses, order }
}

/// Describes the shortest cycle through the first member of a component.
fn cycle(scopes: &Scopes<'_>, uses: &[Vec<Use<'_>>], members: &[NodeId]) -> Diagnostic {
    let start = members[0];
    let mut came_by: std::collections::HashMap<NodeId, (NodeId, Span)> = std::collections::HashMap::new();
    let mut queue = VecDeque::from([start]);
    'search: while let Some(node) = queue.pop_front() {
        for used in &uses[node.0 as usize] {
            if members.binary_search(&used.node).is_ok() && !came_by.contains_key(&used.node) {
                came_by.insert(used.node, (node, used.span));
                if used.node == start {
                    break 'search;
                }
                queue.push_back(used.node);
            }
        }
    }
    let mut path = Vec::new();
    let mut node = start;
    while let Some((from, span)) = came_by.get(&node) {
        path.push((*from, *span, node));
        node = *from;
        if node == start {
            break;
        }
    }
    path.reverse();
    let mut names: Vec<String> =
        std::iter::once(scopes.label(start)).chain(path.iter().map(|(_, _, to)| scopes.label(*to))).collect();
    // A module or fleet and everything in it are two nodes with one name.
    names.dedup();
    if let [only] = &names[..] {
        names.push(only.clone());
    }
    let detail = format!("Each of these needs the next to be known first: {}.", names.join(" → "));
    let span = path.first().map_or_else(|| scopes.node(start).item.span(), |(_, span, _)| *span);
    let summary = if path.len() == 1 { "reference to itself" } else { "cycle of references" };
    let mut diagnostic = Diagnostic::error(span, summary, detail);
    for (from, span, to) in &path {
        diagnostic = diagnostic.related(*span, format!("{} uses {}", scopes.label(*from), scopes.label(*to)));
    }
    diagnostic
        .help("take out one of these references, for example by giving both sides a common `locals` value")
}

/// Collects what one node uses.
struct Collector<'a, 'c> {
    scopes: &'a Scopes<'c>,
    catalog: &'a dyn Catalog,
    node: NodeId,
    scope: ScopeId,
    allowed: Allowed,
    /// Names bound by `dynamic` blocks around.
    bound: Vec<Arc<str>>,
    /// The check whose own data block is seen.
    check: Option<&'c Check>,
    uses: Vec<Use<'c>>,
    diagnostics: &'a mut Diagnostics,
}

impl<'a, 'c> Collector<'a, 'c> {
    fn new(
        scopes: &'a Scopes<'c>,
        catalog: &'a dyn Catalog,
        node: NodeId,
        diagnostics: &'a mut Diagnostics,
    ) -> Collector<'a, 'c> {
        let scope = scopes.node(node).scope;
        Collector {
            scopes,
            catalog,
            node,
            scope,
            allowed: Allowed::default(),
            bound: Vec::new(),
            check: None,
            uses: Vec::new(),
            diagnostics,
        }
    }

    fn collect(mut self) -> Vec<Use<'c>> {
        let scopes = self.scopes;
        let item = scopes.node(self.node).item;
        if let Some(opener) = scopes.scope(self.scope).opened_by {
            self.add(opener, item.span());
        }
        match item {
            NodeItem::Variable(variable) => {
                let scope = scopes.scope(self.scope);
                let input = scope.call.and_then(|call| Some((call, call.inputs.get(&variable.name.name)?)));
                if let (Some((call, input)), Some(parent)) = (input, scope.parent) {
                    self.scope = parent;
                    self.allowed = Allowed::by(call.repeat.as_ref());
                    self.expr(&input.value);
                }
            }
            NodeItem::Validation(variable) => self.conditions(&variable.validations),
            NodeItem::Local(local) => self.expr(&local.value),
            NodeItem::Output(output) => {
                self.expr(&output.value);
                self.conditions(&output.preconditions);
                self.exprs(&output.depends_on);
            }
            NodeItem::Resource(resource) | NodeItem::CheckData(resource) => self.resource(resource),
            NodeItem::Call(call, inner) => {
                self.inputs(call, inner);
                self.repeat(call.repeat.as_ref());
                self.exprs(&call.depends_on);
                for (_, ours) in &call.providers {
                    self.provider(ours);
                }
            }
            NodeItem::CallEnd(call) => {
                let opener = NodeId(self.node.0 - 1);
                self.add(opener, call.header);
                if let NodeItem::Call(_, Some(inner)) = scopes.node(opener).item {
                    self.everything_in(inner, call.header);
                }
            }
            NodeItem::Provider(provider) => self.body(&provider.body),
            NodeItem::Secret(secret) => {
                self.expr(&secret.from);
                if let Some(provider) = &secret.provider {
                    self.provider(provider);
                }
            }
            NodeItem::Pool(pool) => {
                self.body(&pool.body);
                if let Some(provider) = &pool.provider {
                    self.provider(provider);
                }
                let returns = pool.returns.iter().flat_map(|r| [&r.method, &r.deadline]);
                self.exprs(returns.flatten());
                for host in pool.hosts.values() {
                    self.body(&host.body);
                }
            }
            NodeItem::Fleet(fleet, _) => {
                self.expr(&fleet.pool);
                let (Slots::Size(slots) | Slots::Hosts(slots)) = &fleet.slots;
                self.expr(slots);
                self.exprs(&fleet.depends_on);
                let rollout = fleet.rollout.iter().flat_map(|r| [&r.canary, &r.max_unavailable, &r.soak]);
                self.exprs(rollout.flatten());
            }
            NodeItem::FleetEnd(fleet) => {
                let opener = NodeId(self.node.0 - 1);
                self.add(opener, fleet.header);
                if let NodeItem::Fleet(_, inner) = scopes.node(opener).item {
                    self.everything_in(inner, fleet.header);
                }
            }
            NodeItem::Host(fleet) => {
                self.hostname(&fleet.hostname);
                if let Some(connection) = &fleet.connection {
                    self.body(&connection.body);
                }
                self.vendor(fleet);
                // What the host says of itself is no reference to something else.
                self.uses.retain(|used| used.node != self.node);
            }
            NodeItem::Health(fleet) => {
                let health = fleet.health.iter();
                self.exprs(health.clone().map(|health| &health.condition));
                self.exprs(health.flat_map(|h| [&h.timeout, &h.error_message]).flatten());
            }
            NodeItem::Check(check) => {
                self.check = Some(check);
                self.conditions(&check.assertions);
                if check.data.is_some() {
                    self.add(NodeId(self.node.0 - 1), check.header);
                }
            }
            NodeItem::Import(import) => {
                self.exprs(&import.for_each);
                self.allowed.each = import.for_each.is_some();
                self.expr(&import.id);
                self.keys_of(&import.to);
            }
        }
        self.uses
    }

    /// A host is claimed through the provider of its pool.
    fn vendor(&mut self, fleet: &'c Fleet) {
        let kind = fleet.host.kind.name.strip_suffix("_host").unwrap_or_default();
        let Some(entry) = self.catalog.find(Sort::Pool, kind) else { return };
        if let Some(node) = provider_seen_from(self.scopes, Scopes::ROOT, &entry.provider, None) {
            self.add(node, fleet.header);
        }
    }

    /// What a call passes in must be what the module asks for. The values count as uses of the module's variables.
    fn inputs(&mut self, call: &'c Call, inner: Option<ScopeId>) {
        let Some(inner) = inner else {
            // Without the module nobody takes them, but what they say is still checked.
            self.allowed = Allowed::by(call.repeat.as_ref());
            self.exprs(call.inputs.values().map(|input| &input.value));
            self.allowed = Allowed::default();
            return;
        };
        let variables = &self.scopes.scope(inner).module.variables;
        for (name, input) in call.inputs.iter().filter(|(name, _)| !variables.contains_key(*name)) {
            let detail = format!("The module has no variable `{name}`.");
            let diagnostic = Diagnostic::error(input.name.span, format!("unknown input `{name}`"), detail);
            self.diagnostics.push(match self.scopes.nearest(name, variables.keys().map(|name| &**name)) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.help(format!("declare it in the module: `variable \"{name}\" {{ }}`")),
            });
        }
        let missing = |variable: &&Variable| {
            variable.default.is_none() && !call.inputs.contains_key(&variable.name.name)
        };
        for variable in variables.values().filter(missing) {
            let name = &variable.name.name;
            let detail = format!("The module needs a value for its variable `{name}`, which has no default.");
            self.diagnostics.push(
                Diagnostic::error(call.header, format!("missing input `{name}`"), detail)
                    .related(variable.header, "declared here")
                    .help(format!("add `{name} = …` to the `module` block")),
            );
        }
    }

    fn add(&mut self, node: NodeId, span: Span) {
        self.uses.push(Use { node, key: None, span });
    }

    fn everything_in(&mut self, scope: ScopeId, span: Span) {
        for id in self.scopes.scope(scope).nodes.clone() {
            self.add(NodeId(id), span);
        }
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'c Expr>) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &'c Expr) {
        for reference in references(expr) {
            self.reference(&reference);
        }
    }

    fn reference(&mut self, reference: &Reference<'c>) {
        if self.bound.contains(&reference.root.name) || self.is_checks_own(reference) {
            return;
        }
        match resolve(self.scopes, self.catalog, self.scope, self.allowed, reference) {
            Ok(used) => self.uses.extend(used),
            Err(diagnostic) => self.diagnostics.push(diagnostic),
        }
    }

    fn is_checks_own(&self, reference: &Reference<'c>) -> bool {
        let Some(data) = self.check.and_then(|check| check.data.as_ref()) else { return false };
        let [Step::Attr(kind), Step::Attr(name), ..] = reference.steps else { return false };
        &*reference.root.name == "data" && kind.name == data.kind.name && name.name == data.name.name
    }

    fn repeat(&mut self, repeat: Option<&'c Repeat>) {
        if let Some(Repeat::Count(expr) | Repeat::ForEach(expr)) = repeat {
            self.expr(expr);
        }
    }

    fn conditions(&mut self, conditions: &'c [Condition]) {
        for condition in conditions {
            self.expr(&condition.condition);
            self.expr(&condition.error_message);
        }
    }

    fn body(&mut self, body: &'c Body) {
        self.exprs(body.attributes.iter().map(|attribute| &attribute.value));
        for block in &body.blocks {
            if &*block.kind.name != "dynamic" {
                self.body(&block.body);
                continue;
            }
            let iterator = match block.body.attribute("iterator").map(|a| &a.value.kind) {
                Some(fleet_syntax::tree::ExprKind::Variable(name)) => Some(name.name.clone()),
                _ => block.labels.first().map(|label| label.name.clone()),
            };
            self.exprs(block.body.attribute("for_each").map(|attribute| &attribute.value));
            let depth = self.bound.len();
            self.bound.extend(iterator);
            self.exprs(block.body.attribute("labels").map(|attribute| &attribute.value));
            for content in &block.body.blocks {
                self.body(&content.body);
            }
            self.bound.truncate(depth);
        }
    }

    fn resource(&mut self, resource: &'c Resource) {
        self.repeat(resource.repeat.as_ref());
        self.allowed = Allowed::by(resource.repeat.as_ref());
        self.body(&resource.body);
        self.conditions(&resource.lifecycle.preconditions);
        self.exprs(&resource.lifecycle.replace_triggered_by);
        self.allowed.this = true;
        self.conditions(&resource.lifecycle.postconditions);
        self.allowed.this = false;
        self.exprs(&resource.depends_on);
        if let Some(host) = self.scopes.scope(self.scope).host {
            self.add(host, resource.header);
        }
        match &resource.provider {
            Some(provider) => self.provider(provider),
            None => self.default_provider(resource),
        }
    }

    /// The configuration of the kind's provider without an alias, if there is one.
    fn default_provider(&mut self, resource: &'c Resource) {
        let sort = if resource.mode == Mode::Data { Sort::Data } else { Sort::Resource };
        let Some(entry) = self.catalog.find(sort, &resource.kind.name) else { return };
        if let Some(node) = provider_seen_from(self.scopes, self.scope, &entry.provider, None) {
            self.add(node, resource.header);
        }
    }

    fn provider(&mut self, provider: &'c ProviderRef) {
        let alias = provider.alias.as_ref().map(|alias| &alias.name);
        match provider_seen_from(self.scopes, self.scope, &provider.name.name, alias) {
            Some(node) => self.add(node, provider.span),
            // A provider without settings needs no block.
            None if alias.is_none() => {}
            None => {
                let detail = "No `provider` block with this name and alias is seen here.";
                self.diagnostics.push(
                    Diagnostic::error(provider.span, "undeclared provider configuration", detail).help(
                        "declare it in the root module, and pass it to modules with `providers = { … }`",
                    ),
                );
            }
        }
    }

    /// The name of a host may use what is known of a slot before it has a host.
    fn hostname(&mut self, expr: &'c Expr) {
        for reference in references(expr) {
            if &*reference.root.name != "host" {
                self.reference(&reference);
                continue;
            }
            if !matches!(reference.steps.first(), Some(Step::Attr(name)) if matches!(&*name.name, "key" | "index"))
            {
                let detail = "The name is decided before the slot has a machine.";
                self.diagnostics.push(
                    Diagnostic::error(reference.span, "a hostname cannot depend on its host", detail)
                        .help("use `host.key` or, in a fleet with `size`, `host.index`"),
                );
            }
        }
    }

    /// The references in the keys of an address; the address itself is none.
    fn keys_of(&mut self, address: &'c Expr) {
        if let fleet_syntax::tree::ExprKind::Path(path) = &address.kind {
            for step in &path.steps {
                if let Step::Index(key, _) = step {
                    self.expr(key);
                }
            }
        }
    }
}

/// The provider configuration that a name means in a scope: what the calls around hand over, else the root's own.
#[must_use]
pub fn provider_seen_from(
    scopes: &Scopes<'_>,
    scope: ScopeId,
    name: &Arc<str>,
    alias: Option<&Arc<str>>,
) -> Option<NodeId> {
    let here = scopes.scope(scope);
    let Some(parent) = here.parent else { return scopes.provider(name, alias) };
    let handed = here.call.and_then(|call| {
        call.providers.iter().find(|(inner, _)| {
            inner.name.name == *name && inner.alias.as_ref().map(|alias| &alias.name) == alias
        })
    });
    match handed {
        Some((_, ours)) => {
            let alias = ours.alias.as_ref().map(|alias| &alias.name);
            provider_seen_from(scopes, parent, &ours.name.name, alias)
        }
        // Configurations without an alias are inherited; a fleet is no boundary.
        None if alias.is_none() || here.fleet.is_some() => provider_seen_from(scopes, parent, name, alias),
        None => None,
    }
}
