//! Stage 2, expand: `moved`, `removed` and `import` blocks, checked against what is declared.

use std::collections::HashMap;

use fleet_syntax::tree::{Expr, ExprKind};
use fleet_syntax::{Diagnostic, Diagnostics};

use crate::address::{Item, ScopeStep, Target};
use crate::config::model::{Import, Mode, Moved, Removed};
use crate::scope::{NodeItem, ScopeId, Scopes};

/// Checks all refactoring blocks.
pub fn check(scopes: &Scopes<'_>, diagnostics: &mut Diagnostics) {
    for (at, scope) in scopes.scopes.iter().enumerate().filter(|(_, scope)| scope.fleet.is_none()) {
        let id = ScopeId(at as u32);
        let moves: Vec<(&Moved, Target, Target)> = scope
            .module
            .moved
            .iter()
            .filter_map(|moved| {
                Some((moved, target(&moved.from, diagnostics)?, target(&moved.to, diagnostics)?))
            })
            .collect();
        for (moved, from, to) in &moves {
            diagnostics.extend(check_move(scopes, id, moved, from, to));
        }
        diagnostics.extend(rounds(&moves));
        for removed in &scope.module.removed {
            if let Some(from) = target(&removed.from, diagnostics) {
                diagnostics.extend(check_removed(scopes, id, removed, &from));
            }
        }
        for import in &scope.module.imports {
            diagnostics.extend(check_import(scopes, id, import));
        }
    }
}

fn target(expr: &Expr, diagnostics: &mut Diagnostics) -> Option<Target> {
    let target = Target::from_expr(expr);
    if target.is_none() && !matches!(expr.kind, ExprKind::Invalid) {
        let detail = "An address names a resource, a module call or an instance of one.";
        diagnostics.push(
            Diagnostic::error(expr.span, "not an address", detail)
                .help("write it as `core_value.a`, `core_value.a[0]` or `module.m[\"key\"]`"),
        );
    }
    target
}

fn check_move(
    scopes: &Scopes<'_>,
    scope: ScopeId,
    moved: &Moved,
    from: &Target,
    to: &Target,
) -> Option<Diagnostic> {
    let data = |target: &Target| matches!(target.item, Some(Item::Data(..) | Item::Host));
    if data(from) || data(to) {
        let span = if data(from) { moved.from.span } else { moved.to.span };
        let detail = "Only managed resources and modules are remembered, so only they can be moved.";
        return Some(Diagnostic::error(span, "nothing to move", detail));
    }
    if from == to {
        let detail = "Both addresses are the same.";
        return Some(Diagnostic::error(moved.to.span, "move to the same place", detail));
    }
    match (&from.item, &to.item) {
        (None, Some(_)) | (Some(_), None) => {
            let detail = "A resource moves to a resource, and a module to a module.";
            return Some(Diagnostic::error(moved.to.span, "move between unlike things", detail));
        }
        (Some(Item::Resource(old, _)), Some(Item::Resource(new, _))) if old != new => {
            let detail = format!("`{old}` and `{new}` are different kinds; one cannot become the other.");
            return Some(Diagnostic::error(moved.to.span, "move to another kind", detail).help(
                "remove the old one with a `removed` block and take in the new one with an `import` block",
            ));
        }
        _ => {}
    }
    // An instance may move away from a block that stays; a whole block may not.
    let whole = from.key.is_none() && !has_keys(from);
    let becomes_one_of_many = to.key.is_some() || (to.item.is_none() && has_keys(to));
    if whole && !becomes_one_of_many && is_declared(scopes, scope, from) {
        let detail = format!("`{from}` is still declared, so that it cannot have become `{to}`.");
        let diagnostic = Diagnostic::error(moved.from.span, "moved but still declared", detail);
        return Some(diagnostic.help("rename or remove the old block, or take out the `moved` block"));
    }
    None
}

fn has_keys(target: &Target) -> bool {
    let keyed = |step: &ScopeStep| match step {
        ScopeStep::Module(_, key) | ScopeStep::Fleet(_, key) => key.is_some(),
    };
    target.key.is_some() || target.scope.steps().iter().any(keyed)
}

