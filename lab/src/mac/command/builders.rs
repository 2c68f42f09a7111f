//! What Macs that build are told: `tart`, `brew`, `xcode-select`, `xcodebuild`, `xcrun`; and the agent of GitHub Actions,
//! whose programs lie in its archive and come here as `lab-runner` and `lab-svc`. `lab-job` is a job on it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;

use serde_json::json;

use super::directory::ended;
use super::{Call, Done, Failure, Outcome, reason};
use crate::mac::builders::brew::Homebrew;
use crate::mac::builders::runner::{Agent, Complaint};
use crate::mac::builders::tart::{Tart, Unable, vms_of};
use crate::mac::builders::xcode;
use crate::mac::launchd::domain::{self, INPUT_OUTPUT};

fn said(text: impl Into<String>, status: u8) -> Failure {
    Failure { text: text.into(), status }
}

pub(super) fn tart(call: &mut Call) -> Outcome {
    let unable = |Unable(text, status): Unable| said(text, status);
    let tart = Tart::find(&call.mac).map_err(unable)?;
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--version"] => call.say(format!("{}\n", tart.version)),
        ["list"] => list_vms(call, false),
        ["list", "--format", "json"] => list_vms(call, true),
        ["run", ref options @ .., name] | ["run", name, ref options @ ..]
            if options.iter().all(|option| option.starts_with("--")) =>
        {
            tart.run(&call.mac, &call.user, name).map_err(unable)?;
            // It stays for as long as nobody ends it; the VM does so in any case.
            let words = ["tail", "-f", "/dev/null"].map(Into::into).into();
            Ok(Done::Exec { environment: Vec::new(), words })
        }
        ["stop", name] => {
            let stopped = call.mac.live().as_mut().and_then(|live| live.vms.remove(name));
            if stopped.is_some() { ended(0) } else { Err(said(format!("VM \"{name}\" is not running"), 2)) }
        }
        _ => Err(said("OVERVIEW: macOS and Linux VMs on Apple Silicon\n\nUSAGE: tart <subcommand>", 64)),
    }
}

fn list_vms(call: &mut Call, as_json: bool) -> Outcome {
    let names = vms_of(&call.mac, &call.user);
    let running: Vec<String> = call.mac.live().iter().flat_map(|live| live.vms.keys().cloned()).collect();
    let state = |name: &String| if running.contains(name) { "running" } else { "stopped" };
    if as_json {
        let all: Vec<_> = names
            .iter()
            .map(
                |name| json!({"Name": name, "Source": "local", "State": state(name), "Size": 20, "Disk": 50}),
            )
            .collect();
        return call.say(format!("{:#}\n", serde_json::Value::from(all)));
    }
    let lines: String = names.iter().map(|name| format!("local {name} 50 20 {}\n", state(name))).collect();
    call.say(format!("Source Name Disk Size State\n{lines}"))
}

