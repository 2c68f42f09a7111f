//! Directories with all that is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Display};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Everything below a directory, by its path from there: what it is, its permissions, owner and content.
pub(crate) type Tree = BTreeMap<String, Leaf>;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) content: String,
}

/// What changes whenever anybody writes: number, size, and the times of the content and of all else, to the nanosecond.
pub(crate) type Stamps = BTreeMap<String, (Leaf, [i64; 6])>;

pub(crate) fn tree(root: &Path) -> Tree {
    stamps(root).into_iter().map(|(path, (leaf, _))| (path, leaf)).collect()
}

pub(crate) fn stamps(root: &Path) -> Stamps {
    fn add(found: &mut Stamps, root: &Path, path: &Path) {
        let about = fs::symlink_metadata(path).unwrap();
        let content = match about.file_type() {
            kind if kind.is_symlink() => fs::read_link(path).unwrap().as_os_str().as_bytes().to_vec(),
            kind if kind.is_file() => fs::read(path).unwrap(),
            _ => Vec::new(),
        };
        let leaf = Leaf {
            mode: about.mode(),
            owner: (about.uid(), about.gid()),
            content: content.escape_ascii().to_string(),
        };
        let number = i64::try_from(about.ino()).unwrap();
        let size = i64::try_from(about.size()).unwrap();
        let times = [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()];
        let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().escape_ascii().to_string();
        found.insert(name, (leaf, [number, size, times[0], times[1], times[2], times[3]]));
        if about.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                add(found, root, &entry.unwrap().path());
            }
        }
    }
    let mut found = Stamps::new();
    add(&mut found, root, root);
    found
}

/// Both are equal; if not, only what differs is shown.
#[track_caller]
pub(crate) fn same<T: Debug + PartialEq>(
    left: &BTreeMap<String, T>,
    right: &BTreeMap<String, T>,
    about: impl Display,
) {
    let paths: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let differ = paths.into_iter().filter(|path| left.get(*path) != right.get(*path));
    let told: Vec<String> =
        differ.map(|path| format!("{path}: {:?} and {:?}", left.get(path), right.get(path))).collect();
    assert!(told.is_empty(), "{about}:\n{}", told.join("\n"));
}

/// Without the ledgers of hosts and what lies beside them.
pub(crate) fn without_ledgers(mut tree: Tree) -> Tree {
    tree.retain(|path, _| !path.starts_with("var/tmp/fleet"));
    tree
}
