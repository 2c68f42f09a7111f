//! Values and texts in the encodings of others.

mod charset;
mod csv;
pub(super) mod json;
mod yaml_read;
mod yaml_write;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use flate2::Compression;
use flate2::write::GzEncoder;

use self::charset::Charset;
use super::{Body, CallError, Function, Group, Param, ParamType, Returns, args};
use crate::{Type, Value};

/// Base64 with padding, which does not mind bits set in what is padded.
pub(super) const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

const TEXT: Param = Param::new("text", ParamType::String);

/// A value of any type, `null` included, with everything in it known.
const VALUE: Param = Param::new("value", ParamType::Any).null().untyped().wholly_known();

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "base64decode",
        group: Group::Encoding,
        doc: "The text that a Base64 string stands for. It must be UTF-8; line breaks in the string are ignored.",
        examples: &[("base64decode(\"SGVsbG8gV29ybGQ=\")", "\"Hello World\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(base64decode),
    },
    Function {
        name: "base64encode",
        group: Group::Encoding,
        doc: "The bytes of a text in UTF-8 as Base64.",
        examples: &[("base64encode(\"Hello World\")", "\"SGVsbG8gV29ybGQ=\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| text(BASE64.encode(args::string(args, 0)))),
    },
    Function {
        name: "base64gzip",
        group: Group::Encoding,
        doc: "The bytes of a text in UTF-8, compressed with gzip, as Base64. It is the same for the same text, but not \
              necessarily for other versions of this program.",
        examples: &[("startswith(base64gzip(\"Hello World\"), \"H4sI\")", "true")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(base64gzip),
    },
    Function {
        name: "csvdecode",
        group: Group::Encoding,
        doc: "The records of a CSV text as a list of objects, whose attributes are named by the text's first line. All \
              values are strings.",
        examples: &[(
            "csvdecode(\"a,b\\n1,2\\n3,4\\n\")",
            "tolist([\n  {\n    \"a\" = \"1\"\n    \"b\" = \"2\"\n  },\n  {\n    \"a\" = \"3\"\n    \"b\" = \"4\"\n  },\n])",
        )],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Depends(|args| type_of(args, csvdecode)),
        body: Body::Pure(csvdecode),
    },
    Function {
        name: "jsondecode",
        group: Group::Encoding,
        doc: "The value that a JSON text stands for. Arrays become tuples and objects objects; numbers keep all of \
              their digits.",
        examples: &[
            ("jsondecode(\"{\\\"hello\\\": [1, true]}\").hello[0]", "1"),
            ("jsondecode(\"true\")", "true"),
        ],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Depends(|args| type_of(args, jsondecode)),
        body: Body::Pure(jsondecode),
    },
    Function {
        name: "jsonencode",
        group: Group::Encoding,
        doc: "A value as JSON, without spaces and with the keys in order. `<`, `>` and `&` are written as escapes.",
        examples: &[(
            "jsonencode({ b = [1, null], a = \"<\" })",
            "\"{\\\"a\\\":\\\"\\\\u003c\\\",\\\"b\\\":[1,null]}\"",
        )],
        params: &[VALUE],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(jsonencode),
    },
    Function {
        name: "textdecodebase64",
        group: Group::Encoding,
        doc: "The text that a Base64 string stands for in a character set, given by its name in the IANA registry, such \
              as `UTF-16LE` or `windows-1252`.",
        examples: &[("textdecodebase64(\"SABlAGwAbABvAA==\", \"UTF-16LE\")", "\"Hello\"")],
        params: &[TEXT, Param::new("charset", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(textdecodebase64),
    },
    Function {
        name: "textencodebase64",
        group: Group::Encoding,
        doc: "The bytes of a text in a character set as Base64. The character set is given by its name in the IANA \
              registry, such as `UTF-16LE` or `windows-1252`.",
        examples: &[("textencodebase64(\"Hello\", \"UTF-16LE\")", "\"SABlAGwAbABvAA==\"")],
        params: &[TEXT, Param::new("charset", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(textencodebase64),
    },
    Function {
        name: "urlencode",
        group: Group::Encoding,
        doc: "A text as it may stand in the query of a URL: a space becomes `+`, most punctuation and everything \
              outside of ASCII `%` and two digits for each byte.",
        examples: &[("urlencode(\"a b&c/é\")", "\"a+b%26c%2F%C3%A9\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(urlencode),
    },
    Function {
        name: "yamldecode",
        group: Group::Encoding,
        doc: "The value that a YAML document stands for. Sequences become tuples and mappings objects.\n\nWithout \
              quotes, `yes`, `on` and their opposites are bools, and dates become timestamps. Anchors, aliases and \
              the merge key `<<` are followed; tags other than YAML's own are refused.",
        examples: &[("yamldecode(\"hello: [1, yes]\").hello[1]", "true"), ("yamldecode(\"true\")", "true")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Depends(|args| type_of(args, yamldecode)),
        body: Body::Pure(yamldecode),
    },
    Function {
        name: "yamlencode",
        group: Group::Encoding,
        doc: "A value as a YAML document, in block style with every string quoted. For YAML that others compare byte \
              by byte use `jsonencode`: JSON is YAML too.",
        examples: &[(
            "yamlencode({ a = \"b\", c = [1, true] })",
            "<<EOT\n\"a\": \"b\"\n\"c\":\n- 1\n- true\n\nEOT",
        )],
        params: &[VALUE],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(yamlencode),
    },
];

/// A text in the normal form that all strings and keys have.
fn normal(text: &str) -> Arc<str> {
    use unicode_normalization::{UnicodeNormalization, is_nfc};
    if is_nfc(text) { text.into() } else { text.nfc().collect::<String>().into() }
}

fn text(text: impl AsRef<str>) -> Result<Value, CallError> {
    Ok(Value::from(text.as_ref()))
}

/// The type of what a decoder makes of its text; any, as long as the text is unknown.
fn type_of(args: &[Value], decode: fn(&[Value]) -> Result<Value, CallError>) -> Result<Type, CallError> {
    if args.iter().all(Value::is_known) { Ok(decode(args)?.ty()) } else { Ok(Type::Any) }
}

/// The bytes of a Base64 argument.
pub(super) fn bytes(args: &[Value], index: usize) -> Result<Vec<u8>, CallError> {
    let compact: String = args::string(args, index).split(['\n', '\r']).collect();
    BASE64.decode(compact).map_err(|error| CallError::arg(index, format!("is not Base64: {error}")))
}

fn base64decode(args: &[Value]) -> Result<Value, CallError> {
    match String::from_utf8(bytes(args, 0)?) {
        Ok(decoded) => text(decoded),
        Err(_) => Err(CallError::arg(0, "stands for bytes that are not UTF-8, which a string cannot hold")),
    }
}

fn base64gzip(args: &[Value]) -> Result<Value, CallError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let compressed = encoder.write_all(args::string(args, 0).as_bytes()).and_then(|()| encoder.finish());
    text(BASE64.encode(compressed.expect("memory takes every write")))
}

fn csvdecode(args: &[Value]) -> Result<Value, CallError> {
    let problem = |message: String| CallError::arg(0, message);
    let mut records = csv::records(args::string(args, 0)).map_err(problem)?.into_iter();
    let Some(header) = records.next() else {
        return Err(problem("has no line that names the columns".into()));
    };
    let names: Vec<Arc<str>> = header.iter().map(|name| normal(name)).collect();
    let ty = Type::object(names.iter().map(|name| (name.clone(), Type::String)).collect());
    let mut seen = BTreeSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
        return Err(problem(format!("has two columns named \"{name}\"")));
    }
    let object = |(position, record): (usize, Vec<String>)| {
        if record.len() != names.len() {
            let (found, wanted) = (record.len(), names.len());
            return Err(problem(format!("record {} has {found} fields instead of {wanted}", position + 1)));
        }
        let fields = record.iter().map(|field| Value::from(field.as_str()));
        Ok(Value::object(names.iter().cloned().zip(fields).collect()))
    };
    Ok(Value::list(ty, records.enumerate().map(object).collect::<Result<_, _>>()?))
}

fn jsondecode(args: &[Value]) -> Result<Value, CallError> {
    json::decode(args::string(args, 0)).map_err(|problem| CallError::arg(0, problem))
}

fn jsonencode(args: &[Value]) -> Result<Value, CallError> {
    let mut out = String::new();
    json::encode(&args[0], &mut out).map_err(|problem| CallError::arg(0, problem))?;
    text(out)
}

fn named_charset(args: &[Value]) -> Result<Charset, CallError> {
    let name = args::string(args, 1);
    Charset::named(name).ok_or_else(|| {
        CallError::arg(
            1,
            format!("there is no character set \"{name}\" in the IANA registry, or it is not supported"),
        )
    })
}

fn textdecodebase64(args: &[Value]) -> Result<Value, CallError> {
    let charset = named_charset(args)?;
    match charset.decode(&bytes(args, 0)?) {
        Some(decoded) => text(decoded),
        None => {
            Err(CallError::arg(0, format!("stands for bytes that are no text in {}", args::string(args, 1))))
        }
    }
}

fn textencodebase64(args: &[Value]) -> Result<Value, CallError> {
    match named_charset(args)?.encode(args::string(args, 0)) {
        Ok(bytes) => text(BASE64.encode(bytes)),
        Err(c) => Err(CallError::arg(0, format!("{} has no character {c:?}", args::string(args, 1)))),
    }
}

fn urlencode(args: &[Value]) -> Result<Value, CallError> {
    let mut out = String::new();
    for byte in args::string(args, 0).bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    text(out)
}

fn yamldecode(args: &[Value]) -> Result<Value, CallError> {
    yaml_read::decode(args::string(args, 0)).map_err(|problem| CallError::arg(0, problem))
}

fn yamlencode(args: &[Value]) -> Result<Value, CallError> {
    yaml_write::encode(&args[0]).map_err(|problem| CallError::arg(0, problem)).and_then(text)
}
