//! Running other programs from the root of the project.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the root of the project").to_path_buf()
}

/// Runs cargo and shows what it prints.
pub(crate) fn cargo(args: &[&str], vars: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(env!("CARGO"));
    command.args(args).envs(vars.iter().copied()).current_dir(root());
    run(&mut command)
}

/// Runs a program and shows what it prints.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let line = words.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("`{line}` cannot be started: {error}")),
    }
}

/// Whether a program answers when it is called like that.
pub(crate) fn answers(program: &str, args: &[&str]) -> bool {
    let status = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|s| s.success())
}
