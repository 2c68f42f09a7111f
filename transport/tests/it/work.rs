//! Steps in every shell.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use fleet_engine::host::step::{Claim, Content, Keep, LocalFile, Mark};
use fleet_engine::host::{Act, Bytes, Edit, Holding, Ledger};
use fleet_transport::script::work::{Hold, Outcome, Staged, Task, Whose, With, write as write_all};
use fleet_transport::script::{Frame, Job, PRELUDE, Section, WORK};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::shells::{SHELLS, outcomes};

const LEDGER: &str = "/var/fleet/ledger";

fn hold(fence: u64) -> Hold {
    Hold { lineage: "state-1".into(), slot: "fleet.desk[\"it's\"]".into(), fence }
}

fn job(tasks: Vec<Task>) -> Job {
    Job { hold: None, list: None, tasks, forget: None, ledger: LEDGER.into() }
}

fn held(fence: u64, tasks: Vec<Task>) -> Job {
    Job { hold: Some(hold(fence)), ..job(tasks) }
}

fn task(act: Act) -> Task {
    Task { act, with: With::Nothing }
}

fn write(path: &str, content: &[u8], keep: Keep, validate: Option<&str>) -> Task {
    let bytes = Content::Bytes(Bytes(content.to_vec()));
    let act = Act::Write { path: path.into(), content: bytes, keep, validate: validate.map(Into::into) };
    Task { act, with: With::Sent(content.to_vec()) }
}

fn mode(mode: u32) -> Keep {
    Keep { mode: Some(mode), ..Keep::default() }
}

fn claim(fence: u64, name: &str) -> Task {
    let hold = hold(fence);
    let text = Ledger {
        lineage: hold.lineage.clone(),
        slot: hold.slot.clone(),
        claim: name.into(),
        fence,
        epoch: String::new(),
        state: Holding::Owned,
        since: "now".into(),
        by: "me".into(),
    };
    let act = Act::Claim(Claim { ledger: LEDGER.into(), slot: hold.slot.clone(), mark: None });
    Task { act, with: With::Ledger { hold, claim: name.into(), text: text.to_string() } }
}

fn release(fence: u64) -> Task {
    let Task { with, .. } = claim(fence, "r");
    Task { act: Act::Release(Claim { ledger: LEDGER.into(), slot: hold(1).slot, mark: None }), with }
}

fn run(shell: &[&str], root: &Path, jobs: &[Job]) -> Vec<Outcome> {
    let sections = outcomes(shell, root.to_str().unwrap(), |frame| {
        write_all(jobs, frame);
        frame.push("x last\n");
    });
    let mut sections = sections.into_iter();
    let outcomes = jobs.iter().map(|job| job.outcome(&mut sections)).collect();
    assert_eq!(sections.next().map(|section| section.word).as_deref(), Some("last"), "{shell:?}");
    outcomes
}

fn one(shell: &[&str], root: &Path, task: Task) -> Outcome {
    run(shell, root, &[job(vec![task])]).remove(0)
}

#[track_caller]
fn failed(outcome: &Outcome) -> (usize, Section) {
    match outcome {
        Outcome::Failed(at, section) => (*at, section.clone()),
        other => panic!("{other:?}"),
    }
}

fn complaint(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&failed(outcome).1.complaint).into_owned()
}

