//! Names of things: `module.node["x"].core_value.a[0]`, `fleet.runners[0].host`.

mod read;

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, LazyLock};

use fleet_lang::{Kind, Value};
use fleet_syntax::tree::{Expr, ExprKind, Step};
use fleet_syntax::{FileId, parse_expression};

pub use read::Reader;

/// The key of one instance among those of its block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// From `count` or a fleet's `size`.
    Index(u64),
    /// From `for_each` or a fleet's `hosts`.
    Text(Arc<str>),
}

/// One instance, wherever it lives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The scope it lives in.
    pub scope: ScopePath,
    /// What it is.
    pub item: Item,
    /// Which of its block's instances it is.
    pub key: Option<Key>,
}

/// The modules and fleets around something, outermost first. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScopePath(Arc<[ScopeStep]>);

/// One scope inside another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeStep {
    /// A module call.
    Module(Arc<str>, Option<Key>),
    /// A slot of a fleet, or the fleet as a whole.
    Fleet(Arc<str>, Option<Key>),
}

/// What an address names within its scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// `kind.name`
    Resource(Arc<str>, Arc<str>),
    /// `data.kind.name`
    Data(Arc<str>, Arc<str>),
    /// `host`: the machine of a fleet's slot.
    Host,
}

impl Default for ScopePath {
    fn default() -> ScopePath {
        static OUTERMOST: LazyLock<ScopePath> = LazyLock::new(|| ScopePath(Arc::new([])));
        OUTERMOST.clone()
    }
}

impl FromIterator<ScopeStep> for ScopePath {
    fn from_iter<I: IntoIterator<Item = ScopeStep>>(steps: I) -> ScopePath {
        ScopePath(steps.into_iter().collect())
    }
}

impl Ord for ScopePath {
    fn cmp(&self, other: &ScopePath) -> Ordering {
        // Most of those that are compared are the very same.
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for ScopePath {
    fn partial_cmp(&self, other: &ScopePath) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ScopePath {
    /// Reads a scope, as it prints itself; the outermost has no name.
    #[must_use]
    pub fn parse(text: &str) -> Option<ScopePath> {
        if text.is_empty() {
            return Some(ScopePath::default());
        }
        let target = Target::parse(text)?;
        target.item.is_none().then_some(target.scope)
    }

    /// The scope one step further in.
    #[must_use]
    pub fn join(&self, step: ScopeStep) -> ScopePath {
        ScopePath(self.0.iter().cloned().chain([step]).collect())
    }

    /// A scope that is named from this one.
    #[must_use]
    pub fn within(&self, inner: &ScopePath) -> ScopePath {
        ScopePath(self.0.iter().chain(inner.0.iter()).cloned().collect())
    }

    /// The scope without the keys of its instances.
    #[must_use]
    pub fn without_keys(&self) -> ScopePath {
        let keyed = self.0.iter().any(|step| *step != step.without_key());
        if keyed { ScopePath(self.0.iter().map(ScopeStep::without_key).collect()) } else { self.clone() }
    }

    /// A slot of a fleet.
    #[must_use]
    pub fn of_slot(fleet: Arc<str>, key: Key) -> ScopePath {
        ScopePath([ScopeStep::Fleet(fleet, Some(key))].into())
    }

    /// Reads the name of a slot, `fleet.runners[0]` or `runners[0]`.
    #[must_use]
    pub fn slot_named(text: &str) -> Option<ScopePath> {
        let whole = if text.starts_with("fleet.") { text.to_owned() } else { format!("fleet.{text}") };
        ScopePath::parse(&whole).filter(|path| matches!(path.steps(), [ScopeStep::Fleet(_, Some(_))]))
    }

    /// The slot of a fleet that it is or lies in.
    #[must_use]
    pub fn slot(&self) -> Option<ScopePath> {
        let at = self.0.iter().position(|step| matches!(step, ScopeStep::Fleet(..)))?;
        Some(if at + 1 == self.0.len() { self.clone() } else { ScopePath(self.0[..=at].into()) })
    }

    /// The steps, outermost first.
    #[must_use]
    pub fn steps(&self) -> &[ScopeStep] {
        &self.0
    }

    /// Writes the name of something in this scope.
    #[must_use]
    pub fn name(&self, inner: impl fmt::Display) -> String {
        if self.0.is_empty() { inner.to_string() } else { format!("{self}.{inner}") }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Index(index) => write!(f, "[{index}]"),
            Key::Text(text) => {
                f.write_str("[\"")?;
                let mut chars = text.chars().peekable();
                while let Some(c) = chars.next() {
                    match c {
                        // `${` and `%{` would start a template when the address is read back.
                        '$' | '%' if chars.peek() == Some(&'{') => write!(f, "{c}{c}")?,
                        '"' | '\\' => write!(f, "\\{c}")?,
                        '\n' => f.write_str("\\n")?,
                        '\r' => f.write_str("\\r")?,
                        '\t' => f.write_str("\\t")?,
                        c if c.is_control() => write!(f, "\\u{:04x}", c as u32)?,
                        c => write!(f, "{c}")?,
                    }
                }
                f.write_str("\"]")
            }
        }
    }
}

impl ScopeStep {
    fn without_key(&self) -> ScopeStep {
        match self {
            ScopeStep::Module(name, _) => ScopeStep::Module(name.clone(), None),
            ScopeStep::Fleet(name, _) => ScopeStep::Fleet(name.clone(), None),
        }
    }
}

impl fmt::Display for ScopeStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, name, key) = match self {
            ScopeStep::Module(name, key) => ("module", name, key),
            ScopeStep::Fleet(name, key) => ("fleet", name, key),
        };
        dotted(f, &[word, name])?;
        key.as_ref().map_or(Ok(()), |key| key.fmt(f))
    }
}

