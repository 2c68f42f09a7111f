//! Changes that could cut a host off: confirmed by a new connection, or undone by the host itself.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fleet_engine::host::{
    Act, Bytes, Content as Wanted, HostWriter, Hosts, Listed, Probe, Reach, Revert, Step, Work,
};
use fleet_engine::resource::Error;
use fleet_test_sshd::Sshd;
use fleet_transport::script::work::{Outcome, Task, With, write as write_all};
use fleet_transport::script::{GUARD, Guarded, Job};
use fleet_transport::{Channels, Options};

use crate::local::{LEDGER, claim, file, holder, reach, work, write};
use crate::root::{User, may_make_users};
use crate::shells::{SHELLS, outcomes};
use crate::ssh::over;

const NAME: &str = "00ff";

/// A way to a server whose own files are files of the host.
fn whole(server: &Sshd, root: &Path) -> Reach {
    let ledger = root.join("ledger").to_str().unwrap().to_owned();
    Reach { root: String::new(), ledger, confirm_within: Duration::from_secs(4), ..over(server, root) }
}

/// A way to this machine itself: nothing below another root could cut it off.
fn here(root: &Path) -> Reach {
    let ledger = root.join("ledger").to_str().unwrap().to_owned();
    Reach { root: String::new(), ledger, ..reach(root) }
}

fn put(path: &Path, content: &[u8]) -> Act {
    write(path.to_str().unwrap(), content)
}

async fn claimed(channels: &Channels, reach: &Reach) -> std::sync::Arc<dyn HostWriter> {
    let writer = channels.writer(reach, &holder(1));
    let claims = fleet_engine::host::step::Claim {
        ledger: reach.ledger.clone(),
        slot: reach.slot.clone(),
        mark: None,
    };
    writer.work(work(vec![Act::Claim(claims)], Probe::new())).await.unwrap();
    writer
}

/// What a host keeps beside the ledger.
fn beside(root: &Path) -> Vec<String> {
    let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("ledger")).collect();
    names.sort();
    names
}

/// Those who watch over a guard that lies below a directory.
fn watchers(root: &Path) -> Vec<String> {
    let all = Command::new("ps").args(["-A", "-ww", "-o", "pid=,args="]).output().unwrap();
    let all = String::from_utf8_lossy(&all.stdout).into_owned();
    let here = format!("/bin/sh {}/", root.display());
    let watch = |line: &&str| line.contains(&here) && line.contains(".guard/watch ");
    all.lines().filter(watch).map(str::to_owned).collect()
}

/// Waits until something is so.
async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn script(text: &str) -> Act {
    Act::UserScript { script: Bytes(text.as_bytes().to_vec()) }
}

