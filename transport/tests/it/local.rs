//! Sessions with this machine.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use fleet_engine::host::probe::What;
use fleet_engine::host::reach::{CONFIRM_WITHIN, Over};
use fleet_engine::host::step::{Claim, Content, Keep, LocalFile};
use fleet_engine::host::{
    Act, Bytes, Content as Wanted, Edit, Holder, HostWriter, Hosts, Listed, Probe, Reach, Read, Reply, Step,
    Work,
};
use fleet_engine::resource::Error;
use fleet_transport::{Channels, Options};
use futures_util::future::join_all;
use sha2::{Digest, Sha256};

pub(crate) const LEDGER: &str = "/ledgers/ledger";

pub(crate) fn reach(root: &Path) -> Reach {
    Reach {
        slot: "fleet.desk[0]".into(),
        over: Over::Local,
        root: root.to_str().unwrap().into(),
        ledger: LEDGER.into(),
        lineage: Some("state-1".into()),
        sudo_password: None,
        confirm_within: CONFIRM_WITHIN,
    }
}

pub(crate) fn holder(fence: u64) -> Holder {
    Holder { lineage: "state-1".into(), fence, by: "somebody@somewhere".into() }
}

pub(crate) fn work(acts: Vec<Act>, read_back: Probe) -> Work {
    Work { steps: acts.into_iter().map(Step::new).collect(), read_back, ..Work::default() }
}

pub(crate) fn claim() -> Work {
    let claim = Claim { ledger: LEDGER.into(), slot: "fleet.desk[0]".into(), mark: None };
    work(vec![Act::Claim(claim)], Probe::new().content(LEDGER, Wanted::Whole))
}

pub(crate) fn write(path: &str, content: &[u8]) -> Act {
    let content = Content::Bytes(Bytes(content.to_vec()));
    Act::Write { path: path.into(), content, keep: Keep::default(), validate: None }
}

pub(crate) fn line(path: &str, line: &str) -> Act {
    Act::Edit { path: path.into(), edit: Edit::Line { line: line.into(), present: true, matching: None } }
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The content and the digest of the file that was asked for first.
pub(crate) fn file(reply: &Result<Reply, Error>) -> (Option<Vec<u8>>, Option<String>) {
    match &reply.as_ref().unwrap().path(0).unwrap().unwrap().what {
        What::File(file) => (file.content.clone(), file.digest.clone()),
        other => panic!("{other:?}"),
    }
}

async fn claimed(channels: &Channels, root: &Path) -> std::sync::Arc<dyn HostWriter> {
    let writer = channels.writer(&reach(root), &holder(1));
    writer.work(claim()).await.unwrap();
    writer
}

#[tokio::test]
async fn a_thing_is_asked_for_made_read_back_and_removed() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let reader = channels.reader(&reach(root));
    let probe = || Probe::new().content("/it's", Wanted::Whole).and(Read::Line);
    let reply = reader.ask(vec![probe()]).await.remove(0).unwrap();
    assert_eq!(reply.path(0).unwrap(), None);
    let known = reply.line(1).unwrap();
    assert_eq!((&known.address, &known.host_key, known.user.is_empty()), (&None, &None, false));
    let refused =
        channels.writer(&reach(root), &holder(1)).work(work(vec![write("/it's", b"x")], probe())).await;
    assert!(refused.unwrap_err().message.contains("no ledger"));
    let writer = claimed(&channels, root).await;
    let listed = Some(Listed { name: "0a".into(), line: Some("{}".into()) });
    let made = writer.work(Work { listed, ..work(vec![write("/it's", b"a\0\n\xff")], probe()) }).await;
    assert_eq!(file(&made), (Some(b"a\0\n\xff".to_vec()), Some(digest(b"a\0\n\xff"))));
    let asked =
        reader.ask(vec![Probe::new().and(Read::Inside(format!("{LEDGER}.d")))]).await.remove(0).unwrap();
    assert_eq!(asked.inside(0).unwrap(), b"{}\n");
    let gone = Some(Listed { name: "0a".into(), line: None });
    let removed = Work { listed: gone, ..work(vec![Act::Remove { path: "/it's".into() }], probe()) };
    assert_eq!(writer.work(removed).await.unwrap().path(0).unwrap(), None);
    assert!(!root.join("ledgers/ledger.d/0a").exists());
    channels.close().await;
    assert!(reader.ask(vec![probe()]).await.remove(0).is_err());
}

