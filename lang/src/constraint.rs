//! Type constraints as users write them: `list(string)`, `object({ name = string, port = optional(number, 22) })`.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_syntax::tree::{Call, Expr, ExprKind, Ident, ObjectItem};
use fleet_syntax::{Diagnostic, Span, nearest};

use crate::eval::{Names, evaluate};
use crate::outside::Memory;
use crate::references::{calls, references};
use crate::{ConvertError, Entries, ObjectType, Type, Value, convert};

/// What a variable accepts: a type, and what optional attributes are when they are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The type, with its optional attributes.
    pub ty: Type,
    /// The defaults of optional attributes in it.
    pub defaults: Defaults,
}

/// The defaults in a type, which has the same shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// Defaults of attributes, if the type is an object.
    pub values: BTreeMap<Arc<str>, Value>,
    /// Defaults further inside.
    pub inner: Inner,
}

/// The defaults of the parts of a type.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Inner {
    /// There are none.
    #[default]
    None,
    /// The type is a collection: those of every element.
    Each(Box<Defaults>),
    /// The type is a tuple: those of each element that has some.
    Elements(BTreeMap<usize, Defaults>),
    /// The type is an object: those of each attribute that has some.
    Attributes(BTreeMap<Arc<str>, Defaults>),
}

const TYPES: [&str; 9] = ["string", "number", "bool", "any", "list", "set", "map", "tuple", "object"];

/// Reads a type constraint.
///
/// # Errors
/// If the expression does not describe a type, or a default does not fit its attribute.
pub fn parse_constraint(expr: &Expr) -> Result<Constraint, Diagnostic> {
    // These two stand for themselves, as they did before types had arguments.
    if let ExprKind::Variable(name) = &expr.kind {
        match &*name.name {
            "list" => return Ok(Type::list(Type::Any).into()),
            "map" => return Ok(Type::map(Type::Any).into()),
            _ => {}
        }
    }
    parse(expr)
}

impl Constraint {
    /// Fills in defaults and converts. Defaults also take the place of an explicit null.
    ///
    /// # Errors
    /// If the value does not fit.
    pub fn apply(&self, value: &Value) -> Result<Value, ConvertError> {
        convert(&self.defaults.fill(value), &self.ty)
    }
}

impl From<Type> for Constraint {
    fn from(ty: Type) -> Constraint {
        Constraint { ty, defaults: Defaults::default() }
    }
}

impl Defaults {
    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.inner == Inner::None
    }

    /// The value with its missing attributes, as tuples and objects: the conversion that follows makes collections of
    /// them again.
    fn fill(&self, value: &Value) -> Value {
        if self.is_empty() {
            return value.clone();
        }
        let filled = if let Some(items) = value.items() {
            let parts = items.iter().enumerate();
            Value::tuple(parts.map(|(index, item)| self.inner.fill_element(index, item)).collect::<Vec<_>>())
        } else if let Some(entries) = value.entries() {
            let parts = entries.iter();
            let mut filled: Entries =
                parts.map(|(name, part)| (name.clone(), self.inner.fill_attribute(name, part))).collect();
            for (name, default) in &self.values {
                if filled.get(name).is_none_or(Value::is_null) {
                    filled.insert(name.clone(), self.inner.fill_attribute(name, default));
                }
            }
            Value::object(filled)
        } else {
            return value.clone();
        };
        // An empty collection says more about its type than an empty tuple or object.
        let emptied = |parts: Option<usize>| parts == Some(0);
        if emptied(filled.items().map(<[Value]>::len))
            || emptied(filled.entries().map(|entries| entries.len()))
        {
            return value.clone();
        }
        filled.mark(value.marks)
    }
}

impl Inner {
    fn fill_element(&self, index: usize, value: &Value) -> Value {
        match self {
            Inner::Each(defaults) => defaults.fill(value),
            Inner::Elements(elements) => {
                elements.get(&index).map_or_else(|| value.clone(), |d| d.fill(value))
            }
            Inner::None | Inner::Attributes(_) => value.clone(),
        }
    }

    fn fill_attribute(&self, name: &str, value: &Value) -> Value {
        match self {
            Inner::Each(defaults) => defaults.fill(value),
            Inner::Attributes(attributes) => {
                attributes.get(name).map_or_else(|| value.clone(), |defaults| defaults.fill(value))
            }
            Inner::None | Inner::Elements(_) => value.clone(),
        }
    }
}