/// A work that may be undone by putting these back.
fn guarded(acts: Vec<Act>, paths: &[&Path], read_back: Probe) -> Work {
    let listed = Some(Listed { name: NAME.into(), line: Some("{}".into()) });
    let revert = Some(Revert::of(paths.iter().map(|path| path.to_str().unwrap())));
    Work { listed, revert, ..work(acts, read_back) }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn what_cuts_nobody_off_is_confirmed_by_a_new_connection_and_leaves_nothing() {
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let reach = whole(&server, root);
    let writer = claimed(&channels, &reach).await;
    // A note of an earlier attempt goes, and others stay.
    let notes = root.join("ledger.unconfirmed");
    fs::write(&notes, format!("{NAME}\told\tthen\t\nother\told\tthen\t\n")).unwrap();
    let path = root.join("a");
    let read_back = Probe::new().content(path.to_str().unwrap(), Wanted::Whole);
    let done = writer.work(guarded(vec![write(path.to_str().unwrap(), b"new")], &[&path], read_back)).await;
    assert_eq!(file(&done).0.unwrap(), b"new");
    assert_eq!(server.connections(), 2);
    assert_eq!(beside(root), ["ledger", "ledger.d", "ledger.unconfirmed"]);
    assert_eq!(text(&notes), "other\told\tthen\t\n");
    until(|| watchers(root).is_empty()).await;
    // What the old connection does afterwards is as it was.
    writer.work(work(vec![write(path.to_str().unwrap(), b"newer")], Probe::new())).await.unwrap();
    assert_eq!((server.connections(), text(&path)), (2, "newer".to_owned()));
    channels.close().await;
}

fn check_undone(error: &Error) {
    assert!(!error.transient, "{error:?}");
    assert!(error.message.contains("the host undid the change"), "{error:?}");
}

#[tokio::test]
async fn what_lets_nobody_in_any_more_is_undone() {
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let root = root.path();
    for keep in [None, Some(Duration::from_secs(5))] {
        let channels = Channels::new(&Options { keep, ..Options::default() });
        let reach = Reach { slot: format!("fleet.desk[{}]", keep.is_some()), ..whole(&server, root) };
        let reach = Reach { ledger: format!("{}{}", reach.ledger, keep.is_some()), ..reach };
        let writer = claimed(&channels, &reach).await;
        let (keys, new) = (server.keys_let_in(), root.join("new"));
        let before = text(&keys);
        let acts = vec![write(keys.to_str().unwrap(), b"# nobody\n"), write(new.to_str().unwrap(), b"")];
        let error = writer.work(guarded(acts, &[&keys, &new], Probe::new())).await.unwrap_err();
        check_undone(&error);
        assert!(
            error.message.contains("no new connection could confirm") && error.help.is_some(),
            "{error:?}"
        );
        assert_eq!((text(&keys), new.exists()), (before, false));
        let notes = fs::read_to_string(format!("{}.unconfirmed", reach.ledger)).unwrap();
        assert!(notes.starts_with(&format!("{NAME}\t")) && notes.lines().count() == 1, "{notes}");
        assert!(!Path::new(&format!("{}.guard", reach.ledger)).exists());
        assert_eq!(fs::read_dir(format!("{}.d", reach.ledger)).unwrap().count(), 0, "it is not listed");
        until(|| watchers(root).is_empty()).await;
        channels.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_nobody_can_tell_undoes_it_by_itself() {
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let reach = whole(&server, root);
    let writer = claimed(&channels, &reach).await;
    let (keys, started) = (server.keys_let_in(), root.join("started"));
    let before = text(&keys);
    let cuts = script(&format!(": >'{}'; touch '{}'; sleep 30", keys.display(), started.display()));
    let step = writer.work(guarded(vec![cuts], &[&keys], Probe::new()));
    let cut = async {
        until(|| started.exists()).await;
        tokio::task::block_in_place(|| server.cut());
    };
    let (step, ()) = tokio::join!(step, cut);
    check_undone(&step.unwrap_err());
    assert_eq!(text(&keys), before);
    channels.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_whose_fleet_was_killed_undoes_it_by_itself() {
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let root = root.path();
    let reach = whole(&server, root);
    let (keys, started) = (server.keys_let_in(), root.join("started"));
    let before = text(&keys);
    // All that fleet does ends with it.
    let fleet = tokio::runtime::Runtime::new().unwrap();
    let cuts = script(&format!(": >'{}'; touch '{}'; sleep 30", keys.display(), started.display()));
    let way = reach.clone();
    let step = guarded(vec![cuts], &[&keys], Probe::new());
    drop(fleet.spawn(async move {
        let channels = Channels::new(&Options::default());
        claimed(&channels, &way).await.work(step).await
    }));
    until(|| started.exists()).await;
    fleet.shutdown_background();
    tokio::task::block_in_place(|| server.cut());
    // What is about to be undone is noted as that.
    assert!(text(&root.join("ledger.unconfirmed")).ends_with("\t\t\n"));
    // A run that comes at once waits until it is; it cannot even log in before.
    let channels = Channels::new(&Options::default());
    let writer = channels.writer(&reach, &holder(2));
    until(|| text(&keys) == before).await;
    let made = root.join("made");
    let again = guarded(vec![write(made.to_str().unwrap(), b"")], &[&made], Probe::new());
    writer.work(again).await.unwrap();
    assert_eq!((text(&keys), made.exists()), (before, true));
    assert_eq!(beside(root), ["ledger", "ledger.d"]);
    until(|| watchers(root).is_empty()).await;
    channels.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_after_a_run_that_was_killed_finds_what_was_there_before() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let reach = Reach { confirm_within: Duration::from_secs(4), ..here(root) };
    let (kept, started) = (root.join("kept"), root.join("started"));
    fs::write(&kept, "old").unwrap();
    let fleet = tokio::runtime::Runtime::new().unwrap();
    let way = reach.clone();
    let step = script(&format!("echo new >'{}'; touch '{}'; sleep 30", kept.display(), started.display()));
    let step = guarded(vec![step], &[&kept], Probe::new());
    drop(fleet.spawn(async move {
        let channels = Channels::new(&Options::default());
        claimed(&channels, &way).await.work(step).await
    }));
    until(|| started.exists()).await;
    fleet.shutdown_background();
    assert_eq!(text(&kept), "new\n");
    let channels = Channels::new(&Options::default());
    let writer = channels.writer(&reach, &holder(2));
    let other = root.join("other");
    writer.work(guarded(vec![put(&other, b"")], &[&other], Probe::new())).await.unwrap();
    assert_eq!((text(&kept), other.exists()), ("old".to_owned(), true));
    channels.close().await;
}

#[tokio::test]
async fn who_watched_over_one_change_does_not_touch_the_next() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let reach = Reach { confirm_within: Duration::from_secs(2), ..here(root) };
    let channels = Channels::new(&Options::default());
    let writer = claimed(&channels, &reach).await;
    let (a, b) = (root.join("a"), root.join("b"));
    writer.work(guarded(vec![put(&a, b"a")], &[&a], Probe::new())).await.unwrap();
    let mut next = guarded(vec![put(&b, b"b"), script("sleep 5")], &[&b], Probe::new());
    next.revert.as_mut().unwrap().takes = Duration::from_secs(60);
    writer.work(next).await.unwrap();
    assert_eq!((text(&a), text(&b)), ("a".to_owned(), "b".to_owned()));
    channels.close().await;
}

#[tokio::test]
async fn a_change_is_undone_although_its_watcher_was_killed() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let reach = here(root);
    let channels = Channels::new(&Options::default());
    let writer = claimed(&channels, &reach).await;
    let a = root.join("a");
    fs::write(&a, "old").unwrap();
    let guard = format!("{}.guard", reach.ledger);
    let kill = script(&format!("kill -KILL \"$(cat '{guard}/watcher')\"; exit 3"));
    let acts = vec![put(&a, b"new"), kill];
    let error = writer.work(guarded(acts, &[&a], Probe::new())).await.unwrap_err();
    check_undone(&error);
    assert_eq!((text(&a), Path::new(&guard).exists()), ("old".to_owned(), false));
    channels.close().await;
}

#[tokio::test]
async fn a_step_that_fails_is_undone_at_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let writer = claimed(&channels, &here(root)).await;
    let (a, b) = (root.join("a"), root.join("b"));
    fs::write(&a, "old").unwrap();
    let acts = vec![put(&a, b"new"), put(&b, b"new"), script("echo 'it is no use' >&2; exit 3")];
    let error = writer.work(guarded(acts, &[&a, &b], Probe::new())).await.unwrap_err();
    check_undone(&error);
    assert!(error.message.contains("it is no use"), "{error:?}");
    assert_eq!((text(&a), b.exists()), ("old".to_owned(), false));
    // What cannot be kept is not changed.
    let revert = Revert { keep: "echo 'who knows' >&2; exit 1", ..Revert::of([a.to_str().unwrap()]) };
    let refused = Work { revert: Some(revert), ..work(vec![put(&a, b"new")], Probe::new()) };
    let error = writer.work(refused).await.unwrap_err();
    assert!(error.message.contains("nothing was changed"), "{error:?}");
    assert_eq!(text(&a), "old");
    channels.close().await;
}

#[tokio::test]
async fn nothing_below_another_root_is_guarded() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let writer = channels.writer(&reach(root), &holder(1));
    writer.work(claim()).await.unwrap();
    let acts = vec![write("/a", b"new"), script("exit 3")];
    let error = writer.work(guarded(acts, &[Path::new("/a")], Probe::new())).await.unwrap_err();
    assert!(!error.message.contains("undid"), "{error:?}");
    assert_eq!(text(&root.join("a")), "new");
    channels.close().await;
}

