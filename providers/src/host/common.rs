//! What kinds on hosts have in common: paths, how things are kept, where to look.

use fleet_engine::attributes::Misfit;
use fleet_engine::host::probe::{self, Found, What};
use fleet_engine::host::step::{Keep, LocalFile};
use fleet_engine::host::{Act, Revert, Step};
use fleet_engine::resource::{At, Error};
use sha2::{Digest, Sha256};

use crate::mode;

/// A path on a host has one spelling, so that two things are at one place only if their paths are equal.
pub(crate) fn check_path(path: &str) -> Result<(), Misfit> {
    let refuse = |message: &str| Err(Misfit::new("path", message));
    let Some(below) = path.strip_prefix('/') else {
        return refuse("a whole path is needed, one that starts with `/`");
    };
    if path.contains('\0') {
        return refuse("a path cannot hold the character NUL");
    }
    if below.is_empty() {
        return refuse("`/` itself cannot be managed");
    }
    if below.ends_with('/') {
        return refuse("it ends with `/`; leave that away");
    }
    if below.split('/').any(|name| matches!(name, "" | "." | "..")) {
        return refuse("it has a part that is empty, `.` or `..`; write it without");
    }
    Ok(())
}

/// How a host undoes a change of a file by itself, where that decides who gets in or who becomes root. Whoever removes a rule of
/// `sudo` wants to be root by a password again, or not at all.
pub(crate) fn revert_of(path: &str, is_removed: bool) -> Option<Revert> {
    let place = path.strip_prefix("/private").unwrap_or(path);
    let is_sudo = place == "/etc/sudoers" || place.starts_with("/etc/sudoers.d/");
    let is_ssh = place.starts_with("/etc/ssh/") || place.starts_with("/etc/pam.d/");
    let is_key = place.ends_with("/.ssh/authorized_keys") || place.ends_with("/.ssh/authorized_keys2");
    ((is_sudo && !is_removed) || is_ssh || is_key).then(|| Revert::of([path]))
}

/// The thing that a question is about, where it is not named by an id.
pub(crate) fn asked<T>(at: &At<T>) -> Option<&T> {
    match at {
        At::Recorded(it) | At::Declared(it) | At::Begun { wish: it, .. } => Some(it),
        At::Id(_) => None,
    }
}

/// The same for kinds without an id, which are not asked for one.
pub(crate) fn named<T>(at: &At<T>) -> Result<&T, Error> {
    asked(at).ok_or_else(|| Error::permanent("it cannot be found by an id"))
}

/// The path that a question is about.
pub(crate) fn path_of<'a, T>(at: &'a At<T>, path: impl Fn(&'a T) -> &'a str) -> &'a str {
    match at {
        At::Recorded(it) | At::Declared(it) | At::Begun { wish: it, .. } => path(it),
        At::Id(id) => id,
    }
}

/// Whether what stands at the place of something begun is known by another name: then it is that.
pub(crate) fn is_another<T>(at: &At<T>, same_place: impl Fn(&T, &T) -> bool) -> bool {
    matches!(at, At::Begun { wish, except } if except.iter().any(|known| same_place(wish, known)))
}

/// Something else stands where a thing should be. It is never removed for that.
pub(crate) fn in_the_way(path: &str, found: &What, wanted: &str) -> Error {
    let what = match found {
        What::File(_) => "a file",
        What::Directory => "a directory",
        What::Link(_) => "a link",
        What::Other => "something special, such as a socket or a device",
    };
    let error = Error::permanent(format!("`{path}` is {what}, and should be {wanted}"));
    error.help("move it away on the host, or choose another `path`")
}

/// The regular file at a path.
pub(crate) fn regular<'a>(path: &str, found: &'a Found) -> Result<&'a probe::File, Error> {
    match &found.what {
        What::File(file) => Ok(file),
        other => Err(in_the_way(path, other, "a file")),
    }
}

