//! Character sets under the names of the IANA registry. Most are `encoding_rs`'s; it has web browsers' habits, so that
//! what browsers do not write (UTF-16) or read as something else (ISO-8859-1, code pages) is done here.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, IBM866, ISO_2022_JP, ISO_8859_2, ISO_8859_3, ISO_8859_4,
    ISO_8859_5, ISO_8859_6, ISO_8859_7, ISO_8859_8, ISO_8859_10, ISO_8859_13, ISO_8859_14, ISO_8859_15,
    ISO_8859_16, KOI8_R, KOI8_U, MACINTOSH, SHIFT_JIS, WINDOWS_874, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252,
    WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};
use oem_cp::code_table::{
    DECODING_TABLE_CP437, DECODING_TABLE_CP850, DECODING_TABLE_CP852, DECODING_TABLE_CP855,
    DECODING_TABLE_CP858, DECODING_TABLE_CP860, DECODING_TABLE_CP862, DECODING_TABLE_CP863,
    DECODING_TABLE_CP865,
};

/// A way to write characters as bytes.
#[derive(Clone, Copy)]
pub(super) enum Charset {
    /// UTF-8
    Utf8,
    /// UTF-16 with a byte order mark, big-endian if it is missing.
    Utf16,
    /// UTF-16, big-endian, where a byte order mark is a character like others.
    Utf16Be,
    /// UTF-16, little-endian, likewise.
    Utf16Le,
    /// The first 128 characters of Unicode.
    Ascii,
    /// The first 256 characters of Unicode, except that some bytes stand for others.
    Latin(&'static [(u8, char)]),
    /// ASCII and these 128 characters.
    CodePage(&'static [char; 128]),
    /// These 256 characters, except that some bytes stand for others.
    Ebcdic(&'static str, &'static [(u8, char)]),
    /// As browsers have it, except for what they read where nothing is assigned.
    Web(&'static Encoding),
}

impl Charset {
    /// The character set of a name or alias, in upper or lower case.
    pub(super) fn named(name: &str) -> Option<Charset> {
        let is_name = |names: &str| names.split(' ').any(|known| known.eq_ignore_ascii_case(name));
        NAMES.iter().find(|(names, _)| is_name(names)).map(|(_, charset)| *charset)
    }

    /// The bytes of a text, or the first character that has none.
    pub(super) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Charset::Utf8 => Ok(text.as_bytes().to_vec()),
            Charset::Utf16 => Ok([0xfe, 0xff].into_iter().chain(utf16(text, u16::to_be_bytes)).collect()),
            Charset::Utf16Be => Ok(utf16(text, u16::to_be_bytes).collect()),
            Charset::Utf16Le => Ok(utf16(text, u16::to_le_bytes).collect()),
            Charset::Web(encoding) => {
                let has_bytes = |c: char| !encoding.encode(c.encode_utf8(&mut [0; 4])).2;
                let (bytes, _, failed) = encoding.encode(text);
                match text.chars().find(|c| is_unassigned(*c, encoding) || (failed && !has_bytes(*c))) {
                    Some(c) => Err(c),
                    None => Ok(bytes.into_owned()),
                }
            }
            _ => {
                let table = self.table();
                let byte = |c: char| table.iter().position(|known| *known == Some(c)).ok_or(c);
                text.chars().map(|c| Ok(u8::try_from(byte(c)?).expect("a table has 256 entries"))).collect()
            }
        }
    }

    /// The text of some bytes, unless they stand for none.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<String> {
        let text = match self {
            Charset::Utf8 => String::from_utf8(bytes.to_vec()).ok()?,
            Charset::Utf16 => match bytes {
                [0xff, 0xfe, rest @ ..] => from_utf16(rest, u16::from_le_bytes)?,
                [0xfe, 0xff, rest @ ..] => from_utf16(rest, u16::from_be_bytes)?,
                _ => from_utf16(bytes, u16::from_be_bytes)?,
            },
            Charset::Utf16Be => from_utf16(bytes, u16::from_be_bytes)?,
            Charset::Utf16Le => from_utf16(bytes, u16::from_le_bytes)?,
            Charset::Web(encoding) => {
                let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
                if text.contains(|c| is_unassigned(c, encoding)) {
                    return None;
                }
                text.into_owned()
            }
            _ => {
                let table = self.table();
                bytes.iter().map(|byte| table[usize::from(*byte)]).collect::<Option<String>>()?
            }
        };
        // The replacement character tells that something was lost on the way here.
        (!text.contains(char::REPLACEMENT_CHARACTER)).then_some(text)
    }

