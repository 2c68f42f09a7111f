//! The hosts of slots: which machine each gets, what is known of it, and how it is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use fleet_lang::{Entries, Type, Value};
use fleet_syntax::tree::{Expr, ExprKind, Step};
use fleet_syntax::{Diagnostic, nearest};

use super::{ArgumentsOnly, Block, Expansion, Instance, Keys, ONCE, Opened, Settle, View, Walk};
use crate::address::{Address, Item, Key, ScopePath, ScopeStep};
use crate::config::body::Ephemeral;
use crate::config::model::{Connection, Fleet, Pool, Slots};
use crate::diff::get;
use crate::host::ledger;
use crate::plan::Options;
use crate::pool::Rule;
use crate::provider::Session;
use crate::reference::HOST_ATTRIBUTES;
use crate::schema::Sort;
use crate::scope::{Node, NodeId, NodeItem, ScopeId, Scopes};
use crate::state::{Apart, Intent, Object, Operation, Recorded, State};

/// What is remembered of hosts: it decides which machine a slot gets, and by which key that is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The name of the state, which stands in the ledgers of its hosts.
    pub lineage: Option<Arc<str>>,
    /// The hosts that are held, those of slots that are not declared any more among them.
    pub hosts: Vec<Held>,
    /// Slots that are to get another machine than the one they have.
    pub replaced: BTreeSet<ScopePath>,
    /// Slots whose host may have another key than the one that is recorded.
    pub accepted: BTreeSet<ScopePath>,
    /// Slots that are to get this machine and no other, if they have none.
    pub wanted: BTreeMap<ScopePath, Arc<str>>,
    /// Machines that are given to nobody, and whose they were.
    pub quarantined: Vec<(ScopePath, Arc<str>)>,
}

/// A host that is held.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// By which slot.
    pub slot: ScopePath,
    /// Which machine it is.
    pub machine: Option<Arc<str>>,
    /// The kind of that machine.
    pub kind: Arc<str>,
    /// What is recorded of it.
    pub value: Value,
    /// Whether it is the slot's host now, or one that still has to be given back.
    pub is_current: bool,
}

impl Memory {
    /// What a state remembers; of some slots it is known that nothing came of a claim that was begun.
    pub(crate) fn of(state: &State, options: &Options, in_vain: &BTreeSet<ScopePath>) -> Memory {
        let is_host = |address: &Address| address.item == Item::Host;
        let held = |slot: &ScopePath, record: &Recorded, is_current| Held {
            slot: slot.clone(),
            machine: record.session.alias.clone(),
            kind: record.kind.clone(),
            value: record.value.clone(),
            is_current,
        };
        // A machine whose claim was begun takes the place of the one before, unless nothing came of it; one that is on its way
        // back is not to be had any more.
        let begun = |address: &Address| {
            let intent = state.intents.get(&Object::current(address.clone()))?;
            let is_noted = !get(&intent.record.value, "journal").is_null();
            (is_noted && intent.record.session.alias.is_some()).then_some(intent)
        };
        let of = |address: &Address, operation| {
            begun(address).filter(|intent| intent.operation == operation && !in_vain.contains(&address.scope))
        };
        let current = state.recorded.iter().filter(|(address, _)| is_host(address));
        let older = state.deposed.iter().filter(|(address, _)| is_host(address));
        let older = older.flat_map(|(address, older)| older.values().map(move |record| (address, record)));
        let hosts = current.map(|(address, record)| {
            // What was noted since it was recorded is that it goes.
            let journal = |value: &Value| get(value, "journal");
            let is_new = |intent: &&Intent| journal(&intent.record.value) != journal(&record.value);
            let goes =
                of(address, Operation::Destroy).filter(is_new).or_else(|| of(address, Operation::Create));
            held(&address.scope, record, goes.is_none())
        });
        let claims = state.intents.keys().map(|object| &object.address).filter(|address| is_host(address));
        let claims = claims.filter_map(|address| Some((address, of(address, Operation::Create)?)));
        let hosts = hosts.chain(claims.map(|(address, intent)| held(&address.scope, &intent.record, true)));
        let hosts = hosts.chain(older.map(|(address, record)| held(&address.scope, record, false))).collect();
        let is_replaced = |slot: &ScopePath| {
            let host = Address::host_of(slot.clone());
            // One that is paused stays as it is; from one that is quarantined the slot can be freed.
            if state.marks.get(&host).is_some_and(|mark| mark.apart == Apart::Paused) {
                return false;
            }
            options.replace.iter().any(|target| target.covers(&host))
        };
        let slots = state.recorded.keys().filter(|address| is_host(address)).map(|address| &address.scope);
        let replaced = slots.filter(|slot| is_replaced(slot)).cloned().collect();
        let accepted = options.accepted.iter().cloned().collect();
        let quarantined = state.marks.iter().filter(|(_, mark)| mark.apart == Apart::Quarantined);
        let quarantined =
            quarantined.filter_map(|(host, mark)| Some((host.scope.clone(), mark.machine.clone()?)));
        let (lineage, wanted) = (state.lineage.clone(), options.machines.clone());
        Memory { lineage, hosts, replaced, accepted, wanted, quarantined: quarantined.collect() }
    }

