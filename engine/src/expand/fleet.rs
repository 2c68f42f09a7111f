//! Pools and fleets: which slots there are, and what is known of their hosts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fleet_lang::convert::convert;
use fleet_lang::{Entries, Kind, Type, Value};
use fleet_syntax::tree::{Expr, ExprKind, Step};
use fleet_syntax::{Diagnostic, Span};

use super::repeat::{Repeated, whole};
use super::{Instance, Keys, ONCE, Repetition, View, Walk};
use crate::address::{Item, Key, ScopeStep};
use crate::attributes::Misfit;
use crate::config::body::Ephemeral;
use crate::config::model::{Fleet, Pool, ProviderRef, Repeat, Return, Slots};
use crate::schema::{Entry, Sort};
use crate::scope::{NodeId, NodeItem, ScopeId};

/// A name must fit a DNS label.
const LONGEST_HOSTNAME: usize = 63;

impl<'c> Walk<'_, 'c> {
    pub(super) fn pool(&mut self, scope: ScopeId, place: u32, pool: &'c Pool) -> Value {
        let view = View::of(scope, place, &ONCE);
        let mut returns = Entries::new();
        if let Some(Return { method, deadline, .. }) = &pool.returns {
            if let Some(method) = method {
                self.one_of(method, view, "method of return", &["reinstall", "scrub"]);
                returns.insert("method".into(), self.eval(method, view));
            }
            if let Some(deadline) = deadline {
                self.duration(deadline, view);
                returns.insert("deadline".into(), self.eval(deadline, view));
            }
        }
        let catalog = self.surroundings.catalog;
        let Some(entry) = catalog.find(Sort::Pool, &pool.kind.name) else {
            self.unknown_kind(Sort::Pool, "pool kind", &pool.kind.name, pool.kind.span);
            self.eval_all(&pool.body, view);
            for host in pool.hosts.values() {
                self.eval_all(&host.body, view);
            }
            return Value::unknown(Type::Any);
        };
        let is_others = |named: &&ProviderRef| named.name.name != entry.provider;
        if let Some(named) = pool.provider.as_ref().filter(is_others) {
            let detail = format!("A pool of kind `{}` belongs to `{}`.", pool.kind.name, entry.provider);
            self.diagnostics.push(Diagnostic::error(named.span, "another's provider", detail));
        }
        // Hosts are taken out of the body when it is read, and so out of the schema it is held against.
        let mut own = entry.clone();
        let host =
            own.schema.blocks.remove("host").map(|nested| Entry { schema: nested.schema, ..entry.clone() });
        own.schema.blocks.remove("return");
        let value = self.body(&pool.body, &own, pool.header, Ephemeral::Allowed, view);
        for Misfit { attribute, message } in entry.check.map(|check| check(&value)).unwrap_or_default() {
            let written = pool.body.attributes.iter().find(|written| *written.name.name == *attribute);
            let span = written.map_or(pool.header, |written| written.value.span);
            let detail = format!("`{attribute}`: {message}.");
            self.diagnostics.push(Diagnostic::error(span, "this value cannot be", detail));
        }
        let mut hosts = Entries::new();
        for (name, pool_host) in &pool.hosts {
            if let Some(entry) = &host {
                let value = self.body(&pool_host.body, entry, pool_host.header, Ephemeral::Allowed, view);
                hosts.insert(name.clone(), value);
            } else {
                let detail = format!("A pool of kind `{}` finds its hosts by itself.", pool.kind.name);
                self.diagnostics.push(Diagnostic::error(pool_host.header, "unexpected host", detail));
            }
        }
        let mut object = value.entries().cloned().unwrap_or_default();
        match host {
            Some(_) => object.insert("host".into(), Value::object(hosts)),
            None => object.insert("return".into(), Value::object(returns)),
        };
        Value::object(object)
    }

    /// Opens the slots of a fleet.
    pub(super) fn fleet(&mut self, id: NodeId, scope: ScopeId, place: u32, fleet: &'c Fleet, inner: ScopeId) {
        let view = View::of(scope, place, &ONCE);
        if let Some(rollout) = &fleet.rollout {
            for (name, expr) in [("canary", &rollout.canary), ("max_unavailable", &rollout.max_unavailable)] {
                if let Some(expr) = expr {
                    self.positive(expr, view, name);
                }
            }
            if let Some(soak) = &rollout.soak {
                self.duration(soak, view);
            }
        }
        let repeated = match &fleet.slots {
            Slots::Size(expr) => self.slots_by_size(expr, view),
            Slots::Hosts(expr) => self.slots_by_name(expr, view),
        };
        self.defer(id, scope, place, &repeated.keys);
        let name = &fleet.name.name;
        self.open(inner, place, repeated, |key| ScopeStep::Fleet(name.clone(), key));
        if !self.blocks_only() {
            self.assign(fleet, inner);
        }
    }

    fn slots_by_size(&mut self, expr: &Expr, view: View<'_>) -> Repeated {
        let value = self.eval(expr, view);
        match whole(&value, "size", expr.span) {
            Ok(_) if self.blocks_only() => specimen(true),
            Ok(Ok(size)) => Repeated::count(size),
            Ok(Err(unknown)) => Repeated::unknown(&unknown),
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                Repeated::unknown(&Value::unknown(Type::Any))
            }
        }
    }

    fn slots_by_name(&mut self, expr: &Expr, view: View<'_>) -> Repeated {
        let value = self.eval(expr, view);
        match host_names(&value, expr.span) {
            Ok(_) if self.blocks_only() => specimen(false),
            Ok(Ok(names)) => {
                let one = |name: Arc<str>| Repetition { key: Some(Key::Text(name)), index: None, each: None };
                Repeated { keys: Keys::Each, each: names.into_iter().map(one).collect() }
            }
            Ok(Err(unknown)) => Repeated::unknown(&unknown),
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                Repeated::unknown(&Value::unknown(Type::Any))
            }
        }
    }

    /// The pool that a fleet names; it must be named directly, because who owns a host cannot be computed.
    pub(super) fn pool_of(&mut self, fleet: &'c Fleet) -> Option<&'c Pool> {
        let named = match &fleet.pool.kind {
            ExprKind::Path(path) => match (&path.base.kind, &path.steps[..]) {
                (ExprKind::Variable(root), [Step::Attr(name)]) if &*root.name == "pool" => Some(name),
                _ => None,
            },
            ExprKind::Invalid => return None,
            _ => None,
        };
        let Some(name) = named else {
            let detail = "A fleet names its pool directly.";
            let diagnostic = Diagnostic::error(fleet.pool.span, "not a pool", detail);
            self.diagnostics.push(diagnostic.help("write `pool = pool.NAME`"));
            return None;
        };
        match self.expansion.scopes.node(self.expansion.scopes.pool(&name.name)?).item {
            NodeItem::Pool(pool) => Some(pool),
            _ => None,
        }
    }

    /// The one name of a host: server, hostname, Node, tailnet device and runner.
    pub(super) fn hostname(&mut self, fleet: &'c Fleet, slot: &Repetition, view: View<'_>) -> Value {
        let value = self.eval(&fleet.hostname, view);
        let span = fleet.hostname.span;
        let refuse = |detail: String| Diagnostic::error(span, "invalid hostname", detail);
        let name = match convert(&value, &Type::String) {
            Ok(name) if name.is_null() => {
                self.diagnostics.push(refuse("The name is null.".into()));
                return Value::unknown(Type::String);
            }
            Ok(name) => name,
            Err(error) => {
                self.diagnostics.push(refuse(format!("A hostname is a text: {error}.")));
                return Value::unknown(Type::String);
            }
        };
        let Some(text) = name.as_str() else { return name };
        let address = view.address.map(ToString::to_string).unwrap_or_default();
        if let Err(detail) = dns_label(text) {
            self.diagnostics.push(refuse(detail).at(&*address));
        }
        let key = match &slot.key {
            Some(Key::Index(index)) => Some(Arc::from(index.to_string())),
            Some(Key::Text(text)) => Some(text.clone()),
            None => None,
        };
        if let Some(key) = key.filter(|key| !text.contains(&**key)) {
            let detail = format!("`{text}` does not contain the key of its slot, `{key}`.");
            self.diagnostics.push(refuse(detail).at(&*address).help("put `${host.key}` into the name"));
        }
        if let Some(prefix) = self.free_prefix(fleet).filter(|prefix| text.starts_with(&**prefix)) {
            let detail = format!("`{text}` starts with `{prefix}`, which marks free hosts of the pool.");
            self.diagnostics.push(refuse(detail).at(&*address));
        }
        name
    }

    /// The prefix by which the fleet's pool tells free hosts.
    fn free_prefix(&mut self, fleet: &'c Fleet) -> Option<Arc<str>> {
        let ExprKind::Path(path) = &fleet.pool.kind else { return None };
        let Some(Step::Attr(name)) = path.steps.first() else { return None };
        let node = self.expansion.scopes.pool(&name.name)?;
        let NodeItem::Pool(pool) = self.expansion.scopes.node(node).item else { return None };
        let prefix = pool.body.attribute("prefix")?;
        let n_before = self.diagnostics.len();
        let value = self.eval(&prefix.value, View::of(crate::scope::Scopes::ROOT, 0, &ONCE));
        // What is wrong with the prefix is said where the pool is.
        self.diagnostics.truncate(n_before);
        value.as_str().filter(|prefix| !prefix.is_empty()).map(Arc::from)
    }

    /// No two hosts have one name, in whatever fleets they are.
    pub(super) fn unique_hostnames(&mut self) {
        if self.blocks_only() {
            return;
        }
        let mut seen: HashMap<Arc<str>, &Instance> = HashMap::new();
        let mut twice = Vec::new();
        for instance in self.expansion.instances.iter().filter(|instance| instance.address.item == Item::Host)
        {
            let Some(Kind::String(name)) =
                instance.value.entries().and_then(|host| host.get("name")).map(|name| &name.kind)
            else {
                continue;
            };
            if let Some(first) = seen.insert(name.clone(), instance) {
                let detail =
                    format!("`{}` and `{}` would both be called `{name}`.", first.address, instance.address);
                let diagnostic = Diagnostic::error(instance.span, "two hosts with one name", detail);
                twice.push(diagnostic.at(instance.address.to_string()).related(first.span, "the other one"));
            }
        }
        self.diagnostics.extend(twice);
    }

    /// Evaluates a duration such as `"45m"`.
    pub(super) fn duration(&mut self, expr: &Expr, view: View<'_>) -> Option<Duration> {
        let value = self.eval(expr, view);
        if !value.is_known() {
            return None;
        }
        let parsed = value.as_str().and_then(|text| humantime::parse_duration(text).ok());
        if parsed.is_none() {
            let detail = "A duration is a text with a unit, such as `\"30s\"`, `\"45m\"` or `\"1h 30m\"`.";
            self.diagnostics.push(Diagnostic::error(expr.span, "invalid duration", detail));
        }
        parsed
    }

    fn one_of(&mut self, expr: &Expr, view: View<'_>, what: &str, words: &[&str]) {
        let value = self.eval(expr, view);
        let fits = !value.is_known() || value.as_str().is_some_and(|text| words.contains(&text));
        if !fits {
            let detail = format!("It is one of `\"{}\"`.", words.join("\"`, `\""));
            self.diagnostics.push(Diagnostic::error(expr.span, format!("unknown {what}"), detail));
        }
    }

    fn positive(&mut self, expr: &Expr, view: View<'_>, name: &str) {
        let value = self.eval(expr, view);
        let zero = |number| matches!(number, Ok(Ok(0)));
        match whole(&value, name, expr.span) {
            Err(diagnostic) => self.diagnostics.push(diagnostic),
            number if zero(number.clone()) && name == "max_unavailable" => {
                let detail = "With none that may be unavailable, no change could ever go through.";
                self.diagnostics.push(Diagnostic::error(expr.span, format!("invalid `{name}`"), detail));
            }
            Ok(_) => {}
        }
    }

    /// The repetitions that a `for_each` outside resources and calls asks for.
    pub(super) fn repeated_each(&mut self, expr: &'c Expr, view: View<'_>) -> Vec<Repetition> {
        let repeat = Repeat::ForEach(expr.clone());
        self.repeated(Some(&repeat), view).each
    }
}

