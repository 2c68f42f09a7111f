//! `ifconfig`, `route`, `netstat` and `nc`: what a Mac says of its network.

use std::net::IpAddr;

use super::options::Options;
use super::{Call, Failure, Outcome};
use crate::mac::login::sshd::{Welcome, half_open, welcome};
use crate::mac::network::Network;
use crate::mac::pf::Net;

/// The network as it is now.
fn network(call: &Call) -> Result<Network, Failure> {
    let live = call.mac.live();
    live.as_ref().map(|live| live.network.clone()).ok_or_else(|| call.failure("this Mac is off"))
}

pub(super) fn ifconfig(call: &mut Call) -> Outcome {
    let network = network(call)?;
    let words = call.texts();
    let shown = |name: &String| {
        let address = network.interfaces[name].as_ref().map(|(address, net)| {
            let bits = u32::MAX.checked_shl(32 - u32::from(net.bits())).unwrap_or(0);
            format!("\tinet {address} netmask 0x{bits:08x}\n")
        });
        let flags =
            if name == "lo0" { "8049<UP,LOOPBACK,RUNNING,MULTICAST>" } else { "8863<UP,RUNNING,MULTICAST>" };
        format!("{name}: flags={flags} mtu 1500\n{}", address.unwrap_or_default())
    };
    let names = network.interfaces.keys();
    let text = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["-a"] => names.map(shown).collect(),
        ["-l"] => format!("{}\n", names.cloned().collect::<Vec<_>>().join(" ")),
        [name] if network.interfaces.contains_key(name) => shown(&name.to_owned()),
        [name, ..] => return Err(call.failure(&format!("interface {name} does not exist"))),
    };
    call.say(text)
}

pub(super) fn route(call: &mut Call) -> Outcome {
    let usage = || Failure { text: "usage: route [-dnqtv] command [[modifiers] args]".into(), status: 64 };
    let words = call.texts();
    let (["-n", "get", to] | ["get", to]) = words.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
        return Err(usage());
    };
    let address: Option<IpAddr> = match to {
        "default" => Some(std::net::Ipv4Addr::new(198, 51, 100, 1).into()),
        to => to.parse().ok(),
    };
    let Some(address) = address else { return Err(call.failure(&format!("bad address: {to}"))) };
    let network = network(call)?;
    match network.way(address).map(str::to_owned) {
        Some(interface) => call.say(format!(
            "   route to: {to}\ndestination: {to}\n  interface: {interface}\n      flags: <UP,DONE>\n"
        )),
        None => Err(call.failure("writing to routing socket: not in table")),
    }
}

pub(super) fn netstat(call: &mut Call) -> Outcome {
    let options = Options::read(&call.words, "anrf:p:").map_err(|wrong| call.failure(&wrong.text()))?;
    let network = network(call)?;
    if options.has('r') {
        let line = |(net, name): &(Net, String)| {
            let net = net.to_string();
            format!(
                "{:<18} {:<18} UGScg {name:>14}\n",
                if net == "0.0.0.0/0" { "default".into() } else { net },
                "link"
            )
        };
        let routes: String = network.routes.iter().map(line).collect();
        return call.say(format!("Routing tables\n\nInternet:\nDestination        Gateway            Flags               Netif Expire\n{routes}"));
    }
    let (_, here) = network.arrival();
    let lines: String = (50_000..)
        .zip(call.mac.peers())
        .map(|(port, peer)| {
            format!("tcp4       0      0  {here}.22           {peer}.{port}       ESTABLISHED\n")
        })
        .collect();
    // Connections that were begun and never completed keep others out.
    let half_open = call.mac.live().as_ref().and_then(half_open);
    let listens = if half_open.is_some() {
        "tcp4       0      0  *.22                   *.*                    LISTEN\n"
    } else {
        ""
    };
    let half_open: String = (0..half_open.unwrap_or_default())
        .map(|at| {
            let from = format!("203.0.113.{}.{}", at % 250 + 1, 40000 + at);
            format!("tcp4       0      0  {here}.22           {from:<22} SYN_RCVD\n")
        })
        .collect();
    call.say(format!(
        "Active Internet connections (including servers)\nProto Recv-Q Send-Q  Local Address          Foreign Address        (state)\n\
         {lines}{listens}{half_open}"
    ))
}

/// `nc -z [-G SECONDS] HOST PORT`: whether somebody can connect. Only the SSH port of this Mac is known.
pub(super) fn nc(call: &mut Call) -> Outcome {
    let words = call.texts();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(at) = words.iter().position(|word| *word == "-G") {
        words.drain(at..words.len().min(at + 2));
    }
    match words[..] {
        ["-z", host, "22"] if matches!(host, "127.0.0.1" | "localhost") => match welcome(&call.mac) {
            Welcome::Served => {
                let text = format!("Connection to {host} port 22 [tcp/ssh] succeeded!\n");
                // It says so on the other output.
                Err(Failure { text, status: 0 })
            }
            Welcome::Unanswered => {
                let text = format!("nc: connectx to {host} port 22 (tcp) failed: Operation timed out");
                Err(Failure { text, status: 1 })
            }
            Welcome::Refused => {
                let text = format!("nc: connectx to {host} port 22 (tcp) failed: Connection refused");
                Err(Failure { text, status: 1 })
            }
        },
        _ => Err(Failure {
            text: "usage: nc [-46AacCDdEFhklMnOortUuvz] [hostname] [port[s]]".into(),
            status: 1,
        }),
    }
}
