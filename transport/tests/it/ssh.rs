//! Sessions over real OpenSSH.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fleet_engine::host::reach::{Over, Secret, Ssh};
use fleet_engine::host::step::{Content, Keep, LocalFile};
use fleet_engine::host::{Act, Bytes, Content as Wanted, Hosts, Probe, Reach, Read};
use fleet_engine::resource::Error;
use fleet_test_sshd::Sshd;
use fleet_transport::{Channels, Options};
use futures_util::future::join_all;

use crate::local::{LEDGER, claim, digest, file, holder, line, reach, work, write};

/// The way to a server; paths lie under `root` there.
pub(crate) fn over(server: &Sshd, root: &Path) -> Reach {
    let ssh = Ssh {
        addresses: vec!["127.0.0.1".into()],
        port: Some(server.port()),
        user: None,
        identity: Some(Secret(server.identity().into())),
        host_key: Some(server.host_key()),
        config: Some("/dev/null".into()),
        jump: None,
    };
    Reach { over: Over::Ssh(ssh), ..reach(root) }
}

fn with(reach: Reach, change: impl FnOnce(&mut Ssh)) -> Reach {
    let Over::Ssh(mut ssh) = reach.over else { panic!("it is one over SSH") };
    change(&mut ssh);
    Reach { over: Over::Ssh(ssh), ..reach }
}

async fn line_of(channels: &Channels, reach: &Reach) -> Result<fleet_engine::host::probe::Line, Error> {
    let reply = channels.reader(reach).ask(vec![Probe::new().and(Read::Line)]).await.remove(0)?;
    Ok(reply.line(0).unwrap().clone())
}

#[tokio::test]
async fn a_host_is_taken_at_its_word_once_and_then_held_to_it() {
    let mut server = Sshd::start();
    let root = tempfile::tempdir().unwrap();
    let first = with(over(&server, root.path()), |ssh| ssh.host_key = None);
    let channels = Channels::new(&Options::default());
    let known = line_of(&channels, &first).await.unwrap();
    assert_eq!((known.address.as_deref(), known.pinned), (Some("127.0.0.1"), false));
    assert_eq!(known.host_key.as_deref(), Some(&*server.host_key()));
    channels.close().await;
    let pinned = with(first, |ssh| ssh.host_key = known.host_key.map(|key| format!("{key} a comment")));
    let channels = Channels::new(&Options::default());
    assert!(line_of(&channels, &pinned).await.unwrap().pinned);
    let old = server.fingerprint();
    server.change_host_key();
    server.restart();
    let new = server.fingerprint();
    // Within the run, and in another one.
    for channels in [&channels, &Channels::new(&Options::default())] {
        let error = line_of(channels, &pinned).await.unwrap_err();
        assert!(!error.transient && error.message.contains(&old) && error.message.contains(&new), "{error}");
        assert!(error.help.unwrap().contains("ssh-keygen -lf"));
    }
    channels.close().await;
}