fn parse(expr: &Expr) -> Result<Constraint, Diagnostic> {
    match &expr.kind {
        ExprKind::Variable(name) => match &*name.name {
            "string" => Ok(Type::String.into()),
            "number" => Ok(Type::Number.into()),
            "bool" => Ok(Type::Bool.into()),
            "any" => Ok(Type::Any.into()),
            "list" | "set" | "map" => {
                Err(invalid(expr.span, format!("`{}` needs the type of its elements.", name.name)).help(
                    format!(
                        "write `{}(string)`, or `{}(any)` for elements of whatever type",
                        name.name, name.name
                    ),
                ))
            }
            "tuple" => Err(invalid(expr.span, "`tuple` needs the types of its elements.")
                .help("write `tuple([string, number])`")),
            "object" => Err(invalid(expr.span, "`object` needs its attributes and their types.")
                .help("write `object({ name = string })`")),
            _ => Err(unknown_type(name)),
        },
        ExprKind::Call(call) => parse_call(call),
        ExprKind::String(text) => {
            let error = invalid(expr.span, "A type is written without quotes.");
            Err(if TYPES.contains(&&**text) { error.help(format!("write `{text}`")) } else { error })
        }
        _ => Err(invalid(
            expr.span,
            "A type is one of `string`, `number`, `bool` and `any`, or built from them as in `list(string)`.",
        )),
    }
}

fn parse_call(call: &Call) -> Result<Constraint, Diagnostic> {
    let name = &call.name;
    match &*name.name {
        "list" => collection(call, Type::list),
        "set" => collection(call, Type::set),
        "map" => collection(call, Type::map),
        "tuple" => match call.args.as_slice() {
            [Expr { kind: ExprKind::Tuple(elements), .. }] if !call.expand_last => tuple(elements),
            _ => Err(invalid(name.span, "`tuple` takes the types of its elements in brackets.")
                .help("write `tuple([string, number])`")),
        },
        "object" => match call.args.as_slice() {
            [Expr { kind: ExprKind::Object(items), .. }] if !call.expand_last => object(items),
            _ => Err(invalid(name.span, "`object` takes its attributes and their types in braces.")
                .help("write `object({ name = string })`")),
        },
        "optional" => Err(invalid(name.span, "Only attributes of an object type can be optional.")
            .help("a variable that may be left out needs a default")),
        primitive @ ("string" | "number" | "bool" | "any") => {
            Err(invalid(name.span, format!("`{primitive}` takes no arguments."))
                .help(format!("write `{primitive}`")))
        }
        _ => Err(unknown_type(name)),
    }
}

fn collection(call: &Call, build: fn(Type) -> Type) -> Result<Constraint, Diagnostic> {
    match call.args.as_slice() {
        [element] if !call.expand_last => {
            let Constraint { ty, defaults } = parse(element)?;
            let inner = if defaults.is_empty() { Inner::None } else { Inner::Each(Box::new(defaults)) };
            Ok(Constraint { ty: build(ty), defaults: Defaults { values: BTreeMap::new(), inner } })
        }
        _ => {
            let name = &call.name.name;
            Err(invalid(call.name.span, format!("`{name}` takes one argument, the type of its elements."))
                .help(format!("write `{name}(string)`, or `{name}(any)` for elements of whatever type")))
        }
    }
}

fn tuple(elements: &[Expr]) -> Result<Constraint, Diagnostic> {
    let constraints = elements.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let ty = Type::tuple(constraints.iter().map(|constraint| constraint.ty.clone()).collect::<Vec<_>>());
    let defaults = constraints.into_iter().map(|constraint| constraint.defaults).enumerate();
    let inner: BTreeMap<_, _> = defaults.filter(|(_, defaults)| !defaults.is_empty()).collect();
    let inner = if inner.is_empty() { Inner::None } else { Inner::Elements(inner) };
    Ok(Constraint { ty, defaults: Defaults { values: BTreeMap::new(), inner } })
}

fn object(items: &[ObjectItem]) -> Result<Constraint, Diagnostic> {
    let mut ty = ObjectType::default();
    let mut values = BTreeMap::new();
    let mut inner = BTreeMap::new();
    for ObjectItem { key, value } in items {
        let ExprKind::Variable(Ident { name, .. }) = &key.kind else {
            return Err(invalid(key.span, "The names of attributes are written without quotes or brackets."));
        };
        if ty.attributes.contains_key(name) {
            return Err(invalid(key.span, format!("The attribute `{name}` is declared twice.")));
        }
        let attribute = match &value.kind {
            ExprKind::Call(call) if &*call.name.name == "optional" => {
                ty.optional.insert(name.clone());
                let (attribute, default) = optional(call)?;
                values.extend(default.map(|default| (name.clone(), default)));
                attribute
            }
            _ => parse(value)?,
        };
        ty.attributes.insert(name.clone(), attribute.ty);
        if !attribute.defaults.is_empty() {
            inner.insert(name.clone(), attribute.defaults);
        }
    }
    let inner = if inner.is_empty() { Inner::None } else { Inner::Attributes(inner) };
    Ok(Constraint { ty: Type::Object(Arc::new(ty)), defaults: Defaults { values, inner } })
}

