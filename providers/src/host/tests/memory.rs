//! A host of memory: what it is asked and told, on a map of paths.

use std::collections::BTreeMap;
use std::sync::Mutex;

use fleet_engine::host::probe::{self, Content, Found, Line, Output, What};
use fleet_engine::host::step::{self, Claim, Keep, LocalFile};
use fleet_engine::host::{Act, Answer, Holding, Ledger, Probe, Read, Reply, Step};
use fleet_engine::resource::Error;

use super::World;
use crate::host::common::sha256;

/// Below this, only root may look and write.
pub(super) const FOR_ROOT: &str = "/secure";

/// Who holds the host.
pub(super) const LINEAGE: &str = "our-lineage";

#[derive(Default)]
pub(super) struct Memory {
    tree: Mutex<BTreeMap<String, Node>>,
    local: Mutex<BTreeMap<String, Vec<u8>>>,
    boots: Mutex<u32>,
    /// Everything that was asked and told, as a log would have it.
    log: Mutex<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Node {
    it: It,
    mode: u32,
    owner: String,
    group: String,
}

#[derive(Clone, Debug, PartialEq)]
enum It {
    File(Vec<u8>),
    Directory,
    Link(String),
    Other,
}

impl Memory {
    pub(super) fn new() -> Memory {
        let memory = Memory::default();
        for path in ["/etc", FOR_ROOT, "/var/tmp/fleet"] {
            memory.insert(path, It::Directory, 0o755);
        }
        memory
    }

    pub(super) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(super) fn reboot(&self) {
        *self.boots.lock().unwrap() += 1;
    }

    pub(super) fn n_boots(&self) -> u32 {
        *self.boots.lock().unwrap()
    }

    pub(super) fn socket(&self, path: &str) {
        self.insert(path, It::Other, 0o600);
    }

    fn boot(&self) -> String {
        format!("boot-{}", self.boots.lock().unwrap())
    }

    fn insert(&self, path: &str, it: It, mode: u32) {
        let node = Node { it, mode, owner: "m1".into(), group: "staff".into() };
        self.tree.lock().unwrap().insert(path.into(), node);
    }

    fn allowed(path: &str, root: bool) -> Result<(), Error> {
        let fits = root || !path.starts_with(FOR_ROOT);
        if fits { Ok(()) } else { Err(Error::permanent(format!("only root may use {path}"))) }
    }

    fn below(path: &str) -> String {
        format!("{path}/")
    }

    fn read(&self, read: &Read, root: bool) -> Result<Answer, Error> {
        let tree = self.tree.lock().unwrap();
        Ok(match read {
            Read::Path(path, _) if path == "/proc/sys/kernel/random/boot_id" => {
                let content = Some(self.boot().into_bytes());
                let what = What::File(probe::File { size: 0, digest: None, content });
                Answer::Path(Some(Found { what, mode: 0o444, owner: "root".into(), group: "root".into() }))
            }
            Read::Path(path, wanted) => {
                Memory::allowed(path, root)?;
                Answer::Path(tree.get(path).map(|node| found(node, wanted)))
            }
            Read::Tree(path) => {
                Memory::allowed(path, root)?;
                let is_directory = tree.get(path).is_some_and(|node| node.it == It::Directory);
                let all: Vec<_> =
                    tree.iter().filter(|(at, _)| at.starts_with(&Memory::below(path))).collect();
                Answer::Tree(is_directory.then(|| sha256(format!("{all:?}").as_bytes())))
            }
            Read::Line => Answer::Line(Line::default()),
            Read::Tool(..) => Answer::Output(Output { status: 127, ..Output::default() }),
            Read::UserScript(script) => {
                let path = script.strip_prefix("cat ").expect("a script that looks").trim_start();
                Memory::allowed(path, root)?;
                Answer::Output(match tree.get(path).map(|node| &node.it) {
                    Some(It::File(content)) => Output { stdout: content.clone(), ..Output::default() },
                    _ => Output { status: 1, ..Output::default() },
                })
            }
            Read::Names(_) | Read::Inside(_) | Read::Processes(_) => panic!("{read:?} is not asked here"),
        })
    }

    fn local_file(&self, local: &LocalFile) -> Result<Vec<u8>, Error> {
        let files = self.local.lock().unwrap();
        let content = files.get(&local.path).filter(|content| sha256(content) == local.digest);
        content.cloned().ok_or_else(|| Error::permanent(format!("{} is not what was planned", local.path)))
    }

