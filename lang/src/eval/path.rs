//! The steps of a path: `.attr`, `[index]`, and the splats `[*]` and `.*`.

use std::sync::Arc;

use fleet_syntax::tree::{ExprKind, Ident, Path, Step};
use fleet_syntax::{Diagnostic, Span, nearest};

use super::limits::MAX_SPLATS;
use super::{Evaluator, failed, unknown_from};
use crate::convert::convert;
use crate::{Kind, Marks, Number, Type, Value};

impl Evaluator<'_> {
    pub(super) fn path(&mut self, path: &Path) -> Value {
        let mut splats = path.steps.iter().filter_map(|step| match step {
            Step::AttrSplat(span) | Step::FullSplat(span) => Some(*span),
            Step::Attr(_) | Step::Index(..) => None,
        });
        if let Some(span) = splats.nth(MAX_SPLATS) {
            let detail = format!("A path has at most {MAX_SPLATS} splats.");
            return self.report(Diagnostic::error(span, "too many splats", detail));
        }
        match &path.base.kind {
            ExprKind::Variable(root) => self.named(root, &path.steps),
            _ => {
                let base = self.value(&path.base);
                self.walk(base, &path.steps)
            }
        }
    }

    /// Takes steps from a value.
    pub(super) fn walk(&mut self, mut value: Value, mut steps: &[Step]) -> Value {
        while let Some((step, rest)) = steps.split_first() {
            steps = rest;
            value = match step {
                Step::Attr(name) => self.attribute(&value, name),
                Step::Index(key, span) => {
                    let key_value = self.value(key);
                    self.index(&value, &key_value, key.span, *span)
                }
                Step::AttrSplat(span) => {
                    let (each, after) =
                        steps.split_at(steps.iter().take_while(|step| is_dotted(step)).count());
                    steps = after;
                    self.splat(value, each, *span)
                }
                Step::FullSplat(span) => return self.splat(value, rest, *span),
            };
        }
        value
    }

    fn attribute(&mut self, value: &Value, name: &Ident) -> Value {
        let marks = value.marks;
        let found = match &value.kind {
            Kind::Object(attributes) => attributes.get(&name.name).cloned(),
            Kind::Map(map) => map.items.get(&name.name).cloned(),
            Kind::Unknown(unknown) => match &unknown.ty {
                Type::Any => Some(unknown_from(Type::Any, [value])),
                Type::Map(element) => Some(unknown_from((**element).clone(), [value])),
                Type::Object(object) => {
                    object.attributes.get(&*name.name).map(|ty| unknown_from(ty.clone(), [value]))
                }
                _ => None,
            },
            _ => None,
        };
        match found {
            Some(found) => found.mark(marks),
            None => self.report(no_attribute(value, name)),
        }
    }

    fn index(&mut self, value: &Value, key: &Value, key_span: Span, span: Span) -> Value {
        let marks = value.marks | key.marks;
        let ty = match &value.kind {
            Kind::Null(_) => {
                let detail = "This value is null, so it has no elements.";
                return self.report(Diagnostic::error(span, "index into null", detail));
            }
            Kind::List(_) | Kind::Tuple(_) => Type::Number,
            Kind::Map(_) | Kind::Object(_) => Type::String,
            Kind::Set(_) => Type::Any,
            _ => match value.ty() {
                Type::List(_) | Type::Tuple(_) => Type::Number,
                Type::Map(_) | Type::Object(_) => Type::String,
                Type::Any if !key.is_null() => return unknown_from(Type::Any, [value, key]).mark(marks),
                _ => Type::Any,
            },
        };
        if key.is_null() {
            let detail = "The key is null, but must name an element.";
            return self.report(Diagnostic::error(key_span, "null as a key", detail));
        }
        if ty == Type::Any {
            return self.report(no_elements(value, span));
        }
        let key = match convert(key, &ty) {
            Ok(key) => key,
            Err(error) => {
                let detail =
                    format!("The key of an element of a {} is unsuitable: {error}.", kind_name(&value.ty()));
                return self.report(Diagnostic::error(key_span, "unsuitable key", detail));
            }
        };
        let found = match &key.kind {
            Kind::Number(number) => element_at(value, number),
            Kind::String(name) => element_of(value, name, &key),
            _ => Some(unknown_from(element_type(&value.ty()), [value, &key])),
        };
        match found {
            Some(found) => found.mark(marks),
            None => self.report(no_element(value, &key, key_span)),
        }
    }

    /// Maps steps over the elements. Something that is no sequence counts as a sequence of one, null as an empty one.
    fn splat(&mut self, value: Value, each: &[Step], span: Span) -> Value {
        let (value, marks) = value.unmark();
        let ty = match &value.kind {
            Kind::List(list) => return self.splat_list(&list.items, &list.element, each, span).mark(marks),
            Kind::Set(set) => return self.splat_list(&set.items, &set.element, each, span).mark(marks),
            Kind::Tuple(items) => return self.splat_tuple(items, each, span).mark(marks),
            Kind::Null(ty) => {
                if is_sequence(ty) {
                    let detail =
                        format!("This {} is null, so it has no elements to map over.", kind_name(ty));
                    return self.report(Diagnostic::error(span, "splat of null", detail));
                }
                return Value::tuple([]).mark(marks);
            }
            Kind::Unknown(unknown)
                if unknown.not_null && !is_sequence(&unknown.ty) && unknown.ty != Type::Any =>
            {
                return self.splat_tuple(&[value], each, span).mark(marks);
            }
            Kind::Unknown(unknown) => unknown.ty.clone(),
            _ => return self.splat_tuple(&[value], each, span).mark(marks),
        };
        let result = match &ty {
            Type::List(element) | Type::Set(element) => Type::list(self.type_of_steps(element, each)),
            Type::Tuple(elements) => Type::tuple(
                elements.iter().map(|element| self.type_of_steps(element, each)).collect::<Vec<_>>(),
            ),
            Type::Any => Type::Any,
            // Whether there will be one element or none depends on whether it will be null.
            _ => {
                self.type_of_steps(&ty, each);
                Type::Any
            }
        };
        unknown_from(result, [&value]).mark(marks)
    }

    fn splat_tuple(&mut self, items: &[Value], each: &[Step], span: Span) -> Value {
        Value::tuple(self.splat_items(items, each, span))
    }

    fn splat_list(&mut self, items: &[Value], element: &Type, each: &[Step], span: Span) -> Value {
        if each.is_empty() {
            return Value::list(element.clone(), items.to_vec());
        }
        let items = self.splat_items(items, each, span);
        let Some((first, others)) = items.split_first() else {
            return Value::list(self.type_of_steps(element, each), items);
        };
        let ty = first.ty();
        if others.iter().all(|other| other.ty() == ty) { Value::list(ty, items) } else { Value::tuple(items) }
    }

    /// The elements after the steps. The first that fails is the last to be looked at: the others would mostly fail in
    /// the same way.
    fn splat_items(&mut self, items: &[Value], each: &[Step], span: Span) -> Vec<Value> {
        let findings = self.findings();
        self.make(items.len(), span);
        let walked = items
            .iter()
            .map(|item| if self.findings() > findings { failed() } else { self.walk(item.clone(), each) });
        walked.collect()
    }

    /// The type that steps lead to from any value of a type.
    fn type_of_steps(&mut self, ty: &Type, each: &[Step]) -> Type {
        self.walk(Value::unknown(ty.clone()), each).ty()
    }
}

