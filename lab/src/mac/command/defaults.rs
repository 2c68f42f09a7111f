//! `defaults`: preferences, in property lists where macOS keeps them.

use std::fs;
use std::io;
use std::path::PathBuf;

use plist::{Dictionary, Value};

use super::directory::ended;
use super::{Call, Failure, Outcome};
use crate::mac::disk::home_of;
use crate::mac::login::preferences;

const USAGE: &str = "Command line interface to a user's defaults.\nSyntax:\n\n'defaults' [-currentHost | -host <hostname>] \
                     followed by one of the following:\n\n  read <domain> [<key>]\n  read-type <domain> <key>\n  \
                     write <domain> <key> <value>\n  delete <domain> [<key>]\n  import <domain> <path to plist>\n  \
                     export <domain> <path to plist>";

pub(super) fn defaults(call: &mut Call) -> Outcome {
    let words = call.texts();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let this_host = words.first() == Some(&"-currentHost");
    if this_host {
        words.remove(0);
    }
    // An application may stand for its domain in two words; so may all of them in one.
    if let Some(at) = words.iter().position(|word| matches!(*word, "-g" | "-globalDomain")) {
        words[at] = "NSGlobalDomain";
    }
    let wrong = || Failure { text: USAGE.into(), status: 255 };
    let [verb, domain, rest @ ..] = &words[..] else { return Err(wrong()) };
    let store = Store::of(call, domain, this_host);
    match (*verb, rest) {
        ("read", []) => {
            let all = store.read()?.ok_or_else(|| missing(&format!("\nDomain {domain} does not exist")))?;
            call.say(format!("{}\n", shown(&Value::Dictionary(all), 0)))
        }
        ("read", [key]) => {
            let value = store.get(domain, key)?;
            let text = value.as_string().map_or_else(|| shown(&value, 0), str::to_owned);
            call.say(format!("{text}\n"))
        }
        ("read-type", [key]) => {
            let value = store.get(domain, key)?;
            call.say(format!("Type is {}\n", type_of(&value)))
        }
        ("write", [key, value @ ..]) => {
            let mut all = store.read()?.unwrap_or_default();
            let value =
                parse(value, all.get(key)).map_err(|text| text.map_or_else(wrong, |text| missing(&text)))?;
            all.insert((*key).to_owned(), value);
            store.write(call, domain, all)
        }
        ("delete", keys @ ([] | [_])) => {
            let none = || Failure {
                text: format!("Domain ({domain}) not found.\nDefaults have not been changed."),
                status: 1,
            };
            let mut all = store.read()?.ok_or_else(none)?;
            let Some(key) = keys.first() else { return store.remove(call, domain) };
            all.remove(key).ok_or_else(none)?;
            store.write(call, domain, all)
        }
        ("export", [path]) => {
            let all = Value::Dictionary(store.read()?.unwrap_or_default());
            let mut text = Vec::new();
            all.to_writer_xml(&mut text).map_err(|error| call.failure(&error.to_string()))?;
            text.push(b'\n');
            if *path == "-" {
                return call.say(text);
            }
            let written = call.path_to_write(path.as_ref()).and_then(|path| fs::write(path, text));
            written.map_err(|error| call.failure(&error.to_string()))?;
            ended(0)
        }
        ("import", [path]) => {
            let mut text = Vec::new();
            let read = if *path == "-" {
                io::Read::read_to_end(&mut call.stdin, &mut text).map(drop)
            } else {
                fs::read(call.path(path.as_ref())).map(|content| text = content)
            };
            read.map_err(|error| call.failure(&error.to_string()))?;
            let new = Value::from_reader(io::Cursor::new(text)).ok().and_then(Value::into_dictionary);
            let new = new.ok_or_else(|| missing("Error reading in the property list"))?;
            let mut all = store.read()?.unwrap_or_default();
            all.extend(new);
            store.write(call, domain, all)
        }
        _ => Err(wrong()),
    }
}

/// What it says with the time and its name before it.
fn missing(text: &str) -> Failure {
    Failure { text: format!("2026-01-01 00:00:00.000 defaults[400:4000] {text}"), status: 1 }
}

/// Where a domain is kept.
struct Store {
    file: PathBuf,
    /// Whether it is one of the system, which only root writes.
    is_system: bool,
}

