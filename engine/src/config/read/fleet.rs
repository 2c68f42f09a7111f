//! `fleet`: a scope with a host.

use fleet_syntax::tree::{Block, Body, Expr, ExprKind, Ident, Step};
use fleet_syntax::{Diagnostic, Span};
use indexmap::IndexMap;

use super::call::call;
use super::fields::Fields;
use super::report::Report;
use super::resource::resource;
use super::{declare_call, declare_resource, reference};
use crate::config::model::{
    Connection, Fleet, Health, Lifecycle, Mode, Named, Pool, Resource, Rollout, Slots,
};

/// Reads a `fleet` block.
pub(super) fn fleet(mut block: Block, report: &mut Report) -> Option<Fleet> {
    let [name] = report.labels(&mut block, ["name"])?;
    report.name(&name);
    let mut fields = Fields::new(block, report);
    for argument in ["count", "for_each"] {
        if let Some(attribute) = fields.attribute(argument) {
            let detail =
                "A fleet has one host per slot, and `size` or `hosts` says how many slots there are.";
            let error = Diagnostic::error(attribute.name.span, format!("`{argument}` on a fleet"), detail);
            fields.report.push(error.help("write `size = 3` or `hosts = [\"mini-a\", \"mini-b\"]`"));
        }
    }
    let mut fleet = Fleet {
        name,
        pool: fields.required("pool"),
        slots: slots(&mut fields),
        hostname: fields.required("hostname"),
        connection: connection(&mut fields),
        rollout: fields.plain_block("rollout").map(|block| rollout(block, fields.report)),
        health: fields.plain_block("health").map(|block| health(block, fields.report)),
        depends_on: Vec::new(),
        resources: IndexMap::default(),
        calls: Named::default(),
        host: host(fields.header),
        header: fields.header,
    };
    if let Some(expr) = fields.expr("depends_on") {
        fleet.depends_on = reference::depends_on(expr, fields.report);
    }
    for (kind, mode) in [("resource", Mode::Managed), ("data", Mode::Data)] {
        for block in fields.blocks(kind) {
            if let Some(resource) = resource(block, mode, fields.report) {
                declare_resource(&mut fleet.resources, resource, fields.report);
            }
        }
    }
    for block in fields.blocks("module") {
        if let Some(call) = call(block, fields.report) {
            declare_call(&mut fleet.calls, call, fields.report);
        }
    }
    misplaced(&mut fields);
    fields.finish();
    Some(fleet)
}

/// The machine of a slot. Which kind it is of is known once all pools are read.
fn host(header: Span) -> Resource {
    let word = |word: &str| Ident { name: word.into(), span: header };
    Resource {
        mode: Mode::Managed,
        kind: word("host"),
        name: word("host"),
        body: Body { attributes: Vec::new(), blocks: Vec::new(), span: header, incomplete: false },
        repeat: None,
        depends_on: Vec::new(),
        provider: None,
        // A slot is given another machine before the one that it has goes back.
        lifecycle: Lifecycle { create_before_destroy: Some(true), ..Lifecycle::default() },
        header,
    }
}

/// Gives the machines of fleets their kinds.
pub(super) fn know_pools(fleets: &mut Named<Fleet>, pools: &Named<Pool>) {
    for fleet in fleets.values_mut() {
        let ExprKind::Path(path) = &fleet.pool.kind else { continue };
        let Some(Step::Attr(name)) = path.steps.first() else { continue };
        if let Some(pool) = pools.get(&name.name) {
            fleet.host.kind.name = format!("{}_host", pool.kind.name).into();
        }
    }
}

fn slots(fields: &mut Fields<'_>) -> Slots {
    match (fields.expr("size"), fields.attribute("hosts")) {
        (Some(size), None) => Slots::Size(size),
        (None, Some(hosts)) => Slots::Hosts(hosts.value),
        (Some(size), Some(hosts)) => {
            let detail = "`size` takes any hosts of the pool, `hosts` names them.";
            let error = Diagnostic::error(hosts.name.span, "both `size` and `hosts`", detail);
            fields.report.push(error.help("remove one of them"));
            Slots::Size(size)
        }
        (None, None) => {
            if !fields.is_incomplete() {
                let detail = "Nothing says how many hosts the fleet has.";
                let error = Diagnostic::error(fields.header, "fleet without a size", detail);
                fields.report.push(
                    error.help("add `size = 3`, or `hosts = [ … ]` with the names of hosts of the pool"),
                );
            }
            Slots::Size(Expr { kind: ExprKind::Invalid, span: fields.header })
        }
    }
}

fn connection(fields: &mut Fields<'_>) -> Option<Connection> {
    let mut block = fields.block("connection")?;
    let [kind] = fields.report.labels(&mut block, ["kind"])?;
    Some(Connection { kind, header: block.header, body: block.body })
}

fn rollout(block: Block, report: &mut Report) -> Rollout {
    let mut fields = Fields::new(block, report);
    let rollout = Rollout {
        canary: fields.expr("canary"),
        max_unavailable: fields.expr("max_unavailable"),
        soak: fields.expr("soak"),
        header: fields.header,
    };
    fields.finish();
    rollout
}

fn health(block: Block, report: &mut Report) -> Health {
    let mut fields = Fields::new(block, report);
    let health = Health {
        condition: fields.required("condition"),
        timeout: fields.expr("timeout"),
        error_message: fields.expr("error_message"),
        header: fields.header,
    };
    fields.finish();
    health
}

/// Blocks that belong beside the fleet, not into it.
fn misplaced(fields: &mut Fields<'_>) {
    for kind in
        ["locals", "variable", "output", "provider", "secret", "pool", "fleet", "check", "moved", "removed"]
    {
        for block in fields.stray_blocks(kind) {
            let detail = "A fleet holds resources, data and module calls, once per host.";
            let error = Diagnostic::error(block.header, format!("`{kind}` in a fleet"), detail);
            let help = match kind {
                "locals" => {
                    "move it out of the fleet; where it uses `host`, write the expression where it is needed"
                }
                _ => "move it out of the fleet",
            };
            fields.report.push(error.help(help));
        }
    }
}
