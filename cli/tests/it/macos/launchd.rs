//! Services and signed binaries on a Mac.

use std::fs;

use fleet_lab::clock::Pace;
use fleet_lab::mac::sign;
use fleet_lab::machine::Machine as _;
use regex::Regex;

use super::Minis;
use crate::laws::rows::{OURS, WHERE, check_complete};

const LIST: &str = "/Library/LaunchDaemons/dev.example.agent.plist";
const AGENT: &str = "/usr/local/bin/agent";
const SERVICE: &str = "macos_launchd_service.agent";
const BINARY: &str = "macos_signed_binary.agent";

/// All fields of a service, in the order of the property list.
const FIELDS: &str = "label             = \"dev.example.agent\"
    user              = \"m1\"
    program_arguments = [macos_signed_binary.agent.path, \"--name=a & b\"]
    environment       = { HOME = \"/Users/m1\" }
    working_directory = \"/Users/m1\"
    stdout_path       = \"/var/log/agent.log\"
    stderr_path       = \"/var/log/agent.err\"
    run_at_load       = true
    keep_alive        = true
    start_interval    = 3600
    throttle_interval = 12
    health_url        = \"http://127.0.0.1:8081/healthz\"
    soak              = 3
    timeout           = 30
    restart_on        = [macos_signed_binary.agent.cdhash]
";

fn blocks(fields: &str) -> String {
    format!(
        "  resource \"macos_signed_binary\" \"agent\" {{
    path          = \"{AGENT}\"
    source        = \"build/agent\"
    source_sha256 = filesha256(\"build/agent\")
  }}

  resource \"macos_launchd_service\" \"agent\" {{
    {fields}  }}
"
    )
}

fn build(minis: &Minis, lines: &str) {
    minis.site.write("build/agent", "");
    let program = sign(format!("#!lab-program\n{lines}").as_bytes(), "a.out");
    fs::write(minis.site.path().join("build/agent"), program).unwrap();
}

/// A Mac with a service on it.
fn applied(fields: &str) -> Minis {
    let minis = Minis::free();
    build(&minis, "version=1\nlistens=8081");
    minis.configure(&blocks(fields));
    minis.apply();
    minis.check_converged("applied");
    minis
}

fn pid(minis: &Minis) -> String {
    let told = minis.as_root("launchctl print system/dev.example.agent").ok();
    Regex::new(r"\tpid = (\d+)").unwrap().captures(&told).unwrap_or_else(|| panic!("{told}"))[1].to_owned()
}

#[test]
fn a_destroyed_service_leaves_the_mac_as_it_was() {
    let minis = Minis::free();
    fs::create_dir_all(minis.path("/usr/local/bin")).unwrap();
    // What a program writes stays.
    minis.put("/var/log/agent.log", "", 0o644);
    minis.put("/var/log/agent.err", "", 0o644);
    build(&minis, "version=1\nlistens=8081");
    let before = minis.snapshot();
    minis.configure(&blocks(FIELDS));
    minis.apply();
    assert!(minis.read("/var/log/agent.log").contains("agent 1: started\n"));
    minis.put("/var/log/agent.log", "", 0o644);
    minis.check_converged("applied");
    minis.destroy();
    minis.check_same(&before, "destroyed");
}

