//! What is left behind, and what can be seen by others: nothing that must not be.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use fleet_engine::host::reach::Secret;
use fleet_engine::host::{Act, Bytes, Content as Wanted, Hosts, Operand, Probe, Reach, Read, Step, Tool};
use fleet_test_sshd::Sshd;
use fleet_transport::script::{Asking, Frame, LOADER, start};
use fleet_transport::{Channels, Options};

use crate::local::{claim, holder, reach, work, write};
use crate::root::{User, may_make_users};
use crate::shells::SHELLS;

/// Not a test: what the test below starts and kills.
#[tokio::test]
#[ignore = "it is started by another test"]
async fn somebody_who_is_killed() {
    let Ok(ports) = std::env::var("FLEET_TEST_PORTS") else { return };
    let key = fs::read_to_string(std::env::var("FLEET_TEST_KEYS").unwrap()).unwrap();
    let root = PathBuf::from(std::env::var("FLEET_TEST_ROOT").unwrap());
    let channels = Channels::new(&Options::default());
    for (at, (port, key)) in ports.split(',').zip(key.split('|')).enumerate() {
        let ssh = fleet_engine::host::reach::Ssh {
            addresses: vec!["127.0.0.1".into()],
            port: Some(port.parse().unwrap()),
            user: None,
            identity: Some(Secret(key.into())),
            host_key: None,
            config: Some("none".into()),
            jump: None,
        };
        let root = root.join(at.to_string());
        fs::create_dir(&root).unwrap();
        let over = fleet_engine::host::reach::Over::Ssh(ssh);
        let writer = channels.writer(&Reach { over, ..reach(&root) }, &holder(1));
        writer.work(claim()).await.unwrap();
        if at == 0 {
            let script = Act::UserScript { script: Bytes(b"echo busy; sleep 300".to_vec()) };
            tokio::spawn(async move { writer.work(work(vec![script], Probe::new())).await });
        }
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    println!("READY");
    tokio::time::sleep(Duration::from_secs(60)).await;
}

/// The processes with this text in their arguments.
fn processes_with(text: &str) -> Vec<String> {
    let told = Command::new("ps").args(["-A", "-o", "pid=,args="]).output().unwrap();
    let text_of = String::from_utf8_lossy(&told.stdout).into_owned();
    text_of.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}

#[test]
fn nothing_is_left_behind_by_somebody_who_is_killed() {
    let servers = [Sshd::start(), Sshd::start(), Sshd::start()];
    let directory = tempfile::tempdir().unwrap();
    let temporary = directory.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let keys: Vec<&str> = servers.iter().map(Sshd::identity).collect();
    fs::write(directory.path().join("keys"), keys.join("|")).unwrap();
    let ports: Vec<String> = servers.iter().map(|server| server.port().to_string()).collect();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "traces::somebody_who_is_killed", "--ignored", "--nocapture"])
        .env("TMPDIR", &temporary)
        .env("FLEET_TEST_PORTS", ports.join(","))
        .env("FLEET_TEST_KEYS", directory.path().join("keys"))
        .env("FLEET_TEST_ROOT", directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("READY")));
    let name = temporary.to_str().unwrap();
    let before = processes_with(name);
    assert!(before.iter().filter(|line| line.contains("ssh")).count() >= 3, "{before:?}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let began = Instant::now();
    let is_clean = || processes_with(name).is_empty() && fs::read_dir(&temporary).unwrap().count() == 0;
    while !is_clean() && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("clean after {:?}", began.elapsed());
    assert!(is_clean(), "{:?}", processes_with(name));
}

/// Looks for texts in what everybody can see of processes, for as long as it lives.
struct Watch {
    stop: Arc<AtomicBool>,
    found: Arc<Mutex<BTreeMap<String, String>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// All forms in which a secret could be seen.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
    // Whatever stands before it, one of these is part of the encoding.
    let shifted = (0..3).map(|shift| {
        let text = engine.encode([&vec![0; shift], secret].concat());
        text.as_bytes()[4..text.len() - 4].to_vec()
    });
    [secret.to_vec(), hex.to_uppercase().into_bytes(), hex.into_bytes()].into_iter().chain(shifted).collect()
}