fn permissions(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_put_in_the_place_of_another() {
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert_eq!(one(shell, root, write("/new", b"a\0\xff\\n\n", Keep::default(), None)), Outcome::Done);
        assert_eq!(
            (fs::read(root.join("new")).unwrap(), permissions(&root.join("new"))),
            (b"a\0\xff\\n\n".to_vec(), 0o644)
        );
        assert_eq!(one(shell, root, write("/new", b"b", mode(0o4750), None)), Outcome::Done, "{shell:?}");
        assert_eq!(permissions(&root.join("new")), 0o4750, "{shell:?}");
        // What was uploaded must be whole.
        fs::write(root.join("up"), "torn").unwrap();
        let staged = Staged { path: "/up".into(), digest: digest(b"whole"), is_gzip: false };
        let torn = Task { with: With::Staged(staged), ..write("/new", b"", Keep::default(), None) };
        assert_eq!(failed(&one(shell, root, torn)).1.word, "94", "{shell:?}");
        assert!(!root.join("up").exists(), "{shell:?}");
        // What is not said stays.
        fs::set_permissions(root.join("new"), fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(one(shell, root, write("/new", b"", Keep::default(), None)), Outcome::Done, "{shell:?}");
        assert_eq!(
            (fs::read(root.join("new")).unwrap(), permissions(&root.join("new"))),
            (Vec::new(), 0o400),
            "{shell:?}"
        );
        // A link is replaced, and not followed; a directory is in the way.
        fs::create_dir(root.join("dir")).unwrap();
        symlink("dir", root.join("link")).unwrap();
        assert_eq!(one(shell, root, write("/link", b"c", Keep::default(), None)), Outcome::Done, "{shell:?}");
        assert!(fs::symlink_metadata(root.join("link")).unwrap().is_file(), "{shell:?}");
        let told = complaint(&one(shell, root, write("/dir", b"c", Keep::default(), None)));
        assert!(told.contains("directory"), "{shell:?}: {told}");
        let told = complaint(&one(shell, root, write("/no/where", b"c", Keep::default(), None)));
        assert!(
            told.contains("nonexistent") || told.to_lowercase().contains("no such file"),
            "{shell:?}: {told}"
        );
        assert_eq!(names(root), ["dir", "link", "new"], "{shell:?}");
        assert_eq!(names(&root.join("dir")), [""; 0], "{shell:?}");
    }
}

#[test]
fn a_check_sees_the_new_file_before_it_has_its_name() {
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::write(root.join("it's"), "old").unwrap();
        let check = "grep -q good {} || { echo 'not good' >&2; exit 3; }";
        let outcome = one(shell, root, write("/it's", b"bad", mode(0o600), Some(check)));
        let (_, section) = failed(&outcome);
        assert_eq!((&*section.word, &*section.complaint), ("93", &b"not good\n"[..]), "{shell:?}");
        assert_eq!(fs::read(root.join("it's")).unwrap(), b"old", "{shell:?}");
        assert_eq!(
            one(shell, root, write("/it's", b"good", mode(0o600), Some(check))),
            Outcome::Done,
            "{shell:?}"
        );
        assert_eq!(
            (fs::read(root.join("it's")).unwrap(), names(root)),
            (b"good".to_vec(), vec!["it's".to_owned()])
        );
    }
}

#[test]
fn a_file_that_somebody_changed_is_not_overwritten() {
    let edit = |path: &str, before: Option<&[u8]>, after: &[u8]| Task {
        act: Act::Edit {
            path: path.into(),
            edit: Edit::Line { line: "x".into(), present: true, matching: None },
        },
        with: With::Edited { before: before.map(digest), after: Some(Box::new(With::Sent(after.to_vec()))) },
    };
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::write(root.join("f"), "one\n").unwrap();
        fs::set_permissions(root.join("f"), fs::Permissions::from_mode(0o440)).unwrap();
        let tasks = vec![edit("/f", Some(b"one\n"), b"two\n"), edit("/f", Some(b"two\n"), b"three\n")];
        assert_eq!(run(shell, root, &[job(tasks)]), [Outcome::Done], "{shell:?}");
        assert_eq!(
            (fs::read(root.join("f")).unwrap(), permissions(&root.join("f"))),
            (b"three\n".to_vec(), 0o440),
            "{shell:?}"
        );
        for (path, before) in [("/f", Some(&b"two\n"[..])), ("/f", None), ("/missing", Some(b"a"))] {
            let outcome = one(shell, root, edit(path, before, b"lost"));
            assert_eq!(failed(&outcome).1.word, "92", "{shell:?} {path}");
        }
        assert_eq!(one(shell, root, edit("/new", None, b"made")), Outcome::Done, "{shell:?}");
        assert_eq!(
            (fs::read(root.join("new")).unwrap(), permissions(&root.join("new"))),
            (b"made".to_vec(), 0o644)
        );
        assert_eq!(
            (fs::read(root.join("f")).unwrap(), names(root).len()),
            (b"three\n".to_vec(), 2),
            "{shell:?}"
        );
    }
}