pub(super) fn brew(call: &mut Call) -> Outcome {
    let Some(brew) = Homebrew::find(&call.mac) else { return Err(said("command not found: brew", 127)) };
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--version"] => return call.say("Homebrew 4.6.20\n"),
        ["--prefix"] => return call.say("/opt/homebrew\n"),
        _ => {}
    }
    if call.is_root() {
        return Err(said(
            "Error: Running Homebrew as root is extremely dangerous and no longer supported.",
            1,
        ));
    }
    let read_only = matches!(words[..], ["list", ..] | ["tap"]);
    let (owner, _) = call.mac.disk().owner(brew.prefix());
    if !read_only && owner != call.uid() {
        let text = "Error: The following directories are not writable by your user:\n/opt/homebrew";
        return Err(said(text, 1));
    }
    let failed = |error: std::io::Error| said(format!("Error: {}", reason(&error)), 1);
    let keg = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let lacks = |name: &str| said(format!("Error: No such keg: /opt/homebrew/Cellar/{}", keg(name)), 1);
    match words[..] {
        ["tap"] => call.say(lines(brew.taps())),
        ["tap", tap] => {
            brew.tap(tap).map_err(failed)?;
            call.say(format!("==> Tapping {tap}\n"))
        }
        ["untap", tap] | ["untap", "--force", tap] => {
            if !brew.taps().iter().any(|known| known == tap) {
                return Err(said(format!("Error: No available tap {tap}."), 1));
            }
            let used = brew.installed_from(tap);
            if !used.is_empty() && words.len() == 2 {
                let text = "because it contains the following installed formulae or casks:";
                return Err(said(format!("Error: Refusing to untap {tap} {text}\n{}", used.join("\n")), 1));
            }
            brew.untap(tap).map_err(failed).and_then(|()| ended(0))
        }
        ["list", "--pinned"] => call.say(lines(brew.pinned())),
        ["list", "--versions"] => {
            let all = brew.installed().into_iter();
            call.say(lines(all.map(|name| format!("{name} {}", brew.versions(&name).join(" ")))))
        }
        ["list", "--versions", ref names @ ..] => {
            let found = names.iter().map(|name| (keg(name), brew.versions(&keg(name))));
            let found: Vec<_> = found.filter(|(_, versions)| !versions.is_empty()).collect();
            let status = u8::from(found.len() < names.len());
            call.print(lines(found.into_iter().map(|(name, all)| format!("{name} {}", all.join(" ")))))?;
            ended(status)
        }
        ["list"] => call.say(lines(brew.installed())),
        ["install", ref names @ ..] if !names.is_empty() => {
            for name in names {
                let unknown = || said(format!("Error: No available formula with the name \"{name}\"."), 1);
                let formula = brew.formula(name).ok_or_else(unknown)?;
                if brew.versions(formula.name).is_empty() {
                    call.print(format!("==> Pouring {}--{}\n", formula.name, formula.version))?;
                    brew.install(formula).map_err(failed)?;
                } else {
                    call.complain(&format!("Warning: {} is already installed and up-to-date.", formula.name));
                }
            }
            ended(0)
        }
        ["uninstall", ref names @ ..] if !names.is_empty() => {
            for name in names {
                if brew.versions(&keg(name)).is_empty() {
                    return Err(lacks(name));
                }
                brew.uninstall(&keg(name)).map_err(failed)?;
            }
            ended(0)
        }
        ["pin", name] if !brew.versions(&keg(name)).is_empty() => {
            brew.pin(&keg(name)).map_err(failed).and_then(|()| ended(0))
        }
        ["pin", name] => Err(said(format!("Error: {name} not installed"), 1)),
        ["unpin", name] => brew.unpin(&keg(name)).map_err(failed).and_then(|()| ended(0)),
        _ => Err(said("Error: Unknown command: brew", 1)),
    }
}

fn lines(all: impl IntoIterator<Item = String>) -> String {
    all.into_iter().map(|line| format!("{line}\n")).collect()
}

pub(super) fn xcode_select(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let failed = |text: String| said(format!("xcode-select: error: {text}"), 1);
    match words[..] {
        ["-p" | "--print-path"] => match xcode::selected(&call.mac) {
            Some(path) => call.say(format!("{path}\n")),
            None => Err(said(
                "xcode-select: error: Unable to get active developer directory. Use `sudo xcode-select --switch path/to/Xcode.app` to \
                 set one (or see `man xcode-select`)",
                2,
            )),
        },
        ["-s" | "--switch", ..] | ["-r" | "--reset"] if !call.is_root() => {
            Err(failed(format!("{} must be run as root.", words[0])))
        }
        ["-s" | "--switch", path] => {
            let root = call.mac.root().display().to_string();
            let path = path.strip_prefix(&root).unwrap_or(path);
            let developer = xcode::developer(&call.mac, path);
            let developer =
                developer.ok_or_else(|| failed(format!("invalid developer directory '{path}'")))?;
            xcode::select(&call.mac, Some(&developer)).map_err(|error| failed(reason(&error)))?;
            ended(0)
        }
        ["-r" | "--reset"] => {
            xcode::select(&call.mac, None).map_err(|error| failed(reason(&error)))?;
            ended(0)
        }
        _ => Err(said("Usage: xcode-select [options]", 1)),
    }
}