/// Whether values of a type are sequences to a splat, rather than single things.
fn is_sequence(ty: &Type) -> bool {
    matches!(ty, Type::List(_) | Type::Set(_) | Type::Tuple(_))
}

/// Whether a step after `.*` still applies to each element: `.name`, and `.0` but not `[0]`.
fn is_dotted(step: &Step) -> bool {
    match step {
        Step::Attr(_) => true,
        Step::Index(key, span) => key.span.end == span.end,
        Step::AttrSplat(_) | Step::FullSplat(_) => false,
    }
}

/// The element at a position of a list or tuple, which may be unknown.
fn element_at(value: &Value, position: &Number) -> Option<Value> {
    let position = usize::try_from(position.to_i64()?).ok()?;
    match (&value.kind, value.items()) {
        (_, Some(items)) => items.get(position).cloned(),
        (Kind::Unknown(unknown), None) => match &unknown.ty {
            Type::List(element) => Some(unknown_from((**element).clone(), [value])),
            Type::Tuple(elements) => elements.get(position).map(|ty| unknown_from(ty.clone(), [value])),
            _ => None,
        },
        _ => None,
    }
}

/// The element under a key of a map or object, which may be unknown.
fn element_of(value: &Value, name: &Arc<str>, key: &Value) -> Option<Value> {
    match (&value.kind, value.entries()) {
        (_, Some(entries)) => entries.get(name).cloned(),
        (Kind::Unknown(unknown), None) => match &unknown.ty {
            Type::Map(element) => Some(unknown_from((**element).clone(), [value, key])),
            Type::Object(object) => object.attributes.get(name).map(|ty| unknown_from(ty.clone(), [value])),
            _ => None,
        },
        _ => None,
    }
}

/// The type of an element whose key is not known.
fn element_type(ty: &Type) -> Type {
    match ty {
        Type::List(element) | Type::Map(element) => (**element).clone(),
        _ => Type::Any,
    }
}