#[test]
fn directories_links_and_what_is_removed() {
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let directory = |path: &str, keep: Keep| task(Act::Directory { path: path.into(), keep });
        let link = |path: &str, target: &str| task(Act::Link { path: path.into(), target: target.into() });
        let remove = |path: &str| task(Act::Remove { path: path.into() });
        let clear = |path: &str| task(Act::RemoveTree { path: path.into() });
        let keep = |path: &str, bits: u32| task(Act::Keep { path: path.into(), keep: mode(bits) });
        let tasks = vec![
            directory("/a b/-c/d", mode(0o1777)),
            directory("/a b/-c/d", Keep::default()),
            link("/to", "-n ' \n$x"),
            link("/to", "a b"),
            link("/to", "elsewhere"),
            keep("/a b", 0o711),
            remove("/missing"),
            clear("/missing"),
        ];
        assert_eq!(run(shell, root, &[job(tasks)]), [Outcome::Done], "{shell:?}");
        assert_eq!(permissions(&root.join("a b/-c/d")), 0o1777, "{shell:?}");
        assert_eq!(
            (permissions(&root.join("a b/-c")), permissions(&root.join("a b"))),
            (0o755, 0o711),
            "{shell:?}"
        );
        assert_eq!(fs::read_link(root.join("to")).unwrap().to_str(), Some("elsewhere"), "{shell:?}");
        assert_eq!(names(&root.join("a b")), ["-c"], "{shell:?}");
        fs::write(root.join("a b/-c/file"), "").unwrap();
        fs::set_permissions(root.join("a b/-c"), fs::Permissions::from_mode(0o500)).unwrap();
        for bad in [remove("/a b"), link("/a b", "x"), directory("/to", Keep::default()), keep("/to", 0o600)]
        {
            let outcomes = run(shell, root, &[job(vec![bad.clone(), clear("/a b")])]);
            assert_eq!(failed(&outcomes[0]).0, 0, "{shell:?} {bad:?}");
        }
        assert_eq!(
            run(shell, root, &[job(vec![remove("/to"), clear("/a b")])]),
            [Outcome::Done],
            "{shell:?}"
        );
        assert_eq!(names(root), [""; 0], "{shell:?}");
    }
}

/// What is half made holds what the whole would: it goes with it, also where the whole was never there.
#[test]
fn what_a_crash_left_of_a_thing_goes_with_it() {
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("d/.fleet-new")).unwrap();
        fs::create_dir_all(root.join("d/.tree.fleet-old/deep")).unwrap();
        fs::create_dir_all(root.join("d/.tree.fleet-sent/deep")).unwrap();
        for left in ["d/.file.fleet-new", "d/.fleet-new/file", "d/.tree.fleet-new", "d/file", "d/other"] {
            fs::write(root.join(left), "secret").unwrap();
        }
        // What procedures put beside a thing, and what that was made as.
        for left in
            ["d/.file.fleet-unsigned", "d/..file.fleet-unsigned.fleet-new", "d/.file.fleet-signed.new"]
        {
            fs::write(root.join(left), "secret").unwrap();
        }
        let remove = |path: &str| task(Act::Remove { path: path.into() });
        let clear = |path: &str| task(Act::RemoveTree { path: path.into() });
        let tasks = vec![remove("/d/file"), remove("/d/file"), clear("/d/tree")];
        assert_eq!(run(shell, root, &[job(tasks)]), [Outcome::Done], "{shell:?}");
        let left: Vec<_> = fs::read_dir(root.join("d")).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["other"], "{shell:?}");
        // What is written ahead for others stays.
        fs::create_dir(root.join("d/.fleet-new")).unwrap();
        for left in ["d/.fleet-new/other", "d/.fleet-new/next"] {
            fs::write(root.join(left), "").unwrap();
        }
        assert_eq!(run(shell, root, &[job(vec![remove("/d/other")])]), [Outcome::Done], "{shell:?}");
        assert!(root.join("d/.fleet-new/next").exists() && !root.join("d/.fleet-new/other").exists());
    }
}

