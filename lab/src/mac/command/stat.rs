//! `stat` with the formats of BSD. There is no `-c`.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::directory::ended;
use super::options::Options;
use super::{Call, Failure, Outcome, group_name, reason, user_name};

const USAGE: &str = "usage: stat [-FLnq] [-f format | -l | -r | -s | -x] [-t timefmt] [file ...]";
/// What it prints unless it is told.
const USUAL: &str = "%d %i %Sp %l %Su %Sg %r %z \"%a\" \"%m\" \"%c\" \"%B\" %k %b %f %N";

pub(super) fn stat(call: &mut Call) -> Outcome {
    let usage = |text: &str| Failure { text: format!("{text}\n{USAGE}"), status: 1 };
    let options = Options::read(&call.words, "Ff:lLnqrst:x")
        .map_err(|wrong| usage(&format!("stat: {}", wrong.text())))?;
    let format = options.argument('f').map_or(USUAL.into(), |format| format.to_string_lossy().into_owned());
    let format = Format::parse(&format).map_err(|text| usage(&format!("stat: {text}: bad format")))?;
    let end: &[u8] = if options.has('n') { b"" } else { b"\n" };
    let mut status = 0;
    for operand in &options.operands {
        let path = call.path(operand);
        let found = if options.has('L') { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                status = 1;
                if !options.has('q') {
                    call.complain(&format!("{}: stat: {}", operand.display(), reason(&error)));
                }
                continue;
            }
        };
        let (uid, gid) = call.mac.disk().owner(&path);
        let names = (user_name(&call.mac, uid), group_name(gid));
        let file = File { name: operand.as_bytes(), path: &path, found: &found, ids: (uid, gid), names };
        let mut line = format.fill(&file);
        line.extend_from_slice(end);
        call.print(line)?;
    }
    ended(status)
}

/// A file that is told about.
struct File<'a> {
    name: &'a [u8],
    path: &'a Path,
    found: &'a Metadata,
    ids: (u32, u32),
    names: (String, String),
}

/// A format: pieces of text and fields.
#[derive(Debug, PartialEq, Eq)]
struct Format(Vec<Piece>);

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(char),
    Field(Field),
}

/// `%[flags][size][.precision][base][part]datum`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Field {
    left: bool,
    zeros: bool,
    alternate: bool,
    width: usize,
    /// `D`, `O`, `U`, `X` or `S`.
    base: Option<char>,
    /// `H`, `M` or `L`.
    part: Option<char>,
    datum: char,
}

impl Format {
    fn parse(text: &str) -> Result<Format, String> {
        let mut pieces = Vec::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                pieces.push(Piece::Text(letter));
                continue;
            }
            let plain = match letters.peek() {
                Some('n') => Some('\n'),
                Some('t') => Some('\t'),
                Some('%') => Some('%'),
                _ => None,
            };
            if let Some(plain) = plain {
                letters.next();
                pieces.push(Piece::Text(plain));
                continue;
            }
            let mut field = Field::default();
            while let Some(flag) = letters.next_if(|letter| "#+-0 ".contains(*letter)) {
                match flag {
                    '-' => field.left = true,
                    '0' => field.zeros = true,
                    '#' => field.alternate = true,
                    _ => {}
                }
            }
            while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                let digit = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
                field.width = (field.width * 10 + digit.unwrap_or_default()).min(4096);
            }
            if letters.next_if_eq(&'.').is_some() {
                while letters.next_if(char::is_ascii_digit).is_some() {}
            }
            field.base = letters.next_if(|letter| "DOUXFS".contains(*letter));
            field.part = letters.next_if(|letter| "HML".contains(*letter));
            field.datum = letters.next_if(|letter| "dipluragzmcBbkfvNYTZ".contains(*letter)).ok_or(text)?;
            pieces.push(Piece::Field(field));
        }
        Ok(Format(pieces))
    }

    fn fill(&self, file: &File<'_>) -> Vec<u8> {
        let mut line = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(letter) => line.extend(letter.to_string().into_bytes()),
                Piece::Field(field) => line.extend(field.fill(file)),
            }
        }
        line
    }
}

impl Field {
    fn fill(&self, file: &File<'_>) -> Vec<u8> {
        let value = match self.text(file) {
            Some(text) => text,
            None => self.number(self.value(file)).into_bytes(),
        };
        let missing = self.width.saturating_sub(value.len());
        let fill = if self.zeros && !self.left { b'0' } else { b' ' };
        let mut filled = vec![fill; missing];
        if self.left {
            filled.splice(0..0, value);
        } else {
            filled.extend(value);
        }
        filled
    }

