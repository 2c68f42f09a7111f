//! Random trees, their texts, and the law that reading a text gives back its tree.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{FILE, errors, show};
use crate::Span;
use crate::parse::parse;
use crate::tree::{
    Attribute, Binary, BinaryOp, Block, Body, Call, Conditional, Expr, ExprKind, For, Ident, ObjectItem,
    Path, Step, TemplateFor, TemplateIf, TemplatePart, UnaryOp,
};

const SPAN: Span = Span { file: FILE, start: 0, end: 0 };
const NAMES: [&str; 9] = ["a", "b_1", "c-d", "é", "in", "if", "x0", "_", "endif"];
const NUMBERS: [&str; 6] = ["3", "7", "12", "1.5", "100", "0.25"];
const TEXTS: [&str; 14] =
    ["", "a", "é 日本", "\"q\"", "\\", "line\nline\n", "\t", "$", "${", "%{ if }", "$${", "a%", "}", "EOT\n"];
const OPERATORS: [BinaryOp; 13] = [
    BinaryOp::Or,
    BinaryOp::And,
    BinaryOp::Equal,
    BinaryOp::NotEqual,
    BinaryOp::Less,
    BinaryOp::LessEqual,
    BinaryOp::Greater,
    BinaryOp::GreaterEqual,
    BinaryOp::Add,
    BinaryOp::Subtract,
    BinaryOp::Multiply,
    BinaryOp::Divide,
    BinaryOp::Remainder,
];

fn node(kind: ExprKind) -> Expr {
    Expr { kind, span: SPAN }
}

fn ident(name: &str) -> Ident {
    Ident { name: name.into(), span: SPAN }
}

fn name() -> impl Strategy<Value = Ident> {
    select(&NAMES[..]).prop_map(ident)
}

/// Puts an expression in parentheses unless it binds at least that tightly.
fn bound(expr: Expr, least: u8) -> Expr {
    let binding = match &expr.kind {
        ExprKind::Conditional(_) => 0,
        ExprKind::Binary(binary) => binding(binary.op),
        ExprKind::Unary(..) => 7,
        // Steps after a path would be steps of that path, and after a number part of it.
        ExprKind::Path(_) | ExprKind::Number(_) => 8,
        _ => 9,
    };
    if binding >= least { expr } else { node(ExprKind::Parens(Box::new(expr))) }
}

fn binding(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 1,
        BinaryOp::And => 2,
        BinaryOp::Equal | BinaryOp::NotEqual => 3,
        BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => 4,
        BinaryOp::Add | BinaryOp::Subtract => 5,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => 6,
    }
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        Just(node(ExprKind::Null)),
        any::<bool>().prop_map(|value| node(ExprKind::Bool(value))),
        select(&NUMBERS[..]).prop_map(|text| node(ExprKind::Number(text.into()))),
        select(&TEXTS[..]).prop_map(|text| node(ExprKind::String(text.into()))),
        name().prop_map(|name| node(ExprKind::Variable(name))),
    ]
}

pub(super) fn expr() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(4, 40, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| node(ExprKind::Tuple(items))),
            vec((key(inner.clone()), inner.clone()), 0..4)
                .prop_map(|items| node(ExprKind::Object(unique(items)))),
            (select(&["f", "core::upper", "null"][..]), vec(inner.clone(), 0..3), any::<bool>()).prop_map(
                |(name, args, expand)| {
                    let expand_last = expand && !args.is_empty();
                    node(ExprKind::Call(Box::new(Call { name: ident(name), args, expand_last, close: SPAN })))
                }
            ),
            (
                option::of(name()),
                name(),
                inner.clone(),
                option::of(inner.clone()),
                inner.clone(),
                any::<bool>(),
                option::of(inner.clone())
            )
                .prop_map(|(key_name, value_name, collection, key, value, group, condition)| {
                    let group = group && key.is_some();
                    node(ExprKind::For(Box::new(For {
                        key_name,
                        value_name,
                        collection,
                        key,
                        value,
                        group,
                        condition,
                    })))
                }),
            (select(&[UnaryOp::Not, UnaryOp::Negate][..]), inner.clone())
                .prop_map(|(op, operand)| node(ExprKind::Unary(op, Box::new(bound(operand, 7))))),
            (inner.clone(), select(&OPERATORS[..]), inner.clone()).prop_map(|(left, op, right)| {
                let (left, right) = (bound(left, binding(op)), bound(right, binding(op) + 1));
                node(ExprKind::Binary(Box::new(Binary { left, op, op_span: SPAN, right })))
            }),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(condition, then, otherwise)| {
                node(ExprKind::Conditional(Box::new(Conditional {
                    condition: bound(condition, 1),
                    then,
                    otherwise,
                })))
            }),
            boxed.prop_map(|inner| node(ExprKind::Parens(inner))),
            (inner.clone(), vec(step(inner.clone()), 1..4)).prop_map(|(base, steps)| {
                node(ExprKind::Path(Box::new(Path { base: bound(base, 9), steps: lone_splats(steps) })))
            }),
            vec(part(inner), 1..4).prop_filter_map("not a plain string", template),
        ]
    })
}

