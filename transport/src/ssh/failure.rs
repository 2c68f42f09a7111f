//! What `ssh` complained about → what is wrong, and what to do.

use fleet_engine::finding::table;
use fleet_engine::resource::Error;

use super::keys::fingerprint;
use crate::failure::short;

/// Whether the host showed another key than it had to.
pub(crate) fn is_other_key(why: &str) -> bool {
    why.contains("Host key verification failed") || why.contains("REMOTE HOST IDENTIFICATION HAS CHANGED")
}

/// What is wrong with a connection.
pub(crate) fn of(address: &str, why: &str) -> Error {
    let has = |text: &str| why.contains(text);
    let last = last(why);
    if has("Permission denied (") || has("Too many authentication failures") || has("no mutual signature") {
        Error::permanent(format!("`{address}` does not let us in: {last}"))
            .known(&table::REFUSED_LOGIN)
            .help("see that the user is right, and that the public part of the key is authorized there")
    } else if has("Could not resolve hostname") {
        Error::unreachable(format!("nobody knows where `{address}` is: {last}"))
            .help("see that the name is right and that its names can be resolved from here")
    } else if has("Connection refused") {
        Error::unreachable(format!("`{address}` refuses connections: {last}"))
            .help("see that sshd runs there (on macOS: Remote Login), and on this port")
    } else if has("timed out")
        || has("No route to host")
        || has("Network is unreachable")
        || has("Host is down")
    {
        let error = Error::unreachable(format!("`{address}` does not answer: {last}"))
            .help("see that the host is on and that no firewall or missing tunnel is in the way");
        // Who cannot be routed to is not there; who takes too long may be there and have no room.
        if has("timed out") { error.known(&table::SILENT_SSH_PORT) } else { error }
    } else if has("Bad configuration option") || has("terminating, ") || has("Bad owner or permissions") {
        Error::permanent(format!("`ssh` does not take its configuration: {last}"))
            .help("see that `ssh` works by itself with the same configuration")
    } else {
        Error::unreachable(format!("no connection to `{address}`: {last}")).help(
            "see whether `ssh -v` gets there with the same user, key and port, and what sshd notes there",
        )
    }
}

/// Nothing answered.
pub(crate) fn unreachable(mut all: Vec<(&str, Error)>) -> Error {
    if all.len() == 1
        && let Some((_, error)) = all.pop()
    {
        return error;
    }
    let told: Vec<&str> = all.iter().map(|(_, error)| &*error.message).collect();
    let error = Error::unreachable(format!("no address of the host answers: {}", told.join("; ")));
    let known = all.iter().find_map(|(_, error)| error.known);
    let error = known.into_iter().fold(error, Error::known);
    match all.into_iter().find_map(|(_, error)| error.help) {
        Some(help) => error.help(help),
        None => error,
    }
}

/// The host has another key than the one that is pinned.
pub(crate) fn other_key(slot: &str, address: &str, pin: Option<&str>, new: Option<&str>, why: &str) -> Error {
    let shown = |key: Option<&str>| {
        let print = key.and_then(fingerprint).unwrap_or_else(|| "unknown".to_owned());
        let kind = key.and_then(|key| key.split(' ').next()).unwrap_or_default().to_owned();
        format!("{print} ({kind})")
    };
    match (pin, new) {
        (Some(pin), Some(new)) if pin != new => Error::permanent(format!(
            "`{address}` is not the host that `{slot}` was: its key is {}, and it was {}",
            shown(Some(new)),
            shown(Some(pin))
        ))
        .known(&table::CHANGED_HOST_KEY)
        .help(format!(
            "if the host was installed anew, compare the first fingerprint with what it shows itself \
             (`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`), then add `--accept-host-key '{slot}'`, and change \
             `host_key` if the pool gives one; if nothing changed there, somebody else answers at this address"
        )),
        // A host on the way may have another key, too.
        _ => Error::permanent(format!("the key of `{address}`, or of a host on the way, is not to be trusted: {}", last(why)))
            .help("connect once by hand with the same configuration, and compare the fingerprint"),
    }
}

/// The last line that is no decoration.
fn last(why: &str) -> &str {
    let line = why.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with('@'));
    let line = line.unwrap_or("ssh ended without a word");
    short(line.strip_prefix("ssh: ").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_apart() {
        let table = [
            ("ssh: connect to host 10.0.0.1 port 22: Connection refused\r\n", true, "refuses connections"),
            ("ssh: connect to host 10.0.0.1 port 22: Connection timed out", true, "does not answer"),
            ("ssh: connect to host 10.0.0.1 port 22: Operation timed out", true, "does not answer"),
            ("ssh: Could not resolve hostname x: Name or service not known", true, "nobody knows"),
            ("m1@10.0.0.1: Permission denied (publickey).", false, "does not let us in"),
            (
                "kex_exchange_identification: Connection closed by remote host\nConnection closed by 127.0.0.1 port 1",
                true,
                "no connection",
            ),
            ("", true, "without a word"),
        ];
        for (why, transient, told) in table {
            let error = of("10.0.0.1", why);
            assert!(error.transient == transient && error.message.contains(told), "{why}: {error:?}");
            assert!(!error.message.ends_with(['\r', '\n']) && error.help.is_some(), "{error:?}");
        }
    }
}
