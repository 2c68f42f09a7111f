//! Works → a script that does their steps, and what it printed → how far it came.

use std::collections::BTreeMap;

use fleet_engine::host::Act;
use fleet_engine::host::step::{Claim, Keep, Mark};

use super::frame::{Frame, quoted, under_root};
use super::sections::Section;

/// What is done for one thing in one frame: some steps of a work, in order.
#[derive(Clone, Debug)]
pub struct Job {
    /// Whose the host must be; none for what takes a host or gives it back.
    pub hold: Option<Hold>,
    /// What the inventory is told before anything is done: a name and a line.
    pub list: Option<(String, String)>,
    /// The steps.
    pub tasks: Vec<Task>,
    /// What the inventory forgets after all was done.
    pub forget: Option<String>,
    /// Where the ledger lies.
    pub ledger: String,
}

/// Who works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The random name of the state.
    pub lineage: String,
    /// The slot that the host is for.
    pub slot: String,
    /// The number of the lock.
    pub fence: u64,
}

/// A step that lacks nothing any more.
#[derive(Clone, Debug)]
pub struct Task {
    /// What is done.
    pub act: Act,
    /// What was found out or brought to the host for it.
    pub with: With,
}

/// What a step needs beyond itself.
#[derive(Clone, Debug)]
pub enum With {
    /// Nothing.
    Nothing,
    /// Bytes that travel beside the script.
    Sent(Vec<u8>),
    /// What was uploaded.
    Staged(Staged),
    /// The file was read and edited.
    Edited {
        /// The digest of what was read; none if there was no file.
        before: Option<String>,
        /// What is to stand in it; none if nothing changes.
        after: Option<Box<With>>,
    },
    /// The file is written by another work, later in the same frame.
    Along {
        /// Which work that is.
        writer: usize,
        /// And which of its steps.
        at: usize,
    },
    /// A ledger to be made.
    Ledger {
        /// Who takes the host, or gives it back.
        hold: Hold,
        /// A random name.
        claim: String,
        /// All that stands in it.
        text: String,
    },
}

/// A file that was uploaded for a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Where it lies on the host.
    pub path: String,
    /// Its SHA-256, in hexadecimal digits.
    pub digest: String,
    /// Whether it is compressed by gzip.
    pub is_gzip: bool,
}

/// How far a job came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All was done.
    Done,
    /// The host is not ours; what its ledger says.
    NotHeld(Whose, Vec<u8>),
    /// The inventory could not be written.
    NotListed(Section),
    /// This step was not done; those before it were.
    Failed(usize, Section),
    /// Nobody knows: the answer did not arrive.
    Unknown,
}

/// Whose a host is, if not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Nobody's.
    Nobodys,
    /// Somebody else's.
    Others,
    /// Ours, but somebody with a newer lock works on it.
    Newer,
    /// Ours, but our number could not be written there.
    Unwritable,
}

/// The file is not what it was when it was read.
pub const CHANGED: &str = "92";
/// The user's check did not pass.
pub const UNCHECKED: &str = "93";
/// What was uploaded is not whole.
pub const TORN: &str = "94";
/// The host goes down.
pub const GOING: &str = "95";
/// The host is somebody else's.
pub const TAKEN: &str = "90";
/// Somebody with a newer lock was here.
pub const STALE: &str = "91";

/// Adds all of them to a frame. New files of several jobs in one directory are written ahead of their steps, because few
/// programs do for many of them then.
pub fn write<'j>(jobs: impl IntoIterator<Item = &'j Job>, frame: &mut Frame) {
    let (mut works, mut ahead) = (frame.after(), Vec::new());
    let mut hold = None;
    for job in jobs {
        // Whose the host is, is asked once for all that is written ahead.
        hold = hold.or_else(|| job.hold.as_ref().map(|hold| whose(&job.ledger, hold)));
        job.write(&mut works, &mut ahead);
    }
    if !ahead.is_empty() {
        // Numbers mean something within their frame only.
        frame.push("A=\nI=\n");
    }
    ahead.sort_by(|one, other| one.directory.cmp(&other.directory));
    let together = ahead.chunk_by(|one, other| one.directory == other.directory);
    let together: String = together.filter(|files| files.len() > 1).map(all_at_once).collect();
    if let (Some(hold), false) = (hold, together.is_empty()) {
        frame.push(&format!("if holds {hold}; then\n{together}fi 2>/dev/null\n"));
    }
    frame.append(&works);
}

