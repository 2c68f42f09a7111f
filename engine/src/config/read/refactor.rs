//! `moved`, `removed` and `import`: what changes its place in the configuration.

use fleet_syntax::tree::Block;

use super::fields::Fields;
use super::{Reader, reference};
use crate::config::model::{Import, Moved, Removed};

impl Reader {
    pub(super) fn moved(&mut self, mut block: Block) {
        self.report.labels(&mut block, []);
        let mut fields = Fields::new(block, &mut self.report);
        let (from, to) = (fields.required("from"), fields.required("to"));
        let header = fields.header;
        let from = reference::address(from, fields.report);
        let to = reference::address(to, fields.report);
        fields.finish();
        self.module.moved.push(Moved { from, to, header });
    }

    pub(super) fn removed(&mut self, mut block: Block) {
        self.report.labels(&mut block, []);
        let mut fields = Fields::new(block, &mut self.report);
        let header = fields.header;
        let from = fields.required("from");
        let from = reference::address(from, fields.report);
        let destroy = fields.plain_block("lifecycle").and_then(|block| {
            let mut fields = Fields::new(block, fields.report);
            let destroy = fields.truth("destroy");
            fields.finish();
            destroy
        });
        fields.finish();
        self.module.removed.push(Removed { from, destroy: destroy.unwrap_or(true), header });
    }

    pub(super) fn import(&mut self, mut block: Block) {
        self.report.labels(&mut block, []);
        let mut fields = Fields::new(block, &mut self.report);
        let import = Import {
            to: fields.required("to"),
            id: fields.required("id"),
            for_each: fields.expr("for_each"),
            provider: fields.expr("provider").and_then(|e| reference::provider(&e, fields.report)),
            header: fields.header,
        };
        fields.finish();
        self.module.imports.push(import);
    }
}
