//! Things on a host, which is a directory of the lab's: the laws hold there, too.

use std::fs;
use std::path::Path;
use std::process::Command;

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
        ("tree/one/deep/a", "1"),
        ("tree/two/b", "2"),
    ] {
        fs::write(site.join(name), content).unwrap();
    }
    for (archive, of) in [("one.tar.gz", "one"), ("two.tar.gz", "two")] {
        let mut tar = Command::new("tar");
        let made = tar.args(["-czf", archive, "-C", "tree", of]).current_dir(site).status().unwrap();
        assert!(made.success());
    }
    fs::copy(site.join("one.tar.gz"), site.join("copy.tar.gz")).unwrap();
}
