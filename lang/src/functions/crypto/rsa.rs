//! RSA decryption with PKCS #1 v1.5 padding, as cloud vendors encrypt first passwords with it.

use aws_lc_rs::rsa::{Pkcs1PrivateDecryptingKey, PrivateDecryptingKey};
use num_bigint::BigUint;
use pkcs1::der::Encode;
use pkcs1::der::asn1::{OctetStringRef, UintRef};
use pkcs8::PrivateKeyInfoRef;

/// Decrypts bytes with a key in PEM form: PKCS #1, PKCS #8 or OpenSSH's own, without a passphrase.
pub(super) fn decrypt(ciphertext: &[u8], key: &str) -> Result<Vec<u8>, Problem> {
    let pkcs8 = pkcs8(key).map_err(Problem::Key)?;
    let key = PrivateDecryptingKey::from_pkcs8(&pkcs8)
        .and_then(|key| Pkcs1PrivateDecryptingKey::new(key).map_err(aws_lc_rs::error::KeyRejected::from));
    let key =
        key.map_err(|error| Problem::Key(format!("is not a usable RSA key of 2048 to 8192 bits: {error}")))?;
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
    let no_pem = |_| "is not a key in PEM form, or has a passphrase".to_owned();
    let pem = format!("{}\n", pem.trim());
    let label = pem_rfc7468::decode_label(pem.as_bytes()).map_err(no_pem)?;
    if label == "OPENSSH PRIVATE KEY" {
        return wrap(&openssh(&pem)?);
    }
    let (label, der) = pem_rfc7468::decode_vec(pem.as_bytes()).map_err(no_pem)?;
    match label {
        "PRIVATE KEY" => Ok(der),
        "RSA PRIVATE KEY" => wrap(&der),
        "ENCRYPTED PRIVATE KEY" => Err("has a passphrase; decrypt it first".into()),
        _ => Err(format!("is a {label}, but an RSA private key is needed")),
    }
}

/// PKCS #1 → PKCS #8
fn wrap(pkcs1: &[u8]) -> Result<Vec<u8>, String> {
    let encode = || PrivateKeyInfoRef::new(pkcs1::ALGORITHM_ID, OctetStringRef::new(pkcs1)?).to_der();
    encode().map_err(|error| format!("is not an RSA key: {error}"))
}

/// OpenSSH's form → PKCS #1
fn openssh(pem: &str) -> Result<Vec<u8>, String> {
    let key =
        ssh_key::PrivateKey::from_openssh(pem).map_err(|error| format!("is not an OpenSSH key: {error}"))?;
    if key.is_encrypted() {
        return Err("has a passphrase; decrypt it first".into());
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
