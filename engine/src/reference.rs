//! Stage 2, expand: what a reference leads to, told from the configuration alone.
//!
//! Every name is checked here, before anything is evaluated, so that evaluation can take an unresolvable name for an
//! unknown without a second word about it.

use std::sync::Arc;

use fleet_lang::references::Reference;
use fleet_syntax::tree::{Expr, Ident, Step};
use fleet_syntax::{Diagnostic, Span, nearest};

use crate::config::model::{Mode, Repeat, Resource, ResourceId, Slots};
use crate::schema::{Catalog, Sort};
use crate::scope::{NodeId, NodeItem, ScopeId, Scopes};

/// A reference from one node to another.
#[derive(Clone, Copy, Debug)]
pub struct Use<'c> {
    /// What it leads to.
    pub node: NodeId,
    /// The key of the instance it picks, if it picks one.
    pub key: Option<&'c Expr>,
    /// Where it stands.
    pub span: Span,
}

/// Which names without a node of their own may be used at some place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowed {
    /// `count.index`
    pub count: bool,
    /// `each.key` and `each.value`
    pub each: bool,
    /// `self`
    pub this: bool,
}

impl Allowed {
    /// What a block with that repetition may use.
    #[must_use]
    pub fn by(repeat: Option<&Repeat>) -> Allowed {
        Allowed {
            count: matches!(repeat, Some(Repeat::Count(_))),
            each: matches!(repeat, Some(Repeat::ForEach(_))),
            this: false,
        }
    }
}

/// The words that start a reference to something other than a resource.
const ROOTS: &[&str] =
    &["var", "local", "module", "data", "count", "each", "self", "path", "host", "secret", "pool", "fleet"];

/// Finds what a reference leads to; `None` if it is one of the names without a node.
pub fn resolve<'c>(
    scopes: &Scopes<'c>,
    catalog: &dyn Catalog,
    scope: ScopeId,
    allowed: Allowed,
    reference: &Reference<'c>,
) -> Result<Option<Use<'c>>, Diagnostic> {
    let Reference { root, steps, span } = reference;
    let found = |node, key| Ok(Some(Use { node, key, span: *span }));
    let module = scopes.scope(scopes.module_scope(scope)).module;
    match &*root.name {
        "var" => {
            let name = named(root, steps, "variable")?;
            match scopes.variable(scope, &name.name) {
                Some(node) => found(node, None),
                None => Err(undeclared(scopes, name, "variable", names_of(module.variables.keys()))),
            }
        }
        "local" => {
            let name = named(root, steps, "local value")?;
            match scopes.local(scope, &name.name) {
                Some(node) => found(node, None),
                None => Err(undeclared(scopes, name, "local value", names_of(module.locals.keys()))),
            }
        }
        "secret" => {
            let name = named(root, steps, "secret")?;
            let known = names_of(scopes.scope(Scopes::ROOT).module.secrets.keys());
            in_root(scopes, scope, root)?;
            scopes
                .secret(&name.name)
                .map_or_else(|| Err(undeclared(scopes, name, "secret", known)), |node| found(node, None))
        }
        "pool" => {
            let name = named(root, steps, "pool")?;
            let known = names_of(scopes.scope(Scopes::ROOT).module.pools.keys());
            in_root(scopes, scope, root)?;
            scopes
                .pool(&name.name)
                .map_or_else(|| Err(undeclared(scopes, name, "pool", known)), |node| found(node, None))
        }
        "fleet" => {
            let name = named(root, steps, "fleet")?;
            let known = names_of(scopes.scope(Scopes::ROOT).module.fleets.keys());
            in_root(scopes, scope, root)?;
            let node = scopes.fleet(&name.name).ok_or_else(|| undeclared(scopes, name, "fleet", known))?;
            in_fleet(scopes, catalog, node, steps, *span).map(Some)
        }
        "module" => {
            let name = named(root, steps, "module call")?;
            let Some(node) = scopes.call(scope, &name.name) else {
                let known: Vec<_> = scopes.call_names(scope).collect();
                return Err(undeclared(scopes, name, "module call", known.iter().copied()));
            };
            output_of(scopes, node, steps, *span).map(Some)
        }
        "data" => {
            let kind = named(root, steps, "data source")?;
            let Some(Step::Attr(name)) = steps.get(1) else {
                return Err(incomplete(root, "`data`, a kind and a name", "data.host_facts.this"));
            };
            let node = scopes.resource(scope, Mode::Data, &kind.name, &name.name);
            let node = node
                .ok_or_else(|| no_resource(scopes, scopes.resource_names(scope), Mode::Data, kind, name))?;
            instance_of(scopes, catalog, node, &steps[2..], *span).map(Some)
        }
        "count" if steps.is_empty() || attr(&steps[0]) != Some("index") => Err(only(root, steps, &["index"])),
        "count" if allowed.count => Ok(None),
        "count" => Err(misplaced(*span, "`count.index`", "a block with a `count` argument")),
        "each" if !matches!(steps.first().and_then(attr), Some("key" | "value")) => {
            Err(only(root, steps, &["key", "value"]))
        }
        "each" if allowed.each => Ok(None),
        "each" => Err(misplaced(*span, "`each`", "a block with a `for_each` argument")),
        "self" if allowed.this => Ok(None),
        "self" => Err(misplaced(*span, "`self`", "a `postcondition` of a resource")),
        "path" => match steps.first().and_then(attr) {
            Some("module" | "root" | "cwd") => Ok(None),
            _ => Err(only(root, steps, &["module", "root", "cwd"])),
        },
        "host" => host(scopes, scope, root, steps, *span).map(Some),
        "terraform" => Err(Diagnostic::error(*span, "unknown name `terraform`", "There are no workspaces.")
            .help("use a variable, such as `var.env`, to tell environments apart")),
        _ => resource(scopes, catalog, scope, reference).map(Some),
    }
}

