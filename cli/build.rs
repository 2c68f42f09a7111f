//! How `fleet` is linked for tests.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The lab starts it for every command of a Mac, thousands of times in a test. A debug build has so many relocations that a
    // start takes 8 ms as a program that may lie anywhere, and 3 ms as one that lies where it was linked.
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
