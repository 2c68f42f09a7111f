//! `cargo xtask bench validate`: large configurations, beside `terraform validate` on the same text.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::measure::best_of;
use super::report::{Row, publish, table};
use crate::Outcome;
use crate::run::{answers, cargo, root, run};

/// Large configurations beside `terraform validate` on the same text
#[derive(clap::Args)]
pub(crate) struct ValidateArgs {
    /// How many times fleet runs
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// How many times Terraform runs
    #[arg(long, default_value_t = 2)]
    rival_runs: usize,
}

/// Depth of the chains of references.
const DEPTH: usize = 10;

/// A configuration to be written.
#[derive(Clone, Copy)]
enum Shape {
    /// So many blocks, in chains of ten.
    Chains(usize),
    /// So many calls of one module.
    Modules(usize),
}

/// The dialects: what differs between the two tools on the same text.
#[derive(Clone, Copy)]
enum Tool {
    Fleet,
    Terraform,
}

pub(crate) fn validate(args: &ValidateArgs) -> Outcome {
    cargo(&["build", "--release", "--locked", "--package", "fleet-cli"], &[])?;
    let with_rival = answers("terraform", &["version"]);
    let mut rows = Vec::new();
    for shape in [Shape::Chains(10_000), Shape::Chains(20_000), Shape::Modules(1_000), Shape::Modules(2_000)]
    {
        let work = shape.name();
        println!("{work}…");
        let fleet = best_of(args.runs, &mut Tool::Fleet.validate(&prepare(shape, Tool::Fleet)?))?;
        let rival = if with_rival {
            let directory = prepare(shape, Tool::Terraform)?;
            run(terraform(&directory).args(["init", "-backend=false", "-no-color"]).stdout(Stdio::null()))?;
            Some(best_of(args.rival_runs, &mut Tool::Terraform.validate(&directory))?)
        } else {
            None
        };
        rows.push(Row { work, fleet, rival });
    }
    let growth = |small: &Row, large: &Row| large.fleet.cpu.as_secs_f64() / small.fleet.cpu.as_secs_f64();
    let section = format!(
        "## validate\n\nCommand: `cargo xtask bench validate`. The same text with `core_value` and `terraform_data`.\n\n\
         {}\nTwice the blocks cost fleet {:.2} times the CPU, twice the modules {:.2} times.\n",
        table("terraform", &rows),
        growth(&rows[0], &rows[1]),
        growth(&rows[2], &rows[3]),
    );
    publish("validate", &section)
}

impl Shape {
    fn name(self) -> String {
        match self {
            Shape::Chains(n) => format!("{n} blocks in chains of {DEPTH}"),
            Shape::Modules(n) => format!("{n} modules"),
        }
    }

    fn write(self, directory: &Path, tool: Tool) -> io::Result<()> {
        let (kind, extension) = (tool.kind(), tool.extension());
        let mut main = BufWriter::new(File::create(directory.join(format!("main.{extension}")))?);
        match self {
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

impl Tool {
    fn kind(self) -> &'static str {
        match self {
            Tool::Fleet => "core_value",
            Tool::Terraform => "terraform_data",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Tool::Fleet => "fleet.hcl",
            Tool::Terraform => "tf",
        }
    }

    fn validate(self, directory: &Path) -> Command {
        match self {
            Tool::Fleet => {
                let mut command = Command::new(root().join("target/release/fleet"));
                command.arg("-C").arg(directory).arg("validate");
                command
            }
            Tool::Terraform => {
                let mut command = terraform(directory);
                command.args(["validate", "-no-color"]);
                command
            }
        }
    }
}

fn terraform(directory: &Path) -> Command {
    let mut command = Command::new("terraform");
    command.current_dir(directory).env("CHECKPOINT_DISABLE", "1").env("TF_CLI_CONFIG_FILE", "/dev/null");
    command
}

fn prepare(shape: Shape, tool: Tool) -> Result<PathBuf, String> {
    let name = format!("{} {}", shape.name(), tool.kind()).replace(' ', "-");
    let directory = root().join("target/bench").join(name);
    let written = match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(&directory).and_then(|()| shape.write(&directory, tool)),
    };
    written.map_err(|e| format!("cannot write {}: {e}", directory.display()))?;
    Ok(directory)
}