#[test]
fn an_archive_takes_the_place_of_a_directory() {
    let packed = tempfile::tempdir().unwrap();
    fs::create_dir_all(packed.path().join("top/bin")).unwrap();
    fs::write(packed.path().join("top/bin/it's"), "#!").unwrap();
    fs::set_permissions(packed.path().join("top/bin/it's"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("bin/it's", packed.path().join("top/link")).unwrap();
    for (flags, is_gzip) in [("-cf", false), ("-czf", true)] {
        let made = Command::new("tar")
            .args([
                flags,
                packed.path().join("it.tar").to_str().unwrap(),
                "-C",
                packed.path().to_str().unwrap(),
                "top",
            ])
            .status();
        assert!(made.unwrap().success());
        let archive = fs::read(packed.path().join("it.tar")).unwrap();
        for shell in SHELLS {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path();
            fs::write(root.join("up"), &archive).unwrap();
            let local = LocalFile { path: "unused".into(), digest: digest(&archive) };
            let staged = Staged { path: "/up".into(), digest: digest(&archive), is_gzip };
            let act = Act::Unpack { path: "/opt".into(), archive: local, strip: 1 };
            let unpack = Task { act: act.clone(), with: With::Staged(staged.clone()) };
            for _ in 0..2 {
                fs::write(root.join("up"), &archive).unwrap();
                assert_eq!(one(shell, root, unpack.clone()), Outcome::Done, "{shell:?}");
                assert_eq!(names(root), ["opt"], "{shell:?}");
                assert_eq!(names(&root.join("opt")), ["bin", "link"], "{shell:?}");
                assert_eq!(permissions(&root.join("opt/bin/it's")), 0o755, "{shell:?}");
                fs::write(root.join("opt/bin/left over"), "").unwrap();
            }
            fs::write(root.join("up"), &archive[..archive.len() / 2]).unwrap();
            assert_eq!(failed(&one(shell, root, unpack)).1.word, "94", "{shell:?}");
            fs::write(root.join("up"), &archive[..archive.len() / 2]).unwrap();
            let torn = Staged { digest: digest(&archive[..archive.len() / 2]), ..staged };
            let outcome = one(shell, root, Task { act, with: With::Staged(torn) });
            if is_gzip {
                assert!(!complaint(&outcome).is_empty(), "{shell:?}");
            }
            assert_eq!(names(root), ["opt"], "{shell:?}");
        }
    }
}

#[test]
fn programs_and_scripts_read_what_they_are_given() {
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let out = root.join("out").to_str().unwrap().to_owned();
        let run_program = |program: &str, arguments: &[&str], input: &[u8]| {
            let arguments = arguments.iter().map(|&it| it.to_owned()).collect();
            task(Act::Run { program: program.into(), arguments, input: Bytes(input.to_vec()) })
        };
        let procedure = |script: &'static str, arguments: &[&str], input: &[u8]| {
            let arguments = arguments.iter().map(|&it| it.to_owned()).collect();
            task(Act::Procedure { script, arguments, input: Bytes(input.to_vec()) })
        };
        let script = |text: &str| task(Act::UserScript { script: Bytes(text.into()) });
        let jobs = [
            job(vec![run_program("sh", &["-c", "cat >\"$1\"", "-", &out], b"a\0\xff'\n")]),
            job(vec![run_program("sh", &["-c", "read -r x || exit 4"], b"")]),
            // What was sent for a step that is not reached is passed over.
            job(vec![script("echo first; exit 7"), script("echo second"), run_program("cat", &[], b"x")]),
            job(vec![script(&format!("printf 'it'\"'\"'s' >>'{out}'")), script("step; x; held; false")]),
            job(vec![run_program("no-such-program", &[], b"")]),
            job(vec![script(&format!("cat >>'{out}'"))]),
            job(vec![procedure(
                "set -eu\ncat >\"$R/of-procedure\"\nprintf '%s.' \"$@\" >>\"$R/of-procedure\"",
                &["a b", "", "'\\n"],
                b"\0x\n",
            )]),
            job(vec![procedure("set -eu\nread -r x || exit 9\necho never", &[], b""), script("echo second")]),
            job(vec![procedure("set -e\nfalse\n: >\"$R/went-on\"", &[], b""), script("echo second")]),
        ];
        let outcomes = run(shell, root, &jobs);
        assert_eq!(fs::read(&out).unwrap(), b"a\0\xff'\nit's", "{shell:?}");
        assert_eq!(fs::read(root.join("of-procedure")).unwrap(), b"\0x\na b..'\\n.", "{shell:?}");
        assert_eq!(outcomes[0], Outcome::Done, "{shell:?}");
        assert_eq!(failed(&outcomes[1]).1.word, "4", "{shell:?}");
        let (at, section) = failed(&outcomes[2]);
        assert_eq!((at, &*section.word, &*section.body), (0, "7", &b"first\n"[..]), "{shell:?}");
        let (at, section) = failed(&outcomes[3]);
        let told = String::from_utf8_lossy(&section.complaint).into_owned();
        assert_eq!(
            (at, told.matches("not found").count()),
            (1, 3),
            "{shell:?}: our functions are not theirs: {told}"
        );
        assert_eq!(failed(&outcomes[4]).1.word, "127", "{shell:?}");
        assert_eq!(outcomes[5], Outcome::Done, "{shell:?}");
        assert_eq!(outcomes[6], Outcome::Done, "{shell:?}");
        let (at, section) = failed(&outcomes[7]);
        assert_eq!((at, &*section.word), (0, "9"), "{shell:?}");
        let (at, section) = failed(&outcomes[8]);
        assert_eq!((at, &*section.word), (0, "1"), "{shell:?}: what fails in a procedure ends it");
        assert!(!root.join("went-on").exists(), "{shell:?}");
    }
}

