//! The two programs, and how a configuration is written for each.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::run::root;

/// One of the two programs that are compared.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) flavour: Flavour,
    path: PathBuf,
    /// What it says its version is.
    pub(super) version: String,
}

/// Whose words a configuration is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    Fleet,
    Terraform,
}

impl Program {
    /// The `terraform` on the PATH.
    pub(super) fn terraform() -> Result<Program, String> {
        let mut program =
            Program { flavour: Flavour::Terraform, path: "terraform".into(), version: String::new() };
        let output = program.run(&root(), &["version", "-json"], "");
        let output = output.map_err(|_| "`terraform` is not installed: this chore compares with it")?;
        let answer: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("terraform version: {error}"))?;
        program.version = answer["terraform_version"].as_str().unwrap_or("unknown").to_owned();
        if !program.version.starts_with("1.11.") {
            println!("note: the cases were written for terraform 1.11, this is {}", program.version);
        }
        Ok(program)
    }

    /// The `fleet` that cargo built for development.
    pub(super) fn fleet() -> Result<Program, String> {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let path = target.join("debug/fleet");
        let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Program { flavour: Flavour::Fleet, path, version: String::new() })
    }

    /// Runs it in a directory. Nothing of this machine's settings reaches it.
    pub(super) fn run(&self, dir: &Path, args: &[&str], input: &str) -> Result<Output, String> {
        self.run_with(dir, args, &[], input)
    }

    /// Runs it in a directory with more variables in its environment.
    pub(super) fn run_with(
        &self,
        dir: &Path,
        args: &[&str],
        vars: &[(String, String)],
        input: &str,
    ) -> Result<Output, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        let mut command = Command::new(&self.path);
        command.args(args).current_dir(dir).env_clear().envs(vars.iter().map(|(name, value)| (name, value)));
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs([("HOME", dir), ("TF_CLI_CONFIG_FILE", Path::new("/dev/null"))]);
        command.envs([("CHECKPOINT_DISABLE", "1"), ("TF_IN_AUTOMATION", "1"), ("NO_COLOR", "1")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        // A program that ends before it has read everything has its reasons, and says them.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().map_err(failed)
    }
}

impl Flavour {
    /// The text of a configuration in the words of this program.
    pub(super) fn text(self, ours: &str) -> String {
        match self {
            Flavour::Fleet => ours.to_owned(),
            Flavour::Terraform => ours.replace("core_value", "terraform_data"),
        }
    }

    /// The name of a file of a configuration.
    pub(super) fn file_name(self, ours: &str) -> String {
        if self == Flavour::Fleet {
            return ours.to_owned();
        }
        if ours == "fleet.vars.hcl" {
            "terraform.tfvars".to_owned()
        } else if let Some(stem) = ours.strip_suffix(".vars.hcl") {
            format!("{stem}.tfvars")
        } else if let Some(stem) = ours.strip_suffix(".fleet.hcl") {
            format!("{stem}.tf")
        } else {
            ours.to_owned()
        }
    }

    /// What environment variables that set variables start with.
    pub(super) fn variable_prefix(self) -> &'static str {
        match self {
            Flavour::Fleet => "FLEET_VAR_",
            Flavour::Terraform => "TF_VAR_",
        }
    }

    /// Copies a configuration with everything beside it.
    pub(super) fn copy(self, from: &Path, to: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", from.display());
        fs::create_dir_all(to).map_err(failed)?;
        for entry in fs::read_dir(from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let target = to.join(self.file_name(&name));
            if entry.file_type().map_err(failed)?.is_dir() {
                self.copy(&entry.path(), &target)?;
            } else if name.ends_with(".hcl") {
                let text = fs::read_to_string(entry.path()).map_err(failed)?;
                fs::write(target, self.text(&text)).map_err(failed)?;
            } else {
                fs::copy(entry.path(), target).map_err(failed)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_follow_the_program() {
        let check = |ours, theirs: &str| assert_eq!(Flavour::Terraform.file_name(ours), theirs);
        check("main.fleet.hcl", "main.tf");
        check("fleet.vars.hcl", "terraform.tfvars");
        check("a.auto.vars.hcl", "a.auto.tfvars");
        check("more.vars.hcl", "more.tfvars");
        check("hello.txt", "hello.txt");
        assert_eq!(Flavour::Fleet.file_name("fleet.vars.hcl"), "fleet.vars.hcl");
    }
}
