//! The function table. One entry holds everything about a function: its signature, its manual and its code.
//!
//! Each group of functions is a file with a constant `TABLE`; [`function`] finds an entry by name, [`all`] walks them.
//! What happens around a body (arity, conversion, nulls, unknowns, marks) is [`crate::eval`]'s, once for all
//! functions; [`args`] reads what then reaches a body.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use fleet_syntax::tree::Call;
use fleet_syntax::{Span, nearest};

use crate::{Evaluator, Outside, Type, Value};

pub mod args;
mod attempt;
mod collection;
mod conversion;
mod crypto;
mod date_time;
mod encoding;
mod filesystem;
mod ip_network;
mod numeric;
mod set;
mod string;
mod template;

/// A function of the language.
#[derive(Debug)]
pub struct Function {
    /// The name; every function also answers to `core::name`.
    pub name: &'static str,
    /// The heading it stands under in the reference.
    pub group: Group,
    /// What it does, in Markdown; the first sentence is the summary.
    pub doc: &'static str,
    /// An expression and the value it prints, shown in the reference and checked by a test.
    pub examples: &'static [(&'static str, &'static str)],
    /// The parameters, all required.
    pub params: &'static [Param],
    /// The parameter that takes any number of further arguments.
    pub variadic: Option<Param>,
    /// The type of the result.
    pub returns: Returns,
    /// What it does.
    pub body: Body,
}

/// The headings of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Group {
    Numeric,
    String,
    Collection,
    Encoding,
    Filesystem,
    DateTime,
    HashCrypto,
    IpNetwork,
    TypeConversion,
}

/// A parameter. The evaluator converts, refuses null, passes unknowns by and carries marks over before the body runs,
/// except where a parameter says that the body wants to see them itself.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name in the reference and in errors.
    pub name: &'static str,
    /// Arguments are converted to it.
    pub ty: ParamType,
    /// The body takes null.
    pub null: bool,
    /// The body takes values that are unknown as a whole. (Collections with unknown elements always reach it, unless
    /// `wholly_known` is set.)
    pub unknown: bool,
    /// The body takes values whose type is not known: unknowns of type any, and a bare `null` if it takes null at
    /// all. Otherwise such an argument makes the result an unknown of type any.
    pub untyped: bool,
    /// The body wants every element known: an unknown anywhere in the argument makes the result unknown.
    pub wholly_known: bool,
    /// The body takes marked values; otherwise marks are taken off, deeply, and put on the result.
    pub marked: bool,
}

/// The type of a parameter, in a form that fits a constant.
#[derive(Clone, Copy, Debug)]
pub enum ParamType {
    /// Any type; the body checks.
    Any,
    /// `bool`
    Bool,
    /// `number`
    Number,
    /// `string`
    String,
    /// `list(…)`
    List(&'static ParamType),
    /// `set(…)`
    Set(&'static ParamType),
    /// `map(…)`
    Map(&'static ParamType),
}

/// The type of a result, needed when an argument is unknown.
#[derive(Clone, Copy, Debug)]
pub enum Returns {
    /// Always this type, never null.
    Always(ParamType),
    /// Depends on the arguments, which are converted and, unless their parameter takes marks, unmarked, and some of
    /// which are unknown.
    Depends(fn(&[Value]) -> Result<Type, CallError>),
}

/// The code of a function.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Only the arguments count.
    Pure(fn(&[Value]) -> Result<Value, CallError>),
    /// Files, time or chance count too.
    Outside(fn(&dyn Outside, &[Value]) -> Result<Value, CallError>),
    /// Gets the call unevaluated: `try`, `can`, `templatefile`, `templatestring`. The span covers the whole call.
    Special(fn(&mut Evaluator<'_>, &Function, &Call, Span) -> Value),
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The argument to blame, counted from 0.
    pub arg: Option<usize>,
    /// What is wrong, as a sentence without capital or full stop.
    pub message: String,
}

/// One constant table a group file.
const TABLES: &[&[Function]] = &[
    numeric::TABLE,
    string::TABLE,
    collection::sequence::TABLE,
    collection::shape::TABLE,
    collection::search::TABLE,
    collection::map::TABLE,
    set::TABLE,
    encoding::TABLE,
    filesystem::TABLE,
    template::TABLE,
    date_time::TABLE,
    crypto::TABLE,
    ip_network::TABLE,
    conversion::TABLE,
    attempt::TABLE,
];

/// The prefix under which every function answers too.
const CORE: &str = "core::";

/// The function of that name, with or without `core::`.
#[must_use]
pub fn function(name: &str) -> Option<&'static Function> {
    static BY_NAME: LazyLock<HashMap<&str, &Function>> =
        LazyLock::new(|| all().map(|f| (f.name, f)).collect());
    BY_NAME.get(name.strip_prefix(CORE).unwrap_or(name)).copied()
}

/// All functions, group by group.
pub fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The function that somebody who wrote `name` may have meant.
#[must_use]
pub fn suggestion(name: &str) -> Option<&'static str> {
    nearest(name.strip_prefix(CORE).unwrap_or(name), all().map(|f| f.name))
}

impl Param {
    /// A parameter whose body sees neither nulls nor unknowns nor marks.
    #[must_use]
    pub const fn new(name: &'static str, ty: ParamType) -> Param {
        Param { name, ty, null: false, unknown: false, untyped: false, wholly_known: false, marked: false }
    }

    /// The body takes null.
    #[must_use]
    pub const fn null(self) -> Param {
        Param { null: true, ..self }
    }

    /// The body takes values that are unknown as a whole.
    #[must_use]
    pub const fn unknown(self) -> Param {
        Param { unknown: true, ..self }
    }

    /// The body takes values whose type is not known.
    #[must_use]
    pub const fn untyped(self) -> Param {
        Param { untyped: true, ..self }
    }

    /// The body wants every element known.
    #[must_use]
    pub const fn wholly_known(self) -> Param {
        Param { wholly_known: true, ..self }
    }

    /// The body takes marked values.
    #[must_use]
    pub const fn marked(self) -> Param {
        Param { marked: true, ..self }
    }
}

impl ParamType {
    /// The type as values have it.
    #[must_use]
    pub fn to_type(self) -> Type {
        match self {
            ParamType::Any => Type::Any,
            ParamType::Bool => Type::Bool,
            ParamType::Number => Type::Number,
            ParamType::String => Type::String,
            ParamType::List(element) => Type::list(element.to_type()),
            ParamType::Set(element) => Type::set(element.to_type()),
            ParamType::Map(element) => Type::map(element.to_type()),
        }
    }
}

impl CallError {
    /// The call as a whole fails.
    pub fn new(message: impl Into<String>) -> CallError {
        CallError { arg: None, message: message.into() }
    }

    /// One argument, counted from 0, is to blame.
    pub fn arg(index: usize, message: impl Into<String>) -> CallError {
        CallError { arg: Some(index), message: message.into() }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_with_and_without_namespace() {
        for f in all() {
            assert!(
                std::ptr::eq(function(f.name).expect("listed"), f),
                "{} stands twice in the tables",
                f.name
            );
            assert!(function(&format!("core::{}", f.name)).is_some(), "core::{}", f.name);
        }
        assert!(function("no_such_function").is_none());
    }

    #[test]
    fn every_function_has_a_manual() {
        for f in all() {
            assert!(f.doc.trim_end().ends_with('.'), "the manual of {} has no sentence", f.name);
            assert!(!f.examples.is_empty(), "{} has no example", f.name);
        }
    }
}
