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
    use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
    use aws_lc_rs::rsa::{KeySize, Pkcs1PublicEncryptingKey};
    use pkcs1::der::Decode;
    use ssh_key::Mpint;
    use ssh_key::private::{Ed25519Keypair, Ed25519PrivateKey, KeypairData, RsaKeypair, RsaPrivateKey};
    use ssh_key::public::{Ed25519PublicKey, RsaPublicKey};

    use super::*;

    const MESSAGE: &str = "päss \"word\"";

    /// A key made for the test in each form it may be given in, and the message encrypted for it.
    struct Keys {
        pkcs1: String,
        pkcs8: String,
        openssh: String,
        ciphertext: Vec<u8>,
    }

    impl Keys {
        fn generate() -> Keys {
            let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
            let public = Pkcs1PublicEncryptingKey::new(key.public_key()).unwrap();
            let mut ciphertext = vec![0; public.ciphertext_size()];
            public.encrypt(MESSAGE.as_bytes(), &mut ciphertext).unwrap();
            let pkcs8 = AsDer::<Pkcs8V1Der<'_>>::as_der(&key).unwrap();
            let pkcs1 = PrivateKeyInfoRef::from_der(pkcs8.as_ref()).unwrap().private_key.as_bytes();
            Keys {
                pkcs1: armor("RSA PRIVATE KEY", pkcs1),
                pkcs8: armor("PRIVATE KEY", pkcs8.as_ref()),
                openssh: armor_openssh(rsa_pair(pkcs1)),
                ciphertext,
            }
        }

        fn decrypted(&self, key: &str) -> Result<String, String> {
            match decrypt(&self.ciphertext, key) {
                Ok(plaintext) => Ok(String::from_utf8(plaintext).unwrap()),
                Err(Problem::Key(message)) => Err(message),
                Err(Problem::Ciphertext) => Err("ciphertext".into()),
            }
        }
    }

    fn armor(label: &str, der: &[u8]) -> String {
        let base64 = BASE64.encode(der);
        let lines: Vec<&str> =
            base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        armor_text(label, &lines.join("\n"))
    }

    fn armor_text(label: &str, content: &str) -> String {
        format!("-----BEGIN {label}-----\n{content}\n-----END {label}-----\n")
    }

    fn armor_openssh(pair: impl Into<KeypairData>) -> String {
        let key = ssh_key::PrivateKey::new(pair.into(), "a comment").unwrap();
        key.to_openssh(ssh_key::LineEnding::LF).unwrap().to_string()
    }

    fn rsa_pair(pkcs1: &[u8]) -> RsaKeypair {
        let key = pkcs1::RsaPrivateKey::from_der(pkcs1).unwrap();
        let number = |number: UintRef<'_>| Mpint::from_positive_bytes(number.as_bytes()).unwrap();
        RsaKeypair {
            public: RsaPublicKey { e: number(key.public_exponent), n: number(key.modulus) },
            private: RsaPrivateKey {
                d: number(key.private_exponent),
                iqmp: number(key.coefficient),
                p: number(key.prime1),
                q: number(key.prime2),
            },
        }
    }

    #[test]
    fn keys_in_all_forms_decrypt() {
        let keys = Keys::generate();
        let pkcs1 = &keys.pkcs1;
        let one_line =
            pkcs1.replace('\n', " ").replace("KEY----- ", "KEY-----\n").replace(" -----END", "\n-----END");
        for (form, key) in [
            ("PKCS #1", pkcs1),
            ("PKCS #8", &keys.pkcs8),
            ("OpenSSH", &keys.openssh),
            ("lines of another system", &pkcs1.replace('\n', "\r\n")),
            ("text around", &format!("a key:\n\n{pkcs1}trailing")),
            ("one line", &one_line),
        ] {
            assert_eq!(keys.decrypted(key).as_deref(), Ok(MESSAGE), "{form}");
        }
    }

    #[test]
    fn only_the_right_key_decrypts() {
        let keys = Keys::generate();
        assert!(matches!(decrypt(b"short", &keys.pkcs1), Err(Problem::Ciphertext)));
        // Another key may by chance find a padding in what it makes of the bytes, but never the message.
        let other = decrypt(&keys.ciphertext, &Keys::generate().pkcs1).ok();
        assert_ne!(other.as_deref(), Some(MESSAGE.as_bytes()));
    }

    #[test]
    fn other_keys_are_refused() {
        let check = |key: &str, expected: &str| match decrypt(b"", key) {
            Err(Problem::Key(message)) => assert_eq!(message, expected, "{key}"),
            _ => panic!("{key} is taken for a key"),
        };
        let rsa = |content: &str| armor_text("RSA PRIVATE KEY", content);
        check("", "is not a key in PEM form");
        check(rsa("").split_once("-----END").unwrap().0, "is not a key in PEM form");
        check(&rsa("*"), "is not a key in PEM form");
        check(&rsa("YWJj"), "is not an RSA key of 2048 to 8192 bits");
        check(&armor("PUBLIC KEY", b"abc"), "is a public key, but an RSA private key is needed");
        check(&armor("ENCRYPTED PRIVATE KEY", b"abc"), PASSPHRASE);
        check(&rsa("Proc-Type: 4,ENCRYPTED\n\nYWJj"), PASSPHRASE);
        check(&armor("OPENSSH PRIVATE KEY", b"abc"), "is not a key as OpenSSH writes it");
        // The two belong together: whoever can tell would refuse others as damaged.
        let public = "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394";
        let pair = Ed25519Keypair {
            public: Ed25519PublicKey(hex::decode(public).unwrap().try_into().unwrap()),
            private: Ed25519PrivateKey::from_bytes(&[2; 32]),
        };
        check(&armor_openssh(pair), "is an ssh-ed25519 key, but an RSA key is needed");
    }
}
