//! The SSH keys of projects.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::page::{order, page};
use super::refusal::Refusal;
use super::route::Call;
use super::{Answer, Scaleway, Token, Turn};
use crate::clock::Time;

const NAME_LENGTH: usize = 1000;
const KEY_LENGTH: usize = 65000;

/// A key that is put on servers when they are installed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "these are the vendor's words")]
pub struct SshKey {
    pub id: String,
    pub name: String,
    /// `type base64`: the vendor keeps no comment.
    pub public_key: String,
    pub fingerprint: String,
    pub created_at: Time,
    pub updated_at: Time,
    pub organization_id: String,
    pub project_id: String,
    pub disabled: bool,
}

impl SshKey {
    fn view(&self) -> Value {
        json!(self)
    }
}

/// A key without its comment, and its fingerprint; none if it is no key of a known type.
fn parse(text: &str) -> Option<(String, String)> {
    let mut words = text.split_whitespace();
    let (kind, encoded) = (words.next()?, words.next()?);
    let blob = STANDARD.decode(encoded).ok()?;
    let mut rest = blob.as_slice();
    if field(&mut rest)? != kind.as_bytes() {
        return None;
    }
    let bits = match kind {
        "ssh-ed25519" => 256,
        "ecdsa-sha2-nistp256" => 256,
        "ecdsa-sha2-nistp384" => 384,
        "ecdsa-sha2-nistp521" => 521,
        // The number of bits is that of the modulus (after the exponent), or of the prime.
        "ssh-rsa" => {
            field(&mut rest)?;
            length(field(&mut rest)?)
        }
        "ssh-dss" => length(field(&mut rest)?),
        _ => return None,
    };
    let hash: Vec<String> = Md5::digest(&blob).iter().map(|byte| format!("{byte:02x}")).collect();
    Some((format!("{kind} {encoded}"), format!("{bits} MD5:{} ({kind})", hash.join(":"))))
}

/// The next part of a key: its length, and so many bytes.
fn field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, tail) = rest.split_first_chunk::<4>()?;
    let (part, tail) = tail.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    *rest = tail;
    Some(part)
}

/// How many bits a number has.
fn length(number: &[u8]) -> usize {
    let significant = number.iter().position(|byte| *byte != 0).map_or(&[][..], |first| &number[first..]);
    let top = significant.first().map_or(0, |byte| byte.leading_zeros());
    significant.len() * 8 - usize::try_from(top).unwrap_or(0)
}

impl Scaleway {
    /// The keys that a server of a project gets when it is installed.
    pub(super) fn project_keys(&self, project: &str) -> Vec<String> {
        let keys = self.ssh_keys.all().filter(|key| key.project_id == project && !key.disabled);
        keys.map(|key| key.public_key.clone()).collect()
    }

    pub(super) fn list_ssh_keys(&self, call: &Call, caller: &Token, seen: Time) -> Result<Answer, Refusal> {
        let (field, reverse) = order(call, &["created_at", "updated_at", "name"])?;
        // A key for one project may not ask about all of them.
        if caller.project_id.is_some() && call.parameter("project_id").is_none() {
            return Err(Refusal::permissions("ssh_key", "list"));
        }
        let visible = caller.filter(call, &self.organization_id)?;
        let disabled = match call.parameter("disabled") {
            None => self.rules.list_hides_disabled_keys.then_some(false),
            Some(text) => Some(
                text.parse().map_err(|_| Refusal::argument("disabled", "format", "a boolean is expected"))?,
            ),
        };
        let keys = self.ssh_keys.all_seen(seen).filter(|key| {
            visible(&key.project_id)
                && call.parameter("name").is_none_or(|name| key.name.contains(name))
                && disabled.is_none_or(|disabled| key.disabled == disabled)
        });
        let mut keys: Vec<&SshKey> = keys.collect();
        match field {
            "updated_at" => keys.sort_by_key(|key| key.updated_at),
            "name" => keys.sort_by(|a, b| a.name.cmp(&b.name)),
            _ => keys.sort_by_key(|key| key.created_at),
        }
        if reverse {
            keys.reverse();
        }
        page(call, &self.rules, "ssh_keys", keys.into_iter().map(SshKey::view).collect())
    }

    fn visible_ssh_key(
        &self,
        id: &str,
        caller: &Token,
        action: &str,
        seen: Time,
    ) -> Result<&SshKey, Refusal> {
        let key = self.ssh_keys.seen(id, seen).ok_or_else(|| Refusal::not_found("ssh_key", id))?;
        if caller.sees(&key.project_id) { Ok(key) } else { Err(Refusal::permissions("ssh_key", action)) }
    }

    pub(super) fn get_ssh_key(&self, call: &Call, caller: &Token, seen: Time) -> Result<Answer, Refusal> {
        Ok(Answer::ok(self.visible_ssh_key(call.id(), caller, "read", seen)?.view()))
    }

