//! `curl`: a service of the Mac that listens answers here; all else is asked by this machine's own.

use std::ffi::OsString;
use std::net::IpAddr;

use super::directory::ended;
use super::{Call, Done, Failure, Outcome};
use crate::mac::launchd::Process;

/// Options that take an argument.
const TAKES: [&str; 14] = [
    "-m",
    "--max-time",
    "-o",
    "--output",
    "-w",
    "--write-out",
    "-H",
    "--header",
    "-X",
    "--request",
    "--retry",
    "--connect-timeout",
    "-A",
    "--user-agent",
];

pub(super) fn curl(call: &mut Call) -> Outcome {
    let words = call.texts();
    let mut url = None;
    let (mut fails, mut silent, mut shows, mut output) = (false, false, false, None);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if TAKES.contains(&word.as_str()) {
            let argument = rest.next().cloned();
            if matches!(word.as_str(), "-o" | "--output") {
                output = argument;
            }
            continue;
        }
        match word.as_str() {
            "--" => {}
            "--fail" => fails = true,
            "--silent" => silent = true,
            "--show-error" => shows = true,
            long if long.starts_with("--") => {}
            letters if letters.starts_with('-') => {
                fails |= letters.contains('f');
                silent |= letters.contains('s');
                shows |= letters.contains('S');
            }
            _ => url = Some(word.clone()),
        }
    }
    let place = url.as_deref().and_then(|url| local(url, &call.mac.addresses()));
    let Some((host, port)) = place else {
        let program: OsString = call.mac.tools.system("curl").into_os_string();
        let words = std::iter::once(program).chain(call.words.drain(..)).collect();
        return Ok(Done::Exec { environment: Vec::new(), words });
    };
    let failed = |status: u8, text: String| Failure {
        text: if silent && !shows { String::new() } else { format!("curl: ({status}) {text}") },
        status,
    };
    let answer = {
        let live = call.mac.live();
        let all = live.iter().flat_map(|live| live.launchd.processes());
        let listens = |process: &Process| match process.address.as_deref() {
            Some("*") => true,
            address => address.unwrap_or("127.0.0.1") == host,
        };
        all.filter(|(_, process)| listens(process))
            .find_map(|(_, process)| process.listens.clone().filter(|(known, _)| *known == port))
    };
    let Some((_, answer)) = answer else {
        return Err(failed(
            7,
            format!("Failed to connect to {host} port {port} after 0 ms: Couldn't connect to server"),
        ));
    };
    let (code, body) = answer.split_once(' ').unwrap_or((&answer, ""));
    if fails && !code.starts_with('2') {
        return Err(failed(22, format!("The requested URL returned error: {code}")));
    }
    match output {
        Some(file) if file != "/dev/null" => {
            let place = call.path_to_write(file.as_ref());
            let written = place.and_then(|place| std::fs::write(place, body));
            written.map_err(|error| failed(23, format!("Failure writing output to destination: {error}")))?;
            ended(0)
        }
        Some(_) => ended(0),
        None => call.say(body),
    }
}

/// The address and the port of this very Mac that a URL names.
fn local(url: &str, addresses: &[IpAddr]) -> Option<(String, u16)> {
    let rest = url.strip_prefix("http://")?;
    let (place, _) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = place.split_once(':').unwrap_or((place, "80"));
    let host = if host == "localhost" { "127.0.0.1" } else { host };
    let is_ours = host.parse().is_ok_and(|host: IpAddr| host.is_loopback() || addresses.contains(&host));
    is_ours.then(|| Some((host.to_owned(), port.parse().ok()?))).flatten()
}
