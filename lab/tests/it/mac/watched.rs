//! What the lab counts on a Mac, and lets happen at the right moment.

use std::process::Stdio;

use fleet_lab::machine::Machine;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_cut_at_a_call() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let before = mac.calls();
    mac.at_call(2, fleet_lab::mac::Mac::cut_connections);
    let ran = world.run(&mac, "hostname; echo one; hostname; echo two").await;
    assert_eq!(ran.status, Some(255), "{ran:?}");
    assert!(ran.out.contains("one\n"), "{ran:?}");
    assert!(mac.calls() >= before + 2);
    // It happens once.
    assert_eq!(world.run(&mac, "hostname >&2; hostname >&2; echo in").await.out, "in\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_are_what_is_sent_after_an_answer() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    assert_eq!(world.run(&mac, "echo nothing was sent").await.status, Some(0));
    assert_eq!(mac.inspect().await["turns_over_ssh"], 0);
    let mut ssh = world.ssh(&mac).arg("cat").stdin(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (ssh.stdin.take().unwrap(), ssh.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines();
    for line in ["one", "two", "three"] {
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some(line));
    }
    drop(input);
    ssh.wait().await.unwrap();
    assert_eq!(mac.inspect().await["turns_over_ssh"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_does_can_be_let_happen_from_within() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    assert_eq!(world.run(&mac, "lab-disturb dhcp-name dhcp-7 && hostname").await.out, "dhcp-7\n");
    let wrong = world.run(&mac, "lab-disturb rain").await;
    let known = "`backlog`, `hang-up`, `dhcp-name NAME`, `lose-lease VLAN` or `wrong-passwords COUNT`";
    assert_eq!(wrong.err, format!("lab-disturb: {known} is needed\n"));
}