fn attr(step: &Step) -> Option<&str> {
    match step {
        Step::Attr(name) => Some(&name.name),
        _ => None,
    }
}

/// The name that must follow `var`, `local` and their like.
fn named<'c>(root: &Ident, steps: &'c [Step], what: &str) -> Result<&'c Ident, Diagnostic> {
    match steps.first() {
        Some(Step::Attr(name)) => Ok(name),
        _ => {
            let example = format!("{}.name", root.name);
            Err(incomplete(root, &format!("the name of a {what} after `{}.`", root.name), &example))
        }
    }
}

fn incomplete(root: &Ident, needs: &str, example: &str) -> Diagnostic {
    Diagnostic::error(root.span, "incomplete reference", format!("This kind of reference needs {needs}."))
        .help(format!("write it as `{example}`"))
}

fn only(root: &Ident, steps: &[Step], names: &[&str]) -> Diagnostic {
    let known = names.iter().map(|name| format!("`{}.{name}`", root.name)).collect::<Vec<_>>().join(", ");
    let span = match steps.first() {
        Some(Step::Attr(name)) => name.span,
        _ => root.span,
    };
    Diagnostic::error(span, format!("unknown name under `{}`", root.name), format!("There is only {known}."))
}

fn misplaced(span: Span, what: &str, place: &str) -> Diagnostic {
    Diagnostic::error(span, format!("{what} has no meaning here"), format!("It can be used only in {place}."))
}

/// Secrets, pools and fleets belong to the root module and are not seen from inside other modules.
fn in_root(scopes: &Scopes<'_>, scope: ScopeId, root: &Ident) -> Result<(), Diagnostic> {
    if scopes.module_scope(scope) == Scopes::ROOT {
        return Ok(());
    }
    let detail = format!("A module does not see the `{}` blocks of the root module.", root.name);
    Err(Diagnostic::error(root.span, format!("`{}` is not seen in a module", root.name), detail)
        .help("declare a variable in the module and pass the value in the `module` block"))
}

