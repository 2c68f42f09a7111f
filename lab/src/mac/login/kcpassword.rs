//! The password of whoever is logged in by itself, hidden from nobody: each byte is combined with one of a fixed key.

/// Combined with the bytes of the password, over and over.
const KEY: [u8; 11] = [0x7d, 0x89, 0x52, 0x23, 0xd2, 0xbc, 0xdd, 0xea, 0xa3, 0xb9, 0x1f];

/// What macOS puts in the place of a password that did not let anybody in.
pub(in crate::mac) const SEALED: &str = "<sealed>";

/// The file for a password: padded to the next multiple of the key's length, so that at least one NUL ends it.
pub(in crate::mac) fn encode(password: &str) -> Vec<u8> {
    let mut bytes = password.as_bytes().to_vec();
    bytes.resize((bytes.len() / KEY.len() + 1) * KEY.len(), 0);
    bytes.iter().zip(KEY.iter().cycle()).map(|(byte, key)| byte ^ key).collect()
}

/// The password in a file: what stands before the first NUL. A file without one says nothing.
pub(in crate::mac) fn decode(file: &[u8]) -> Option<Vec<u8>> {
    let plain: Vec<u8> = file.iter().zip(KEY.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
    let end = plain.iter().position(|byte| *byte == 0)?;
    Some(plain[..end].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_always_followed_by_a_nul() {
        for (password, length) in [("", 11), ("hunter2", 11), ("ten-bytes!", 11), ("eleven byte", 22)] {
            let file = encode(password);
            assert_eq!(file.len(), length, "{password}");
            assert_eq!(decode(&file).unwrap(), password.as_bytes(), "{password}");
        }
        assert_eq!(encode("m1")[..3], [0x7d ^ b'm', 0x89 ^ b'1', 0x52]);
        assert_eq!(decode(&encode("eleven byte")[..11]), None);
    }
}
