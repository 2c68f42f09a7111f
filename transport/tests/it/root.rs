//! Root on hosts where somebody else logs in. These tests make a user, so they need root themselves.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use fleet_engine::host::reach::{Over, Secret};
use fleet_engine::host::step::Content;
use fleet_engine::host::{Act, Content as Wanted, Hosts, Probe, Reach, Step, Work};
use fleet_test_sshd::Sshd;
use fleet_transport::{Channels, Options};

use crate::local::{claim, file, holder, work, write};
use crate::ssh::over;

/// Whether users can be made here.
pub(crate) fn may_make_users() -> bool {
    cfg!(target_os = "linux") && rustix::process::geteuid().is_root()
}

/// A user for one test.
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
}

impl User {
    /// A user who may become root as the rule says, which is one of sudoers.
    pub(crate) fn with(rule: &str) -> User {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("fleet{}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let user = User { password: format!("Pass {name} #'\"\\ word"), name };
        let User { name, password } = &user;
        let run = |program: &str, arguments: &[&str], input: &str| {
            let mut child = Command::new(program)
                .args(arguments)
                .stdin(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{program} {arguments:?}");
        };
        run("useradd", &["--create-home", "--shell", "/bin/sh", name], "");
        run("chpasswd", &[], &format!("{name}:{password}\n"));
        let rules = format!("Defaults:{name} logfile={},!syslog\n{name} {rule}\n", user.log());
        fs::write(user.rules(), rules).unwrap();
        user
    }

    pub(crate) fn rules(&self) -> String {
        format!("/etc/sudoers.d/{}", self.name)
    }

    fn log(&self) -> String {
        format!("/tmp/{}.log", self.name)
    }

    /// What `sudo` noted.
    fn noted(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// The way to a server as this user.
    pub(crate) fn reach(&self, server: &Sshd, root: &std::path::Path) -> Reach {
        fs::set_permissions(root, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let mut reach = over(server, root);
        if let Over::Ssh(ssh) = &mut reach.over {
            ssh.user = Some(self.name.clone());
        }
        reach
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.rules());
        let _ = fs::remove_file(self.log());
        let _ = Command::new("pkill").args(["-9", "-u", &self.name]).status();
        let _ = Command::new("userdel").args(["--remove", &self.name]).stderr(Stdio::null()).status();
    }
}

fn by_root(path: &str, content: &[u8]) -> Work {
    let mut work = work(vec![write(path, content)], Probe::new().content(path, Wanted::Whole).as_root());
    work.steps.iter_mut().for_each(|step| step.root = true);
    work
}

#[tokio::test]
async fn root_without_a_password_is_used_by_those_who_need_it_alone() {
    if !may_make_users() {
        return;
    }
    let user = User::with("ALL=(ALL) NOPASSWD: ALL");
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let channels = Channels::new(&Options::default());
    let reach = user.reach(&server, root.path());
    fs::write(root.path().join("hidden"), "x").unwrap();
    fs::set_permissions(root.path().join("hidden"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    let reader = channels.reader(&reach);
    let hidden = || Probe::new().content("/hidden", Wanted::Whole);
    let mut replies = reader.ask(vec![hidden(), hidden().as_root(), Probe::new().path("/hidden")]).await;
    assert!(replies.pop().unwrap().unwrap().path(0).unwrap().is_some());
    assert_eq!(file(&replies.pop().unwrap()).0.unwrap(), b"x");
    assert!(replies.pop().unwrap().unwrap_err().message.contains("permission denied"));
    let writer = channels.writer(&reach, &holder(1));
    writer.work(claim()).await.unwrap();
    let before = user.noted().matches("COMMAND=").count();
    // Shells change in the middle of a work.
    let mut mixed = by_root("/by-root", b"r");
    mixed.steps.push(Step::new(write("/by-user", b"u")));
    mixed.steps.push(Step::new(write("/by-root-again", b"r")).as_root());
    assert_eq!(file(&writer.work(mixed).await).0.unwrap(), b"r");
    let owner = |name: &str| fs::metadata(root.path().join(name)).unwrap().uid();
    assert_eq!((owner("by-root"), owner("by-root-again")), (0, 0));
    assert_ne!(owner("by-user"), 0);
    let big = vec![b'x'; 300_000];
    assert_eq!(file(&writer.work(by_root("/big", &big)).await).0.unwrap(), big);
    assert_eq!(owner("big"), 0);
    assert_eq!(
        (before, user.noted().matches("COMMAND=").count()),
        (1, 1),
        "one shell for all: {}",
        user.noted()
    );
    channels.close().await;
}

#[tokio::test]
async fn a_password_is_spent_on_steps_and_never_on_questions() {
    if !may_make_users() {
        return;
    }
    let user = User::with("ALL=(ALL) ALL");
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let channels = Channels::new(&Options::default());
    let none = user.reach(&server, root.path());
    let right = Reach { sudo_password: Some(Secret(user.password.clone())), ..none.clone() };
    let probe = || Probe::new().path("/").as_root();
    for reach in [&none, &right] {
        let mut replies = channels.reader(reach).ask(vec![Probe::new().path("/"), probe()]).await;
        let error = replies.pop().unwrap().unwrap_err();
        assert!(error.message.contains("cannot be seen without root") && error.help.is_some(), "{error:?}");
        assert!(replies.pop().unwrap().is_ok());
    }
    let writer = channels.writer(&right, &holder(1));
    writer.work(claim()).await.unwrap();
    let made = writer.work(by_root("/made", b"x")).await;
    assert_eq!(file(&made).0.unwrap(), b"x", "{}", user.noted());
    assert_eq!(fs::metadata(root.path().join("made")).unwrap().uid(), 0);
    // The shell of root is open now, and questions still do not use it.
    assert!(channels.reader(&right).ask(vec![probe()]).await.remove(0).is_err());
    let refused = channels.writer(&none, &holder(1)).work(by_root("/made", b"y")).await.unwrap_err();
    assert!(refused.message.contains("sudo") && refused.help.unwrap().contains("password"));
    assert!(!user.noted().contains("incorrect"), "{}", user.noted());
    channels.close().await;
}

#[tokio::test]
async fn a_wrong_password_is_tried_once() {
    if !may_make_users() {
        return;
    }
    let user = User::with("ALL=(ALL) ALL");
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let channels = Channels::new(&Options::default());
    let reach = user.reach(&server, root.path());
    let wrong = Reach { sudo_password: Some(Secret("wrong".into())), ..reach };
    let writer = channels.writer(&wrong, &holder(1));
    writer.work(claim()).await.unwrap();
    for _ in 0..3 {
        let error = writer.work(by_root("/made", b"x")).await.unwrap_err();
        assert!(!error.transient && error.message.contains("sudo") && error.help.is_some(), "{error:?}");
        assert!(!error.message.contains("wrong"), "{error:?}");
    }
    // Others go on.
    writer.work(work(vec![write("/mine", b"x")], Probe::new())).await.unwrap();
    let noted = user.noted();
    assert!(
        noted.contains("1 incorrect password attempt") && noted.matches("incorrect").count() == 1,
        "{noted}"
    );
    channels.close().await;
}

/// A `sudo` that takes a password, notes it, and ends the connection before it says anything.
#[tokio::test]
async fn a_password_whose_answer_got_lost_is_not_sent_again() {
    if !may_make_users() {
        return;
    }
    let user = User::with("ALL=(ALL) ALL");
    let (server, root) = (Sshd::start(), tempfile::tempdir().unwrap());
    let programs = tempfile::tempdir().unwrap();
    let place = |name: &str| programs.path().join(name);
    let program = |name: &str, text: &str| {
        fs::write(place(name), format!("#!/bin/sh\n{text}")).unwrap();
        fs::set_permissions(place(name), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    let noted = place("noted").display().to_string();
    program(
        "sudo",
        &format!(
            "if [ \"$1\" = -n ]; then echo 'sudo: a password is required' >&2; exit 1; fi\n\
             IFS= read -r p; echo tried >>{noted}; kill -9 $PPID\n"
        ),
    );
    program("shell", &format!("PATH={}:$PATH exec /bin/sh \"$@\"\n", programs.path().display()));
    fs::write(&noted, "").unwrap();
    for (path, mode) in [(programs.path(), 0o755), (&place("noted"), 0o666)] {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let shell = place("shell").display().to_string();
    assert!(Command::new("usermod").args(["--shell", &shell, &user.name]).status().unwrap().success());
    let channels = Channels::new(&Options::default());
    let reach =
        Reach { sudo_password: Some(Secret(user.password.clone())), ..user.reach(&server, root.path()) };
    let writer = channels.writer(&reach, &holder(1));
    writer.work(claim()).await.unwrap();
    for _ in 0..3 {
        let error = writer.work(by_root("/made", b"x")).await.unwrap_err();
        assert!(!error.transient && error.message.contains("nobody knows"), "{error:?}");
        assert!(error.help.unwrap().contains("not sent again"));
    }
    assert_eq!(fs::read_to_string(&noted).unwrap(), "tried\n");
    // Others go on, over a new connection.
    writer.work(work(vec![write("/mine", b"x")], Probe::new())).await.unwrap();
    channels.close().await;
}

#[tokio::test]
async fn root_who_is_logged_in_needs_no_sudo() {
    if !may_make_users() {
        return;
    }
    let (server, root) = (Sshd::noting(), tempfile::tempdir().unwrap());
    let channels = Channels::new(&Options::default());
    let mut reach = over(&server, root.path());
    if let Over::Ssh(ssh) = &mut reach.over {
        ssh.user = Some("root".into());
    }
    let writer = channels.writer(&reach, &holder(1));
    writer.work(claim()).await.unwrap();
    let Act::Write { path, keep, .. } = write("/made", b"") else { panic!("it writes") };
    let content = Content::Bytes(fleet_engine::host::Bytes(b"x".to_vec()));
    let act = Act::Write { path, content, keep, validate: None };
    let root_probe = Probe::new().content("/made", Wanted::Whole).as_root();
    let made = writer
        .work(Work { steps: vec![Step::new(act).as_root()], read_back: root_probe, ..Work::default() })
        .await;
    assert_eq!(file(&made).0.unwrap(), b"x");
    assert_eq!(server.commands(), 1);
    channels.close().await;
}
