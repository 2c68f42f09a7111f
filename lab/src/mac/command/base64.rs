//! `base64`, which has no `-w`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::options::Options;
use super::{Call, Done, Failure, Outcome, reason};

const USAGE: &str = "Usage:\tbase64 [-Ddh] [-b num] [-i in_file] [-o out_file]\n";

pub(super) fn base64(call: &mut Call) -> Outcome {
    let words: Vec<OsString> = call.words.iter().map(short).collect();
    let options = Options::read(&words, "Ddhb:i:o:").map_err(|wrong| {
        let text = wrong.text().replace("illegal", "invalid");
        Failure { text: format!("base64: {text}\n{USAGE}"), status: 64 }
    })?;
    if options.has('h') {
        return call.say(USAGE);
    }
    let width = options.argument('b').map_or(Ok(0), |width| width.to_string_lossy().parse::<usize>());
    let Ok(width) = width else { return Err(call.failure("invalid line length")) };
    let source = options.argument('i').or(options.operands.first()).filter(|source| *source != "-");
    let mut input = Vec::new();
    let read = match source {
        Some(source) => fs::read(call.path(source)).map(|content| input = content),
        None => call.stdin.read_to_end(&mut input).map(drop),
    };
    read.map_err(|error| {
        let name = source.map_or("stdin".into(), |source| source.to_string_lossy());
        call.failure(&format!("Unable to open '{name}': {}", reason(&error)))
    })?;
    let output = if options.has('d') || options.has('D') {
        input.retain(|byte| !byte.is_ascii_whitespace());
        let decoded = STANDARD.decode(&input);
        decoded.map_err(|_| call.failure("stdin: (null): error decoding base64 input stream"))?
    } else {
        lines(&STANDARD.encode(&input), width)
    };
    match options.argument('o').filter(|target| *target != "-") {
        None => call.print(output)?,
        Some(target) => {
            let written = call.path_to_write(target).and_then(File::create);
            let written = written.and_then(|mut file| file.write_all(&output));
            written.map_err(|error| {
                call.failure(&format!("Unable to open '{}': {}", target.display(), reason(&error)))
            })?;
        }
    }
    Ok(Done::Exit(0))
}

/// The letter for a long option.
fn short(word: &OsString) -> OsString {
    match word.to_str() {
        Some("--decode") => "-D".into(),
        Some("--help") => "-h".into(),
        Some(text) => {
            let argument = |name: &str, letter: &str| Some(format!("{letter}{}", text.strip_prefix(name)?));
            let found = argument("--break=", "-b").or_else(|| argument("--input=", "-i"));
            found.or_else(|| argument("--output=", "-o")).map_or_else(|| word.clone(), OsString::from)
        }
        None => word.clone(),
    }
}

/// Text in lines of so many characters; all in one if there is no such number.
fn lines(text: &str, width: usize) -> Vec<u8> {
    let width = if width == 0 { text.len().max(1) } else { width };
    let mut lines: Vec<u8> =
        text.as_bytes().chunks(width).flat_map(|line| [line, b"\n"]).flatten().copied().collect();
    if lines.is_empty() {
        lines.push(b'\n');
    }
    lines
}