    /// The character of every byte of a single-byte character set that is not the web's.
    fn table(self) -> [Option<char>; 256] {
        let mut table = [None; 256];
        let mut fill = |characters: &mut dyn Iterator<Item = char>| {
            table.iter_mut().zip(characters).for_each(|(entry, c)| *entry = Some(c));
        };
        let ascii = (0..128_u8).map(char::from);
        match self {
            Charset::Latin(_) => fill(&mut (0..=255_u8).map(char::from)),
            Charset::CodePage(upper) => fill(&mut ascii.chain(upper.iter().copied())),
            Charset::Ebcdic(all, _) => fill(&mut all.chars()),
            _ => fill(&mut { ascii }),
        }
        if let Charset::Latin(others) | Charset::Ebcdic(_, others) = self {
            others.iter().for_each(|(byte, c)| table[usize::from(*byte)] = Some(*c));
        }
        table
    }
}

/// Whether a character is one that browsers read where a character set has none: control and private characters. The
/// one private character that is meant is Apple's apple.
fn is_unassigned(c: char, encoding: &'static Encoding) -> bool {
    matches!(c, '\u{80}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}') && encoding != MACINTOSH
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> impl Iterator<Item = u8> {
    text.encode_utf16().flat_map(bytes)
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).ok()
}

