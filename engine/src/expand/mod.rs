//! Stage 2, expand: every block becomes its instances, and every expression a value, in one walk in dependency order.
//!
//! The walk asks a [`Settle`] what each instance is like once its arguments are known: `validate` knows nothing yet,
//! `plan` answers with what was recorded, observed or planned. Values that nobody knows are unknowns that name what
//! they wait for; where even the number of instances is unknown, it is left to a later wave and said so.

mod again;
mod condition;
mod fleet;
mod host;
mod names;
mod repeat;
mod resource;
mod value;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use fleet_lang::{Evaluator, Outside, Type, Value};
use fleet_syntax::tree::Expr;
use fleet_syntax::{Diagnostic, Diagnostics, FileId, Span};

use crate::address::{Address, Key, ScopePath, Target};
use crate::config::model::{Config, Resource};
use crate::outline::Outline;
use crate::provider::Session;
use crate::reference::Use;
use crate::schema::{Catalog, Entry, Sort};
use crate::scope::{Node, NodeId, NodeItem, ScopeId, Scopes};
use crate::secret::Source;

pub use again::Again;
pub use host::Memory;
pub(crate) use host::{Held, RememberedHosts, pool_named};
pub use names::{Checked, Names};
pub use resource::with_results;

/// How far the walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Every block once, with inputs and keys unknown: what can be said without any values.
    Blocks,
    /// Every instance, with the values given.
    Instances,
}

/// What the walk needs besides the configuration.
pub struct Surroundings<'a> {
    /// The kinds.
    pub catalog: &'a dyn Catalog,
    /// Files, time and chance.
    pub outside: &'a dyn Outside,
    /// The values of the root module's variables, converted and marked; those missing are unknown.
    pub inputs: HashMap<Arc<str>, Value>,
    /// The secrets that may be known by now.
    pub secrets: &'a dyn Secrets,
    /// How far to go.
    pub depth: Depth,
}

/// What secrets are. Those that nobody needs to know yet stay symbols.
pub trait Secrets {
    /// The secret of that name, which comes from there; none if it stays a symbol.
    fn get(&self, name: &str, from: Origin<'_>) -> Option<Value>;
}

/// Where a secret comes from.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// It is kept there.
    Source(&'a Source),
    /// A provider issues it.
    Issued {
        /// The configuration of the provider.
        session: &'a Session,
        /// The settings of that; unknown where nobody knows them yet.
        settings: &'a Value,
        /// What it is asked for.
        request: &'a str,
        /// Whose it is, however that is to be made: what stays with it when something else of the request changes.
        whose: &'a str,
    },
}

/// Every secret is a text that names it: what is made of it shows how, and not what. What is issued for a thing is named by that
/// thing: one that is there needs no other secret when it would be made otherwise now.
#[derive(Clone, Copy, Debug)]
pub struct Placeholders;

impl Secrets for Placeholders {
    fn get(&self, name: &str, from: Origin<'_>) -> Option<Value> {
        let from = match from {
            Origin::Source(source) => source.to_string(),
            Origin::Issued { session, whose, .. } => format!("{whose} by {session}"),
        };
        Some(Value::from(format!("secret.{name} from {from}").as_str()))
    }
}

/// Every secret stays a symbol.
#[derive(Clone, Copy, Debug)]
pub struct Symbols;

impl Secrets for Symbols {
    fn get(&self, _: &str, _: Origin<'_>) -> Option<Value> {
        None
    }
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Source(source) => source.fmt(f),
            Origin::Issued { session, request, .. } => write!(f, "{request} by {session}"),
        }
    }
}