#[tokio::test]
async fn a_key_that_changes_within_a_run_is_not_taken_even_without_a_pin() {
    let mut server = Sshd::start();
    let root = tempfile::tempdir().unwrap();
    let channels = Channels::new(&Options::default());
    let reach = with(over(&server, root.path()), |ssh| ssh.host_key = None);
    line_of(&channels, &reach).await.unwrap();
    server.change_host_key();
    server.restart();
    let error = line_of(&channels, &reach).await.unwrap_err();
    assert!(error.message.contains("is not the host"), "{error}");
    channels.close().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_connection_is_told_apart() {
    let server = Sshd::start();
    let other = Sshd::start();
    let root = tempfile::tempdir().unwrap();
    let channels = Channels::new(&Options::default());
    let mut dead = Sshd::start();
    dead.kill();
    let base = || over(&server, root.path());
    let table: Vec<(&str, Reach, bool, &str)> = vec![
        ("refused", with(base(), |ssh| ssh.port = Some(dead.port())), true, "refuses connections"),
        (
            "no such name",
            with(base(), |ssh| ssh.addresses = vec!["no-such-host.invalid".into()]),
            true,
            "nobody knows where",
        ),
        (
            "wrong key",
            with(base(), |ssh| ssh.identity = Some(Secret(other.identity().into()))),
            false,
            "does not let us in",
        ),
        (
            "no key",
            with(base(), |ssh| ssh.identity = Some(Secret("nonsense".into()))),
            false,
            "cannot be read",
        ),
        ("no address", with(base(), |ssh| ssh.addresses = vec![]), false, "nobody said"),
        (
            "an option",
            with(base(), |ssh| ssh.addresses = vec!["-oProxyCommand=touch /tmp/x".into()]),
            false,
            "is no address",
        ),
        ("no pin", with(base(), |ssh| ssh.host_key = Some("nonsense".into())), false, "is no host key"),
    ];
    for (at, (name, reach, transient, told)) in table.into_iter().enumerate() {
        let reach = Reach { slot: format!("fleet.desk[{at}]"), ..reach };
        let error = line_of(&channels, &reach).await.unwrap_err();
        assert!(error.transient == transient && error.message.contains(told), "{name}: {error:?}");
        assert!(!error.message.contains("PRIVATE"), "{name}: {error:?}");
    }
    // The second address answers.
    let two = with(base(), |ssh| ssh.addresses = vec!["no-such-host.invalid".into(), "localhost".into()]);
    assert_eq!(line_of(&channels, &two).await.unwrap().address.as_deref(), Some("localhost"));
    channels.close().await;
}

#[tokio::test]
async fn keys_of_all_types_are_served_without_touching_a_disk() {
    let directory = tempfile::tempdir().unwrap();
    for kind in [["-t", "rsa", "-b", "2048"], ["-t", "ecdsa", "-b", "256"], ["-t", "ecdsa", "-b", "384"]] {
        let key = directory.path().join("key");
        let _ = fs::remove_file(&key);
        let made = std::process::Command::new("ssh-keygen")
            .args(["-q", "-N", "", "-f"])
            .arg(&key)
            .args(kind)
            .status();
        assert!(made.unwrap().success());
        let authorized = format!("AuthorizedKeysFile {}", key.with_extension("pub").display());
        let server = Sshd::start_with(&[&authorized]);
        let identity = fs::read_to_string(&key).unwrap();
        let reach =
            with(over(&server, directory.path()), |ssh| ssh.identity = Some(Secret(identity.trim().into())));
        let channels = Channels::new(&Options::default());
        line_of(&channels, &reach)
            .await
            .unwrap_or_else(|error| panic!("{kind:?}: {error:?}\n{}", server.log()));
        channels.close().await;
    }
    let key = directory.path().join("locked");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "secret", "-f"])
        .arg(&key)
        .status();
    assert!(made.unwrap().success());
    let server = Sshd::start();
    let reach = with(over(&server, directory.path()), |ssh| {
        ssh.identity = Some(Secret(fs::read_to_string(&key).unwrap()));
    });
    let error = line_of(&Channels::new(&Options::default()), &reach).await.unwrap_err();
    assert!(error.message.contains("passphrase"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_hosts_at_once_are_converged() {
    let servers: Vec<Sshd> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..30).map(|_| scope.spawn(Sshd::start)).collect();
        starting.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let roots: Vec<_> = servers.iter().map(|_| tempfile::tempdir().unwrap()).collect();
    let channels = Channels::new(&Options::default());
    let began = Instant::now();
    let all = servers.iter().zip(&roots).map(|(server, root)| async {
        let writer = channels.writer(&over(server, root.path()), &holder(1));
        writer.work(claim()).await.unwrap();
        let works = (0..10).map(|i| {
            writer.work(work(
                vec![write(&format!("/{i}"), b"x"), line("/shared", &i.to_string())],
                Probe::new(),
            ))
        });
        join_all(works).await.into_iter().for_each(|made| drop(made.unwrap()));
    });
    join_all(all).await;
    println!("30 hosts: {:?}", began.elapsed());
    for root in &roots {
        let mut lines: Vec<_> =
            fs::read_to_string(root.path().join("shared")).unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        assert_eq!(lines.len(), 10);
    }
    let connections: Vec<usize> = servers.iter().map(Sshd::connections).collect();
    assert_eq!(connections, [1; 30]);
    channels.close().await;
}

#[tokio::test]
async fn a_plan_is_one_round_trip_however_much_is_asked() {
    let server = Sshd::noting();
    let root = tempfile::tempdir().unwrap();
    for i in 0..200 {
        fs::write(root.path().join(i.to_string()), "x").unwrap();
    }
    let mut trips = Vec::new();
    for count in [1, 10, 200] {
        let (requests, commands) = (server.requests(), server.commands());
        let channels = Channels::new(&Options::default());
        let reader = channels.reader(&over(&server, root.path()));
        let probes = (0..count).map(|i| Probe::new().content(format!("/{i}"), Wanted::Unless(digest(b"x"))));
        let replies = reader.ask(probes.collect()).await;
        assert!(replies.iter().all(|reply| file(reply) == (None, Some(digest(b"x")))));
        channels.close().await;
        trips.push((server.requests() - requests, server.commands() - commands));
    }
    assert_eq!(trips, [(1, 1), (1, 1), (1, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_in_the_middle_of_a_step_is_told_and_mended() {
    let server = Sshd::start();
    let root = tempfile::tempdir().unwrap();
    let channels = Channels::new(&Options::default());
    let reach = over(&server, root.path());
    let writer = channels.writer(&reach, &holder(1));
    writer.work(claim()).await.unwrap();
    let started = root.path().join("started");
    let script = format!("touch '{}'; sleep 3", started.display());
    let step = writer.work(work(
        vec![Act::UserScript { script: Bytes(script.into()) }, write("/after", b"")],
        Probe::new(),
    ));
    let cut = async {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::task::block_in_place(|| server.cut());
    };
    let (step, ()) = tokio::join!(step, cut);
    let error = step.unwrap_err();
    assert!(error.transient && error.message.contains("not known"), "{error:?}");
    let made =
        writer.work(work(vec![write("/after", b"x")], Probe::new().content("/after", Wanted::Whole))).await;
    assert_eq!(file(&made).0.unwrap(), b"x");
    assert_eq!(server.connections(), 2);
    channels.close().await;
}

#[tokio::test]
async fn a_cut_in_the_middle_of_an_upload_is_told_and_mended() {
    let mut server = Sshd::start();
    let root = tempfile::tempdir().unwrap();
    let channels = Channels::new(&Options::default());
    let reach = over(&server, root.path());
    let writer = channels.writer(&reach, &holder(1));
    writer.work(claim()).await.unwrap();
    // Bytes that do not get smaller.
    let mut seed = 1_u64;
    let big: Vec<u8> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    })
    .take(1_000_000)
    .collect();
    let big = big.repeat(50);
    let whole = digest(&big);
    let source = tempfile::NamedTempFile::new().unwrap();
    fs::write(source.path(), &big).unwrap();
    let put = || {
        let local = LocalFile { path: source.path().to_str().unwrap().into(), digest: whole.clone() };
        let act = Act::Write {
            path: "/big".into(),
            content: Content::Local(local),
            keep: Keep::default(),
            validate: None,
        };
        work(vec![act], Probe::new().content("/big", Wanted::Digest))
    };
    let uploading = writer.work(put());
    let cut = async {
        let ledgers = root.path().join("ledgers");
        loop {
            let staged = fs::read_dir(&ledgers)
                .unwrap()
                .flatten()
                .find(|it| it.file_name().to_string_lossy().contains(".up-"));
            if staged.is_some_and(|it| it.metadata().is_ok_and(|it| it.len() > 100_000)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server.kill();
    };
    let (uploaded, ()) = tokio::join!(uploading, cut);
    let error = uploaded.unwrap_err();
    assert!(error.transient, "{error:?}");
    assert!(!root.path().join("big").exists());
    let down = writer.work(put()).await.unwrap_err();
    assert!(down.transient && down.message.contains("refuses"), "{down:?}");
    server.restart();
    let made = writer.work(put()).await;
    assert_eq!(file(&made).1.unwrap(), whole);
    let left: Vec<_> =
        fs::read_dir(root.path().join("ledgers")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["ledger"]);
    channels.close().await;
}

#[tokio::test]
async fn connections_that_are_kept_serve_the_next_run() {
    let server = Sshd::start();
    let root = tempfile::tempdir().unwrap();
    let keep = Options { keep: Some(Duration::from_secs(5)), ..Options::default() };
    for _ in 0..3 {
        let channels = Channels::new(&keep);
        let known = line_of(&channels, &over(&server, root.path())).await.unwrap();
        assert_eq!((known.host_key, known.user.is_empty()), (Some(server.host_key()), false));
        channels.close().await;
    }
    assert_eq!(server.connections(), 1);
    // Another pin is another connection.
    let other = Sshd::start();
    let wrong = with(over(&server, root.path()), |ssh| ssh.host_key = Some(other.host_key()));
    let channels = Channels::new(&keep);
    line_of(&channels, &wrong).await.unwrap_err();
    server.cut();
    line_of(&channels, &Reach { slot: "fleet.desk[0]".into(), ..over(&server, root.path()) }).await.unwrap();
    assert_eq!(server.connections(), 2);
    channels.close().await;
}

#[tokio::test]
async fn two_that_want_a_host_do_not_both_get_it() {
    for _ in 0..20 {
        let root = tempfile::tempdir().unwrap();
        let channels = [Channels::new(&Options::default()), Channels::new(&Options::default())];
        let claims = ["state-a", "state-b"].iter().zip(&channels).map(|(lineage, channels)| {
            let holder = fleet_engine::host::Holder { lineage: (*lineage).into(), fence: 1, by: "x".into() };
            let writer = channels.writer(&reach(root.path()), &holder);
            async move { writer.work(claim()).await }
        });
        let results = join_all(claims).await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        let refused = results.into_iter().find_map(Result::err).unwrap();
        assert!(!refused.transient && refused.message.contains("another state"), "{refused:?}");
        assert!(root.path().join(&LEDGER[1..]).exists());
        for channels in channels {
            channels.close().await;
        }
    }
}

#[tokio::test]
async fn a_host_behind_another_is_reached_as_the_users_configuration_says() {
    let (gate, server) = (Sshd::start(), Sshd::start());
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("gate");
    fs::write(&key, gate.identity()).unwrap();
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let known = directory.path().join("known");
    fs::write(&known, format!("[127.0.0.1]:{} {}\n", gate.port(), gate.host_key())).unwrap();
    let config = directory.path().join("config with spaces");
    let text = format!(
        "Host gate\n  HostName 127.0.0.1\n  Port {}\n  IdentityFile {}\n  IdentityAgent none\n  UserKnownHostsFile {}\n\
         Host *\n  SendEnv NOTHING\n  LocalForward 127.0.0.1:9 127.0.0.1:9\n  ControlMaster auto\n",
        gate.port(),
        key.display(),
        known.display()
    );
    fs::write(&config, text).unwrap();
    let reach = with(over(&server, directory.path()), |ssh| {
        ssh.jump = Some("gate".into());
        ssh.config = Some(config.to_str().unwrap().into());
    });
    let channels = Channels::new(&Options::default());
    line_of(&channels, &reach).await.unwrap();
    assert_eq!((gate.connections(), server.connections()), (1, 1));
    channels.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_at_a_terminal_gets_in_with_the_same_keys() {
    let server = Sshd::start();
    let root = tempfile::tempdir().unwrap();
    let channels = Channels::new(&Options::default());
    let mut command = channels.interactive(&over(&server, root.path())).await.unwrap();
    let told = tokio::task::spawn_blocking(move || command.arg("echo here").output().unwrap()).await.unwrap();
    assert_eq!(told.stdout, b"here\n", "{told:?}");
    channels.close().await;
}

#[tokio::test]
async fn a_disk_that_takes_nothing_is_told_and_nothing_is_left_half_done() {
    if !crate::root::may_make_users() {
        return;
    }
    struct Mounted(std::path::PathBuf);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(&self.0).status();
        }
    }
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let mount = |arguments: &[&str]| {
        assert!(std::process::Command::new("mount").args(arguments).status().unwrap().success());
    };
    for name in ["full", "ledgers", "ro"] {
        let path = root.path().join(name);
        fs::create_dir(&path).unwrap();
    }
    let full = root.path().join("full");
    mount(&["-t", "tmpfs", "-o", "size=256k", "fleet-test", full.to_str().unwrap()]);
    let _full = Mounted(full.clone());
    let ledgers = root.path().join("ledgers");
    mount(&["-t", "tmpfs", "-o", "size=1m", "fleet-test", ledgers.to_str().unwrap()]);
    let _ledgers = Mounted(ledgers.clone());
    let closed = root.path().join("ro");
    mount(&["-t", "tmpfs", "-o", "ro", "fleet-test", closed.to_str().unwrap()]);
    let _closed = Mounted(closed);
    let channels = Channels::new(&Options::default());
    let writer = channels.writer(&over(&server, root.path()), &holder(1));
    writer.work(claim()).await.unwrap();
    let table = [
        ("/full/a", 300_000, "No space left on device", "full"),
        ("/full/b", 30_000_000, "No space left on device", "full"),
        ("/ro/a", 10, "ead-only file system", "another place"),
    ];
    fs::write(full.join("a"), "old").unwrap();
    for (path, size, told, help) in table {
        let error = writer.work(work(vec![write(path, &vec![b'x'; size])], Probe::new())).await.unwrap_err();
        assert!(!error.transient && error.message.contains(told), "{path}: {error:?}");
        assert!(error.help.as_ref().unwrap().contains(help), "{path}: {error:?}");
    }
    assert_eq!(fs::read(full.join("a")).unwrap(), b"old");
    writer.work(work(vec![], Probe::new())).await.unwrap();
    let left = |path: &Path| fs::read_dir(path).unwrap().count();
    assert_eq!((left(&full), left(&ledgers)), (1, 1));
    channels.close().await;
}
