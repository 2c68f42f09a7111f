//! Another parser must find the same in valid texts.

use hcl_edit::expr::{Expression, ObjectKey, TraversalOperator};
use hcl_edit::structure;
use hcl_edit::template::{Directive, Element, Template};
use proptest::prelude::*;

use super::print::{body, print_body};
use super::{FILE, show};
use crate::parse::parse;

/// As [`show::body`] shows it.
fn show_body(body: &structure::Body) -> String {
    let attributes = body.attributes().map(|a| format!("{} = {}", a.key.as_str(), show_expr(&a.value)));
    let blocks = body.blocks().map(|block| {
        let labels: String = block.labels.iter().map(|label| format!(" {:?}", label.as_str())).collect();
        format!("{}{labels} {{ {} }}", block.ident.as_str(), show_body(&block.body))
    });
    attributes.chain(blocks).collect::<Vec<_>>().join("; ")
}

fn show_expr(expr: &Expression) -> String {
    match expr {
        Expression::Null(_) => "null".into(),
        Expression::Bool(value) => value.to_string(),
        // It takes the sign for a part of the number.
        Expression::Number(number) => match number.to_string() {
            text if text.starts_with('-') => format!("({text})"),
            text => text,
        },
        Expression::String(text) => format!("{:?}", text.as_str()),
        Expression::Array(items) => {
            format!("[{}]", items.iter().map(show_expr).collect::<Vec<_>>().join(", "))
        }
        Expression::Object(object) => {
            let items = object.iter().map(|(key, value)| {
                let key = match key {
                    ObjectKey::Ident(name) => name.to_string(),
                    ObjectKey::Expression(key) => show_expr(key),
                };
                format!("{key} = {}", show_expr(value.expr()))
            });
            format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
        }
        Expression::StringTemplate(template) => format!("`{}`", show_parts(template)),
        Expression::HeredocTemplate(heredoc) => match show_parts(&heredoc.template) {
            text if heredoc.template.iter().all(Element::is_literal) => text,
            parts => format!("`{parts}`"),
        },
        Expression::Parenthesis(inner) => format!("P{}", show_expr(inner.inner())),
        Expression::Variable(name) => name.to_string(),
        Expression::Conditional(c) => {
            format!(
                "({} ? {} : {})",
                show_expr(&c.cond_expr),
                show_expr(&c.true_expr),
                show_expr(&c.false_expr)
            )
        }
        Expression::FuncCall(call) => {
            let names = call.name.namespace.iter().chain([&call.name.name]).map(|name| name.as_str());
            let args = call.args.iter().map(show_expr).collect::<Vec<_>>().join(", ");
            let expand = if call.args.expand_final() { "..." } else { "" };
            format!("{}({args}{expand})", names.collect::<Vec<_>>().join("::"))
        }
        Expression::Traversal(path) => {
            let steps = path.operators.iter().map(|step| match step.value() {
                TraversalOperator::AttrSplat(_) => ".*".into(),
                TraversalOperator::FullSplat(_) => "[*]".into(),
                TraversalOperator::GetAttr(name) => format!(".{}", name.as_str()),
                TraversalOperator::Index(key) => format!("[{}]", show_expr(key)),
                TraversalOperator::LegacyIndex(index) => format!("[{}]", index.value()),
            });
            show_expr(&path.expr) + &steps.collect::<String>()
        }
        Expression::UnaryOp(op) => format!("({}{})", op.operator.value(), show_expr(&op.expr)),
        Expression::BinaryOp(op) => {
            format!("({} {} {})", show_expr(&op.lhs_expr), op.operator.value(), show_expr(&op.rhs_expr))
        }
        Expression::ForExpr(expr) => {
            let key_name =
                expr.intro.key_var.as_ref().map_or(String::new(), |name| format!("{}, ", name.as_str()));
            let key = expr.key_expr.as_ref().map_or(String::new(), |key| format!("{} => ", show_expr(key)));
            let condition =
                expr.cond.as_ref().map_or(String::new(), |c| format!(" if {}", show_expr(&c.expr)));
            let group = if expr.grouping { "..." } else { "" };
            let (name, collection) = (expr.intro.value_var.as_str(), show_expr(&expr.intro.collection_expr));
            format!(
                "<for {key_name}{name} in {collection} : {key}{}{group}{condition}>",
                show_expr(&expr.value_expr)
            )
        }
    }
}

fn show_parts(template: &Template) -> String {
    let show = |element: &Element| match element {
        Element::Literal(text) => format!("{:?}", text.as_str()),
        Element::Interpolation(inner) => format!("${{{}}}", show_expr(&inner.expr)),
        Element::Directive(directive) => match &**directive {
            Directive::If(part) => {
                let otherwise =
                    part.else_expr.as_ref().map_or(String::new(), |part| show_parts(&part.template));
                let condition = show_expr(&part.if_expr.cond_expr);
                format!("<if {condition}: {} else {otherwise}>", show_parts(&part.if_expr.template))
            }
            Directive::For(part) => {
                let part = &part.for_expr;
                let key_name =
                    part.key_var.as_ref().map_or(String::new(), |name| format!("{}, ", name.as_str()));
                let (name, collection) = (part.value_var.as_str(), show_expr(&part.collection_expr));
                format!("<for {key_name}{name} in {collection}: {}>", show_parts(&part.template))
            }
        },
    };
    template.iter().map(show).collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn hcl_edit_finds_the_same(body in body()) {
        let text = print_body(&body);
        let (ours, _) = parse(FILE, &text);
        // The text is printed from a tree, so what hcl-edit refuses of it (`(null) = …` after a conditional) is its own limit.
        let theirs: structure::Body = text.parse().map_err(|error| TestCaseError::reject(format!("{error}")))?;
        prop_assert_eq!(show_body(&theirs), show::body(&ours), "{}", text);
    }
}