impl Store {
    fn of(call: &Call, domain: &str, this_host: bool) -> Store {
        let domain = if domain == "NSGlobalDomain" { ".GlobalPreferences" } else { domain };
        if domain.contains('/') {
            let domain = domain.strip_prefix("~/").map_or_else(
                || domain.to_owned(),
                |rest| home_of(call.mac.root(), &call.user).join(rest).to_string_lossy().into_owned(),
            );
            let name = domain.strip_suffix(".plist").unwrap_or(&domain);
            let file = call.path(format!("{name}.plist").as_ref());
            let is_system = !file.starts_with(call.mac.root().join("Users"));
            return Store { file, is_system };
        }
        let preferences = home_of(call.mac.root(), &call.user).join("Library/Preferences");
        let file = if this_host {
            preferences.join("ByHost").join(format!("{domain}.00000000-0000-1000-8000-000000000001.plist"))
        } else {
            preferences.join(format!("{domain}.plist"))
        };
        Store { file, is_system: false }
    }

    fn read(&self) -> Result<Option<Dictionary>, Failure> {
        match fs::read(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(missing(&error.to_string())),
            // What is no property list is taken for none, and overwritten, as on a Mac.
            Ok(bytes) => Ok(Value::from_reader(io::Cursor::new(bytes)).ok().and_then(Value::into_dictionary)),
        }
    }

    fn get(&self, domain: &str, key: &str) -> Result<Value, Failure> {
        let found = self.read()?.and_then(|mut all| all.remove(key));
        found
            .ok_or_else(|| missing(&format!("\nThe domain/default pair of ({domain}, {key}) does not exist")))
    }

    /// A domain without keys is no file.
    fn remove(&self, call: &Call, domain: &str) -> Outcome {
        let failed = || missing(&format!("Could not write domain {domain}; exiting"));
        if self.is_system && !call.is_root() {
            return Err(failed());
        }
        let file = call.path_to_write(self.file.as_os_str()).map_err(|_| failed())?;
        fs::remove_file(file).map_err(|_| failed())?;
        ended(0)
    }

    fn write(&self, call: &Call, domain: &str, all: Dictionary) -> Outcome {
        let failed = || missing(&format!("Could not write domain {domain}; exiting"));
        if self.is_system && !call.is_root() {
            return Err(failed());
        }
        let parent = self.file.parent().ok_or_else(failed)?;
        if !parent.starts_with(call.mac.root()) {
            return Err(failed());
        }
        fs::create_dir_all(parent).map_err(|_| failed())?;
        let file = call.path_to_write(self.file.as_os_str()).map_err(|_| failed())?;
        let mode = if self.is_system { 0o644 } else { 0o600 };
        preferences::write(&file, all, mode, call.mac.clock().time()).map_err(|_| failed())?;
        ended(0)
    }
}

/// The value that words stand for. None as a reason: the words are no value at all.
fn parse(words: &[&str], before: Option<&Value>) -> Result<Value, Option<String>> {
    let odd = |text: &str| Some(format!("Unexpected argument {text}; leaving defaults unchanged."));
    let string = |text: &str| Value::String(text.to_owned());
    Ok(match words {
        ["-string", text] => string(text),
        ["-int" | "-integer", text] => Value::Integer(text.parse::<i64>().map_err(|_| odd(text))?.into()),
        ["-float", text] => Value::Real(text.parse().map_err(|_| odd(text))?),
        ["-bool" | "-boolean", text] => match text.to_lowercase().as_str() {
            "true" | "yes" | "1" => Value::Boolean(true),
            "false" | "no" | "0" => Value::Boolean(false),
            _ => return Err(odd(text)),
        },
        ["-data", text] => {
            let digits = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
            let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(digits).collect();
            Value::Data(bytes.ok_or_else(|| odd(text))?)
        }
        ["-array", values @ ..] => Value::Array(values.iter().map(|text| string(text)).collect()),
        ["-array-add", values @ ..] => {
            let mut all = before.and_then(Value::as_array).cloned().unwrap_or_default();
            all.extend(values.iter().map(|text| string(text)));
            Value::Array(all)
        }
        [kind @ ("-dict" | "-dict-add"), values @ ..] => {
            let known = before.and_then(Value::as_dictionary).filter(|_| *kind == "-dict-add");
            let mut all = known.cloned().unwrap_or_default();
            let mut values = values.iter();
            while let Some(key) = values.next() {
                let one: Vec<&str> = match values.next() {
                    Some(kind) if kind.starts_with('-') => {
                        [Some(*kind), values.next().copied()].into_iter().flatten().collect()
                    }
                    Some(text) => vec![text],
                    None => return Err(Some("Key without a value".into())),
                };
                all.insert((*key).to_owned(), parse(&one, None)?);
            }
            Value::Dictionary(all)
        }
        // Anything may be given as a property list.
        [text] if text.starts_with('<') => {
            let whole = format!("<plist version=\"1.0\">{text}</plist>");
            Value::from_reader_xml(whole.as_bytes()).map_err(|_| odd(text))?
        }
        [text] if !text.starts_with('-') || text.parse::<f64>().is_ok() => string(text),
        _ => return Err(None),
    })
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::Dictionary(_) => "dictionary",
        Value::Boolean(_) => "boolean",
        Value::Data(_) => "data",
        Value::Date(_) => "date",
        Value::Real(_) => "float",
        Value::Integer(_) => "integer",
        _ => "string",
    }
}

