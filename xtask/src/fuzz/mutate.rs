//! Where texts come from: a corpus, and what is done to it.

use std::fs;
use std::path::Path;

use fastrand::Rng;
use fleet_lang::functions;

use crate::run::root;

/// Pieces that mean something to the lexer, so that mutations reach further than noise would.
const PIECES: &[&str] = &[
    "${",
    "%{",
    "}",
    "{",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "\\",
    "\n",
    "\r\n",
    "\u{feff}",
    "\0",
    "<<EOT\n",
    "<<-EOT\n",
    "EOT\n",
    "~}",
    "%{ if true ~}",
    "%{ endif }",
    "%{ for x in [1] }",
    "%{ endfor }",
    "$${",
    "%%{",
    "...",
    "..",
    ".*",
    "[*]",
    "=>",
    "==",
    "!=",
    "<=",
    ">=",
    "&&",
    "||",
    "?",
    ":",
    "::",
    "for",
    "in",
    "if",
    "null",
    "true",
    "-",
    "!",
    "0x1",
    "1e999999999",
    "1e-99999",
    "00",
    ".5",
    "0.1",
    "99999999999999999999",
    "\\u0065\\u0301",
    "é",
    "e\u{301}",
    "😀",
    "\u{202e}",
    "#",
    "//",
    "/*",
    "*/",
    "=",
    ",",
    "resource \"core_value\" \"a\" {\n",
    "locals {\n",
    "local.a",
    "var.x",
    "core_value.a.output",
    "each.key",
    "count.index",
    "self",
    "path.module",
    "range(1024)",
    "try(",
    "jsondecode(",
    "format(\"%9999999d\", ",
    "cidrsubnet(",
    "regex(",
    "templatestring(",
];

/// A few texts that no file of the project holds.
const SEEDS: &[&str] = &[
    "a = <<-EOT\n  x ${upper(\"a\")}\n    %{ if true ~}\n  y\n  %{ endif }\n  EOT\n",
    "locals {\n  a = { for k, v in { x = 1 } : k => v... if v > 0 }\n  b = [for x in [1, 2] : x * 2][*]\n}\n",
    "1 + 2 * 3 % 4 == 5 ? !true : -1 < 2 && false || \"a${1}b\" != null\n",
    "fleet \"r\" {\n  pool = pool.p\n  size = 2\n  hostname = \"h-${host.key}\"\n}\npool \"static\" \"p\" {}\n",
];

/// The texts to start from: examples, templates, the examples of all functions.
pub(super) fn corpus() -> Result<Vec<Vec<u8>>, String> {
    let mut texts: Vec<Vec<u8>> = SEEDS.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    for directory in ["examples", "cli/src/commands/init"] {
        collect(&root().join(directory), &mut texts)
            .map_err(|error| format!("cannot read {directory}: {error}"))?;
    }
    let examples = functions::all().flat_map(|function| function.examples);
    texts.extend(examples.map(|(expression, _)| expression.as_bytes().to_vec()));
    Ok(texts)
}

/// The text of a case: one of the corpus, changed a little or a lot.
pub(super) fn mutate(corpus: &[Vec<u8>], case: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(case);
    let mut text = corpus[rng.usize(..corpus.len())].clone();
    for _ in 0..rng.usize(..8) {
        let at = rng.usize(..=text.len());
        let end = (at + rng.usize(..16)).min(text.len());
        match rng.u8(..8) {
            0 => _ = text.splice(at..end, []),
            1 => _ = text.splice(at..at, (0..rng.usize(1..8)).map(|_| rng.u8(..)).collect::<Vec<_>>()),
            2 => text.truncate(at),
            3 => {
                let other = &corpus[rng.usize(..corpus.len())];
                let from = rng.usize(..=other.len());
                text.splice(at..end, other[from..].iter().copied());
            }
            4 => {
                let piece = PIECES[rng.usize(..PIECES.len())].repeat(rng.usize(1..400));
                text.splice(at..at, piece.into_bytes());
            }
            _ => {
                let piece = PIECES[rng.usize(..PIECES.len())];
                text.splice(at..end, piece.bytes());
            }
        }
    }
    text
}

fn collect(directory: &Path, texts: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    // The order of a directory is not the same everywhere, and cases are known by number.
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "hcl") {
            texts.push(fs::read(&path)?);
        }
    }
    Ok(())
}