/// The version of the Xcode that is selected, and its build.
fn selected_version(call: &Call, tool: &str) -> Result<(String, String), Failure> {
    let none = || said("xcode-select: note: No developer tools were found, requesting install.", 1);
    let developer = xcode::selected(&call.mac).ok_or_else(none)?;
    xcode::version(&call.mac, &developer).ok_or_else(|| {
        said(
            format!(
                "xcode-select: error: tool '{tool}' requires Xcode, but active developer directory '{developer}' is a command line \
                 tools instance"
            ),
            1,
        )
    })
}

pub(super) fn xcodebuild(call: &mut Call) -> Outcome {
    let (version, build) = selected_version(call, "xcodebuild")?;
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["-version"] => call.say(format!("Xcode {version}\nBuild version {build}\n")),
        ["-license", "check"] if xcode::is_accepted(&call.mac, &version) => ended(0),
        ["-license", "accept"] if call.is_root() => {
            let accepted = xcode::accept(&call.mac, &version);
            accepted.map_err(|error| call.failure(&reason(&error)))?;
            ended(0)
        }
        _ => Err(said(
            "You have not agreed to the Xcode license agreements. Please run 'sudo xcodebuild -license' from within a Terminal \
             window to review and agree to the Xcode and Apple SDKs license.",
            69,
        )),
    }
}

pub(super) fn xcrun(call: &mut Call) -> Outcome {
    let (version, _) = selected_version(call, "xcrun")?;
    if !xcode::is_accepted(&call.mac, &version) {
        return Err(said("You have not agreed to the Xcode license agreements.", 69));
    }
    let words = call.texts();
    match &words[..] {
        [option, tool] if matches!(option.as_str(), "--find" | "-f") => {
            let developer = xcode::selected(&call.mac).unwrap_or_default();
            call.say(format!("{developer}/Toolchains/XcodeDefault.xctoolchain/usr/bin/{tool}\n"))
        }
        _ => Err(said("xcrun: error: the lab has no tools of Xcode", 72)),
    }
}

/// The agent: its words, and on its input the environment that it was called with.
pub(super) fn runner(call: &mut Call) -> Outcome {
    let words = call.texts();
    let (command, rest) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut given = BTreeMap::new();
    if command != "env" {
        let mut text = String::new();
        // What is no text is no value of it either.
        let _ = call.stdin.read_to_string(&mut text);
        for line in text.lines() {
            if let Some((name, value)) = line.split_once('=')
                && let Some(name) = name.to_ascii_uppercase().strip_prefix("ACTIONS_RUNNER_INPUT_")
            {
                given.insert(name.to_lowercase(), value.to_owned());
            }
        }
    }
    let (mut flags, mut rest) = (Vec::new(), rest.iter());
    let takes_value = ["url", "token", "name", "labels", "work", "runnergroup", "pat", "jitconfig"];
    let is_flag = ["unattended", "replace", "ephemeral", "disableupdate", "local", "no-default-labels"];
    let mut is_visible = false;
    while let Some(word) = rest.next() {
        let name = word.strip_prefix("--").unwrap_or_default();
        match rest.as_slice().first() {
            _ if is_flag.contains(&name) => flags.push(name.to_owned()),
            Some(value) if takes_value.contains(&name) => {
                is_visible |= ["token", "jitconfig"].contains(&name);
                given.insert(name.to_owned(), value.clone());
                rest.next();
            }
            _ => return Err(said(format!("Unrecognized command-line input arguments: '{name}'."), 1)),
        }
    }
    let complained = |Complaint(text): Complaint| said(text, 1);
    let mac = call.mac.clone();
    let agent = Agent::at(&mac, &call.directory);
    match command {
        "env" => agent.keep_environment().map_err(complained).and_then(|()| ended(0)),
        "configure" => {
            let runner = agent.configure(&given, &flags, is_visible).map_err(complained)?;
            call.say(format!(
                "\n√ Connected to GitHub\n\n√ Runner successfully added\n√ Runner connection is good\n\n√ Settings Saved.\n# {}\n",
                runner.name
            ))
        }
        "remove" => {
            let is_local = flags.iter().any(|flag| flag == "local");
            agent.remove(given.get("token").map(String::as_str), is_local).map_err(complained)?;
            call.say("√ Runner removed successfully\n√ Removed .credentials\n√ Removed .runner\n")
        }
        "run" if given.contains_key("jitconfig") => {
            let configuration = &given["jitconfig"];
            agent.come(configuration, is_visible).map_err(complained)?;
            // It listens until its job is done, and ends well.
            let words = ["sh", "-c", "while [ -e .runner ]; do sleep 0.05; done"].map(Into::into).into();
            Ok(Done::Exec { environment: Vec::new(), words })
        }
        _ => Err(said("An error occurred: Not configured. Run config.(sh/cmd) to configure the runner.", 1)),
    }
}