/// Says what an instance is like, given its arguments.
pub trait Settle {
    /// The whole object, results included; unknown where nobody knows yet.
    fn settle(&mut self, instance: &Instance, block: &Block<'_>) -> Value;

    /// What is remembered of hosts.
    fn memory(&self) -> &Memory {
        Memory::none()
    }
}

/// What all instances of a block have in common.
pub struct Block<'b> {
    /// The block.
    pub resource: &'b Resource,
    /// Its kind.
    pub entry: &'b Entry,
    /// The provider configuration that its instances are made through.
    pub session: Session,
    /// The settings of that.
    pub settings: Value,
    /// The blocks that data must wait for if they change, wherever they stand.
    pub waits_for: Vec<NodeId>,
}

impl Block<'_> {
    /// Whether the successor of an instance is made before it goes.
    #[must_use]
    pub fn is_replaced_first(&self) -> bool {
        self.resource.lifecycle.create_before_destroy.unwrap_or(self.entry.replaced_first)
    }
}

/// Knows arguments only: every result is unknown, and so is what is left as it is.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentsOnly;

/// Everything a configuration stands for.
#[derive(Debug)]
pub struct Expansion<'c> {
    /// The scopes and nodes it was made from.
    pub scopes: Rc<Scopes<'c>>,
    /// What each node uses.
    pub uses: Rc<Vec<Vec<Use<'c>>>>,
    /// The instances, each after those it depends on.
    pub instances: Vec<Instance>,
    /// The blocks whose instances cannot be told yet.
    pub deferred: Vec<Deferred>,
    /// What `import` blocks take in.
    pub imports: Vec<Imported>,
    /// The instances of each scope.
    places: Vec<Vec<Place>>,
    /// For each scope that is opened by a node: what that node opened, by place of the scope around.
    openings: Vec<Vec<Opened>>,
    /// The value of each node, by place of its scope; empty for those not reached.
    values: Vec<Vec<Value>>,
    /// The instances of each resource and host node, by place of its scope.
    blocks: Vec<Vec<Opened>>,
    /// The machine of each slot, where a pool lists them.
    machines: BTreeMap<ScopePath, Arc<str>>,
    /// How hosts are reached, those among them that are still held and not declared any more. Unknown of a host that is
    /// still to be claimed.
    lines: BTreeMap<Session, Value>,
    /// How the host of a slot is claimed and given back, where a vendor stands behind the pool.
    claims: BTreeMap<ScopePath, Value>,
    /// What `from` of each secret says.
    sources: BTreeMap<Arc<str>, Value>,
    /// What is remembered of hosts.
    memory: Memory,
    /// Values that stand for all instances of a module call or fleet, built when first asked for.
    collected: RefCell<HashMap<(ScopeId, u32), HashMap<names::Part, Value>>>,
}

/// One resource, data read or host.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name.
    pub address: Address,
    /// The block it comes from.
    pub node: NodeId,
    /// Which instance of the block's scope it belongs to.
    pub place: u32,
    /// Its arguments.
    pub declared: Value,
    /// What it is like, as the [`Settle`] said.
    pub value: Value,
    /// Where its block starts.
    pub span: Span,
    /// What `count` and `each` mean in its expressions.
    pub(crate) repetition: Repetition,
    /// What it is replaced with: an instance or block, and the attribute whose change counts, if not every one does.
    pub triggers: Vec<(Target, Option<Arc<str>>)>,
}

/// Something that an `import` block takes in.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Who takes it.
    pub to: Address,
    /// What the provider knows it by.
    pub id: Arc<str>,
    /// Where that is said; nowhere if it is not in the configuration.
    pub span: Option<Span>,
}

/// A block whose instances cannot be told yet.
#[derive(Clone, Debug)]
pub struct Deferred {
    /// The block.
    pub node: NodeId,
    /// Which instance of the block's scope it belongs to.
    pub place: u32,
    /// Its name, with the keys of the scopes around.
    pub address: Target,
    /// The reference that decides.
    pub awaits: Option<Arc<str>>,
}

/// One instance of a scope.
#[derive(Clone, Debug)]
struct Place {
    /// The instance of the scope around.
    parent: u32,
    /// Its name.
    path: ScopePath,
    /// What its call's or fleet's repetition says about it.
    repetition: Repetition,
}

