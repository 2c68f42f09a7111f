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
    let (mut healed, mut count) = (Vec::new(), 0);
    println!("| cure | incident | without the cure | as expected |\n|---|---|---|---|");
    for (cure, incidents) in &cures {
        for incident in incidents {
            let fails = !is_healed(incident, cure)?;
            let (what, so) = if fails { ("red", "yes") } else { ("green", "NO") };
            println!("| `{cure}` | `{incident}` | {what} | {so} |");
            count += 1;
            if !fails {
                healed.push(format!("{incident} without {cure}"));
            }
        }
    }
    let known: BTreeSet<&String> = cures.values().flatten().collect();
    println!(
        "\n{} cures, {} incidents: {} of {count} pairs are red",
        cures.len(),
        known.len(),
        count - healed.len()
    );
    match healed.is_empty() {
        true => Ok(()),
        false => Err(format!("healed all the same: {}", healed.join(", "))),
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

/// Whether an incident is healed without a cure.
fn is_healed(incident: &str, cure: &str) -> Result<bool, String> {
    let test = format!("test(=macos::incidents::{})", incident.replace('-', "_"));
    let mut command = Command::new(env!("CARGO"));
    command.args(["nextest", "run", "-p", "fleet-cli", "-E", &test]).current_dir(root());
    command.env("FLEET_WITHOUT_CURE", cure).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().map_err(|error| format!("the tests cannot be started: {error}"))?;
    // Tests that failed, and not tests that could not be run.
    match status.code() {
        Some(0) => Ok(true),
        Some(100) => Ok(false),
        _ => Err(format!("the test of `{incident}` could not be run: {status}")),
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
    fn every_cure_has_an_incident() {
        let cures = cures().unwrap();
        let without: Vec<String> =
            in_the_sources().unwrap().into_iter().filter(|cure| !cures.contains_key(cure)).collect();
        assert_eq!(without, [""; 0]);
    }
}
