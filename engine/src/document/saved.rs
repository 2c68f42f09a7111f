//! The file of `--out`: a document in an envelope that tells whether it is whole.
//!
//! ```json
//! {"fleet_plan": 1, "digest": "<SHA-256 of the document>", "document": {…}}
//! ```
//!
//! A large one is compressed with gzip. The digest finds accidents and edits by hand; it is no signature.

use std::fmt;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{Document, FORMAT};
use crate::encode::safe_to_print;

/// Files larger than this are compressed.
const COMPRESSED_FROM: usize = 1 << 20;

/// A file of a few bytes must not unfold into more than this.
const LARGEST: u64 = 4 << 30;

/// Values are nested at most 512 deep, each level taking two brackets, and a few stand around them.
const DEEPEST: usize = 2 * fleet_lang::eval::MAX_DEPTH + 32;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why a file cannot be read as a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is something else.
    NotAPlan,
    /// Its end is missing.
    Cut,
    /// A newer fleet wrote it, in this version of the format.
    Newer(u32),
    /// It is not what was written.
    Changed,
    /// It is a plan, but this is wrong with it.
    Malformed(String),
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    fleet_plan: u32,
    digest: String,
    #[serde(borrow)]
    document: &'a RawValue,
}

/// The content of the file.
#[must_use]
pub fn write(document: &Document) -> Vec<u8> {
    let document = serde_json::to_string(document).expect("plain data is JSON");
    let document = RawValue::from_string(safe_to_print(&document).into_owned()).expect("it still is");
    let digest = digest(document.get());
    let envelope = Envelope { fleet_plan: FORMAT, digest, document: &document };
    let mut json = serde_json::to_vec(&envelope).expect("plain data is JSON");
    json.push(b'\n');
    if json.len() < COMPRESSED_FROM {
        return json;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&json).and_then(|()| encoder.finish()).expect("memory takes all that is written")
}

/// Reads what [`write()`] made.
pub fn read(content: &[u8]) -> Result<Document, Unreadable> {
    let json = if content.starts_with(&GZIP) { unfold(content)? } else { content.to_vec() };
    let json = std::str::from_utf8(&json).map_err(|_| Unreadable::NotAPlan)?;
    if !json.trim_start().starts_with("{\"fleet_plan\":") {
        return Err(Unreadable::NotAPlan);
    }
    if depth(json) > DEEPEST {
        return Err(Unreadable::Malformed("it is nested too deep".to_owned()));
    }
    let envelope: Envelope<'_> = parse(json)?;
    if envelope.fleet_plan > FORMAT {
        return Err(Unreadable::Newer(envelope.fleet_plan));
    }
    if digest(envelope.document.get()) != envelope.digest {
        return Err(Unreadable::Changed);
    }
    parse(envelope.document.get())
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::NotAPlan => f.write_str("this is no plan of fleet"),
            Unreadable::Cut => f.write_str("the end of it is missing"),
            Unreadable::Newer(format) => write!(
                f,
                "a newer fleet wrote it, in version {format} of the format, and this one reads up to {FORMAT}"
            ),
            Unreadable::Changed => f.write_str("it was changed after it was written"),
            Unreadable::Malformed(what) => write!(f, "it cannot be understood: {what}"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Unreadable {
    /// What to do next.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Unreadable::NotAPlan => "give a file that `fleet plan --out FILE` wrote",
            Unreadable::Cut => "copy it again, or make a new plan",
            Unreadable::Newer(_) => "use the fleet that wrote it, or make a new plan",
            Unreadable::Changed | Unreadable::Malformed(_) => "make a new plan",
        }
    }
}

fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

fn unfold(content: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let mut json = Vec::new();
    let mut decoder = GzDecoder::new(content).take(LARGEST);
    match decoder.read_to_end(&mut json) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(Unreadable::Cut),
        Err(_) => Err(Unreadable::Malformed("it cannot be unpacked".to_owned())),
        Ok(_) if json.len() as u64 == LARGEST => Err(Unreadable::Malformed("it is too large".to_owned())),
        Ok(_) => Ok(json),
    }
}

fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Unreadable> {
    let mut reader = serde_json::Deserializer::from_str(json);
    // Bounded above.
    reader.disable_recursion_limit();
    let parsed = T::deserialize(&mut reader).and_then(|parsed| reader.end().map(|()| parsed));
    parsed.map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => Unreadable::Cut,
        _ => Unreadable::Malformed(error.to_string()),
    })
}

/// How deep brackets are nested.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    let mut in_text = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_text => _ = bytes.next(),
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::document::{Output, Shown};

    fn document(text: &str) -> Document {
        let output = Output { name: "a".to_owned(), before: None, after: Some(Shown::Text(text.into())) };
        let mut document = Document { format: FORMAT, outputs: vec![output], ..Document::default() };
        document.summary = document.count(7);
        document
    }

    fn large() -> Document {
        document(&"large ".repeat(COMPRESSED_FROM))
    }

    #[test]
    fn what_was_written_is_read() {
        for document in [document("small"), large()] {
            assert_eq!(read(&write(&document)), Ok(document));
        }
        assert!(write(&large()).len() < COMPRESSED_FROM);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let small = write(&document("small"));
        let text = String::from_utf8(small.clone()).unwrap();
        let check = |content: &[u8], expected: Unreadable| assert_eq!(read(content), Err(expected));
        for other in [&b""[..], b"{}", b"PK\x03\x04", b"\xff\xfe", b"terraform", b"{\"format\":1}"] {
            check(other, Unreadable::NotAPlan);
        }
        for end in 20..small.len() - 2 {
            check(&small[..end], Unreadable::Cut);
        }
        let packed = write(&large());
        for end in [10, 30, packed.len() / 2, packed.len() - 1] {
            check(&packed[..end], Unreadable::Cut);
        }
        check(text.replace("small", "smell").as_bytes(), Unreadable::Changed);
        check(text.replace("{\"fleet_plan\":1", "{\"fleet_plan\":2").as_bytes(), Unreadable::Newer(2));
        assert!(matches!(read(format!("{text}x").as_bytes()), Err(Unreadable::Malformed(_))));
    }

    #[test]
    fn values_may_be_as_deep_as_the_language_lets_them() {
        let mut value = Shown::Null;
        for level in 0..fleet_lang::eval::MAX_DEPTH {
            value = match level % 2 {
                0 => Shown::Set(vec![value]),
                _ => Shown::Map([(Arc::from("a"), value)].into_iter().collect()),
            };
        }
        let mut document = document("x");
        document.outputs[0].after = Some(value);
        let read_back = read(&write(&document));
        assert!(read_back == Ok(document));
        let deeper = format!("{{\"fleet_plan\":1,\"digest\":\"\",\"document\":{}", "[".repeat(1_000_000));
        assert!(matches!(read(deeper.as_bytes()), Err(Unreadable::Malformed(_))));
    }
}
