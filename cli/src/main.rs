//! The `fleet` program: hands the process's surroundings to the library.

use std::process::ExitCode;

/// A plan makes very many small things; the system's allocator takes a quarter longer for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    fleet_cli::run(std::env::args_os(), fleet_cli::Env::of_process()).into()
}
