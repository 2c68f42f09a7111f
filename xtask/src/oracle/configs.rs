//! Whole configurations: `tests/oracle/configs/NNN-name/`, written for fleet and translated for Terraform.
//!
//! A file `given` beside the configuration holds what the user gives on the command line, one option a line:
//! `--var NAME=VALUE`, `--var-file FILE`, or `NAME=VALUE` for the environment (without its prefix).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value as Json;
use tempfile::TempDir;

use super::printed::parts;
use super::program::{Flavour, Program};
use super::report::{Disagreement, Report};
use crate::Outcome;

/// What a program makes of a configuration.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It was applied and has these outputs.
    Outputs(BTreeMap<String, String>),
    /// It is refused at these places: file and line.
    Refused(BTreeSet<(String, usize)>),
}

/// Asks both about every configuration.
pub(super) fn compare(fleet: &Program, terraform: &Program, dir: &Path, report: &mut Report) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
    let mut configs: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        configs.push(entry.map_err(failed)?.path());
    }
    configs.sort();
    report.start("configurations", configs.len());
    for config in configs {
        let (ours, theirs) = (of_fleet(fleet, &config)?, of_terraform(terraform, &config)?);
        if !agree(&ours, &theirs) {
            let name = config.file_name().unwrap_or_default().to_string_lossy();
            report.disagree("configurations", &Disagreement::of(&format!("config {name}"), &ours, &theirs));
        }
    }
    Ok(())
}

/// Both accept it with the same outputs, or both refuse it. Terraform stops at the first stage that finds something,
/// so we may name more places; but each of its own must be among ours.
fn agree(ours: &Verdict, theirs: &Verdict) -> bool {
    match (ours, theirs) {
        (Verdict::Outputs(ours), Verdict::Outputs(theirs)) => ours == theirs,
        (Verdict::Refused(ours), Verdict::Refused(theirs)) => theirs.is_subset(ours),
        _ => false,
    }
}

fn of_fleet(program: &Program, config: &Path) -> Result<Verdict, String> {
    let dir = copy(program, config)?;
    let given = Given::read(config, program.flavour)?;
    let words = given.words(&["apply", "--auto-approve"]);
    let mut stdout = String::new();
    for (words, environment) in [(vec!["validate"], &[][..]), (words, &given.environment)] {
        let output = program.run_with(dir.path(), &words, environment, "")?;
        if !output.status.success() {
            return Ok(Verdict::Refused(places(&String::from_utf8_lossy(&output.stderr))));
        }
        stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    let outputs = stdout.rsplit_once("\nDone: ").map_or(stdout.as_str(), |(_, rest)| rest);
    let (_, outputs) = outputs.split_once('\n').unwrap_or_default();
    Ok(Verdict::Outputs(named(outputs)))
}

/// Where our errors are, by the names that Terraform knows the files under.
fn places(stderr: &str) -> BTreeSet<(String, usize)> {
    let place = Regex::new(r"╭─\[(?:\./)?([^\[\]]+):(\d+):\d+\]").expect("the pattern is well formed");
    let found = place
        .captures_iter(stderr)
        .filter_map(|found| Some((Flavour::Terraform.file_name(&found[1]), found[2].parse().ok()?)));
    found.collect()
}

fn of_terraform(program: &Program, config: &Path) -> Result<Verdict, String> {
    let dir = copy(program, config)?;
    let given = Given::read(config, program.flavour)?;
    if dir.path().join("modules").exists() {
        // What is wrong here is found again, with its place, by `validate`.
        program.run(dir.path(), &["init", "-no-color", "-input=false"], "")?;
    }
    let output = program.run(dir.path(), &["validate", "-json", "-no-color"], "")?;
    let answer: Json = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    if answer["valid"] != true {
        return Ok(Verdict::Refused(errors(answer["diagnostics"].as_array().into_iter().flatten())));
    }
    let words = given.words(&["apply", "-auto-approve", "-input=false", "-json"]);
    let output = program.run_with(dir.path(), &words, &given.environment, "")?;
    if !output.status.success() {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<Json> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        return Ok(Verdict::Refused(errors(lines.iter().map(|line| &line["diagnostic"]))));
    }
    let output = program.run(dir.path(), &["output", "-no-color"], "")?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    // With no outputs at all it says so in a paragraph, on standard error or in a frame.
    Ok(Verdict::Outputs(named(&stdout)))
}

fn copy(program: &Program, config: &Path) -> Result<TempDir, String> {
    let dir = TempDir::new().map_err(|error| error.to_string())?;
    program.flavour.copy(config, dir.path())?;
    Ok(dir)
}

/// Where Terraform's errors are. Some, cycles above all, have no place.
fn errors<'j>(diagnostics: impl Iterator<Item = &'j Json>) -> BTreeSet<(String, usize)> {
    let errors = diagnostics.filter(|diagnostic| diagnostic["severity"] == "error");
    let place = |diagnostic: &Json| {
        let range = &diagnostic["range"];
        let line = usize::try_from(range["start"]["line"].as_u64()?).ok()?;
        Some((range["filename"].as_str()?.trim_start_matches("./").to_owned(), line))
    };
    errors.filter_map(place).collect()
}

