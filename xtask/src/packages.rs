//! The system packages that the tests need: installed as root on Debian, named to everybody else.

use std::path::Path;
use std::process::Command;

use crate::Outcome;
use crate::run::{answers, run};

/// A program that tests call, and the Debian package that brings it.
struct Package {
    program: &'static str,
    debian: &'static str,
}

/// What the tests call beyond the Rust toolchain. SQLite is compiled in.
const NEEDED: &[Package] = &[
    Package { program: "initdb", debian: "postgresql" },
    Package { program: "kubectl", debian: "kubernetes-client" },
    Package { program: "dash", debian: "dash" },
    Package { program: "bash", debian: "bash" },
    Package { program: "busybox", debian: "busybox" },
    Package { program: "zsh", debian: "zsh" },
    Package { program: "shellcheck", debian: "shellcheck" },
    Package { program: "ssh", debian: "openssh-client" },
    Package { program: "sshd", debian: "openssh-server" },
    Package { program: "sudo", debian: "sudo" },
    Package { program: "strace", debian: "strace" },
];

/// Debian keeps the programs of a PostgreSQL server off the path, in a directory for each version.
const POSTGRESQL: &str = "/usr/lib/postgresql";

/// Servers may be off the path of whoever is not root.
const SERVERS: &str = "/usr/sbin";

/// What has to be done about missing programs.
#[derive(Debug, PartialEq, Eq)]
enum Remedy {
    Nothing,
    Install(Vec<&'static str>),
    Tell(String),
}

/// Sees to it that everything needed is there.
pub(crate) fn ensure() -> Outcome {
    let missing = NEEDED.iter().filter(|p| !is_there(p.program));
    match decide(missing, may_install()) {
        Remedy::Nothing => Ok(()),
        Remedy::Tell(what) => Err(what),
        Remedy::Install(names) => {
            let apt = |args: &[&str]| {
                run(Command::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive"))
            };
            let install: Vec<&str> =
                ["install", "--yes", "--no-install-recommends"].into_iter().chain(names).collect();
            // The package lists of a fresh machine may be missing or old.
            apt(&install).or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
        }
    }
}

fn decide<'a>(missing: impl Iterator<Item = &'a Package>, may_install: bool) -> Remedy {
    let missing: Vec<&Package> = missing.collect();
    let names: Vec<&str> = missing.iter().map(|p| p.debian).collect();
    if missing.is_empty() {
        Remedy::Nothing
    } else if may_install {
        Remedy::Install(names)
    } else {
        let programs: Vec<_> = missing.iter().map(|p| format!("`{}`", p.program)).collect();
        Remedy::Tell(format!(
            "the tests need {}; on Debian: sudo apt-get install {}",
            programs.join(", "),
            names.join(" ")
        ))
    }
}

/// Root on a system of Debian's family may install packages.
fn may_install() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0");
    root && Path::new("/etc/debian_version").exists() && answers("apt-get", &["--version"])
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir(POSTGRESQL).into_iter().flatten().flatten();
    let aside = versions.map(|version| version.path().join("bin"));
    let aside = aside.chain([SERVERS.into()]);
    std::env::split_paths(&path).chain(aside).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISSING: [Package; 2] = [
        Package { program: "psql", debian: "postgresql" },
        Package { program: "sshd", debian: "openssh-server" },
    ];

    #[test]
    fn root_installs_and_others_are_told() {
        assert_eq!(decide([].iter(), true), Remedy::Nothing);
        assert_eq!(decide(MISSING.iter(), true), Remedy::Install(vec!["postgresql", "openssh-server"]));
        let told = "the tests need `psql`, `sshd`; on Debian: sudo apt-get install postgresql openssh-server";
        assert_eq!(decide(MISSING.iter(), false), Remedy::Tell(told.into()));
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(is_there("sh"));
        assert!(!is_there("no-program-has-this-name"));
    }
}