#[test]
fn a_host_is_taken_once_and_refuses_all_others() {
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let ledger = root.join("var/fleet/ledger");
        let touch = || write("/touched", b"", Keep::default(), None);
        let refused = |jobs: &[Job], whose: Whose| {
            let outcomes = run(shell, root, jobs);
            assert!(
                matches!(&outcomes[..], [Outcome::NotHeld(found, _)] if *found == whose),
                "{shell:?} {outcomes:?}"
            );
            assert!(!root.join("touched").exists(), "{shell:?}");
        };
        refused(&[held(5, vec![touch()])], Whose::Nobodys);
        assert_eq!(one(shell, root, claim(5, "c1")), Outcome::Done, "{shell:?}");
        let text = fs::read(&ledger).unwrap();
        assert_eq!(Ledger::parse(&text).unwrap().claim, "c1", "{shell:?}");
        assert_eq!(
            (permissions(&ledger), permissions(ledger.parent().unwrap())),
            (0o644, 0o755),
            "{shell:?}"
        );
        // A claim whose answer got lost.
        assert_eq!(one(shell, root, claim(5, "c2")), Outcome::Done, "{shell:?}");
        assert_eq!(fs::read(&ledger).unwrap(), text, "{shell:?}");
        refused(&[held(4, vec![touch()])], Whose::Newer);
        let mut other = held(9, vec![touch()]);
        other.hold.as_mut().unwrap().lineage = "state-2".into();
        refused(&[other], Whose::Others);
        let mut other = claim(9, "c3");
        if let With::Ledger { hold, .. } = &mut other.with {
            hold.slot = "fleet.desk[1]".into();
        }
        let (_, section) = failed(&one(shell, root, other));
        assert_eq!((section.word.as_str(), &section.body), ("90", &text), "{shell:?}");
        // A higher number becomes that of the ledger, and the lower one is refused from then on.
        assert_eq!(run(shell, root, &[held(7, vec![touch()])]), [Outcome::Done], "{shell:?}");
        let raised = Ledger::parse(&fs::read(&ledger).unwrap()).unwrap();
        assert_eq!((raised.fence, &*raised.claim), (7, "c1"), "{shell:?}");
        fs::remove_file(root.join("touched")).unwrap();
        refused(&[held(5, vec![touch()])], Whose::Newer);
        assert_eq!(failed(&one(shell, root, release(6))).1.word, "91", "{shell:?}");
        assert_eq!(failed(&one(shell, root, claim(6, "c4"))).1.word, "91", "{shell:?}");
        assert_eq!(run(shell, root, &[job(vec![release(7), release(7)])]), [Outcome::Done], "{shell:?}");
        assert_eq!(names(&root.join("var/fleet")), [""; 0], "{shell:?}");
    }
}

