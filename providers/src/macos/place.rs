//! The directories that programs lie in. A new Mac has no `/usr/local`: what is made for a program is noted, and goes with
//! the last one that lay there.

use fleet_engine::host::{Act, Bytes, Step};

const MAKE: &str = concat!(include_str!("before.sh"), include_str!("place_make.sh"));
const LEAVE: &str = concat!(include_str!("before.sh"), include_str!("place_leave.sh"));

/// Makes a directory, unless it is there.
pub(crate) fn make(directory: &str) -> Step {
    procedure(MAKE, directory)
}

/// Removes it, if it was made so and nothing is in it any more.
pub(crate) fn leave(directory: &str) -> Step {
    procedure(LEAVE, directory)
}

fn procedure(script: &'static str, directory: &str) -> Step {
    let arguments = vec![directory.to_owned()];
    Step::new(Act::Procedure { script, arguments, input: Bytes::default() }).as_root()
}