/// Every character set with its names, the preferred one first.
const NAMES: &[(&str, Charset)] = &[
    ("UTF-8 csUTF8", Charset::Utf8),
    ("UTF-16 csUTF16", Charset::Utf16),
    ("UTF-16BE csUTF16BE", Charset::Utf16Be),
    ("UTF-16LE csUTF16LE", Charset::Utf16Le),
    (
        "US-ASCII iso-ir-6 ANSI_X3.4-1968 ANSI_X3.4-1986 ISO_646.irv:1991 ISO646-US us IBM367 cp367 csASCII",
        Charset::Ascii,
    ),
    (
        "ISO-8859-1 ISO_8859-1:1987 iso-ir-100 ISO_8859-1 latin1 l1 IBM819 CP819 csISOLatin1",
        Charset::Latin(&[]),
    ),
    ("ISO-8859-2 ISO_8859-2:1987 iso-ir-101 ISO_8859-2 latin2 l2 csISOLatin2", Charset::Web(ISO_8859_2)),
    ("ISO-8859-3 ISO_8859-3:1988 iso-ir-109 ISO_8859-3 latin3 l3 csISOLatin3", Charset::Web(ISO_8859_3)),
    ("ISO-8859-4 ISO_8859-4:1988 iso-ir-110 ISO_8859-4 latin4 l4 csISOLatin4", Charset::Web(ISO_8859_4)),
    (
        "ISO-8859-5 ISO_8859-5:1988 iso-ir-144 ISO_8859-5 cyrillic csISOLatinCyrillic",
        Charset::Web(ISO_8859_5),
    ),
    (
        "ISO-8859-6 ISO_8859-6:1987 iso-ir-127 ISO_8859-6 ECMA-114 ASMO-708 arabic csISOLatinArabic ISO-8859-6-E \
         ISO_8859-6-E csISO88596E ISO-8859-6-I ISO_8859-6-I csISO88596I",
        Charset::Web(ISO_8859_6),
    ),
    (
        "ISO-8859-7 ISO_8859-7:1987 iso-ir-126 ISO_8859-7 ELOT_928 ECMA-118 greek greek8 csISOLatinGreek",
        Charset::Web(ISO_8859_7),
    ),
    (
        "ISO-8859-8 ISO_8859-8:1988 iso-ir-138 ISO_8859-8 hebrew csISOLatinHebrew ISO-8859-8-E ISO_8859-8-E \
         csISO88598E ISO-8859-8-I ISO_8859-8-I csISO88598I",
        Charset::Web(ISO_8859_8),
    ),
    (
        "ISO-8859-9 ISO_8859-9:1989 iso-ir-148 ISO_8859-9 latin5 l5 csISOLatin5",
        Charset::Latin(&[(0xd0, 'Ğ'), (0xdd, 'İ'), (0xde, 'Ş'), (0xf0, 'ğ'), (0xfd, 'ı'), (0xfe, 'ş')]),
    ),
    ("ISO-8859-10 iso-ir-157 l6 ISO_8859-10:1992 csISOLatin6 latin6", Charset::Web(ISO_8859_10)),
    ("ISO-8859-13 csISO885913", Charset::Web(ISO_8859_13)),
    (
        "ISO-8859-14 iso-ir-199 ISO_8859-14:1998 ISO_8859-14 latin8 iso-celtic l8 csISO885914",
        Charset::Web(ISO_8859_14),
    ),
    ("ISO-8859-15 ISO_8859-15 Latin-9 csISO885915", Charset::Web(ISO_8859_15)),
    (
        "ISO-8859-16 iso-ir-226 ISO_8859-16:2001 ISO_8859-16 latin10 l10 csISO885916",
        Charset::Web(ISO_8859_16),
    ),
    ("windows-874 cswindows874", Charset::Web(WINDOWS_874)),
    ("windows-1250 cswindows1250", Charset::Web(WINDOWS_1250)),
    ("windows-1251 cswindows1251", Charset::Web(WINDOWS_1251)),
    ("windows-1252 cswindows1252", Charset::Web(WINDOWS_1252)),
    ("windows-1253 cswindows1253", Charset::Web(WINDOWS_1253)),
    ("windows-1254 cswindows1254", Charset::Web(WINDOWS_1254)),
    ("windows-1255 cswindows1255", Charset::Web(WINDOWS_1255)),
    ("windows-1256 cswindows1256", Charset::Web(WINDOWS_1256)),
    ("windows-1257 cswindows1257", Charset::Web(WINDOWS_1257)),
    ("windows-1258 cswindows1258", Charset::Web(WINDOWS_1258)),
    ("KOI8-R csKOI8R", Charset::Web(KOI8_R)),
    ("KOI8-U csKOI8U", Charset::Web(KOI8_U)),
    ("macintosh mac csMacintosh", Charset::Web(MACINTOSH)),
    ("Shift_JIS MS_Kanji csShiftJIS", Charset::Web(SHIFT_JIS)),
    ("EUC-JP Extended_UNIX_Code_Packed_Format_for_Japanese csEUCPkdFmtJapanese", Charset::Web(EUC_JP)),
    ("ISO-2022-JP csISO2022JP", Charset::Web(ISO_2022_JP)),
    ("GBK CP936 MS936 windows-936 csGBK", Charset::Web(GBK)),
    ("GB18030 csGB18030", Charset::Web(GB18030)),
    ("Big5 csBig5", Charset::Web(BIG5)),
    ("EUC-KR csEUCKR", Charset::Web(EUC_KR)),
    ("IBM437 cp437 437 csPC8CodePage437", Charset::CodePage(&DECODING_TABLE_CP437)),
    ("IBM850 cp850 850 csPC850Multilingual", Charset::CodePage(&DECODING_TABLE_CP850)),
    ("IBM852 cp852 852 csPCp852", Charset::CodePage(&DECODING_TABLE_CP852)),
    ("IBM855 cp855 855 csIBM855", Charset::CodePage(&DECODING_TABLE_CP855)),
    (
        "IBM00858 CCSID00858 CP00858 PC-Multilingual-850+euro csIBM00858",
        Charset::CodePage(&DECODING_TABLE_CP858),
    ),
    ("IBM860 cp860 860 csIBM860", Charset::CodePage(&DECODING_TABLE_CP860)),
    ("IBM862 cp862 862 csPC862LatinHebrew", Charset::CodePage(&DECODING_TABLE_CP862)),
    ("IBM863 cp863 863 csIBM863", Charset::CodePage(&DECODING_TABLE_CP863)),
    ("IBM865 cp865 865 csIBM865", Charset::CodePage(&DECODING_TABLE_CP865)),
    ("IBM866 cp866 866 csIBM866", Charset::Web(IBM866)),
    (
        "IBM037 cp037 ebcdic-cp-us ebcdic-cp-ca ebcdic-cp-wt ebcdic-cp-nl csIBM037",
        Charset::Ebcdic(EBCDIC, &[]),
    ),
    ("IBM1047 IBM-1047 csIBM1047", Charset::Ebcdic(EBCDIC, &EBCDIC_1047)),
    ("IBM01140 CCSID01140 CP01140 ebcdic-us-37+euro csIBM01140", Charset::Ebcdic(EBCDIC, &[(0x9f, '€')])),
];
/// EBCDIC as the United States write it, code page 37.
const EBCDIC: &str = "\
    \u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\
    \u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\
    \u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\
    \u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a} \u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);¬-/ÂÄÀÁÃÅ\
    ÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ¤µ~stuvwxyz¡¿ÐÝÞ®^£¥·©§¶¼½¾[]¯¨´×{ABCDEFGHI\
    \u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";

