//! Tables of what texts mean, of what is wrong with them, and laws about all texts.

mod hostile;
mod laws;
mod meaning;
mod mistakes;
mod oracle;
mod print;
mod show;
mod strings;

use crate::{Diagnostics, FileId, Sources, Span};

const FILE: FileId = FileId(0);

/// Errors as `line:column text-underlined summary`.
fn errors(text: &str, diagnostics: &Diagnostics) -> Vec<String> {
    let mut sources = Sources::default();
    let file = sources.add("test", text);
    let show = |span: Span| {
        let position = sources.get(file).position(span.start);
        format!("{}:{} {:?}", position.line, position.column, sources.text(span))
    };
    diagnostics
        .iter()
        .map(|diagnostic| {
            let place = show(diagnostic.span.expect("a syntax error has a place"));
            for (related, _) in &diagnostic.related {
                show(*related);
            }
            format!("{place} {}", diagnostic.summary)
        })
        .collect()
}