/// A file that may be written ahead of its step.
struct Ahead {
    /// The step that it is written for.
    step: usize,
    directory: String,
    name: String,
    /// The mask that makes its mode, or the mode that it is given.
    mode: Result<String, String>,
    /// The word that stands for what it is filled with.
    content: String,
    /// What the inventory is told before.
    list: String,
}

impl Ahead {
    fn is_at_the_place_of(&self, other: &Ahead) -> bool {
        (&self.directory, &self.name) == (&other.directory, &other.name)
    }
}

/// Writes new files of one directory, and puts them in place together.
fn all_at_once(files: &[Ahead]) -> String {
    let directory = &files[0].directory;
    let here = under_root(directory);
    let new = |file: &Ahead| under_root(&format!("{directory}/.fleet-new/{}", file.name));
    let mut lines = format!("if gather {here}; then\n");
    let mut modes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files {
        let Ahead { step, name, mode, content, list, .. } = file;
        let (new, place) = (new(file), under_root(&format!("{directory}/{name}")));
        let mask = mode.as_deref().unwrap_or("077");
        lines += &format!("ahead {step} {new} {place} {mask} {content} {list}\n");
        if let Err(mode) = mode {
            modes.entry(mode).or_default().push(new);
        }
    }
    for (mode, files) in modes {
        lines += &format!("modes {mode} {}\n", files.join(" "));
    }
    let steps: Vec<String> = files.iter().map(|file| file.step.to_string()).collect();
    let all: Vec<String> = files.iter().map(new).collect();
    lines + &format!("land {here} '{}' {}\nfi\n", steps.join(" "), all.join(" "))
}

impl Job {
    /// Adds it to a frame, and what may be done ahead of it to a list.
    fn write(&self, frame: &mut Frame, ahead: &mut Vec<Ahead>) {
        let mut lines: Vec<String> = Vec::new();
        if let Some(hold) = &self.hold {
            lines.push(format!("held {}", whose(&self.ledger, hold)));
        }
        let inventory = under_root(&format!("{}.d", self.ledger));
        // What is not the first step may need those before it.
        let first = self.tasks.first().filter(|_| self.hold.is_some());
        let first = first.and_then(Task::may_be_ahead);
        let is_new = |file: &&Ahead| !ahead.iter().any(|other| other.is_at_the_place_of(file));
        let mut first = first.filter(|file| is_new(&file));
        let number = first.as_ref().map(|_| format!(" {}", ahead.len() + 1)).unwrap_or_default();
        if let Some((name, line)) = &self.list {
            let line = frame.send(format!("{line}\n").as_bytes());
            let list = format!("{inventory} {} {line}", quoted(name));
            lines.push(format!("step listed {list}{number}"));
            first.iter_mut().for_each(|file| file.list.clone_from(&list));
        }
        for (at, task) in self.tasks.iter().enumerate() {
            let mut step = task.write(frame);
            if let (0, Some(file)) = (at, &mut first) {
                step += &number;
                file.step = ahead.len() + 1;
                file.content = frame.last();
            }
            lines.push(format!("step {step}"));
        }
        ahead.extend(first);
        if let Some(name) = &self.forget {
            lines.push(format!("step remove {inventory}/{}", quoted(name)));
        }
        if lines.is_empty() {
            return;
        }
        let mut text = String::from("s=0\n");
        for line in lines {
            // No list of several: where the end of a command counts for what follows, a procedure of ours goes on after
            // one that failed, whatever it says.
            text += &format!("[ \"$s\" = 0 ] && {line}\n");
        }
        let uploads: Vec<String> =
            self.tasks.iter().filter_map(|task| task.with.upload()).map(under_root).collect();
        if !uploads.is_empty() {
            // A file that changed is edited again, and what comes after it is still needed.
            text += &format!("[ \"$s\" = {CHANGED} ] || rm -f -- {}\n", uploads.join(" "));
        }
        frame.push(&text);
    }