/// One slot to look at, whatever the number will be.
fn specimen(by_size: bool) -> Repeated {
    let index = by_size.then(|| Value::unknown(Type::Number));
    let keys = Keys::Unknown(Value::unknown(Type::Any));
    Repeated { keys, each: vec![Repetition { key: None, index, each: None }] }
}

fn host_names(value: &Value, span: Span) -> Result<Result<Vec<Arc<str>>, Value>, Diagnostic> {
    let refuse = |detail: String| Err(Diagnostic::error(span, "invalid `hosts`", detail));
    let list = match convert(value, &Type::list(Type::String)) {
        Ok(list) => list,
        Err(error) => return refuse(format!("A list of names is needed: {error}.")),
    };
    let Some(items) = list.items() else {
        return if list.is_known() { refuse("The value is null.".into()) } else { Ok(Err(list)) };
    };
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        match (&item.kind, item.as_str()) {
            (Kind::Unknown(_), _) => return Ok(Err(item.clone())),
            (_, None | Some("")) => return refuse("A name is empty or null.".into()),
            (_, Some(name)) => names.push(Arc::from(name)),
        }
    }
    let mut sorted = names.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => refuse(format!("`{}` stands there twice.", pair[0])),
        None => Ok(Ok(names)),
    }
}

fn dns_label(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() {
        Err("The name is empty.".into())
    } else if name.len() > LONGEST_HOSTNAME {
        Err(format!("`{name}` has {} characters; at most {LONGEST_HOSTNAME} fit a DNS label.", name.len()))
    } else if let Some(c) = name.chars().find(|c| !fits(*c)) {
        Err(format!("`{name}` has a `{c}`; a DNS label has lower-case letters, digits and `-` only."))
    } else if name.starts_with('-') || name.ends_with('-') {
        Err(format!("`{name}` starts or ends with `-`."))
    } else {
        Ok(())
    }
}