    fn act(&self, act: Act, root: bool) -> Result<(), Error> {
        match act {
            Act::Write { path, content, keep, validate } => {
                Memory::allowed(&path, root)?;
                if validate.as_deref().is_some_and(|command| command.starts_with("false")) {
                    return Err(Error::permanent("the command refused the file"));
                }
                let content = match content {
                    step::Content::Bytes(bytes) => bytes.0,
                    step::Content::Local(local) => self.local_file(&local)?,
                };
                self.put_in_place(&path, It::File(content), &keep)
            }
            Act::Edit { path, edit } => {
                Memory::allowed(&path, root)?;
                let before = self.tree.lock().unwrap().get(&path).cloned();
                let content = match before.as_ref().map(|node| &node.it) {
                    None => Vec::new(),
                    Some(It::File(content)) => content.clone(),
                    Some(other) => panic!("{other:?} is edited"),
                };
                let after = edit.apply(&content)?;
                if before.is_none() && after.is_empty() {
                    return Ok(());
                }
                let mode = before.map(|node| node.mode);
                self.put_in_place(&path, It::File(after), &Keep { mode, ..Keep::default() })
            }
            Act::Directory { path, keep } => {
                Memory::allowed(&path, root)?;
                let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
                for end in ends {
                    if !self.tree.lock().unwrap().contains_key(&path[..end]) {
                        self.insert(&path[..end], It::Directory, 0o755);
                    }
                }
                self.put_in_place(&path, It::Directory, &keep)
            }
            Act::Keep { path, keep } => {
                Memory::allowed(&path, root)?;
                let it = self.tree.lock().unwrap().get(&path).expect("something is there").it.clone();
                self.put_in_place(&path, it, &keep)
            }
            Act::Link { path, target } => {
                Memory::allowed(&path, root)?;
                self.put_in_place(&path, It::Link(target), &Keep { mode: Some(0o777), ..Keep::default() })
            }
            Act::Unpack { path, archive, strip } => {
                Memory::allowed(&path, root)?;
                let archive = String::from_utf8(self.local_file(&archive)?).unwrap();
                self.remove_tree(&path);
                self.put_in_place(&path, It::Directory, &Keep { mode: Some(0o755), ..Keep::default() })?;
                for line in archive.lines() {
                    let (name, content) = line.split_once('=').unwrap();
                    let name: Vec<&str> = name.split('/').skip(strip as usize).collect();
                    let at = format!("{path}/{}", name.join("/"));
                    self.insert(&at, It::File(content.as_bytes().to_vec()), 0o644);
                }
                Ok(())
            }
            Act::Remove { path } => {
                Memory::allowed(&path, root)?;
                let mut tree = self.tree.lock().unwrap();
                if tree.keys().any(|at| at.starts_with(&Memory::below(&path))) {
                    return Err(Error::permanent(format!("{path} is not empty")));
                }
                tree.remove(&path);
                Ok(())
            }
            Act::RemoveTree { path } => {
                Memory::allowed(&path, root)?;
                self.remove_tree(&path);
                Ok(())
            }
            Act::UserScript { script } => self.script(std::str::from_utf8(&script.0).unwrap(), root),
            Act::Reboot { boot } => {
                if boot == self.boot() {
                    self.reboot();
                }
                Ok(())
            }
            Act::Claim(Claim { ledger, slot, .. }) => {
                let ledger_of = |slot| Ledger {
                    lineage: LINEAGE.into(),
                    slot,
                    claim: "claim".into(),
                    fence: 1,
                    epoch: String::new(),
                    state: Holding::Owned,
                    since: "2026-01-01T00:00:00Z".into(),
                    by: "me@here".into(),
                };
                let text = ledger_of(slot).to_string();
                self.put_in_place(&ledger, It::File(text.into_bytes()), &Keep::default())
            }
            Act::Release(Claim { ledger, .. }) => {
                self.tree.lock().unwrap().remove(&ledger);
                Ok(())
            }
            Act::Mark(_) | Act::TakeOver { .. } => panic!("no machine of a vendor is claimed here"),
            Act::Run { program, .. } => panic!("{program} is not run here"),
            Act::Procedure { .. } => panic!("no procedure is carried out here"),
        }
    }

    fn remove_tree(&self, path: &str) {
        let below = Memory::below(path);
        self.tree.lock().unwrap().retain(|at, _| at != path && !at.starts_with(&below));
    }

