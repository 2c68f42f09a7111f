//! An outside that exists in memory only, for tests and for evaluating where no file may be read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Entry, Outside};

/// Files, a clock that stands still and chance that repeats itself.
///
/// ```
/// use fleet_lang::outside::{Memory, Outside};
/// let outside = Memory::new().file("notes/a.txt", "hello").link("b.txt", "notes/a.txt");
/// assert_eq!(outside.read("b.txt".as_ref()).unwrap(), b"hello");
/// ```
#[derive(Debug)]
pub struct Memory {
    nodes: BTreeMap<PathBuf, Node>,
    /// What [`Outside::now`] answers: 2025-01-02T03:04:05Z unless changed.
    pub now: i128,
    drawn: AtomicU64,
}

#[derive(Clone, Debug)]
enum Node {
    File(Vec<u8>),
    Link(PathBuf),
}

/// As many links as Linux follows before it calls them a loop.
const LINK_LIMIT: usize = 40;

impl Default for Memory {
    fn default() -> Memory {
        Memory { nodes: BTreeMap::new(), now: 1_735_787_045_000_000_000, drawn: AtomicU64::new(0) }
    }
}

impl Memory {
    /// The directory that relative paths start from.
    pub const WORKING_DIRECTORY: &str = "/site";
    /// The home directory.
    pub const HOME: &str = "/home/user";

    /// Nothing but an empty working directory.
    #[must_use]
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Adds a file, and with it the directories it lies in.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Memory {
        self.nodes.insert(rooted(path.as_ref()), Node::File(content.into()));
        self
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn link(mut self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> Memory {
        self.nodes.insert(rooted(path.as_ref()), Node::Link(target.as_ref().to_owned()));
        self
    }

    fn is_directory(&self, path: &Path) -> bool {
        path == Path::new("/")
            || Path::new(Memory::WORKING_DIRECTORY).starts_with(path)
            || self
                .nodes
                .range(path.to_owned()..)
                .take(2)
                .any(|(node, _)| node != path && node.starts_with(path))
    }

    /// What lies directly in a directory.
    fn names(&self, path: &Path) -> BTreeSet<String> {
        self.nodes
            .range(path.to_owned()..)
            .take_while(|(node, _)| node.starts_with(path))
            .filter_map(|(node, _)| node.strip_prefix(path).ok()?.components().next())
            .map(|name| name.as_os_str().to_string_lossy().into_owned())
            .collect()
    }
}

impl Outside for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let real = self.real(path)?;
        match self.nodes.get(&real) {
            Some(Node::File(content)) => Ok(content.clone()),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn look(&self, path: &Path) -> io::Result<Entry> {
        let real = self.real(path)?;
        Ok(if self.nodes.contains_key(&real) { Entry::File } else { Entry::Directory })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let real = self.real(path)?;
        if self.nodes.contains_key(&real) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(self.names(&real).into_iter().collect())
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(rooted(path))
    }

    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        let mut ahead: Vec<PathBuf> = parts(&Path::new(Memory::WORKING_DIRECTORY).join(path));
        ahead.reverse();
        let mut here = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            if part == Path::new("..") {
                here.pop();
                continue;
            }
            let next = here.join(part);
            match self.nodes.get(&next) {
                Some(Node::Link(target)) => {
                    links += 1;
                    if links > LINK_LIMIT {
                        return Err(io::Error::other("too many levels of symbolic links"));
                    }
                    ahead.extend(parts(&here.join(target)).into_iter().rev());
                    here = PathBuf::from("/");
                }
                Some(Node::File(_)) if !ahead.is_empty() => return Err(io::ErrorKind::NotADirectory.into()),
                Some(Node::File(_)) => here = next,
                None if self.is_directory(&next) => here = next,
                None => return Err(io::ErrorKind::NotFound.into()),
            }
        }
        Ok(here)
    }

    fn home(&self) -> Option<PathBuf> {
        Some(Memory::HOME.into())
    }

    fn now(&self) -> i128 {
        self.now
    }

    /// SplitMix64 from a fixed seed: good enough a mixture, and the same in every run.
    fn random(&self, buffer: &mut [u8]) {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        for chunk in buffer.chunks_mut(8) {
            let mut z = self.drawn.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

/// The absolute path without `.` and `..`, as the keys of [`Memory`] are.
fn rooted(path: &Path) -> PathBuf {
    let mut result = PathBuf::from("/");
    for part in parts(&Path::new(Memory::WORKING_DIRECTORY).join(path)) {
        if part == Path::new("..") {
            result.pop();
        } else {
            result.push(part);
        }
    }
    result
}

/// The names of an absolute path, `..` among them.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| PathBuf::from(part.as_os_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_behaves_like_a_file_system() {
        let outside = Memory::new()
            .file("a/b/c.txt", "c")
            .file("a.txt", "a")
            .file("/etc/hosts", "h")
            .link("d", "a/b")
            .link("a/b/up", "..")
            .link("loop", "loop");
        let list = |path: &str| outside.list(path.as_ref()).map_err(|e| e.kind());
        assert_eq!(list(".").unwrap(), ["a", "a.txt", "d", "loop"]);
        assert_eq!(list("d/up").unwrap(), ["b"]);
        assert_eq!(list("/").unwrap(), ["etc", "site"]);
        assert_eq!(list("a.txt"), Err(io::ErrorKind::NotADirectory));
        assert_eq!(list("nowhere"), Err(io::ErrorKind::NotFound));
        assert_eq!(outside.read("d/up/b/c.txt".as_ref()).unwrap(), b"c");
        assert_eq!(outside.read("../etc/hosts".as_ref()).unwrap(), b"h");
        assert!(outside.read("a.txt/x".as_ref()).is_err());
        assert!(outside.look("loop".as_ref()).is_err());
        assert_eq!(outside.look("d".as_ref()).unwrap(), Entry::Directory);
        assert_eq!(outside.real("d/up".as_ref()).unwrap(), Path::new("/site/a"));
        assert_eq!(outside.absolute("x/../y".as_ref()).unwrap(), Path::new("/site/y"));
        assert_eq!(Memory::new().look(".".as_ref()).unwrap(), Entry::Directory);
    }

    #[test]
    fn chance_repeats_itself() {
        let draw = || {
            let (outside, mut bytes) = (Memory::new(), [0; 20]);
            outside.random(&mut bytes);
            let first = bytes;
            outside.random(&mut bytes);
            assert_ne!(first, bytes);
            (first, bytes)
        };
        assert_eq!(draw(), draw());
    }
}