fn optional(call: &Call) -> Result<(Constraint, Option<Value>), Diagnostic> {
    let (ty, default) = match call.args.as_slice() {
        [ty] if !call.expand_last => (ty, None),
        [ty, default] if !call.expand_last => (ty, Some(default)),
        _ => {
            return Err(invalid(call.name.span, "`optional` takes a type and, if wanted, a default.")
                .help("write `optional(string)` or `optional(string, \"value\")`"));
        }
    };
    let constraint = parse(ty)?;
    let Some(default) = default else { return Ok((constraint, None)) };
    let value = constant(default)?;
    // The default stays as it is written: the defaults of the attribute's own type are filled in with each use.
    if let Err(error) = convert(&value, &constraint.ty) {
        let detail = format!("The default of an optional attribute must fit its type: {error}.");
        return Err(Diagnostic::error(default.span, "invalid default", detail));
    }
    Ok((constraint, Some(value)))
}

/// The value of an expression that refers to nothing and calls nothing.
fn constant(expr: &Expr) -> Result<Value, Diagnostic> {
    if let Some(name) = calls(expr).first() {
        let detail = "The default of an optional attribute is a constant: it cannot call functions.";
        return Err(Diagnostic::error(name.span, "invalid default", detail));
    }
    if let Some(reference) = references(expr).first() {
        let detail = "The default of an optional attribute is a constant: it cannot refer to anything.";
        return Err(Diagnostic::error(reference.span, "invalid default", detail).help("put text in quotes"));
    }
    evaluate(expr, &Names::default(), &Memory::new()).map_err(|diagnostics| {
        let first = diagnostics.into_iter().next();
        first.unwrap_or_else(|| Diagnostic::error(expr.span, "invalid default", "It has no value."))
    })
}

fn invalid(span: Span, detail: impl Into<String>) -> Diagnostic {
    Diagnostic::error(span, "invalid type", detail)
}

fn unknown_type(name: &Ident) -> Diagnostic {
    let diagnostic =
        Diagnostic::error(name.span, "unknown type", format!("There is no type called `{}`.", name.name));
    match nearest(&name.name, TYPES) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic.help(format!("the types are `{}`", TYPES.join("`, `"))),
    }
}

#[cfg(test)]
mod tests {
    use fleet_syntax::FileId;
    use fleet_syntax::parse::parse_expression;

    use super::*;
    use crate::print;

    fn expression(text: &str) -> Expr {
        let (expr, diagnostics) = parse_expression(FileId(0), text);
        assert_eq!(diagnostics, [], "{text}");
        expr
    }

