//! `count` and `for_each`: how many instances a block has.

use std::sync::Arc;

use fleet_lang::convert::convert;
use fleet_lang::{Kind, Marks, Type, Unknown, Value};
use fleet_syntax::tree::Expr;
use fleet_syntax::{Diagnostic, Span};

use super::{Deferred, Keys, Opened, Place, Repetition, View, Walk};
use crate::address::{Key, ScopeStep, Target};
use crate::config::model::{Call, Repeat};
use crate::scope::{self, NodeId, NodeItem, ScopeId};

/// More instances of one block than this are surely a mistake.
const MOST_INSTANCES: u64 = 1_000_000;

/// The instances that a repetition asks for.
pub(super) struct Repeated {
    pub(super) keys: Keys,
    pub(super) each: Vec<Repetition>,
}

impl Repeated {
    pub(super) fn once() -> Repeated {
        Repeated { keys: Keys::Single, each: vec![Repetition::default()] }
    }

    pub(super) fn count(count: u64) -> Repeated {
        let one = |index: u64| Repetition {
            key: Some(Key::Index(index)),
            index: Some(Value::from(index as i64)),
            each: None,
        };
        Repeated { keys: Keys::Count, each: (0..count).map(one).collect() }
    }

    fn each(entries: impl Iterator<Item = (Arc<str>, Value)>) -> Repeated {
        let one = |(key, value): (Arc<str>, Value)| Repetition {
            key: Some(Key::Text(key.clone())),
            index: None,
            each: Some((Value::from(&*key), value)),
        };
        Repeated { keys: Keys::Each, each: entries.map(one).collect() }
    }

    /// None yet: their number waits for this value.
    pub(super) fn unknown(awaiting: &Value) -> Repeated {
        let awaits = match &awaiting.kind {
            Kind::Unknown(unknown) => unknown.awaits.clone(),
            _ => None,
        };
        // What a reference to them will be like is open too.
        let instances = Unknown { ty: Type::Any, awaits, not_null: true };
        Repeated { keys: Keys::Unknown(instances.into()), each: Vec::new() }
    }

    /// One to look at, whatever the number will be.
    fn specimen(repeat: &Repeat) -> Repeated {
        let unknown = |ty| Some(Value::unknown(ty));
        let each = match repeat {
            Repeat::Count(_) => Repetition { key: None, index: unknown(Type::Number), each: None },
            Repeat::ForEach(_) => {
                let each = unknown(Type::String).zip(unknown(Type::Any));
                Repetition { key: None, index: None, each }
            }
        };
        Repeated { keys: Keys::Unknown(Value::unknown(Type::Any)), each: vec![each] }
    }
}

impl<'c> Walk<'_, 'c> {
    /// The instances that a block's `count` or `for_each` asks for in one place.
    pub(super) fn repeated(&mut self, repeat: Option<&Repeat>, view: View<'_>) -> Repeated {
        let Some(repeat) = repeat else { return Repeated::once() };
        let (Repeat::Count(expr) | Repeat::ForEach(expr)) = repeat;
        let before = self.diagnostics.len();
        let value = self.eval(expr, view);
        if self.diagnostics.len() > before {
            return if self.blocks_only() { Repeated::specimen(repeat) } else { Repeated::unknown(&value) };
        }
        let repeated = match repeat {
            Repeat::Count(_) => count(&value, expr.span),
            Repeat::ForEach(_) => for_each(&value, expr),
        };
        match repeated {
            Ok(_) if self.blocks_only() => Repeated::specimen(repeat),
            Ok(repeated) => repeated,
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                Repeated::unknown(&Value::unknown(Type::Any))
            }
        }
    }

    /// Opens the scope of a module call.
    pub(super) fn call(
        &mut self,
        id: NodeId,
        scope: ScopeId,
        place: u32,
        call: &'c Call,
        inner: Option<ScopeId>,
    ) {
        let repeated = self.repeated(call.repeat.as_ref(), View::of(scope, place, &super::ONCE));
        self.defer(id, scope, place, &repeated.keys);
        let Some(inner) = inner else { return };
        let name = &call.name.name;
        self.open(inner, place, repeated, |key| ScopeStep::Module(name.clone(), key));
    }

    /// Adds the instances of a scope that one place opens.
    pub(super) fn open(
        &mut self,
        inner: ScopeId,
        parent: u32,
        repeated: Repeated,
        step: impl Fn(Option<Key>) -> ScopeStep,
    ) {
        let outer = self.expansion.scopes.scope(inner).parent.expect("an opened scope stands in another");
        let path = self.place(outer, parent).path.clone();
        let places = &mut self.expansion.places[inner.0 as usize];
        let start = places.len() as u32;
        places.extend(repeated.each.into_iter().map(|repetition| Place {
            parent,
            path: path.join(step(repetition.key.clone())),
            repetition,
        }));
        let range = start..places.len() as u32;
        self.expansion.openings[inner.0 as usize].push(Opened { keys: repeated.keys, range });
    }

    /// Notes a block whose instances cannot be told yet.
    pub(super) fn defer(&mut self, node: NodeId, scope: ScopeId, place: u32, keys: &Keys) {
        let Keys::Unknown(value) = keys else { return };
        if self.blocks_only() {
            return;
        }
        let awaits = match &value.kind {
            Kind::Unknown(unknown) => unknown.awaits.clone(),
            _ => None,
        };
        let path = self.place(scope, place).path.clone();
        let block = |item| Target { scope: path.clone(), item: Some(item), key: None };
        let inside = |step| Target { scope: path.join(step), item: None, key: None };
        let address = match self.expansion.scopes.node(node).item {
            NodeItem::Resource(resource) | NodeItem::CheckData(resource) => block(scope::item(resource)),
            NodeItem::Call(call, _) => inside(ScopeStep::Module(call.name.name.clone(), None)),
            NodeItem::Fleet(fleet, _) => inside(ScopeStep::Fleet(fleet.name.name.clone(), None)),
            _ => return,
        };
        self.expansion.deferred.push(Deferred { node, place, address, awaits });
    }
}

