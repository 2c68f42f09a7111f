//! Good configurations and what is read from them.

use fleet_lang::outside::Memory;

use super::describe::describe;
use super::{findings, load_all};

/// Loads without a complaint and describes.
fn good(outside: &Memory) -> String {
    let (config, sources, diagnostics) = load_all(outside);
    assert_eq!(findings(&diagnostics, &sources), [""; 0], "{diagnostics:?}");
    describe(&config, &sources)
}

#[test]
fn a_whole_fleet() {
    let outside = Memory::new()
        .file("main.fleet.hcl", include_str!("sample.fleet.hcl"))
        .file("modules/tart-kubelet/main.fleet.hcl", include_str!("module.fleet.hcl"));
    insta::assert_snapshot!(good(&outside));
}

#[test]
fn every_block_and_argument() {
    let outside = Memory::new()
        .file("main.fleet.hcl", include_str!("everything.fleet.hcl"))
        .file("child/main.fleet.hcl", "provider \"p\" {}\nvariable \"a\" {}");
    insta::assert_snapshot!(good(&outside));
}