impl fmt::Display for ScopePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            step.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Resource(kind, name) => dotted(f, &[kind, name]),
            Item::Data(kind, name) => dotted(f, &["data", kind, name]),
            Item::Host => f.write_str("host"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scope.0.is_empty() {
            self.scope.fmt(f)?;
            f.write_str(".")?;
        }
        self.item.fmt(f)?;
        self.key.as_ref().map_or(Ok(()), |key| key.fmt(f))
    }
}

/// Words with dots between them. Very many names are printed, and formats take several times as long.
fn dotted(f: &mut fmt::Formatter<'_>, words: &[&str]) -> fmt::Result {
    for (i, word) in words.iter().enumerate() {
        if i > 0 {
            f.write_str(".")?;
        }
        f.write_str(word)?;
    }
    Ok(())
}

impl Address {
    /// The host of a slot.
    #[must_use]
    pub fn host_of(slot: ScopePath) -> Address {
        Address { scope: slot, item: Item::Host, key: None }
    }

    /// Reads the name of one instance, as it prints itself.
    #[must_use]
    pub fn parse(text: &str) -> Option<Address> {
        Target::parse(text)?.into_address()
    }
}

/// What a written address may mean: an instance, all instances of a block, or a whole scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The scope; a step without a key means every instance of it.
    pub scope: ScopePath,
    /// What in it; `None` means everything.
    pub item: Option<Item>,
    /// Which instance; `None` means all of them, or the only one.
    pub key: Option<Key>,
}

impl Target {
    /// Reads what may be meant, as it prints itself.
    #[must_use]
    pub fn parse(text: &str) -> Option<Target> {
        let (expr, problems) = parse_expression(FileId(0), text);
        if problems.is_empty() { Target::from_expr(&expr) } else { None }
    }

    /// Reads an address from an expression, as `moved` and `removed` blocks have it. `None` if it is none.
    #[must_use]
    pub fn from_expr(expr: &Expr) -> Option<Target> {
        Target::read(expr, &mut literal_key)
    }

