//! `module`: a call of a module.

use fleet_syntax::Diagnostic;
use fleet_syntax::tree::Block;

use super::fields::Fields;
use super::reference;
use super::report::Report;
use super::resource::repeat;
use crate::config::constant;
use crate::config::model::{Call, Source};

/// Reads a `module` block.
pub(super) fn call(mut block: Block, report: &mut Report) -> Option<Call> {
    let [name] = report.labels(&mut block, ["name"])?;
    report.name(&name);
    let mut fields = Fields::new(block, report);
    let header = fields.header;
    let source = source(&mut fields);
    let repeat = repeat(&mut fields);
    let depends_on = fields.expr("depends_on").map(|e| reference::depends_on(e, fields.report));
    let providers = fields.expr("providers").map(|e| reference::providers(&e, fields.report));
    if let Some(version) = fields.attribute("version") {
        let detail = "Modules are called from local directories, which have the version that lies there.";
        fields
            .report
            .push(Diagnostic::error(version.name.span, "module with a version", detail).help("remove it"));
    }
    let rest = fields.rest();
    for block in &rest.blocks {
        let name = &block.kind.name;
        let error =
            Diagnostic::error(block.header, "block in a module call", "A module takes arguments only.");
        let help = format!("to pass an object, write an equals sign: `{name} = {{ … }}`");
        report.push(error.help(help));
    }
    Some(Call {
        name,
        source,
        module: None,
        inputs: rest.attributes.into_iter().map(|input| (input.name.name.clone(), input)).collect(),
        repeat,
        depends_on: depends_on.unwrap_or_default(),
        providers: providers.unwrap_or_default(),
        header,
    })
}

fn source(fields: &mut Fields<'_>) -> Option<Source> {
    let Some(expr) = fields.expr("source") else {
        fields.missing("source");
        return None;
    };
    let path = constant::text(&expr, &mut fields.report.diagnostics)?;
    if path.starts_with("./") || path.starts_with("../") {
        return Some(Source { path, span: expr.span });
    }
    let is_remote = path.contains("::") || path.contains("://") || path.contains('@') || is_host(&path);
    let help = if is_remote {
        "copy the module into this repository and call it by its relative path".to_owned()
    } else if path.starts_with('/') {
        "write the path relative to this module, starting with `./` or `../`".to_owned()
    } else {
        format!("write `\"./{path}\"`")
    };
    let detail =
        format!("`{path}` does not start with `./` or `../`, and modules are called from local directories.");
    fields.report.push(Diagnostic::error(expr.span, "not a local path", detail).help(help));
    None
}

/// Whether a path starts with the name of a host, as in `github.com/owner/name`.
fn is_host(path: &str) -> bool {
    path.split_once('/').is_some_and(|(first, _)| first.contains('.'))
}
