//! Property lists of the system.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use plist::{Dictionary, Value};
use serde::Serialize;

use crate::clock::Time;

/// What stands in a property list, by its path under a root; nothing if there is none, or if it is none.
pub(in crate::mac) fn read(root: &Path, path: &str) -> Dictionary {
    Value::from_file(root.join(path)).ok().and_then(Value::into_dictionary).unwrap_or_default()
}

/// Puts a property list in the place of another, as if it were that time.
pub(in crate::mac) fn write(file: &Path, all: Dictionary, mode: u32, now: Time) -> io::Result<()> {
    let new = file.with_extension("plist.new");
    Value::Dictionary(all).to_file_binary(&new).map_err(io::Error::other)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(mode))?;
    let since = "1970-01-01T00:00:00Z".parse().map(|start| now.since(start)).unwrap_or(Duration::ZERO);
    fs::File::options().write(true).open(&new)?.set_modified(SystemTime::UNIX_EPOCH + since)?;
    fs::rename(&new, file)
}

/// Where the allow-list of local networks is kept: in the domain of root.
const LOCAL_NETWORK: &str = "private/var/root/Library/Preferences/com.apple.network.local-network.plist";

/// The local networks that programs may reach without anybody clicking, for each sort of interface. macOS reads them at a
/// boot and never again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(in crate::mac) struct LocalNetwork(BTreeMap<String, Vec<String>>);

impl LocalNetwork {
    /// As they are written down now.
    pub(in crate::mac) fn read(root: &Path) -> LocalNetwork {
        let all = read(root, LOCAL_NETWORK);
        let text = |value: &Value| value.as_string().map(str::to_owned);
        let lists = all.iter().filter_map(|(key, value)| {
            let list = value.as_array()?.iter().filter_map(text).collect();
            Some((key.clone(), list))
        });
        LocalNetwork(lists.collect())
    }
}

/// Which server is asked for the names of a domain, as the files in `/etc/resolver` say.
pub(in crate::mac) fn resolvers(root: &Path) -> BTreeMap<String, Vec<String>> {
    let files = fs::read_dir(root.join("private/etc/resolver")).into_iter().flatten().flatten();
    let resolver = |file: fs::DirEntry| {
        let text = fs::read_to_string(file.path()).ok()?;
        let servers = text.lines().filter_map(|line| line.strip_prefix("nameserver "));
        Some((file.file_name().into_string().ok()?, servers.map(|server| server.trim().to_owned()).collect()))
    };
    files.filter_map(resolver).collect()
}
