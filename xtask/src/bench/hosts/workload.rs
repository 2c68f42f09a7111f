//! The work that every tool does on every host, and the one judge of what came of it.
//!
//! Under a prefix of its own each host has `etc/app.conf` with two lines of its own, `etc` and `run`. What is wanted:
//! 20 files, 5 blocks between marker lines in `etc/app.conf`, and 5 services, each with a probe that says whether it is
//! loaded and a fix that loads it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use sha2::{Digest, Sha256};

/// How many files there are.
pub(super) const FILES: usize = 20;
/// How many lines each file has.
pub(super) const LINES: usize = 20;
/// How many blocks there are.
pub(super) const BLOCKS: usize = 5;
/// How many services there are.
pub(super) const SERVICES: usize = 5;
/// The modes of the files, in turn.
pub(super) const MODES: [&str; 4] = ["0644", "0600", "0755", "0640"];

/// What stands in `app.conf` before anybody came, and must survive.
const OWN: &str = "# app.conf, the machine's own lines\nlisten = 0.0.0.0\n";

/// Inode, time of change in nanoseconds and mode of everything that is managed, by name.
pub(super) type Stamp = Vec<(String, u64, (i64, i64), u32)>;

/// The name of a file.
pub(super) fn file_name(file: usize) -> String {
    format!("f{file:02}.conf")
}

/// The content of a file.
pub(super) fn content(host: &str, file: usize) -> String {
    (0..LINES).map(|line| format!("{host}.key{file:02}.{line:02} = value-{host}-{file}-{line}\n")).collect()
}

/// The mode of a file.
pub(super) fn mode(file: usize) -> &'static str {
    MODES[file % MODES.len()]
}

/// What stands between the marker lines of a block.
pub(super) fn block(host: &str, block: usize) -> String {
    format!("[section-b{block}]\nowner = {host}\nsetting = {}\nenabled = yes", block * 7)
}

/// Makes a host as it is before any tool came.
pub(super) fn reset(prefix: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    match fs::remove_dir_all(prefix) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let own = |path: &Path| match owner {
        Some((user, group)) => chown(path, Some(user), Some(group)),
        None => Ok(()),
    };
    for name in ["", "etc", "run"] {
        let directory = prefix.join(name);
        fs::create_dir_all(&directory)?;
        own(&directory)?;
    }
    let conf = prefix.join("etc/app.conf");
    fs::write(&conf, OWN)?;
    fs::set_permissions(&conf, fs::Permissions::from_mode(0o644))?;
    own(&conf)
}

/// What is not as it should be on a host; nothing, if the work is done.
pub(super) fn faults(host: &str, prefix: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let mut read = |path: &str| -> String {
        fs::read_to_string(prefix.join(path)).unwrap_or_else(|error| {
            faults.push(format!("{host}: {path}: {error}"));
            String::new()
        })
    };
    let files: Vec<String> = (0..FILES).map(|file| read(&format!("etc/{}", file_name(file)))).collect();
    let conf = read("etc/app.conf");
    let states: Vec<String> = (0..SERVICES).map(|service| read(&format!("run/svc{service}.state"))).collect();
    for (file, found) in files.iter().enumerate() {
        let name = file_name(file);
        if *found != content(host, file) {
            faults.push(format!("{host}: {name} has another content"));
        }
        let found = fs::metadata(prefix.join("etc").join(&name)).map(|it| it.mode() & 0o7777);
        if found.is_ok_and(|found| format!("{found:04o}") != mode(file)) {
            faults.push(format!("{host}: {name} has another mode"));
        }
    }
    if !conf.starts_with(OWN) {
        faults.push(format!("{host}: app.conf lost its own lines"));
    }
    for number in 0..BLOCKS {
        let whole = format!("# BEGIN managed b{number}\n{}\n# END managed b{number}\n", block(host, number));
        if conf.matches(&whole).count() != 1 {
            faults.push(format!("{host}: block b{number} is not there once"));
        }
    }
    for (service, state) in states.iter().enumerate() {
        if state != "loaded\n" {
            faults.push(format!("{host}: service {service} is not loaded"));
        }
    }
    faults
}

/// What must not move while nothing is to be done.
pub(super) fn stamp(prefix: &Path) -> io::Result<Stamp> {
    let mut all = Stamp::new();
    for directory in ["etc", "run"] {
        for entry in fs::read_dir(prefix.join(directory))? {
            let entry = entry?;
            let found = entry.metadata()?;
            let name = format!("{directory}/{}", entry.file_name().to_string_lossy());
            all.push((name, found.ino(), (found.mtime(), found.mtime_nsec()), found.mode()));
        }
    }
    all.sort();
    Ok(all)
}