    fn constraint(text: &str) -> Constraint {
        parse_constraint(&expression(text)).unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    /// What a value becomes, printed on one line, or why it does not fit.
    fn apply(ty: &str, value: &str) -> String {
        let value = evaluate(&expression(value), &Names::default(), &Memory::new()).unwrap();
        match constraint(ty).apply(&value) {
            Ok(value) => print(&value).split_whitespace().collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn types_are_written_as_they_are_read() {
        for text in [
            "any",
            "list(string)",
            "set(any)",
            "map(list(bool))",
            "tuple([])",
            "tuple([string, number])",
            "object({})",
            "object({a=number, b=optional(list(any))})",
        ] {
            assert_eq!(constraint(text).ty.to_string(), text);
        }
        assert_eq!(constraint("list").ty, Type::list(Type::Any));
        assert_eq!(constraint("map").ty, Type::map(Type::Any));
    }

    #[test]
    fn what_is_no_type() {
        let table = [
            ("\"string\"", "A type is written without quotes."),
            ("strin", "There is no type called `strin`."),
            ("strin(any)", "There is no type called `strin`."),
            (
                "(string)",
                "A type is one of `string`, `number`, `bool` and `any`, or built from them as in `list(string)`.",
            ),
            ("set", "`set` needs the type of its elements."),
            ("list(list)", "`list` needs the type of its elements."),
            ("list(string, number)", "`list` takes one argument, the type of its elements."),
            ("string(any)", "`string` takes no arguments."),
            ("tuple(string)", "`tuple` takes the types of its elements in brackets."),
            ("object([string])", "`object` takes its attributes and their types in braces."),
            ("object({\"a\"=string})", "The names of attributes are written without quotes or brackets."),
            ("object({a=string, a=number})", "The attribute `a` is declared twice."),
            ("optional(string)", "Only attributes of an object type can be optional."),
            ("object({a=optional()})", "`optional` takes a type and, if wanted, a default."),
            (
                "object({a=optional(number, \"x\")})",
                "The default of an optional attribute must fit its type: a number is required, and this text is not one.",
            ),
            (
                "object({a=optional(number, max(1, 2))})",
                "The default of an optional attribute is a constant: it cannot call functions.",
            ),
            (
                "object({a=optional(string, [for x in var.y : x])})",
                "The default of an optional attribute is a constant: it cannot refer to anything.",
            ),
        ];
        for (text, detail) in table {
            let error = parse_constraint(&expression(text)).expect_err(text);
            assert_eq!(error.detail, detail, "{text}");
        }
        let help = parse_constraint(&expression("strin")).unwrap_err().help;
        assert_eq!(help.as_deref(), Some("did you mean `string`?"));
    }

    #[test]
    fn defaults_are_filled_in() {
        let table = [
            ("object({a=optional(number, \"5\")})", "{}", "{ \"a\" = 5 }"),
            ("object({a=optional(number, 1+2)})", "{a=null}", "{ \"a\" = 3 }"),
            ("object({a=optional(any, 5)})", "{a=null}", "{ \"a\" = 5 }"),
            (
                "object({a=number, b=optional(string)})",
                "{a=\"1\", c=3}",
                "{ \"a\" = 1 \"b\" = tostring(null) }",
            ),
            (
                "object({a=optional(list(object({b=optional(string,\"d\")})), [{}])})",
                "{}",
                "{ \"a\" = tolist([ { \"b\" = \"d\" }, ]) }",
            ),
            (
                "list(object({a=optional(number,1)}))",
                "[{}, {a=2}, {a=null, c=1}]",
                "tolist([ { \"a\" = 1 }, { \"a\" = 2 }, { \"a\" = 1 }, ])",
            ),
            ("set(object({a=optional(number,1)}))", "[{}, {a=1}]", "toset([ { \"a\" = 1 }, ])"),
            ("map(object({a=optional(number,1)}))", "{x={}}", "tomap({ \"x\" = { \"a\" = 1 } })"),
            ("tuple([object({a=optional(number,1)}), string])", "[{}, 5]", "[ { \"a\" = 1 }, \"5\", ]"),
            (
                "object({a=optional(object({b=optional(string,\"d\")}))})",
                "{}",
                "{ \"a\" = null /* object */ }",
            ),
            (
                "object({a=optional(object({b=optional(string,\"d\")}), {})})",
                "{a=null}",
                "{ \"a\" = { \"b\" = \"d\" } }",
            ),
            ("list(object({a=optional(number,1)}))", "[]", "tolist([])"),
            ("map(object({a=optional(number,1)}))", "null", "tomap(null) /* of object */"),
        ];
        for (ty, value, expected) in table {
            assert_eq!(apply(ty, value), expected, "{ty} of {value}");
        }
    }

    #[test]
    fn values_that_do_not_fit() {
        let table = [
            (
                "object({a=list(number)})",
                "{a=[1, true]}",
                "attribute `a`: element 1: a number is required, not a bool",
            ),
            ("list(string)", "\"x\"", "a list of string is required, not a string"),
            ("map(any)", "[1]", "a map is required, not a tuple"),
            ("list(any)", "[1, true]", "all elements must have the same type, and these have none in common"),
            ("object({a=string})", "{}", "the attribute `a` is required"),
            (
                "object({a=object({b=number})})",
                "{a={b=\"x\"}}",
                "attribute `a`: attribute `b`: a number is required, and this text is not one",
            ),
            (
                "map(bool)",
                "{x=\"yes\"}",
                "attribute `x`: a bool is required, which as text is \"true\" or \"false\"",
            ),
            ("tuple([string])", "[]", "a tuple of 1 element is required, not of 0"),
        ];
        for (ty, value, expected) in table {
            assert_eq!(apply(ty, value), expected, "{ty} of {value}");
        }
    }
}
