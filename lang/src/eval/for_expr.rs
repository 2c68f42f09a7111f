//! `[for …]` and `{for …}`, and the loop that they share with the template directive.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use fleet_syntax::tree::{Expr, For, Ident};
use fleet_syntax::{Diagnostic, Span};

use super::conditional::Truth;
use super::{Evaluator, failed, unknown_from};
use crate::{Kind, Marks, Type, Value};

/// What a loop walks and the names it binds.
pub(super) struct Loop<'e> {
    pub(super) key_name: Option<&'e Ident>,
    pub(super) value_name: &'e Ident,
    pub(super) collection: &'e Expr,
    pub(super) condition: Option<&'e Expr>,
}

/// How a loop ended.
pub(super) enum Ended {
    /// All turns were taken; marks of the collection and of the conditions.
    Done(Marks),
    /// The elements are not known, or a turn failed: the unknown that the result becomes.
    Unknown(Value),
}

impl Evaluator<'_> {
    pub(super) fn for_expr(&mut self, each: &For, span: Span) -> Value {
        let turns = Loop {
            key_name: each.key_name.as_ref(),
            value_name: &each.value_name,
            collection: &each.collection,
            condition: each.condition.as_ref(),
        };
        match &each.key {
            None => self.for_tuple(&turns, &each.value, span),
            Some(key) if each.group => self.for_groups(&turns, key, &each.value, span),
            Some(key) => self.for_object(&turns, key, &each.value, span),
        }
    }

    fn for_tuple(&mut self, turns: &Loop<'_>, value: &Expr, span: Span) -> Value {
        let mut items = Vec::new();
        let ended = self.each(turns, span, |evaluator| {
            items.push(evaluator.value(value));
            ControlFlow::Continue(())
        });
        self.finish(ended, Marks::NONE, span, || Value::tuple(items))
    }

    fn for_object(&mut self, turns: &Loop<'_>, key: &Expr, value: &Expr, span: Span) -> Value {
        let mut attributes = BTreeMap::new();
        let mut marks = Marks::NONE;
        let ended = self.each(turns, span, |evaluator| {
            let name = evaluator.for_key(key, &mut marks)?;
            let value = evaluator.value(value);
            match attributes.entry(name) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(value);
                    ControlFlow::Continue(())
                }
                std::collections::btree_map::Entry::Occupied(entry) => {
                    let repeated = if marks.contains(Marks::SENSITIVE) {
                        "A sensitive key".to_owned()
                    } else {
                        format!("The key \"{}\"", entry.key())
                    };
                    let detail = format!("{repeated} is produced by two elements.");
                    let diagnostic = Diagnostic::error(key.span, "repeated key", detail)
                        .help("write `...` after the value to collect the values of equal keys in a list");
                    ControlFlow::Break(evaluator.report(diagnostic))
                }
            }
        });
        self.finish(ended, marks, span, || Value::object(attributes.into()))
    }

    fn for_groups(&mut self, turns: &Loop<'_>, key: &Expr, value: &Expr, span: Span) -> Value {
        let mut groups: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
        let mut marks = Marks::NONE;
        let ended = self.each(turns, span, |evaluator| {
            let name = evaluator.for_key(key, &mut marks)?;
            let value = evaluator.value(value);
            groups.entry(name).or_default().push(value);
            ControlFlow::Continue(())
        });
        self.finish(ended, marks, span, || {
            Value::object(groups.into_iter().map(|(name, items)| (name, Value::tuple(items))).collect())
        })
    }

    /// The result of a loop that adds marks of its own.
    fn finish(&mut self, ended: Ended, marks: Marks, span: Span, result: impl FnOnce() -> Value) -> Value {
        match ended {
            Ended::Done(more) => self.measured(result().mark(more | marks), self.findings(), span),
            Ended::Unknown(unknown) => unknown.mark(marks),
        }
    }

    fn for_key(&mut self, key: &Expr, marks: &mut Marks) -> ControlFlow<Value, Arc<str>> {
        let value = self.value(key);
        match self.key_text(value, key.span, marks) {
            Ok(name) => ControlFlow::Continue(name),
            Err(unknown) => ControlFlow::Break(unknown),
        }
    }

    /// Runs `turn` for every element that the condition lets through. A turn that is unknown as a whole breaks off with
    /// its unknown: nothing can then be said about the result, but the other turns still run for their problems. The
    /// first turn with a problem is the last: the others would mostly repeat it.
    pub(super) fn each(
        &mut self,
        turns: &Loop<'_>,
        span: Span,
        mut turn: impl FnMut(&mut Self) -> ControlFlow<Value>,
    ) -> Ended {
        let (collection, marks) = self.value(turns.collection).unmark();
        let mut ended = match self.check_iterable(&collection, turns.collection.span) {
            Some(unknown) => return Ended::Unknown(unknown.mark(marks)),
            None => Ended::Done(marks),
        };
        if !self.check_condition(turns) {
            return Ended::Unknown(failed());
        }
        let depth = self.bound.len();
        let set = matches!(collection.kind, Kind::Set(_));
        let items = collection.items().unwrap_or_default().iter().enumerate();
        let items = items.map(|(index, item)| {
            let key = if set { item.clone() } else { Value::from(index as i64) };
            (key, item)
        });
        let entries = collection.entries().into_iter().flatten();
        let entries = entries.map(|(key, item)| (Kind::String(key.clone()).into(), item));
        for (key, item) in items.chain(entries) {
            if !self.make(1, span) {
                return Ended::Unknown(failed());
            }
            let findings = self.findings();
            if let Some(name) = turns.key_name {
                self.bound.push((name.name.clone(), key));
            }
            self.bound.push((turns.value_name.name.clone(), item.clone()));
            let outcome = self.turn(turns.condition, &mut ended, &mut turn);
            self.bound.truncate(depth);
            if let ControlFlow::Break(unknown) = outcome {
                ended.give_up(&unknown);
            }
            if self.findings() > findings {
                return Ended::Unknown(failed());
            }
        }
        ended
    }

    /// One turn, its names bound.
    fn turn(
        &mut self,
        condition: Option<&Expr>,
        ended: &mut Ended,
        turn: &mut impl FnMut(&mut Self) -> ControlFlow<Value>,
    ) -> ControlFlow<Value> {
        if let Some(condition) = condition {
            match self.condition(condition) {
                Truth::Known(wanted, marks) => {
                    ended.add(marks);
                    if !wanted {
                        return ControlFlow::Continue(());
                    }
                }
                Truth::Unknown(unknown) => return ControlFlow::Break(unknown),
            }
        }
        turn(self)
    }

    /// The unknown that stands for the whole loop if the collection cannot be walked, which is reported unless it is
    /// only not known yet.
    fn check_iterable(&mut self, collection: &Value, span: Span) -> Option<Value> {
        let ty = match &collection.kind {
            Kind::Null(_) => {
                let detail = "What a `for` walks must be a list, set, tuple, map or object, but is null.";
                return Some(self.report(Diagnostic::error(span, "null collection", detail)));
            }
            Kind::Unknown(unknown) => unknown.ty.clone(),
            Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => collection.ty(),
            _ => return None,
        };
        if ty.is_primitive() {
            let detail =
                format!("What a `for` walks must be a list, set, tuple, map or object, but is a {ty}.");
            return Some(self.report(Diagnostic::error(span, "not a collection", detail)));
        }
        Some(unknown_from(Type::Any, [collection]))
    }

    /// Finds a condition that cannot be one whatever the elements are, even when there are none.
    fn check_condition(&mut self, turns: &Loop<'_>) -> bool {
        let Some(condition) = turns.condition else { return true };
        let depth = self.bound.len();
        let findings = self.findings();
        for name in turns.key_name.into_iter().chain([turns.value_name]) {
            self.bound.push((name.name.clone(), failed()));
        }
        self.condition(condition);
        self.bound.truncate(depth);
        self.findings() == findings
    }
}

impl Ended {
    fn add(&mut self, more: Marks) {
        match self {
            Ended::Done(marks) => *marks |= more,
            Ended::Unknown(unknown) => unknown.marks |= more,
        }
    }

    fn give_up(&mut self, unknown: &Value) {
        let more = unknown.marks;
        match self {
            Ended::Done(marks) => {
                *self = Ended::Unknown(unknown_from(Type::Any, [unknown]).mark(*marks | more));
            }
            Ended::Unknown(first) => first.marks |= more,
        }
    }
}
