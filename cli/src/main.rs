//! The `fleet` program: hands the process's surroundings to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    fleet_cli::run(std::env::args_os(), fleet_cli::Env::of_process()).into()
}