/// What code page 1047 has in other places.
const EBCDIC_1047: [(u8, char); 6] =
    [(0x5f, '^'), (0xad, '['), (0xb0, '¬'), (0xba, 'Ý'), (0xbb, '¨'), (0xbd, ']')];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_as_terraform_writes_them() {
        let check = |text: &str, name: &str, expected: Option<&[u8]>| {
            let bytes = Charset::named(name).and_then(|charset| charset.encode(text).ok());
            assert_eq!(bytes.as_deref(), expected, "{text} in {name}");
        };
        check("é", "UTF-16", Some(b"\xfe\xff\x00\xe9"));
        check("é", "utf-16le", Some(b"\xe9\x00"));
        check("é", "UTF-16BE", Some(b"\x00\xe9"));
        check("é", "UTF-8", Some(b"\xc3\xa9"));
        check("é", "utf8", None);
        check("é", "ISO-8859-1", Some(b"\xe9"));
        check("é", "latin1", Some(b"\xe9"));
        check("€", "windows-1252", Some(b"\x80"));
        check("€", "ISO-8859-1", None);
        check("€", "ISO-8859-15", Some(b"\xa4"));
        check("\u{80}", "ISO-8859-1", Some(b"\x80"));
        check("\u{80}", "Windows-1252", None);
        check("\u{81}", "Windows-1252", None);
        check("日本", "Shift_JIS", Some(b"\x93\xfa\x96{"));
        check("日本", "EUC-JP", Some(b"\xc6\xfc\xcb\xdc"));
        check("日本", "ISO-2022-JP", Some(b"\x1b$BF|K\x5c\x1b(B"));
        check("日本", "GBK", Some(b"\xc8\xd5\xb1\xbe"));
        check("日本", "GB18030", Some(b"\xc8\xd5\xb1\xbe"));
        check("日本", "Big5", Some(b"\xa4\xe9\xa5\xbb"));
        check("한", "EUC-KR", Some(b"\xc7\xd1"));
        check("é", "macintosh", Some(b"\x8e"));
        check("é", "IBM850", Some(b"\x82"));
        check("é", "cp437", Some(b"\x82"));
        check("aé[", "IBM037", Some(b"\x81Q\xba"));
        check("aé[", "IBM1047", Some(b"\x81Q\xad"));
        check("a€", "IBM01140", Some(b"\x81\x9f"));
        check("€", "IBM00858", Some(b"\xd5"));
        check("Ж", "KOI8-R", Some(b"\xf6"));
        check("Ж", "KOI8-U", Some(b"\xf6"));
        check("Ж", "IBM866", Some(b"\x86"));
        check("Ж", "windows-1251", Some(b"\xc6"));
        check("ğ", "ISO-8859-9", Some(b"\xf0"));
        check("ð", "ISO-8859-9", None);
        check("é", "US-ASCII", None);
        check("a", "foo", None);
        check("a", "", None);
        check("😀", "UTF-16", Some(b"\xfe\xff\xd8=\xde\x00"));
        check("", "UTF-16", Some(b"\xfe\xff"));
        check("😀", "GB18030", Some(b"\x949\xfc6"));
        check("😀", "GBK", None);
        check("€", "Big5", Some(b"\xa3\xe1"));
        check("aéb", "US-ASCII", None);
    }
}
