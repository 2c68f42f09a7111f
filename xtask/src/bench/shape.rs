//! The configurations that are measured: the same text for every tool but for the name of the kind.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::tool::Tool;
use crate::run::root;

/// A configuration to be written, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// So many instances of one block.
    Independent(usize),
    /// So many blocks, in chains of ten.
    Chains(usize),
    /// So many instances, twelve for each host, as a fleet has them.
    Hosts(usize),
    /// So many calls of one module.
    Modules(usize),
}

/// Depth of the chains of references.
const DEPTH: usize = 10;

/// What there is on a host, and what each part depends on.
const PARTS: [(&str, &[&str]); 12] = [
    ("server", &[]),
    ("sshkey", &["server"]),
    ("hostname", &["sshkey"]),
    ("tailscale", &["sshkey"]),
    ("pf_anchor", &["tailscale"]),
    ("pf_rules", &["pf_anchor"]),
    ("kubelet_bin", &["tailscale"]),
    ("kubelet_cfg", &["hostname", "pf_rules"]),
    ("kubelet", &["kubelet_bin", "kubelet_cfg"]),
    ("runner_user", &["sshkey"]),
    ("runner_cfg", &["runner_user", "kubelet"]),
    ("runner", &["runner_cfg"]),
];

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Independent(n) => write!(f, "{n} independent"),
            Shape::Chains(n) => write!(f, "{n} blocks in chains of {DEPTH}"),
            Shape::Hosts(n) => write!(f, "{n} in a fleet"),
            Shape::Modules(n) => write!(f, "{n} modules"),
        }
    }
}

impl Shape {
    /// Writes it into a directory of its own, which is made anew.
    pub(crate) fn prepare(self, tool: Tool) -> Result<PathBuf, String> {
        let name = format!("{self} {}", tool.name()).replace(' ', "-");
        let directory = root().join("target/bench").join(name);
        let written = match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::create_dir_all(&directory).and_then(|()| self.write(&directory, tool)),
        };
        written.map_err(|e| format!("cannot write {}: {e}", directory.display()))?;
        Ok(directory)
    }

    fn write(self, directory: &Path, tool: Tool) -> io::Result<()> {
        let (kind, extension) = (tool.kind(), tool.extension());
        let mut main = BufWriter::new(File::create(directory.join(format!("main.{extension}")))?);
        match self {
            Shape::Independent(n) => {
                writeln!(
                    main,
                    "variable \"items\" {{\n  type = map(number)\n}}\n\nresource \"{kind}\" \"r\" {{\n  for_each = var.items\n  \
                     input    = {{ name = \"r${{each.key}}\", mode = \"0644\", port = each.key }}\n}}"
                )?;
                let mut values = BufWriter::new(File::create(directory.join(tool.values_file()))?);
                writeln!(values, "items = {{")?;
                (0..n).try_for_each(|i| writeln!(values, "  \"{i}\" = {i}"))?;
                writeln!(values, "}}")?;
                values.flush()?;
            }
            Shape::Chains(n) => {
                for (chain, depth) in (0..n / DEPTH).flat_map(|c| (0..DEPTH).map(move |d| (c, d))) {
                    let parent = match depth.checked_sub(1) {
                        None => format!("\"root{chain}\""),
                        Some(above) => format!("{kind}.c{chain}_{above}.output.name"),
                    };
                    writeln!(
                        main,
                        "resource \"{kind}\" \"c{chain}_{depth}\" {{\n  input = {{\n    name   = \"c{chain}-{depth}\"\n    \
                         parent = {parent}\n  }}\n}}\n"
                    )?;
                }
            }
            Shape::Hosts(n) => {
                let hosts = n.div_ceil(PARTS.len());
                // A range has at most 1024 elements.
                writeln!(
                    main,
                    "locals {{\n  numbers = flatten([for a in range({}) : range(a * 1000, min(a * 1000 + 1000, {hosts}))])\n  \
                     hosts = {{ for i in local.numbers : format(\"mini-%05d\", i) => {{ addr = format(\"100.64.%d.%d\", \
                     floor(i / 250), i % 250 + 1), pool = i % 4 }} }}\n}}\n\nmodule \"host\" {{\n  source   = \"./host\"\n  \
                     for_each = local.hosts\n  name     = each.key\n  addr     = each.value.addr\n  pool     = each.value.pool\n}}",
                    hosts.div_ceil(1000)
                )?;
                fs::create_dir_all(directory.join("host"))?;
                fs::write(directory.join(format!("host/main.{extension}")), host(kind))?;
            }
            Shape::Modules(n) => {
                for i in 0..n {
                    writeln!(main, "module \"m{i}\" {{\n  source = \"./m\"\n  name   = \"m-{i}\"\n}}\n")?;
                }
                fs::create_dir_all(directory.join("m"))?;
                let module = format!(
                    "variable \"name\" {{\n  type = string\n}}\n\nresource \"{kind}\" \"a\" {{\n  input = var.name\n}}\n\n\
                     resource \"{kind}\" \"b\" {{\n  input = \"${{{kind}.a.output}}-b\"\n}}\n\n\
                     output \"name\" {{\n  value = {kind}.b.output\n}}\n"
                );
                fs::write(directory.join(format!("m/main.{extension}")), module)?;
            }
        }
        main.flush()
    }
}

/// The module of one host.
fn host(kind: &str) -> String {
    let variable = |(name, ty)| format!("variable \"{name}\" {{\n  type = {ty}\n}}\n\n");
    let variables: String =
        [("name", "string"), ("addr", "string"), ("pool", "number")].into_iter().map(variable).collect();
    let part = |(name, needs): &(&str, &[&str])| {
        let needs: String =
            needs.iter().map(|need| format!("    {need} = {kind}.{need}.output.id\n")).collect();
        format!(
            "resource \"{kind}\" \"{name}\" {{\n  input = {{\n    id = \"${{var.name}}/{name}\"\n    addr = var.addr\n    \
             pool = var.pool\n{needs}  }}\n}}\n\n"
        )
    };
    let parts: String = PARTS.iter().map(part).collect();
    format!("{variables}{parts}output \"runner\" {{\n  value = {kind}.runner.output.id\n}}\n")
}