/// `svc.sh`, in the directory of the agent.
pub(super) fn service(call: &mut Call) -> Outcome {
    if call.is_root() {
        return Err(said("Must not run with sudo", 1));
    }
    let mac = call.mac.clone();
    let agent = Agent::at(&mac, &call.directory);
    let words = call.texts();
    let failed = |what: String| said(format!("Failed: {what}"), 1);
    let list = agent.service();
    let uid = call.uid();
    let target = |list: &str| {
        let name = list.rsplit('/').next().unwrap_or_default();
        format!("gui/{uid}/{}", name.trim_end_matches(".plist"))
    };
    let runs =
        |target: &str| mac.live().as_ref().is_some_and(|live| live.launchd.services.contains_key(target));
    match (words.first().map(String::as_str), list) {
        (Some("install"), _) => {
            let user = call.user.clone();
            let list = agent.install(&user).map_err(|Complaint(text)| said(text, 1))?;
            call.say(format!("Creating launch runner in {list}\nsvc install complete\n"))
        }
        (Some("start"), Some(list)) => {
            // `launchctl load -w`: who comes over SSH has no session with a screen.
            let domain::Refused(number, why) = INPUT_OUTPUT;
            let text = format!(
                "Load failed: {number}: {why}\nTry running `launchctl bootstrap` as root for richer errors."
            );
            Err(said(format!("{text}\nFailed: failed to load {list}"), 1))
        }
        (Some("stop" | "uninstall"), Some(list)) if runs(&target(&list)) => {
            let domain::Refused(number, why) = INPUT_OUTPUT;
            Err(said(format!("Unload failed: {number}: {why}\nFailed: failed to unload {list}"), 1))
        }
        (Some("stop"), Some(_)) => ended(0),
        (Some("uninstall"), Some(list)) => {
            let removed = fs::remove_file(call.path(OsStr::new(&list))).and_then(|()| agent.forget_service());
            removed.map_err(|error| failed(reason(&error)))?;
            ended(0)
        }
        (Some("status"), Some(list)) => {
            let state = if runs(&target(&list)) { "Started:" } else { "Stopped" };
            call.say(format!("status {}:\n\n{list}\n\n{state}\n", target(&list)))
        }
        (Some("status"), None) => call.say("not installed\n"),
        (Some("start" | "stop" | "uninstall"), None) => {
            Err(failed("Must configure the service first".into()))
        }
        _ => Err(said("Usage:\n./svc.sh [install, start, stop, status, uninstall]", 1)),
    }
}

/// `lab-job DIRECTORY PROGRAM`: a step of a job, as the agent in a directory runs it: by name.
pub(super) fn job(call: &mut Call) -> Outcome {
    let words = call.texts();
    let [directory, program] = &words[..] else { return Err(said("lab-job DIRECTORY PROGRAM", 64)) };
    let mac = call.mac.clone();
    let agent = Agent::at(&mac, &call.path(OsStr::new(directory)));
    match agent.find_for_job(program) {
        Some(found) => call.say(format!("{}\n", found.display())),
        None => Err(said(format!("{program}: command not found"), 127)),
    }
}
