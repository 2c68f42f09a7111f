//! `cargo xtask incidents`: every known incident is healed, and none of them without its cure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::run::{cargo, root};

/// Heal every known incident on Macs of the lab, or see that none is healed without its cure
#[derive(clap::Args)]
pub(crate) struct IncidentsArgs {
    /// Take this cure away, or each in turn with `all`: every incident that names it must then fail
    #[arg(long, value_name = "NAME")]
    without_cure: Option<String>,
}

pub(crate) fn incidents(args: &IncidentsArgs) -> Outcome {
    let heal = || cargo(&["nextest", "run", "-p", "fleet-cli", "-E", "test(macos::incidents::)"], &[]);
    let Some(name) = &args.without_cure else { return heal() };
    let mut cures = cures()?;
    if name == "all" {
        let without: Vec<String> =
            in_the_sources()?.into_iter().filter(|cure| !cures.contains_key(cure)).collect();
        if !without.is_empty() {
            return Err(format!("no incident in tests/incidents names: {}", without.join(", ")));
        }
        // That one fails without its cure says something only if it is healed with it.
        heal()?;
    } else {
        cures.retain(|cure, _| cure == name);
    }
    if cures.is_empty() {
        return Err(format!("no incident in tests/incidents names the cure `{name}`"));
    }
    cargo(&["nextest", "run", "-p", "fleet-cli", "--no-run"], &[])?;
    let (mut unexpected, mut count) = (Vec::new(), 0);
    println!("| cure | incident | without the cure | fails in | as expected |\n|---|---|---|---|---|");
    for (cure, incidents) in &cures {
        for incident in incidents {
            let end = run(incident, cure)?;
            let (what, phase) = match &end {
                End::Green => ("green", "-"),
                End::Red(phase) => ("red", &**phase),
            };
            let is_expected = end.is_for_want_of_the_cure();
            println!(
                "| `{cure}` | `{incident}` | {what} | {phase} | {} |",
                if is_expected { "yes" } else { "NO" }
            );
            count += 1;
            if !is_expected {
                unexpected.push(format!("{incident} without {cure} ({what}, {phase})"));
            }
        }
    }
    let known: BTreeSet<&String> = cures.values().flatten().collect();
    println!(
        "\n{} cures, {} incidents: {} of {count} pairs are red",
        cures.len(),
        known.len(),
        count - unexpected.len()
    );
    match unexpected.is_empty() {
        true => Ok(()),
        false => Err(format!("not red for want of the cure: {}", unexpected.join(", "))),
    }
}

/// Where cures may stand.
const PLACES: [&str; 4] = ["engine/src", "providers/src", "transport/src", "examples/modules"];

/// The cures that are named in the sources.
fn in_the_sources() -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<PathBuf> = PLACES.iter().map(|place| root().join(place)).collect();
    while let Some(path) = open.pop() {
        let unread = |error: std::io::Error| format!("{}: {error}", path.display());
        if path.is_dir() {
            for entry in fs::read_dir(&path).map_err(unread)? {
                open.push(entry.map_err(unread)?.path());
            }
        } else if path != root().join("engine/src/cure.rs") {
            found.extend(named_in(&String::from_utf8_lossy(&fs::read(&path).map_err(unread)?)));
        }
    }
    Ok(found)
}

/// The cures that a text names.
fn named_in(text: &str) -> Vec<String> {
    let in_scripts = text.lines().filter_map(|line| line.trim_start().strip_prefix("# cure "));
    let in_rust = text.split("cure::is_there(\"").skip(1).filter_map(|rest| rest.split('"').next());
    in_scripts.chain(in_rust).map(str::to_owned).collect()
}

/// The incidents that name each cure.
fn cures() -> Result<BTreeMap<String, Vec<String>>, String> {
    let directory = root().join("tests/incidents");
    let unread = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut cures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in fs::read_dir(&directory).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(unread)?;
        let incident = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let named = text.lines().find_map(|line| line.strip_prefix("cures: ")).unwrap_or_default();
        for cure in named.split(", ").filter(|cure| !cure.is_empty()) {
            cures.entry(cure.to_owned()).or_default().push(incident.clone());
        }
    }
    cures.values_mut().for_each(|incidents| incidents.sort());
    Ok(cures)
}

/// How a scenario ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// It is healed.
    Green,
    /// It failed, in this phase.
    Red(String),
}

impl End {
    /// Whether it failed where cures are missed: where the plan names what is wrong, or later. A host that could not be
    /// prepared or broken, and a test that was ended because it hung, say nothing.
    fn is_for_want_of_the_cure(&self) -> bool {
        matches!(self, End::Red(phase) if ["plan", "apply", "converged", "afterwards"].contains(&&**phase))
    }

    /// That of a test which failed, by what it printed.
    fn of_failure(printed: &str) -> End {
        let phase =
            printed.lines().find_map(|line| line.trim().strip_prefix("the incident failed in phase: "));
        End::Red(phase.unwrap_or("nobody knows").to_owned())
    }
}

/// How an incident ends without a cure.
fn run(incident: &str, cure: &str) -> Result<End, String> {
    let test = format!("test(=macos::incidents::{})", incident.replace('-', "_"));
    let mut command = Command::new(env!("CARGO"));
    command.args(["nextest", "run", "-p", "fleet-cli", "-E", &test]).current_dir(root());
    command.env("FLEET_WITHOUT_CURE", cure).stdin(Stdio::null());
    let ran = command.output().map_err(|error| format!("the tests cannot be started: {error}"))?;
    let printed = [ran.stdout, ran.stderr].concat();
    // Tests that failed, and not tests that could not be run.
    match ran.status.code() {
        Some(0) => Ok(End::Green),
        Some(100) => Ok(End::of_failure(&String::from_utf8_lossy(&printed))),
        _ => Err(format!("the test of `{incident}` could not be run: {}", ran.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cures_are_found_in_scripts_and_in_rust() {
        let text =
            "  # cure one\n  a\n  # end one\nif cure::is_there(\"two\") && !cure::is_there(\"three\") {}\n";
        assert_eq!(named_in(text), ["one", "two", "three"]);
    }

    #[test]
    fn only_what_fails_after_the_host_was_broken_is_for_want_of_a_cure() {
        let failed = |printed: &str| End::of_failure(printed).is_for_want_of_the_cure();
        for phase in ["plan", "apply", "converged", "afterwards"] {
            assert!(failed(&format!("a\n    the incident failed in phase: {phase}\nb\n")), "{phase}");
        }
        for printed in [
            "the incident failed in phase: preparation",
            "the incident failed in phase: broken",
            "TIMEOUT",
            "",
        ] {
            assert!(!failed(printed), "{printed}");
        }
        assert!(!End::Green.is_for_want_of_the_cure());
    }

    #[test]
    fn every_cure_has_an_incident() {
        let cures = cures().unwrap();
        let without: Vec<String> =
            in_the_sources().unwrap().into_iter().filter(|cure| !cures.contains_key(cure)).collect();
        assert_eq!(without, [""; 0]);
    }
}