#[test]
fn each_field_that_changes_behind_our_back_is_planned_alone() {
    let minis = applied(FIELDS);
    let edits = [
        ("user", "<string>m1</string>", "<string>nobody</string>"),
        ("program_arguments", "--name=a &amp; b", "--name=c"),
        ("environment", "<key>HOME</key>", "<key>HOME2</key>"),
        (
            "working_directory",
            "<key>WorkingDirectory</key>\n\t<string>/Users/m1<",
            "<key>WorkingDirectory</key>\n\t<string>/Users<",
        ),
        ("stdout_path", "agent.log", "agent.out"),
        ("stderr_path", "agent.err", "agent.log2"),
        ("run_at_load", "<key>RunAtLoad</key>\n\t<true/>", "<key>RunAtLoad</key>\n\t<false/>"),
        ("keep_alive", "<key>KeepAlive</key>\n\t<true/>", "<key>KeepAlive</key>\n\t<false/>"),
        ("start_interval", "<integer>3600</integer>", "<integer>60</integer>"),
        ("throttle_interval", "<integer>12</integer>", "<integer>10</integer>"),
        (
            "trouble",
            "<key>KeepAlive</key>",
            "<key>Nice</key>\n\t<integer>5</integer>\n\t<key>KeepAlive</key>",
        ),
    ];
    let rows: Vec<String> = edits.iter().map(|(field, ..)| format!("update {field}")).collect();
    check_complete(
        "macos_launchd_service",
        rows.iter().map(String::as_str),
        &[(&["label", "domain"], WHERE), (&["health_url", "soak", "timeout", "restart_on"], OURS)],
    );
    for (field, from, to) in edits {
        let text = minis.read(LIST);
        assert!(text.contains(from), "{field}: {text}");
        fs::write(minis.path(LIST), text.replace(from, to)).unwrap();
        minis.as_root(&format!(
            "launchctl bootout system/dev.example.agent; sleep 3; launchctl bootstrap system {LIST}"
        ));
        let verb = if field == "user" { "replace" } else { "update" };
        minis.check_plan(&[(SERVICE, &format!("{verb} {field}"))]);
        minis.apply();
        minis.check_converged(field);
    }
    for (change, what) in [
        (format!("chmod 666 {LIST}"), "trouble"),
        (format!("chown m1 {LIST}"), "trouble"),
        ("launchctl bootout system/dev.example.agent; sleep 3".to_owned(), "trouble"),
        ("launchctl disable system/dev.example.agent".to_owned(), "trouble"),
    ] {
        let change = change.replace(LIST, &minis.path(LIST).display().to_string());
        minis.as_root(&change).ok();
        minis.check_plan(&[(SERVICE, &format!("update {what}"))]);
        minis.apply();
        minis.check_converged(&change);
    }
}

#[test]
fn a_change_of_what_is_only_checked_restarts_nothing() {
    let minis = applied(FIELDS);
    let before = pid(&minis);
    minis.configure(&blocks(
        &FIELDS.replace("soak              = 3", "soak              = 4").replace("/healthz", "/"),
    ));
    minis.check_plan(&[(SERVICE, "update health_url soak")]);
    minis.apply();
    minis.check_converged("checked");
    assert_eq!(pid(&minis), before);
    // A change of the property list starts another process.
    minis.configure(&blocks(&FIELDS.replace("--name=a & b", "--name=<c>")));
    minis.apply();
    minis.check_converged("changed");
    assert_ne!(pid(&minis), before);
    assert!(minis.read(LIST).contains("--name=&lt;c&gt;"));
}

#[test]
fn a_new_program_restarts_its_service_in_the_same_apply() {
    let minis = applied(FIELDS);
    let before = (pid(&minis), minis.inspect()["installation"]["background_items"].clone());
    build(&minis, "version=2\nlistens=8081");
    let planned = minis.plan();
    assert!(planned.contains("source_sha256") && planned.contains("restart_on"), "{planned}");
    minis.apply();
    minis.check_converged("a new program");
    assert_ne!(pid(&minis), before.0);
    assert_eq!(minis.inspect()["installation"]["background_items"], before.1, "it was registered again");
    assert!(minis.read("/var/log/agent.log").ends_with("agent 2: started\n"));
}

#[test]
fn each_field_of_a_binary_that_changes_behind_our_back_is_planned_alone() {
    let minis = applied(FIELDS);
    let place = minis.path(AGENT).display().to_string();
    // What it holds is changed below.
    let rows = ["update mode", "update owner", "update group", "update source_sha256 trouble"];
    check_complete("macos_signed_binary", rows, &[(&["path"], WHERE), (&["source"], OURS)]);
    for (change, field) in [
        (format!("chmod 700 {place}"), "mode"),
        (format!("chown m1 {place}"), "owner"),
        (format!("chgrp staff {place}"), "group"),
    ] {
        minis.as_root(&change).ok();
        minis.check_plan(&[(BINARY, &format!("update {field}"))]);
        minis.apply();
        minis.check_converged(field);
    }
    // Signed by somebody else: the same program, and another file.
    minis.as_root(&format!("codesign --force --sign - --identifier other {place}")).ok();
    assert_eq!(minis.steps()[&format!("fleet.desk[0].{BINARY}")], "update source_sha256");
    minis.apply();
    minis.check_converged("signed anew");
    minis.as_root(&format!("printf x >>{place}")).ok();
    assert_eq!(minis.steps()[&format!("fleet.desk[0].{BINARY}")], "update source_sha256 trouble");
    minis.apply();
    minis.check_converged("sound again");
    fs::remove_file(minis.path("/usr/local/bin/.agent.fleet-signed")).unwrap();
    assert_eq!(minis.steps()[&format!("fleet.desk[0].{BINARY}")], "update source_sha256");
    minis.apply();
    minis.check_converged("noted anew");
}