#[tokio::test]
async fn who_cannot_become_root_any_more_is_cut_off_too() {
    if !may_make_users() {
        return;
    }
    let user = User::with("ALL=(ALL) NOPASSWD: ALL");
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let reach = user.reach(&server, root.path());
    let ledger = root.path().join("ledger").to_str().unwrap().to_owned();
    let reach = Reach { root: String::new(), ledger, confirm_within: Duration::from_secs(4), ..reach };
    let channels = Channels::new(&Options::default());
    let writer = claimed(&channels, &reach).await;
    let (rules, before) = (user.rules(), fs::read_to_string(user.rules()).unwrap());
    let mut cuts = guarded(vec![write(&rules, b"# nobody\n")], &[Path::new(&rules)], Probe::new());
    cuts.steps = cuts.steps.into_iter().map(Step::as_root).collect();
    let error = writer.work(cuts).await.unwrap_err();
    check_undone(&error);
    assert!(error.message.contains("sudo"), "{error:?}");
    assert_eq!(fs::read_to_string(&rules).unwrap(), before);
    channels.close().await;
}

#[test]
fn every_shell_keeps_and_puts_back() {
    for shell in SHELLS {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join("ledgers")).unwrap();
        fs::create_dir(root.join("tree")).unwrap();
        fs::write(root.join("tree/x y"), "1").unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("link")).unwrap();
        let tell = |arguments: Vec<String>| -> Outcome {
            let act = Act::Procedure { script: GUARD, arguments, input: Bytes::default() };
            let tasks = vec![Task { act, with: With::Nothing }];
            let job = Job { hold: None, list: None, tasks, forget: None, ledger: LEDGER.into() };
            let sections = outcomes(shell, root.to_str().unwrap(), |frame| {
                write_all([&job], frame);
                frame.push(":\n");
            });
            job.outcome(&mut sections.into_iter())
        };
        let revert = Revert {
            keep: "set -eu\necho \"$1\" >\"$K/state\"",
            undo: "set -eu\ncp \"$K/state\" \"$R/undone\"; echo \"$#\" >>\"$R/undone\"",
            arguments: vec!["it's state".into(), "b".into()],
            ..Revert::of(["/tree", "/link", "/new it's"])
        };
        let of = |name| Guarded { ledger: "/ledgers/ledger", name, revert: &revert };
        let first = of("n\t1");
        assert_eq!(tell(first.arm(60)), Outcome::Done, "{shell:?}");
        fs::remove_dir_all(root.join("tree")).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        fs::write(root.join("link"), "").unwrap();
        fs::write(root.join("new it's"), "").unwrap();
        // Any shell may be the one that is left there.
        let mut watch = Command::new(shell[0]);
        watch.args(&shell[1..]).arg(root.join("ledgers/ledger.guard/watch")).arg("now");
        let watched = watch.output().unwrap();
        assert!(watched.status.success() && watched.stderr.is_empty(), "{shell:?}: {watched:?}");
        let told = match tell(first.undo(60)) {
            Outcome::Failed(0, section) => section,
            other => panic!("{shell:?}: {other:?}"),
        };
        assert_eq!(told.word, "96", "{shell:?}: {told:?}");
        assert!(String::from_utf8_lossy(&told.complaint).starts_with("n\t1\t"), "{told:?}");
        assert_eq!(text(&root.join("tree/x y")), "1");
        assert_eq!(fs::read_link(root.join("link")).unwrap(), Path::new("nowhere"));
        assert!(!root.join("new it's").exists());
        assert_eq!(text(&root.join("undone")), "it's state\n2\n", "{shell:?}");
        // What was undone cannot be confirmed any more; another attempt can.
        assert!(matches!(tell(first.confirm(60)), Outcome::Failed(0, _)), "{shell:?}");
        let second = of("n\t2");
        assert_eq!(tell(second.arm(60)), Outcome::Done, "{shell:?}");
        assert_eq!(
            (tell(second.confirm(60)), tell(second.confirm(60))),
            (Outcome::Done, Outcome::Done),
            "{shell:?}"
        );
        // What fails in its middle is not gone on with.
        let broken = Revert { keep: "set -eu\nfalse\n: >\"$R/went on\"", ..revert.clone() };
        let broken = Guarded { ledger: "/ledgers/ledger", name: "n\t3", revert: &broken };
        assert!(matches!(tell(broken.arm(60)), Outcome::Failed(0, _)), "{shell:?}");
        assert!(!root.join("went on").exists(), "{shell:?}");
        let left = fs::read_dir(root.join("ledgers")).unwrap().count();
        assert_eq!(left, 0, "{shell:?}");
    }
}
