//! RSA decryption with PKCS #1 v1.5 padding, as cloud vendors encrypt first passwords with it.

use aws_lc_rs::error::KeyRejected;
use aws_lc_rs::rsa::{Pkcs1PrivateDecryptingKey, PrivateDecryptingKey};
use base64::Engine;
use num_bigint::BigUint;
use pkcs1::der::Encode;
use pkcs1::der::asn1::{OctetStringRef, UintRef};
use pkcs8::PrivateKeyInfoRef;

use crate::functions::encoding::BASE64;

const PASSPHRASE: &str = "has a passphrase; decrypt it first";

/// Decrypts bytes with a key in PEM form: PKCS #1, PKCS #8 or OpenSSH's own, without a passphrase.
pub(super) fn decrypt(ciphertext: &[u8], key: &str) -> Result<Vec<u8>, Problem> {
    let pkcs8 = pkcs8(key).map_err(Problem::Key)?;
    let key = PrivateDecryptingKey::from_pkcs8(&pkcs8)
        .and_then(|key| Pkcs1PrivateDecryptingKey::new(key).map_err(KeyRejected::from))
        .map_err(|_| Problem::Key("is not an RSA key of 2048 to 8192 bits".into()))?;
    let mut plaintext = vec![0; key.min_output_size()];
    let length = key.decrypt(ciphertext, &mut plaintext).map_err(|_| Problem::Ciphertext)?.len();
    plaintext.truncate(length);
    Ok(plaintext)
}

/// Why something cannot be decrypted.
pub(super) enum Problem {
    /// The key is not one.
    Key(String),
    /// The text was not encrypted for this key.
    Ciphertext,
}

/// The key in the form that the cryptographic library reads.
fn pkcs8(pem: &str) -> Result<Vec<u8>, String> {
    let (label, content) = unarmor(pem).ok_or("is not a key in PEM form")?;
    if content.contains("ENCRYPTED") || label == "ENCRYPTED PRIVATE KEY" {
        return Err(PASSPHRASE.into());
    }
    let compact: String = content.split_ascii_whitespace().collect();
    let der = BASE64.decode(compact).map_err(|_| "is not a key in PEM form")?;
    match label {
        "PRIVATE KEY" => Ok(der),
        "RSA PRIVATE KEY" => wrap(&der),
        "OPENSSH PRIVATE KEY" => wrap(&openssh(&der)?),
        _ => Err(format!("is a {}, but an RSA private key is needed", label.to_lowercase())),
    }
}

/// The label and the content of a PEM text. Its lines may have any length and others may stand around it.
fn unarmor(pem: &str) -> Option<(&str, &str)> {
    let (_, after) = pem.split_once("-----BEGIN ")?;
    let (label, after) = after.split_once("-----")?;
    let (content, _) = after.split_once(&format!("-----END {label}-----"))?;
    Some((label, content))
}

/// PKCS #1 → PKCS #8
fn wrap(pkcs1: &[u8]) -> Result<Vec<u8>, String> {
    let encode = || PrivateKeyInfoRef::new(pkcs1::ALGORITHM_ID, OctetStringRef::new(pkcs1)?).to_der();
    encode().map_err(|error| format!("is not an RSA key: {error}"))
}

/// OpenSSH's form → PKCS #1
fn openssh(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let key = ssh_key::PrivateKey::from_bytes(bytes).map_err(|_| "is not a key as OpenSSH writes it")?;
    if key.is_encrypted() {
        return Err(PASSPHRASE.into());
    }
    let Some(pair) = key.key_data().rsa() else {
        return Err(format!("is an {} key, but an RSA key is needed", key.algorithm()));
    };
    let number =
        |mpint: &ssh_key::Mpint| BigUint::from_bytes_be(mpint.as_positive_bytes().unwrap_or_default());
    let private = &pair.private;
    let (d, p, q) = (number(&private.d), number(&private.p), number(&private.q));
    let one = BigUint::from(1_u32);
    if p <= one || q <= one {
        return Err("is not an RSA key".into());
    }
    // The form of PKCS #1 also holds what OpenSSH leaves to be computed.
    let numbers = [
        number(&pair.public.n),
        number(&pair.public.e),
        d.clone(),
        p.clone(),
        q.clone(),
        &d % (&p - &one),
        &d % (&q - &one),
        number(&private.iqmp),
    ]
    .map(|number| number.to_bytes_be());
    let encode = || {
        let [modulus, public_exponent, private_exponent, prime1, prime2, exponent1, exponent2, coefficient] =
            [0, 1, 2, 3, 4, 5, 6, 7].map(|index: usize| UintRef::new(&numbers[index]));
        pkcs1::RsaPrivateKey {
            modulus: modulus?,
            public_exponent: public_exponent?,
            private_exponent: private_exponent?,
            prime1: prime1?,
            prime2: prime2?,
            exponent1: exponent1?,
            exponent2: exponent2?,
            coefficient: coefficient?,
            other_prime_infos: None,
        }
        .to_der()
    };
    encode().map_err(|error| format!("is not an RSA key: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "päss \"word\"";

    fn decrypted(key: &str) -> Result<String, String> {
        let ciphertext = BASE64.decode(include_str!("testdata/ciphertext.txt").trim()).unwrap();
        match decrypt(&ciphertext, key) {
            Ok(plaintext) => Ok(String::from_utf8(plaintext).unwrap()),
            Err(Problem::Key(message)) => Err(message),
            Err(Problem::Ciphertext) => Err("ciphertext".into()),
        }
    }

    #[test]
    fn keys_in_all_forms_decrypt() {
        let pkcs1 = include_str!("testdata/pkcs1.pem");
        let one_line =
            pkcs1.replace('\n', " ").replace("KEY----- ", "KEY-----\n").replace(" -----END", "\n-----END");
        for key in [
            pkcs1,
            include_str!("testdata/pkcs8.pem"),
            include_str!("testdata/openssh.pem"),
            &pkcs1.replace('\n', "\r\n"),
            &format!("a key:\n\n{pkcs1}trailing"),
            &one_line,
        ] {
            assert_eq!(decrypted(key).as_deref(), Ok(MESSAGE), "{key}");
        }
    }

    #[test]
    fn other_keys_are_refused() {
        let check = |key: &str, expected: &str| assert_eq!(decrypted(key).unwrap_err(), expected, "{key}");
        check("", "is not a key in PEM form");
        check("-----BEGIN RSA PRIVATE KEY-----", "is not a key in PEM form");
        check(
            "-----BEGIN RSA PRIVATE KEY-----\n*\n-----END RSA PRIVATE KEY-----",
            "is not a key in PEM form",
        );
        check(
            "-----BEGIN RSA PRIVATE KEY-----\nYWJj\n-----END RSA PRIVATE KEY-----",
            "is not an RSA key of 2048 to 8192 bits",
        );
        check(
            "-----BEGIN PUBLIC KEY-----\nYWJj\n-----END PUBLIC KEY-----",
            "is a public key, but an RSA private key is needed",
        );
        check("-----BEGIN ENCRYPTED PRIVATE KEY-----\nYWJj\n-----END ENCRYPTED PRIVATE KEY-----", PASSPHRASE);
        check(
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nYWJj\n-----END RSA PRIVATE KEY-----",
            PASSPHRASE,
        );
        let pkcs1 = include_str!("testdata/pkcs1.pem");
        assert!(matches!(decrypt(b"short", pkcs1), Err(Problem::Ciphertext)));
    }
}