    /// What is text: names always, the rest if it is asked for.
    fn text(&self, file: &File<'_>) -> Option<Vec<u8>> {
        let is_text = self.base == Some('S');
        let text = match self.datum {
            'N' => file.name.to_vec(),
            'Y' => {
                let target = fs::read_link(file.path).map(std::path::PathBuf::into_os_string);
                let target = target.map(|target| target.as_bytes().to_vec()).unwrap_or_default();
                if is_text && !target.is_empty() { [b" -> ", &target[..]].concat() } else { target }
            }
            'T' if self.part == Some('H') => kind(file.found).0.into(),
            'T' => kind(file.found).1.into(),
            'p' if is_text => self.permissions(file.found).into_bytes(),
            'u' if is_text => file.names.0.clone().into_bytes(),
            'g' if is_text => file.names.1.clone().into_bytes(),
            'a' | 'm' | 'c' | 'B' if is_text => {
                let seconds = u64::try_from(self.value(file)).unwrap_or_default();
                let moment = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
                humantime::format_rfc3339_seconds(moment).to_string().into_bytes()
            }
            _ => return None,
        };
        Some(text)
    }

    fn value(&self, file: &File<'_>) -> i128 {
        let found = file.found;
        let born = found.created().ok().and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
        match self.datum {
            'd' => found.dev().into(),
            'i' => found.ino().into(),
            'p' => self.part_of_mode(found.mode()).into(),
            'l' => found.nlink().into(),
            'u' => file.ids.0.into(),
            'g' => file.ids.1.into(),
            'r' => found.rdev().into(),
            'a' => found.atime().into(),
            'm' => found.mtime().into(),
            'c' => found.ctime().into(),
            'B' => born.map(|born| born.as_secs()).unwrap_or_default().into(),
            'z' => found.size().into(),
            'b' => found.blocks().into(),
            'k' => found.blksize().into(),
            _ => 0,
        }
    }

    fn part_of_mode(&self, mode: u32) -> u32 {
        match self.part {
            Some('H') => mode >> 12,
            Some('M') => (mode >> 9) & 7,
            Some('L') => mode & 0o777,
            _ => mode,
        }
    }

    fn number(&self, value: i128) -> String {
        // Modes are octal unless it is said otherwise.
        let base = self.base.unwrap_or(if self.datum == 'p' { 'O' } else { 'D' });
        match (base, self.alternate) {
            ('O', false) => format!("{value:o}"),
            ('O', true) => format!("0{value:o}"),
            ('X', false) => format!("{value:x}"),
            ('X', true) => format!("0x{value:x}"),
            _ => value.to_string(),
        }
    }

    /// As `ls -l` shows them.
    fn permissions(&self, found: &Metadata) -> String {
        let mode = found.mode();
        let bits = |shift: u32, special: bool, letters: (char, char)| {
            let bit = |bit: u32, letter: char| if (mode >> shift) & bit == 0 { '-' } else { letter };
            let last = match (special, (mode >> shift) & 1 == 1) {
                (true, true) => letters.0,
                (true, false) => letters.1,
                (false, true) => 'x',
                (false, false) => '-',
            };
            [bit(4, 'r'), bit(2, 'w'), last].iter().collect::<String>()
        };
        let user = bits(6, mode & 0o4000 != 0, ('s', 'S'));
        let group = bits(3, mode & 0o2000 != 0, ('s', 'S'));
        let others = bits(0, mode & 0o1000 != 0, ('t', 'T'));
        let letter = match kind(found).1 {
            "/" => 'd',
            "@" => 'l',
            "|" => 'p',
            "=" => 's',
            _ => '-',
        };
        match self.part {
            Some('H') => user,
            Some('M') => group,
            Some('L') => others,
            _ => format!("{letter}{user}{group}{others}"),
        }
    }
}

/// What it is, in words and as `ls -F` marks it.
fn kind(found: &Metadata) -> (&'static str, &'static str) {
    let kind = found.file_type();
    if kind.is_dir() {
        ("Directory", "/")
    } else if kind.is_symlink() {
        ("Symbolic Link", "@")
    } else if kind.is_fifo() {
        ("Fifo File", "|")
    } else if kind.is_socket() {
        ("Socket", "=")
    } else if kind.is_char_device() {
        ("Character Device", "")
    } else if kind.is_block_device() {
        ("Block Device", "")
    } else if found.mode() & 0o111 != 0 {
        ("Regular File", "*")
    } else {
        ("Regular File", "")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn formats() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "12345").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1640)).unwrap();
        let found = fs::symlink_metadata(&path).unwrap();
        let names = ("m1".to_owned(), "staff".to_owned());
        let file = File { name: b"file", path: &path, found: &found, ids: (501, 20), names };
        for (format, line) in [
            ("%Xp %z %Su %Sg", "83a0 5 m1 staff"),
            ("%Mp%Lp %N", "1640 file"),
            ("%p|%#p|%u|%Dg", "101640|0101640|501|20"),
            ("%Sp %HT%n%%", "-rw-r----T Regular File\n%"),
            ("[%8z][%-8z][%08z]", "[       5][5       ][00000005]"),
        ] {
            let filled = Format::parse(format).unwrap().fill(&file);
            assert_eq!(String::from_utf8(filled).unwrap(), line, "{format}");
        }
        Format::parse("%q").unwrap_err();
        Format::parse("%").unwrap_err();
    }
}