#[test]
fn the_inventory_knows_a_thing_before_it_is_made_and_until_it_is_gone() {
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let line = "{\"it's\": \"\\\\n\u{e9}\"}";
        let listed = |tasks| Job { list: Some(("0a".into(), line.into())), ..held(1, tasks) };
        let fails = || task(Act::Run { program: "false".into(), arguments: vec![], input: Bytes::default() });
        let outcomes = run(shell, root, &[job(vec![claim(1, "c")]), listed(vec![fails()])]);
        assert_eq!((&outcomes[0], failed(&outcomes[1]).0), (&Outcome::Done, 0), "{shell:?}");
        let file = root.join("var/fleet/ledger.d/0a");
        assert_eq!(
            (fs::read_to_string(&file).unwrap(), permissions(&file)),
            (format!("{line}\n"), 0o644),
            "{shell:?}"
        );
        let forget = |tasks| Job { forget: Some("0a".into()), ..held(1, tasks) };
        run(shell, root, &[forget(vec![fails()])]);
        assert!(file.exists(), "{shell:?}");
        assert_eq!(
            run(shell, root, &[forget(vec![]), forget(vec![])]),
            [Outcome::Done, Outcome::Done],
            "{shell:?}"
        );
        assert!(!file.exists(), "{shell:?}");
    }
}

#[test]
fn new_files_of_one_directory_are_put_in_place_together() {
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        run(shell, root, &[job(vec![claim(1, "c")])]);
        // What a crash left, what is there already, and what is in the way.
        fs::create_dir_all(root.join("etc/.fleet-new")).unwrap();
        fs::write(root.join("etc/.fleet-new/litter"), "").unwrap();
        fs::write(root.join("etc/.c.fleet-new"), "").unwrap();
        fs::write(root.join("etc/there"), "old").unwrap();
        fs::create_dir(root.join("etc/in the way")).unwrap();
        fs::create_dir(root.join("opt")).unwrap();
        let files = [
            ("/etc/-a", 0o644),
            ("/etc/.b\n'", 0o600),
            ("/etc/c", 0o755),
            ("/etc/d", 0o4750),
            ("/etc/there", 0o640),
            ("/etc/in the way", 0o644),
            ("/opt/x", 0o700),
            ("/opt/y", 0o400),
            ("/none/x", 0o644),
            ("/none/y", 0o644),
        ];
        let mut jobs: Vec<Job> = Vec::new();
        for (at, (path, bits)) in files.iter().enumerate() {
            let list = Some((format!("0{at}"), format!("line {at}")));
            jobs.push(Job { list, ..held(1, vec![write(path, path.as_bytes(), mode(*bits), None)]) });
        }
        // The same place twice: the later one wins.
        jobs.push(held(1, vec![write("/etc/c", b"again", mode(0o755), None)]));
        let outcomes = run(shell, root, &jobs);
        for (at, (path, bits)) in files.iter().enumerate() {
            let line = fs::read_to_string(root.join(format!("var/fleet/ledger.d/0{at}"))).unwrap();
            assert_eq!(line, format!("line {at}\n"), "{shell:?}");
            if ["/etc/in the way", "/none/x", "/none/y"].contains(path) {
                assert_eq!(failed(&outcomes[at]).0, 0, "{shell:?}: {path}");
                assert!(!complaint(&outcomes[at]).is_empty(), "{shell:?}: {path}");
                continue;
            }
            assert_eq!(outcomes[at], Outcome::Done, "{shell:?}: {path}");
            let place = root.join(&path[1..]);
            let content = if *path == "/etc/c" { "again" } else { path };
            assert_eq!((fs::read_to_string(&place).unwrap(), permissions(&place)), (content.into(), *bits));
        }
        let all = ["-a", ".b\n'", "c", "d", "in the way", "there"];
        assert_eq!(names(&root.join("etc")), all, "{shell:?}");
        assert_eq!(names(&root.join("opt")), ["x", "y"], "{shell:?}");
        // Somebody else's host is left as it is.
        let strangers =
            |job: &Job| Job { hold: Some(Hold { lineage: "x".into(), ..hold(1) }), ..job.clone() };
        fs::remove_file(root.join("opt/x")).unwrap();
        fs::remove_file(root.join("opt/y")).unwrap();
        let refused = run(shell, root, &jobs.iter().map(strangers).collect::<Vec<_>>());
        assert!(refused.iter().all(|outcome| matches!(outcome, Outcome::NotHeld(..))), "{shell:?}");
        assert_eq!(names(&root.join("opt")), [""; 0], "{shell:?}");
    }
}

