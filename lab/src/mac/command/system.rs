//! What a Mac says of itself: `sw_vers`, `uname`, `sysctl`, `scutil`, `hostname`; and the notes of commands in shell.

use std::time::Duration;

use plist::{Dictionary, Value};

use super::directory::ended;
use super::options::Options;
use super::{Call, Done, Failure, Outcome};
use crate::clock::Time;
use crate::mac::Mac;
use crate::mac::disk::NAMES;

/// The hardware of the models that are rented out: its name, processor, cores and memory in GiB.
const MODELS: &[(&str, &str, &str, u32, u64)] = &[
    ("M1-M", "Macmini9,1", "Apple M1", 8, 8),
    ("M2-M", "Mac14,3", "Apple M2", 8, 16),
    ("M2-L", "Mac14,12", "Apple M2 Pro", 10, 16),
    ("M4-S", "Mac16,10", "Apple M4", 10, 16),
    ("M4-M", "Mac16,10", "Apple M4", 10, 24),
];

/// The build of a version of macOS, such as `25D125` for 26.3.
fn build(version: &str) -> String {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let letter = char::from_u32(u32::from(b'A') + minor.min(25)).unwrap_or('A');
    format!("{}{letter}{}", darwin(major), 100 + minor * 8 + numbers.next().unwrap_or_default())
}

/// The version of the kernel, which is a number behind.
fn darwin(major: u32) -> u32 {
    if major >= 26 { major - 1 } else { major + 9 }
}

fn version(mac: &Mac) -> String {
    mac.installation().map(|installation| installation.os_version).unwrap_or_default()
}

/// The version that the kernel says.
fn release(mac: &Mac) -> String {
    let version = version(mac);
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    format!("{}.{}.0", darwin(numbers.next().unwrap_or_default()), numbers.next().unwrap_or_default())
}

pub(super) fn sw_vers(call: &mut Call) -> Outcome {
    let version = version(&call.mac);
    let build = build(&version);
    let text = match &call.texts()[..] {
        [] => format!("ProductName:\t\tmacOS\nProductVersion:\t\t{version}\nBuildVersion:\t\t{build}\n"),
        [word] => match word.trim_start_matches('-').to_lowercase().as_str() {
            "productname" => "macOS\n".into(),
            "productversion" => format!("{version}\n"),
            "buildversion" => format!("{build}\n"),
            "productversionextra" => "\n".into(),
            _ => return Err(sw_vers_usage()),
        },
        _ => return Err(sw_vers_usage()),
    };
    call.say(text)
}

fn sw_vers_usage() -> Failure {
    let usage = "Usage: sw_vers [--help|--productName|--productVersion|--productVersionExtra|--buildVersion]";
    Failure { text: usage.into(), status: 1 }
}

pub(super) fn uname(call: &mut Call) -> Outcome {
    let options = Options::read(&call.words, "amnoprsv").map_err(|wrong| Failure {
        text: format!("uname: {}\nusage: uname [-amnoprsv]", wrong.text()),
        status: 1,
    })?;
    let release = release(&call.mac);
    let kernel = format!("Darwin Kernel Version {release}: root:xnu-12377.81.4~5/RELEASE_ARM64_T6020");
    let all = options.has('a');
    let parts = [
        ('s', "Darwin".to_owned()),
        ('n', host_name(&call.mac)),
        ('r', release),
        ('v', kernel),
        ('m', "arm64".to_owned()),
        ('p', "arm".to_owned()),
    ];
    let is_shown = |letter: char| {
        options.has(letter) || (all && letter != 'p') || (options.found.is_empty() && letter == 's')
    };
    let shown: Vec<String> =
        parts.into_iter().filter(|(letter, _)| is_shown(*letter)).map(|(_, part)| part).collect();
    call.say(format!("{}\n", shown.join(" ")))
}

