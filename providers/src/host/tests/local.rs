//! The same laws through the real transport, on this machine, with a directory that stands for `/`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use fleet_engine::attributes::Attributes;
use fleet_engine::diff::get;
use fleet_engine::host::reach::Over;
use fleet_engine::host::step::Claim;
use fleet_engine::host::{
    Act, Holder, HostData, HostKind, HostReader, HostWriter, Hosts, Probe, Reach, Reply, Step, Work,
};
use fleet_engine::resource::{At, Change, Error};
use fleet_transport::{Channels, Options};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{World, cases, changed, converge, see};
use crate::host::common::sha256;
use crate::host::{facts, reboot, slot};

const SLOT: &str = "fleet.here[0]";
const LINEAGE: &str = "our-lineage";
const LEDGER: &str = "/ledgers/ledger";

struct Local {
    directory: TempDir,
    runtime: Runtime,
    channels: Channels,
    reader: Arc<dyn HostReader>,
    writer: Arc<dyn HostWriter>,
}

impl Local {
    /// A host that is ours.
    fn new() -> Local {
        let local = Local::free();
        let claim = Claim { ledger: LEDGER.into(), slot: SLOT.into(), mark: None };
        local.work(vec![Step::new(Act::Claim(claim))]).unwrap();
        local
    }

    /// A host that is nobody's.
    fn free() -> Local {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("host/etc")).unwrap();
        let reach = Reach {
            slot: SLOT.into(),
            over: Over::Local,
            root: directory.path().join("host").to_str().unwrap().into(),
            ledger: LEDGER.into(),
            lineage: Some(LINEAGE.into()),
            sudo_password: None,
            confirm_within: fleet_engine::host::reach::CONFIRM_WITHIN,
        };
        let holder = Holder { lineage: LINEAGE.into(), fence: 1, by: "me@here".into() };
        let channels = Channels::new(&Options::default());
        let (reader, writer) = (channels.reader(&reach), channels.writer(&reach, &holder));
        Local { directory, runtime: Runtime::new().unwrap(), channels, reader, writer }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join("host").join(path.trim_start_matches('/'))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.runtime.block_on(self.channels.close());
    }
}

impl World for Local {
    fn ask(&self, probe: &Probe) -> Result<Reply, Error> {
        self.runtime.block_on(async { self.reader.ask(vec![probe.clone()]).await.remove(0) })
    }

    fn work(&self, steps: Vec<Step>) -> Result<(), Error> {
        let work = Work { steps, ..Work::default() };
        self.runtime.block_on(self.writer.work(work)).map(|_| ())
    }

    fn put(&self, path: &str, content: &[u8]) {
        fs::write(self.at(path), content).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        symlink(target, self.at(path)).unwrap();
    }

    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), Permissions::from_mode(mode)).unwrap();
    }

    fn owner(&self, _: &str, _: &str, _: &str) -> bool {
        false
    }

    fn delete(&self, path: &str) {
        let at = self.at(path);
        if at.is_dir() { fs::remove_dir_all(at).unwrap() } else { fs::remove_file(at).unwrap() }
    }

    fn real(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().into()
    }

    fn content(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.at(path)).ok()
    }

    fn everything(&self) -> String {
        let mut all = Vec::new();
        list(&self.at("/etc"), &mut all);
        all.sort();
        all.join("\n")
    }

    fn local(&self, name: &str, content: &[u8]) -> String {
        let path = self.directory.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().into()
    }

    fn archive(&self, name: &str, files: &[(&str, &str)]) -> (String, String) {
        let contents = self.directory.path().join(format!("{name}.d"));
        for (name, content) in files {
            let path = contents.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let path = self.directory.path().join(name);
        let tar = Command::new("tar").arg("-czf").arg(&path).arg("-C").arg(&contents).arg("top").status();
        assert!(tar.unwrap().success());
        let digest = sha256(&fs::read(&path).unwrap());
        (path.to_str().unwrap().into(), digest)
    }
}

fn list(directory: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode();
        let content = match metadata.file_type() {
            it if it.is_dir() => String::new(),
            it if it.is_symlink() => format!("{:?}", fs::read_link(&path).unwrap()),
            _ => format!("{:?}", fs::read(&path).unwrap()),
        };
        all.push(format!("{} {mode:o} {content}", path.display()));
        if metadata.is_dir() {
            list(&path, all);
        }
    }
}

#[test]
fn files() {
    cases::files(&Local::new());
}

#[test]
fn binaries() {
    cases::binaries(&Local::new());
}

#[test]
fn directories() {
    cases::directories(&Local::new());
}

#[test]
fn links() {
    cases::links(&Local::new());
}

#[test]
fn blocks() {
    cases::shared_files(&Local::new());
}

#[test]
fn lines() {
    cases::lines(&Local::new());
}

#[test]
fn archives() {
    cases::archives(&Local::new());
}

#[test]
fn commands() {
    cases::commands(&Local::new());
}

#[test]
fn machines_are_taken_and_given_back() {
    let world = Local::free();
    let wish = slot::at(SLOT, "here", LEDGER, LINEAGE);
    let record = converge(&world, &wish, &At::Declared(wish.clone())).unwrap();
    assert_eq!(changed(&record, &wish), [""; 0]);
    for _ in 0..2 {
        world.work(slot::StaticHost::remove(record.clone()).unwrap()).unwrap();
        assert_eq!(see(&world, &At::Recorded(record.clone())).unwrap(), None);
    }
}

#[test]
fn facts_are_those_of_this_machine() {
    let world = Local::new();
    let facts = facts::Facts::default();
    let value = facts.clone().parse(&world.ask(&facts.probe().unwrap()).unwrap()).unwrap().to_value();
    let fact = |name: &str| get(&value, name).as_str().map(str::to_owned);
    let os = std::env::consts::OS;
    assert_eq!(fact("os").as_deref(), Some(os));
    for name in ["hostname", "kernel", "arch", "user"] {
        assert!(fact(name).is_some_and(|it| !it.is_empty()), "{name}");
    }
    assert_eq!((fact("address"), fact("host_key")), (None, None));
}

/// Nothing is started anew here: a host that says which boot it is in is seen, and not asked for more.
#[test]
fn the_boot_of_a_host_is_seen() {
    let world = Local::new();
    fs::create_dir_all(world.at("/proc/sys/kernel/random")).unwrap();
    world.put("/proc/sys/kernel/random/boot_id", b"boot-1\n");
    let wish = reboot::sample(false);
    let found = see(&world, &At::Declared(wish.clone())).unwrap().unwrap();
    assert_eq!(found.boot_id(), Some("boot-1"));
    assert_eq!(
        fleet_engine::host::HostKind::steps(reboot::Reboot::nothing(), Change::Update { from: found })
            .unwrap(),
        []
    );
}