/// Printed outputs by name. Null ones are left out, since Terraform forgets them; hidden ones are named alike.
fn named(printed: &str) -> BTreeMap<String, String> {
    let pairs = parts(printed, 0).into_iter().filter_map(|part| {
        let (name, value) = part.split_once(" = ")?;
        let value = if value == "<sensitive>" { "(sensitive value)" } else { value.trim_end() };
        (value != "null" && !value.ends_with("(null)")).then(|| (name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// What the user gives.
#[derive(Debug, Default)]
struct Given {
    options: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Given {
    fn read(config: &Path, flavour: Flavour) -> Result<Given, String> {
        let mut given = Given::default();
        let Ok(text) = fs::read_to_string(config.join("given")) else { return Ok(given) };
        for line in text.lines().filter(|line| !line.is_empty()) {
            let dashes = if flavour == Flavour::Fleet { "--" } else { "-" };
            if let Some(file) = line.strip_prefix("--var-file ") {
                given.options.push(format!("{dashes}var-file={}", flavour.file_name(file)));
            } else if let Some(setting) = line.strip_prefix("--var ") {
                given.options.push(format!("{dashes}var={setting}"));
            } else {
                let (name, value) = line.split_once('=').ok_or_else(|| format!("given: {line}"))?;
                given.environment.push((format!("{}{name}", flavour.variable_prefix()), value.to_owned()));
            }
        }
        Ok(given)
    }

    fn words<'w>(&'w self, command: &[&'w str]) -> Vec<&'w str> {
        command.iter().copied().chain(self.options.iter().map(String::as_str)).collect()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Outputs(outputs) => {
                f.write_str("applied")?;
                outputs.iter().try_for_each(|(name, value)| write!(f, "\n{name} = {value}"))
            }
            Verdict::Refused(places) => {
                f.write_str("refused at")?;
                places.iter().try_for_each(|(file, line)| write!(f, " {file}:{line}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_eighty_configurations() {
        let configs = fs::read_dir(super::super::data().join("configs")).unwrap();
        assert!(configs.count() >= 80);
    }

    #[test]
    fn outputs_are_told_apart() {
        let printed = "a = 1\nb = {\n  \"x\" = 2\n}\nc = <<EOT\nd = 3\nEOT\ne = null\nf = <sensitive>\n";
        let found: Vec<(String, String)> = named(printed).into_iter().collect();
        let expected =
            [("a", "1"), ("b", "{\n  \"x\" = 2\n}"), ("c", "<<EOT\nd = 3\nEOT"), ("f", "(sensitive value)")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