    /// The host that a slot has now.
    fn current(&self, slot: &ScopePath) -> Option<&Held> {
        self.hosts.iter().find(|held| held.is_current && held.slot == *slot)
    }

    /// Nothing.
    pub(super) fn none() -> &'static Memory {
        static NOTHING: LazyLock<Memory> = LazyLock::new(Memory::default);
        &NOTHING
    }
}

/// Knows arguments, and what is remembered of hosts.
pub(crate) struct RememberedHosts<'a>(pub(crate) &'a Memory);

impl Settle for RememberedHosts<'_> {
    fn settle(&mut self, instance: &Instance, block: &Block<'_>) -> Value {
        ArgumentsOnly.settle(instance, block)
    }

    fn memory(&self) -> &Memory {
        self.0
    }
}

impl<'c> Walk<'_, 'c> {
    /// Gives every slot of a fleet a machine, where the pool lists them. A slot keeps the one it has.
    pub(super) fn assign(&mut self, fleet: &'c Fleet, inner: ScopeId) {
        let Some(pool) = self.pool_of(fleet) else { return };
        if self.vendor(pool).is_some() {
            return self.keep_machines(fleet, inner);
        }
        if self.surroundings.catalog.find(Sort::Pool, &pool.kind.name).is_none() || pool.hosts.is_empty() {
            return;
        }
        let slots = self.slots(inner);
        if let Slots::Hosts(names) = &fleet.slots {
            for (slot, key) in slots {
                let Some(Key::Text(name)) = key else { continue };
                if let Some(wanted) = self.settle.memory().wanted.get(&slot)
                    && let Some(why) = match self.settle.memory().current(&slot) {
                        Some(held) => Some(has_one(held)),
                        None => (*wanted != name)
                            .then(|| format!("It is `{name}` of its pool, and no other host.")),
                    }
                {
                    let error = Diagnostic::error(names.span, "not to be had", why);
                    self.diagnostics.push(error.at(slot.to_string()));
                }
                if pool.hosts.contains_key(&name) {
                    if self.settle.memory().replaced.contains(&slot) {
                        let detail =
                            format!("`{slot}` is `{name}` of `pool.{}`, and no other host.", pool.name.name);
                        let error = Diagnostic::error(names.span, "nothing to replace it with", detail);
                        let help = "put another host in its place in `hosts`; only counted slots have any host that is free";
                        self.diagnostics.push(error.at(slot.to_string()).help(help));
                    }
                    self.expansion.machines.insert(slot, name);
                    continue;
                }
                let detail = format!("`pool.{}` has no host `{name}`.", pool.name.name);
                let error = Diagnostic::error(names.span, "unknown host", detail).at(slot.to_string());
                let near = nearest(&name, pool.hosts.keys().map(|name| &**name));
                self.diagnostics.push(match near {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help("add it to the pool: `host \"name\" { address = \"…\" }`"),
                });
            }
            return;
        }
        let memory = self.settle.memory().clone();
        let held = |slot: &ScopePath| memory.current(slot)?.machine.clone();
        let is_listed = |machine: &Arc<str>| pool.hosts.contains_key(machine);
        // Machines of another pool may have the same names.
        let may_be_here = |slot: &ScopePath| {
            self.fleet_of(slot).and_then(pool_named).is_none_or(|name| name == &*pool.name.name)
        };
        let given = self.expansion.machines.iter().filter(|(slot, _)| may_be_here(slot));
        let mut busy: BTreeSet<Arc<str>> = given.map(|(_, machine)| machine.clone()).collect();
        let held_here = memory.hosts.iter().filter(|held| may_be_here(&held.slot));
        busy.extend(held_here.filter_map(|held| held.machine.clone()));
        busy.extend(self.written_out(&pool.name.name));
        let apart = memory.quarantined.iter().filter(|(slot, _)| may_be_here(slot));
        busy.extend(apart.map(|(_, machine)| machine.clone()));
        let mut refused = Vec::new();
        for (slot, _) in &slots {
            let Some(machine) = memory.wanted.get(slot) else { continue };
            // Who has a machine is told by name below.
            let why = match (memory.current(slot), is_listed(machine), busy.contains(machine)) {
                (Some(held), ..) => has_one(held),
                (None, false, _) => not_in(pool, machine),
                (None, true, true) => taken(&memory, machine),
                (None, true, false) => {
                    busy.insert(machine.clone());
                    continue;
                }
            };
            refused.push(Diagnostic::error(fleet.header, "not to be had", why).at(slot.to_string()));
        }
        let mut free = pool.hosts.keys().filter(|machine| !busy.contains(*machine)).cloned();
        let mut without = Vec::new();
        for (slot, _) in slots {
            let kept = held(&slot).filter(is_listed);
            let machine = match memory.replaced.contains(&slot) {
                true => free.next(),
                false => kept.or_else(|| memory.wanted.get(&slot).cloned()).or_else(|| free.next()),
            };
            match machine {
                Some(machine) => _ = self.expansion.machines.insert(slot, machine),
                None => without.push(slot.to_string()),
            }
        }
        self.diagnostics.extend(refused);
        if let Some(first) = without.first() {
            let (n_hosts, n_without) = (pool.hosts.len(), without.len());
            let detail = match n_without {
                1 => {
                    format!("`pool.{}` has {n_hosts} hosts, and none is left for this slot.", pool.name.name)
                }
                _ => format!(
                    "`pool.{}` has {n_hosts} hosts, and none is left for {n_without} slots.",
                    pool.name.name
                ),
            };
            let error = Diagnostic::error(fleet.header, "no host is free", detail).at(first.clone());
            self.diagnostics.push(error.help("add hosts to the pool, or make the fleet smaller"));
        }
    }

    /// Slots on a pool behind a vendor keep the machines that they have; the others get one when they are applied.
    fn keep_machines(&mut self, fleet: &'c Fleet, inner: ScopeId) {
        for (slot, _) in self.slots(inner) {
            let memory = self.settle.memory();
            let held = memory.current(&slot).filter(|held| held.kind == fleet.host.kind.name);
            let machine =
                held.filter(|_| !memory.replaced.contains(&slot)).and_then(|held| held.machine.clone());
            self.expansion.machines.extend(machine.map(|machine| (slot, machine)));
        }
    }

    /// The slots of a fleet with their keys.
    fn slots(&self, inner: ScopeId) -> Vec<(ScopePath, Option<Key>)> {
        let places = self.expansion.places[inner.0 as usize].iter();
        places.map(|place| (place.path.clone(), place.repetition.key.clone())).collect()
    }

    /// The provider of the vendor that stands behind a pool, if one does: such a pool lists no hosts.
    fn vendor(&self, pool: &Pool) -> Option<Arc<str>> {
        let entry = self.surroundings.catalog.find(Sort::Pool, &pool.kind.name)?;
        (!entry.schema.blocks.contains_key("host")).then(|| entry.provider.clone())
    }

    /// What of a pool decides how a machine is claimed and given back; none if no vendor stands behind it.
    fn claiming(&mut self, fleet: &'c Fleet, machine: Option<&Arc<str>>) -> Option<Value> {
        let pool = self.pool_of(fleet)?;
        let provider = self.vendor(pool)?;
        let value = self.expansion.scopes.pool(&pool.name.name).map(|node| self.expansion.value(node, 0));
        let alias = pool.provider.as_ref().and_then(|provider| provider.alias.as_ref());
        let alias = alias.map(|alias| alias.name.clone());
        let session = Session { alias, ..Session::of(provider.clone()) };
        let settings = self.expansion.settings(self.surroundings.catalog, &session);
        let entries = [
            ("name", Value::from(&*pool.name.name)),
            ("provider", Value::from(&*provider)),
            ("settings", settings.unwrap_or_else(Value::null)),
            ("rule", value.as_ref().map_or_else(Value::null, Rule::picked)),
            (
                "machine",
                machine.map_or_else(|| Value::null_of(Type::String), |machine| Value::from(&**machine)),
            ),
        ];
        Some(Value::object(entries.into_iter().map(|(name, value)| (name.into(), value)).collect()))
    }

    /// How a host is reached and claimed, with what is known of it now.
    pub(super) fn line_again(&mut self, at: u32) {
        let Instance { address, node, place, value, .. } = self.expansion.instances[at as usize].clone();
        let Node { item: NodeItem::Host(fleet), scope } = *self.expansion.scopes.node(node) else { return };
        let slot = address.scope.clone();
        if !self.expansion.claims.contains_key(&slot) {
            return;
        }
        let session = self.expansion.session_with(slot.clone());
        let machine = get(&value, "machine").as_str().map(Arc::from).or_else(|| session.alias.clone());
        let now = Session { alias: machine.clone(), ..session.clone() };
        let line = self.line(fleet, &now, View::of(scope, place, &ONCE), &value, false);
        self.expansion.claims.insert(slot, line.clone());
        if machine.is_some() {
            self.expansion.lines.insert(session, line);
        }
    }

    /// The machines of a pool that fleets name as they stand, wherever these fleets are: nobody else gets them. Names that
    /// are computed may depend on who gets which machine.
    fn written_out(&self, pool: &str) -> Vec<Arc<str>> {
        let fleets = self.expansion.scopes.scope(Scopes::ROOT).module.fleets.values();
        let names =
            fleets.filter(|fleet| pool_named(fleet) == Some(pool)).flat_map(|fleet| match &fleet.slots {
                Slots::Hosts(Expr { kind: ExprKind::Tuple(names), .. }) => &names[..],
                _ => &[],
            });
        let name = |expr: &Expr| match &expr.kind {
            ExprKind::String(name) => Some(name.clone()),
            _ => None,
        };
        names.filter_map(name).collect()
    }

    /// The host of one slot.
    pub(super) fn host(&mut self, id: NodeId, scope: ScopeId, place: u32, fleet: &'c Fleet) -> Value {
        let here = self.place(scope, place).clone();
        let address = Address::host_of(here.path.clone());
        let key = match &here.repetition.key {
            Some(Key::Index(index)) => Value::from(&*index.to_string()),
            Some(Key::Text(text)) => Value::from(&**text),
            None => Value::unknown(Type::String),
        };
        let index = here.repetition.index.clone().unwrap_or_else(|| Value::null_of(Type::Number));
        let later = |name: &str| Value::awaiting(Type::String, format!("{address}.{name}"));
        let mut object: Entries =
            HOST_ATTRIBUTES.iter().map(|name| (Arc::from(*name), later(name))).collect();
        object.insert("key".into(), key);
        object.insert("index".into(), index);
        let slot = Value::object(object.clone());
        let mut view = View::of(scope, place, &ONCE);
        view.address = Some(&address);
        view.host = Some(&slot);
        let name = self.hostname(fleet, &here.repetition, view);
        object.insert("name".into(), name);
        let known = Value::object(object);
        let catalog = self.surroundings.catalog;
        let entry = catalog.find(Sort::Resource, &fleet.host.kind.name).filter(|_| !self.blocks_only());
        let session = self.expansion.session_with(here.path.clone());
        let line = self.line(fleet, &session, view, &known, place == 0);
        let is_of_vendor = self.pool_of(fleet).and_then(|pool| self.vendor(pool)).is_some();
        let mut instance = Instance {
            address: address.clone(),
            node: id,
            place,
            declared: known.clone(),
            value: known,
            span: fleet.header,
            repetition: ONCE.clone(),
            triggers: Vec::new(),
        };
        if let Some(entry) = entry {
            let mut declared = entry.schema.omitted().entries().cloned().unwrap_or_default();
            for (name, value) in instance.declared.entries().into_iter().flatten() {
                if matches!(&**name, "key" | "index" | "name") {
                    declared.insert(name.clone(), value.clone());
                }
            }
            declared.insert("slot".into(), Value::from(&*here.path.to_string()));
            if is_of_vendor {
                // Which machine it is, only reality knows; what is not known yet of the connection does not matter here.
                let path = self.ledger_of(fleet);
                declared.insert("ledger".into(), path);
            } else {
                let machine = self.expansion.machines.get(&here.path);
                let machine =
                    machine.map_or_else(|| Value::unknown(Type::String), |name| Value::from(&**name));
                declared.insert("ledger".into(), get(&line, "ledger"));
                declared.insert("machine".into(), machine);
            }
            declared.insert("port".into(), get(&line, "port"));
            instance.declared = Value::object(declared);
            let block = Block {
                resource: &fleet.host,
                entry,
                session: session.clone(),
                settings: line.clone(),
                waits_for: Vec::new(),
            };
            instance.value = self.settle.settle(&instance, &block);
        }
        if is_of_vendor {
            self.expansion.claims.insert(here.path.clone(), line.clone());
        }
        let is_to_be_claimed = is_of_vendor && session.alias.is_none();
        let line = if is_to_be_claimed { Value::unknown(Type::Any) } else { line };
        self.expansion.lines.insert(session, line);
        let host = instance.value.clone();
        let at = self.expansion.instances.len() as u32;
        self.expansion.instances.push(instance);
        self.expansion.blocks[id.0 as usize].push(Opened { keys: Keys::Single, range: at..at + 1 });
        host
    }

    /// A host that its slot has no use for any more is still reached, until it is given back. By now everything is known
    /// that a connection may refer to.
    pub(super) fn lines_of_hosts_that_go(&mut self) {
        if self.blocks_only() {
            return;
        }
        for Held { slot, machine, value, .. } in self.settle.memory().hosts.clone() {
            let Some(ScopeStep::Fleet(name, _)) = slot.steps().last() else { continue };
            let node = self.expansion.scopes.fleet(name).map(|node| *self.expansion.scopes.node(node));
            let Some(Node { item: NodeItem::Fleet(fleet, _), scope, .. }) = node else { continue };
            if machine.is_none() || self.expansion.machines.get(&slot) == machine.as_ref() {
                continue;
            }
            let mut view = View::of(scope, 0, &ONCE);
            view.host = Some(&value);
            let session = Session::on_host(slot.clone(), machine);
            let line = self.line(fleet, &session, view, &value, false);
            self.expansion.lines.insert(session, line);
        }
    }

    /// How a host is reached: what the fleet's connection says, and what the pool and the record know of the machine.
    fn line(
        &mut self,
        fleet: &'c Fleet,
        session: &Session,
        view: View<'_>,
        host: &Value,
        check: bool,
    ) -> Value {
        let slot = &session.scope;
        let mut view = view;
        view.host = Some(host);
        let (kind, body) = match &fleet.connection {
            Some(connection) => (&*connection.kind.name, self.connection(connection, view, check)),
            None => ("ssh", Value::object(Entries::new())),
        };
        let (pool, machine) = self.machine(fleet, session);
        let is_it = |held: &&Held| held.slot == *slot && held.machine == session.alias;
        let claiming = self.claiming(fleet, session.alias.as_ref());
        // What a claim has just found is newer than what is remembered.
        let is_found = claiming.is_some() && host.is_wholly_known() && !get(host, "claim").is_null();
        let found = is_found.then(|| host.clone());
        let remembered = || self.settle.memory().hosts.iter().find(is_it).map(|held| held.value.clone());
        let remembered = found.or_else(remembered).unwrap_or_else(Value::null);
        let is_accepted = !is_found && self.settle.memory().accepted.contains(slot);
        let given = |value: Value| Some(value).filter(|value| !value.is_null());
        let mut addresses: Vec<Value> = given(get(&machine, "address")).into_iter().collect();
        addresses.extend(get(&machine, "addresses").items().into_iter().flatten().cloned());
        if addresses.is_empty() {
            // The name of a machine may be its address; one that the pool forgot has been somewhere.
            let name = session.alias.as_deref().map(Value::from).filter(|_| !machine.is_null());
            let known = get(&remembered, "addresses");
            match known.items().filter(|known| !known.is_empty()) {
                Some(known) => addresses.extend(known.iter().cloned()),
                None => addresses.extend(name.or_else(|| given(get(&remembered, "address")))),
            }
        }
        let pin = given(get(&machine, "host_key"))
            .or_else(|| given(get(&remembered, "host_key")).filter(|_| !is_accepted));
        let null = || Value::null_of(Type::String);
        let mut line = body.entries().cloned().unwrap_or_default();
        let remembered_port = given(get(&remembered, "port")).filter(|_| machine.is_null());
        let port = given(get(&machine, "port")).or(remembered_port).or_else(|| given(get(&body, "port")));
        line.insert("port".into(), port.unwrap_or_else(|| Value::null_of(Type::Number)));
        line.insert("kind".into(), kind.into());
        line.insert("slot".into(), Value::from(&*slot.to_string()));
        line.insert("addresses".into(), Value::list(Type::String, addresses));
        line.insert("host_key".into(), pin.unwrap_or_else(null));
        let lineage = self.settle.memory().lineage.as_deref().map(Value::from);
        line.insert("lineage".into(), lineage.unwrap_or_else(null));
        let path = given(get(&remembered, "ledger")).or_else(|| given(get(&pool, "ledger")));
        line.insert("ledger".into(), path.unwrap_or_else(|| ledger::PATH.into()));
        line.extend(claiming.map(|claiming| ("pool".into(), claiming)));
        if !body.is_known() || !machine.is_known() {
            return Value::unknown(Type::Any);
        }
        Value::object(line)
    }

    /// The pool of a fleet, and what it says of the machine of a slot.
    fn machine(&mut self, fleet: &'c Fleet, session: &Session) -> (Value, Value) {
        let pool = self.pool_of(fleet).and_then(|pool| self.expansion.scopes.pool(&pool.name.name));
        let pool = pool.map_or_else(Value::null, |node| self.expansion.value(node, 0));
        let machine = match (&session.alias, get(&pool, "host").entries()) {
            (Some(name), Some(machines)) => machines.get(name).cloned().unwrap_or_else(Value::null),
            _ if !pool.is_known() => Value::unknown(Type::Any),
            _ => Value::null(),
        };
        (pool, machine)
    }

    /// Where the ledger lies on the machines of a pool.
    fn ledger_of(&mut self, fleet: &'c Fleet) -> Value {
        let pool = self.pool_of(fleet).and_then(|pool| self.expansion.scopes.pool(&pool.name.name));
        let path = pool.map(|node| get(&self.expansion.value(node, 0), "ledger"));
        path.filter(|path| !path.is_null()).unwrap_or_else(|| ledger::PATH.into())
    }

    /// What a `connection` block says.
    fn connection(&mut self, connection: &'c Connection, view: View<'_>, check: bool) -> Value {
        let Connection { kind, body, header } = connection;
        let Some(entry) = self.surroundings.catalog.find(Sort::Connection, &kind.name) else {
            if check {
                self.unknown_kind(Sort::Connection, "connection kind", &kind.name, kind.span);
                self.eval_all(body, view);
            }
            return Value::unknown(Type::Any);
        };
        // Every slot has the same body, so that its form is checked once.
        if check {
            self.body(body, entry, *header, Ephemeral::Allowed, view)
        } else {
            self.instance_body(body, entry, *header, Ephemeral::Allowed, view)
        }
    }

    fn fleet_of(&self, slot: &ScopePath) -> Option<&'c Fleet> {
        let Some(ScopeStep::Fleet(name, _)) = slot.steps().last() else { return None };
        match self.expansion.scopes.node(self.expansion.scopes.fleet(name)?).item {
            NodeItem::Fleet(fleet, _) => Some(fleet),
            _ => None,
        }
    }

    /// No two slots get one machine, in whatever fleets they are.
    pub(super) fn unique_machines(&mut self) {
        let mut seen: BTreeMap<(&str, &str), &ScopePath> = BTreeMap::new();
        let mut twice = Vec::new();
        for (slot, machine) in &self.expansion.machines {
            let Some(fleet) = self.fleet_of(slot) else { continue };
            let Some(pool) = pool_named(fleet) else { continue };
            if let Some(first) = seen.insert((pool, machine), slot) {
                let detail = format!("`{first}` and `{slot}` would both have `{machine}`.");
                let error = Diagnostic::error(fleet.header, "one host for two slots", detail);
                let help = "name every host in one fleet only; beside fleets with `size`, write names out in `hosts`";
                twice.push(error.at(slot.to_string()).help(help));
            }
        }
        self.diagnostics.extend(twice);
    }
}

