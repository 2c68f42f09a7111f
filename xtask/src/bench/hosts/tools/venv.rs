//! Tools that come from Python's index of packages, each in an environment of its own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::run::{answers, root, run};

/// What is tried where nobody says which Python: newer ones get newer versions of the tools.
const PYTHONS: [&str; 5] = ["python3.14", "python3.13", "python3.12", "python3", "python"];

/// Where an environment lies.
pub(super) fn place(name: &str) -> PathBuf {
    root().join("target/bench").join(name)
}

/// Makes an environment with these packages, unless it is there.
pub(super) fn make(
    name: &str,
    program: &str,
    packages: &[&str],
    python: Option<&str>,
) -> Result<PathBuf, String> {
    let place = place(name);
    if place.join("bin").join(program).is_file() {
        return Ok(place);
    }
    let python = match python {
        Some(python) => python,
        None => {
            PYTHONS.into_iter().find(|it| answers(it, &["--version"])).ok_or("there is no Python here")?
        }
    };
    println!("{name}: installing…");
    run(Command::new(python).args(["-m", "venv"]).arg(&place))?;
    let mut pip = Command::new(place.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages);
    run(pip.stdout(Stdio::null()))?;
    Ok(place)
}

/// The version of a package in an environment.
pub(super) fn version(name: &str, package: &str) -> Option<String> {
    let mut pip = Command::new(place(name).join("bin/pip"));
    let output = pip.args(["show", "--disable-pip-version-check", package]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("Version: ")).map(str::to_owned)
}