/// Two moves from one place, and moves that lead back to where they started.
fn rounds(moves: &[(&Moved, Target, Target)]) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let mut next: HashMap<String, (usize, String)> = HashMap::new();
    for (at, (moved, from, to)) in moves.iter().enumerate().filter(|(_, (_, from, to))| from != to) {
        if let Some((first, _)) = next.get(&from.to_string()) {
            let detail = format!("`{from}` can move to one place only.");
            let diagnostic = Diagnostic::error(moved.from.span, "moved twice", detail);
            diagnostics.push(diagnostic.related(moves[*first].0.header, "the other move"));
            continue;
        }
        next.insert(from.to_string(), (at, to.to_string()));
    }
    // Each address has one way on, so that following it once from everywhere visits every circle.
    let mut visited: HashMap<&str, usize> = HashMap::new();
    for (start, (moved, from, _)) in moves.iter().enumerate() {
        let mut address = from.to_string();
        while let Some((key, (_, to))) = next.get_key_value(&address) {
            match visited.get(&**key) {
                Some(seen) if *seen == start => {
                    let detail = format!("Following the moves from `{from}` never comes to an end.");
                    diagnostics.push(Diagnostic::error(moved.header, "moves in a circle", detail));
                    break;
                }
                Some(_) => break,
                None => visited.insert(key, start),
            };
            address.clone_from(to);
        }
    }
    diagnostics
}

fn check_removed(
    scopes: &Scopes<'_>,
    scope: ScopeId,
    removed: &Removed,
    from: &Target,
) -> Option<Diagnostic> {
    if has_keys(from) {
        let detail = "A `removed` block speaks of a whole block, not of single instances.";
        let diagnostic = Diagnostic::error(removed.from.span, "instance key in `removed`", detail);
        return Some(diagnostic.help("leave the key out; single instances go by `count` or `for_each`"));
    }
    if matches!(from.item, Some(Item::Data(..) | Item::Host)) {
        let detail = "Only managed resources and modules are remembered, so only they can be forgotten.";
        return Some(Diagnostic::error(removed.from.span, "nothing to remove", detail));
    }
    if is_declared(scopes, scope, from) {
        let detail = format!("`{from}` is still declared.");
        let diagnostic = Diagnostic::error(removed.from.span, "removed but still declared", detail);
        return Some(diagnostic.help("remove the block itself too, or take out the `removed` block"));
    }
    None
}

fn check_import(scopes: &Scopes<'_>, scope: ScopeId, import: &Import) -> Option<Diagnostic> {
    if matches!(import.to.kind, ExprKind::Invalid) {
        return None;
    }
    let Some(to) = Target::without_keys(&import.to).filter(|to| matches!(to.item, Some(Item::Resource(..))))
    else {
        let detail = "An object is imported into one managed resource.";
        let diagnostic = Diagnostic::error(import.to.span, "not a resource address", detail);
        return Some(diagnostic.help("write it as `to = core_file.motd` or `to = core_file.motd[each.key]`"));
    };
    if is_declared(scopes, scope, &to) {
        return None;
    }
    let detail = format!("No resource `{to}` is declared that could take it.");
    Some(Diagnostic::error(import.to.span, "import into nothing", detail).help("declare the resource"))
}

/// Whether the block that an address means, whatever its keys, is part of the configuration.
fn is_declared(scopes: &Scopes<'_>, scope: ScopeId, target: &Target) -> bool {
    let mut scope = scope;
    let mut found = true;
    for step in target.scope.steps() {
        let inner = match step {
            ScopeStep::Module(name, _) => match scopes.call(scope, name).map(|node| scopes.node(node).item) {
                // What a module that could not be loaded holds is not known.
                Some(NodeItem::Call(_, None)) => return false,
                Some(NodeItem::Call(_, inner)) => inner,
                _ => None,
            },
            ScopeStep::Fleet(name, _) => match scopes.fleet(name).map(|node| scopes.node(node).item) {
                Some(NodeItem::Fleet(_, inner)) => Some(inner),
                _ => None,
            },
        };
        found &= inner.is_some();
        scope = inner.unwrap_or(scope);
    }
    match &target.item {
        Some(Item::Resource(kind, name)) if found => {
            scopes.own_resource(scope, Mode::Managed, kind, name).is_some()
        }
        _ => found && target.item.is_none(),
    }
}