impl Watch {
    fn start(secrets: &[(&str, &[u8])]) -> Watch {
        let needles: Vec<(String, Vec<u8>)> = secrets
            .iter()
            .flat_map(|(name, secret)| forms(secret).into_iter().map(|form| ((*name).to_owned(), form)))
            .collect();
        let (stop, found) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(BTreeMap::new())));
        let (stopped, finds) = (stop.clone(), found.clone());
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                for entry in fs::read_dir("/proc").unwrap().flatten() {
                    for part in ["cmdline", "environ"] {
                        let Ok(bytes) = fs::read(entry.path().join(part)) else { continue };
                        for (name, needle) in &needles {
                            if memchr::memmem::find(&bytes, needle).is_some() {
                                let place = format!("{part}: {}", String::from_utf8_lossy(&bytes));
                                finds.lock().unwrap().insert(name.clone(), place);
                            }
                        }
                    }
                }
            }
        });
        Watch { stop, found, thread: Some(thread) }
    }

    fn end(mut self) -> BTreeMap<String, String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        self.found.lock().unwrap().clone()
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn secrets_are_seen_by_nobody() {
    if !may_make_users() {
        return;
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let user = User::with("ALL=(ALL) ALL");
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let small = b"secret-of-a-small-file-0123456789".repeat(3);
    let big = b"secret-of-a-big-file-abcdefghijkl".repeat(9000);
    let key: String = server.identity().lines().nth(2).unwrap().to_owned();
    let secrets: Vec<(&str, &[u8])> = vec![
        ("small file", &small[..33]),
        ("big file", &big[..33]),
        ("input", b"secret-that-a-program-reads-00"),
        ("script", b"secret-in-a-script-0000000000"),
        ("password", user.password.as_bytes()),
        ("identity", key.as_bytes()),
    ];
    let watch = Watch::start(&secrets);
    let reach =
        Reach { sudo_password: Some(Secret(user.password.clone())), ..user.reach(&server, root.path()) };
    tracing::subscriber::with_default(subscriber, || {
        runtime.block_on(async {
            let channels = Channels::new(&Options::default());
            let writer = channels.writer(&reach, &holder(1));
            writer.work(claim()).await.unwrap();
            let run = |script: &str, input: &[u8]| Act::Run {
                program: "sh".into(),
                arguments: vec!["-c".into(), script.into()],
                input: Bytes(input.to_vec()),
            };
            let script = "sleep 0.3 # secret-in-a-script-0000000000";
            let mut all = work(
                vec![
                    write("/small", &small),
                    write("/big", &big),
                    run("cat >/dev/null; sleep 0.3", b"secret-that-a-program-reads-00"),
                    Act::UserScript { script: Bytes(script.into()) },
                    Act::Edit {
                        path: "/small".into(),
                        edit: fleet_engine::host::Edit::Line {
                            line: "secret-of-a-small-file-0123456789".into(),
                            present: true,
                            matching: None,
                        },
                    },
                ],
                Probe::new().and(Read::UserScript("sleep 0.1".into())),
            );
            let as_root: Vec<Step> = all.steps.iter().cloned().map(Step::as_root).collect();
            all.steps.extend(as_root);
            writer.work(all).await.unwrap();
            let fails = work(vec![run("cat; exit 1", b"")], Probe::new());
            writer.work(fails).await.unwrap_err();
            channels.close().await;
        });
    });
    let found = watch.end();
    assert!(found.is_empty(), "{found:?}");
    let log = log.0.lock().unwrap().clone();
    assert!(
        memchr::memmem::find(&log, b"seen").is_some() && memchr::memmem::find(&log, b"round trip").is_some()
    );
    for (name, secret) in &secrets {
        for form in forms(secret) {
            assert!(memchr::memmem::find(&log, &form).is_none(), "{name} is in the log");
        }
    }
    // What would be found.
    let planted: [(&str, &[u8]); 2] =
        [("argument", b"secret-that-is-an-argument"), ("variable", b"secret-in-a-variable")];
    let watch = Watch::start(&planted);
    let encoded = base64::engine::general_purpose::STANDARD.encode("xsecret-in-a-variable");
    let status = Command::new("sh")
        .args(["-c", "sleep 0.5", "secret-that-is-an-argument"])
        .env("PLANTED", encoded)
        .status();
    assert!(status.unwrap().success());
    assert_eq!(watch.end().len(), 2);
}

/// All that can be asked, of a directory with something of everything.
fn everything(root: &Path) -> Vec<Probe> {
    fs::create_dir_all(root.join("dir/sub")).unwrap();
    fs::write(root.join("dir/it's"), "x").unwrap();
    fs::write(root.join("file"), "content").unwrap();
    symlink("file", root.join("link")).unwrap();
    let operand = |text: &str| Operand::new(text).unwrap();
    vec![
        Probe::new()
            .content("/file", Wanted::Whole)
            .content("/dir/it's", Wanted::Digest)
            .path("/link")
            .path("/none/x"),
        Probe::new()
            .names("/dir")
            .names("/none")
            .and(Read::Tree("/dir".into()))
            .and(Read::Inside("/dir".into())),
        Probe::new()
            .tool(Tool::Uname, [])
            .tool(Tool::Id, [])
            .tool(Tool::Sysctl, [operand("kernel.ostype")])
            .and(Read::Line),
    ]
}

#[test]
fn questions_are_answered_to_nobody_in_particular_on_a_disk_that_cannot_be_written() {
    if !may_make_users() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    let probes = everything(&root);
    for path in [directory.path(), &root] {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mount = |what: &[&str]| assert!(Command::new("mount").args(what).status().unwrap().success());
    let name = root.to_str().unwrap();
    mount(&["--bind", name, name]);
    mount(&["-o", "remount,bind,ro", name]);
    for shell in SHELLS {
        let asking = Asking::new(probes.clone());
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let as_nobody: Vec<&str> = nobody.iter().chain(shell.iter()).copied().collect();
        let asked = |shell: &[&str]| {
            let sections = crate::shells::answers(shell, name, |frame| asking.write(frame));
            asking
                .replies(&Default::default(), sections.into_iter())
                .into_iter()
                .map(Result::unwrap)
                .collect::<Vec<_>>()
        };
        let (ours, theirs) = (asked(shell), asked(&as_nobody));
        assert_eq!(ours[..2], theirs[..2], "{shell:?}");
        assert_eq!(theirs[2].output(1).unwrap().stdout, b"nobody\n", "{shell:?}");
    }
    assert!(Command::new("umount").arg(&root).status().unwrap().success());
}

#[test]
fn questions_write_nothing_as_the_system_sees_it() {
    let is_there = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    if !is_there.is_ok_and(|status| status.success()) {
        println!("strace does not work here");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    let probes = everything(&root);
    let calls = "trace=openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,\
                 symlinkat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,ftruncate,mknod,mknodat,utimensat,setxattr";
    for shell in SHELLS {
        let trace = directory.path().join("trace");
        let mut frame = Frame::new();
        frame.push(&start("mark", &root.to_str().unwrap().into()));
        frame.push("hello\n");
        Asking::new(probes.clone()).write(&mut frame);
        let mut child = Command::new("strace")
            .args(["-f", "-e", calls, "-o", trace.to_str().unwrap()])
            .args(shell)
            .args(["-c", LOADER])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&frame.into_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let text = fs::read_to_string(&trace).unwrap();
        let is_read = |line: &str| {
            let is_open = line.contains("open");
            let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| line.contains(flag));
            (is_open && (!writes || line.contains("\"/dev/null\"") || line.contains("\"/dev/tty\"")))
                || line.contains("+++")
                || line.contains("---")
                || line.contains("resumed")
        };
        let writes: Vec<&str> = text.lines().filter(|line| !is_read(line)).collect();
        assert_eq!(writes, [""; 0], "{shell:?}");
        assert!(text.contains("it's") && text.lines().count() > 20, "{shell:?}");
    }
}
