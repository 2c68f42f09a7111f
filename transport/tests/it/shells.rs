//! The shells that scripts must run in.

use std::io::Write;
use std::process::{Command, Stdio};

use fleet_engine::host::{Content, Operand, Probe, Read, Tool};
use fleet_transport::script::{
    Asking, Frame, GUARD, LOADER, PRELUDE, Root, Section, WATCH, WORK, sections, start, start_work,
};

/// A shell with the arguments that make it one of POSIX.
pub(crate) const SHELLS: [&[&str]; 4] =
    [&["dash"], &["bash", "--posix"], &["busybox", "sh"], &["zsh", "--emulate", "sh"]];

const MARK: &str = "0123456789abcdef";

/// The answers to one frame of work in a session of its own.
pub(crate) fn outcomes(shell: &[&str], root: &str, frame: impl FnOnce(&mut Frame)) -> Vec<Section> {
    answers(shell, root, |request| {
        request.push(start_work());
        frame(request);
    })
}

/// The answers to one frame in a session of its own.
pub(crate) fn answers(shell: &[&str], root: &str, frame: impl FnOnce(&mut Frame)) -> Vec<Section> {
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(["-c", LOADER]);
    answers_of(command, &root.into(), frame)
}

/// The same in a session that is started by a command.
fn answers_of(mut command: Command, root: &Root, frame: impl FnOnce(&mut Frame)) -> Vec<Section> {
    let mut request = Frame::new();
    request.push(&start(MARK, root));
    request.push("H=\n");
    frame(&mut request);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let bytes = request.into_bytes();
    let feeder = std::thread::spawn(move || stdin.write_all(&bytes).unwrap());
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    sections(MARK, &output.stdout, &output.stderr)
}

#[test]
fn a_host_may_say_itself_what_stands_before_its_paths() {
    for shell in SHELLS {
        let told = |root: Root, said: Option<&str>, name: &[&str]| {
            let mut command = Command::new(shell[0]);
            command.args(&shell[1..]).args(["-c", LOADER]).args(name).env_remove("FLEET_ROOT");
            command.envs(said.map(|said| ("FLEET_ROOT", said)));
            let answers = answers_of(command, &root, |frame| frame.push("x $$ \"$R\"\n"));
            answers[0].word.split_once(' ').map(|(_, root)| root.to_owned()).unwrap_or_default()
        };
        let odd = "/a b'\"$c`d`\\e*";
        assert_eq!(told(Root::OfSession, Some(odd), &[]), odd, "{shell:?}");
        assert_eq!(told(Root::OfSession, None, &[]), "", "{shell:?}");
        assert_eq!(told(Root::HandedOn, Some("/other"), &[odd]), odd, "{shell:?}");
        assert_eq!(told(Root::HandedOn, Some("/other"), &["/bin/sh"]), "", "{shell:?}");
        assert_eq!(told(Root::Given(odd.into()), Some("/other"), &[]), odd, "{shell:?}");
        assert_eq!(told(Root::Given(String::new()), Some("/other"), &[]), "", "{shell:?}");
    }
}

#[test]
fn every_script_passes_shellcheck() {
    let probe = Probe::new()
        .content("/a 'b'", Content::Whole)
        .content("/c", Content::Unless("d".into()))
        .names("/e")
        .and(Read::Tree("/t".into()))
        .and(Read::Inside("/i".into()))
        .tool(Tool::Sysctl, [Operand::new("kern.hostname").unwrap()])
        .and(Read::UserScript("exit 1".into()));
    let mut frame = Frame::new();
    frame.push(&format!("N={MARK}\nR=\n{PRELUDE}"));
    Asking::new(vec![probe]).write(&mut frame);
    let mut steps = Frame::new();
    steps.push(&format!("N={MARK}\nR=\n{PRELUDE}{WORK}"));
    steps.push("H=\n");
    crate::work::every_step(&mut steps);
    // What is sent beside a script has no spaces that matter: it is split at ends of lines alone.
    let loader = format!("# shellcheck disable=SC2086\n{LOADER}\n");
    for (name, script) in [
        ("questions", frame.script()),
        ("steps", steps.script()),
        ("loader", &loader),
        ("guard", GUARD),
        ("watch", &format!("guard=g\nseconds=1\nname=n\nnotes=n\nundo=:\n{WATCH}")),
    ] {
        let mut child = Command::new("shellcheck")
            .args(["-s", "sh", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {told}");
    }
}
