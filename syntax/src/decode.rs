//! Bytes of a file → text.

use crate::{Diagnostic, FileId, Span};

/// Bytes that are not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// The text as far as it can be shown, with U+FFFD for what is no character: up to the first error it has the bytes
    /// of the file.
    pub text: String,
    /// The first byte that is wrong, in the file as in [`Undecodable::text`].
    pub offset: u32,
    detail: &'static str,
    help: &'static str,
}

/// The text of a file, which must be UTF-8 and shorter than 4 GiB. A byte order mark stays: the lexer knows it.
pub fn decode(bytes: &[u8]) -> Result<&str, Undecodable> {
    if u32::try_from(bytes.len()).is_err() {
        let (detail, help) = ("A file must be shorter than 4 GiB.", "split the file");
        return Err(Undecodable { text: String::new(), offset: 0, detail, help });
    }
    str::from_utf8(bytes).map_err(|error| {
        let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        Undecodable {
            text: String::from_utf8_lossy(bytes).into_owned(),
            offset: error.valid_up_to() as u32,
            detail: if wide { "The file is UTF-16." } else { "This byte is not part of any character." },
            help: "save the file as UTF-8",
        }
    })
}

impl Undecodable {
    /// The error, given the name under which [`Undecodable::text`] is known.
    #[must_use]
    pub fn diagnostic(&self, file: FileId) -> Diagnostic {
        let rest = self.text.get(self.offset as usize..).unwrap_or_default();
        let length = rest.chars().next().map_or(0, char::len_utf8) as u32;
        let span = Span { file, start: self.offset, end: self.offset + length };
        let summary = if self.text.is_empty() { "file too long" } else { "invalid UTF-8" };
        Diagnostic::error(span, summary, self.detail).help(self.help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_byte_is_named() {
        assert_eq!(decode("é\u{feff}\0".as_bytes()), Ok("é\u{feff}\0"));
        let error = decode(b"a = \"\xc3\xa9\xff\xfe\"").expect_err("0xff is never part of UTF-8");
        let diagnostic = error.diagnostic(FileId(3));
        let span = diagnostic.span.expect("it has a place");
        assert_eq!((span.file, span.start, span.end), (FileId(3), 7, 10));
        assert_eq!(&error.text[7..10], "\u{fffd}");
        assert_eq!(diagnostic.summary, "invalid UTF-8");
        assert_eq!(decode(b"\xff\xfea\0").map_err(|error| error.detail), Err("The file is UTF-16."));
    }
}