fn names_of<'a>(keys: impl Iterator<Item = &'a Arc<str>>) -> impl Iterator<Item = &'a str> {
    keys.map(|name| &**name)
}

fn undeclared<'a>(
    scopes: &Scopes<'_>,
    name: &Ident,
    what: &str,
    known: impl Iterator<Item = &'a str>,
) -> Diagnostic {
    let summary = format!("undeclared {what} `{}`", name.name);
    let diagnostic = Diagnostic::error(name.span, summary, format!("No {what} of this name is declared."));
    match (scopes.nearest(&name.name, known), what) {
        (Some(near), _) => diagnostic.help(format!("did you mean `{near}`?")),
        (None, "variable") => diagnostic.help(format!("declare it: `variable \"{}\" {{ }}`", name.name)),
        (None, "local value") => diagnostic.help(format!("declare it: `locals {{ {} = … }}`", name.name)),
        (None, _) => diagnostic,
    }
}

/// A reference `kind.name…`.
fn resource<'c>(
    scopes: &Scopes<'c>,
    catalog: &dyn Catalog,
    scope: ScopeId,
    reference: &Reference<'c>,
) -> Result<Use<'c>, Diagnostic> {
    let Reference { root, steps, span } = reference;
    let Some(Step::Attr(name)) = steps.first() else {
        let summary = format!("unknown name `{}`", root.name);
        let detail = "A reference to a resource has its kind and its name.";
        let diagnostic = Diagnostic::error(root.span, summary, detail);
        return Err(match nearest(&root.name, ROOTS.iter().copied()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("for a text, write it in quotes: `\"{}\"`", root.name)),
        });
    };
    match scopes.resource(scope, Mode::Managed, &root.name, &name.name) {
        Some(node) => instance_of(scopes, catalog, node, &steps[1..], *span),
        None => Err(no_resource(scopes, scopes.resource_names(scope), Mode::Managed, root, name)),
    }
}

fn no_resource<'a>(
    scopes: &Scopes<'_>,
    known: impl Iterator<Item = &'a ResourceId> + Clone,
    mode: Mode,
    kind: &Ident,
    name: &Ident,
) -> Diagnostic {
    let prefix = if mode == Mode::Data { "data." } else { "" };
    let written = format!("{prefix}{}.{}", kind.name, name.name);
    let span = kind.span.to(name.span);
    let known = known.filter(|id| id.mode == mode);
    // Kind and name are compared apart: a long kind would make any two names look alike.
    let names = known.clone().filter(|id| id.kind == kind.name).map(|id| &*id.name);
    let kinds = known.filter(|id| id.name == name.name).map(|id| &*id.kind);
    let near = scopes
        .nearest(&name.name, names)
        .map(|near| format!("{prefix}{}.{near}", kind.name))
        .or_else(|| scopes.nearest(&kind.name, kinds).map(|near| format!("{prefix}{near}.{}", name.name)))
        .or_else(|| {
            let root = nearest(&kind.name, ROOTS.iter().copied()).filter(|_| mode == Mode::Managed)?;
            Some(format!("{root}.{}", name.name))
        });
    let what = if mode == Mode::Data { "data block" } else { "resource" };
    let detail = format!("No {what} `{}` `{}` is declared here.", kind.name, name.name);
    let diagnostic = Diagnostic::error(span, format!("undeclared {what} `{written}`"), detail);
    match near {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// A reference to a resource block, `rest` being the steps after its name.
fn instance_of<'c>(
    scopes: &Scopes<'c>,
    catalog: &dyn Catalog,
    node: NodeId,
    rest: &'c [Step],
    span: Span,
) -> Result<Use<'c>, Diagnostic> {
    let NodeItem::Resource(resource) = scopes.node(node).item else {
        unreachable!("resource names lead to resource nodes")
    };
    let found = |key| Ok(Use { node, key, span });
    let Some(repeat) = &resource.repeat else {
        return match rest {
            [Step::Index(key, _), ..] => Err(needs_no_key(resource, key)),
            _ => found(None),
        };
    };
    let (key, attributes) = match rest {
        [Step::Attr(name), ..] => return Err(needs_key(resource, repeat, name)),
        [Step::Index(key, _), rest @ ..] => (Some(key), rest),
        [_, rest @ ..] => (None, rest),
        [] => (None, rest),
    };
    if let Some(Step::Attr(name)) = attributes.first() {
        has_attribute(catalog, resource, name)?;
    }
    found(key)
}

