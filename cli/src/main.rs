//! The `fleet` program: hands the process's surroundings to the library.

use std::process::ExitCode;

/// A plan makes very many small things; the system's allocator takes a quarter longer for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A Mac of the lab may have started this as one of its commands.
    if let Some(ended) = fleet_lab::mac::stand_in() {
        return ended;
    }
    fleet_cli::run(std::env::args_os(), fleet_cli::Env::of_process()).into()
}