pub(super) fn sysctl(call: &mut Call) -> Outcome {
    let options = Options::read(&call.words, "Aabdehiltnoqx").map_err(|wrong| Failure {
        text: format!(
            "sysctl: {}\nusage: sysctl [-bdehiltnoqx] name[=value] ...\n       sysctl [-bdehlntoqx] -a",
            wrong.text()
        ),
        status: 1,
    })?;
    let variables = variables(&call.mac);
    let shown = |name: &str, value: &str| {
        let sign = if options.has('e') { "=" } else { ": " };
        if options.has('n') { format!("{value}\n") } else { format!("{name}{sign}{value}\n") }
    };
    if options.has('a') || options.has('A') {
        let lines: String = variables.iter().map(|(name, value)| shown(name, value)).collect();
        return call.say(lines);
    }
    let mut status = 0;
    for operand in &options.operands {
        let operand = operand.to_string_lossy();
        let (name, new) = operand.split_once('=').map_or((&*operand, None), |(name, new)| (name, Some(new)));
        let Some((_, value)) = variables.iter().find(|(known, _)| known == name) else {
            if !options.has('i') && !options.has('q') {
                status = call.complain(&format!("unknown oid '{name}'"));
            }
            continue;
        };
        match new {
            None => call.print(shown(name, value))?,
            Some(_) if !call.is_root() => {
                status = call.complain(&format!("{name}: Operation not permitted"));
            }
            Some(new) => {
                if let Some(live) = &mut *call.mac.live() {
                    live.kernel.insert(name.to_owned(), new.to_owned());
                }
                call.print(format!("{name}: {value} -> {new}\n"))?;
            }
        }
    }
    ended(status)
}

/// The variables of the kernel.
fn variables(mac: &Mac) -> Vec<(String, String)> {
    let model = MODELS.iter().find(|(model, ..)| *model == mac.model()).unwrap_or(&MODELS[2]);
    let (_, hardware, processor, cores, memory) = *model;
    let version = version(mac);
    let (boot_id, booted, set) = match &*mac.live() {
        Some(live) => (live.boot_id.clone(), live.booted, live.kernel.clone()),
        None => return Vec::new(),
    };
    let seconds = since_1970(booted);
    let boot_time = format!("{{ sec = {}, usec = {} }} {booted}", seconds.as_secs(), seconds.subsec_micros());
    let known = [
        ("hw.logicalcpu", cores.to_string()),
        ("hw.machine", "arm64".into()),
        ("hw.memsize", (memory << 30).to_string()),
        ("hw.model", hardware.into()),
        ("hw.ncpu", cores.to_string()),
        ("hw.optional.arm64", "1".into()),
        ("hw.physicalcpu", cores.to_string()),
        ("kern.bootsessionuuid", boot_id),
        ("kern.boottime", boot_time),
        ("kern.hostname", host_name(mac)),
        ("kern.maxfiles", "245760".into()),
        ("kern.maxproc", "4000".into()),
        ("kern.osproductversion", version.clone()),
        ("kern.osrelease", release(mac)),
        ("kern.ostype", "Darwin".into()),
        ("kern.osversion", build(&version)),
        ("machdep.cpu.brand_string", processor.into()),
        ("net.inet.ip.forwarding", "0".into()),
    ];
    let value = |(name, value): (&str, String)| (name.to_owned(), set.get(name).cloned().unwrap_or(value));
    known.map(value).into()
}

fn since_1970(time: Time) -> Duration {
    "1970-01-01T00:00:00Z".parse().map(|start| time.since(start)).unwrap_or_default()
}

/// Where a name stands in the preferences.
fn place(name: &str) -> Option<[&'static str; 3]> {
    match name {
        "ComputerName" => Some(["System", "System", "ComputerName"]),
        "HostName" => Some(["System", "System", "HostName"]),
        "LocalHostName" => Some(["System", "Network", "HostNames"]),
        _ => None,
    }
}

fn preferences(mac: &Mac) -> Dictionary {
    let read = Value::from_file(mac.root().join(NAMES));
    read.ok().and_then(Value::into_dictionary).unwrap_or_default()
}

fn get_name(mac: &Mac, name: &str) -> Option<String> {
    let mut found = Value::Dictionary(preferences(mac));
    for key in place(name)? {
        found = found.into_dictionary()?.remove(key)?;
    }
    if name == "LocalHostName" {
        found = found.into_dictionary()?.remove(name)?;
    }
    found.into_string()
}

/// The name that the kernel goes by: the latest of what was set and what the network gave.
pub(super) fn host_name(mac: &Mac) -> String {
    if let Some(name) = mac.live().as_ref().and_then(|live| live.login.dhcp_name.clone()) {
        return name;
    }
    let local = || get_name(mac, "LocalHostName").map(|name| format!("{name}.local"));
    get_name(mac, "HostName").or_else(local).unwrap_or_else(|| "Mac-mini.local".into())
}

