//! What holds for all procedures here.

use std::io::Write;
use std::process::{Command, Stdio};

use fleet_engine::host::Tool;

/// Every procedure, by its name. Whoever adds one adds it here.
const PROCEDURES: &[(&str, &str)] = &[
    ("device_clear", include_str!("device_clear.sh")),
    ("device_guard", include_str!("device_guard.sh")),
    ("device_install", include_str!("device_install.sh")),
    ("device_join", include_str!("device_join.sh")),
    ("device_leave", include_str!("device_leave.sh")),
];

#[test]
fn every_procedure_passes_shellcheck() {
    let tools = [Tool::TailscaleStatus, Tool::TailscaleAddress];
    let tools = tools.map(|tool| ("a tool", tool.script().unwrap()));
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