/// The word for a kind of type, without what it holds.
fn kind_name(ty: &Type) -> &'static str {
    match ty {
        Type::Any => "value",
        Type::Bool => "bool",
        Type::Number => "number",
        Type::String => "string",
        Type::List(_) => "list",
        Type::Set(_) => "set",
        Type::Map(_) => "map",
        Type::Tuple(_) => "tuple",
        Type::Object(_) => "object",
    }
}

fn no_attribute(value: &Value, name: &Ident) -> Diagnostic {
    let error = |summary: &str, detail: String| Diagnostic::error(name.span, summary, detail);
    let wanted = &name.name;
    match value.ty() {
        _ if value.is_null() => {
            let detail = format!("This value is null, so it has no attribute `{wanted}`.");
            error("attribute of null", detail).help("test for null first, or use `try`")
        }
        Type::Object(object) => {
            let detail = format!("This object has no attribute `{wanted}`.");
            suggest(error("unknown attribute", detail), wanted, object.attributes.keys(), Marks::NONE)
        }
        Type::Map(_) => {
            let detail = format!("This map has no element \"{wanted}\".");
            let keys = value.entries().into_iter().flat_map(|entries| entries.keys());
            suggest(error("missing map element", detail), wanted, keys, value.marks)
        }
        ty @ (Type::List(_) | Type::Set(_) | Type::Tuple(_)) => {
            let detail = format!("A {} has no attributes, only its elements may have.", kind_name(&ty));
            error("unknown attribute", detail).help(format!(
                "did you mean `[*].{wanted}`, the attribute of every element, or `[0].{wanted}`, that of the first?"
            ))
        }
        ty => error("unknown attribute", format!("A {} has no attributes.", kind_name(&ty))),
    }
}

fn no_elements(value: &Value, span: Span) -> Diagnostic {
    let ty = value.ty();
    let diagnostic = |detail: String| Diagnostic::error(span, "no elements to index", detail);
    match ty {
        Type::Set(_) => diagnostic("The elements of a set have neither position nor key.".into()).help(
            "use `tolist` to get at them by position, `one` for the only one, or `contains` to look for one",
        ),
        _ => diagnostic(format!("A {} has no elements.", kind_name(&ty))),
    }
}

fn no_element(value: &Value, key: &Value, span: Span) -> Diagnostic {
    let ty = value.ty();
    let error = |detail: String| Diagnostic::error(span, "missing element", detail);
    let sensitive = key.marks.contains(Marks::SENSITIVE);
    match &key.kind {
        Kind::String(name) => {
            let shown = if sensitive { "under this sensitive key".into() } else { format!("\"{name}\"") };
            let diagnostic = error(format!("This {} has no element {shown}.", kind_name(&ty)));
            if sensitive {
                return diagnostic;
            }
            match (&ty, value.entries()) {
                (Type::Object(object), _) => suggest(diagnostic, name, object.attributes.keys(), Marks::NONE),
                (_, Some(entries)) => suggest(diagnostic, name, entries.keys(), value.marks),
                _ => diagnostic,
            }
        }
        Kind::Number(_) if sensitive => error("This sensitive index names no element.".into()),
        Kind::Number(index) if !index.is_whole() => error(format!("An index must be whole, but is {index}.")),
        Kind::Number(index) if index.is_negative() => {
            error(format!("An index counts from 0, but is {index}."))
                .help("use `length(x) - 1` for the last element")
        }
        _ => {
            let length = match &ty {
                Type::Tuple(elements) => elements.len(),
                _ => value.items().map_or(0, <[Value]>::len),
            };
            match length {
                0 => error(format!("This {} is empty.", kind_name(&ty))),
                1 => error(format!("This {} has one element, which has the index 0.", kind_name(&ty))),
                _ => error(format!(
                    "This {} has {length} elements: the last one has the index {}.",
                    kind_name(&ty),
                    length - 1
                )),
            }
        }
    }
}

/// Adds the nearest of the known names, or all if they are few. Names in a sensitive value are kept secret.
fn suggest<'n>(
    diagnostic: Diagnostic,
    wanted: &str,
    names: impl Iterator<Item = &'n Arc<str>> + Clone,
    marks: Marks,
) -> Diagnostic {
    if marks.contains(Marks::SENSITIVE) {
        return diagnostic;
    }
    if let Some(meant) = nearest(wanted, names.clone().map(|name| &**name)) {
        return diagnostic.help(format!("did you mean `{meant}`?"));
    }
    let few: Vec<&str> = names.map(|name| &**name).take(9).collect();
    match few.len() {
        0 => diagnostic.help("it is empty"),
        1..=8 => diagnostic.help(format!("it has `{}`", few.join("`, `"))),
        _ => diagnostic,
    }
}