pub(super) fn hostname(call: &mut Call) -> Outcome {
    let name = host_name(&call.mac);
    match &call.texts()[..] {
        [] => call.say(format!("{name}\n")),
        [word] if word == "-f" => call.say(format!("{name}\n")),
        [word] if word == "-s" => call.say(format!("{}\n", name.split('.').next().unwrap_or_default())),
        [word] if !word.starts_with('-') => {
            if !call.is_root() {
                return Err(call.failure("sethostname: Operation not permitted"));
            }
            if let Some(live) = &mut *call.mac.live() {
                live.kernel.insert("kern.hostname".into(), word.clone());
            }
            ended(0)
        }
        _ => Err(Failure { text: "usage: hostname [-f] [-s | -d] [name-of-host]".into(), status: 1 }),
    }
}

pub(super) fn scutil(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let usage = || {
        Failure {
        text: "usage: scutil --get pref\n   or: scutil --set pref [newval]\n\tpref\tComputerName|LocalHostName|HostName".into(),
        status: 64,
    }
    };
    match words[..] {
        ["--get", name] => {
            place(name).ok_or_else(usage)?;
            match get_name(&call.mac, name) {
                Some(value) => call.say(format!("{value}\n")),
                None => Err(Failure { text: format!("{name}: not set"), status: 1 }),
            }
        }
        ["--dns"] => {
            let resolvers =
                call.mac.live().as_ref().map(|live| live.login.resolvers.clone()).unwrap_or_default();
            let mut text = "DNS configuration\n\nresolver #1\n  nameserver[0] : 51.159.47.28\n".to_owned();
            for (at, (domain, servers)) in resolvers.iter().enumerate() {
                text += &format!("\nresolver #{}\n  domain   : {domain}\n", at + 2);
                for (number, server) in servers.iter().enumerate() {
                    text += &format!("  nameserver[{number}] : {server}\n");
                }
                text += "  flags    : Request A records\n  reach    : 0x00000002 (Reachable)\n";
            }
            call.say(text)
        }
        ["--set", name, value] => {
            let place = place(name).ok_or_else(usage)?;
            if !call.is_root() {
                return Err(Failure {
                    text: "SCPreferencesCommitChanges() failed: Permission denied".into(),
                    status: 1,
                });
            }
            let is_label = value.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
            if name == "LocalHostName" && !is_label {
                return Err(Failure {
                    text: "SCPreferencesSetLocalHostName() failed: Invalid argument".into(),
                    status: 1,
                });
            }
            if let Some(live) = &mut *call.mac.live() {
                live.login.dhcp_name = None;
            }
            set_name(call, place, name, value)
        }
        _ => Err(usage()),
    }
}

fn set_name(call: &Call, place: [&str; 3], name: &str, value: &str) -> Outcome {
    let failed =
        |text: String| Failure { text: format!("SCPreferencesCommitChanges() failed: {text}"), status: 1 };
    let mut all = preferences(&call.mac);
    let mut inner = &mut all;
    let (last, around) = if name == "LocalHostName" { (name, &place[..]) } else { (place[2], &place[..2]) };
    for key in around {
        if !inner.contains_key(key) {
            inner.insert((*key).to_owned(), Value::Dictionary(Dictionary::new()));
        }
        let entry = inner.get_mut(key).and_then(Value::as_dictionary_mut);
        inner = entry.ok_or_else(|| failed("Corrupt preferences".into()))?;
    }
    if value.is_empty() {
        inner.remove(last);
    } else {
        inner.insert(last.to_owned(), Value::String(value.to_owned()));
    }
    let file = call.mac.root().join(NAMES);
    Value::Dictionary(all).to_file_xml(file).map_err(|error| failed(error.to_string()))?;
    Ok(Done::Exit(0))
}

/// `lab-live KEY [VALUE]`: a note that a reboot forgets.
pub(super) fn live(call: &mut Call) -> Outcome {
    let words = call.texts();
    let noted = |key: &String| call.mac.live().as_ref().and_then(|live| live.notes.get(key).cloned());
    match &words[..] {
        [key] => match noted(key) {
            Some(value) => call.say(format!("{value}\n")),
            None => ended(1),
        },
        [key, value] => {
            if let Some(live) = &mut *call.mac.live() {
                live.notes.insert(key.clone(), value.clone());
            }
            ended(0)
        }
        _ => Err(call.failure("a key is needed, and a value to set it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_kernel_follow_those_of_the_system() {
        for (version, of_kernel) in [("26.3", 25), ("15.6", 24), ("14.7.1", 23)] {
            let major = version.split('.').next().unwrap().parse().unwrap();
            assert_eq!(darwin(major), of_kernel, "{version}");
        }
        assert_eq!(build("26.3"), "25D124");
    }
}
