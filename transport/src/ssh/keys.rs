//! Host keys, as `type base64`.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use fleet_engine::resource::Error;
use sha2::{Digest, Sha256};

/// A key without its comment.
pub(crate) fn plain(key: &str) -> Result<String, Error> {
    let mut words = key.split_whitespace();
    let pair = (words.next(), words.next());
    match pair {
        (Some(kind), Some(data)) if is_of_kind(kind, data) => Ok(format!("{kind} {data}")),
        _ => Err(Error::permanent(format!("`{key}` is no host key"))
            .help("a host key is its type and its data, as in a file of known hosts: `ssh-ed25519 AAAA…`")),
    }
}

/// The fingerprint by which people compare keys.
pub(crate) fn fingerprint(key: &str) -> Option<String> {
    let data = STANDARD.decode(key.split_whitespace().nth(1)?).ok()?;
    Some(format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(data))))
}

/// The key of a host in the text of a file of known hosts.
pub(crate) fn known(text: &str, alias: &str) -> Option<String> {
    let mut keys = text.lines().filter_map(|line| line.strip_prefix(alias)?.strip_prefix(' '));
    keys.next().and_then(|key| plain(key).ok())
}

/// The data starts with its own type, so that a part of another line is no key.
fn is_of_kind(kind: &str, data: &str) -> bool {
    let Ok(data) = STANDARD.decode(data) else { return false };
    let length = data.first_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize);
    length.is_some_and(|length| data.get(4..4 + length) == Some(kind.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

    #[test]
    fn keys_are_read_with_and_without_comments() {
        assert_eq!(plain(&format!(" {KEY} me@there\n")).unwrap(), KEY);
        for bad in
            ["", "ssh-ed25519", "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIOMq", "ssh-ed25519 ???", "SHA256:abc def"]
        {
            assert!(plain(bad).is_err(), "{bad}");
        }
        assert_eq!(known(&format!("x {KEY}\nfleet-1 {KEY}\n"), "fleet-1").as_deref(), Some(KEY));
        assert_eq!(known(&format!("fleet-12 {KEY}\n"), "fleet-1"), None);
    }

    #[test]
    fn fingerprints_are_those_that_ssh_shows() {
        // That of github.com, as GitHub publishes it.
        let told = fingerprint(KEY).unwrap();
        assert_eq!(told, "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU");
    }
}