    /// Reads what it printed.
    pub fn outcome(&self, sections: &mut impl Iterator<Item = Section>) -> Outcome {
        if self.hold.is_some() {
            let Some(section) = sections.next() else { return Outcome::Unknown };
            let whose = match &*section.word {
                "ours" => None,
                "none" => Some(Whose::Nobodys),
                "stale" => Some(Whose::Newer),
                "failed" => Some(Whose::Unwritable),
                _ => Some(Whose::Others),
            };
            if let Some(whose) = whose {
                return Outcome::NotHeld(whose, section.body);
            }
        }
        if self.list.is_some() {
            match sections.next() {
                None => return Outcome::Unknown,
                Some(section) if section.word != "0" => return Outcome::NotListed(section),
                Some(_) => {}
            }
        }
        for index in 0..self.tasks.len() {
            match sections.next() {
                None => return Outcome::Unknown,
                Some(section) if section.word != "0" => return Outcome::Failed(index, section),
                Some(_) => {}
            }
        }
        if self.forget.is_some() {
            match sections.next() {
                None => return Outcome::Unknown,
                Some(section) if section.word != "0" => return Outcome::NotListed(section),
                Some(_) => {}
            }
        }
        Outcome::Done
    }
}

impl With {
    /// Where the upload lies that it needs.
    fn upload(&self) -> Option<&str> {
        match self {
            With::Staged(staged) => Some(&staged.path),
            With::Edited { after: Some(after), .. } => after.upload(),
            _ => None,
        }
    }
}

impl Task {
    /// The file that it writes, if that is made of what is sent, nobody else gets it and nobody checks it before.
    fn may_be_ahead(&self) -> Option<Ahead> {
        let (Act::Write { path, keep, validate: None, .. }, With::Sent(_)) = (&self.act, &self.with) else {
            return None;
        };
        let Keep { mode, owner: None, group: None } = keep else { return None };
        let mode = match (mode, mask(keep)) {
            (None, _) => Ok("22".to_owned()),
            (Some(_), Some(mask)) => Ok(mask),
            (Some(mode), None) => Err(format!("{mode:o}")),
        };
        let (directory, name) = path.rsplit_once('/')?;
        let (directory, name) = (directory.to_owned(), name.to_owned());
        Some(Ahead { step: 0, directory, name, mode, content: String::new(), list: String::new() })
    }

