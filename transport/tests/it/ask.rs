//! Questions in every shell.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use fleet_engine::host::probe::{Found, Line, What};
use fleet_engine::host::{Content, Probe, Read, Reply};
use fleet_engine::resource::Error;
use fleet_transport::script::Asking;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::shells::{SHELLS, answers};

fn ask(shell: &[&str], root: &Path, probes: Vec<Probe>) -> Vec<Result<Reply, Error>> {
    let asking = Asking::new(probes);
    let sections = answers(shell, root.to_str().unwrap(), |frame| asking.write(frame));
    asking.replies(&Line::default(), sections.into_iter())
}

fn digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The content that was found, and whether a digest came with it.
fn content(found: Option<&Found>) -> Option<(Option<Vec<u8>>, Option<String>)> {
    match &found?.what {
        What::File(file) => Some((file.content.clone(), file.digest.clone())),
        _ => None,
    }
}

#[test]
fn whatever_is_at_a_path_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::write(root.join("file"), b"a\0b\xff\n\n01234567 0\n").unwrap();
    fs::set_permissions(root.join("file"), fs::Permissions::from_mode(0o4751)).unwrap();
    fs::create_dir(root.join("dir with 'quotes' and\nlines")).unwrap();
    symlink("no\nwhere\n", root.join("link")).unwrap();
    fs::write(root.join("-n"), b"").unwrap();
    for shell in SHELLS {
        let probe = Probe::new()
            .content("/file", Content::Whole)
            .path("/dir with 'quotes' and\nlines")
            .path("/link")
            .path("/missing/file")
            .content("/-n", Content::Unless(digest(b"")));
        let reply = ask(shell, root, vec![probe]).remove(0).unwrap();
        let file = reply.path(0).unwrap().unwrap();
        assert_eq!(
            (file.mode, content(Some(file)).unwrap().0.unwrap()),
            (0o4751, fs::read(root.join("file")).unwrap()),
            "{shell:?}"
        );
        assert_eq!(reply.path(1).unwrap().unwrap().what, What::Directory, "{shell:?}");
        assert_eq!(reply.path(2).unwrap().unwrap().what, What::Link(b"no\nwhere\n".to_vec()), "{shell:?}");
        assert_eq!(reply.path(3).unwrap(), None, "{shell:?}");
        assert_eq!(content(reply.path(4).unwrap()), Some((None, Some(digest(b"")))), "{shell:?}");
    }
}

#[test]
fn many_ask_together_and_each_gets_its_answer() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let probes = |n: usize| {
        (0..n).map(|i| Probe::new().content(format!("/f{i}"), Content::Unless(digest(b"same")))).collect()
    };
    for i in (0..200).filter(|i| i % 3 != 0) {
        fs::write(root.join(format!("f{i}")), if i % 3 == 1 { &b"same"[..] } else { b"other" }).unwrap();
    }
    for shell in SHELLS {
        for (i, reply) in ask(shell, root, probes(200)).into_iter().enumerate() {
            let found = content(reply.unwrap().path(0).unwrap());
            let expected = match i % 3 {
                0 => None,
                1 => Some((None, Some(digest(b"same")))),
                _ => Some((Some(b"other".to_vec()), Some(digest(b"other")))),
            };
            assert_eq!(found, expected, "{shell:?} {i}");
        }
    }
}

#[test]
fn scripts_of_users_have_outputs_of_their_own_and_cannot_eat_the_next() {
    let directory = tempfile::tempdir().unwrap();
    for shell in SHELLS {
        let script = |text: &str| Probe::new().and(Read::UserScript(text.into()));
        let probes = vec![
            script("printf 'out\\n\\n'; echo no >&2; exit 3"),
            script("cat; echo '# x'; echo ."),
            script("N=other; x() { echo hidden; }; printf 'é\\\\'"),
        ];
        let replies = ask(shell, directory.path(), probes);
        let told: Vec<(i32, Vec<u8>, Vec<u8>)> = replies
            .into_iter()
            .map(|reply| {
                let output = reply.unwrap().output(0).unwrap().clone();
                (output.status, output.stdout, output.stderr)
            })
            .collect();
        let expected: [(i32, &[u8], &[u8]); 3] =
            [(3, b"out\n\n", b"no\n"), (0, b"# x\n.\n", b""), (0, "é\\".as_bytes(), b"")];
        assert_eq!(
            told,
            expected.map(|(status, out, err)| (status, out.to_vec(), err.to_vec())),
            "{shell:?}"
        );
    }
}

#[test]
fn names_of_any_bytes_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("dir");
    fs::create_dir(&root).unwrap();
    let mut names: Vec<&[u8]> = vec![b".hidden", b"..", b"a b", b"-x", b"new\nline", b"\xff\xfe", b"*", b"'"];
    names.retain(|name| *name != b"..");
    for name in &names {
        fs::write(root.join(std::ffi::OsStr::from_bytes(name)), b"").unwrap();
    }
    names.sort_unstable();
    for shell in SHELLS {
        let probes = vec![Probe::new().names("/dir").names("/none").names("/dir/a b")];
        let reply = ask(shell, directory.path(), probes).remove(0).unwrap();
        let mut found: Vec<Vec<u8>> = reply.names(0).unwrap().unwrap().to_vec();
        found.sort_unstable();
        assert_eq!(found, names, "{shell:?}");
        assert_eq!((reply.names(1).unwrap(), reply.names(2).unwrap()), (None, None), "{shell:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_content_under_any_name_comes_back(
        name in "[^/\0]{1,20}".prop_filter("a name of its own", |name| name != "." && name != ".."),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(&name), &bytes).unwrap();
        for shell in SHELLS {
            let path = format!("/{name}");
            let probes = vec![
                Probe::new().content(&*path, Content::Whole),
                Probe::new().and(Read::UserScript(format!("printf %s '{}'", name.replace('\'', "'\\''")))),
            ];
            let mut replies = ask(shell, directory.path(), probes).into_iter();
            let reply = replies.next().unwrap().unwrap();
            prop_assert_eq!(content(reply.path(0).unwrap()), Some((Some(bytes.clone()), Some(digest(&bytes)))), "{:?}", shell);
            let said = replies.next().unwrap().unwrap().output(0).unwrap().stdout.clone();
            prop_assert_eq!(said, name.as_bytes(), "{:?}", shell);
        }
    }
}
