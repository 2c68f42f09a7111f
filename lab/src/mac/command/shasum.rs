//! `shasum`, the one that comes with Perl.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;

use sha2::{Digest, Sha256, Sha384, Sha512};

use super::options::Options;
use super::{Call, Done, Failure, Outcome, reason};

pub(super) fn shasum(call: &mut Call) -> Outcome {
    let usage = |text: &str| Failure { text: format!("{text}\nType shasum -h for help"), status: 1 };
    let options = Options::read(&call.words, "a:btUs0")
        .map_err(|wrong| usage(&wrong.text().replace("illegal option -- ", "Unknown option: ")))?;
    let algorithm = options.argument('a').map_or("1".into(), |name| name.to_string_lossy().into_owned());
    let digest: fn(&mut dyn Read) -> io::Result<String> = match algorithm.as_str() {
        "1" => digest::<sha1::Sha1>,
        "256" => digest::<Sha256>,
        "384" => digest::<Sha384>,
        "512" => digest::<Sha512>,
        _ => return Err(usage("shasum: Unrecognized algorithm")),
    };
    let sign = if options.has('b') { '*' } else { ' ' };
    let mut operands = options.operands;
    if operands.is_empty() {
        operands.push("-".into());
    }
    let mut status = 0;
    for operand in operands {
        let summed = if operand == "-" {
            digest(&mut call.stdin)
        } else {
            let path = call.path(&operand);
            if path.is_dir() {
                Err(io::ErrorKind::IsADirectory.into())
            } else {
                File::open(path).and_then(|mut file| digest(&mut file))
            }
        };
        let sum = match summed {
            Ok(sum) => sum,
            Err(error) => {
                status = call.complain(&format!("{}: {}", operand.display(), reason(&error)));
                continue;
            }
        };
        let (mark, name) = escaped(operand.as_bytes());
        let mut line = format!("{mark}{sum} {sign}").into_bytes();
        line.extend(name);
        line.push(b'\n');
        call.print(line)?;
    }
    Ok(Done::Exit(status))
}

fn digest<D: Digest>(from: &mut dyn Read) -> io::Result<String> {
    let (mut hash, mut piece) = (D::new(), vec![0; 64 << 10]);
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            count => hash.update(&piece[..count]),
        }
    }
}

/// A name that would be more than one line is written so that it is one, and marked.
fn escaped(name: &[u8]) -> (&'static str, Vec<u8>) {
    if !name.contains(&b'\n') && !name.contains(&b'\\') {
        return ("", name.to_vec());
    }
    let escape = |byte: &u8| match byte {
        b'\n' => b"\\n".to_vec(),
        b'\\' => b"\\\\".to_vec(),
        other => vec![*other],
    };
    ("\\", name.iter().flat_map(escape).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_lines() {
        assert_eq!(escaped(b"a b"), ("", b"a b".to_vec()));
        assert_eq!(escaped(b"a\nb\\"), ("\\", b"a\\nb\\\\".to_vec()));
    }
}
