//! `chown` and `chgrp`. Nobody but root gives something away.

use std::fs;
use std::io;
use std::path::Path;

use super::directory::{ended, find_group, find_user};
use super::options::Options;
use super::{Call, Failure, Outcome, reason};

pub(super) fn chown(call: &mut Call) -> Outcome {
    let usage = "usage: chown [-fhnvx] [-R [-H | -L | -P]] owner[:group] file ...\n       \
                 chown [-fhnvx] [-R [-H | -L | -P]] :group file ...";
    let options = read(call, usage)?;
    let [owner, files @ ..] = &options.operands[..] else { return Err(wrong(usage)) };
    if files.is_empty() {
        return Err(wrong(usage));
    }
    let owner = owner.to_string_lossy().into_owned();
    let (user, group) = owner.split_once(':').map_or((&*owner, ""), |(user, group)| (user, group));
    let uid = named(user, |name| find_user(call, name))
        .map_err(|()| call.failure(&format!("{user}: illegal user name")))?;
    let gid = named(group, find_group).map_err(|()| call.failure(&format!("{group}: illegal group name")))?;
    change(call, &options, files, uid, gid)
}

pub(super) fn chgrp(call: &mut Call) -> Outcome {
    let usage = "usage: chgrp [-fhnvx] [-R [-H | -L | -P]] group file ...";
    let options = read(call, usage)?;
    let [group, files @ ..] = &options.operands[..] else { return Err(wrong(usage)) };
    if files.is_empty() {
        return Err(wrong(usage));
    }
    let group = group.to_string_lossy().into_owned();
    let gid =
        named(&group, find_group).map_err(|()| call.failure(&format!("{group}: illegal group name")))?;
    change(call, &options, files, None, gid)
}

fn read(call: &Call, usage: &str) -> Result<Options, Failure> {
    Options::read(&call.words, "fhnvxRHLP")
        .map_err(|option| wrong(&format!("{}: {}\n{usage}", call.name, option.text())))
}

fn wrong(usage: &str) -> Failure {
    Failure { text: usage.to_owned(), status: 1 }
}

/// The number for a name; none if none is given.
fn named(name: &str, find: impl Fn(&str) -> Option<u32>) -> Result<Option<u32>, ()> {
    if name.is_empty() { Ok(None) } else { find(name).map(Some).ok_or(()) }
}

fn change(
    call: &mut Call,
    options: &Options,
    files: &[std::ffi::OsString],
    uid: Option<u32>,
    gid: Option<u32>,
) -> Outcome {
    let mut status = 0;
    for file in files {
        let mut path = call.path(file);
        // A link that is named is followed, unless it is said otherwise.
        if !options.has('h') && path.is_symlink() {
            path = path.canonicalize().unwrap_or(path);
        }
        if let Err(error) = give(call, &path, uid, gid, options.has('R')) {
            if options.has('f') {
                continue;
            }
            let why = match error.kind() {
                io::ErrorKind::PermissionDenied => "Operation not permitted".into(),
                _ => reason(&error),
            };
            status = call.complain(&format!("{}: {why}", file.display()));
        }
    }
    call.mac.disk().store().map_err(|error| call.failure(&error.to_string()))?;
    ended(status)
}

fn give(call: &Call, path: &Path, uid: Option<u32>, gid: Option<u32>, deep: bool) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let around = path.parent().unwrap_or(path).canonicalize()?;
    if !around.starts_with(call.mac.root()) && path != call.mac.root() {
        return Err(io::ErrorKind::ReadOnlyFilesystem.into());
    }
    let (caller, groups) = (call.uid(), call.gids());
    let mut disk = call.mac.disk();
    let before = disk.owner(path);
    let after = (uid.unwrap_or(before.0), gid.unwrap_or(before.1));
    let keeps_it = before.0 == caller && after.0 == caller && groups.contains(&after.1);
    let may = call.is_root() || keeps_it;
    if !may {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    disk.own(path, after)?;
    drop(disk);
    if deep && found.is_dir() {
        for entry in fs::read_dir(path)? {
            give(call, &entry?.path(), uid, gid, deep)?;
        }
    }
    Ok(())
}
