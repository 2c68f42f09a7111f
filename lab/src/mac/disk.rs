//! What a Mac has on its disk: the tree of files under its root directory, and beside it what its installation left.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::keys::{PrivateKey, PublicKey};
use serde::{Deserialize, Serialize};

use crate::machine::Install;

pub(super) const WHEEL: u32 = 0;
pub(super) const STAFF: u32 = 20;
pub(super) const ADMIN: u32 = 80;
/// The groups of macOS that files and users have.
pub(super) const GROUPS: &[(&str, u32)] = &[
    ("wheel", WHEEL),
    ("daemon", 1),
    ("sys", 3),
    ("tty", 4),
    ("operator", 5),
    ("everyone", 12),
    ("staff", STAFF),
    ("localaccounts", 61),
    ("_www", 70),
    ("admin", ADMIN),
    ("com.apple.sharepoint.group.1", 701),
    ("nobody", u32::MAX - 1),
];

/// The directories of a new Mac, with their modes. There is no `/usr/local`.
const DIRECTORIES: &[(&str, u32)] = &[
    ("Applications", 0o775),
    ("Library", 0o755),
    ("Library/LaunchAgents", 0o755),
    ("Library/LaunchDaemons", 0o755),
    ("Library/Preferences", 0o755),
    ("Library/Preferences/SystemConfiguration", 0o755),
    ("System", 0o755),
    ("System/Library", 0o755),
    ("System/Library/CoreServices", 0o755),
    ("System/Library/LaunchDaemons", 0o755),
    ("Users", 0o755),
    ("Users/Shared", 0o1777),
    ("Volumes", 0o755),
    ("opt", 0o755),
    ("private", 0o755),
    ("private/etc", 0o755),
    ("private/etc/pam.d", 0o755),
    ("private/etc/pf.anchors", 0o755),
    ("private/etc/ssh", 0o755),
    ("private/etc/sudoers.d", 0o755),
    ("private/tmp", 0o1777),
    ("private/var", 0o755),
    ("private/var/db", 0o755),
    ("private/var/db/com.apple.xpc.launchd", 0o755),
    ("private/var/log", 0o755),
    ("private/var/root", 0o750),
    ("private/var/root/Library", 0o700),
    ("private/var/root/Library/Preferences", 0o700),
    ("private/var/run", 0o775),
    ("private/var/tmp", 0o1777),
    ("usr", 0o755),
];

const LINKS: &[(&str, &str)] = &[("etc", "private/etc"), ("tmp", "private/tmp"), ("var", "private/var")];

const FILES: &[(&str, &str)] = &[
    (
        "private/etc/hosts",
        "127.0.0.1\tlocalhost\n255.255.255.255\tbroadcasthost\n::1             localhost\n",
    ),
    (
        "private/etc/pf.conf",
        "scrub-anchor \"com.apple/*\"\nnat-anchor \"com.apple/*\"\nrdr-anchor \"com.apple/*\"\n\
         dummynet-anchor \"com.apple/*\"\nanchor \"com.apple/*\"\n\
         load anchor \"com.apple\" from \"/etc/pf.anchors/com.apple\"\n",
    ),
    ("private/etc/pf.anchors/com.apple", "anchor \"200.AirDrop/*\"\nanchor \"250.ApplicationFirewall/*\"\n"),
    ("private/etc/shells", "/bin/bash\n/bin/csh\n/bin/dash\n/bin/ksh\n/bin/sh\n/bin/tcsh\n/bin/zsh\n"),
    ("private/etc/zshrc", ""),
    ("System/Library/LaunchDaemons/ssh.plist", include_str!("launchd/ssh.plist")),
    ("System/Library/LaunchDaemons/com.apple.loginwindow.plist", include_str!("launchd/loginwindow.plist")),
];

/// Where the names of a Mac are kept.
pub(super) const NAMES: &str = "Library/Preferences/SystemConfiguration/preferences.plist";

/// The names that a new Mac has: what people read, and what its neighbours find it by. It has no host name of its own.
fn first_names() -> plist::Dictionary {
    let around = |key: &str, value: plist::Value| {
        let mut list = plist::Dictionary::new();
        list.insert(key.to_owned(), value);
        plist::Value::Dictionary(list)
    };
    let mut system = plist::Dictionary::new();
    system.insert("System".into(), around("ComputerName", "Mac mini".into()));
    system.insert("Network".into(), around("HostNames", around("LocalHostName", "Mac-mini".into())));
    let mut all = plist::Dictionary::new();
    all.insert("System".into(), plist::Value::Dictionary(system));
    all
}