/// The instances that one block has in one place.
#[derive(Clone, Debug)]
struct Opened {
    keys: Keys,
    /// Places of the opened scope, or instances of the block.
    range: Range<u32>,
}

/// The keys of a block's instances.
#[derive(Clone, Debug)]
enum Keys {
    /// One, without a key.
    Single,
    /// `[0]`, `[1]`, …
    Count,
    /// `["a"]`, `["b"]`, …
    Each,
    /// Not known, waiting for this value.
    Unknown(Value),
}

/// What `count` and `each` mean for one instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repetition {
    key: Option<Key>,
    index: Option<Value>,
    each: Option<(Value, Value)>,
}

/// Expands a configuration. Everything wrong with it is in the diagnostics, in the order of the text.
pub fn expand<'c>(
    outline: &Outline<'c>,
    surroundings: &Surroundings<'_>,
    settle: &mut dyn Settle,
) -> (Expansion<'c>, Diagnostics) {
    let Outline { scopes, uses, order, diagnostics } = outline;
    let root = Place { parent: 0, path: ScopePath::default(), repetition: Repetition::default() };
    let mut places = vec![Vec::new(); scopes.scopes.len()];
    places[0] = vec![root];
    let expansion = Expansion {
        // Most nodes of a large configuration are blocks with an instance each.
        instances: Vec::with_capacity(scopes.nodes.len()),
        deferred: Vec::new(),
        imports: Vec::new(),
        openings: vec![Vec::new(); scopes.scopes.len()],
        values: vec![Vec::new(); scopes.nodes.len()],
        blocks: vec![Vec::new(); scopes.nodes.len()],
        machines: BTreeMap::new(),
        lines: BTreeMap::new(),
        claims: BTreeMap::new(),
        sources: BTreeMap::new(),
        memory: settle.memory().clone(),
        collected: RefCell::default(),
        places,
        scopes: scopes.clone(),
        uses: uses.clone(),
    };
    let told = diagnostics.iter().filter_map(|d| d.span).map(|span| (span.file, span.start)).collect();
    let mut walk = Walk { expansion, surroundings, settle, diagnostics: diagnostics.clone(), told };
    for node in order {
        walk.node(*node);
    }
    walk.lines_of_hosts_that_go();
    walk.unique_hostnames();
    walk.unique_machines();
    (walk.expansion, tidy(walk.diagnostics))
}

/// The secrets that it takes to reach providers and hosts: planning has to know them.
#[must_use]
pub fn secrets_of_providers(config: &Config, catalog: &dyn Catalog) -> HashSet<Arc<str>> {
    if config.root().secrets.is_empty() {
        return HashSet::new();
    }
    let outline = Outline::of(config, catalog);
    let reaches =
        |item: NodeItem<'_>| matches!(item, NodeItem::Provider(_) | NodeItem::Host(_) | NodeItem::Pool(_));
    secrets_behind(&outline, reaches)
}

/// The secrets that a configuration of a provider is made with.
#[must_use]
pub fn secrets_of_provider(outline: &Outline<'_>, session: &Session) -> HashSet<Arc<str>> {
    let is_it = |item: NodeItem<'_>| {
        let NodeItem::Provider(provider) = item else { return false };
        let alias = provider.alias.as_ref().map(|alias| &alias.name);
        provider.name.name == session.provider && alias == session.alias.as_ref()
    };
    secrets_behind(outline, is_it)
}

