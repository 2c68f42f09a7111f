//! Values on one line, as far as they fit on one.

use fleet_lang::print::{is_printable, quote};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use super::line::{clean, count};
use crate::document::{Members, Shown};

/// Lists and maps that take more characters than this are spread over lines.
const WIDEST: usize = 72;

/// Texts of one line with more characters than this are cut, which is said.
const LONGEST: usize = 400;

/// The value on one line; none if it takes several.
pub(super) fn inline(value: &Shown) -> Option<String> {
    if let Shown::Text(text) = value {
        return (!has_lines(text)).then(|| quoted(text));
    }
    let mut text = String::new();
    write(value, &mut text).then_some(text)
}

/// The value on one line; of what takes several, how much there is.
pub(super) fn brief(value: &Shown) -> String {
    inline(value).unwrap_or_else(|| match value {
        Shown::Text(text) => count(text.lines().count(), "line", "lines"),
        Shown::List(items) | Shown::Set(items) => format!("[{}]", count(items.len(), "element", "elements")),
        Shown::Map(entries) => format!("{{{}}}", count(entries.len(), "entry", "entries")),
        _ => "…".to_owned(),
    })
}

/// Whether a text is shown line by line.
pub(super) fn has_lines(text: &str) -> bool {
    text.strip_suffix('\n').unwrap_or(text).contains('\n')
}

/// A text in quotes. If it is long, the end is cut, which is said.
pub(super) fn quoted(text: &str) -> String {
    let mut written = String::new();
    match text.char_indices().nth(LONGEST) {
        None => quote(text, &mut written),
        Some((end, _)) => {
            quote(&text[..end], &mut written);
            written.push_str(&format!("… (and {} more characters)", text[end..].chars().count()));
        }
    }
    written
}

/// Two long texts of one line, each without most of what both have at the start and at the end, which is said.
pub(super) fn quoted_pair(before: &str, after: &str) -> (String, String) {
    const SHORT: usize = 80;
    const AROUND: usize = 16;
    if before.chars().take(SHORT + 1).count().max(after.chars().take(SHORT + 1).count()) <= SHORT {
        return (quoted(before), quoted(after));
    }
    let common = |(a, b): &(char, char)| a == b;
    let start = before.chars().zip(after.chars()).take_while(common).count();
    let most = before.chars().count().min(after.chars().count()) - start;
    let end = before.chars().rev().zip(after.chars().rev()).take(most).take_while(common).count();
    let (skip_start, skip_end) = (start.saturating_sub(AROUND), end.saturating_sub(AROUND));
    let window = |text: &str| {
        let length = text.chars().count();
        let middle: String = text.chars().skip(skip_start).take(length - skip_start - skip_end).collect();
        let dots = |skipped: usize| if skipped > 0 { format!("…{skipped} same…") } else { String::new() };
        format!("{}{}{}", dots(skip_start), quoted(&middle), dots(skip_end))
    };
    (window(before), window(after))
}

/// The name of a member, quoted unless it is a plain word.
pub(super) fn label(name: &str) -> String {
    let plain = |c: char| (c.is_alphanumeric() || c == '_' || c == '-') && is_printable(c);
    let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if starts_well && name.chars().all(plain) {
        return name.to_owned();
    }
    let mut quoted = String::new();
    quote(name, &mut quoted);
    quoted
}

/// A text that is the JSON of a list or an object, as a value; none if that would hide something of it.
pub(super) fn json(text: &str) -> Option<Shown> {
    let json = text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten();
    json.map(|Json(value)| value)
}

/// Appends the value; false as soon as it does not fit.
fn write(value: &Shown, text: &mut String) -> bool {
    match value {
        Shown::Null => text.push_str("null"),
        Shown::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Shown::Number(digits) => text.push_str(&clean(digits)),
        Shown::Text(content) if has_lines(content) || content.len() > 8 * WIDEST => return false,
        Shown::Text(content) => quote(content, text),
        Shown::Sensitive => text.push_str("(sensitive value)"),
        Shown::Ephemeral => text.push_str("(ephemeral value)"),
        Shown::Unknown { awaits: None } => text.push_str("(known after apply)"),
        Shown::Unknown { awaits: Some(awaits) } => {
            text.extend(["(known after apply: ", &*clean(awaits), ")"]);
        }
        Shown::List(items) | Shown::Set(items) => {
            let start = text.chars().count();
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                text.push_str(if i > 0 { ", " } else { "" });
                if !write(item, text) || text.chars().count() - start > WIDEST {
                    return false;
                }
            }
            text.push(']');
        }
        Shown::Map(entries) if entries.is_empty() => text.push_str("{}"),
        Shown::Map(entries) => {
            let start = text.chars().count();
            for (i, (name, entry)) in entries.iter().enumerate() {
                text.push_str(if i > 0 { ", " } else { "{ " });
                text.push_str(&label(name));
                text.push_str(" = ");
                if !write(entry, text) || text.chars().count() - start > WIDEST {
                    return false;
                }
            }
            text.push_str(" }");
        }
    }
    true
}

/// Plain JSON as a value. Fractions are refused, because reading them rounds, and so are names that stand twice.
struct Json(Shown);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Json;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON without fractions")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Json, E> {
        Ok(Json(Shown::Null))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json(Shown::Bool(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json(Shown::Number(value.to_string().into())))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json(Shown::Number(value.to_string().into())))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json(Shown::Text(value.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(Json(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json(Shown::List(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries = Members::new();
        while let Some((name, Json(value))) = map.next_entry::<String, Json>()? {
            if entries.insert(name.into(), value).is_some() {
                return Err(de::Error::custom("a name stands twice"));
            }
        }
        Ok(Json(Shown::Map(entries)))
    }
}