fn has_one(held: &Held) -> String {
    let machine = held.machine.as_deref().unwrap_or("a machine");
    format!("It has `{machine}` already; `fleet host detach '{}'` lets that go.", held.slot)
}

fn not_in(pool: &Pool, machine: &str) -> String {
    let near = nearest(machine, pool.hosts.keys().map(|name| &**name));
    let near = near.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
    format!("`pool.{}` has no host `{machine}`.{near}", pool.name.name)
}

fn taken(memory: &Memory, machine: &str) -> String {
    let is_it = |of: Option<&str>| of == Some(machine);
    if let Some(held) = memory.hosts.iter().find(|held| is_it(held.machine.as_deref())) {
        return format!("`{machine}` is held by `{}`.", held.slot);
    }
    match memory.quarantined.iter().any(|(_, other)| is_it(Some(other))) {
        true => format!("`{machine}` is quarantined; `fleet host resume {machine}` ends that."),
        false => format!("`{machine}` is for another slot."),
    }
}

/// The pool that a fleet names.
pub(crate) fn pool_named(fleet: &Fleet) -> Option<&str> {
    let ExprKind::Path(path) = &fleet.pool.kind else { return None };
    match path.steps.first() {
        Some(Step::Attr(name)) => Some(&name.name),
        _ => None,
    }
}