/// The secrets that some nodes use, directly or through values.
fn secrets_behind(outline: &Outline<'_>, starts: impl Fn(NodeItem<'_>) -> bool) -> HashSet<Arc<str>> {
    let Outline { scopes, uses, .. } = outline;
    let item = |id: NodeId| scopes.node(id).item;
    let all = (0..scopes.nodes.len() as u32).map(NodeId);
    let mut left: Vec<NodeId> = all.filter(|id| starts(item(*id))).collect();
    let mut seen: HashSet<NodeId> = left.iter().copied().collect();
    let mut found = HashSet::new();
    while let Some(node) = left.pop() {
        if let NodeItem::Secret(secret) = item(node) {
            found.insert(secret.name.name.clone());
        }
        left.extend(uses[node.0 as usize].iter().map(|used| used.node).filter(|used| seen.insert(*used)));
    }
    found
}

/// The walk over all nodes.
struct Walk<'a, 'c> {
    expansion: Expansion<'c>,
    surroundings: &'a Surroundings<'a>,
    settle: &'a mut dyn Settle,
    diagnostics: Diagnostics,
    /// Where references start that were found wrong before anything was evaluated; evaluation would say it again.
    told: HashSet<(FileId, u32)>,
}

/// From where an expression is looked at.
#[derive(Clone, Copy)]
pub(crate) struct View<'v> {
    scope: ScopeId,
    place: u32,
    repetition: &'v Repetition,
    /// `self`
    this: Option<&'v Value>,
    /// `host` while the host itself is being decided.
    host: Option<&'v Value>,
    /// The one check-local data block that is seen.
    check_data: Option<NodeId>,
    /// Put into diagnostics.
    address: Option<&'v Address>,
}

impl<'v> View<'v> {
    pub(crate) fn of(scope: ScopeId, place: u32, repetition: &'v Repetition) -> View<'v> {
        View { scope, place, repetition, this: None, host: None, check_data: None, address: None }
    }
}

pub(crate) static ONCE: Repetition = Repetition { key: None, index: None, each: None };

impl<'a> Surroundings<'a> {
    /// The same, where every secret is a placeholder.
    #[must_use]
    pub fn with_placeholders(&self) -> Surroundings<'a> {
        let Surroundings { catalog, outside, inputs, depth, .. } = self;
        Surroundings {
            catalog: *catalog,
            outside: *outside,
            inputs: inputs.clone(),
            secrets: &Placeholders,
            depth: *depth,
        }
    }
}