#[tokio::test]
async fn what_was_written_ahead_in_one_frame_is_not_taken_for_written_in_the_next() {
    let root = tempfile::tempdir().unwrap();
    let channels = Channels::new(&Options::default());
    let writer = channels.writer(&reach(root.path()), &holder(1));
    writer.work(claim()).await.unwrap();
    // Several new files travel together; the next one goes alone.
    let together = (0..5).map(|i| writer.work(work(vec![write(&format!("/{i}"), b"x")], Probe::new())));
    join_all(together).await.into_iter().for_each(|made| drop(made.unwrap()));
    for alone in ["/alone", "/again"] {
        let made =
            writer.work(work(vec![write(alone, b"y")], Probe::new().content(alone, Wanted::Whole))).await;
        assert_eq!(file(&made).0.unwrap(), b"y");
    }
    channels.close().await;
}

#[tokio::test]
async fn many_works_at_once_and_edits_of_one_file_all_arrive() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let writer = claimed(&channels, root).await;
    fs::write(root.join("shared"), "theirs\n").unwrap();
    let works = (0..60).map(|i| match i % 3 {
        0 => {
            work(vec![line("/shared", &format!("line {i}"))], Probe::new().content("/shared", Wanted::Digest))
        }
        1 => work(
            vec![write(&format!("/f{i}"), b"x"), line(&format!("/f{i}"), "y")],
            Probe::new().content(format!("/f{i}"), Wanted::Whole),
        ),
        _ => work(
            vec![Act::Run { program: "false".into(), arguments: vec![], input: Bytes::default() }],
            Probe::new(),
        ),
    });
    let results = join_all(works.map(|work| writer.work(work))).await;
    for (i, result) in results.iter().enumerate() {
        match i % 3 {
            0 => assert!(result.is_ok(), "{i} {result:?}"),
            1 => assert_eq!(file(result).0.unwrap(), b"x\ny\n", "{i}"),
            _ => assert!(
                result.as_ref().is_err_and(|error| error.message.contains("false") && !error.transient)
            ),
        }
    }
    let text = fs::read_to_string(root.join("shared")).unwrap();
    assert_eq!(text.lines().count(), 21, "{text}");
    channels.close().await;
}

#[tokio::test]
async fn large_contents_take_a_channel_of_their_own() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let writer = claimed(&channels, root).await;
    let big: Vec<u8> = (0..5_000_000_u32).map(|i| (i % 251) as u8).collect();
    let source = tempfile::NamedTempFile::new().unwrap();
    fs::write(source.path(), &big).unwrap();
    let local = |digest: String| LocalFile { path: source.path().to_str().unwrap().into(), digest };
    let put = |digest: String| Act::Write {
        path: "/bin".into(),
        content: Content::Local(local(digest)),
        keep: Keep { mode: Some(0o755), ..Keep::default() },
        validate: None,
    };
    let wrong = writer.work(work(vec![put(digest(b"other"))], Probe::new())).await.unwrap_err();
    assert!(wrong.message.contains("planned") && !wrong.transient, "{wrong}");
    let probe = || Probe::new().content("/bin", Wanted::Digest);
    let made = writer.work(work(vec![put(digest(&big))], probe())).await;
    assert_eq!(file(&made), (None, Some(digest(&big))));
    let bytes = writer
        .work(work(vec![write("/mid", &big[..300_000])], Probe::new().content("/mid", Wanted::Whole)))
        .await;
    assert_eq!(file(&bytes).0.unwrap(), &big[..300_000]);
    // A step that is not reached leaves nothing behind.
    let no = Act::Run { program: "false".into(), arguments: vec![], input: Bytes::default() };
    writer.work(work(vec![no, put(digest(&big))], probe())).await.unwrap_err();
    writer.work(work(vec![], Probe::new())).await.unwrap();
    let left: Vec<_> =
        fs::read_dir(root.join("ledgers")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["ledger"]);
    assert_eq!(fs::metadata(root.join("bin")).unwrap().mode() & 0o777, 0o755);
    channels.close().await;
}