/// A Mac's disk.
#[derive(Debug)]
pub(super) struct Disk {
    /// Everything of the Mac is in here.
    directory: PathBuf,
    /// What the latest installation left; none if there was none.
    installed: Option<Installation>,
    /// How often it was installed.
    installs: u32,
}

/// What an installation left that is no file of the Mac.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Installation {
    pub(super) os_name: String,
    pub(super) os_version: String,
    /// Who logs in.
    pub(super) user: String,
    pub(super) password: String,
    /// From which the host key is made.
    host_key_seed: [u8; 32],
    /// The owners and groups of files that do not have those of their directory.
    owners: BTreeMap<String, (u32, u32)>,
    /// How often legacy daemons were registered, by their labels.
    #[serde(default)]
    pub(super) background: BTreeMap<String, u32>,
}

/// The file with what is no file of the Mac.
#[derive(Serialize, Deserialize)]
struct Stored {
    installs: u32,
    installation: Installation,
}

impl Disk {
    /// What lies in a directory.
    pub(super) fn open(directory: &Path) -> io::Result<Disk> {
        fs::create_dir_all(directory)?;
        let directory = directory.canonicalize()?;
        let mut disk = Disk { directory, installed: None, installs: 0 };
        match fs::read(disk.record()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(stored) => {
                let Stored { installs, installation } = serde_json::from_slice(&stored)?;
                (disk.installs, disk.installed) = (installs, Some(installation));
            }
        }
        Ok(disk)
    }

    /// The Mac's root directory.
    pub(super) fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    fn record(&self) -> PathBuf {
        self.directory.join("installation.json")
    }

    pub(super) fn installed(&self) -> Option<&Installation> {
        self.installed.as_ref()
    }

    pub(super) fn installs(&self) -> u32 {
        self.installs
    }

    /// Erases everything and leaves what is on a new Mac.
    pub(super) fn install(&mut self, install: &Install) -> io::Result<()> {
        let root = self.root();
        self.installed = None;
        erase(&root)?;
        fs::create_dir(&root)?;
        for (path, mode) in DIRECTORIES {
            make_directory(&root.join(path), *mode)?;
        }
        for (path, target) in LINKS {
            symlink(target, root.join(path))?;
        }
        for (path, content) in FILES {
            make_file(&root.join(path), content, 0o644)?;
        }
        let home = home_of(&root, &install.user);
        for (path, mode) in [("", 0o755), (".ssh", 0o700), ("Library", 0o700), ("Library/Preferences", 0o700)]
        {
            make_directory(&home.join(path), mode)?;
        }
        plist::Value::Dictionary(first_names()).to_file_xml(root.join(NAMES)).map_err(io::Error::other)?;
        let sudoers = "root ALL = (ALL) ALL\n%admin ALL = (ALL) ALL\n#includedir /private/etc/sudoers.d\n";
        make_file(&root.join("private/etc/sudoers"), sudoers, 0o440)?;
        let mut host_key_seed = [0; 32];
        getrandom::fill(&mut host_key_seed).map_err(io::Error::other)?;
        let mut installation = Installation {
            os_name: install.os_name.clone(),
            os_version: install.os_version.clone(),
            user: install.user.clone(),
            password: install.password.clone(),
            host_key_seed,
            owners: BTreeMap::new(),
            background: BTreeMap::new(),
        };
        let public = installation.host_key().map_err(io::Error::other)?.public_key().to_openssh();
        let public = public.map_err(io::Error::other)?;
        make_file(&root.join("private/etc/ssh/ssh_host_ed25519_key.pub"), &format!("{public}\n"), 0o644)?;
        installation.own(&root, (0, WHEEL))?;
        installation.own(&root.join("Applications"), (0, ADMIN))?;
        installation.own(&home, (501, STAFF))?;
        self.installed = Some(installation);
        self.installs += 1;
        self.set_keys(&install.keys)?;
        self.store()
    }

