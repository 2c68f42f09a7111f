//! `resource`, `data`, `check`, and what they have in common: repetition, life cycle, conditions.

use fleet_lang::references;
use fleet_syntax::Diagnostic;
use fleet_syntax::tree::{Block, ExprKind, Ident};

use super::fields::Fields;
use super::reference;
use super::report::Report;
use crate::config::constant;
use crate::config::model::{Check, Condition, Lifecycle, Mode, Repeat, Resource};

/// Reads a `resource` or `data` block.
pub(super) fn resource(mut block: Block, mode: Mode, report: &mut Report) -> Option<Resource> {
    let [kind, name] = report.labels(&mut block, ["kind", "name"])?;
    report.name(&kind);
    report.name(&name);
    reserved(&kind, report);
    let mut fields = Fields::new(block, report);
    let header = fields.header;
    let repeat = repeat(&mut fields);
    let depends_on = fields.expr("depends_on").map(|e| reference::depends_on(e, fields.report));
    let provider = fields.expr("provider").and_then(|e| reference::provider(&e, fields.report));
    let lifecycle = fields.plain_block("lifecycle").map(|block| lifecycle(block, mode, fields.report));
    provisioners(&mut fields);
    Some(Resource {
        mode,
        kind,
        name,
        body: fields.rest(),
        repeat,
        depends_on: depends_on.unwrap_or_default(),
        provider,
        lifecycle: lifecycle.unwrap_or_default(),
        header,
    })
}

/// Reads a `check` block.
pub(super) fn check(mut block: Block, report: &mut Report) -> Option<Check> {
    let [name] = report.labels(&mut block, ["name"])?;
    report.name(&name);
    let mut fields = Fields::new(block, report);
    let header = fields.header;
    let data = fields.block("data").and_then(|block| {
        let data = resource(block, Mode::Data, fields.report)?;
        if let Some(Repeat::Count(expr) | Repeat::ForEach(expr)) = &data.repeat {
            let detail = "The data of a `check` block is read once.";
            let help = "move the `data` block out of the `check` block to read it several times";
            fields.report.push(Diagnostic::error(expr.span, "repeated data in a check", detail).help(help));
        }
        Some(data)
    });
    let assertions = conditions(&mut fields, "assert");
    if assertions.is_empty() && !fields.is_incomplete() {
        let error =
            Diagnostic::error(header, "check without an assertion", "A `check` block says what should hold.");
        fields
            .report
            .push(error.help("add `assert { condition = …, error_message = … }`, one argument a line"));
    }
    fields.finish();
    Some(Check { name, data, assertions, header })
}

/// Takes `count` or `for_each`.
pub(super) fn repeat(fields: &mut Fields<'_>) -> Option<Repeat> {
    match (fields.attribute("count"), fields.attribute("for_each")) {
        (Some(count), Some(for_each)) => {
            let detail = "Only one of the two can say how many instances there are.";
            let help = "remove one of them";
            let error = Diagnostic::error(for_each.name.span, "both `count` and `for_each`", detail);
            fields.report.push(error.help(help));
            Some(Repeat::Count(count.value))
        }
        (Some(count), None) => Some(Repeat::Count(count.value)),
        (None, Some(for_each)) => Some(Repeat::ForEach(for_each.value)),
        (None, None) => None,
    }
}

/// Takes all blocks that hold a condition and what to say when it does not hold.
pub(super) fn conditions(fields: &mut Fields<'_>, kind: &'static str) -> Vec<Condition> {
    fields.blocks(kind).into_iter().map(|block| condition(block, fields.report)).collect()
}

fn condition(mut block: Block, report: &mut Report) -> Condition {
    report.labels(&mut block, []);
    let mut fields = Fields::new(block, report);
    let condition = fields.required("condition");
    if !matches!(condition.kind, ExprKind::Invalid) && references(&condition).is_empty() {
        let detail = "It refers to nothing, so that it always has the same outcome.";
        let error = Diagnostic::error(condition.span, "condition without a reference", detail);
        fields.report.push(error.help("refer to what is to be checked"));
    }
    let error_message = fields.required("error_message");
    let header = fields.header;
    fields.finish();
    Condition { condition, error_message, header }
}

fn lifecycle(block: Block, mode: Mode, report: &mut Report) -> Lifecycle {
    let mut fields = Fields::new(block, report);
    let mut lifecycle = Lifecycle {
        preconditions: conditions(&mut fields, "precondition"),
        postconditions: conditions(&mut fields, "postcondition"),
        ..Lifecycle::default()
    };
    if mode == Mode::Data {
        for name in ["create_before_destroy", "prevent_destroy", "ignore_changes", "replace_triggered_by"] {
            if let Some(attribute) = fields.attribute(name) {
                let error =
                    Diagnostic::error(attribute.name.span, format!("`{name}` on data"), "Data is only read.");
                fields
                    .report
                    .push(error.help("remove it; a `data` block takes `precondition` and `postcondition`"));
            }
        }
        fields.finish();
        return lifecycle;
    }
    lifecycle.create_before_destroy = fields.truth("create_before_destroy");
    if let Some(prevent) = fields.attribute("prevent_destroy") {
        let set = constant::truth(&prevent.value, &mut fields.report.diagnostics).unwrap_or(true);
        lifecycle.prevent_destroy = set.then_some(prevent.span);
    }
    if let Some(expr) = fields.expr("ignore_changes") {
        lifecycle.ignore_changes = reference::ignore_changes(expr, fields.report);
    }
    if let Some(expr) = fields.expr("replace_triggered_by") {
        lifecycle.replace_triggered_by = reference::replace_triggered_by(expr, fields.report);
    }
    fields.finish();
    lifecycle
}

/// Terraform's way to run commands on a host, which no kind here has.
fn provisioners(fields: &mut Fields<'_>) {
    for block in fields.stray_blocks("provisioner") {
        let detail = "Commands that run once cannot be observed, compared or planned.";
        let help = "describe the state the host should be in with resources in a `fleet` block";
        fields.report.push(Diagnostic::error(block.header, "unknown block `provisioner`", detail).help(help));
    }
}

/// A kind with such a name could not be referred to.
fn reserved(kind: &Ident, report: &mut Report) {
    if reference::OTHER_ROOTS.contains(&&*kind.name) {
        let detail = format!("In an expression `{}` means something else.", kind.name);
        let error = Diagnostic::error(kind.span, format!("`{}` is not a kind", kind.name), detail);
        report.push(error.help("use the name of a kind, such as `core_value`"));
    }
}
