//! What lies in the archives that Tart, Homebrew, Tailscale and the agent of GitHub Actions are published as, and what an image with
//! Xcode has.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::mac::launchd::signature::sign;

/// A file in an archive: its name there, its permission bits and its content.
pub type Packed = (String, u32, Vec<u8>);

fn program(version: &str, name: &str) -> Vec<u8> {
    sign(format!("#!lab-program\nversion={version}\n").as_bytes(), name)
}

fn script(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// Puts files below a directory.
///
/// # Errors
///
/// If they cannot be written.
pub fn put(directory: &Path, files: &[Packed]) -> io::Result<()> {
    for (path, mode, content) in files {
        let place = directory.join(path);
        std::fs::create_dir_all(place.parent().unwrap_or(directory))?;
        std::fs::write(&place, content)?;
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(*mode))?;
    }
    Ok(())
}

/// Makes an archive of files.
///
/// # Errors
///
/// If it cannot be written, or there is no `tar`.
pub fn pack(archive: &Path, files: &[Packed]) -> io::Result<()> {
    let directory = tempfile::tempdir()?;
    put(directory.path(), files)?;
    if let Some(parent) = archive.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(archive).arg("-C").arg(directory.path());
    for entry in std::fs::read_dir(directory.path())? {
        tar.arg(entry?.file_name());
    }
    let status = tar.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("`tar` ended with {status}"))) }
}

/// Puts all releases and programs into a directory that a Mac of CI gets its own from, under the names that
/// `examples/fleets/mac-ci` knows them by.
///
/// # Errors
///
/// If they cannot be written, or there is no `tar`.
pub fn supply(directory: &Path) -> io::Result<()> {
    pack(&directory.join("tart.tar.gz"), &tart("2.32.1"))?;
    pack(&directory.join("homebrew.tar.gz"), &homebrew())?;
    pack(&directory.join("tailscale.tar.gz"), &tailscale("1.96.5"))?;
    pack(&directory.join("actions-runner-osx-arm64.tar.gz"), &runner("2.336.0"))?;
    let agent = "#!lab-program\nversion=1\nlistens=8081\nneeds=/var/lib/tart-userdata\n";
    let programs = [
        ("tart-kubelet", sign(agent.as_bytes(), "a.out")),
        ("node_exporter", program("1.8.2", "a.out")),
        ("log-shipper", program("1", "a.out")),
    ];
    let named = programs.map(|(name, content)| (name.to_owned(), 0o755, content));
    put(directory, &named)
}

/// What a Mac has whose image comes with Xcode, below its root directory.
#[must_use]
pub fn xcode(version: &str) -> Vec<Packed> {
    let list = format!(
        "<plist version=\"1.0\"><dict><key>CFBundleShortVersionString</key><string>{version}</string></dict></plist>"
    );
    let contents = "Applications/Xcode.app/Contents";
    vec![
        (format!("{contents}/version.plist"), 0o644, list.into_bytes()),
        (format!("{contents}/Developer/usr/bin/xcodebuild"), 0o755, program(version, "com.apple.xcodebuild")),
    ]
}

/// `tart.tar.gz`: a bundle.
#[must_use]
pub fn tart(version: &str) -> Vec<Packed> {
    let list = format!(
        "<plist version=\"1.0\"><dict><key>CFBundleShortVersionString</key><string>{version}</string></dict></plist>\n"
    );
    vec![
        ("tart.app/Contents/Info.plist".into(), 0o644, list.into_bytes()),
        ("tart.app/Contents/MacOS/tart".into(), 0o755, program(version, "com.github.cirruslabs.tart")),
        ("tart.app/Contents/embedded.provisionprofile".into(), 0o644, b"profile".to_vec()),
    ]
}

/// Homebrew, as its releases are packed.
#[must_use]
pub fn homebrew() -> Vec<Packed> {
    let brew = |text: &str| script(&format!("#!/bin/bash\n# {text}\n"));
    vec![
        ("brew-4.6.20/bin/brew".into(), 0o755, brew("Homebrew")),
        ("brew-4.6.20/Library/Homebrew/brew.sh".into(), 0o644, brew("the rest of Homebrew")),
    ]
}

/// `tailscale` and `tailscaled`, without anything that is for people at the screen.
#[must_use]
pub fn tailscale(version: &str) -> Vec<Packed> {
    let daemon = format!("#!lab-program\nversion={version}\nis=tailscaled\n");
    vec![
        (format!("tailscale_{version}_arm64/tailscale"), 0o755, program(version, "tailscale")),
        (format!("tailscale_{version}_arm64/tailscaled"), 0o755, sign(daemon.as_bytes(), "tailscaled")),
    ]
}

/// What .NET notes beside a program: which libraries it needs, and the version of the program itself.
fn dependencies(version: &str) -> String {
    let target = ".NETCoreApp,Version=v8.0/osx-arm64";
    let text = json!({
        "runtimeTarget": { "name": target },
        "targets": { target: {
            format!("Runner.Listener/{version}"): { "dependencies": { "Runner.Common": "1.0.0" } },
            "Runner.Common/1.0.0": {},
        } },
        "libraries": { format!("Runner.Listener/{version}"): { "type": "project" } },
    });
    format!("{text:#}\n")
}

/// `actions-runner-osx-arm64-VERSION.tar.gz`: the agent.
#[must_use]
pub fn runner(version: &str) -> Vec<Packed> {
    let named = |name: &str, mode: u32, content: Vec<u8>| (name.to_owned(), mode, content);
    vec![
        named("./config.sh", 0o755, script(include_str!("config.sh"))),
        named("./env.sh", 0o755, script("#!/bin/sh\nexec lab-runner env\n")),
        named(
            "./run.sh",
            0o755,
            script("#!/bin/sh\ncd \"$(dirname \"$0\")\" && exec ./bin/Runner.Listener run \"$@\"\n"),
        ),
        named(
            "./bin/Runner.Listener",
            0o755,
            script(&include_str!("listener.sh").replace("VERSION", version)),
        ),
        named("./bin/Runner.Listener.deps.json", 0o644, dependencies(version).into_bytes()),
        named("./bin/runsvc.sh", 0o755, program(version, "runsvc.sh")),
        named("./externals/node20/bin/node", 0o755, program("20", "node")),
    ]
}