    /// Writes down what is no file of the Mac.
    pub(super) fn store(&self) -> io::Result<()> {
        let Some(installation) = &self.installed else { return Ok(()) };
        let stored = Stored { installs: self.installs, installation: installation.clone() };
        let new = self.directory.join("installation.new");
        make_file(&new, &serde_json::to_string(&stored)?, 0o600)?;
        fs::rename(new, self.record())
    }

    /// The keys of the project, as the vendor's agent leaves them.
    pub(super) fn set_keys(&self, keys: &[String]) -> io::Result<()> {
        let Some(installation) = &self.installed else { return Ok(()) };
        let directory = home_of(&self.root(), &installation.user).join(".ssh");
        fs::create_dir_all(&directory)?;
        let lines: String = keys.iter().flat_map(|key| [key, "\n"]).collect();
        make_file(&directory.join("scw_authorized_keys"), &lines, 0o600)
    }

    /// Whether a key may log in, by the files as they are now.
    pub(super) fn lets_in(&self, user: &str, key: &PublicKey) -> bool {
        let (Some(installation), Ok(key)) = (&self.installed, key.to_openssh()) else { return false };
        let wanted: Vec<&str> = key.split_whitespace().take(2).collect();
        let directory = home_of(&self.root(), user).join(".ssh");
        let files = ["authorized_keys", "scw_authorized_keys"].map(|name| directory.join(name));
        // Options may stand before a key.
        let has = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            !line.trim_start().starts_with('#') && words.windows(2).any(|pair| pair == wanted)
        };
        user == installation.user
            && files.iter().any(|file| fs::read_to_string(file).is_ok_and(|text| text.lines().any(has)))
    }

    /// Who owns what is at a path, and its group. What nobody gave away has those of the directory around it.
    pub(super) fn owner(&self, path: &Path) -> (u32, u32) {
        let (Some(installation), root) = (&self.installed, self.root()) else { return (0, WHEEL) };
        let known = |path: &Path| installation.owners.get(&identity(path).ok()?).copied();
        if let Some(owner) = known(path) {
            return owner;
        }
        // The directories around it may be reached through links.
        let around = path.parent().and_then(|parent| parent.canonicalize().ok()).unwrap_or_default();
        let mut around = around.ancestors().take_while(|directory| directory.starts_with(&root));
        around.find_map(known).unwrap_or((0, WHEEL))
    }

    /// How often a legacy daemon was registered; nothing if nothing is installed.
    pub(super) fn registered(&mut self, label: &str) -> Option<&mut u32> {
        Some(self.installed.as_mut()?.background.entry(label.to_owned()).or_default())
    }

    /// Gives what is at a path to somebody, for as long as nobody [stores](Disk::store) it.
    pub(super) fn own(&mut self, path: &Path, owner: (u32, u32)) -> io::Result<()> {
        self.installed.as_mut().map_or(Ok(()), |installation| installation.own(path, owner))
    }
}

impl Installation {
    pub(super) fn host_key(&self) -> Result<PrivateKey, russh::keys::ssh_key::Error> {
        let pair = Ed25519Keypair::from_seed(&self.host_key_seed);
        PrivateKey::new(KeypairData::Ed25519(pair), "")
    }

    fn own(&mut self, path: &Path, owner: (u32, u32)) -> io::Result<()> {
        self.owners.insert(identity(path)?, owner);
        Ok(())
    }
}

/// The home directory of a user.
pub(super) fn home_of(root: &Path, user: &str) -> PathBuf {
    if user == "root" { root.join("private/var/root") } else { root.join("Users").join(user) }
}

/// What stays the same when a file is renamed, and is another when one is made anew.
pub(super) fn identity(path: &Path) -> io::Result<String> {
    let found = fs::symlink_metadata(path)?;
    let made = found.created().unwrap_or(SystemTime::UNIX_EPOCH);
    let made = made.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(format!("{}-{}", found.ino(), made.as_nanos()))
}

/// Removes all that is there, also where nobody may write.
fn erase(root: &Path) -> io::Result<()> {
    match fs::remove_dir_all(root) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(root)?;
            fs::remove_dir_all(root)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn open_up(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn make_file(path: &Path, content: &str, mode: u32) -> io::Result<()> {
    fs::write(path, content)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