fn needs_key(resource: &Resource, repeat: &Repeat, name: &Ident) -> Diagnostic {
    let base = crate::scope::item(resource);
    let (argument, example) = match repeat {
        Repeat::Count(_) => ("count", format!("{base}[0].{0}` or `{base}[*].{0}", name.name)),
        Repeat::ForEach(_) => ("for_each", format!("{base}[each.key].{}", name.name)),
    };
    let detail = format!("`{base}` has `{argument}`, so its attributes belong to its single instances.");
    Diagnostic::error(name.span, "missing instance key", detail).help(format!("write `{example}`"))
}

fn needs_no_key(resource: &Resource, key: &Expr) -> Diagnostic {
    let base = crate::scope::item(resource);
    let detail =
        format!("`{base}` has neither `count` nor `for_each`, so that there is one instance without a key.");
    Diagnostic::error(key.span, "unexpected instance key", detail)
        .help(format!("write `{base}` without the brackets, and its attributes as `{base}.NAME`"))
}

fn has_attribute(catalog: &dyn Catalog, resource: &Resource, name: &Ident) -> Result<(), Diagnostic> {
    let sort = if resource.mode == Mode::Data { Sort::Data } else { Sort::Resource };
    let Some(entry) = catalog.find(sort, &resource.kind.name) else { return Ok(()) };
    let schema = &entry.schema;
    if schema.attributes.contains_key(&name.name) || schema.blocks.contains_key(&name.name) {
        return Ok(());
    }
    let detail = format!("`{}` has no attribute of this name.", resource.kind.name);
    let diagnostic = Diagnostic::error(name.span, format!("unsupported attribute `{}`", name.name), detail);
    let known = schema.attributes.keys().chain(schema.blocks.keys()).map(|name| &**name);
    Err(match nearest(&name.name, known) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    })
}

/// A reference to a module call: to one of its outputs if that is what follows, else to all of it.
fn output_of<'c>(
    scopes: &Scopes<'c>,
    call_node: NodeId,
    steps: &'c [Step],
    span: Span,
) -> Result<Use<'c>, Diagnostic> {
    let NodeItem::Call(call, inner) = scopes.node(call_node).item else {
        unreachable!("call names lead to call nodes")
    };
    let (key, rest) = match (&call.repeat, &steps[1..]) {
        (Some(_), [Step::Index(key, _), rest @ ..]) => (Some(key), rest),
        (Some(_), [Step::AttrSplat(_) | Step::FullSplat(_), rest @ ..]) => (None, rest),
        (Some(_), [Step::Attr(name), ..]) => {
            let detail =
                format!("`module.{}` has several instances, each with its own outputs.", call.name.name);
            let help = format!("write `module.{}[KEY].{}`", call.name.name, name.name);
            return Err(Diagnostic::error(name.span, "missing instance key", detail).help(help));
        }
        (_, rest) => (None, rest),
    };
    let (Some(inner), Some(Step::Attr(name))) = (inner, rest.first()) else {
        return Ok(Use { node: scopes.end(call_node), key, span });
    };
    match scopes.output(inner, &name.name) {
        Some(node) => Ok(Use { node, key, span }),
        None => Err(undeclared(scopes, name, "output", names_of(scopes.scope(inner).module.outputs.keys()))),
    }
}

