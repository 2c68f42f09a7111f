//! Looking at a host writes nothing there: the real probes of every kind that lives on hosts, on the example of its
//! documentation, by a plan that is a process of its own. Whatever kinds the catalogue has are tried.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use fleet_engine::schema::Sort;

use super::Lab;
use super::examples::{APPLIED_ELSEWHERE, Example, examples};
use super::on_host::{fleet, prepare_for};
use crate::child::finish;

/// The calls that change a file system, and those that open files.
const CALLS: &str = "trace=execve,open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,\
                     symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,ftruncate,mknod,\
                     mknodat,utimensat,setxattr,lsetxattr,fsetxattr,removexattr";

/// Somebody without any rights.
const NOBODY: u32 = 65534;

/// Every kind on hosts, resources and data.
fn all() -> Vec<Example> {
    let all = [Sort::Resource, Sort::Data].map(examples).into_iter().flatten();
    let all: Vec<Example> = all.filter(|example| example.is_on_host).collect();
    let names: Vec<&str> = all.iter().map(|example| &*example.kind).collect();
    // The host of a slot has no example, and is part of each.
    assert!(
        names.contains(&"host_reboot") && names.contains(&"host_facts") && names.len() >= 10,
        "{names:?}"
    );
    all
}

/// A host on which the thing is, as far as it can be made here. Links and modes of a fresh one are looked at, too.
fn made(example: &Example) -> Lab {
    let lab = Lab::new(&example.text);
    prepare_for(&lab, &example.text);
    // A host says which boot it is in, wherever its root lies.
    lab.site.write("root/proc/sys/kernel/random/boot_id", "boot-1\n");
    if !APPLIED_ELSEWHERE.contains(&&*example.kind) {
        lab.apply();
    }
    lab
}

/// What a plan wrote outside of the directory in which fleet keeps its state, as the system saw it.
fn written(lab: &Lab) -> Vec<String> {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let plan = lab.site.command_with_path(["plan"]);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-e", CALLS, "-o"]).arg(trace.path());
    let said = said_by(around(strace, &plan));
    assert!(said.contains("fleet.") || said.contains("No changes."), "{said}");
    let text = fs::read_to_string(trace.path()).unwrap();
    assert!(text.contains("execve(\"/bin/sh\""), "the host was looked at: {text}");
    let own = format!("{}/.fleet", lab.site.path().display());
    let reads = |line: &str| {
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| line.contains(flag));
        let opens = line.contains(" open(") || line.contains(" openat(");
        (opens && !writes) || [" execve(", "resumed>", "+++", "---"].iter().any(|mark| line.contains(mark))
    };
    let elsewhere = |line: &str| {
        ["\"/dev/null\"", "\"/dev/tty\"", &own, "\".fleet"].iter().any(|place| line.contains(place))
    };
    text.lines().filter(|line| !reads(line) && !elsewhere(line)).map(str::to_owned).collect()
}

/// The same command as the last words of another.
fn around(mut outer: Command, inner: &Command) -> Command {
    outer.arg(inner.get_program()).args(inner.get_args()).env_clear();
    for (name, value) in inner.get_envs() {
        outer.envs(value.map(|value| (name, value)));
    }
    outer.current_dir(inner.get_current_dir().unwrap());
    outer
}

/// All that a command that becomes fleet says.
fn said_by(mut command: Command) -> String {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let output = finish(child);
    let said = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "{said}");
    said
}

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// A plan that writes, because the user's own script does.
fn planted(lab: &Lab) -> String {
    let place = lab.site.path().join("root/etc/planted");
    fleet(&format!(
        "  resource \"host_command\" \"x\" {{\n    read  = \"echo x >{}\"\n    apply = \"true\"\n  }}\n",
        place.display()
    ))
}

#[test]
fn no_probe_writes_as_the_system_sees_it() {
    if !cfg!(target_os = "linux") {
        return;
    }
    assert!(works("strace", &["-o", "/dev/null", "true"]), "`strace` does not work here");
    for example in all() {
        assert_eq!(written(&made(&example)), [""; 0], "{}", example.kind);
    }
    let lab = Lab::new("");
    lab.write(&planted(&lab));
    super::on_host::prepare(lab.site.path());
    let found = written(&lab);
    assert!(found.iter().any(|line| line.contains("root/etc/planted")), "{found:?}");
}

/// A directory that cannot be written, for as long as this lives.
struct Frozen<'a>(&'a Path);

impl Frozen<'_> {
    fn new(path: &Path) -> Frozen<'_> {
        assert!(works("mount", &["--bind", path.to_str().unwrap(), path.to_str().unwrap()]));
        let frozen = Frozen(path);
        assert!(works("mount", &["-o", "remount,bind,ro", path.to_str().unwrap()]));
        frozen
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        works("umount", &[self.0.to_str().unwrap()]);
    }
}

/// Gives a directory and all in it to somebody.
fn give(path: &Path, to: u32) {
    std::os::unix::fs::lchown(path, Some(to), Some(to)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), to);
        }
    }
}

/// What nobody in particular plans while the host cannot be written.
fn planned_by_nobody(lab: &Lab) -> String {
    let site = lab.site.path();
    give(site, NOBODY);
    // Nobody owns what is on the host.
    chown(site.join("root"), Some(0), Some(0)).unwrap();
    let host = site.join("root");
    let _frozen = Frozen::new(&host);
    let mut setpriv = Command::new("setpriv");
    setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    said_by(around(setpriv, &lab.site.command_with_path(["plan"])))
}

#[test]
fn every_probe_is_answered_to_nobody_in_particular_on_a_disk_that_cannot_be_written() {
    let test = std::env::current_exe().unwrap();
    let reads_it = ["--reuid=65534", "--regid=65534", "--clear-groups", "test", "-x", test.to_str().unwrap()];
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !cfg!(target_os = "linux") || !is_root || !works("setpriv", &reads_it) {
        return;
    }
    let by_root = regex::Regex::new("sudo +=.*").unwrap();
    for mut example in all() {
        // Whoever has no rights becomes nobody else.
        example.text = by_root.replace_all(&example.text, "").into_owned();
        let lab = made(&example);
        let said = planned_by_nobody(&lab);
        if APPLIED_ELSEWHERE.contains(&&*example.kind) {
            assert!(said.contains(&format!("{}.", example.kind)), "{}: {said}", example.kind);
        } else {
            // Who owns it has changed, and that is all.
            let last = said.lines().last().unwrap_or_default();
            assert!(last.starts_with("No changes."), "{}: {said}", example.kind);
        }
        assert!(
            !said.contains("ead-only file system") && !said.contains("cannot"),
            "{}: {said}",
            example.kind
        );
    }
    let lab = Lab::new("");
    super::on_host::prepare(lab.site.path());
    lab.write(&planted(&lab));
    planned_by_nobody(&lab);
    assert!(!lab.site.path().join("root/etc/planted").exists());
}
