//! Type constraints as users write them: `list(string)`, `object({ name = string, port = optional(number, 22) })`.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_syntax::tree::{Call, Expr, ExprKind, Ident, ObjectItem};
use fleet_syntax::{Diagnostic, Span, nearest};

use crate::{ConvertError, Kind, Number, ObjectType, Type, Value, convert};

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
            let mut filled: BTreeMap<_, _> =
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
        if emptied(filled.items().map(<[Value]>::len)) || emptied(filled.entries().map(BTreeMap::len)) {
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
                        "write {}(string), or {}(any) for elements of whatever type",
                        name.name, name.name
                    ),
                ))
            }
            "tuple" => Err(invalid(expr.span, "`tuple` needs the types of its elements.")
                .help("write tuple([string, number])")),
            "object" => Err(invalid(expr.span, "`object` needs its attributes and their types.")
                .help("write object({ name = string })")),
            _ => Err(unknown_type(name)),
        },
        ExprKind::Call(call) => parse_call(call),
        ExprKind::String(text) => Err(invalid(expr.span, "A type is written without quotes.")
            .help(format!("write {text}, or the type that is meant"))),
        _ => Err(invalid(
            expr.span,
            "A type is one of string, number, bool and any, or built from them as in list(string).",
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
                .help("write tuple([string, number])")),
        },
        "object" => match call.args.as_slice() {
            [Expr { kind: ExprKind::Object(items), .. }] if !call.expand_last => object(items),
            _ => Err(invalid(name.span, "`object` takes its attributes and their types in braces.")
                .help("write object({ name = string })")),
        },
        "optional" => Err(invalid(name.span, "Only attributes of an object type can be optional.")
            .help("a variable that may be left out needs a default")),
        primitive @ ("string" | "number" | "bool" | "any") => {
            Err(invalid(name.span, format!("`{primitive}` takes no arguments."))
                .help(format!("write {primitive}")))
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
                .help(format!("write {name}(string), or {name}(any) for elements of whatever type")))
        }
    }
}

fn tuple(elements: &[Expr]) -> Result<Constraint, Diagnostic> {
    let constraints = elements.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let ty = Type::Tuple(constraints.iter().map(|constraint| constraint.ty.clone()).collect());
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
            return Err(invalid(key.span, format!("The attribute \"{name}\" is declared twice.")));
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
                .help("write optional(string) or optional(string, \"value\")"));
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

/// The value of an expression that refers to nothing.
fn constant(expr: &Expr) -> Result<Value, Diagnostic> {
    let value = match &expr.kind {
        ExprKind::Null => Value::null(),
        ExprKind::Bool(value) => Value::from(*value),
        ExprKind::Number(text) => {
            Number::parse(text).map(Value::from).ok_or_else(|| not_constant(expr.span))?
        }
        ExprKind::String(text) => Kind::String(text.clone()).into(),
        ExprKind::Tuple(items) => Value::tuple(items.iter().map(constant).collect::<Result<Vec<_>, _>>()?),
        ExprKind::Object(items) => {
            let mut attributes = BTreeMap::new();
            for ObjectItem { key, value } in items {
                let name = match &key.kind {
                    ExprKind::Variable(Ident { name, .. }) | ExprKind::String(name) => name.clone(),
                    _ => return Err(not_constant(key.span)),
                };
                attributes.insert(name, constant(value)?);
            }
            Value::object(attributes)
        }
        ExprKind::Parens(inner) => constant(inner)?,
        _ => return Err(not_constant(expr.span)),
    };
    Ok(value)
}

fn not_constant(span: Span) -> Diagnostic {
    Diagnostic::error(
        span,
        "default is not constant",
        "The default of an optional attribute cannot refer to anything.",
    )
}

fn invalid(span: Span, detail: impl Into<String>) -> Diagnostic {
    Diagnostic::error(span, "invalid type", detail)
}

fn unknown_type(name: &Ident) -> Diagnostic {
    let diagnostic =
        Diagnostic::error(name.span, "unknown type", format!("There is no type called \"{}\".", name.name));
    match nearest(&name.name, TYPES) {
        Some(near) => diagnostic.help(format!("did you mean {near}?")),
        None => diagnostic.help(format!("the types are {}", TYPES.join(", "))),
    }
}
