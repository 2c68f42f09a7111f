//! Values as people read them, in the form that the console prints: an expression again, as far as there is one.

use unicode_general_category::{GeneralCategory, get_general_category};

use crate::{Entries, Kind, Marks, Type, Value};

/// A value as the console prints it.
#[must_use]
pub fn print(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, 0, &mut text);
    text
}

/// Appends a text in quotes. What does not print is escaped.
pub fn quote(content: &str, text: &mut String) {
    text.push('"');
    // Most texts are plain, and go in as they are.
    if content.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        text.push_str(content);
    } else {
        for char in content.chars() {
            match char {
                '"' => text.push_str("\\\""),
                _ => escape(char, text),
            }
        }
    }
    text.push('"');
}

/// Appends a character, escaped if it does not print. A backslash is escaped too, so that nothing else looks like it.
pub fn escape(char: char, text: &mut String) {
    match char {
        '\\' => text.push_str("\\\\"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        '\u{7}' => text.push_str("\\a"),
        '\u{8}' => text.push_str("\\b"),
        '\u{b}' => text.push_str("\\v"),
        '\u{c}' => text.push_str("\\f"),
        _ if is_printable(char) => text.push(char),
        '\0'..='\u{1f}' | '\u{7f}' => text.push_str(&format!("\\x{:02x}", u32::from(char))),
        '\u{80}'..='\u{ffff}' => text.push_str(&format!("\\u{:04x}", u32::from(char))),
        _ => text.push_str(&format!("\\U{:08x}", u32::from(char))),
    }
}

/// Whether a terminal shows it as it is: letters, marks, numbers, punctuation, symbols and the ASCII space.
#[must_use]
pub fn is_printable(char: char) -> bool {
    use GeneralCategory::{
        Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator, Surrogate, Unassigned,
    };
    if char.is_ascii() {
        return matches!(char, ' '..='~');
    }
    match get_general_category(char) {
        SpaceSeparator => char == ' ',
        Control | Format | LineSeparator | ParagraphSeparator | PrivateUse | Surrogate | Unassigned => false,
        _ => true,
    }
}

fn write_value(value: &Value, indent: usize, text: &mut String) {
    if value.marks.contains(Marks::SENSITIVE) && value.is_known() {
        return text.push_str("(sensitive value)");
    }
    if value.marks.contains(Marks::EPHEMERAL) && value.is_known() {
        return text.push_str("(ephemeral value)");
    }
    match &value.kind {
        Kind::Unknown(_) => text.push_str("(known after apply)"),
        Kind::Null(ty) => write_null(ty, text),
        Kind::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Kind::Number(value) => text.push_str(&value.to_string()),
        Kind::String(value) if value.contains('\n') => write_heredoc(value, indent, text),
        Kind::String(value) => quote(value, text),
        Kind::List(list) => within("tolist", text, |text| write_sequence(&list.items, indent, text)),
        Kind::Set(set) => within("toset", text, |text| write_sequence(&set.items, indent, text)),
        Kind::Map(map) => within("tomap", text, |text| write_mapping(&map.items, indent, text)),
        Kind::Tuple(items) => write_sequence(items, indent, text),
        Kind::Object(attributes) => write_mapping(attributes, indent, text),
    }
}

fn within(function: &str, text: &mut String, write: impl FnOnce(&mut String)) {
    text.push_str(function);
    text.push('(');
    write(text);
    text.push(')');
}

fn write_null(ty: &Type, text: &mut String) {
    match ty {
        Type::Any => text.push_str("null"),
        Type::Bool | Type::Number | Type::String => text.push_str(&format!("to{ty}(null)")),
        Type::List(element) => text.push_str(&format!("tolist(null) /* of {} */", friendly(element))),
        Type::Set(element) => text.push_str(&format!("toset(null) /* of {} */", friendly(element))),
        Type::Map(element) => text.push_str(&format!("tomap(null) /* of {} */", friendly(element))),
        Type::Tuple(_) | Type::Object(_) => text.push_str(&format!("null /* {} */", friendly(ty))),
    }
}

/// A type in few words: what an object or tuple consists of is left out.
fn friendly(ty: &Type) -> String {
    match ty {
        Type::Any => "dynamic".to_owned(),
        Type::Bool | Type::Number | Type::String => ty.to_string(),
        Type::List(element) => format!("list of {}", friendly(element)),
        Type::Set(element) => format!("set of {}", friendly(element)),
        Type::Map(element) => format!("map of {}", friendly(element)),
        Type::Tuple(_) => "tuple".to_owned(),
        Type::Object(_) => "object".to_owned(),
    }
}

fn write_heredoc(content: &str, indent: usize, text: &mut String) {
    let mut delimiter = "EOT".to_owned();
    while content.split('\n').any(|line| line.trim() == delimiter) {
        delimiter.push('_');
    }
    text.push_str(if indent > 0 { "<<-" } else { "<<" });
    text.push_str(&delimiter);
    for line in content.split('\n').chain([delimiter.as_str()]) {
        new_line(indent, text);
        text.push_str(line);
    }
}

fn write_sequence(items: &[Value], indent: usize, text: &mut String) {
    text.push('[');
    for item in items {
        new_line(indent + 2, text);
        write_value(item, indent + 2, text);
        text.push(',');
    }
    if !items.is_empty() {
        new_line(indent, text);
    }
    text.push(']');
}

fn write_mapping(entries: &Entries, indent: usize, text: &mut String) {
    text.push('{');
    for (key, value) in entries {
        new_line(indent + 2, text);
        write_key(key, indent + 2, text);
        text.push_str(" = ");
        write_value(value, indent + 2, text);
    }
    if !entries.is_empty() {
        new_line(indent, text);
    }
    text.push('}');
}

fn write_key(key: &str, indent: usize, text: &mut String) {
    if key.contains('\n') {
        write_heredoc(key, indent, text);
    } else {
        quote(key, text);
    }
}

fn new_line(indent: usize, text: &mut String) {
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(attributes: &[(&str, Value)]) -> Value {
        Value::object(attributes.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())
    }

    fn check(value: &Value, expected: &str) {
        assert_eq!(print(value), expected);
    }

    #[test]
    fn collections_are_indented() {
        let inner = object(&[("b c", true.into()), ("é", Value::tuple([]))]);
        let list = Value::list(inner.ty(), vec![inner]);
        let map = Value::map(list.ty(), [("a".into(), list)].into());
        let expected = r#"tomap({
  "a" = tolist([
    {
      "b c" = true
      "é" = []
    },
  ])
})"#;
        check(&map, expected);
        check(&object(&[]), "{}");
        check(&Value::set(Type::String, vec![]), "toset([])");
        check(&Value::map(Type::String, Entries::new()), "tomap({})");
    }

    #[test]
    fn strings_are_quoted_or_stand_in_heredocs() {
        let controls =
            "\0\u{7}\u{8}\u{1f}\u{7f}\u{a0}\u{ad}\u{200b}\u{feff}🚀\u{e000}\u{e0001}\r\t${x}%{y}\\\"";
        let quoted = r#""\x00\a\b\x1f\x7f\u00a0\u00ad\u200b\ufeff🚀\ue000\U000e0001\r\t${x}%{y}\\\"""#;
        check(&controls.into(), quoted);
        check(&"\u{301}x".into(), "\"\u{301}x\"");
        check(&"a\nb\n".into(), "<<EOT\na\nb\n\nEOT");
        let nested = Value::tuple([object(&[("x", "a\nEOT\n  EOT_ ".into())])]);
        let expected = "[\n  {\n    \"x\" = <<-EOT__\n    a\n    EOT\n      EOT_ \n    EOT__\n  },\n]";
        check(&nested, expected);
        check(&object(&[("a\nb", 1.into())]), "{\n  <<-EOT\n  a\n  b\n  EOT = 1\n}");
    }

    #[test]
    fn nulls_have_their_types() {
        let map = Type::map(Type::tuple([Type::Number]));
        let table = [
            (Type::Any, "null"),
            (Type::String, "tostring(null)"),
            (Type::Number, "tonumber(null)"),
            (Type::Bool, "tobool(null)"),
            (Type::list(Type::Any), "tolist(null) /* of dynamic */"),
            (Type::map(Type::Bool), "tomap(null) /* of bool */"),
            (Type::list(Type::set(map)), "tolist(null) /* of set of map of tuple */"),
            (Type::object([].into()), "null /* object */"),
            (Type::tuple([]), "null /* tuple */"),
        ];
        for (ty, expected) in table {
            check(&Value::null_of(ty), expected);
        }
    }

    #[test]
    fn what_must_not_or_cannot_be_shown() {
        check(&Value::from(1).mark(Marks::SENSITIVE), "(sensitive value)");
        check(&Value::from(1).mark(Marks::EPHEMERAL), "(ephemeral value)");
        check(&Value::from(1).mark(Marks::SENSITIVE | Marks::EPHEMERAL), "(sensitive value)");
        check(&Value::unknown(Type::Any), "(known after apply)");
        check(&Value::unknown(Type::String).mark(Marks::SENSITIVE), "(known after apply)");
        let partly = object(&[("a", Value::from("x").mark(Marks::SENSITIVE))]);
        check(&partly, "{\n  \"a\" = (sensitive value)\n}");
    }
}
