//! `pool`: where hosts come from.

use fleet_syntax::Diagnostic;
use fleet_syntax::tree::{Block, ExprKind};

use super::fields::Fields;
use super::report::Report;
use super::{Reader, declare, reference};
use crate::config::model::{Named, Pool, PoolHost, Return};

impl Reader {
    pub(super) fn pool(&mut self, mut block: Block) {
        let report = &mut self.report;
        let Some([kind, name]) = report.labels(&mut block, ["kind", "name"]) else { return };
        report.name(&kind);
        report.name(&name);
        let mut fields = Fields::new(block, report);
        let header = fields.header;
        let provider = fields.expr("provider").and_then(|e| reference::provider(&e, fields.report));
        let returns = fields.plain_block("return").map(|block| returns(block, fields.report));
        let mut hosts = Named::default();
        for block in fields.blocks("host") {
            host(block, &mut hosts, fields.report);
        }
        let pool = Pool { kind, provider, body: fields.rest(), returns, hosts, header, name };
        let name = pool.name.name.clone();
        declare(&mut self.module.pools, &name, header, pool, |p| p.header, "pool", &mut self.report);
    }
}

fn returns(block: Block, report: &mut Report) -> Return {
    let mut fields = Fields::new(block, report);
    let header = fields.header;
    let method = fields.expr("method");
    if let Some(ExprKind::String(text)) = method.as_ref().map(|expr| &expr.kind)
        && !matches!(&**text, "reinstall" | "scrub")
    {
        let detail = format!("A host goes back by `reinstall` or `scrub`, not by `{text}`.");
        let span = method.as_ref().map_or(header, |expr| expr.span);
        let help = "write `\"reinstall\"` to install macOS anew, or `\"scrub\"` to remove what is managed";
        fields.report.push(Diagnostic::error(span, "unknown method of return", detail).help(help));
    }
    let deadline = fields.expr("deadline");
    fields.finish();
    Return { method, deadline, header }
}

/// Any name will do for a host: it is a key, not a name in expressions.
fn host(mut block: Block, hosts: &mut Named<PoolHost>, report: &mut Report) {
    let Some([name]) = report.labels(&mut block, ["name"]) else { return };
    let header = block.header;
    let host = PoolHost { body: block.body, header, name };
    let name = host.name.name.clone();
    declare(hosts, &name, header, host, |h| h.header, "host", report);
}
