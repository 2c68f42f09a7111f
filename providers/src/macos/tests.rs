//! What holds for all kinds here.

use std::io::Write;
use std::process::{Command, Stdio};

use fleet_engine::host::Tool;

/// Every procedure, by its name. Whoever adds one adds it here.
const PROCEDURES: &[(&str, &str)] = &[
    ("apfs_volume", include_str!("apfs_volume.sh")),
    ("auto_login", include_str!("auto_login.sh")),
    ("auto_login_before", concat!(include_str!("before.sh"), include_str!("auto_login_before.sh"))),
    ("defaults", concat!(include_str!("before.sh"), include_str!("defaults.sh"))),
    ("defaults_of_host", include_str!("defaults_of_host.sh")),
    ("hostname", concat!(include_str!("before.sh"), include_str!("hostname.sh"))),
    ("hostname_before", concat!(include_str!("before.sh"), include_str!("hostname_before.sh"))),
    ("local_network", include_str!("local_network.sh")),
    ("local_network_before", concat!(include_str!("before.sh"), include_str!("local_network_before.sh"))),
    ("resolver", include_str!("resolver.sh")),
    ("settings", concat!(include_str!("before.sh"), include_str!("setting.sh"), include_str!("settings.sh"))),
    (
        "settings_before",
        concat!(include_str!("before.sh"), include_str!("setting.sh"), include_str!("settings_before.sh")),
    ),
    ("vlan", include_str!("vlan.sh")),
    ("launchd_service", include_str!("launchd_service.sh")),
    ("launchd_service_remove", include_str!("launchd_service_remove.sh")),
    ("node_exporter", include_str!("node_exporter.sh")),
    ("node_exporter_wait", include_str!("node_exporter_wait.sh")),
    ("place_make", concat!(include_str!("before.sh"), include_str!("place_make.sh"))),
    ("place_leave", concat!(include_str!("before.sh"), include_str!("place_leave.sh"))),
    ("pf_apply", include_str!("pf_apply.sh")),
    ("pf_arm", include_str!("pf_arm.sh")),
    ("pf_guard", include_str!("pf_guard.sh")),
    ("pf_keep", concat!("K=k\n", include_str!("pf_in_force.sh"), include_str!("pf_keep.sh"))),
    ("pf_remove", include_str!("pf_remove.sh")),
    ("pf_undo", concat!("K=k\n", include_str!("pf_in_force.sh"), include_str!("pf_undo.sh"))),
    ("brew", include_str!("brew.sh")),
    ("brew_bring", include_str!("brew_bring.sh")),
    ("signed_binary", include_str!("signed_binary.sh")),
    ("tart", concat!(include_str!("tart_vms.sh"), include_str!("tart.sh"))),
    ("tart_remove", concat!(include_str!("tart_vms.sh"), include_str!("tart_remove.sh"))),
    ("xcode", concat!(include_str!("before.sh"), include_str!("xcode.sh"))),
    ("xcode_before", concat!(include_str!("before.sh"), include_str!("xcode_before.sh"))),
    (
        "vm_nat",
        concat!("vms=a\nservice=b\nprivate=c\n", include_str!("vm_nat.sh"), include_str!("pf_arm.sh")),
    ),
];

#[test]
fn every_procedure_passes_shellcheck() {
    let tools = [Tool::ServiceProcess, Tool::Listeners].map(|tool| ("a tool", tool.script().unwrap()));
    for (name, script) in PROCEDURES.iter().chain(&tools) {
        let mut child = Command::new("shellcheck")
            .args(["-s", "sh", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