/// Values that decide how many instances there are end up in addresses, which everybody sees and state keeps.
fn refuse_marks(value: &Value, argument: &str, span: Span) -> Result<(), Diagnostic> {
    let marks = value.marks_deep();
    let (summary, detail) = if marks.contains(Marks::SENSITIVE) {
        ("sensitive", "The number and the keys of instances are shown in every plan.")
    } else if marks.contains(Marks::EPHEMERAL) {
        ("ephemeral", "The number and the keys of instances must be the same in every run.")
    } else {
        return Ok(());
    };
    let diagnostic = Diagnostic::error(span, format!("{summary} value in `{argument}`"), detail);
    Err(diagnostic.help("if the value may be known, wrap it in `nonsensitive(…)`"))
}

pub(super) fn count(value: &Value, span: Span) -> Result<Repeated, Diagnostic> {
    whole(value, "count", span).map(|count| match count {
        Ok(count) => Repeated::count(count),
        Err(unknown) => Repeated::unknown(&unknown),
    })
}

/// A number of instances: known, or the unknown it waits for.
pub(super) fn whole(value: &Value, argument: &str, span: Span) -> Result<Result<u64, Value>, Diagnostic> {
    refuse_marks(value, argument, span)?;
    let refuse = |detail: String| Err(Diagnostic::error(span, format!("invalid `{argument}`"), detail));
    let number = match convert(value, &Type::Number) {
        Ok(number) => number,
        Err(error) => return refuse(format!("A whole number is needed: {error}.")),
    };
    match &number.kind {
        Kind::Unknown(_) => Ok(Err(number)),
        Kind::Number(number) => match number.to_i64() {
            Some(count) if count < 0 => refuse(format!("{count} is less than zero.")),
            Some(count) if count as u64 > MOST_INSTANCES => {
                refuse(format!("{count} is more than the {MOST_INSTANCES} instances one block can have."))
            }
            Some(count) => Ok(Ok(count as u64)),
            None => refuse(format!("{number} is not a whole number.")),
        },
        _ => refuse("The value is null. A number of instances is needed; 0 makes none.".into()),
    }
}

fn for_each(value: &Value, expr: &Expr) -> Result<Repeated, Diagnostic> {
    refuse_keys(value, expr.span)?;
    let refuse = |detail: &str| Err(Diagnostic::error(expr.span, "invalid `for_each`", detail));
    match &value.kind {
        Kind::Null(_) => {
            refuse("The value is null. A map or a set of strings is needed; an empty one makes none.")
        }
        Kind::Unknown(unknown) => match &unknown.ty {
            Type::Any | Type::Map(_) | Type::Object(_) => Ok(Repeated::unknown(value)),
            Type::Set(element) if matches!(**element, Type::String | Type::Any) => {
                Ok(Repeated::unknown(value))
            }
            _ => wrong_type(value, expr.span),
        },
        Kind::Map(_) | Kind::Object(_) => {
            let entries = value.entries().expect("maps and objects have entries");
            let carry = |item: &Value| item.clone().mark(value.marks);
            Ok(Repeated::each(entries.iter().map(|(key, item)| (key.clone(), carry(item)))))
        }
        Kind::Set(set) => {
            if let Some(unknown) = set.items.iter().find(|item| !item.is_known()) {
                return Ok(Repeated::unknown(unknown));
            }
            if set.items.is_empty() {
                return Ok(Repeated::each(std::iter::empty()));
            }
            if set.element != Type::String {
                return wrong_type(value, expr.span);
            }
            let keys: Option<Vec<_>> =
                set.items.iter().map(|item| Some((item.as_str()?.into(), item.clone()))).collect();
            match keys {
                Some(keys) => Ok(Repeated::each(keys.into_iter())),
                None => refuse("The set has a null in it, which cannot be a key."),
            }
        }
        _ => wrong_type(value, expr.span),
    }
}

fn wrong_type(value: &Value, span: Span) -> Result<Repeated, Diagnostic> {
    let ty = value.ty();
    let detail =
        format!("A map or a set of strings is needed, because every instance needs a key; this is {ty}.");
    let diagnostic = Diagnostic::error(span, "invalid `for_each`", detail);
    Err(match ty {
        Type::List(_) | Type::Tuple(_) => {
            diagnostic.help("wrap it in `toset(…)`, if its elements are strings")
        }
        _ => diagnostic,
    })
}

/// The values of a map may be sensitive; its keys, and a set as a whole, may not.
fn refuse_keys(value: &Value, span: Span) -> Result<(), Diagnostic> {
    match &value.kind {
        Kind::Map(_) | Kind::Object(_) => {
            let shell = Value { kind: Kind::Bool(true), marks: value.marks };
            refuse_marks(&shell, "for_each", span)
        }
        _ => refuse_marks(value, "for_each", span),
    }
}