impl Expansion<'_> {
    /// The directories that stand for the root of hosts, where that is not their own.
    pub(crate) fn roots(&self) -> impl Iterator<Item = (&Session, String)> {
        self.lines.iter().filter_map(|(session, line)| {
            let root = get(line, "root");
            root.as_str().filter(|root| !root.is_empty()).map(|root| (session, root.to_owned()))
        })
    }

    /// How the host of a slot itself is looked at, made and given back; everything else on it takes a line.
    pub(crate) fn claim(&self, slot: &ScopePath) -> Option<&Value> {
        self.claims.get(slot)
    }

    /// The session with the host that a slot is to have.
    pub(crate) fn session_with(&self, slot: ScopePath) -> Session {
        let machine = self.machines.get(&slot).cloned();
        Session::on_host(slot, machine)
    }

    /// The slot whose host everything in an instance of a scope is bound to.
    pub(crate) fn slot(&self, scope: ScopeId, place: u32) -> Option<ScopePath> {
        let (mut scope, mut place) = (scope, place);
        while self.scopes.scope(scope).fleet.is_none() {
            place = self.parent_place(scope, place);
            scope = self.scopes.scope(scope).parent?;
        }
        (scope != Scopes::ROOT).then(|| self.places[scope.0 as usize][place as usize].path.clone())
    }
}
