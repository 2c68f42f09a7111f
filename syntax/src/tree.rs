//! What a text means: bodies of attributes and blocks, and expressions. Every node carries its span.
//!
//! String contents are already unescaped and NFC-normalised, template trim markers are already applied and flush
//! heredocs are already dedented, so that readers of the tree need no lexical knowledge.

use std::sync::Arc;

use crate::Span;

/// The content of a file or of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// `name = value` lines in source order; names are unique (repeats are reported and dropped).
    pub attributes: Vec<Attribute>,
    /// Blocks in source order.
    pub blocks: Vec<Block>,
    /// All of it, without the braces.
    pub span: Span,
    /// Whether something that stands directly in it could not be parsed, so that what seems to be missing may well
    /// have been written. The error was reported already.
    pub incomplete: bool,
}

/// `name = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub name: Ident,
    /// The value.
    pub value: Expr,
    /// From the name to the end of the value.
    pub span: Span,
}

/// `kind "label" { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The word it starts with.
    pub kind: Ident,
    /// Quoted or bare labels.
    pub labels: Vec<Ident>,
    /// What stands between the braces.
    pub body: Body,
    /// Kind and labels, without the brace: what to underline when the block as a whole is meant.
    pub header: Span,
}

/// A name with its place. The span of a quoted label includes its quotes.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// The name itself.
    pub name: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands. Of a parenthesised expression: with the parentheses.
    pub span: Span,
}

/// The forms of expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as written, to be read at full precision.
    Number(Arc<str>),
    /// A quoted string or heredoc without interpolation.
    String(Arc<str>),
    /// A quoted string or heredoc with interpolation or directives.
    Template(Arc<[TemplatePart]>),
    /// `name` alone, or the start of a path.
    Variable(Ident),
    /// `base` followed by `.attr`, `[index]`, `.*` or `[*]`: at least one step.
    Path(Box<Path>),
    /// `name(args…)`
    Call(Box<Call>),
    /// `[a, b]`
    Tuple(Vec<Expr>),
    /// `{ key = value }`
    Object(Vec<ObjectItem>),
    /// `[for …]` or `{for …}`
    For(Box<For>),
    /// `!a` or `-a`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`
    Binary(Box<Binary>),
    /// `condition ? then : otherwise`
    Conditional(Box<Conditional>),
    /// `(inner)`: kept because `(a).*` and object keys treat parentheses specially.
    Parens(Box<Expr>),
    /// Stands where text could not be parsed; the error was reported already.
    Invalid,
}

/// A base expression and the steps taken from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Where it starts: often an [`ExprKind::Variable`].
    pub base: Expr,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `.name`
    Attr(Ident),
    /// `[key]`, or `.0`: the span covers brackets or dot. Of `.0` the key ends where the step ends.
    Index(Expr, Span),
    /// `.*`: the steps with a dot that follow directly apply to each element, all later ones to the result.
    AttrSplat(Span),
    /// `[*]`: all steps that follow apply to each element.
    FullSplat(Span),
}

/// A function call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name, `core::upper` with its namespace; the span covers all of it.
    pub name: Ident,
    /// The arguments.
    pub args: Vec<Expr>,
    /// Whether the last argument is followed by `...`.
    pub expand_last: bool,
    /// The closing parenthesis: where a missing argument is reported.
    pub close: Span,
}

/// One `key = value` of an object expression.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectItem {
    /// The key. A bare [`ExprKind::Variable`] is a literal key; anything else is evaluated.
    pub key: Expr,
    /// The value.
    pub value: Expr,
}

/// A `for` expression.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The first of two names.
    pub key_name: Option<Ident>,
    /// The only or second name.
    pub value_name: Ident,
    /// What is walked.
    pub collection: Expr,
    /// The key of each element: present in the `{for …}` form only.
    pub key: Option<Expr>,
    /// The value of each element.
    pub value: Expr,
    /// Whether `...` groups values of equal keys.
    pub group: bool,
    /// The `if` clause.
    pub condition: Option<Expr>,
}

/// `left op right`.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// The left operand.
    pub left: Expr,
    /// The operator.
    pub op: BinaryOp,
    /// Where the operator stands.
    pub op_span: Span,
    /// The right operand.
    pub right: Expr,
}

/// `condition ? then : otherwise`.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditional {
    /// What decides.
    pub condition: Expr,
    /// The value if true.
    pub then: Expr,
    /// The value if false.
    pub otherwise: Expr,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `-`
    Negate,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplatePart {
    /// Text as it will appear; empty if all of it was trimmed away, which makes `" ${~ x}"` a string still.
    Literal(Arc<str>),
    /// `${ expr }`
    Interpolation(Expr),
    /// `%{ if }…%{ else }…%{ endif }`
    If(Box<TemplateIf>),
    /// `%{ for }…%{ endfor }`
    For(Box<TemplateFor>),
}

/// The `if` directive.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateIf {
    /// What decides.
    pub condition: Expr,
    /// The parts if true.
    pub then: Vec<TemplatePart>,
    /// The parts if false.
    pub otherwise: Vec<TemplatePart>,
    /// From `%{ if` to the end of `%{ endif }`.
    pub span: Span,
}

/// The `for` directive.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateFor {
    /// The first of two names.
    pub key_name: Option<Ident>,
    /// The only or second name.
    pub value_name: Ident,
    /// What is walked.
    pub collection: Expr,
    /// The parts repeated for each element.
    pub body: Vec<TemplatePart>,
    /// From `%{ for` to the end of `%{ endfor }`.
    pub span: Span,
}

impl Body {
    /// The attribute of that name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| &*a.name.name == name)
    }

    /// The blocks that start with that word.
    pub fn blocks_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(move |b| &*b.kind.name == kind)
    }
}