    /// The function that does it, with its words.
    fn write(&self, frame: &mut Frame) -> String {
        match (&self.act, &self.with) {
            (Act::Write { path, keep, validate, .. }, with) => {
                let (content, place) = (filled(frame, with), under_root(path));
                let check = match validate {
                    Some(command) => frame.send(command.replace("{}", &under_root(&new(path))).as_bytes()),
                    None => "''".to_owned(),
                };
                format!(
                    "put {place} {} {} {content} {check}",
                    kept(keep),
                    quoted(&mask(keep).unwrap_or_default())
                )
            }
            (Act::Edit { path, .. }, With::Edited { before, after: Some(after) }) => {
                let before = quoted(before.as_deref().unwrap_or_default());
                format!("edit {} {before} {}", under_root(path), filled(frame, after))
            }
            (Act::Edit { .. }, _) => ":".to_owned(),
            (Act::Directory { path, keep }, _) => format!("directory {} {}", under_root(path), kept(keep)),
            (Act::Keep { path, keep }, _) => format!("kept {} {}", under_root(path), kept(keep)),
            (Act::Link { path, target }, _) => format!("lead {} {}", under_root(path), quoted(target)),
            (Act::Unpack { path, strip, .. }, With::Staged(staged)) => {
                let form = if staged.is_gzip { "gzip" } else { "''" };
                let upload = under_root(&staged.path);
                format!("unpack {} {strip} {form} {upload} {}", under_root(path), quoted(&staged.digest))
            }
            (Act::Unpack { .. }, _) => "complain 'the archive was not uploaded'".to_owned(),
            (Act::Remove { path }, _) => format!("remove {}", under_root(path)),
            (Act::RemoveTree { path }, _) => format!("clear {}", under_root(path)),
            (Act::Run { program, arguments, input }, _) => {
                let input = frame.send(&input.0);
                let words = [program].into_iter().chain(arguments).map(|word| quoted(word));
                format!("call {input} {}", words.collect::<Vec<_>>().join(" "))
            }
            (Act::Procedure { script, arguments, input }, _) => {
                let (input, script) = (frame.send(&input.0), frame.send(script.as_bytes()));
                let words = arguments.iter().map(|word| quoted(word));
                format!("procedure {input} {script} {}", words.collect::<Vec<_>>().join(" "))
            }
            (Act::UserScript { script }, _) => {
                let script = frame.send(&script.0);
                format!("theirs {script}")
            }
            (Act::Reboot { boot }, _) => format!("restart {}", quoted(boot)),
            (Act::Claim(of), With::Ledger { hold, claim, text }) => {
                let text = frame.send(text.as_bytes());
                format!("claim {} {} {text}", marked(of, hold), quoted(claim))
            }
            (Act::TakeOver { claim: of, from }, With::Ledger { hold, claim, text }) => {
                let text = frame.send(text.as_bytes());
                format!("take_over {} {} {text} {}", marked(of, hold), quoted(claim), quoted(from))
            }
            (Act::Release(of), With::Ledger { hold, .. }) => format!("release {}", marked(of, hold)),
            (Act::Mark(of), With::Ledger { hold, .. }) => {
                let state = of.mark.as_ref().map(|mark| mark.state.word()).unwrap_or_default();
                format!("mark {} {state}", marked(of, hold))
            }
            (Act::Claim(_) | Act::Release(_) | Act::Mark(_) | Act::TakeOver { .. }, _) => {
                "complain 'nobody knows who takes the host'".to_owned()
            }
        }
    }
}

/// Where a file lies before it gets its name. The script finds it in the same way.
fn new(path: &str) -> String {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{directory}/.{name}.fleet-new")
}

fn whose(ledger: &str, hold: &Hold) -> String {
    format!("{} {} {} {}", under_root(ledger), quoted(&hold.lineage), quoted(&hold.slot), hold.fence)
}

/// The same with the one claim that is meant, if one is.
fn marked(claim: &Claim, hold: &Hold) -> String {
    let word = |word: fn(&Mark) -> &String| quoted(claim.mark.as_ref().map(word).map_or("", |word| word));
    format!("{} {} {}", whose(&claim.ledger, hold), word(|mark| &mark.claim), word(|mark| &mark.epoch))
}

/// Mode, owner and group as three words.
fn kept(keep: &Keep) -> String {
    let mode = keep.mode.map(|mode| format!("{mode:o}")).unwrap_or_default();
    let word = |text: &Option<String>| quoted(text.as_deref().unwrap_or_default());
    format!("{} {} {}", quoted(&mode), word(&keep.owner), word(&keep.group))
}

/// The mask with which a new file has its mode from the start, if there is one.
fn mask(keep: &Keep) -> Option<String> {
    keep.mode.filter(|mode| mode & !0o666 == 0).map(|mode| format!("{:o}", 0o666 & !mode))
}

/// What a file is filled with, as two words: an upload with its digest, or nothing and what was sent.
fn filled(frame: &mut Frame, with: &With) -> String {
    match with {
        With::Staged(staged) => format!("{} {}", under_root(&staged.path), quoted(&staged.digest)),
        With::Sent(bytes) => format!("'' {}", frame.send(bytes)),
        _ => format!("'' {}", frame.send(b"")),
    }
}
