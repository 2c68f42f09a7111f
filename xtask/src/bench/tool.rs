//! fleet and its rival: what differs between them on the same text.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::run::{root, run};

/// A tool that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Fleet,
    Terraform,
}

/// What a tool is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Validate,
    Plan,
    Apply,
    Destroy,
}

impl Tool {
    /// What it calls itself.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Fleet => "fleet",
            Tool::Terraform => "terraform",
        }
    }

    /// Its kind that keeps a value in state.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Tool::Fleet => "core_value",
            Tool::Terraform => "terraform_data",
        }
    }

    /// How the names of its files end.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Tool::Fleet => "fleet.hcl",
            Tool::Terraform => "tf",
        }
    }

    /// The file that holds values of variables.
    pub(crate) fn values_file(self) -> &'static str {
        match self {
            Tool::Fleet => "fleet.vars.hcl",
            Tool::Terraform => "terraform.tfvars",
        }
    }

    /// Makes a directory ready.
    pub(crate) fn init(self, directory: &Path) -> Outcome {
        match self {
            Tool::Fleet => Ok(()),
            Tool::Terraform => {
                let mut command = self.command(directory);
                run(command.args(["init", "-backend=false", "-no-color"]).stdout(Stdio::null()))
            }
        }
    }

    /// A call of the tool in a directory.
    pub(crate) fn command(self, directory: &Path) -> Command {
        let mut command = match self {
            Tool::Fleet => Command::new(root().join("target/release/fleet")),
            Tool::Terraform => {
                let mut command = Command::new("terraform");
                command.env("CHECKPOINT_DISABLE", "1").env("TF_CLI_CONFIG_FILE", "/dev/null");
                command
            }
        };
        command.current_dir(directory);
        command
    }

    /// A call that does something, without asking.
    pub(crate) fn call(self, task: Task, directory: &Path) -> Command {
        let words: &[&str] = match (self, task) {
            (Tool::Fleet, Task::Validate) => &["validate"],
            (Tool::Fleet, Task::Plan) => &["plan"],
            (Tool::Fleet, Task::Apply) => &["apply", "--auto-approve"],
            (Tool::Fleet, Task::Destroy) => &["destroy", "--auto-approve"],
            (Tool::Terraform, Task::Validate) => &["validate", "-no-color"],
            (Tool::Terraform, Task::Plan) => &["plan", "-no-color", "-input=false"],
            (Tool::Terraform, Task::Apply) => &["apply", "-auto-approve", "-no-color", "-input=false"],
            (Tool::Terraform, Task::Destroy) => &["destroy", "-auto-approve", "-no-color", "-input=false"],
        };
        let mut command = self.command(directory);
        command.args(words);
        command
    }
}
