//! Hashes, encryption and identifiers.

mod rsa;

use base64::Engine;
use bcrypt::Version;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use uuid::Uuid;

use super::encoding::{BASE64, bytes};
use super::{Body, CallError, Function, Group, Param, ParamType, Returns, args, filesystem};
use crate::{Outside, Type, Value};

/// The largest cost of `bcrypt`; it takes about a minute, and each further step twice as long.
const MAX_COST: i64 = 20;

const TEXT: Param = Param::new("text", ParamType::String);

const PATH: Param = Param::new("path", ParamType::String);

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "base64sha256",
        group: Group::HashCrypto,
        doc: "The SHA-256 hash of a text in UTF-8 as Base64. It is not `base64encode(sha256(…))`, which encodes \
              the digits.",
        examples: &[("base64sha256(\"hello world\")", "\"uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| base64::<Sha256>(args::string(args, 0).as_bytes())),
    },
    Function {
        name: "base64sha512",
        group: Group::HashCrypto,
        doc: "The SHA-512 hash of a text in UTF-8 as Base64. It is not `base64encode(sha512(…))`, which encodes \
              the digits.",
        examples: &[(
            "base64sha512(\"hello world\")",
            "\"MJ7MSJwS1utMxA9QyQLytNDtd+5RGnx6m808qG1M2G+YndNbxf9JlnDaNCVbRbDP2DDoH2Bdz33FVC6TrpzXbw==\"",
        )],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| base64::<Sha512>(args::string(args, 0).as_bytes())),
    },
    Function {
        name: "bcrypt",
        group: Group::HashCrypto,
        doc: "The bcrypt hash of a password of at most 72 bytes, with a random salt. The optional cost, 10 \
              unless given, doubles the work with every step; it goes up to 20. The hash is another one at every \
              call and not known before the plan is applied.",
        examples: &[("length(bcrypt(\"hello world\", 4))", "60")],
        params: &[Param::new("password", ParamType::String)],
        variadic: Some(Param::new("cost", ParamType::Number)),
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(hash_password),
    },
    Function {
        name: "filebase64sha256",
        group: Group::HashCrypto,
        doc: "The SHA-256 hash of a file as Base64.",
        examples: &[("filebase64sha256(\"hello.txt\")", "\"uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=\"")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, args| base64::<Sha256>(&file(outside, args)?)),
    },
    Function {
        name: "filebase64sha512",
        group: Group::HashCrypto,
        doc: "The SHA-512 hash of a file as Base64.",
        examples: &[(
            "filebase64sha512(\"hello.txt\")",
            "\"MJ7MSJwS1utMxA9QyQLytNDtd+5RGnx6m808qG1M2G+YndNbxf9JlnDaNCVbRbDP2DDoH2Bdz33FVC6TrpzXbw==\"",
        )],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, args| base64::<Sha512>(&file(outside, args)?)),
    },
    Function {
        name: "filemd5",
        group: Group::HashCrypto,
        doc: "The MD5 hash of a file, in hexadecimal digits. Unlike `md5(file(…))` it reads files that are not \
              UTF-8 too.",
        examples: &[("filemd5(\"hello.txt\")", "\"5eb63bbbe01eeed093cb22bb8f5acdc3\"")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, args| hexadecimal::<Md5>(&file(outside, args)?)),
    },
    Function {
        name: "filesha1",
        group: Group::HashCrypto,
        doc: "The SHA-1 hash of a file, in hexadecimal digits. Unlike `sha1(file(…))` it reads files that are \
              not UTF-8 too.",
        examples: &[("filesha1(\"hello.txt\")", "\"2aae6c35c94fcfb415dbe95f408b9ce91ee846ed\"")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, args| hexadecimal::<Sha1>(&file(outside, args)?)),
    },
    Function {
        name: "filesha256",
        group: Group::HashCrypto,
        doc: "The SHA-256 hash of a file, in hexadecimal digits. Unlike `sha256(file(…))` it reads files that \
              are not UTF-8 too.",
        examples: &[(
            "filesha256(\"hello.txt\")",
            "\"b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9\"",
        )],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, args| hexadecimal::<Sha256>(&file(outside, args)?)),
    },
    Function {
        name: "filesha512",
        group: Group::HashCrypto,
        doc: "The SHA-512 hash of a file, in hexadecimal digits. Unlike `sha512(file(…))` it reads files that \
              are not UTF-8 too.",
        examples: &[(
            "filesha512(\"hello.txt\")",
            "\"309ecc489c12d6eb4cc40f50c902f2b4d0ed77ee511a7c7a9bcd3ca86d4cd86f989dd35bc5ff499670da34255b45b0cfd830e81f605dcf7dc5542e93ae9cd76f\"",
        )],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, args| hexadecimal::<Sha512>(&file(outside, args)?)),
    },
    Function {
        name: "md5",
        group: Group::HashCrypto,
        doc: "The MD5 hash of a text in UTF-8, in hexadecimal digits. It is no protection against anybody who \
              wants to find another text with the same hash.",
        examples: &[("md5(\"hello world\")", "\"5eb63bbbe01eeed093cb22bb8f5acdc3\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| hexadecimal::<Md5>(args::string(args, 0).as_bytes())),
    },
    Function {
        name: "rsadecrypt",
        group: Group::HashCrypto,
        doc: "The text that was encrypted for an RSA key with the padding of PKCS #1 v1.5, given as Base64. The \
              private key must be in PEM form, as PKCS #1, PKCS #8 or OpenSSH write it, have at least 2048 bits \
              and no passphrase.",
        examples: &[("can(rsadecrypt(\"bm8=\", \"no key\"))", "false")],
        params: &[Param::new("ciphertext", ParamType::String), Param::new("key", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(rsadecrypt),
    },
    Function {
        name: "sha1",
        group: Group::HashCrypto,
        doc: "The SHA-1 hash of a text in UTF-8, in hexadecimal digits. It is no protection against anybody who \
              wants to find another text with the same hash.",
        examples: &[("sha1(\"hello world\")", "\"2aae6c35c94fcfb415dbe95f408b9ce91ee846ed\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| hexadecimal::<Sha1>(args::string(args, 0).as_bytes())),
    },
    Function {
        name: "sha256",
        group: Group::HashCrypto,
        doc: "The SHA-256 hash of a text in UTF-8, in hexadecimal digits.",
        examples: &[(
            "sha256(\"hello world\")",
            "\"b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9\"",
        )],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| hexadecimal::<Sha256>(args::string(args, 0).as_bytes())),
    },
    Function {
        name: "sha512",
        group: Group::HashCrypto,
        doc: "The SHA-512 hash of a text in UTF-8, in hexadecimal digits.",
        examples: &[(
            "sha512(\"hello world\")",
            "\"309ecc489c12d6eb4cc40f50c902f2b4d0ed77ee511a7c7a9bcd3ca86d4cd86f989dd35bc5ff499670da34255b45b0cfd830e81f605dcf7dc5542e93ae9cd76f\"",
        )],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| hexadecimal::<Sha512>(args::string(args, 0).as_bytes())),
    },
    Function {
        name: "uuid",
        group: Group::HashCrypto,
        doc: "A random identifier in the form of a UUID. It is another one at every call and not known before \
              the plan is applied; `uuidv5` gives lasting ones.",
        examples: &[("length(uuid())", "36")],
        params: &[],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(random_uuid),
    },
    Function {
        name: "uuidv5",
        group: Group::HashCrypto,
        doc: "The UUID of version 5 that a name has in a namespace, always the same. The namespace is `dns`, \
              `url`, `oid`, `x500` or a UUID.",
        examples: &[
            ("uuidv5(\"dns\", \"www.terraform.io\")", "\"a5008fae-b28c-5ba5-96cd-82b4c53552d6\""),
            (
                "uuidv5(\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\", \"www.terraform.io\")",
                "\"a5008fae-b28c-5ba5-96cd-82b4c53552d6\"",
            ),
        ],
        params: &[Param::new("namespace", ParamType::String), Param::new("name", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(named_uuid),
    },
];

fn hexadecimal<D: Digest>(bytes: &[u8]) -> Result<Value, CallError> {
    Ok(Value::from(hex::encode(D::digest(bytes)).as_str()))
}

fn base64<D: Digest>(bytes: &[u8]) -> Result<Value, CallError> {
    Ok(Value::from(BASE64.encode(D::digest(bytes)).as_str()))
}

/// The content of the file whose path is the first argument.
fn file(outside: &dyn Outside, args: &[Value]) -> Result<Vec<u8>, CallError> {
    filesystem::read(outside, args::string(args, 0))
}

fn hash_password(outside: &dyn Outside, args: &[Value]) -> Result<Value, CallError> {
    let cost = match args.len() {
        1 => 10,
        2 => args::whole(args, 1)?,
        _ => return Err(CallError::arg(2, "is one cost too many")),
    };
    if cost > MAX_COST {
        return Err(CallError::arg(1, format!("must be at most {MAX_COST}, but is {cost}")));
    }
    // Costs below bcrypt's own least are no reason to fail, nor to do too little.
    let cost = u32::try_from(cost).ok().filter(|cost| *cost >= 4).unwrap_or(10);
    let password = args::string(args, 0);
    if password.len() > 72 {
        return Err(CallError::arg(0, "must have at most 72 bytes, since bcrypt ignores all further ones"));
    }
    if !outside.fickle() {
        return Ok(Value::unknown(Type::String));
    }
    let mut salt = [0; 16];
    outside.random(&mut salt);
    match bcrypt::hash_with_salt(password, cost, salt) {
        Ok(hash) => Ok(Value::from(hash.format_for_version(Version::TwoA).as_str())),
        Err(error) => Err(CallError::new(format!("bcrypt failed: {error}"))),
    }
}

fn rsadecrypt(args: &[Value]) -> Result<Value, CallError> {
    let plaintext =
        rsa::decrypt(&bytes(args, 0)?, args::string(args, 1)).map_err(|problem| match problem {
            rsa::Problem::Key(message) => CallError::arg(1, message),
            rsa::Problem::Ciphertext => CallError::arg(0, "was not encrypted for this key, or is damaged"),
        })?;
    match String::from_utf8(plaintext) {
        Ok(text) => Ok(Value::from(text.as_str())),
        Err(_) => Err(CallError::arg(0, "stands for bytes that are not UTF-8, which a string cannot hold")),
    }
}

fn random_uuid(outside: &dyn Outside, _: &[Value]) -> Result<Value, CallError> {
    if !outside.fickle() {
        return Ok(Value::unknown(Type::String));
    }
    let mut bytes = [0; 16];
    outside.random(&mut bytes);
    Ok(Value::from(Uuid::from_bytes(bytes).to_string().as_str()))
}

fn named_uuid(args: &[Value]) -> Result<Value, CallError> {
    let name = args::string(args, 0);
    let namespace = match name {
        "dns" => Uuid::NAMESPACE_DNS,
        "url" => Uuid::NAMESPACE_URL,
        "oid" => Uuid::NAMESPACE_OID,
        "x500" => Uuid::NAMESPACE_X500,
        _ => Uuid::parse_str(name).map_err(|_| {
            CallError::arg(
                0,
                format!("must be \"dns\", \"url\", \"oid\", \"x500\" or a UUID, but is \"{name}\""),
            )
        })?,
    };
    Ok(Value::from(Uuid::new_v5(&namespace, args::string(args, 1).as_bytes()).to_string().as_str()))
}