    /// A tool of its own for the scripts that tests run.
    fn script(&self, script: &str, root: bool) -> Result<(), Error> {
        if let Some(path) = script.strip_prefix("rm -f ") {
            Memory::allowed(path, root)?;
            self.tree.lock().unwrap().remove(path);
            return Ok(());
        }
        let (text, path) =
            script.strip_prefix("echo ").and_then(|rest| rest.split_once(" > ")).expect("a script");
        Memory::allowed(path, root)?;
        self.put_in_place(path, It::File(format!("{text}\n").into_bytes()), &Keep::default())
    }

    fn put_in_place(&self, path: &str, it: It, keep: &Keep) -> Result<(), Error> {
        let mut tree = self.tree.lock().unwrap();
        let parent = path.rsplit_once('/').unwrap().0;
        if !tree.get(parent).is_some_and(|node| node.it == It::Directory) {
            return Err(Error::permanent(format!("{parent} is not there")));
        }
        let before = tree.get(path).cloned();
        let (owner, group) = before.as_ref().map_or(("m1", "staff"), |node| (&node.owner, &node.group));
        let mode = keep.mode.or(before.as_ref().map(|node| node.mode)).unwrap_or(0o644);
        let owner = keep.owner.clone().unwrap_or_else(|| owner.to_owned());
        let group = keep.group.clone().unwrap_or_else(|| group.to_owned());
        tree.insert(path.into(), Node { it, mode, owner, group });
        Ok(())
    }
}

fn found(node: &Node, wanted: &Content) -> Found {
    let what = match &node.it {
        It::Directory => What::Directory,
        It::Link(target) => What::Link(target.as_bytes().to_vec()),
        It::Other => What::Other,
        It::File(content) => {
            let digest = sha256(content);
            let is_wanted = match wanted {
                Content::Nothing | Content::Digest => false,
                Content::Unless(expected) => *expected != digest,
                Content::Whole => true,
            };
            What::File(probe::File {
                size: content.len() as u64,
                digest: (*wanted != Content::Nothing).then_some(digest),
                content: is_wanted.then(|| content.clone()),
            })
        }
    };
    Found { what, mode: node.mode, owner: node.owner.clone(), group: node.group.clone() }
}

impl World for Memory {
    fn ask(&self, probe: &Probe) -> Result<Reply, Error> {
        *self.log.lock().unwrap() += &format!("{probe:?}\n");
        let answers = probe.reads().iter().map(|read| self.read(read, probe.needs_root()));
        Ok(Reply(answers.collect::<Result<_, _>>()?))
    }

    fn work(&self, steps: Vec<Step>) -> Result<(), Error> {
        *self.log.lock().unwrap() += &format!("{steps:?}\n");
        steps.into_iter().try_for_each(|step| self.act(step.act, step.root))
    }

    fn put(&self, path: &str, content: &[u8]) {
        let mode = self.tree.lock().unwrap().get(path).map_or(0o644, |node| node.mode);
        self.insert(path, It::File(content.to_vec()), mode);
    }

    fn link(&self, path: &str, target: &str) {
        self.insert(path, It::Link(target.into()), 0o777);
    }

    fn mode(&self, path: &str, mode: u32) {
        self.tree.lock().unwrap().get_mut(path).unwrap().mode = mode;
    }

    fn owner(&self, path: &str, owner: &str, group: &str) -> bool {
        let mut tree = self.tree.lock().unwrap();
        let node = tree.get_mut(path).unwrap();
        (node.owner, node.group) = (owner.into(), group.into());
        true
    }

    fn delete(&self, path: &str) {
        self.remove_tree(path);
    }

    fn real(&self, path: &str) -> String {
        path.into()
    }

    fn content(&self, path: &str) -> Option<Vec<u8>> {
        match &self.tree.lock().unwrap().get(path)?.it {
            It::File(content) => Some(content.clone()),
            _ => None,
        }
    }

    fn everything(&self) -> String {
        format!("{:#?}", self.tree.lock().unwrap())
    }

    fn local(&self, name: &str, content: &[u8]) -> String {
        self.local.lock().unwrap().insert(name.into(), content.to_vec());
        name.into()
    }

    fn archive(&self, name: &str, files: &[(&str, &str)]) -> (String, String) {
        let content: String = files.iter().map(|(name, content)| format!("{name}={content}\n")).collect();
        (self.local(name, content.as_bytes()), sha256(content.as_bytes()))
    }
}
