//! The script of the module `ssh-reachability`, beside a launchd that takes its time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// A launchd that knows sshd for two questions after it was told to let go of it, and refuses to take it back meanwhile. What
/// it was told is noted.
const LAUNCHCTL: &str = "#!/bin/sh
cd \"$(dirname \"$0\")\" || exit
echo \"$1\" >>told
left=$(cat left)
case $1 in
  bootout) echo 2 >left ;;
  print)
    if [ \"$left\" = here ]; then exit 0; fi
    if [ \"$left\" = 0 ]; then exit 113; fi
    echo $((left - 1)) >left
    ;;
  bootstrap)
    if [ \"$left\" != 0 ]; then echo 'Bootstrap failed: 37: Operation already in progress' >&2; exit 37; fi
    if [ -e broken ]; then echo 'Bootstrap failed: 5: Input/output error' >&2; exit 5; fi
    echo here >left
    ;;
esac
";

/// Runs the script where nobody answers on port 22, and says what launchd was told.
fn run(is_broken: bool) -> (Output, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    let quick = "#!/bin/sh\nexit 0\n";
    for (name, text) in [("launchctl", LAUNCHCTL), ("sleep", quick), ("nc", "#!/bin/sh\nexit 1\n")] {
        fs::write(place.path().join(name), text).unwrap();
        fs::set_permissions(place.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(place.path().join("left"), "here\n").unwrap();
    if is_broken {
        fs::write(place.path().join("broken"), "").unwrap();
    }
    let script =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/modules/ssh-reachability/ssh-reachability.sh");
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    let ran = Command::new("/bin/sh").arg(script).env("PATH", path).output().unwrap();
    let told = fs::read_to_string(place.path().join("told")).unwrap();
    (ran, told.lines().map(str::to_owned).collect())
}

#[test]
fn sshd_is_put_back_once_launchd_let_go_of_it() {
    let (ran, told) = run(false);
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(told, ["bootout", "print", "print", "print", "bootstrap", "print"]);
}

#[test]
fn that_sshd_cannot_be_put_back_is_told() {
    let (ran, told) = run(true);
    let complaint = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && complaint.contains("5: Input/output error"), "{complaint}");
    assert_eq!(told.iter().filter(|word| *word == "bootstrap").count(), 31);
}