#[test]
fn what_cannot_be_written_says_why() {
    if !rustix::process::geteuid().is_root() || !cfg!(target_os = "linux") {
        return;
    }
    struct Mounted(std::path::PathBuf);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let mount = |what: &[&str]| assert!(Command::new("mount").args(what).status().unwrap().success());
    let full = directory.path().join("full");
    fs::create_dir(&full).unwrap();
    mount(&["-t", "tmpfs", "-o", "size=64k", "fleet-test", full.to_str().unwrap()]);
    let _mounted = Mounted(full.clone());
    for shell in SHELLS {
        let outcome =
            one(shell, directory.path(), write("/full/big", &[b'x'; 200_000], Keep::default(), None));
        let told = complaint(&outcome);
        assert!(told.contains("No space left on device"), "{shell:?}: {told}");
        assert_eq!(names(&full), [""; 0], "{shell:?}");
    }
    mount(&["-o", "remount,ro", full.to_str().unwrap()]);
    for shell in SHELLS {
        let told = complaint(&one(shell, directory.path(), write("/full/a", b"x", Keep::default(), None)));
        assert!(told.to_lowercase().contains("read-only file system"), "{shell:?}: {told}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Steps in a shell do what the same steps in this program do.
    #[test]
    fn any_content_under_any_name_is_written(
        files in prop::collection::btree_map(
            "[^/\0]{1,20}".prop_filter("a name of its own", |name| name != "." && name != ".."),
            (prop::collection::vec(any::<u8>(), 0..300), 0_u32..0o7777),
            1..4,
        ),
    ) {
        for shell in SHELLS {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path();
            for place in ["one", "many"] {
                fs::create_dir(root.join(place)).unwrap();
            }
            let tasks = |place: &str| -> Vec<Task> {
                let task = |(name, (content, bits)): (&String, &(Vec<u8>, u32))| {
                    write(&format!("/{place}/{name}"), content, mode(*bits), None)
                };
                files.iter().map(task).collect()
            };
            // Steps of one job are done one by one, those of many together.
            let mut jobs = vec![job(vec![claim(1, "c")]), job(tasks("one"))];
            jobs.extend(tasks("many").into_iter().map(|task| held(1, vec![task])));
            let outcomes = run(shell, root, &jobs[..1]).into_iter().chain(run(shell, root, &jobs[1..]));
            prop_assert!(outcomes.into_iter().all(|outcome| outcome == Outcome::Done), "{:?}", shell);
            for place in ["one", "many"] {
                let mut found = BTreeMap::new();
                for entry in fs::read_dir(root.join(place)).unwrap() {
                    let entry = entry.unwrap();
                    let bits = permissions(&entry.path());
                    found.insert(entry.file_name().into_string().unwrap(), (fs::read(entry.path()).unwrap(), bits));
                }
                prop_assert_eq!(&found, &files, "{:?} {}", shell, place);
            }
        }
    }
}

/// The script of every kind of step, for whoever checks scripts.
pub(crate) fn every_step(frame: &mut Frame) {
    let staged = Staged { path: "/up".into(), digest: "d".into(), is_gzip: true };
    let local = || LocalFile { path: "p".into(), digest: "d".into() };
    let tasks = vec![
        claim(1, "c"),
        write("/it's", b"x", mode(0o600), Some("true {}")),
        Task {
            act: Act::Write {
                path: "/l".into(),
                content: Content::Local(local()),
                keep: Keep::default(),
                validate: None,
            },
            with: With::Staged(staged.clone()),
        },
        Task {
            act: Act::Edit {
                path: "/e".into(),
                edit: Edit::Line { line: "x".into(), present: true, matching: None },
            },
            with: With::Edited { before: None, after: Some(Box::new(With::Sent(b"x".to_vec()))) },
        },
        task(Act::Directory { path: "/d".into(), keep: mode(0o700) }),
        task(Act::Keep { path: "/d".into(), keep: Keep { owner: Some("o".into()), ..Keep::default() } }),
        task(Act::Link { path: "/k".into(), target: "t".into() }),
        Task {
            act: Act::Unpack { path: "/u".into(), archive: local(), strip: 1 },
            with: With::Staged(staged),
        },
        task(Act::Remove { path: "/r".into() }),
        task(Act::RemoveTree { path: "/r".into() }),
        task(Act::Run {
            program: "true".into(),
            arguments: vec!["-a b".into()],
            input: Bytes(b"secret".to_vec()),
        }),
        task(Act::UserScript { script: Bytes(b"secret".to_vec()) }),
        task(Act::Reboot { boot: "b".into() }),
        release(1),
    ];
    let list = Some(("0a".into(), "line".into()));
    let all = Job { list, forget: Some("0b".into()), ..held(1, tasks) };
    let new = |path: &str, bits| held(1, vec![write(path, b"secret", mode(bits), None)]);
    write_all([&all, &new("/a b/c", 0o644), &new("/a b/d'", 0o755)], frame);
    assert!(frame.script().contains("gather "));
    assert!(!frame.script().contains("secret"));
}

#[test]
fn no_function_of_ours_is_seen_by_scripts_of_users() {
    let prelude = format!("{PRELUDE}{WORK}");
    let hiding = prelude.split_once("unset -f").unwrap().1.split_once("umask").unwrap().0;
    let defined = prelude.lines().filter_map(|line| line.split_once("() {")).map(|(name, _)| name.trim());
    let hidden: Vec<&str> = hiding.split_whitespace().collect();
    let seen: Vec<&str> = defined.filter(|name| !hidden.contains(name)).collect();
    assert_eq!(seen, [""; 0]);
}

/// A task of one claim among several of a slot.
fn of_claim(name: &str, state: Holding, act: impl FnOnce(Claim) -> Act) -> Task {
    let hold = hold(1);
    let mark = Mark { claim: name.into(), epoch: "ssh-ed25519 AAAA".into(), state };
    let text = Ledger {
        lineage: hold.lineage.clone(),
        slot: hold.slot.clone(),
        claim: name.into(),
        fence: 1,
        epoch: mark.epoch.clone(),
        state,
        since: "now".into(),
        by: "me".into(),
    };
    let claim = Claim { ledger: LEDGER.into(), slot: hold.slot.clone(), mark: Some(mark) };
    Task { act: act(claim), with: With::Ledger { hold, claim: name.into(), text: text.to_string() } }
}

#[test]
fn one_claim_is_told_from_another() {
    use Holding::{Claiming, Owned, Returning};
    for shell in SHELLS {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let ledger = || {
            let content = fs::read(root.join(LEDGER.trim_start_matches('/'))).ok()?;
            Ledger::parse(&content).map(|ledger| (ledger.claim, ledger.state))
        };
        let is = |claim: &str, state| Some((claim.to_owned(), state));
        let taken = |outcome: &Outcome| failed(outcome).1.word == "90";
        // The answer to the first may have got lost.
        for _ in 0..2 {
            assert_eq!(one(shell, root, of_claim("a", Claiming, Act::Claim)), Outcome::Done, "{shell:?}");
        }
        assert!(taken(&one(shell, root, of_claim("b", Claiming, Act::Claim))), "{shell:?}");
        assert!(taken(&one(shell, root, of_claim("b", Owned, Act::Mark))), "{shell:?}");
        assert_eq!(ledger(), is("a", Claiming), "{shell:?}");
        assert_eq!(one(shell, root, of_claim("a", Owned, Act::Mark)), Outcome::Done, "{shell:?}");
        assert_eq!(one(shell, root, of_claim("b", Owned, Act::Release)), Outcome::Done, "{shell:?}");
        assert_eq!(ledger(), is("a", Owned), "{shell:?}");
        let take = |from: &str| {
            let from = from.to_owned();
            of_claim("b", Returning, |claim| Act::TakeOver { claim, from })
        };
        assert!(taken(&one(shell, root, take("c"))), "{shell:?}");
        assert_eq!(one(shell, root, take("a")), Outcome::Done, "{shell:?}");
        assert_eq!(ledger(), is("b", Returning), "{shell:?}");
        assert_eq!(one(shell, root, of_claim("b", Returning, Act::Release)), Outcome::Done, "{shell:?}");
        assert_eq!((ledger(), names(&root.join("var/fleet"))), (None, Vec::new()), "{shell:?}");
        assert!(taken(&one(shell, root, of_claim("b", Owned, Act::Mark))), "{shell:?}");
    }
}
