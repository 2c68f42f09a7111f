//! Trees as short text.

use crate::tree::{BinaryOp, Body, Expr, ExprKind, Step, TemplatePart, UnaryOp};

pub(super) fn body(body: &Body) -> String {
    let attributes = body.attributes.iter().map(|a| format!("{} = {}", a.name.name, expr(&a.value)));
    let blocks = body.blocks.iter().map(|block| {
        let labels: String = block.labels.iter().map(|label| format!(" {:?}", label.name)).collect();
        format!("{}{labels} {{ {} }}", block.kind.name, self::body(&block.body))
    });
    attributes.chain(blocks).collect::<Vec<_>>().join("; ")
}

/// Every operator in parentheses, every form with its own brackets.
pub(super) fn expr(expr: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(self::expr).collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ExprKind::Null => "null".into(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Number(text) => text.to_string(),
        ExprKind::String(text) => format!("{text:?}"),
        ExprKind::Template(items) => format!("`{}`", parts(items)),
        ExprKind::Variable(name) => name.name.to_string(),
        ExprKind::Path(path) => self::expr(&path.base) + &path.steps.iter().map(step).collect::<String>(),
        ExprKind::Call(call) => {
            format!("{}({}{})", call.name.name, list(&call.args), if call.expand_last { "..." } else { "" })
        }
        ExprKind::Tuple(items) => format!("[{}]", list(items)),
        ExprKind::Object(items) => {
            let items =
                items.iter().map(|item| format!("{} = {}", self::expr(&item.key), self::expr(&item.value)));
            format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
        }
        ExprKind::For(expr) => {
            let key_name = expr.key_name.as_ref().map_or(String::new(), |name| format!("{}, ", name.name));
            let key = expr.key.as_ref().map_or(String::new(), |key| format!("{} => ", self::expr(key)));
            let condition =
                expr.condition.as_ref().map_or(String::new(), |c| format!(" if {}", self::expr(c)));
            let group = if expr.group { "..." } else { "" };
            let (name, collection) = (&expr.value_name.name, self::expr(&expr.collection));
            format!(
                "<for {key_name}{name} in {collection} : {key}{}{group}{condition}>",
                self::expr(&expr.value)
            )
        }
        ExprKind::Unary(UnaryOp::Not, operand) => format!("(!{})", self::expr(operand)),
        ExprKind::Unary(UnaryOp::Negate, operand) => format!("(-{})", self::expr(operand)),
        ExprKind::Binary(binary) => {
            format!("({} {} {})", self::expr(&binary.left), operator(binary.op), self::expr(&binary.right))
        }
        ExprKind::Conditional(c) => {
            format!("({} ? {} : {})", self::expr(&c.condition), self::expr(&c.then), self::expr(&c.otherwise))
        }
        ExprKind::Parens(inner) => format!("P{}", self::expr(inner)),
        ExprKind::Invalid => "INVALID".into(),
    }
}

pub(super) fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "||",
        BinaryOp::And => "&&",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
    }
}

fn step(step: &Step) -> String {
    match step {
        Step::Attr(name) => format!(".{}", name.name),
        Step::Index(key, _) => format!("[{}]", expr(key)),
        Step::AttrSplat(_) => ".*".into(),
        Step::FullSplat(_) => "[*]".into(),
    }
}

fn parts(items: &[TemplatePart]) -> String {
    let show = |part: &TemplatePart| match part {
        TemplatePart::Literal(text) => format!("{text:?}"),
        TemplatePart::Interpolation(inner) => format!("${{{}}}", expr(inner)),
        TemplatePart::If(part) => {
            format!("<if {}: {} else {}>", expr(&part.condition), parts(&part.then), parts(&part.otherwise))
        }
        TemplatePart::For(part) => {
            let key_name = part.key_name.as_ref().map_or(String::new(), |name| format!("{}, ", name.name));
            let (name, collection) = (&part.value_name.name, expr(&part.collection));
            format!("<for {key_name}{name} in {collection}: {}>", parts(&part.body))
        }
    };
    items.iter().map(show).collect::<Vec<_>>().join(" ")
}
