//! `cargo xtask incidents`: every known incident is healed, and none of them without its cure.

use std::collections::BTreeMap;
use std::fs;
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
    let Some(name) = &args.without_cure else {
        return cargo(&["nextest", "run", "-p", "fleet-cli", "-E", "test(macos::incidents::)"], &[]);
    };
    let mut cures = cures()?;
    if name != "all" {
        cures.retain(|cure, _| cure == name);
    }
    if cures.is_empty() {
        return Err(format!("no incident in tests/incidents names the cure `{name}`"));
    }
    cargo(&["nextest", "run", "-p", "fleet-cli", "--no-run"], &[])?;
    let mut healed = Vec::new();
    println!("| cure | incident | without the cure |\n|---|---|---|");
    for (cure, incidents) in &cures {
        for incident in incidents {
            let fails = !is_healed(incident, cure)?;
            println!("| {cure} | {incident} | {} |", if fails { "fails" } else { "IS HEALED" });
            if !fails {
                healed.push(format!("{incident} without {cure}"));
            }
        }
    }
    match healed.is_empty() {
        true => Ok(()),
        false => Err(format!("healed all the same: {}", healed.join(", "))),
    }
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