    /// Reads an address whose keys may be expressions, as in `import` blocks, and leaves them out.
    #[must_use]
    pub fn without_keys(expr: &Expr) -> Option<Target> {
        let target = Target::read(expr, &mut |_| Some(Key::Index(0)))?;
        Some(Target { key: None, ..target.without_scope_keys() })
    }

    /// The one instance that is meant, if it is no scope.
    #[must_use]
    pub fn into_address(self) -> Option<Address> {
        Some(Address { scope: self.scope, item: self.item?, key: self.key })
    }

    /// The same in every instance of the scopes around.
    #[must_use]
    pub fn without_scope_keys(&self) -> Target {
        Target { scope: self.scope.without_keys(), ..self.clone() }
    }

    /// What covers both of two that differ in keys alone.
    #[must_use]
    pub(crate) fn common(&self, other: &Target) -> Target {
        let steps = self.scope.steps().iter().zip(other.scope.steps());
        let scope = steps.map(|(a, b)| if a == b { a.clone() } else { a.without_key() }).collect();
        let key = if self.key == other.key { self.key.clone() } else { None };
        Target { scope: ScopePath(scope), item: self.item.clone(), key }
    }

    /// Reads an address whose keys are expressions, which `key_of` evaluates.
    pub(crate) fn read(expr: &Expr, key_of: &mut dyn FnMut(&Expr) -> Option<Key>) -> Option<Target> {
        let (root, steps) = match &expr.kind {
            ExprKind::Variable(root) => (root, &[][..]),
            ExprKind::Path(path) => match &path.base.kind {
                ExprKind::Variable(root) => (root, &path.steps[..]),
                _ => return None,
            },
            _ => return None,
        };
        let mut words = Words { root: Some(root.name.clone()), steps, key_of };
        let mut scope = ScopePath::default();
        loop {
            let word = words.name()?;
            let step: fn(Arc<str>, Option<Key>) -> ScopeStep = match &*word {
                "module" => ScopeStep::Module,
                "fleet" => ScopeStep::Fleet,
                _ => {
                    let item = match &*word {
                        "host" => Item::Host,
                        "data" => Item::Data(words.name()?, words.name()?),
                        _ => Item::Resource(word, words.name()?),
                    };
                    let key = words.key()?;
                    return words.steps.is_empty().then_some(Target { scope, item: Some(item), key });
                }
            };
            let name = words.name()?;
            scope = scope.join(step(name, words.key()?));
            if words.steps.is_empty() {
                return Some(Target { scope, item: None, key: None });
            }
        }
    }

    /// Whether the address is what was meant, or part of it.
    #[must_use]
    pub fn covers(&self, address: &Address) -> bool {
        self.covers_parts(&address.scope, Some(&address.item), address.key.as_ref())
    }

    /// Whether all that the other may mean is meant.
    #[must_use]
    pub fn includes(&self, other: &Target) -> bool {
        self.covers_parts(&other.scope, other.item.as_ref(), other.key.as_ref())
    }

    fn covers_parts(&self, scope: &ScopePath, item: Option<&Item>, key: Option<&Key>) -> bool {
        let (ours, theirs) = (self.scope.steps(), scope.steps());
        if ours.len() > theirs.len()
            || !ours.iter().zip(theirs).all(|(ours, theirs)| step_covers(ours, theirs))
        {
            return false;
        }
        self.item.is_none()
            || ours.len() == theirs.len()
                && self.item.as_ref() == item
                && (self.key.is_none() || self.key.as_ref() == key)
    }
}

impl From<&Address> for Target {
    /// Means that instance, and nothing else.
    fn from(address: &Address) -> Target {
        let Address { scope, item, key } = address.clone();
        Target { scope, item: Some(item), key }
    }
}