fn key(inner: impl Strategy<Value = Expr>) -> impl Strategy<Value = Expr> {
    prop_oneof![
        name().prop_map(|name| node(ExprKind::Variable(name))),
        select(&TEXTS[..]).prop_map(|text| node(ExprKind::String(text.into()))),
        inner.prop_map(|inner| node(ExprKind::Parens(Box::new(inner)))),
    ]
}

/// Items with keys that differ: not all readers keep repeated ones.
fn unique(items: Vec<(Expr, Expr)>) -> Vec<ObjectItem> {
    let mut seen = std::collections::HashSet::new();
    let items = items.into_iter().filter(|(key, _)| seen.insert(show::expr(key)));
    items.map(|(key, value)| ObjectItem { key, value }).collect()
}

fn step(inner: impl Strategy<Value = Expr>) -> impl Strategy<Value = Step> {
    prop_oneof![
        name().prop_map(Step::Attr),
        inner.prop_map(|key| Step::Index(key, SPAN)),
        Just(Step::AttrSplat(SPAN)),
        Just(Step::FullSplat(SPAN)),
    ]
}

/// Without a `.*` inside of another.
fn lone_splats(mut steps: Vec<Step>) -> Vec<Step> {
    let mut inside = false;
    steps.retain(|step| match step {
        Step::Attr(_) => true,
        Step::AttrSplat(_) => !std::mem::replace(&mut inside, true),
        _ => {
            inside = false;
            true
        }
    });
    steps
}

