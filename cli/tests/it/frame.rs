//! What all commands share.

use std::io::{self, Write};

use fleet_cli::{Env, Exit, Output, Terminal};

use crate::support::{Site, providers_in};

#[test]
fn version_is_said_in_two_ways() {
    let site = Site::empty();
    let expected = format!("fleet {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(site.fleet(["version"]).ok(), expected);
    assert_eq!(site.fleet(["--version"]).ok(), expected);
}

#[test]
fn every_command_teaches() {
    let site = Site::empty();
    let top = site.fleet(["--help"]).ok();
    for command in fleet_cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(top.contains(name), "{name} is missing in {top}");
        let help = site.fleet([name, "--help"]).ok();
        assert!(help.contains("-C, --directory <DIR>"), "{help}");
        assert!(command.get_about().is_some(), "{name} says nothing about itself");
    }
}

#[test]
fn a_wrong_command_line_fails_with_1_and_names_the_nearest_word() {
    let complaint = Site::empty().fleet(["valdate"]).failed();
    assert!(complaint.contains("validate"), "{complaint}");
}

#[test]
fn completions_know_the_commands() {
    let site = Site::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = site.fleet(["completions", shell]).ok();
        assert!(script.contains("destroy"), "{shell}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let complaint = Site::empty().fleet(["-C", "nowhere", "version"]).failed();
    assert_eq!(complaint, "error: `nowhere` is not a directory\n");
}

#[test]
fn a_reader_that_goes_away_is_no_drama() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let env = Env {
        cwd: ".".into(),
        vars: [].into(),
        stdin: Box::new(io::empty()),
        stdout: Box::new(Gone),
        stderr: Output::new(Gone),
        terminal: Terminal::default(),
        providers: providers_in,
    };
    assert_eq!(fleet_cli::run(["fleet", "completions", "zsh"].map(Into::into), env), Exit::Failed);
}