#[tokio::test]
async fn a_step_that_hangs_is_ended_and_the_next_one_works() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let writer = claimed(&channels, root).await;
    let number = root.join("number");
    let script = format!("echo $$ >'{}'; sleep 98765", number.display());
    let mut hangs = work(vec![Act::UserScript { script: Bytes(script.into()) }], Probe::new());
    hangs.steps[0].timeout = Some(Duration::from_millis(300));
    let error = writer.work(hangs).await.unwrap_err();
    assert!(error.message.contains("did not end within") && !error.transient, "{error}");
    let after = writer.work(work(vec![write("/a", b"x")], Probe::new().content("/a", Wanted::Whole))).await;
    assert_eq!(file(&after).0.unwrap(), b"x");
    let sleeping = std::process::Command::new("pgrep").args(["-f", "sleep 98765"]).output().unwrap();
    assert!(sleeping.stdout.is_empty(), "{sleeping:?}");
    channels.close().await;
}

#[tokio::test]
async fn a_shell_that_dies_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let writer = claimed(&channels, root).await;
    let kill = Act::UserScript { script: Bytes(b"kill -9 $$".to_vec()) };
    let error = writer.work(work(vec![kill], Probe::new())).await.unwrap_err();
    assert!(error.transient && error.message.contains("not known"), "{error}");
    let reader = channels.reader(&reach(root));
    let asked = reader.ask(vec![Probe::new().content(LEDGER, Wanted::Whole)]).await.remove(0);
    assert!(file(&asked).0.is_some());
    channels.close().await;
}