#[test]
fn a_service_that_does_its_work_and_ends() {
    let minis = Minis::free();
    let service = |words: &str| {
        format!(
            "  resource \"macos_launchd_service\" \"once\" {{
    label             = \"dev.example.once\"
    program_arguments = {words}
    keep_alive        = false
    timeout           = 10
  }}
"
        )
    };
    minis.configure(&service("[\"/usr/sbin/sysctl\", \"net.inet.ip.forwarding=1\"]"));
    minis.apply();
    minis.check_converged("once");
    assert_eq!(minis.by_hand("sysctl -n net.inet.ip.forwarding").ok(), "1\n");
    minis.configure(&service("[\"/usr/sbin/sysctl\", \"no.such\"]"));
    let failed = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(
        failed.contains("it does not run: launchd says: state = not running, last exit code = 1"),
        "{failed}"
    );
    let planned = minis.plan();
    assert!(planned.contains("it failed when it ran last (last exit code = 1)"), "{planned}");
}

#[test]
fn a_health_url_that_does_not_answer_is_told() {
    let minis = applied(FIELDS);
    build(&minis, "version=2\nlistens=8081\nhealth=503 no");
    let failed = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(
        failed.contains("it runs, but http://127.0.0.1:8081/healthz does not answer well: curl: (22)"),
        "{failed}"
    );
    let planned = minis.plan();
    assert!(planned.contains("its health URL does not answer well: curl: (22)"), "{planned}");
    build(&minis, "version=3\nlistens=8081");
    minis.apply();
    minis.check_converged("healthy");
}

#[test]
fn an_agent_runs_in_the_session_at_the_screen() {
    let minis = Minis::free();
    build(&minis, "version=1");
    let fields = "label             = \"dev.example.agent\"
    domain            = \"gui/501\"
    user              = \"m1\"
    program_arguments = [macos_signed_binary.agent.path]
    timeout           = 5
";
    minis.configure(&blocks(fields));
    let failed = minis.fleet(&["apply", "--auto-approve"]).failed();
    assert!(failed.contains("there is no Aqua session for an agent (Bootstrap failed: 125"), "{failed}");
    minis.wait(async { minis.macs[0].begin_session(501) });
    minis.apply();
    minis.check_converged("an agent");
    let told = minis
        .by_hand(
            "launchctl list; stat -f '%Su:%Sg %Lp' /Users/m1/Library/LaunchAgents/dev.example.agent.plist",
        )
        .ok();
    assert!(told.contains("dev.example.agent") && told.ends_with("m1:staff 644\n"), "{told}");
    minis.macs[0].end_session();
    let planned = minis.plan();
    assert!(planned.contains("launchd has no domain gui/501: there is no Aqua session"), "{planned}");
    // Whoever logs in again finds it running.
    minis.wait(async { minis.macs[0].begin_session(501) });
    minis.check_converged("logged in again");
}

#[test]
fn a_plan_asks_once_and_changes_nothing() {
    let minis = applied(FIELDS);
    let before = (minis.snapshot(), minis.inspect()["commands_over_ssh"].as_u64().unwrap());
    minis.check_converged("again");
    let asked = minis.inspect()["commands_over_ssh"].as_u64().unwrap() - before.1;
    // One shell as the user and one as root, for all questions.
    assert_eq!(asked, 2);
    minis.check_same(&before.0, "planned");
}

#[test]
fn a_service_is_there_after_a_reboot() {
    let minis = applied(FIELDS);
    let before = minis.live()["boot_id"].clone();
    // A Mac that is off waits for no sleeper.
    minis.clock.set_pace(Pace::Times(500.0));
    minis.as_root("shutdown -r now").ok();
    while minis.live()["boot_id"] == before || !minis.macs[0].is_up() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    minis.clock.set_pace(Pace::Skipping);
    minis.check_converged("after a reboot");
}
