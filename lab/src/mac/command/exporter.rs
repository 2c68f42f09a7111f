//! `node_exporter`, which is a service and nothing else; and `lsof`, by which it is seen where services listen.

use std::net::IpAddr;

use super::directory::ended;
use super::tailscale::installed;
use super::{Call, Done, Failure, Outcome};
use crate::mac::launchd::run;

/// Where the program lies.
const PROGRAM: &str = "usr/local/bin/node_exporter";

pub(super) fn node_exporter(call: &mut Call) -> Outcome {
    let version = installed(call, PROGRAM)?;
    let words = call.texts();
    if words == ["--version"] {
        return call
            .say(format!("node_exporter, version {version} (branch: HEAD)\n  platform: darwin/arm64\n"));
    }
    let address = words.iter().find_map(|word| word.strip_prefix("--web.listen-address=")).unwrap_or(":9100");
    let (host, port) = address.rsplit_once(':').unwrap_or((address, "9100"));
    let Ok(port) = port.parse::<u16>() else {
        return Err(Failure {
            text: format!("level=ERROR msg=\"listen tcp: address {address}: invalid port\""),
            status: 1,
        });
    };
    let is_ours = match host.parse::<IpAddr>() {
        Ok(ip) => ip.is_unspecified() || call.mac.addresses().contains(&ip),
        Err(_) => host.is_empty(),
    };
    if !is_ours {
        let text = format!("level=ERROR msg=\"listen tcp {address}: bind: can't assign requested address\"");
        return Err(Failure { text, status: 1 });
    }
    let host = if host.is_empty() || host == "0.0.0.0" { "*" } else { host };
    let arguments = std::iter::once(format!("/{PROGRAM}")).chain(words.clone()).collect();
    match run::becomes(&call.mac, &call.service, &format!("/{PROGRAM}"), arguments, (host, port)) {
        true => Ok(Done::Stay),
        false => Err(call.failure("in the lab it runs for a service alone")),
    }
}

/// `lsof -nP -iTCP:PORT -sTCP:LISTEN`: who listens at a port, and for whom.
pub(super) fn lsof(call: &mut Call) -> Outcome {
    let words = call.texts();
    let is_known = |word: &str| matches!(word, "-nP" | "-n" | "-P" | "-sTCP:LISTEN");
    let port = words.iter().find_map(|word| word.strip_prefix("-iTCP:")?.parse::<u16>().ok());
    let (Some(port), true) = (port, words.iter().all(|word| is_known(word) || word.starts_with("-iTCP:")))
    else {
        return Err(Failure {
            text: "lsof: only `-nP -iTCP:PORT -sTCP:LISTEN` is simulated".into(),
            status: 1,
        });
    };
    let lines: String = {
        let live = call.mac.live();
        let all = live.iter().flat_map(|live| live.launchd.processes());
        let lines = all.filter_map(|(_, process)| {
            process.listens.as_ref().filter(|(known, _)| *known == port)?;
            let name = process.program.rsplit('/').next().unwrap_or_default();
            let name: String = name.chars().take(9).collect();
            let address = process.address.as_deref().unwrap_or("127.0.0.1");
            Some(format!(
                "{name:<9} {:>5} {:>8}    3u  IPv4 0x0      0t0  TCP {address}:{port} (LISTEN)\n",
                process.pid, process.user
            ))
        });
        lines.collect()
    };
    if lines.is_empty() {
        return ended(1);
    }
    call.say(format!("COMMAND     PID     USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n{lines}"))
}
