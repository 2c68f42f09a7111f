//! Arguments that name something instead of having a value: `depends_on`, `ignore_changes`, `provider`, addresses.

use fleet_syntax::tree::{Expr, ExprKind, Ident, ObjectItem, Step};
use fleet_syntax::{Diagnostic, Span};

use super::report::Report;
use crate::config::model::{AttributePath, IgnoreChanges, PathKey, ProviderRef};

/// The elements of a `depends_on`: references to whole objects.
pub(super) fn depends_on(expr: Expr, report: &mut Report) -> Vec<Expr> {
    let mut references = list(expr, "depends_on", report);
    references.retain(|expr| is_static(expr, report) && is_whole(expr, report));
    references
}

/// The elements of a `replace_triggered_by`: references to resources or their attributes, whose indexes may use
/// `count.index`, `each.key` and `each.value`.
pub(super) fn replace_triggered_by(expr: Expr, report: &mut Report) -> Vec<Expr> {
    let mut references = list(expr, "replace_triggered_by", report);
    references.retain(|expr| {
        let resource = names(expr).is_some_and(|(root, rest)| !OTHER_ROOTS.contains(&&*root.name) && !rest.is_empty());
        if !resource && !matches!(expr.kind, ExprKind::Invalid) {
            let detail = "Only managed resources and their attributes can trigger a replacement.";
            let help = "write a reference such as `core_value.version`; to react to other values, put them into the \
                        `input` of a `core_value` and refer to that";
            report.push(Diagnostic::error(expr.span, "not a resource", detail).help(help));
        }
        resource
    });
    references
}

/// What `ignore_changes` says.
pub(super) fn ignore_changes(expr: Expr, report: &mut Report) -> IgnoreChanges {
    if is_word(&expr, "all") {
        return IgnoreChanges::All;
    }
    let items = list(expr, "ignore_changes", report);
    if let Some(all) = items.iter().find(|item| is_word(item, "all")) {
        let detail = "`all` is not the name of an attribute, and with it the others mean nothing.";
        let help = "write `ignore_changes = all`, without brackets";
        report.push(Diagnostic::error(all.span, "`all` in a list", detail).help(help));
        return IgnoreChanges::All;
    }
    IgnoreChanges::Paths(items.iter().filter_map(|item| attribute_path(item, report)).collect())
}

/// The address in `from` or `to`. Its meaning is left to whoever knows addresses.
pub(super) fn address(expr: Expr, report: &mut Report) -> Expr {
    if is_static(&expr, report) { expr } else { Expr { kind: ExprKind::Invalid, span: expr.span } }
}

/// Which provider configuration: `name` or `name.alias`.
pub(super) fn provider(expr: &Expr, report: &mut Report) -> Option<ProviderRef> {
    if matches!(expr.kind, ExprKind::Invalid) {
        return None;
    }
    let found = match names(expr) {
        Some((name, [])) => Some((name, None)),
        Some((name, [Step::Attr(alias)])) => Some((name, Some(alias.clone()))),
        _ => None,
    };
    let Some((name, alias)) = found else {
        let detail = "A provider configuration is named by its provider, or by its provider and its alias.";
        let help = unquoted(expr).unwrap_or_else(|| "write `name` or `name.alias`, without quotes".into());
        report.push(Diagnostic::error(expr.span, "not a provider configuration", detail).help(help));
        return None;
    };
    Some(ProviderRef { name: name.clone(), alias, span: expr.span })
}

/// The `providers` of a module call: names inside the module with ours.
pub(super) fn providers(expr: &Expr, report: &mut Report) -> Vec<(ProviderRef, ProviderRef)> {
    match &expr.kind {
        ExprKind::Object(items) => items
            .iter()
            .filter_map(|ObjectItem { key, value }| Some((provider(key, report)?, provider(value, report)?)))
            .collect(),
        ExprKind::Invalid => Vec::new(),
        _ => {
            let detail =
                "The names are needed before anything is evaluated, so they must stand here as they are.";
            let help = "write `providers = { name = name.alias }`";
            report.push(Diagnostic::error(expr.span, "`providers` is not written out", detail).help(help));
            Vec::new()
        }
    }
}

/// Names that start a reference to something else than a managed resource.
pub(super) const OTHER_ROOTS: [&str; 13] = [
    "var",
    "local",
    "module",
    "data",
    "each",
    "count",
    "path",
    "self",
    "terraform",
    "host",
    "fleet",
    "pool",
    "secret",
];

