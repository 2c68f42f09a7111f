//! What `ssh` is told. The first value of an option wins there, so ours come first and the user's fill the rest.

use std::path::Path;

use fleet_engine::host::reach::Ssh;
use fleet_engine::resource::Error;
use sha2::{Digest, Sha256};

use crate::chance::hex;

/// The options of one connection.
pub(crate) struct Config<'a> {
    pub(crate) ssh: &'a Ssh,
    pub(crate) address: &'a str,
    /// The name under which the host's key is known: that of its slot, whatever its address is today.
    pub(crate) alias: &'a str,
    /// The file of known hosts, which holds this one alone.
    pub(crate) known: &'a Path,
    pub(crate) trust: Trust,
    /// The socket of an agent, and the file with the public part of the key that it serves.
    pub(crate) identity: Option<(&'a Path, &'a Path)>,
}

/// Which key a host may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The one that is known.
    Pinned,
    /// Whichever it shows.
    FirstSight,
}

/// The name under which the key of a slot's host is known.
pub(crate) fn alias(slot: &str) -> String {
    format!("fleet-{}", hex(&Sha256::digest(slot.as_bytes())[..8]))
}

impl Config<'_> {
    /// For a connection that carries sessions.
    pub(crate) fn text(&self) -> Result<String, Error> {
        self.written(&["RequestTTY no", "ClearAllForwardings yes", "LogLevel ERROR"], "  BatchMode yes\n")
    }

    /// For somebody at a terminal.
    pub(crate) fn for_people(&self) -> Result<String, Error> {
        self.written(&[], "")
    }

    fn written(&self, more: &[&str], for_all: &str) -> Result<String, Error> {
        let Config { ssh, address, alias, known, trust, identity } = self;
        let strict = match trust {
            Trust::Pinned => "yes",
            Trust::FirstSight => "accept-new",
        };
        let mut lines = vec![
            format!("HostKeyAlias {alias}"),
            format!("UserKnownHostsFile {}", path(known)?),
            "GlobalKnownHostsFile /dev/null".to_owned(),
            format!("StrictHostKeyChecking {strict}"),
            "HashKnownHosts no".to_owned(),
            "UpdateHostKeys no".to_owned(),
            "VerifyHostKeyDNS no".to_owned(),
            "CheckHostIP no".to_owned(),
            "ForwardAgent no".to_owned(),
            "ForwardX11 no".to_owned(),
            "PermitLocalCommand no".to_owned(),
            "RemoteCommand none".to_owned(),
            "ServerAliveInterval 10".to_owned(),
            "ServerAliveCountMax 3".to_owned(),
            "ConnectTimeout 10".to_owned(),
        ];
        lines.extend(more.iter().map(|&line| line.to_owned()));
        if let Some(user) = &ssh.user {
            lines.push(format!("User {}", word("user", user)?));
        }
        if let Some(port) = ssh.port {
            lines.push(format!("Port {port}"));
        }
        if let Some(jump) = &ssh.jump {
            lines.push(format!("ProxyJump {}", word("jump host", jump)?));
        }
        if let Some((agent, public)) = identity {
            lines.push(format!("IdentityAgent {}", path(agent)?));
            lines.push("IdentitiesOnly yes".to_owned());
            lines.push(format!("IdentityFile {}", path(public)?));
        }
        // The hosts on the way are the user's affair, so ours is named.
        let ours: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        let theirs = match &ssh.config {
            // As `ssh -F` understands them. What is included must be a file.
            Some(config) if matches!(&**config, "none" | "/dev/null") => String::new(),
            Some(config) => format!("  Include {}\n", path(Path::new(&absolute(config)))?),
            None => "  Include ~/.ssh/config\n  Include /etc/ssh/ssh_config\n".to_owned(),
        };
        Ok(format!("Host {}\n{ours}Match all\n{for_all}{theirs}", word("address", address)?))
    }
}

/// `ssh` takes a relative path for one in its own directory.
fn absolute(path: &str) -> String {
    if path.starts_with("~/") {
        return path.to_owned();
    }
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// A value of one word, which cannot be anything else.
fn word<'t>(what: &str, text: &'t str) -> Result<&'t str, Error> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-:@%/[],+\\$".contains(c);
    if text.is_empty() || text.starts_with('-') || !text.chars().all(is_plain) {
        let error = Error::permanent(format!("`{text}` is no {what}"));
        return Err(
            error.help("letters, digits and `._-:@%/[],+\\$` can stand in it, and no `-` comes first")
        );
    }
    Ok(text)
}

/// A path in quotes, which it cannot leave.
fn path(path: &Path) -> Result<String, Error> {
    match path.to_str() {
        Some(text) if !text.contains(['"', '\n', '\\']) => Ok(format!("\"{}\"", text.replace('%', "%%"))),
        _ => Err(Error::permanent(format!("`ssh` cannot be told of `{}`", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh() -> Ssh {
        Ssh {
            addresses: vec![],
            port: Some(2222),
            user: Some("m1".into()),
            identity: None,
            host_key: None,
            config: None,
            jump: Some("me@gate:2200,other".into()),
        }
    }

    fn config<'a>(ssh: &'a Ssh, address: &'a str) -> Config<'a> {
        let identity = Some((Path::new("/r/agent"), Path::new("/r/id.pub")));
        Config { ssh, address, alias: "fleet-1", known: Path::new("/r/k"), trust: Trust::Pinned, identity }
    }

    #[test]
    fn ours_comes_before_the_users_and_is_for_this_host_alone() {
        let text = config(&ssh(), "fe80::1%en0").text().unwrap();
        let (ours, rest) = text.split_once("Match all\n").unwrap();
        assert!(ours.starts_with("Host fe80::1%en0\n"), "{text}");
        let words = ["User m1", "Port 2222", "ProxyJump me@gate:2200,other", "IdentityAgent \"/r/agent\""];
        for word in words.into_iter().chain(["StrictHostKeyChecking yes", "ForwardAgent no"]) {
            assert!(ours.contains(&format!("  {word}\n")), "{word}: {text}");
        }
        assert!(rest.contains("Include ~/.ssh/config"), "{text}");
        let own = Ssh { config: Some("/x y/config".into()), ..ssh() };
        assert!(config(&own, "a").text().unwrap().ends_with("  Include \"/x y/config\"\n"));
    }

    #[test]
    fn no_value_becomes_an_option() {
        for bad in ["", "-oProxyCommand=x", "a b", "a\nProxyCommand x", "*", "!a", "a\"b"] {
            assert!(config(&ssh(), bad).text().is_err_and(|error| error.help.is_some()), "{bad}");
            assert!(config(&Ssh { user: Some(bad.into()), ..ssh() }, "a").text().is_err(), "{bad}");
            assert!(config(&Ssh { jump: Some(bad.into()), ..ssh() }, "a").text().is_err(), "{bad}");
        }
        assert!(config(&Ssh { config: Some("a\"\nUser x".into()), ..ssh() }, "a").text().is_err());
    }
}