/// A reference to a fleet: to the hosts, a resource or an output of its slots if that is what follows, else to all.
fn in_fleet<'c>(
    scopes: &Scopes<'c>,
    catalog: &dyn Catalog,
    fleet_node: NodeId,
    steps: &'c [Step],
    span: Span,
) -> Result<Use<'c>, Diagnostic> {
    let NodeItem::Fleet(fleet, inner) = scopes.node(fleet_node).item else {
        unreachable!("fleet names lead to fleet nodes")
    };
    let (key, rest) = match &steps[1..] {
        [Step::Index(key, _), rest @ ..] => (Some(key), rest),
        [Step::AttrSplat(_) | Step::FullSplat(_), rest @ ..] => (None, rest),
        [Step::Attr(name), ..] => {
            let detail = format!("`fleet.{}` has one object for each slot.", fleet.name.name);
            let key = match fleet.slots {
                Slots::Size(_) => "0",
                Slots::Hosts(_) => "\"KEY\"",
            };
            let (fleet, name) = (&fleet.name.name, name);
            let help = format!(
                "write `fleet.{fleet}[*].{0}` for all of them, or `fleet.{fleet}[{key}].{0}`",
                name.name
            );
            return Err(Diagnostic::error(name.span, "missing slot key", detail).help(help));
        }
        [] => return Ok(Use { node: scopes.end(fleet_node), key: None, span }),
    };
    let keyed = |used: Use<'c>| Use { key, ..used };
    match rest {
        [Step::Attr(word), rest @ ..] if &*word.name == "host" => {
            host_attribute(rest)?;
            let host = scopes.scope(inner).host.expect("a fleet's scope has a host");
            Ok(Use { node: host, key, span })
        }
        [Step::Attr(word), Step::Attr(name), ..] if &*word.name == "module" => {
            match scopes.call(inner, &name.name) {
                Some(node) => output_of(scopes, node, &rest[1..], span).map(keyed),
                None => {
                    Err(undeclared(scopes, name, "module call in the fleet", names_of(fleet.calls.keys())))
                }
            }
        }
        [Step::Attr(kind), Step::Attr(name), rest @ ..] => {
            match scopes.own_resource(inner, Mode::Managed, &kind.name, &name.name) {
                Some(node) => instance_of(scopes, catalog, node, rest, span).map(keyed),
                None => Err(no_resource(scopes, fleet.resources.keys(), Mode::Managed, kind, name)),
            }
        }
        _ => Ok(Use { node: scopes.end(fleet_node), key, span }),
    }
}

/// The attributes of `host`.
pub const HOST_ATTRIBUTES: &[&str] = &["address", "id", "index", "key", "name", "provider_id"];

fn host_attribute(steps: &[Step]) -> Result<(), Diagnostic> {
    let Some(Step::Attr(name)) = steps.first() else { return Ok(()) };
    if HOST_ATTRIBUTES.contains(&&*name.name) {
        return Ok(());
    }
    let detail = format!("A host has {}.", HOST_ATTRIBUTES.join(", "));
    let diagnostic = Diagnostic::error(name.span, format!("unsupported attribute `{}`", name.name), detail);
    Err(match nearest(&name.name, HOST_ATTRIBUTES.iter().copied()) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    })
}

/// A reference to the host of the slot around.
fn host<'c>(
    scopes: &Scopes<'c>,
    scope: ScopeId,
    root: &Ident,
    steps: &'c [Step],
    span: Span,
) -> Result<Use<'c>, Diagnostic> {
    let here = scopes.scope(scope);
    match (here.fleet, here.host) {
        (Some(_), Some(node)) => {
            host_attribute(steps)?;
            Ok(Use { node, key: None, span })
        }
        (None, Some(_)) => {
            let detail =
                "A module called from a fleet runs on the slot's host but does not see its attributes.";
            Err(Diagnostic::error(root.span, "`host` is not seen in a module", detail)
                .help("declare a variable in the module and pass it in, such as `name = host.name`"))
        }
        _ => Err(misplaced(span, "`host`", "a `fleet` block")),
    }
}
