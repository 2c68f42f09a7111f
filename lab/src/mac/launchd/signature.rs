//! Code signatures, and what the kernel remembers of them.
//!
//! A signed file ends with a line of its own: who it is, and the hash of all before that line. So a signature changes the
//! file, a change of the file breaks the signature, and both can be seen in the file alone. The real one is a part of the
//! program as well.
//!
//! The kernel checks a program once and remembers the hash with the file's identity. Who then writes other bytes into the
//! same file leaves the old hash, and the kernel ends whatever is started from it. A new file by the same name is fine.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::mac::Mac;
use crate::mac::disk::identity;

/// How the line of a signature begins.
const MARK: &[u8] = b"\n#lab-signature adhoc ";

/// What a file says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mac) enum Signature {
    /// Nothing.
    None,
    /// The line does not fit the rest.
    Broken,
    /// Sound.
    Valid {
        /// Who it is.
        identifier: String,
        /// Its hash: 40 hexadecimal digits.
        cdhash: String,
    },
}

/// The file without its signature.
fn unsigned(file: &[u8]) -> &[u8] {
    let at = file.windows(MARK.len()).rposition(|window| window == MARK);
    at.map_or(file, |at| &file[..at])
}

fn hash(content: &[u8], identifier: &str) -> String {
    let digest = Sha256::new().chain_update(content).chain_update(identifier).finalize();
    digest.iter().take(20).map(|byte| format!("{byte:02x}")).collect()
}

/// The file with a new ad-hoc signature.
#[must_use]
pub fn sign(file: &[u8], identifier: &str) -> Vec<u8> {
    let content = unsigned(file);
    let line = format!("{identifier} {}\n", hash(content, identifier));
    [content, MARK, line.as_bytes()].concat()
}

impl Signature {
    /// Reads it.
    pub(in crate::mac) fn of(file: &[u8]) -> Signature {
        let content = unsigned(file);
        if content.len() == file.len() {
            return Signature::None;
        }
        let line = String::from_utf8_lossy(&file[content.len() + MARK.len()..]).into_owned();
        match line.trim_end().rsplit_once(' ') {
            Some((identifier, cdhash)) if cdhash == hash(content, identifier) => {
                Signature::Valid { identifier: identifier.to_owned(), cdhash: cdhash.to_owned() }
            }
            _ => Signature::Broken,
        }
    }
}

/// Whether the kernel lets a file run: the hash of its signature, or nothing if it ends it.
pub(in crate::mac) fn admit(mac: &Mac, path: &Path, file: &[u8]) -> Option<String> {
    let identity = identity(path).ok()?;
    let found = Signature::of(file);
    let mut live = mac.live();
    let code = &mut live.as_mut()?.launchd.code;
    let Signature::Valid { cdhash, .. } = found else { return None };
    (*code.entry(identity).or_insert_with(|| cdhash.clone()) == cdhash).then_some(cdhash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_for_one_content() {
        assert_eq!(Signature::of(b"program"), Signature::None);
        let signed = sign(b"program", "agent");
        assert_ne!(signed, b"program");
        let Signature::Valid { identifier, cdhash } = Signature::of(&signed) else { panic!("{signed:?}") };
        assert_eq!((identifier.as_str(), cdhash.len()), ("agent", 40));
        assert_eq!(sign(&signed, "agent"), signed, "a new signature takes the place of the old one");
        let mut changed = signed.clone();
        changed[0] = b'P';
        assert_eq!(Signature::of(&changed), Signature::Broken);
        let other = sign(b"another", "agent");
        assert_ne!(Signature::of(&other), Signature::of(&signed));
    }
}
