//! Logging in with the real client: who may, and what travels on channels.

use std::process::Stdio;

use fleet_lab::machine::Machine;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::world::{PASSWORD, Ran, World};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_on_a_mac() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let ran = world.run(&mac, "sw_vers -productVersion; id; echo complaint >&2; exit 7").await;
    assert_eq!(ran.err, "complaint\n");
    assert_eq!(ran.status, Some(7));
    let id = "uid=501(m1) gid=20(staff) groups=20(staff),12(everyone),61(localaccounts),80(admin),\
              701(com.apple.sharepoint.group.1)\n";
    assert_eq!(ran.out, format!("26.3\n{id}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_makes_root() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let ran = world.run(&mac, "sudo -n id -u").await;
    assert_eq!((ran.status, &*ran.err), (Some(1), "sudo: a password is required\n"));
    let right = format!("printf '%s\\n' '{PASSWORD}' | sudo -S -p '' whoami");
    assert_eq!(
        world.run(&mac, &right).await,
        Ran { status: Some(0), out: "root\n".into(), err: String::new() }
    );
    let wrong = "printf '%s\\n' a b c d | sudo -S -p '' whoami";
    let ran = world.run(&mac, wrong).await;
    assert_eq!((ran.status, &*ran.out), (Some(1), ""));
    assert!(ran.err.ends_with("sudo: 3 incorrect password attempts\n"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_megabytes_go_through_a_channel_and_back() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let mut child = world.ssh(&mac).arg("cat").stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let sent: Vec<u8> = (0..50_u32 << 20).map(|at| (at / 7).to_le_bytes()[0]).collect();
    let expected = sent.clone();
    let writing = tokio::spawn(async move {
        stdin.write_all(&sent).await.unwrap();
    });
    let mut received = Vec::new();
    stdout.read_to_end(&mut received).await.unwrap();
    writing.await.unwrap();
    assert!(received == expected, "{} of {} bytes came back", received.len(), expected.len());
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_reads_nothing_does_not_hold_up_the_others() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let socket = world.directory.path().join("control");
    let through = |options: &[&str]| {
        let mut ssh = world.ssh(&mac);
        ssh.arg("-S").arg(&socket).args(options);
        ssh
    };
    let mut master = world.ssh(&mac);
    let mut master = master.args(["-M", "-N", "-S"]).arg(&socket).spawn().unwrap();
    while !socket.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let mut deaf = through(&["sleep 60"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = deaf.stdin.take().unwrap();
    let writing = tokio::spawn(async move { stdin.write_all(&vec![0; 3 << 20]).await });
    let mut others = Vec::new();
    for number in 0..8 {
        others.push(through(&[&format!("echo {number}; exit {number}")]).output());
    }
    for (number, other) in others.into_iter().enumerate() {
        let ran = Ran::of(other.await.unwrap());
        assert_eq!((ran.status, ran.out), (Some(i32::try_from(number).unwrap()), format!("{number}\n")));
    }
    assert_eq!(mac.inspect().await["logins"], 1);
    writing.abort();
    deaf.kill().await.unwrap();
    master.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_read_at_each_login() {
    let world = World::new().await;
    let mac = world.build(1).await;
    mac.install(fleet_lab::machine::Install { keys: Vec::new(), ..world.install() }).await.unwrap();
    mac.boot(None).await.unwrap();
    let ran = world.run(&mac, "true").await;
    assert_eq!(ran.status, Some(255));
    assert!(ran.err.contains("Permission denied (publickey)"), "{}", ran.err);
    // Options and comments may stand around a key.
    let line = format!("# {0}\nno-pty,from=\"127.0.0.1\" {0} me@desk\n", world.key);
    let file = mac.root().join("Users/m1/.ssh/authorized_keys");
    std::fs::write(&file, line).unwrap();
    assert_eq!(world.run(&mac, "true").await.status, Some(0));
    std::fs::write(&file, format!("# {}\n", world.key)).unwrap();
    assert_eq!(world.run(&mac, "true").await.status, Some(255));
    // The vendor's agent replaces its own file at a boot.
    mac.halt().await.unwrap();
    mac.boot(Some(vec![world.key.clone()])).await.unwrap();
    assert_eq!(world.run(&mac, "true").await.status, Some(0));
    let other = Ran::of(world.ssh(&mac).args(["-l", "root", "true"]).output().await.unwrap());
    assert_eq!(other.status, Some(0), "the user of the address comes first");
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_and_languages_travel() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let ran = world.run(&mac, "kill -9 $$").await;
    assert_eq!(ran.status, Some(255));
    let mut ssh = world.ssh(&mac);
    ssh.env("LC_ALL", "C").env("OTHER", "x").args([
        "-o",
        "SendEnv=LC_ALL OTHER",
        "echo $LC_ALL,$OTHER,$USER",
    ]);
    assert_eq!(Ran::of(ssh.output().await.unwrap()).out, "C,,m1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_sits_at_a_terminal_gets_one() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let mut ssh = world.ssh(&mac);
    let mut child = ssh.arg("-tt").env("TERM", "vt100").stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(b"tty >/dev/null && echo \"is $TERM\" one; sw_vers -productName; exit 5\n")
        .await
        .unwrap();
    let ran = Ran::of(child.wait_with_output().await.unwrap());
    assert_eq!(ran.status, Some(5));
    assert!(ran.out.contains("is vt100 one\r\n") && ran.out.contains("macOS\r\n"), "{ran:?}");
    drop(stdin);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_key_is_in_the_file_that_a_mac_has() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let mut scan = Command::new("ssh-keyscan");
    let scanned = scan.args(["-p", &mac.ssh_port().to_string(), "127.0.0.1"]).output().await.unwrap();
    let scanned = String::from_utf8(scanned.stdout).unwrap();
    let scanned = scanned.lines().find(|line| !line.starts_with('#')).unwrap();
    let key = std::fs::read_to_string(mac.root().join("etc/ssh/ssh_host_ed25519_key.pub")).unwrap();
    assert_eq!(scanned.split_once(' ').unwrap().1, key.trim());
    assert_eq!(mac.inspect().await["installation"]["host_key"], key.trim());
}
