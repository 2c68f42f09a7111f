//! YAML → values. The parser is `saphyr-parser`; what its scalars, tags, anchors and merge keys mean is decided here,
//! the way Terraform decides it (nearly YAML 1.1: `yes` is true, `017` is 17, `1_000` is text).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use base64::Engine;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use super::{BASE64, json};
use crate::functions::date_time::timestamp::Timestamp;
use crate::{Kind, Number, Type, Value};

/// How deep collections may nest, aliases followed.
const MAX_DEPTH: usize = 500;

/// How many nodes a text may stand for once its aliases are followed.
const MAX_NODES: usize = 1_000_000;

/// Reads a text with exactly one document.
pub(super) fn decode(text: &str) -> Result<Value, String> {
    let mut builder = Builder::default();
    let unfinished = (!text.ends_with('\n')).then(|| text.chars().count());
    for event in Parser::new_from_str(text) {
        let (mut event, span) = match event {
            Ok(found) => found,
            // JSON is YAML too, even where its tabs look like indentation.
            Err(error) => {
                return json::decode(text).map_err(|_| format!("{} {}", error.info(), place(error.marker())));
            }
        };
        // The parser ends the last line of a block even where the text does not.
        if let Event::Scalar(value, ScalarStyle::Literal | ScalarStyle::Folded, ..) = &mut event
            && unfinished.is_some_and(|length| span.end.index() >= length)
            && value.ends_with('\n')
        {
            value.to_mut().pop();
        }
        builder.event(event).map_err(|problem| format!("{problem} {}", place(&span.start)))?;
    }
    builder.document.map(|node| node.value).ok_or_else(|| "the text has no YAML document in it".to_owned())
}

fn place(marker: &Marker) -> String {
    format!("(line {}, column {} of the text)", marker.line(), marker.col() + 1)
}

/// A finished node.
#[derive(Clone)]
struct Node {
    value: Value,
    /// How many nodes it stands for.
    nodes: usize,
    /// How deep it nests.
    depth: usize,
}

/// A collection whose end is not reached yet.
struct Open {
    anchor: usize,
    content: Content,
    nodes: usize,
    depth: usize,
}

enum Content {
    Sequence(Vec<Value>),
    Mapping { entries: BTreeMap<Arc<str>, Value>, key: Option<Key> },
}

enum Key {
    Name(Arc<str>),
    /// `<<`: the entries of the mapping that follows are taken over.
    Merge,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    document: Option<Node>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => match self.document {
                Some(_) => Err("a second document starts here, but only one is wanted".into()),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                if self.wants_key() {
                    return Err("an alias cannot be a key".into());
                }
                // An anchor is known from its node's start, but has a value from its end on only.
                let node = self.anchors.get(&anchor).cloned();
                self.add(
                    node.ok_or("the alias refers to a node that it is itself a part of, or to a key")?,
                    0,
                )
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref().map(tag_name).transpose()?;
                if self.wants_key() {
                    return self.key(&text, style, tag.as_deref());
                }
                let value = scalar(&text, style, tag.as_deref())?;
                self.add(Node { value, nodes: 1, depth: 0 }, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.start(anchor, tag.as_deref(), "seq", Content::Sequence(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => self.start(
                anchor,
                tag.as_deref(),
                "map",
                Content::Mapping { entries: BTreeMap::new(), key: None },
            ),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let value = match open.content {
                    Content::Sequence(items) => Value::tuple(items),
                    Content::Mapping { entries, .. } => Value::object(entries.into()),
                };
                self.add(Node { value, nodes: open.nodes, depth: open.depth + 1 }, open.anchor)
            }
        }
    }

    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { content: Content::Mapping { key: None, .. }, .. }))
    }

    fn start(
        &mut self,
        anchor: usize,
        tag: Option<&Tag>,
        kind: &str,
        content: Content,
    ) -> Result<(), String> {
        if let Some(tag) = tag.map(tag_name).transpose()?
            && tag != kind
        {
            return Err(format!("`!!{tag}` does not fit here"));
        }
        if self.wants_key() {
            return Err("a key must be a string, a number or a bool".into());
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("the YAML text is nested more than {MAX_DEPTH} deep"));
        }
        self.open.push(Open { anchor, content, nodes: 1, depth: 0 });
        Ok(())
    }

    fn key(&mut self, text: &str, style: ScalarStyle, tag: Option<&str>) -> Result<(), String> {
        let found = if text == "<<" && tag.is_none() {
            Key::Merge
        } else {
            match scalar(text, style, tag)?.kind {
                Kind::String(text) => Key::Name(text),
                Kind::Bool(truth) => Key::Name(truth.to_string().into()),
                Kind::Number(number) => Key::Name(number.to_string().into()),
                _ => return Err("a key cannot be null".into()),
            }
        };
        if let Some(Open { content: Content::Mapping { key, .. }, .. }) = self.open.last_mut() {
            *key = Some(found);
        }
        Ok(())
    }

    /// Puts a finished node where it belongs.
    fn add(&mut self, node: Node, anchor: usize) -> Result<(), String> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        if self.open.len() + node.depth > MAX_DEPTH {
            return Err(format!("the YAML text is nested more than {MAX_DEPTH} deep"));
        }
        let Some(open) = self.open.last_mut() else {
            self.document = Some(node);
            return Ok(());
        };
        open.nodes += node.nodes;
        open.depth = open.depth.max(node.depth);
        if open.nodes > MAX_NODES {
            return Err(format!("the YAML text stands for more than {MAX_NODES} nodes"));
        }
        match &mut open.content {
            Content::Sequence(items) => items.push(node.value),
            Content::Mapping { entries, key } => match key.take() {
                Some(Key::Name(name)) => {
                    entries.insert(name, node.value);
                }
                _ => match node.value.kind {
                    Kind::Object(merged) => {
                        entries.extend(merged.iter().map(|(k, v)| (k.clone(), v.clone())));
                    }
                    _ => return Err("`<<` takes a mapping".into()),
                },
            },
        }
        Ok(())
    }
}