impl<'c> Walk<'_, 'c> {
    fn node(&mut self, id: NodeId) {
        let node = *self.expansion.scopes.node(id);
        let n_places = self.expansion.places[node.scope.0 as usize].len() as u32;
        // Most stand in one place alone, and room for more would be empty very many times.
        self.expansion.values[id.0 as usize].reserve_exact(n_places as usize);
        if let NodeItem::Resource(_) | NodeItem::CheckData(_) | NodeItem::Host(_) = node.item {
            self.expansion.blocks[id.0 as usize].reserve_exact(n_places as usize);
        }
        for place in 0..n_places {
            let value = match node.item {
                NodeItem::Resource(resource) | NodeItem::CheckData(resource) => {
                    self.resource(id, place, resource)
                }
                NodeItem::Call(call, inner) => {
                    self.call(id, node.scope, place, call, inner);
                    Value::null()
                }
                NodeItem::Fleet(fleet, inner) => {
                    self.fleet(id, node.scope, place, fleet, inner);
                    Value::null()
                }
                NodeItem::Host(fleet) => self.host(id, node.scope, place, fleet),
                _ => self.leaf(id, node, place),
            };
            self.put(id, place, value);
        }
    }

    /// Notes the value of a node in a place.
    fn put(&mut self, id: NodeId, place: u32, value: Value) {
        let values = &mut self.expansion.values[id.0 as usize];
        match values.get_mut(place as usize) {
            Some(known) => *known = value,
            None => values.push(value),
        }
    }

    /// The value of a node that opens nothing and has no instances.
    fn leaf(&mut self, id: NodeId, Node { scope, item }: Node<'c>, place: u32) -> Value {
        match item {
            NodeItem::Variable(variable) => return self.variable(scope, place, variable),
            NodeItem::Local(local) => return self.eval(&local.value, View::of(scope, place, &ONCE)),
            NodeItem::Output(output) => return self.output(scope, place, output),
            NodeItem::Provider(provider) => return self.provider(scope, place, provider),
            NodeItem::Secret(secret) => return self.secret(scope, place, secret),
            NodeItem::Pool(pool) => return self.pool(scope, place, pool),
            NodeItem::Validation(variable) => _ = self.validations(scope, place, variable),
            NodeItem::Health(fleet) => self.health(scope, place, fleet),
            NodeItem::Check(check) => self.check(id, scope, place, check),
            NodeItem::Import(import) => self.import(scope, place, import),
            NodeItem::CallEnd(_)
            | NodeItem::FleetEnd(_)
            | NodeItem::Resource(_)
            | NodeItem::CheckData(_)
            | NodeItem::Call(..)
            | NodeItem::Fleet(..)
            | NodeItem::Host(_) => {}
        }
        Value::null()
    }

    fn blocks_only(&self) -> bool {
        self.surroundings.depth == Depth::Blocks
    }

    /// Evaluates an expression; what is wrong with it is reported.
    fn eval(&mut self, expr: &Expr, view: View<'_>) -> Value {
        self.with_evaluator(view, |evaluator| evaluator.evaluate(expr))
    }

    fn with_evaluator<T>(&mut self, view: View<'_>, work: impl FnOnce(&mut Evaluator<'_>) -> T) -> T {
        let names = Names { expansion: &self.expansion, view, outside: self.surroundings.outside };
        let mut evaluator = Evaluator::new(&names, self.surroundings.outside);
        let result = work(&mut evaluator);
        for mut diagnostic in evaluator.into_diagnostics() {
            if diagnostic.span.is_some_and(|span| self.told.contains(&(span.file, span.start))) {
                continue;
            }
            if let (None, Some(address)) = (&diagnostic.address, view.address) {
                diagnostic.address = Some(address.to_string());
            }
            self.diagnostics.push(diagnostic);
        }
        result
    }

    fn place(&self, scope: ScopeId, place: u32) -> &Place {
        &self.expansion.places[scope.0 as usize][place as usize]
    }
}

