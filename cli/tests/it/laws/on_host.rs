//! Things on a host, which is a directory of the lab's: the laws hold there, too.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use regex::Regex;

use super::Lab;

/// The name of every file that fleet keeps for itself on a host.
pub(super) const LEDGERS: &str = "root/var/tmp/fleet/";

/// A fleet of one host, and what is on it.
pub(super) fn fleet(blocks: &str) -> String {
    format!(
        "pool \"static\" \"lab\" {{\n  host \"here\" {{}}\n}}\n\nfleet \"lab\" {{\n  pool     = pool.lab\n  hosts    = [\"here\"]\n  \
         hostname = host.key\n\n  connection \"local\" {{\n    root = \"${{abspath(path.root)}}/root\"\n  }}\n\n{blocks}}}\n"
    )
}

/// What is on the host before, and the files that are sent there.
pub(super) fn prepare(site: &Path) {
    for directory in ["root/etc", "root/opt", "tree/one/deep", "tree/two"] {
        fs::create_dir_all(site.join(directory)).unwrap();
    }
    for (name, content) in [
        ("root/etc/hosts", "127.0.0.1 localhost\nold line\n# Port 1\nlast"),
        ("root/etc/other", "\n\n"),
        ("root/etc/os-release", "VERSION_ID=\"12\"\n"),
        ("tree/one/deep/a", "1"),
        ("tree/two/b", "2"),
    ] {
        fs::write(site.join(name), content).unwrap();
    }
    // Archives of equal files are equal.
    for name in ["tree/one/deep/a", "tree/one/deep", "tree/one", "tree/two/b", "tree/two"] {
        fs::File::open(site.join(name)).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    for (archive, of) in [("one.tar.gz", "one"), ("two.tar.gz", "two")] {
        let mut tar = Command::new("tar");
        let made = tar.args(["-czf", archive, "-C", "tree", of]).current_dir(site).status().unwrap();
        assert!(made.success());
    }
    fs::copy(site.join("one.tar.gz"), site.join("copy.tar.gz")).unwrap();
}

/// An example for a host behind SSH, on a host of the lab's.
pub(super) fn here(example: &str) -> String {
    let (from, to) =
        ("connection \"ssh\" {}", "connection \"local\" {\n    root = \"${abspath(path.root)}/root\"\n  }");
    assert!(example.contains(from), "{example}");
    let digest = Regex::new("source_sha256 = \".*\"").unwrap();
    digest.replace_all(&example.replace(from, to), "source_sha256 = filesha256(\"one.tar.gz\")").into_owned()
}

/// What an example needs to be there: directories of its paths, files that it edits, and what it sends.
pub(super) fn prepare_for(lab: &Lab, example: &str) {
    let site = lab.site.path();
    prepare(site);
    let argument = |name: &str| Regex::new(&format!("(?m)^ *{name} *= \"(.*)\"$")).unwrap();
    for path in argument("path").captures_iter(example) {
        let path = site.join("root").join(path[1].trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if example.contains("host_line") || example.contains("host_block") {
            fs::write(path, "PermitEmptyPasswords no\n").unwrap();
        }
    }
    for source in argument("source").captures_iter(example) {
        let source = site.join(&source[1]);
        fs::create_dir_all(source.parent().unwrap()).unwrap();
        fs::copy(site.join("one.tar.gz"), source).unwrap();
    }
}
