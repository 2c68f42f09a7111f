//! The hosts of slots: which machine each gets, what is known of it, and how it is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use fleet_lang::{Entries, Type, Value};
use fleet_syntax::{Diagnostic, nearest};

use super::{Block, Expansion, Instance, Keys, ONCE, Opened, View, Walk};
use crate::address::{Address, Item, Key, ScopePath, ScopeStep};
use crate::config::body::Ephemeral;
use crate::config::model::{Connection, Fleet, Slots};
use crate::diff::get;
use crate::host::ledger;
use crate::provider::Session;
use crate::reference::HOST_ATTRIBUTES;
use crate::schema::Sort;
use crate::scope::{NodeId, NodeItem, ScopeId, Scopes};
use crate::state::State;

/// What is remembered of hosts: it decides which machine a slot gets, and by which key that is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The name of the state, which stands in the ledgers of its hosts.
    pub lineage: Option<Arc<str>>,
    /// The recorded hosts by slot, those of slots that are not declared any more among them.
    pub hosts: BTreeMap<ScopePath, Value>,
    /// Slots whose host may have another key than the one that is recorded.
    pub accepted: BTreeSet<ScopePath>,
}

impl Memory {
    /// What a state remembers.
    pub(crate) fn of(state: &State, accepted: BTreeSet<ScopePath>) -> Memory {
        let recorded = state.recorded.iter().filter(|(address, _)| address.item == Item::Host);
        let hosts = recorded.map(|(address, record)| (address.scope.clone(), record.value.clone())).collect();
        Memory { lineage: state.lineage.clone(), hosts, accepted }
    }

    /// Nothing.
    pub(super) fn none() -> &'static Memory {
        static NOTHING: LazyLock<Memory> = LazyLock::new(Memory::default);
        &NOTHING
    }
}