impl<'c> Expansion<'c> {
    /// What expressions see that somebody writes in the root module later, such as at the console.
    #[must_use]
    pub fn console<'a>(&'a self, catalog: &'a dyn Catalog, outside: &'a dyn Outside) -> Checked<'a, 'c> {
        let view = View::of(Scopes::ROOT, 0, &ONCE);
        Checked { names: Names { expansion: self, view, outside }, catalog }
    }

    /// What can be referred to in the root module.
    pub fn words(&self) -> impl Iterator<Item = String> {
        let nodes = self.scopes.scope(Scopes::ROOT).nodes.clone().map(|id| self.scopes.node(NodeId(id)).item);
        nodes.filter(NodeItem::is_referable).map(|item| item.to_string())
    }

    /// The value of a node in a place; unknown if it was not reached.
    pub(crate) fn value(&self, node: NodeId, place: u32) -> Value {
        let values = &self.values[node.0 as usize];
        values.get(place as usize).cloned().unwrap_or_else(|| Value::unknown(Type::Any))
    }

    /// How many instances a scope has.
    pub(crate) fn n_places(&self, scope: ScopeId) -> u32 {
        self.places[scope.0 as usize].len() as u32
    }

    /// The instance of the scope around that an instance of a scope stands in.
    pub(crate) fn parent_place(&self, scope: ScopeId, place: u32) -> u32 {
        self.places[scope.0 as usize][place as usize].parent
    }

    /// The instances of `scope` that stand in one instance of a scope around it. They are neighbours, because scopes
    /// are opened in the order of the places around them.
    pub(crate) fn places_under(&self, scope: ScopeId, outer: ScopeId, place: u32) -> Range<u32> {
        if scope == outer {
            return place..place + 1;
        }
        let Some(parent) = self.scopes.scope(scope).parent else { return 0..0 };
        let around = self.places_under(parent, outer, place);
        let opened = &self.openings[scope.0 as usize];
        match (
            opened.get(around.start as usize),
            around.end.checked_sub(1).and_then(|last| opened.get(last as usize)),
        ) {
            (Some(first), Some(last)) if !around.is_empty() => first.range.start..last.range.end,
            _ => 0..0,
        }
    }

    /// The instances of a resource or host block in one place.
    pub(crate) fn instances_of(&self, node: NodeId, place: u32) -> Range<u32> {
        self.blocks[node.0 as usize].get(place as usize).map_or(0..0, |opened| opened.range.clone())
    }

    /// Whether it cannot be told yet which instances a block has.
    pub(crate) fn is_deferred(&self, node: NodeId, place: u32) -> bool {
        let opened = self.blocks[node.0 as usize].get(place as usize);
        opened.is_some_and(|opened| matches!(opened.keys, Keys::Unknown(_)))
    }

    /// The name of the instance of a scope that a node stands in.
    pub(crate) fn path_of(&self, node: NodeId, place: u32) -> ScopePath {
        let scope = self.scopes.node(node).scope;
        self.places[scope.0 as usize][place as usize].path.clone()
    }

    /// What people call a node in one place.
    #[must_use]
    pub fn label(&self, node: NodeId, place: u32) -> String {
        let Node { scope, item } = *self.scopes.node(node);
        self.places[scope.0 as usize][place as usize].path.name(item)
    }

    /// The settings of a provider configuration: those of its block, or the defaults of a provider without one.
    #[must_use]
    pub fn settings(&self, catalog: &dyn Catalog, session: &Session) -> Option<Value> {
        if session.is_on_host() {
            return self.lines.get(session).cloned();
        }
        if let Some(node) = self.scopes.provider(&session.provider, session.alias.as_ref()) {
            return Some(self.value(node, 0));
        }
        if session.alias.is_some() {
            return None;
        }
        let entry = catalog.find(Sort::Provider, &session.provider);
        Some(entry.map_or_else(Value::null, |entry| entry.schema.omitted()))
    }

    /// What `from` of a secret says, as the walk over the root module found it.
    #[must_use]
    pub fn source_of(&self, secret: &str) -> Option<Value> {
        self.sources.get(secret).cloned()
    }

    /// The outputs of the root module, in the order of the text.
    pub fn outputs(&self) -> impl Iterator<Item = (&'c crate::config::model::Output, Value)> {
        let nodes = self.scopes.scope(Scopes::ROOT).nodes.clone();
        nodes.filter_map(|id| match self.scopes.node(NodeId(id)).item {
            NodeItem::Output(output) => Some((output, self.value(NodeId(id), 0))),
            _ => None,
        })
    }
}

/// Sorts by place in the text, and keeps one of those that differ only in the instance they were found for.
fn tidy(mut diagnostics: Diagnostics) -> Diagnostics {
    diagnostics.sort_by(|a, b| (a.span, &a.summary, &a.detail).cmp(&(b.span, &b.summary, &b.detail)));
    let mut kept: Diagnostics = Vec::with_capacity(diagnostics.len());
    let mut more = 0;
    for diagnostic in diagnostics {
        match kept.last_mut() {
            Some(last) if last.span == diagnostic.span && last.summary == diagnostic.summary => more += 1,
            _ => {
                say_more(kept.last_mut(), more);
                more = 0;
                kept.push(diagnostic);
            }
        }
    }
    say_more(kept.last_mut(), more);
    kept
}

fn say_more(last: Option<&mut Diagnostic>, more: usize) {
    let Some(address) = last.and_then(|last| last.address.as_mut()) else { return };
    if more > 0 {
        address.push_str(&format!(" and {more} more"));
    }
}