/// The content of a file that others write, too; a file that is not there is an empty one.
pub(crate) fn shared<'a>(path: &str, found: Option<&'a Found>) -> Result<&'a [u8], Error> {
    let Some(found) = found else { return Ok(&[]) };
    let content = regular(path, found)?.content.as_deref();
    content.ok_or_else(|| Error::permanent(format!("the host did not say what stands in `{path}`")))
}

/// How something is kept; what the user does not say stays.
pub(crate) fn keep(mode: &str, owner: &Option<String>, group: &Option<String>) -> Keep {
    Keep { mode: mode::parse(mode), owner: owner.clone(), group: group.clone() }
}

/// Changes how something is kept, where that is all there is to do.
pub(crate) fn keep_step(path: String, keep: Keep) -> Step {
    Step::new(Act::Keep { path, keep })
}

/// A file on this machine comes with its digest, because kinds read nothing.
pub(crate) fn local(source: Option<&String>, digest: Option<&String>) -> Result<Option<LocalFile>, Misfit> {
    match (source, digest) {
        (None, None) => Ok(None),
        (Some(path), Some(digest)) => Ok(Some(LocalFile { path: path.clone(), digest: digest.clone() })),
        (Some(path), None) => {
            let message =
                format!("say what stands in the file, too: `source_sha256 = filesha256(\"{path}\")`");
            Err(Misfit::new("source_sha256", message))
        }
        (None, Some(_)) => Err(Misfit::new("source_sha256", "it goes with `source`, which is missing")),
    }
}

/// A SHA-256 has one spelling.
pub(crate) fn normal_digest(digest: &str) -> Result<String, Misfit> {
    let digest = digest.to_ascii_lowercase();
    let fits = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let refuse =
        || Misfit::new("source_sha256", "64 hexadecimal digits are needed, as `filesha256` gives them");
    if fits { Ok(digest) } else { Err(refuse()) }
}

/// The SHA-256 of some bytes, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_let_people_in_are_put_back() {
        for path in [
            "/etc/ssh/sshd_config",
            "/etc/ssh/sshd_config.d/x",
            "/private/etc/pam.d/sudo",
            "/Users/m1/.ssh/authorized_keys",
        ] {
            assert_eq!(revert_of(path, false), Some(Revert::of([path])), "{path}");
            assert_eq!(revert_of(path, true), Some(Revert::of([path])), "{path}");
        }
        assert!(
            revert_of("/etc/sudoers.d/m1", false).is_some() && revert_of("/etc/sudoers.d/m1", true).is_none()
        );
        for path in ["/etc/sudoers.x", "/etc/motd", "/opt/etc/ssh/x", "/Users/m1/.ssh/config"] {
            assert_eq!(revert_of(path, false), None, "{path}");
        }
    }

    #[test]
    fn a_path_has_one_spelling() {
        for path in ["/a", "/a/b c", "/...", "/a/.b", "/\n'\"$"] {
            check_path(path).unwrap();
        }
        for path in ["", "a", "/", "/a/", "//a", "/a//b", "/a/./b", "/a/..", "/..", "/a\0", "~/a"] {
            assert!(check_path(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_local_file_comes_with_its_digest() {
        let (path, digest) = ("a".to_owned(), "b".to_owned());
        let misfit = local(Some(&path), None).unwrap_err();
        assert!(misfit.message.contains("`source_sha256 = filesha256(\"a\")`"), "{misfit}");
        assert!(local(None, Some(&digest)).is_err());
        assert_eq!(local(None, None), Ok(None));
        assert_eq!(local(Some(&path), Some(&digest)), Ok(Some(LocalFile { path, digest })));
    }

    #[test]
    fn a_digest_has_one_spelling() {
        assert_eq!(normal_digest(&"A1".repeat(32)).unwrap(), "a1".repeat(32));
        assert!(normal_digest("a1").is_err() && normal_digest(&"g".repeat(64)).is_err());
    }
}
