//! Where problems go while blocks are read, and what several blocks check alike: labels and names.

use fleet_syntax::tree::{Block, Ident};
use fleet_syntax::{Diagnostic, Diagnostics, Span, is_name};

/// The problems found so far.
#[derive(Default)]
pub(super) struct Report {
    /// What was found.
    pub(super) diagnostics: Diagnostics,
}

impl Report {
    /// Adds a problem.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Takes the labels of a block. Too many are reported and dropped; too few are reported, and the block is lost.
    pub(super) fn labels<const N: usize>(
        &mut self,
        block: &mut Block,
        names: [&str; N],
    ) -> Option<[Ident; N]> {
        let mut labels = std::mem::take(&mut block.labels);
        let kind = &block.kind.name;
        let form = || {
            let labels: String = names.iter().map(|name| format!(" \"{name}\"")).collect();
            format!("write `{kind}{labels} {{ … }}`")
        };
        if let Some(extra) = labels.get(N) {
            let detail = match N {
                0 => format!("`{kind}` takes no label."),
                1 => format!("`{kind}` takes one label: its {}.", names[0]),
                _ => format!("`{kind}` takes {N} labels: its {}.", names.join(" and its ")),
            };
            self.push(Diagnostic::error(extra.span, "label too many", detail).help(form()));
            labels.truncate(N);
        } else if let Some(missing) = names.get(labels.len()) {
            let detail = format!("`{kind}` needs {}, each as a quoted label.", names.join(" and "));
            self.push(
                Diagnostic::error(block.header, format!("`{kind}` without a {missing}"), detail).help(form()),
            );
            return None;
        }
        labels.try_into().ok()
    }

    /// Checks that a label can be referred to.
    pub(super) fn name(&mut self, name: &Ident) {
        if !is_name(&name.name) {
            let detail = "A name starts with a letter or `_` and goes on with letters, digits, `_` and `-`.";
            let summary = format!("`{}` is not a name", name.name.escape_debug());
            self.push(Diagnostic::error(name.span, summary, detail).help("choose a name of that form"));
        }
    }

    /// Reports a second declaration of a name.
    pub(super) fn duplicate(&mut self, what: &str, second: Span, first: Span) {
        let error =
            Diagnostic::error(second, format!("{what} is declared twice"), "A name can be declared once.");
        self.push(error.related(first, "declared first here").help("rename or remove one of the two"));
    }
}