    pub(super) fn create_ssh_key(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut arguments = Arguments::of(&turn.call.body)?;
        let name = arguments.required("name");
        let public_key = arguments.required("public_key");
        let project_id = arguments.text("project_id").unwrap_or_default();
        if name.chars().count() > NAME_LENGTH {
            arguments.refuse("name", "constraint", "it is too long");
        }
        if public_key.len() > KEY_LENGTH {
            arguments.refuse("public_key", "constraint", "it is too long");
        }
        let parsed = parse(public_key);
        if parsed.is_none() && !public_key.is_empty() {
            arguments.refuse("public_key", "format", "it is no public key of a known type");
        }
        arguments.end()?;
        // Without a project, it is asked for the default one, which a key for one project has nothing to do with.
        if project_id.is_empty() || !turn.caller.sees(project_id) {
            return Err(Refusal::permissions("ssh_key", "write"));
        }
        let id = self.put_ssh_key(name, parsed.unwrap_or_default(), project_id, turn.now);
        Ok(Answer::ok(self.ssh_keys.get(&id).map_or(Value::Null, SshKey::view)))
    }

    pub(super) fn update_ssh_key(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut key = self.visible_ssh_key(turn.call.id(), turn.caller, "write", turn.now)?.clone();
        let mut arguments = Arguments::of(&turn.call.body)?;
        if let Some(name) = arguments.text("name") {
            if name.is_empty() || name.chars().count() > NAME_LENGTH {
                arguments.refuse("name", "constraint", "it must not be empty or too long");
            }
            name.clone_into(&mut key.name);
        }
        if let Some(disabled) = arguments.flag("disabled") {
            key.disabled = disabled;
        }
        arguments.end()?;
        key.updated_at = turn.now;
        let view = key.view();
        self.ssh_keys.put(turn.call.id(), turn.now, Some(key));
        Ok(Answer::ok(view))
    }

    pub(super) fn delete_ssh_key(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        self.visible_ssh_key(turn.call.id(), turn.caller, "write", turn.now)?;
        self.ssh_keys.put(turn.call.id(), turn.now, None);
        Ok(Answer::empty())
    }

    /// Registers a key before the world begins; says whether it is one.
    pub(crate) fn preregister(&mut self, name: &str, public_key: &str, project: &str, now: Time) -> bool {
        let parsed = parse(public_key);
        let is_key = parsed.is_some();
        if let Some(parsed) = parsed {
            self.put_ssh_key(name, parsed, project, now);
        }
        is_key
    }

    fn put_ssh_key(&mut self, name: &str, parsed: (String, String), project: &str, now: Time) -> String {
        let (public_key, fingerprint) = parsed;
        let id = self.id();
        let key = SshKey {
            id: id.clone(),
            name: name.to_owned(),
            public_key,
            fingerprint,
            created_at: now,
            updated_at: now,
            organization_id: self.organization_id.clone(),
            project_id: project.to_owned(),
            disabled: false,
        };
        self.ssh_keys.put(&id, now, Some(key));
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str, parts: &[&[u8]]) -> String {
        let mut blob = Vec::new();
        for part in [kind.as_bytes()].iter().chain(parts) {
            blob.extend(u32::try_from(part.len()).unwrap().to_be_bytes());
            blob.extend(*part);
        }
        format!("{kind} {}", STANDARD.encode(blob))
    }

    #[test]
    fn types_and_bits() {
        let modulus = [&[0, 0xff][..], &[1; 255]].concat();
        let short = [0x0f, 1];
        for (text, expected) in [
            (key("ssh-ed25519", &[&[7; 32]]), Some("256")),
            (key("ecdsa-sha2-nistp521", &[b"nistp521", &[4; 133]]), Some("521")),
            (key("ssh-rsa", &[&[1, 0, 1], &modulus]), Some("2048")),
            (key("ssh-rsa", &[&[1, 0, 1], &short]), Some("12")),
            (key("ssh-dss", &[&modulus]), Some("2048")),
            (key("ssh-rsa", &[&[1, 0, 1]]), None),
            (key("sk-ssh-ed25519@openssh.com", &[&[7; 32]]), None),
            ("ssh-ed25519 !".to_owned(), None),
            (key("ssh-ed25519", &[]).replace("ssh-ed25519 ", "ssh-rsa "), None),
        ] {
            let bits = parse(&text).map(|(_, fingerprint)| fingerprint.split(' ').next().unwrap().to_owned());
            assert_eq!(bits.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn comments_and_line_ends_go() {
        let text = key("ssh-ed25519", &[&[7; 32]]);
        assert_eq!(parse(&format!("{text} me@here\r\n")).unwrap().0, text);
    }
}