#[tokio::test]
async fn a_host_comes_back_from_its_reboot() {
    let server = fleet_test_sshd::Sshd::start_with(&["PermitUserEnvironment no"]);
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    fs::create_dir_all(root.join("proc/sys/kernel/random")).unwrap();
    let boot = root.join("proc/sys/kernel/random/boot_id");
    fs::write(&boot, "boot-1\n").unwrap();
    let channels = Channels::new(&Options::default());
    let reach = crate::ssh::over(&server, root);
    let writer = channels.writer(&reach, &holder(1));
    writer.work(claim()).await.unwrap();
    let reboot = |boot: &str| Act::Reboot { boot: boot.into() };
    let probe = || Probe::new().content("/proc/sys/kernel/random/boot_id", Wanted::Whole);
    // Another boot already: nothing is done.
    let acts = vec![write("/before", b""), reboot("boot-0"), write("/after", b"")];
    assert_eq!(file(&writer.work(work(acts, probe())).await).0.unwrap(), b"boot-1\n");
    assert!(root.join("before").exists() && root.join("after").exists());
    // A host that goes down, and answers from the same boot for a while.
    let bin = root.join("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\ntouch '{}/going'\n", root.display());
    fs::write(bin.join("shutdown"), script).unwrap();
    fs::set_permissions(bin.join("shutdown"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let server =
        fleet_test_sshd::Sshd::start_with(&[&format!("SetEnv PATH={}:/usr/bin:/bin", bin.display())]);
    let writer = channels.writer(&crate::ssh::over(&server, root), &holder(1));
    let rebooting = writer.work(work(vec![write("/b", b""), reboot("boot-1"), write("/c", b"")], probe()));
    let machine = async {
        while !root.join("going").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert!(!root.join("c").exists());
        server.cut();
        fs::write(&boot, "boot-2\n").unwrap();
    };
    let (came, ()) = tokio::join!(rebooting, machine);
    assert_eq!(file(&came).0.unwrap(), b"boot-2\n");
    assert!(root.join("c").exists());
    channels.close().await;
}

#[tokio::test]
async fn trees_have_digests_that_change_with_everything_below() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let channels = Channels::new(&Options::default());
    let reader = channels.reader(&reach(root));
    let probe = || Probe::new().and(Read::Tree("/t".into()));
    let ask = async || reader.ask(vec![probe()]).await.remove(0).unwrap().tree(0).unwrap().map(str::to_owned);
    assert_eq!(ask().await, None);
    fs::create_dir_all(root.join("t/a b")).unwrap();
    let mut seen = vec![ask().await.unwrap()];
    let mut changed = async |what: &str| {
        let now = ask().await.unwrap();
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    fs::write(root.join("t/a b/-f"), "x").unwrap();
    changed("a file").await;
    fs::write(root.join("t/a b/-f"), "y").unwrap();
    changed("its content").await;
    fs::set_permissions(root.join("t/a b/-f"), fs::Permissions::from_mode(0o711)).unwrap();
    changed("its mode").await;
    fs::rename(root.join("t/a b/-f"), root.join("t/a b/g")).unwrap();
    changed("its name").await;
    symlink("x", root.join("t/l")).unwrap();
    changed("a link").await;
    fs::remove_file(root.join("t/l")).unwrap();
    symlink("y", root.join("t/l")).unwrap();
    changed("where it leads").await;
    assert_eq!(ask().await, ask().await);
    channels.close().await;
}

/// What this process used so far: seconds of its own and of those it waited for, and the most memory, in bytes.
fn used() -> (f64, u64) {
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    let words: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = words[11..15].iter().map(|word| word.parse::<f64>().unwrap()).sum::<f64>();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (ticks / 100.0, memory.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
}

/// `cargo test --release -p fleet-transport --test it -- --ignored --nocapture many_hosts`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures"]
async fn many_hosts_cost_as_much_each_as_few() {
    for count in [20, 100, 200, 400] {
        let root = tempfile::tempdir().unwrap();
        let channels = Channels::new(&Options::default());
        let (seconds, memory) = used();
        let began = std::time::Instant::now();
        let all = (0..count).map(|at| {
            let root = root.path().join(at.to_string());
            fs::create_dir(&root).unwrap();
            let reach = Reach { slot: format!("fleet.desk[{at}]"), ..reach(&root) };
            let (reader, writer) = (channels.reader(&reach), channels.writer(&reach, &holder(1)));
            async move {
                let claim = Claim { ledger: LEDGER.into(), slot: reach.slot.clone(), mark: None };
                writer.work(work(vec![Act::Claim(claim)], Probe::new())).await.unwrap();
                let works =
                    (0..30).map(|i| writer.work(work(vec![write(&format!("/{i}"), b"x")], Probe::new())));
                assert!(join_all(works).await.iter().all(Result::is_ok));
                let probes =
                    (0..30).map(|i| Probe::new().content(format!("/{i}"), Wanted::Unless(digest(b"x"))));
                assert!(reader.ask(probes.collect()).await.iter().all(Result::is_ok));
            }
        });
        join_all(all).await;
        let wall = began.elapsed().as_secs_f64();
        let (_, after) = used();
        channels.close().await;
        let (now, _) = used();
        println!(
            "{count} hosts: {:.1} ms wall, {:.1} ms CPU and {} KiB a host",
            wall * 1000.0 / f64::from(count),
            (now - seconds) * 1000.0 / f64::from(count),
            after.saturating_sub(memory) / 1024 / u64::try_from(count).unwrap()
        );
    }
}
