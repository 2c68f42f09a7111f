//! Stands in for the commands of Macs, for a lab that runs in another program than `fleet`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fleet_lab::mac::stand_in().unwrap_or(ExitCode::FAILURE)
}
