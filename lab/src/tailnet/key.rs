//! What lets a device in: a key that was made before, or the secret of an OAuth client, which makes one on the way.

use serde::{Deserialize, Serialize};

use super::Refused;
use crate::clock::Time;

/// How the secret of an OAuth client begins.
const CLIENT: &str = "tskey-client-";

/// A key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// What it is.
    pub secret: String,
    /// Which sort it is of.
    pub sort: Sort,
    /// The tags that it gives, or may give.
    pub tags: Vec<String>,
    /// Whether it lets in more than one device.
    pub is_reusable: bool,
    /// Whether devices that it lets in are ephemeral.
    pub is_ephemeral: bool,
    /// From when on it is good for nothing.
    pub expires: Option<Time>,
    /// Whether somebody took it back.
    pub is_revoked: bool,
    /// How many devices it let in.
    pub uses: u32,
}

/// The sorts of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Made before: `tskey-auth-…`.
    Auth,
    /// The secret of an OAuth client: `tskey-client-…`. It never expires, and lets in nobody without tags.
    Client,
}

impl Key {
    /// A key for any number of devices, that never expires.
    #[must_use]
    pub fn auth(secret: &str, tags: Vec<String>) -> Key {
        Key {
            secret: secret.to_owned(),
            sort: Sort::Auth,
            tags,
            is_reusable: true,
            is_ephemeral: false,
            expires: None,
            is_revoked: false,
            uses: 0,
        }
    }

    fn is_over(&self, now: Time) -> bool {
        self.is_revoked || self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Whether a key lets a device in: with which tags, and whether it is ephemeral then.
pub(super) fn admit(
    keys: &mut [Key],
    text: &str,
    wanted: &[String],
    now: Time,
) -> Result<(Vec<String>, bool), Refused> {
    let refuse = |words: String| Err(Refused(words));
    // What follows is for clients alone: any other key has it as a part of itself, and is unknown by it.
    let (secret, asked) = match text.split_once('?') {
        Some((secret, asked)) if text.starts_with(CLIENT) => (secret, asked),
        _ => (text, ""),
    };
    let mut is_ephemeral = true;
    for pair in asked.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("ephemeral", value)) => is_ephemeral = value == "true",
            Some(("preauthorized" | "baseURL", _)) => {}
            _ => {
                let name = pair.split('=').next().unwrap_or_default();
                return refuse(format!("unknown attribute \"{name}\""));
            }
        }
    }
    let Some(key) = keys.iter_mut().find(|key| key.secret == secret) else {
        return refuse("invalid key: unable to validate API key".to_owned());
    };
    if key.is_over(now) {
        return refuse("invalid key: API key does not exist".to_owned());
    }
    if !key.is_reusable && key.uses > 0 {
        return refuse("invalid key: API key not valid".to_owned());
    }
    if wanted.iter().any(|tag| !key.tags.contains(tag)) {
        return refuse(format!("requested tags [{}] are invalid or not permitted", wanted.join(" ")));
    }
    key.uses += 1;
    let tags = if wanted.is_empty() { key.tags.clone() } else { wanted.to_vec() };
    Ok((tags, if key.sort == Sort::Client { is_ephemeral } else { key.is_ephemeral }))
}

/// Whether a key is the secret of an OAuth client.
#[must_use]
pub(crate) fn is_client(text: &str) -> bool {
    text.starts_with(CLIENT)
}
