//! Fleet's own connections to Macs, which know themselves where their paths lie.

use std::sync::Arc;
use std::time::Duration;

use fleet_engine::host::probe::What;
use fleet_engine::host::reach::{CONFIRM_WITHIN, Over, Secret, Ssh};
use fleet_engine::host::step::{Claim, Content, Keep};
use fleet_engine::host::{
    Act, Bytes, Content as Wanted, Holder, HostWriter, Hosts, Probe, Reach, Step, Work,
};
use fleet_engine::resource::Error;
use fleet_lab::mac::Mac;
use fleet_lab::machine::Machine;
use fleet_transport::{Channels, Options};

use super::world::{PASSWORD, World};

const LEDGER: &str = "/var/tmp/fleet/ledger";
const SLOT: &str = "fleet.desk[0]";

fn reach(world: &World, mac: &Mac, password: Option<&str>) -> Reach {
    let ssh = Ssh {
        addresses: vec!["127.0.0.1".into()],
        port: Some(mac.ssh_port()),
        user: Some("m1".into()),
        identity: Some(Secret(std::fs::read_to_string(world.identity()).unwrap())),
        host_key: None,
        config: Some("/dev/null".into()),
        jump: None,
    };
    Reach {
        slot: SLOT.into(),
        over: Over::Ssh(ssh),
        root: String::new(),
        ledger: LEDGER.into(),
        lineage: Some("state-1".into()),
        sudo_password: password.map(|password| Secret(password.into())),
        confirm_within: CONFIRM_WITHIN,
    }
}

async fn writer(channels: &Channels, reach: &Reach) -> Arc<dyn HostWriter> {
    let holder = Holder { lineage: "state-1".into(), fence: 1, by: "somebody@somewhere".into() };
    let writer = channels.writer(reach, &holder);
    let claim = Act::Claim(Claim { ledger: LEDGER.into(), slot: SLOT.into(), mark: None });
    writer.work(work(vec![Step::new(claim)])).await.unwrap();
    writer
}

fn work(steps: Vec<Step>) -> Work {
    Work { steps, ..Work::default() }
}

fn write(path: &str, content: Vec<u8>, keep: Keep) -> Step {
    Step::new(Act::Write { path: path.into(), content: Content::Bytes(Bytes(content)), keep, validate: None })
}

/// Bytes that do not get smaller, for an upload of its own.
fn long() -> Vec<u8> {
    (0..300_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

/// Writes as both, short and long, and looks at it.
async fn write_and_look(world: &World, mac: &Mac, password: Option<&str>) {
    let channels = Channels::new(&Options::default());
    let reach = reach(world, mac, password);
    let writer = writer(&channels, &reach).await;
    let root = Keep { mode: Some(0o640), owner: Some("root".into()), group: Some("wheel".into()) };
    let steps = vec![
        write("/Users/m1/short", b"short".to_vec(), Keep::default()),
        write("/Users/m1/long", long(), Keep::default()),
        write("/etc/short", b"short".to_vec(), root.clone()).as_root(),
        write("/etc/long", long(), root).as_root(),
    ];
    let read_back = Probe::new().content("/etc/long", Wanted::Whole).as_root();
    let reply = writer.work(Work { read_back, ..work(steps) }).await.unwrap();
    let found = reply.path(0).unwrap().unwrap();
    let What::File(file) = &found.what else { panic!("{found:?}") };
    assert!(file.content.as_deref() == Some(&long()[..]));
    assert_eq!((found.mode, &*found.owner, &*found.group), (0o640, "root", "wheel"));
    for name in ["Users/m1/short", "Users/m1/long", "etc/short", "etc/long"] {
        let content = std::fs::read(mac.root().join(name)).unwrap();
        assert!(content == long() || content == b"short", "{name}");
    }
    assert_eq!(channels.reader(&reach).root(), mac.root().to_str().unwrap());
    channels.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mac_says_itself_where_its_paths_lie() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    write_and_look(&world, &mac, None).await;
    assert_eq!(mac.inspect().await["logins"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn root_by_the_password_finds_the_same_paths() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    write_and_look(&world, &mac, Some(PASSWORD)).await;
    assert!(!std::path::Path::new("/etc/short").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_told() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let channels = Channels::new(&Options::default());
    let writer = writer(&channels, &reach(&world, &mac, Some("wrong"))).await;
    let step = || write("/etc/x", Vec::new(), Keep::default()).as_root();
    for _ in 0..2 {
        let error: Error = writer.work(work(vec![step()])).await.unwrap_err();
        assert!(error.message.contains("`sudo` refused to become root"), "{error:?}");
    }
    channels.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_in_the_middle_of_a_step_is_told_and_mended() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let channels = Channels::new(&Options::default());
    let writer = writer(&channels, &reach(&world, &mac, None)).await;
    let script = ": >\"$FLEET_ROOT/tmp/started\"; sleep 3";
    let step = writer.work(work(vec![Step::new(Act::UserScript { script: Bytes(script.into()) })]));
    let cut = async {
        while !mac.root().join("tmp/started").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        mac.cut_connections();
    };
    let (step, ()) = tokio::join!(step, cut);
    let error = step.unwrap_err();
    assert!(error.transient && error.message.contains("not known"), "{error:?}");
    writer.work(work(vec![write("/etc/after", Vec::new(), Keep::default()).as_root()])).await.unwrap();
    assert!(mac.root().join("etc/after").exists());
    assert_eq!(mac.inspect().await["logins"], 2);
    channels.close().await;
}

/// The open files of this process that a program which it starts would have, too.
#[cfg(target_os = "linux")]
fn handed_on() -> std::collections::BTreeSet<String> {
    let is_handed_on = |number: &String| {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or("02000000").trim();
        u32::from_str_radix(flags, 8).unwrap() & 0o2_000_000 == 0
    };
    let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).filter(is_handed_on).collect()
}

/// Otherwise whoever reads what a command says waits for the end of a program that was started meanwhile.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn the_streams_of_a_command_are_handed_on_to_nobody() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let before = handed_on();
    let n_calls = async || mac.inspect().await["simulated_commands"].as_u64().unwrap();
    let earlier = n_calls().await;
    // It waits for its input, which nobody ends.
    let mut ssh = world.ssh(&mac);
    let waiting = ssh.arg("base64").stdin(std::process::Stdio::piped()).spawn().unwrap();
    while n_calls().await == earlier {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(handed_on(), before);
    drop(waiting);
}