/// The least that does the work: one script, written by hand for this very work, with as few processes as it can be. It
/// says how much it changed.
pub(super) fn script(host: &str, prefix: &Path) -> String {
    let names: Vec<String> = (0..FILES).map(file_name).collect();
    let names = names.join(" ");
    let of_all = |line: &dyn Fn(usize) -> String| (0..FILES).map(line).collect::<Vec<_>>().join("\n");
    let digests =
        of_all(&|file| format!("{}  {}", hex::encode(Sha256::digest(content(host, file))), file_name(file)));
    let modes = of_all(&|file| mode(file)[1..].to_owned());
    let files: String = (0..FILES)
        .map(|file| {
            format!(
                "file {} {} {}\n",
                file_name(file),
                &mode(file)[1..],
                quoted(content(host, file).trim_end())
            )
        })
        .collect();
    let blocks: String =
        (0..BLOCKS).map(|number| format!("block b{number} {}\n", quoted(&block(host, number)))).collect();
    let services: String = (0..SERVICES)
        .map(|it| {
            let state = format!("../run/svc{it}.state");
            format!("grep -qx loaded {state} 2>/dev/null || {{ echo loaded >{state}; changed=$((changed + 1)); }}\n")
        })
        .collect();
    let prefix = quoted(&prefix.to_string_lossy());
    format!(
        r##"cd {prefix}/etc || exit 1
umask 077
changed=0 dirty=
eol='
'
file() {{
  if [ "$(cat "$1" 2>/dev/null)" != "$3" ]; then
    printf '%s\n' "$3" >"$1.new" && chmod "$2" "$1.new" && mv "$1.new" "$1"
  elif [ "$(stat -c %a "$1")" != "$2" ]; then
    chmod "$2" "$1"
  else
    return
  fi
  changed=$((changed + 1))
}}
block() {{
  whole="# BEGIN managed $1$eol$2$eol# END managed $1"
  case $eol$conf$eol in
    *"$eol$whole$eol"*) return ;;
    *"$eol# BEGIN managed $1$eol"*)
      conf=$(printf '%s\n' "$conf" | awk -v name="managed $1" '
        $0 == "# BEGIN " name {{ inside = 1 }}
        !inside
        $0 == "# END " name {{ inside = 0 }}')
      ;;
  esac
  conf=$conf$eol$whole dirty=1 changed=$((changed + 1))
}}
if [ "$(sha256sum {names} 2>/dev/null)" != {digests} ] ||
  [ "$(stat -c %a {names} 2>/dev/null)" != {modes} ]; then
{files}fi
conf=$(cat app.conf)
{blocks}if [ "$dirty" ]; then
  cp -p app.conf app.conf.new && printf '%s\n' "$conf" >app.conf.new && mv app.conf.new app.conf
fi
{services}echo "changed=$changed"
"##,
        digests = quoted(&digests),
        modes = quoted(&modes),
    )
}

/// What the configuration of fleet begins with.
pub(super) fn locals() -> String {
    format!("locals {{\n  lines = [for line in range({LINES}) : format(\"%02d\", line)]\n}}\n\n")
}

/// The same work as a configuration of fleet: what stands in the fleet. `prefix` is where scripts find the host.
pub(super) fn resources(prefix: &str) -> String {
    let modes = MODES.map(|mode| format!("{mode:?}")).join(", ");
    format!(
        r##"  resource "host_file" "file" {{
    for_each = {{ for i in range({FILES}) : format("%02d", i) => i }}
    path     = "/etc/f${{each.key}}.conf"
    mode     = [{modes}][each.value % {count}]
    content = join("", [
      for i, line in local.lines : "${{host.key}}.key${{each.key}}.${{line}} = value-${{host.key}}-${{each.value}}-${{i}}\n"
    ])
  }}

  resource "host_block" "block" {{
    for_each = {{ for i in range({BLOCKS}) : "b${{i}}" => i }}
    path     = "/etc/app.conf"
    name     = each.key
    content  = "[section-${{each.key}}]\nowner = ${{host.key}}\nsetting = ${{each.value * 7}}\nenabled = yes"
  }}

  resource "host_command" "service" {{
    for_each = toset([for i in range({SERVICES}) : "svc${{i}}"])
    read     = "grep -qx loaded {prefix}/run/${{each.key}}.state"
    apply    = "echo loaded >{prefix}/run/${{each.key}}.state"
  }}
"##,
        count = MODES.len(),
    )
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_script_does_the_work_once_and_mends_what_is_broken() {
        let directory = tempfile::tempdir().unwrap();
        let prefix = directory.path().join("a host");
        reset(&prefix, None).unwrap();
        let run = || {
            let mut sh = Command::new("sh");
            let mut sh = sh.arg("-s").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            sh.stdin.take().unwrap().write_all(script("mini", &prefix).as_bytes()).unwrap();
            String::from_utf8(sh.wait_with_output().unwrap().stdout).unwrap()
        };
        assert_eq!(faults("mini", &prefix).len(), FILES * 2 + BLOCKS + SERVICES * 2);
        assert_eq!(run(), "changed=30\n");
        assert_eq!(faults("mini", &prefix), [""; 0]);
        let before = stamp(&prefix).unwrap();
        assert_eq!(run(), "changed=0\n");
        assert_eq!(stamp(&prefix).unwrap(), before);
        let conf = prefix.join("etc/app.conf");
        fs::write(&conf, fs::read_to_string(&conf).unwrap().replace("setting = 7", "setting = 8")).unwrap();
        fs::set_permissions(prefix.join("etc/f00.conf"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(prefix.join("etc/f01.conf"), "x").unwrap();
        fs::write(prefix.join("run/svc0.state"), "x").unwrap();
        assert_eq!(faults("mini", &prefix).len(), 4);
        assert_eq!(run(), "changed=4\n");
        assert_eq!(faults("mini", &prefix), [""; 0]);
    }
}