fn step_covers(ours: &ScopeStep, theirs: &ScopeStep) -> bool {
    match (ours, theirs) {
        (ScopeStep::Module(a, x), ScopeStep::Module(b, y))
        | (ScopeStep::Fleet(a, x), ScopeStep::Fleet(b, y)) => a == b && (x.is_none() || x == y),
        _ => false,
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.item {
            None => self.scope.fmt(f),
            Some(item) => {
                Address { scope: self.scope.clone(), item: item.clone(), key: self.key.clone() }.fmt(f)
            }
        }
    }
}

/// Walks the words and keys of a written address.
struct Words<'a> {
    root: Option<Arc<str>>,
    steps: &'a [Step],
    key_of: &'a mut dyn FnMut(&Expr) -> Option<Key>,
}

impl Words<'_> {
    fn name(&mut self) -> Option<Arc<str>> {
        if let Some(root) = self.root.take() {
            return Some(root);
        }
        let Some((Step::Attr(name), rest)) = self.steps.split_first() else { return None };
        self.steps = rest;
        Some(name.name.clone())
    }

    /// The key that follows, `Some(None)` if none does, `None` if what follows is no key.
    fn key(&mut self) -> Option<Option<Key>> {
        let Some((Step::Index(expr, _), rest)) = self.steps.split_first() else { return Some(None) };
        let key = (self.key_of)(expr)?;
        self.steps = rest;
        Some(Some(key))
    }
}

/// The key that a literal index stands for.
pub(crate) fn literal_key(expr: &Expr) -> Option<Key> {
    match &expr.kind {
        ExprKind::Number(text) => text.parse().ok().map(Key::Index),
        ExprKind::String(text) => Some(Key::Text(text.clone())),
        _ => None,
    }
}

/// The key that a value stands for, once it is known.
pub(crate) fn key_of(value: &Value) -> Option<Key> {
    match &value.kind {
        Kind::Number(number) => u64::try_from(number.to_i64()?).ok().map(Key::Index),
        Kind::String(text) => Some(Key::Text(text.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = Option<Key>> {
        // Texts in the language are always NFC, and so are the keys made of them.
        let text = any::<String>().prop_filter("NFC", |text| unicode_normalization::is_nfc(text));
        prop_oneof![
            Just(None),
            any::<u64>().prop_map(|index| Some(Key::Index(index))),
            text.prop_map(|text| Some(Key::Text(text.into()))),
        ]
    }

    pub(super) fn address() -> impl Strategy<Value = Address> {
        let name = || "[a-z_][a-z0-9_-]{0,5}".prop_filter("a word of its own", |n| !RESERVED.contains(&&**n));
        let step = (any::<bool>(), name(), key()).prop_map(|(module, name, key)| match module {
            true => ScopeStep::Module(name.into(), key),
            false => ScopeStep::Fleet(name.into(), key),
        });
        let item = prop_oneof![
            (name(), name()).prop_map(|(kind, name)| Item::Resource(kind.into(), name.into())),
            (name(), name()).prop_map(|(kind, name)| Item::Data(kind.into(), name.into())),
        ];
        (prop::collection::vec(step, 0..3), item, key()).prop_map(|(steps, item, key)| {
            let scope = steps.into_iter().fold(ScopePath::default(), |scope, step| scope.join(step));
            Address { scope, item, key }
        })
    }

    const RESERVED: [&str; 7] = ["module", "fleet", "host", "data", "null", "true", "false"];

    proptest! {
        #[test]
        fn an_address_reads_back_as_it_prints(address in address()) {
            prop_assert_eq!(ScopePath::parse(&address.scope.to_string()), Some(address.scope.clone()));
            prop_assert_eq!(Address::parse(&address.to_string()), Some(address));
        }
    }

    #[test]
    fn what_is_no_instance_is_refused() {
        for text in
            ["", "core_value", "module.m", "core_value.a.output", "core_value.a[*]", "core_value.a[b]", "a b"]
        {
            assert_eq!(Address::parse(text), None, "{text}");
        }
    }
}