fn part(inner: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = TemplatePart> {
    // The parser to compare with forgets escapes inside of directives.
    let plain = || select(&["a", "é 日本", "}"][..]).prop_map(|text| TemplatePart::Literal(text.into()));
    let body = move || vec(plain(), 0..2);
    prop_oneof![
        select(&TEXTS[1..]).prop_map(|text| TemplatePart::Literal(text.into())),
        inner.clone().prop_map(TemplatePart::Interpolation),
        (inner.clone(), body(), body()).prop_map(|(condition, then, otherwise)| {
            TemplatePart::If(Box::new(TemplateIf { condition, then, otherwise, span: SPAN }))
        }),
        (option::of(name()), name(), inner, body()).prop_map(|(key_name, value_name, collection, body)| {
            TemplatePart::For(Box::new(TemplateFor { key_name, value_name, collection, body, span: SPAN }))
        }),
    ]
}

/// A template of these parts, if they are one: literals next to each other would be one literal.
fn template(parts: Vec<TemplatePart>) -> Option<Expr> {
    let literal = |part: &TemplatePart| matches!(part, TemplatePart::Literal(_));
    let plain = parts.windows(2).any(|pair| pair.iter().all(literal)) || parts.iter().all(literal);
    (!plain).then(|| node(ExprKind::Template(parts.into())))
}

pub(super) fn body() -> impl Strategy<Value = Body> {
    let attributes = || {
        vec((name(), expr()), 0..4).prop_map(|attributes| {
            let mut seen = std::collections::HashSet::new();
            let attributes = attributes.into_iter().filter(|(name, _)| seen.insert(name.name.clone()));
            attributes.map(|(name, value)| Attribute { name, value, span: SPAN }).collect::<Vec<_>>()
        })
    };
    let leaf = attributes().prop_map(|attributes| Body {
        attributes,
        blocks: Vec::new(),
        span: SPAN,
        incomplete: false,
    });
    leaf.prop_recursive(2, 6, 3, move |inner| {
        let label = prop_oneof![select(&NAMES[..]), select(&TEXTS[..])].prop_map(ident);
        let block = (name(), vec(label, 0..3), inner).prop_map(|(kind, labels, body)| Block {
            kind,
            labels,
            body,
            header: SPAN,
        });
        (attributes(), vec(block, 0..3)).prop_map(|(attributes, blocks)| Body {
            attributes,
            blocks,
            span: SPAN,
            incomplete: false,
        })
    })
}

/// The text of a body.
pub(super) fn print_body(body: &Body) -> String {
    let attributes = body.attributes.iter().map(|a| match &a.value.kind {
        ExprKind::String(text) if text.ends_with('\n') && !text.contains("EOT") => {
            format!("{} = <<EOT\n{}EOT\n", a.name.name, text.replace("${", "$${"))
        }
        _ => format!("{} = {} # c\n", a.name.name, print(&a.value)),
    });
    let blocks = body.blocks.iter().map(|block| {
        let labels: String = block.labels.iter().map(|label| format!(" {}", quote(&label.name))).collect();
        format!("{}{labels} {{\n{}}}\n\n", block.kind.name, print_body(&block.body))
    });
    attributes.chain(blocks).collect()
}

pub(super) fn print(expr: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(print).collect::<Vec<_>>().join(",\n");
    let names = |key: &Option<Ident>, value: &Ident| match key {
        Some(key) => format!("{}, {}", key.name, value.name),
        None => value.name.to_string(),
    };
    match &expr.kind {
        ExprKind::Null => "null".into(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Number(text) => text.to_string(),
        ExprKind::String(text) => quote(text),
        ExprKind::Template(parts) => format!("\"{}\"", parts.iter().map(print_part).collect::<String>()),
        ExprKind::Variable(name) => name.name.to_string(),
        ExprKind::Path(path) => print(&path.base) + &path.steps.iter().map(print_step).collect::<String>(),
        ExprKind::Call(call) => {
            format!("{}({}{})", call.name.name, list(&call.args), if call.expand_last { "..." } else { "" })
        }
        ExprKind::Tuple(items) => format!("[{}]", list(items)),
        ExprKind::Object(items) => {
            let separator = if items.len() % 2 == 0 { "\n" } else { ", " };
            let items =
                items.iter().map(|item| format!("{} = {}{separator}", print(&item.key), print(&item.value)));
            format!("{{{}}}", items.collect::<String>())
        }
        ExprKind::For(expr) => {
            let (open, close) = if expr.key.is_some() { ("{", "}") } else { ("[", "]") };
            let key = expr.key.as_ref().map_or(String::new(), |key| format!("{} => ", print(key)));
            let condition = expr.condition.as_ref().map_or(String::new(), |c| format!(" if {}", print(c)));
            let (names, collection) = (names(&expr.key_name, &expr.value_name), print(&expr.collection));
            let group = if expr.group { "..." } else { "" };
            format!(
                "{open}for {names} in {collection} :\n{key}{}{group}{condition}\n{close}",
                print(&expr.value)
            )
        }
        ExprKind::Unary(UnaryOp::Not, operand) => format!("!{}", print(operand)),
        ExprKind::Unary(UnaryOp::Negate, operand) => format!("-{}", print(operand)),
        ExprKind::Binary(b) => format!("{} {} {}", print(&b.left), show::operator(b.op), print(&b.right)),
        ExprKind::Conditional(c) => {
            format!("{} ? {} : {}", print(&c.condition), print(&c.then), print(&c.otherwise))
        }
        ExprKind::Parens(inner) => format!("({})", print(inner)),
        ExprKind::Invalid => unreachable!("no text stands for it"),
    }
}

fn print_step(step: &Step) -> String {
    match step {
        Step::Attr(name) => format!(".{}", name.name),
        Step::Index(key, _) => format!("[{}]", print(key)),
        Step::AttrSplat(_) => ".*".into(),
        Step::FullSplat(_) => "[*]".into(),
    }
}

fn print_part(part: &TemplatePart) -> String {
    let all = |parts: &[TemplatePart]| parts.iter().map(print_part).collect::<String>();
    match part {
        TemplatePart::Literal(text) => escape(text),
        TemplatePart::Interpolation(expr) => format!("${{ {} }}", print(expr)),
        TemplatePart::If(part) => {
            let otherwise = match &part.otherwise[..] {
                [] => String::new(),
                parts => format!("%{{ else }}{}", all(parts)),
            };
            format!("%{{ if {} }}{}{otherwise}%{{ endif }}", print(&part.condition), all(&part.then))
        }
        TemplatePart::For(part) => {
            let key = part.key_name.as_ref().map_or(String::new(), |key| format!("{}, ", key.name));
            let (value, collection) = (&part.value_name.name, print(&part.collection));
            format!("%{{ for {key}{value} in {collection} }}{}%{{ endfor }}", all(&part.body))
        }
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    let text = text.replace("${", "$${").replace("%{", "%%{");
    // A sign before a template would make an escape of it.
    match text.strip_suffix(['$', '%']) {
        Some(rest) => format!("{rest}\\u00{:x}", u32::from(text.as_bytes()[text.len() - 1])),
        None => text,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn reading_a_printed_tree_gives_that_tree(body in body()) {
        let text = print_body(&body);
        let (read, diagnostics) = parse(FILE, &text);
        prop_assert_eq!(errors(&text, &diagnostics), [""; 0], "{}", text);
        prop_assert_eq!(show::body(&read), show::body(&body), "{}", text);
    }
}