/// A value in the old way of writing property lists.
fn shown(value: &Value, level: usize) -> String {
    let (indent, end) = ("    ".repeat(level + 1), "    ".repeat(level));
    match value {
        Value::Array(values) if values.is_empty() => "(\n)".into(),
        Value::Array(values) => {
            let lines: Vec<String> =
                values.iter().map(|value| format!("{indent}{}", shown(value, level + 1))).collect();
            format!("(\n{}\n{end})", lines.join(",\n"))
        }
        Value::Dictionary(values) => {
            let mut values: Vec<(&String, &Value)> = values.iter().collect();
            values.sort_by_key(|(key, _)| key.to_lowercase());
            // What has several lines starts as far to the right as it ends.
            let line = |(key, value): (&String, &Value)| {
                let is_deep = matches!(value, Value::Array(_) | Value::Dictionary(_));
                let gap = if is_deep { &*indent } else { "" };
                format!("{indent}{} = {gap}{};\n", quoted(key), shown(value, level + 1))
            };
            let lines: String = values.into_iter().map(line).collect();
            format!("{{\n{lines}{end}}}")
        }
        Value::Boolean(value) => u8::from(*value).to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::Date(date) => format!("\"{}\"", date.to_xml_format()),
        Value::Data(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{{length = {}, bytes = 0x{digits}}}", bytes.len())
        }
        _ => String::new(),
    }
}

/// Quoted, unless it is a plain word.
fn quoted(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        return text.to_owned();
    }
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_and_shown() {
        for (words, text) in [
            (&["-int", "5"][..], "5"),
            (&["-bool", "YES"], "1"),
            (&["-bool", "false"], "0"),
            (&["-float", "1.5"], "1.5"),
            (&["-string", "a b"], "\"a b\""),
            (&["plain"], "plain"),
            (&["-5"], "\"-5\""),
            (&["-array", "10.0.0.0/8", "x"], "(\n    \"10.0.0.0/8\",\n    x\n)"),
            (&["-dict", "b", "-int", "1", "a", "x"], "{\n    a = x;\n    b = 1;\n}"),
            (&["-data", "00ff"], "{length = 2, bytes = 0x00ff}"),
            (&["<array><integer>1</integer><true/></array>"], "(\n    1,\n    1\n)"),
        ] {
            assert_eq!(shown(&parse(words, None).unwrap(), 0), text, "{words:?}");
        }
        for words in
            [&["-int", "x"][..], &["-bool", "maybe"], &["-unknown", "x"], &["-dict", "a"], &["-data", "0"]]
        {
            parse(words, None).unwrap_err();
        }
    }

    #[test]
    fn arrays_grow() {
        let before = parse(&["-array", "a"], None).unwrap();
        let after = parse(&["-array-add", "b"], Some(&before)).unwrap();
        assert_eq!(shown(&after, 0), "(\n    a,\n    b\n)");
    }
}
