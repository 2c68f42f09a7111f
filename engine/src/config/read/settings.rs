//! `settings` and `secret`.

use fleet_syntax::Diagnostic;
use fleet_syntax::tree::Block;

use super::fields::Fields;
use super::report::Report;
use super::{Reader, declare, reference};
use crate::config::constant;
use crate::config::model::{Backend, Secret, Settings};
use crate::config::version;

impl Reader {
    pub(super) fn settings(&mut self, mut block: Block) {
        self.report.labels(&mut block, []);
        let settings = settings(block, &mut self.report);
        match &self.module.settings {
            Some(first) => self.report.duplicate("`settings`", settings.header, first.header),
            None => self.module.settings = Some(settings),
        }
    }

    pub(super) fn secret(&mut self, mut block: Block) {
        let Some([name]) = self.report.labels(&mut block, ["name"]) else { return };
        self.report.name(&name);
        let mut fields = Fields::new(block, &mut self.report);
        let from = fields.required("from");
        let provider = fields.expr("provider").and_then(|e| reference::provider(&e, fields.report));
        let secret = Secret { name, from, provider, header: fields.header };
        fields.finish();
        let (name, span) = (secret.name.name.clone(), secret.header);
        declare(&mut self.module.secrets, &name, span, secret, |s| s.header, "secret", &mut self.report);
    }
}

fn settings(block: Block, report: &mut Report) -> Settings {
    let n_problems = report.diagnostics.len();
    let mut incomplete = block.body.incomplete;
    let mut fields = Fields::new(block, report);
    let header = fields.header;
    let required_version = fields.expr("required_version").and_then(|expr| {
        let text = constant::text(&expr, &mut fields.report.diagnostics)?;
        match version::allows(&text, env!("CARGO_PKG_VERSION")) {
            Ok(true) => {}
            Ok(false) => {
                let detail = format!(
                    "This is fleet {}, and the configuration wants {text}.",
                    env!("CARGO_PKG_VERSION")
                );
                let help = "install a version that fits, or change `required_version`";
                fields.report.push(Diagnostic::error(expr.span, "wrong version of fleet", detail).help(help));
            }
            Err(part) => {
                let detail = format!("`{part}` is not a comparison with a version.");
                let help =
                    "write comparisons with commas between them, such as `\">= 0.1, < 2\"` or `\"~> 0.1\"`";
                fields
                    .report
                    .push(Diagnostic::error(expr.span, "not a version requirement", detail).help(help));
            }
        }
        Some(text)
    });
    let backend = fields.block("backend").and_then(|mut block| {
        incomplete |= block.body.incomplete;
        let [kind] = fields.report.labels(&mut block, ["kind"])?;
        Some(Backend { kind, header: block.header, body: block.body })
    });
    let digest_key = fields.expr("digest_key");
    for block in fields.stray_blocks("required_providers") {
        let detail = "Providers are built in and have the version of `fleet`.";
        let error = Diagnostic::error(block.header, "unknown block `required_providers`", detail);
        fields.report.push(error.help("remove it"));
    }
    fields.finish();
    incomplete |= report.diagnostics.len() > n_problems;
    Settings { required_version, backend, digest_key, incomplete, header }
}
