//! The function table. One entry holds everything about a function: its signature, its manual and its code.

use crate::{Evaluator, Outside, Type, Value};

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

/// A parameter. The engine converts, refuses null, passes unknowns by and carries marks over before the body runs,
/// except where a parameter says that the body wants to see them itself.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name in the reference and in errors.
    pub name: &'static str,
    /// Arguments are converted to it.
    pub ty: ParamType,
    /// The body takes null.
    pub null: bool,
    /// The body takes values that are unknown as a whole. (Collections with unknown elements always reach it.)
    pub unknown: bool,
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
    /// Depends on the arguments, some of which may be unknown.
    Depends(fn(&[Value]) -> Result<Type, CallError>),
}

/// The code of a function.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Only the arguments count.
    Pure(fn(&[Value]) -> Result<Value, CallError>),
    /// Files, time or chance count too.
    Outside(fn(&dyn Outside, &[Value]) -> Result<Value, CallError>),
    /// Gets the call unevaluated: `try`, `can`, `templatefile`, `templatestring`.
    Special(fn(&mut Evaluator<'_>, &fleet_syntax::tree::Call, fleet_syntax::Span) -> Value),
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The argument to blame, counted from 0.
    pub arg: Option<usize>,
    /// What is wrong, as a sentence without capital or full stop.
    pub message: String,
}