/// The items of a list that is written out.
fn list(expr: Expr, argument: &str, report: &mut Report) -> Vec<Expr> {
    match expr.kind {
        ExprKind::Tuple(items) => items,
        ExprKind::Invalid => Vec::new(),
        _ => {
            let detail = "The references are needed before anything is evaluated, so they must stand here as they are.";
            let help = format!("write `{argument} = [ … ]` with the references in it");
            report
                .push(Diagnostic::error(expr.span, format!("`{argument}` is not a list"), detail).help(help));
            Vec::new()
        }
    }
}

fn is_word(expr: &Expr, word: &str) -> bool {
    matches!(&expr.kind, ExprKind::Variable(name) if &*name.name == word)
}

/// The name an expression starts with, and the steps after it.
fn names(expr: &Expr) -> Option<(&Ident, &[Step])> {
    match &expr.kind {
        ExprKind::Variable(name) => Some((name, &[])),
        ExprKind::Path(path) => match &path.base.kind {
            ExprKind::Variable(name) => Some((name, &path.steps)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it is a reference whose indexes are all constant; reports it if not.
fn is_static(expr: &Expr, report: &mut Report) -> bool {
    let found = names(expr).is_some_and(|(_, steps)| {
        steps.iter().all(|step| match step {
            Step::Attr(_) => true,
            Step::Index(key, _) => matches!(key.kind, ExprKind::String(_) | ExprKind::Number(_)),
            Step::AttrSplat(_) | Step::FullSplat(_) => false,
        })
    });
    if !found && !matches!(expr.kind, ExprKind::Invalid) {
        let detail =
            "References are needed here before anything is evaluated: names, dots and constant indexes only.";
        let help =
            unquoted(expr).unwrap_or_else(|| "write the reference itself, such as `core_value.a`".into());
        report.push(Diagnostic::error(expr.span, "not a plain reference", detail).help(help));
    }
    found
}

/// Whether a static reference names an object that can be waited for; reports it if not.
fn is_whole(expr: &Expr, report: &mut Report) -> bool {
    let Some((root, steps)) = names(expr) else { return true };
    let attrs =
        |count: usize| steps.get(..count).is_some_and(|s| s.iter().all(|s| matches!(s, Step::Attr(_))));
    let after = |count: usize| match steps.get(count) {
        Some(Step::Index(..)) => &steps[count + 1..],
        _ => steps.get(count..).unwrap_or_default(),
    };
    let (needed, rest): (usize, &[Step]) = match &*root.name {
        "var" | "local" | "pool" | "secret" => (1, steps.get(1..).unwrap_or_default()),
        // A module may be waited for as a whole or for one output.
        "module" => match after(1) {
            [Step::Attr(_), rest @ ..] => (1, rest),
            rest => (1, rest),
        },
        "data" => (2, after(2)),
        "each" | "count" | "path" | "self" | "terraform" | "host" => (usize::MAX, steps),
        _ => (1, after(1)),
    };
    if needed != usize::MAX && attrs(needed) && rest.is_empty() {
        return true;
    }
    let (summary, help) = if needed == usize::MAX {
        (format!("`{}` cannot be waited for", root.name), "remove it")
    } else if attrs(needed) {
        ("part of an object".into(), "leave away what follows the name of the object")
    } else {
        ("not an object".into(), "write the whole reference, such as `core_value.a` or `module.b`")
    };
    let detail = "`depends_on` waits for whole objects: resources, data, modules, fleets.";
    report.push(Diagnostic::error(expr.span, summary, detail).help(help));
    false
}

fn attribute_path(expr: &Expr, report: &mut Report) -> Option<AttributePath> {
    if !is_static(expr, report) {
        return None;
    }
    let (root, steps) = names(expr)?;
    let steps = steps.iter().map(|step| path_key(step, expr.span, report)).collect::<Option<_>>()?;
    Some(AttributePath { root: root.clone(), steps, span: expr.span })
}

fn path_key(step: &Step, span: Span, report: &mut Report) -> Option<PathKey> {
    match step {
        Step::Attr(name) => Some(PathKey::Name(name.name.clone())),
        Step::Index(Expr { kind: ExprKind::String(name), .. }, _) => Some(PathKey::Name(name.clone())),
        Step::Index(Expr { kind: ExprKind::Number(digits), .. }, _) => match digits.parse() {
            Ok(index) => Some(PathKey::Index(index)),
            Err(_) => {
                let detail = format!("`{digits}` does not count elements.");
                let help = "use a whole number from 0 on";
                report.push(Diagnostic::error(span, "index out of range", detail).help(help));
                None
            }
        },
        _ => None,
    }
}

/// The advice for a reference in quotes, as Terraform wanted them long ago.
fn unquoted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::String(text) => Some(format!("write it without quotes: `{text}`")),
        _ => None,
    }
}