/// The name of a tag of YAML itself, such as `str`.
fn tag_name(tag: &Tag) -> Result<String, String> {
    let full = format!("{}{}", tag.handle, tag.suffix);
    match full.strip_prefix("tag:yaml.org,2002:") {
        Some(name @ ("str" | "int" | "float" | "bool" | "null" | "timestamp" | "binary" | "seq" | "map")) => {
            Ok(name.to_owned())
        }
        _ => Err(format!("the tag `{full}` is not supported")),
    }
}

/// The value of a scalar. A tag can make a string of anything; other tags only demand that the text looks like
/// something at all.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&str>) -> Result<Value, String> {
    let is_plain = style == ScalarStyle::Plain;
    match tag {
        None if is_plain => Ok(resolve(text)?.unwrap_or_else(|| Value::from(text))),
        None | Some("str") => Ok(Value::from(text)),
        Some("binary") => {
            let compact: String = text.split(['\n', '\r']).collect();
            match BASE64.decode(compact) {
                Ok(_) => Ok(Value::from(text)),
                Err(_) => Err("`!!binary` wants Base64".into()),
            }
        }
        Some(tag) => match resolve(text)? {
            Some(value) if is_plain => Ok(value),
            Some(_) => Ok(Value::from(text)),
            None if tag == "null" => Ok(Value::null()),
            None => Err(format!("`{text}` does not fit `!!{tag}`")),
        },
    }
}

/// What a scalar without quotes stands for, if it is not merely text.
fn resolve(text: &str) -> Result<Option<Value>, String> {
    Ok(Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::null_of(Type::Any),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => true.into(),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => false.into(),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => infinity("Inf"),
        "-.inf" | "-.Inf" | "-.INF" => infinity("-Inf"),
        ".nan" | ".NaN" | ".NAN" => return Err("there is no value for `.nan`".into()),
        _ => match number(text)? {
            Some(number) => number.into(),
            None => match Timestamp::from_yaml(text) {
                Some(timestamp) => Value::from(timestamp.to_string().as_str()),
                None => return Ok(None),
            },
        },
    }))
}

fn infinity(text: &str) -> Value {
    Number::parse(text).map_or_else(Value::null, Value::from)
}

fn number(text: &str) -> Result<Option<Number>, String> {
    let too_large = || format!("the number `{text}` is too large");
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
                return Ok(None);
            }
            let value = u64::from_str_radix(digits, radix).map_err(|_| too_large())?;
            return Ok(Number::parse(&value.to_string()));
        }
    }
    if !is_decimal(text) {
        return Ok(None);
    }
    match Number::parse(text) {
        Some(number) if !number.is_infinite() => Ok(Some(number)),
        _ => Err(too_large()),
    }
}

/// Digits with an optional sign, point and exponent, and at least one digit before the exponent.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix(['-', '+']).unwrap_or(exponent)),
        None => (unsigned, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    has_digits && !exponent.is_empty() && digits(whole) && digits(fraction) && digits(exponent)
}

#[cfg(test)]
mod tests;