impl<'c> Walk<'_, 'c> {
    /// Gives every slot of a fleet a machine, where the pool lists them. A slot keeps the one it has.
    pub(super) fn assign(&mut self, fleet: &'c Fleet, inner: ScopeId) {
        let Some(pool) = self.pool_of(fleet) else { return };
        if self.surroundings.catalog.find(Sort::Pool, &pool.kind.name).is_none() || pool.hosts.is_empty() {
            return;
        }
        let slots: Vec<(ScopePath, Option<Key>)> = self.expansion.places[inner.0 as usize]
            .iter()
            .map(|place| (place.path.clone(), place.repetition.key.clone()))
            .collect();
        if let Slots::Hosts(names) = &fleet.slots {
            for (slot, key) in slots {
                let Some(Key::Text(name)) = key else { continue };
                if pool.hosts.contains_key(&name) {
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
        let held = |slot: &ScopePath| Some(Arc::from(get(memory.hosts.get(slot)?, "machine").as_str()?));
        let is_listed = |machine: &Arc<str>| pool.hosts.contains_key(machine);
        let mut busy: BTreeSet<Arc<str>> = self.expansion.machines.values().cloned().collect();
        busy.extend(memory.hosts.keys().filter_map(held));
        let mut free = pool.hosts.keys().filter(|machine| !busy.contains(*machine)).cloned();
        let mut without = Vec::new();
        for (slot, _) in slots {
            match held(&slot).filter(is_listed).or_else(|| free.next()) {
                Some(machine) => _ = self.expansion.machines.insert(slot, machine),
                None => without.push(slot.to_string()),
            }
        }
        if let Some(first) = without.first() {
            let n_hosts = pool.hosts.len();
            let detail = format!(
                "`pool.{}` has {n_hosts} hosts, and {} of this fleet's slots get none of them.",
                pool.name.name,
                without.len()
            );
            let error = Diagnostic::error(fleet.header, "no host is free", detail).at(first.clone());
            self.diagnostics.push(error.help("add hosts to the pool, or make the fleet smaller"));
        }
    }

    /// The host of one slot.
    pub(super) fn host(&mut self, id: NodeId, scope: ScopeId, place: u32, fleet: &'c Fleet) -> Value {
        let here = self.place(scope, place).clone();
        let address = Address { scope: here.path.clone(), item: Item::Host, key: None };
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
        let line = self.line(fleet, &here.path, view, &known, place == 0);
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
            let machine = self.expansion.machines.get(&here.path);
            let machine = machine.map_or_else(|| Value::unknown(Type::String), |name| Value::from(&**name));
            for (name, value) in instance.declared.entries().into_iter().flatten() {
                if matches!(&**name, "key" | "index" | "name") {
                    declared.insert(name.clone(), value.clone());
                }
            }
            declared.insert("slot".into(), Value::from(&*here.path.to_string()));
            declared.insert("ledger".into(), get(&line, "ledger"));
            declared.insert("machine".into(), machine);
            instance.declared = Value::object(declared);
            let block = Block {
                resource: &fleet.host,
                entry,
                session: Session::on_host(here.path.clone()),
                settings: line.clone(),
                waits_for: Vec::new(),
            };
            instance.value = self.settle.settle(&instance, &block);
        }
        self.expansion.lines.insert(here.path, line);
        let host = instance.value.clone();
        let at = self.expansion.instances.len() as u32;
        self.expansion.instances.push(instance);
        self.expansion.blocks[id.0 as usize].push(Opened { keys: Keys::Single, range: at..at + 1 });
        host
    }

    /// A slot that is not declared any more still has its host, until that is given back.
    pub(super) fn lines_of_slots_that_go(
        &mut self,
        fleet: &'c Fleet,
        scope: ScopeId,
        place: u32,
        inner: ScopeId,
    ) {
        let declared: BTreeSet<ScopePath> =
            self.expansion.places[inner.0 as usize].iter().map(|place| place.path.clone()).collect();
        let is_of = |slot: &ScopePath| {
            matches!(slot.steps().last(), Some(ScopeStep::Fleet(name, _)) if *name == fleet.name.name)
        };
        let hosts = self.settle.memory().hosts.clone();
        for (slot, host) in hosts.into_iter().filter(|(slot, _)| is_of(slot) && !declared.contains(slot)) {
            let mut view = View::of(scope, place, &ONCE);
            view.host = Some(&host);
            let line = self.line(fleet, &slot, view, &host, false);
            self.expansion.lines.insert(slot, line);
        }
    }

    /// How a host is reached: what the fleet's connection says, and what the pool and the record know of the machine.
    fn line(&mut self, fleet: &'c Fleet, slot: &ScopePath, view: View<'_>, host: &Value, check: bool) -> Value {
        let mut view = view;
        view.host = Some(host);
        let (kind, body) = match &fleet.connection {
            Some(connection) => (&*connection.kind.name, self.connection(connection, view, check)),
            None => ("ssh", Value::object(Entries::new())),
        };
        let (pool, machine) = self.machine(fleet, slot, host);
        let remembered = self.settle.memory().hosts.get(slot).cloned().unwrap_or_else(Value::null);
        let is_accepted = self.settle.memory().accepted.contains(slot);
        let given = |value: Value| Some(value).filter(|value| !value.is_null());
        let mut addresses: Vec<Value> = given(get(&machine, "address")).into_iter().collect();
        addresses.extend(get(&machine, "addresses").items().into_iter().flatten().cloned());
        if addresses.is_empty() {
            addresses.extend(given(get(&remembered, "address")));
        }
        let pin = given(get(&machine, "host_key"))
            .or_else(|| given(get(&remembered, "host_key")).filter(|_| !is_accepted));
        let null = || Value::null_of(Type::String);
        let mut line = body.entries().cloned().unwrap_or_default();
        let port = given(get(&machine, "port")).or_else(|| given(get(&body, "port")));
        line.insert("port".into(), port.unwrap_or_else(|| Value::null_of(Type::Number)));
        line.insert("kind".into(), kind.into());
        line.insert("slot".into(), Value::from(&*slot.to_string()));
        line.insert("addresses".into(), Value::list(Type::String, addresses));
        line.insert("host_key".into(), pin.unwrap_or_else(null));
        let lineage = self.settle.memory().lineage.as_deref().map(Value::from);
        line.insert("lineage".into(), lineage.unwrap_or_else(null));
        let path = given(get(&remembered, "ledger")).or_else(|| given(get(&pool, "ledger")));
        line.insert("ledger".into(), path.unwrap_or_else(|| ledger::PATH.into()));
        if !body.is_known() || !machine.is_known() {
            return Value::unknown(Type::Any);
        }
        Value::object(line)
    }

    /// The pool of a fleet, and what it says of the machine of a slot.
    fn machine(&mut self, fleet: &'c Fleet, slot: &ScopePath, host: &Value) -> (Value, Value) {
        let pool = self.pool_of(fleet).and_then(|pool| self.expansion.scopes.pool(&pool.name.name));
        let pool = pool.map_or_else(Value::null, |node| self.expansion.value(node, 0));
        let name = self.expansion.machines.get(slot).cloned();
        let name = name.or_else(|| Some(Arc::from(get(host, "machine").as_str()?)));
        let machine = match (name, get(&pool, "host").entries()) {
            (Some(name), Some(machines)) => machines.get(&name).cloned().unwrap_or_else(Value::null),
            _ if !pool.is_known() => Value::unknown(Type::Any),
            _ => Value::null(),
        };
        (pool, machine)
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

    /// No two slots get one machine, in whatever fleets they are.
    pub(super) fn unique_machines(&mut self) {
        let mut seen: BTreeMap<(&str, &str), &ScopePath> = BTreeMap::new();
        let mut twice = Vec::new();
        for (slot, machine) in &self.expansion.machines {
            let Some(ScopeStep::Fleet(name, _)) = slot.steps().last() else { continue };
            let node = self.expansion.scopes.fleet(name);
            let Some(NodeItem::Fleet(fleet, _)) = node.map(|node| self.expansion.scopes.node(node).item) else {
                continue;
            };
            let pool = match &fleet.pool.kind {
                fleet_syntax::tree::ExprKind::Path(path) => match path.steps.first() {
                    Some(fleet_syntax::tree::Step::Attr(name)) => &*name.name,
                    _ => continue,
                },
                _ => continue,
            };
            if let Some(first) = seen.insert((pool, machine), slot) {
                let detail = format!("`{first}` and `{slot}` would both have `{machine}`.");
                twice.push(Diagnostic::error(fleet.header, "one host for two slots", detail).at(slot.to_string()));
            }
        }
        self.diagnostics.extend(twice);
    }
}

impl Expansion<'_> {
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
